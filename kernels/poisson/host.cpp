// The equations on the host: what point.hpp has for each point, in pieces shared among threads.
// What is found in a piece is put together in the order of the pieces, so that the bits do not
// depend on how many threads there are.

#include <algorithm>
#include <vector>

#include "kernels/poisson/host_pieces.hpp"
#include "kernels/poisson/line.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::poisson {

namespace {

/// Calls `body(i)` for i in [first, last), in pieces shared among threads.
template <class Body>
void for_each_place(std::int64_t first, std::int64_t last, Body const& body) {
  constexpr std::int64_t wanted = 1 << 13;
  parallel_for((last - first + wanted - 1) / wanted, 8 * wanted, [&](std::int64_t part) {
    std::int64_t const begin = first + part * wanted;
    for (std::int64_t i = begin; i < std::min(last, begin + wanted); ++i) body(i);
  });
}

}  // namespace

template <class T>
void host_add_sides(Stream&, Operator<T> const& a, SideValues<T> const& values, T* right) {
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      T const* const given = values[axis][side];
      if (given == nullptr || !has_unknowns_beside(a, axis, side)) continue;
      auto const face = FaceUnknowns::of(a, axis, side);
      for (std::int64_t i = 0; i < face.size(); ++i) add_side(a, face, given, i, right);
    }
}

template <class T>
std::vector<Sums> host_integrate(Stream&, Operator<T> const& a, T const* values, T const* factors) {
  auto const visit = [&](Sums& sums, std::int64_t const(&at)[3]) {
    add_to(sums, a, values, factors, at);
  };
  std::vector<Sums> sums(static_cast<std::size_t>(Parts::of(a).own));
  for_each_part(a, visit, sums.data());
  return sums;
}

template <class T>
Largest host_measure(Stream&, Operator<T> const& a, T const* u, T const* right) {
  return largest_of_pieces(
      a, [&](Largest& largest, std::int64_t const(&at)[3]) { judge(a, u, right, at, largest); });
}

template <class T>
void host_subtract_product(Stream&, Operator<T> const& a, T const* u, T* right) {
  Pieces const pieces = Pieces::of(a);
  parallel_for(pieces.count, 32 * std::min(Pieces::length, a.count[0]), [&](std::int64_t piece) {
    std::int64_t at[3];
    std::int64_t const end = pieces.place(a, piece, at);
    for (; at[0] < end; ++at[0]) subtract_product_at(a, u, right, at);
  });
}

template <class T>
void host_shift(Stream&, T c, std::span<T> values) {
  T* const first = values.data();
  for_each_place(0, static_cast<std::int64_t>(values.size()),
                 [&](std::int64_t i) { first[i] += c; });
}

template <class T>
void host_fill_coefficients(Stream&, Operator<T> const& a, double* lower, double* diagonal,
                            double* upper) {
  for_each_place(0, a.points[0], [&](std::int64_t i) { fill_row(a, i, lower, diagonal, upper); });
}

template <class T>
void host_line_residual(Stream&, Operator<T> const& a, double const* u, T const* right,
                        double* residual) {
  for_each_place(a.first[0], a.first[0] + a.count[0],
                 [&](std::int64_t i) { residual[i] = line_residual_of(a, u, right, i); });
}

template <class T>
void host_correct(Stream&, std::int64_t size, double const* correction, double* u, T* rounded) {
  for_each_place(0, size, [&](std::int64_t i) {
    u[i] += correction[i];
    rounded[i] = static_cast<T>(u[i]);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template void host_add_sides(Stream&, Operator<T> const&, SideValues<T> const&, T*);             \
  template std::vector<Sums> host_integrate(Stream&, Operator<T> const&, T const*, T const*);      \
  template void host_shift(Stream&, T, std::span<T>);                                              \
  template Largest host_measure(Stream&, Operator<T> const&, T const*, T const*);                  \
  template void host_subtract_product(Stream&, Operator<T> const&, T const*, T*);                  \
  template void host_fill_coefficients(Stream&, Operator<T> const&, double*, double*, double*);    \
  template void host_line_residual(Stream&, Operator<T> const&, double const*, T const*, double*); \
  template void host_correct(Stream&, std::int64_t, double const*, double*, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson

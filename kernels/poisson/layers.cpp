#include "kernels/poisson/layers.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/poisson/elimination.hpp"
#include "kernels/poisson/transform.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::poisson {

std::optional<int> faster_eliminated(Grid const& grid, Sides const& sides) {
  constexpr std::int64_t fewest_systems = std::int64_t{1} << 16;
  for (int axis = grid.dims - 1; axis > 0; --axis) {
    auto const i = static_cast<std::size_t>(axis);
    if (sides[i][0] != SideKind::periodic && grid.face_size(axis) >= fewest_systems) return axis;
  }
  return std::nullopt;
}

template <class T>
LayerSolver<T>::LayerSolver(Stream& stream, Equation<T> const& equation, int axis, bool singular)
    : equation_(equation), axis_(axis), singular_(singular) {
  Grid const& grid = equation.grid;
  if (grid.dims < 2 || axis < 0 || axis >= grid.dims)
    throw std::invalid_argument("poisson: layers are those of a grid of two or three axes");
  auto const unknowns = transform_shape(grid, equation.sides);
  shape_ = unknowns.shape;
  shape_.kinds[static_cast<std::size_t>(axis)] = fft::Kind::none;
  first_ = unknowns.first;
  std::size_t other = 0;
  for (int a = 0; a < 3; ++a) {
    if (a == axis) continue;
    auto const values =
        a < grid.dims ? eigenvalues(grid, equation.sides, a) : std::vector<double>{0};
    eigenvalues_[other] = {stream, MemorySpace::device, values.size()};
    copy_async(eigenvalues_[other].span(), std::span<double const>(values), stream);
    stream.synchronize();
    ++other;
  }
  kept_ = {stream, MemorySpace::device,
           bytes(stream.backend(), grid, equation.sides, axis) / sizeof(double)};
}

/// Threads of the host have memory for a system each.
template <class T>
std::size_t LayerSolver<T>::bytes(Backend backend, Grid const& grid, Sides const& sides, int axis) {
  if (backend == Backend::cpu) return 0;
  auto const i = static_cast<std::size_t>(axis);
  bool const periodic = sides[i][0] == SideKind::periodic;
  auto const numbers = grid.face_size(axis) * kept_numbers(grid.points[i], periodic);
  return static_cast<std::size_t>(numbers) * sizeof(double);
}

template <class T>
void LayerSolver<T>::solve(Stream& stream, std::span<T const> right, std::span<T> u,
                           std::string_view variant) {
  auto const first = static_cast<std::size_t>(first_);
  auto const values = u.subspan(first);
  fft::transform<T>(stream, shape_, fft::Direction::forward, right.subspan(first), values, variant);
  Layers<T> const layers{
      .a = operator_of(equation_),
      .axis = axis_,
      .others = {axis_ == 0 ? 1 : 0, axis_ == 2 ? 1 : 2},
      .eigenvalues = {std::as_const(eigenvalues_[0]).data(), std::as_const(eigenvalues_[1]).data()},
      .scale = 1 / fft::round_trip(shape_),
      .singular = singular_,
      .values = u.data()};
  eliminate(stream, layers, kept_.data());
  fft::transform<T>(stream, shape_, fft::Direction::inverse, values, values, variant);
}

template <class T>
void eliminate(Stream& stream, Layers<T> const& layers, [[maybe_unused]] double* kept) {
  if (stream.backend() == Backend::cpu) return host_eliminate(stream, layers);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_eliminate(stream, layers, kept);
#endif
}

/// Systems side by side share the lines of the caches that they read.
template <class T>
void host_eliminate(Stream&, Layers<T> const& w) {
  constexpr std::int64_t wanted = 32;
  std::int64_t const of_p = w.a.count[w.others[0]], count = w.a.count[w.axis];
  for_all_systems(w, [&](auto periodic, auto same, std::int64_t first, std::int64_t last) {
    parallel_for((last - first + wanted - 1) / wanted, 20 * wanted * count, [&](std::int64_t part) {
      std::vector<double> kept(static_cast<std::size_t>(kept_numbers(count, periodic())));
      std::int64_t const begin = first + part * wanted;
      for (std::int64_t s = begin; s < std::min(last, begin + wanted); ++s)
        eliminate<periodic(), same()>(w, s % of_p, s / of_p, kept.data(), 1);
    });
  });
}

template class LayerSolver<float>;
template class LayerSolver<double>;
template void eliminate(Stream&, Layers<float> const&, double*);
template void eliminate(Stream&, Layers<double> const&, double*);
template void host_eliminate(Stream&, Layers<float> const&);
template void host_eliminate(Stream&, Layers<double> const&);

}  // namespace gridstride::poisson

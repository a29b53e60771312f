#include "kernels/pentadiagonal/pentadiagonal.hpp"

#include <stdexcept>

#include "kernels/pentadiagonal/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::pentadiagonal {

namespace {

constexpr std::string_view family = "pentadiagonal";

}  // namespace

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "elimination row by row, one system after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "pairs of unknowns by blocks of 2 x 2; a thread for each system, long ones in pieces of a "
       "fixed size"},
      {"pieces", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_pieces<T>),
       "a thread for each sixteen rows, by pairs; the last pairs of all are a system again"},
      {"hybrid", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_hybrid<T>),
       "nine pairs of rows of a thread in shared memory, the last pairs of all by parallel cyclic "
       "reduction; long systems in tiles"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "hybrid";
}

template <class T>
void solve(Stream& stream, Shape const& shape, Coefficients<T> const& coefficients,
           std::type_identity_t<std::span<T const>> right, std::span<T> solution,
           std::span<Findings> findings, std::string_view variant) {
  tridiagonal::require_shape(family, shape);
  if (shape.periodic) throw std::invalid_argument("pentadiagonal: systems cannot be periodic");
  require_size(family, named("findings", findings), 1);
  auto const x = named("solution", solution);
  require_disjoint_or_same(family, named("right", right), x);
  for (auto const& array :
       {named("a", coefficients.a), named("b", coefficients.b), named("c", coefficients.c),
        named("d", coefficients.d), named("e", coefficients.e)}) {
    tridiagonal::require_extent(family, array.name, array.size, extent(shape, shape.coefficients));
    require_disjoint(family, array, x);
  }
  tridiagonal::require_extent(family, "right", right.size(), extent(shape, shape.values));
  tridiagonal::require_extent(family, x.name, x.size, extent(shape, shape.values));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant(family, variants<T>(), stream.device(), variant);
  if (extent(shape, shape.values) == 0) return;
  Arguments<T> const work{shape,
                          coefficients.a.data(),
                          coefficients.b.data(),
                          coefficients.c.data(),
                          coefficients.d.data(),
                          coefficients.e.data(),
                          right.data(),
                          solution.data(),
                          findings.data()};
  row.run(stream, work);
  if (stream.backend() == Backend::cpu) return host_measure(work);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_measure(stream, work);
#endif
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template std::span<Variant<Function<T>> const> variants<T>();                          \
  template void solve(Stream&, Shape const&, Coefficients<T> const&, std::span<T const>, \
                      std::span<T>, std::span<Findings>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::pentadiagonal

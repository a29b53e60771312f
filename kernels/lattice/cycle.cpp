#include "kernels/lattice/cycle.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/lattice/rows.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::lattice {

namespace {

constexpr multigrid::Options options{.cycle = multigrid::Cycle::v};

/// The points with the 0 that there is beyond sides, which are points of it.
poisson::Equation<double> equation_of(GridPoints const& points, int dims) {
  poisson::Equation<double> equation;
  auto& grid = equation.grid;
  grid.dims = 0;
  for (auto const extent : points)
    if (extent > 1) grid.points[static_cast<std::size_t>(grid.dims++)] = extent + 2;
  while (grid.dims < std::max(dims, 1)) grid.points[static_cast<std::size_t>(grid.dims++)] = 3;
  grid.spacing.fill(1);
  equation.sides.fill({SideKind::dirichlet, SideKind::dirichlet});
  return equation;
}

template <class From, class To>
void round(Stream& stream, std::span<From const> from, std::span<To> to) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_round(stream, from, to);
#endif
  static_cast<void>(stream);
  parallel_for(static_cast<std::int64_t>(from.size()), 1, [&](std::int64_t i) {
    auto const at = static_cast<std::size_t>(i);
    to[at] = static_cast<To>(from[at]);
  });
}

/// Levels, and r in float64 where vectors are not.
struct Cycle {
  multigrid::Solver<double> solver;
  Buffer<double> values;
};

}  // namespace

bool has_cycle(GridPoints const& points) {
  return std::ranges::max(points) + 2 <= multigrid::most_points_of_axis;
}

template <class T>
krylov::Preconditioner<T> cycle(Stream& stream, GridPoints const& points, int dims) {
  if (!has_cycle(points))
    throw std::invalid_argument("lattice: a cycle is for axes of less than 2^24 points");
  auto const size = static_cast<std::size_t>(points[0] * points[1] * points[2]);
  auto const own = std::make_shared<Cycle>(
      Cycle{multigrid::Solver<double>(stream, equation_of(points, dims), false, options),
            Buffer<double>(stream, MemorySpace::device, sizeof(T) == sizeof(double) ? 0 : size)});
  return [own](Stream& on, std::span<T const> r, std::span<T> z) {
    if constexpr (std::is_same_v<T, double>) {
      own->solver.precondition(on, r, 1, z, true);
    } else {
      round<T, double>(on, r, own->values.span());
      own->solver.precondition(on, own->values.span(), 1, own->values.span(), true);
      round<double, T>(on, own->values.span(), z);
    }
  };
}

std::size_t cycle_bytes(Backend backend, GridPoints const& points, Precision precision, int dims) {
  auto const equation = equation_of(points, dims);
  std::size_t const levels = multigrid::solver_bytes(backend, equation.grid, equation.sides, false,
                                                     Precision::float64, options);
  auto const size = static_cast<std::size_t>(points[0] * points[1] * points[2]);
  return levels + (precision == Precision::float64 ? 0 : size * sizeof(double));
}

template krylov::Preconditioner<float> cycle(Stream&, GridPoints const&, int);
template krylov::Preconditioner<double> cycle(Stream&, GridPoints const&, int);

}  // namespace gridstride::lattice

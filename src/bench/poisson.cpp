#include "kernels/poisson/poisson.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/transform.hpp"

namespace gridstride::bench {

namespace of_poisson {

/// What is solved: on a cube, or a square, with the same sides everywhere.
struct Case {
  std::string_view operation;
  int dims;
  SideKind sides;
};

constexpr Case volume{"3D, periodic", 3, SideKind::periodic};
constexpr Case held_volume{"3D, Dirichlet", 3, SideKind::dirichlet};
constexpr Case free_volume{"3D, Neumann", 3, SideKind::neumann};
constexpr Case plane{"2D, periodic", 2, SideKind::periodic};
constexpr Case held_plane{"2D, Dirichlet", 2, SideKind::dirichlet};

/// Intervals along an axis are multiples of 8; sides that are not periodic have a point more.
template <Case const& of>
Grid grid_of(std::int64_t size) {
  int const more = of.sides == SideKind::periodic ? 0 : 1;
  auto const intervals = std::max<std::int64_t>((side_of(size, 1, of.dims) - more) / 8 * 8, 8);
  Grid grid;
  grid.dims = of.dims;
  for (int axis = 0; axis < of.dims; ++axis) {
    grid.points[axis] = intervals + more;
    grid.spacing[axis] = 1 / static_cast<double>(intervals);
  }
  return grid;
}

/// The way that `method: fft` takes.
template <class T>
using Solver = std::variant<poisson::TransformSolver<T>, poisson::LayerSolver<T>>;
template <class T>
Solver<T> solver_of(Stream& stream, poisson::Equation<T> const& equation) {
  bool const singular = equation.sides[0][0] != SideKind::dirichlet;
  if (auto const axis = poisson::faster_eliminated(equation.grid, equation.sides))
    return poisson::LayerSolver<T>(stream, equation, *axis, singular);
  return poisson::TransformSolver<T>(stream, equation);
}

template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  poisson::Equation<T> equation;
  equation.grid = grid_of<of>(size);
  equation.sides.fill({of.sides, of.sides});
  auto const solver = std::make_shared<Solver<T>>(solver_of(stream, equation));
  Arrays<T> const right(stream, equation.grid.size(), sets), u(stream, equation.grid.size(), sets);
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
            spoil(stream, u(set));
            if (of.sides == SideKind::dirichlet) return;
            auto const found = poisson::integrate(stream, equation, right(set));
            poisson::shift(stream, -found.sum / found.volume, right(set));
          },
      .run =
          [=, &stream](std::string_view variant, int set) {
            std::visit([&](auto& way) { way.solve(stream, right.constant(set), u(set), variant); },
                       *solver);
          },
      .accuracy =
          [=, &stream](std::string_view) {
            // A transform of n points has errors of a few ε·log2(n).
            double const steps = std::log2(static_cast<double>(equation.grid.size()));
            return Accuracy{
                poisson::measure(stream, equation, u.constant(0), right.constant(0)).backward_error,
                4 * steps * double{std::numeric_limits<T>::epsilon()}};
          }};
}

template <class T, Case const& of>
Workload workload(Backend backend) {
  // Along all axes but the last there, along that one there and back, and back: each a pass.
  constexpr double moved = (2 * of.dims - 1) * 2.0 * sizeof(T);
  auto const work = [](std::int64_t size) {
    auto const points = static_cast<double>(size);
    double const flops = 2 * 2.5 * points * std::log2(points);
    return Work{.bytes = moved * points,
                .flops = flops,
                .asks = {{machine::copy_roof, moved * points}, {arithmetic_roof<T>(), flops}},
                .set_bytes = 2 * sizeof(T) * points,
                .elements = points};
  };
  // On the host the reference, which sums all points of a line for each coefficient, is done too.
  constexpr int more = of.sides == SideKind::periodic ? 0 : 1;
  bool const on_host = backend == Backend::cpu;
  std::int64_t const extent = (of.dims == 3 ? on_host ? 64 : 512 : on_host ? 256 : 8192) + more;
  return {.family = "poisson",
          .operation = of.operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = extent * extent * (of.dims == 3 ? extent : 1),
          .work = work,
          .rows = rows_of(fft::variants<T>(), backend, fft::default_variant(backend)),
          .make = problem<T, of>,
          .rounded = [](std::int64_t wanted) { return grid_of<of>(wanted).size(); },
          .error = "the backward error"};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T, volume>(backend));
  all.push_back(workload<T, held_volume>(backend));
  all.push_back(workload<T, free_volume>(backend));
  all.push_back(workload<T, plane>(backend));
  all.push_back(workload<T, held_plane>(backend));
}

}  // namespace of_poisson

std::vector<Workload> poisson_workloads(Backend backend) {
  std::vector<Workload> all;
  of_poisson::append_workloads<double>(backend, all);
  of_poisson::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench

#include "kernels/multigrid/multigrid.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_multigrid {

/// What is solved on a cube or square with Dirichlet sides, until the residual is 1e-8 of what it
/// was.
struct Case {
  std::string_view operation;
  int dims;
  bool fields;  ///< a is an array, of ones
};

constexpr double tolerance = 1e-8;
constexpr Case volume{"3D to 1e-8", 3, false};
constexpr Case plane{"2D to 1e-8", 2, false};
constexpr Case varying_volume{"3D to 1e-8, a field", 3, true};

/// As many points along all axes.
template <Case const& of>
Grid grid_of(std::int64_t size) {
  std::int64_t const points = side_of(size, 3, of.dims);
  Grid grid;
  grid.dims = of.dims;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(of.dims); ++axis) {
    grid.points[axis] = points;
    grid.spacing[axis] = 1 / static_cast<double>(points - 1);
  }
  return grid;
}

/// The solvers of rungs, each made when it is first asked for, and the field that they look at.
template <class T>
struct Solvers {
  Arrays<T> field;
  std::map<std::string, multigrid::Solver<T>, std::less<>> of = {};
};

template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  poisson::Equation<T> equation;
  equation.grid = grid_of<of>(size);
  equation.sides.fill({SideKind::dirichlet, SideKind::dirichlet});
  Arrays<T> const right(stream, equation.grid.size(), sets), u(stream, equation.grid.size(), sets);
  Arrays<T> const field(stream, of.fields ? equation.grid.size() : 1, 1);
  if (of.fields) {
    zero_async(field(0), stream);
    poisson::shift(stream, 1, field(0));
    equation.diffusivities = field(0).data();
  }
  auto const solvers = std::make_shared<Solvers<T>>(Solvers<T>{field});
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
            spoil(stream, u(set));
          },
      .run =
          [=, &stream](std::string_view variant, int set) {
            auto found = solvers->of.find(variant);
            if (found == solvers->of.end()) {
              multigrid::Options const options{.error_counts = false, .tolerance = tolerance};
              found = solvers->of
                          .emplace(variant,
                                   multigrid::Solver<T>(stream, equation, false, options, variant))
                          .first;
            }
            found->second.solve(stream, right.constant(set), u(set));
          },
      .accuracy =
          [=, &stream](std::string_view) {
            auto const found = poisson::measure(stream, equation, u.constant(0), right.constant(0));
            // Random numbers are in [-1, 1); u is rounded to T.
            double const bound = tolerance + double{std::numeric_limits<T>::epsilon()};
            return Accuracy{found.backward_error, bound};
          }};
}

template <class T, Case const& of>
Workload workload(Backend backend) {
  // Eight cycles of thirteen float32 numbers a point of each level, and between them the residual
  // and the correction.
  constexpr double moved =
      8 * (13 * 4 * (of.dims == 3 ? 8.0 / 7 : 4.0 / 3) + 2 * 8 + sizeof(T) + 8);
  constexpr double flops = 8 * 100;
  bool const on_host = backend == Backend::cpu;
  std::int64_t const extent = of.dims == 3 ? (on_host     ? 33
                                              : of.fields ? 257
                                                          : 513)
                              : on_host    ? 129
                                           : 4097;
  return {
      .family = "multigrid",
      .operation = of.operation,
      .type = type_name<T>(),
      .by_default = sizeof(T) == 8,
      .size = extent * extent * (of.dims == 3 ? extent : 1),
      .work = per_element({.bytes = moved,
                           .flops = flops,
                           .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                           .set_bytes = 2 * sizeof(T)}),
      .rows = rows_of(multigrid::variants<double>(), backend, multigrid::default_variant(backend)),
      .make = problem<T, of>,
      .rounded = [](std::int64_t wanted) { return grid_of<of>(wanted).size(); },
      .error = "the backward error"};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T, volume>(backend));
  all.push_back(workload<T, plane>(backend));
  all.push_back(workload<T, varying_volume>(backend));
}

}  // namespace of_multigrid

std::vector<Workload> multigrid_workloads(Backend backend) {
  std::vector<Workload> all;
  of_multigrid::append_workloads<double>(backend, all);
  of_multigrid::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench

#include "kernels/multigrid/multigrid.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_multigrid {

/// What is solved on a cube or square, until the residual is 1e-8 of what it was. Sides are Dirichlet's along the last
/// axis, and along the others unless said.
struct Case {
  std::string_view operation;
  int dims;
  bool fields;         ///< a is an array,
  double inside = 1;   ///< of ones but for a box, or smooth where that has 1
  double stretch = 1;  ///< of the spacing along the second axis
  SideKind across = SideKind::dirichlet;

  SideKind side(std::size_t axis) const {
    return axis + 1 == static_cast<std::size_t>(dims) ? SideKind::dirichlet : across;
  }
};

constexpr double tolerance = 1e-8;
constexpr Case volume{"3D to 1e-8", 3, false};
constexpr Case plane{"2D to 1e-8", 2, false};
constexpr Case varying_volume{"3D to 1e-8, a field", 3, true};
constexpr Case jumping_volume{"3D to 1e-8, a box of 1e6", 3, true, 1e6};
constexpr Case sinking_volume{"3D to 1e-8, a box of 1e-6", 3, true, 1e-6};
constexpr Case free_volume{
    "3D to 1e-8, a box of 1e6, no flux along x and y", 3, true, 1e6, 1, SideKind::neumann};
constexpr Case ring_volume{
    "3D to 1e-8, a box of 1e6, rings along x and y", 3, true, 1e6, 1, SideKind::periodic};
constexpr Case flat_volume{"3D to 1e-8, 1:1000", 3, false, 1, 1000};

/// As many points along all axes.
template <Case const& of>
Grid grid_of(std::int64_t size) {
  std::int64_t const points = side_of(size, 3, of.dims);
  Grid grid;
  grid.dims = of.dims;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(of.dims); ++axis) {
    std::int64_t const intervals = of.side(axis) == SideKind::periodic ? points : points - 1;
    grid.points[axis] = points;
    grid.spacing[axis] = (axis == 1 ? of.stretch : 1) / static_cast<double>(intervals);
  }
  return grid;
}

/// The solvers of rungs, each made when it is first asked for, and the field that they look at.
template <class T>
struct Solvers {
  Arrays<T> field;
  std::map<std::string, multigrid::Solver<T>, std::less<>> of = {};
};

/// A box of a third of each side, elsewhere 1; or 1 + 0.8·sin 2πx·sin 2πy ….
template <class T, Case const& of>
void fill_field(Stream& stream, Grid const& grid, std::span<T> field) {
  std::vector<T> values(field.size(), T{1});
  for (std::size_t p = 0; p < values.size(); ++p) {
    auto const at = grid.indices(static_cast<std::int64_t>(p));
    bool in_box = true;
    double waves = 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(of.dims); ++i) {
      in_box = in_box && 3 * at[i] > grid.points[i] && 3 * at[i] < 2 * grid.points[i];
      waves *= std::sin(2 * std::numbers::pi * static_cast<double>(at[i]) /
                        static_cast<double>(grid.points[i] - 1));
    }
    if (of.inside == 1) values[p] = static_cast<T>(1 + 0.8 * waves);
    if (of.inside != 1 && in_box) values[p] = static_cast<T>(of.inside);
  }
  copy_async(field, std::span<T const>(values), stream);
  stream.synchronize();
}

template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  poisson::Equation<T> equation;
  equation.grid = grid_of<of>(size);
  for (std::size_t axis = 0; axis < 3; ++axis)
    equation.sides[axis] = {of.side(axis), of.side(axis)};
  Arrays<T> const right(stream, equation.grid.size(), sets), u(stream, equation.grid.size(), sets);
  Arrays<T> const field(stream, of.fields ? equation.grid.size() : 1, 1);
  if (of.fields) {
    fill_field<T, of>(stream, equation.grid, field(0));
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
              multigrid::Options const options{
                  .conjugates = of.inside != 1, .error_counts = false, .tolerance = tolerance};
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
  // Rings have one point less: of an odd number they have a seam.
  std::int64_t const extent = (of.dims == 3 ? (on_host                        ? 33
                                               : of.fields || of.stretch != 1 ? 257
                                                                              : 513)
                               : on_host    ? 129
                                            : 4097) -
                              (of.across == SideKind::periodic ? 1 : 0);
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
  all.push_back(workload<T, jumping_volume>(backend));
  all.push_back(workload<T, sinking_volume>(backend));
  all.push_back(workload<T, free_volume>(backend));
  all.push_back(workload<T, ring_volume>(backend));
  all.push_back(workload<T, flat_volume>(backend));
}

}  // namespace of_multigrid

std::vector<Workload> multigrid_workloads(Backend backend) {
  std::vector<Workload> all;
  of_multigrid::append_workloads<double>(backend, all);
  of_multigrid::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench

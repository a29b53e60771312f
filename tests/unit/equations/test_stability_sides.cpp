#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numbers>

#include "equations/eigenvalues.hpp"
#include "equations/stability.hpp"
#include "kernels/system/system.hpp"

/// Limits for sides with ∂u/∂n + a·u = g, against the eigenvalues of the matrix that the kernels
/// have with these sides.
namespace gridstride {
namespace {

using equations::Term;
using equations::Terms;
using Complex = std::complex<double>;

struct Case {
  char const* name;
  int dims;
  Term (*rate)(Terms&, Term);
  bool euler;        // whether forward Euler takes it
  double sharpness;  // the bound over what it had to be, at most, for large a
  equations::Convection convection = equations::Convection::central;
};

Term times(Terms& terms, double factor, Term term) {
  return terms.multiply(terms.number(factor), term);
}

constexpr double spacing[] = {0.125, 0.2};

Case const cases[] = {
    {"diffusion", 1,
     [](Terms& t, Term u) {
       return times(t, 0.3, t.derivative(u, {2, 0, 0}));
     },
     true, 1.5},
    {"diffusion in the plane", 2,
     [](Terms& t, Term u) {
       return t.add(times(t, 0.3, t.derivative(u, {2, 0, 0})),
                    times(t, 0.2, t.derivative(u, {0, 2, 0})));
     },
     true, 1.5},
    {"mixed derivatives", 2,
     [](Terms& t, Term u) {
       return t.add(t.add(times(t, 0.3, t.derivative(u, {2, 0, 0})),
                          times(t, 0.3, t.derivative(u, {0, 2, 0}))),
                    times(t, 0.3, t.derivative(u, {1, 1, 0})));
     },
     false, 8},
    {"mixed derivatives across the longer spacing", 2,
     [](Terms& t, Term u) {
       return t.add(t.add(times(t, 0.05, t.derivative(u, {2, 0, 0})),
                          times(t, 0.9, t.derivative(u, {0, 2, 0}))),
                    times(t, 0.4, t.derivative(u, {1, 1, 0})));
     },
     false, 8},
    {"fourth derivatives in the plane", 2,
     [](Terms& t, Term u) {
       Term const curved = t.add(t.derivative(u, {2, 0, 0}), t.derivative(u, {0, 2, 0}));
       return times(t, -0.01,
                    t.add(t.derivative(curved, {2, 0, 0}), t.derivative(curved, {0, 2, 0})));
     },
     true, 3},
    {"friction and transport", 1,
     [](Terms& t, Term u) {
       return t.add(times(t, 0.3, t.derivative(u, {2, 0, 0})),
                    times(t, -1, t.derivative(u, {1, 0, 0})));
     },
     true, 1.5},
    {"fourth derivative", 1,
     [](Terms& t, Term u) {
       return times(t, -0.01, t.derivative(u, {4, 0, 0}));
     },
     false, 3},
    {"transport from upwind", 1,
     [](Terms& t, Term u) { return t.negate(t.flux(times(t, 3, u), 0)); }, true, 2,
     equations::Convection::upwind},
    {"friction and transport from upwind", 2,
     [](Terms& t, Term u) {
       return t.add(times(t, 0.3, t.derivative(u, {2, 0, 0})),
                    times(t, 2, t.transport(t.number(1), u, 1)));
     },
     true, 2, equations::Convection::upwind},
};

/// The matrix of the rates, column after column, by what the kernels make of unit vectors.
equations::Matrix matrix_of(equations::StencilProgram const& program, Grid const& grid,
                            system::Input<double> input) {
  Stream stream(Device::open(Backend::cpu));
  auto const size = static_cast<std::size_t>(grid.size());
  equations::Matrix matrix(size);
  for (std::size_t column = 0; column < size; ++column) {
    std::vector<double> unit(size, 0), rates(size);
    unit[column] = 1;
    input.values = unit.data();
    system::Step<double> step;
    step.program = &program;
    step.grid = grid;
    step.inputs = {input};
    step.outputs = {{.values = rates.data()}};
    step.is_stage = false;
    system::advance(stream, step, "reference");
    for (std::size_t row = 0; row < size; ++row) matrix(row, column) = rates[row];
  }
  return matrix;
}

double growth(Complex z, int order) {
  Complex sum = 1;
  for (int n = order; n >= 1; --n) sum = 1.0 + z / static_cast<double>(n) * sum;
  return std::abs(sum);
}

TEST(StabilityOfSides, NothingGrowsWithAnyFactor) {
  for (Case const& one : cases) {
    Grid grid;
    grid.dims = one.dims;
    grid.points = {one.dims == 1 ? 24 : 8, one.dims == 1 ? 1 : 7, 1};
    grid.spacing = {spacing[0], spacing[1], 1};
    equations::System system{.dims = one.dims, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
    system.rates = {one.rate(system.terms, system.terms.unknown(0))};
    equations::Space const space = {.convection = one.convection};
    auto const stencil = equations::discretise(system, grid, space);
    auto const program = equations::program_of(stencil.terms, stencil.rates, one.dims);
    equations::Linearisation const linearisation(
        equations::discretise_for_stability(system, grid, space));
    for (double const ah : {0.0, 0.01, 0.1, 0.3, 1.0, 2.0, 5.0, 20.0, 1e3, 1e6}) {
      system::Input<double> input;
      std::vector<double> a(24, ah / spacing[0]);
      std::vector<equations::RobinSide> sides;
      for (int axis = 0; axis < one.dims; ++axis)
        for (int end = 0; end < 2; ++end) {
          input.sides[axis][end] =
              system::side_of<double>(SideKind::robin, spacing[axis], nullptr, a.data());
          sides.push_back({0, axis, end, spacing[axis], {a[0], a[0]}, 0});
        }
      auto const modes = equations::eigenvalues(matrix_of(program, grid, input));
      for (int order = 1; order <= 4; ++order) {
        auto const limit = linearisation.limit({}, order, sides);
        if (limit.hopeless) {
          EXPECT_FALSE(order > 1 || one.euler) << one.name << ' ' << ah << ' ' << order;
          continue;
        }
        auto const largest = [&](double step) {
          double most = 0;
          for (Complex mode : modes)
            most = std::max(most,
                            growth(step * Complex(std::min(mode.real(), 0.0), mode.imag()), order));
          return most;
        };
        EXPECT_LE(largest(0.999 * limit.step), 1 + 1e-9) << one.name << ' ' << ah << ' ' << order;
        if (ah < 20) continue;
        EXPECT_GT(largest(one.sharpness * limit.step), 1) << one.name << ' ' << ah;
      }
    }
  }
}

/// −4D/h² − 2aD/h, to euler's 2.
TEST(StabilityOfSides, TheLimitOfDiffusion) {
  equations::System system{.dims = 1, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
  system.rates = {
      times(system.terms, 0.5, system.terms.derivative(system.terms.unknown(0), {2, 0, 0}))};
  Grid grid;
  grid.points = {9, 1, 1};
  grid.spacing = {0.1, 1, 1};
  equations::Linearisation const linearisation(equations::discretise(system, grid));
  auto const step = [&](std::vector<equations::RobinSide> const& sides) {
    return linearisation.limit({}, 1, sides).step;
  };
  EXPECT_DOUBLE_EQ(step({}), 2 / 200.0);
  EXPECT_DOUBLE_EQ(step({{0, 0, 0, 0.1, {3, 30}, 0}}), 2 / (200.0 + 300));
  EXPECT_DOUBLE_EQ(step({{0, 0, 0, 0.1, {3, 30}, 0}, {0, 0, 1, 0.1, {0, 40}, 0}}),
                   2 / (200.0 + 400));
  EXPECT_DOUBLE_EQ(step({{0, 0, 0, 0.1, {-30, -3}, 0}}), 2 / 200.0);  // grows, and may
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kernels/advect/advect.hpp"
#include "kernels/support/flush_subnormals.hpp"
#include "support/advect_cases.hpp"

namespace gridstride {
namespace {

using advect::AdvectionStep;
using advect::Scheme;

/// A line of spacing 1/2 and a step of 1/4: a velocity of 1 has the Courant number 1/2.
struct Line {
  Stream stream{Device::open(Backend::cpu)};
  std::vector<double> in, out;
  AdvectionStep<double> step;

  Line(Scheme scheme, std::vector<double> values, double velocity, bool periodic)
      : in(std::move(values)), out(in.size(), -1) {
    step.grid.points = {static_cast<std::int64_t>(in.size()), 1, 1};
    step.grid.spacing = {0.5, 1, 1};
    step.scheme = scheme;
    step.in = in.data();
    step.out = out.data();
    step.factor = 0.25;
    step.velocity[0].constant = velocity;
    for (auto& side : step.sides[0]) side.periodic = periodic;
  }
  std::vector<double> run(std::string_view variant = "reference") {
    advect::advect(stream, step, variant);
    return out;
  }
};

TEST(AdvectReference, UpwindByHand) {
  Line up(Scheme::upwind, {0, 1, 4, 9, 16}, 1, true);
  // u − (u − lower)/2
  EXPECT_EQ(up.run(), (std::vector<double>{8, 0.5, 2.5, 6.5, 12.5}));
  Line down(Scheme::upwind, {0, 1, 4, 9, 16}, -1, true);
  EXPECT_EQ(down.run(), (std::vector<double>{0.5, 2.5, 6.5, 12.5, 8}));
}

TEST(AdvectReference, LaxWendroffByHand) {
  Line line(Scheme::lax_wendroff, {0, 1, 4, 9, 16}, 1, true);
  // u − (upper − lower)/4 + (lower − 2 u + upper)/8
  EXPECT_EQ(line.run(), (std::vector<double>{0 + 15 / 4.0 + 17 / 8.0, 1 - 1 + 0.25, 4 - 2 + 0.25,
                                             9 - 3 + 0.25, 16 + 9 / 4.0 - 23 / 8.0}));
}

TEST(AdvectReference, OpenSidesByHand) {
  double const enters = 7;
  Line up(Scheme::upwind, {1, 2, 4, 8}, 1, false);
  up.step.sides[0][0].inflow = &enters;
  EXPECT_EQ(up.run(), (std::vector<double>{7, 1.5, 3, 6}));
  Line down(Scheme::upwind, {1, 2, 4, 8}, -1, false);
  EXPECT_EQ(down.run(), (std::vector<double>{1.5, 3, 6, 0}));  // nothing is said of what enters
  Line second(Scheme::lax_wendroff, {1, 2, 4, 8}, 1, false);
  second.step.sides[0][0].inflow = &enters;
  // The last point's neighbour beyond the side is 12: 8 − (12 − 4)/4.
  EXPECT_EQ(second.run(), (std::vector<double>{7, 2 - 0.75 + 0.125, 4 - 1.5 + 0.25, 6}));
}

TEST(AdvectReference, VariableVelocityByHand) {
  std::vector<double> const velocity = {1, 3, -1, -1, 1};
  Line line(Scheme::upwind, {1, 2, 4, 8, 16}, 0, true);
  line.step.velocity[0].field = velocity.data();
  // Courant numbers at the faces above each point: 1, 1/2, −1/2, 0, 1/2; their fluxes:
  // 1·1, 2/2, −8/2, 0, 16/2.
  EXPECT_EQ(line.run(), (std::vector<double>{1 + 8 - 1, 2 + 1 - 1, 4 + 1 + 4, 8 - 4, 16 - 8}));
}

TEST(AdvectReference, WenoIsExactForParabolas) {
  // Every one of its stencils is, so that the weights do not count; also beyond open sides.
  for (double const velocity : {1.0, -1.0}) {
    std::vector<double> values, field(12, velocity);
    for (int i = 0; i < 12; ++i) values.push_back(0.25 * i * i - i);
    for (bool const variable : {false, true}) {
      Line line(Scheme::weno5, values, velocity, false);
      if (variable) line.step.velocity[0] = {0, field.data(), 2};
      double const end = 5;
      line.step.sides[0][velocity > 0 ? 0 : 1].inflow = &end;
      auto const result = line.run();
      for (int i = 0; i < 12; ++i) {
        bool const enters = velocity > 0 ? i == 0 : i == 11;
        double const slope = 0.5 * i - 1;
        EXPECT_NEAR(result[static_cast<std::size_t>(i)],
                    enters ? end : values[static_cast<std::size_t>(i)] - 0.5 * velocity * slope,
                    1e-12)
            << i << ' ' << velocity << ' ' << variable;
      }
    }
  }
}

/// The error of ∂u/∂x by weno5 for a sine of two waves on n points, shifted against the grid.
double weno_derivative_error(int n) {
  std::vector<double> values;
  auto const phase = [n](int i) { return 4 * std::numbers::pi * (i + 0.25) / n; };
  for (int i = 0; i < n; ++i) values.push_back(std::sin(phase(i)));
  Line line(Scheme::weno5, values, 1, true);
  auto const result = line.run();
  double const h = 1.0 / n;
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    double const slope = (values[at] - result[at]) / 0.5 / h;
    largest = std::max(largest, std::abs(slope - 4 * std::numbers::pi * std::cos(phase(i))));
  }
  return largest;
}

TEST(AdvectReference, WenoDerivativeHasOrderFive) {
  double const coarse = weno_derivative_error(200), fine = weno_derivative_error(400);
  EXPECT_NEAR(std::log2(coarse / fine), 5, 0.2) << coarse << ' ' << fine;
}

/// The error of ∂u/∂x at x = h/4 for u = x^power + x⁵ + x⁶, h = 1/n.
double weno_error_beside_zero(int power, int n) {
  double const h = 1.0 / n, x = 0.25 * h;
  std::vector<double> values;
  for (int i = -10; i <= 10; ++i) {
    double const there = (i + 0.25) * h;
    values.push_back(std::pow(there, power) + std::pow(there, 5) + std::pow(there, 6));
  }
  Line line(Scheme::weno5, values, 1, false);
  double const slope = (values[10] - line.run()[10]) / 0.5 / h;
  return std::abs(slope - power * std::pow(x, power - 1) - 5 * std::pow(x, 4) - 6 * std::pow(x, 5));
}

TEST(AdvectReference, WenoKeepsItsOrderAtCriticalPoints) {
  auto const order = [](int power) {
    return std::log2(weno_error_beside_zero(power, 400) / weno_error_beside_zero(power, 800));
  };
  EXPECT_NEAR(order(2), 5, 0.1);  // u' vanishes at x = 0
  EXPECT_NEAR(order(3), 4, 0.1);  // and u'', too
}

template <class T>
void compare_advect_variants() {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::advect_cases()) {
    test::AdvectProblem<T> reference(stream, one);
    auto const expected = reference.run("reference");
    bool const closed = one.periodic[0] && one.periodic[1] && one.periodic[2];
    for (auto const& row : advect::variants<T>()) {
      if (row.backend != Backend::cpu) continue;
      test::AdvectProblem<T> problem(stream, one);
      auto const found = problem.run(row.name);
      EXPECT_LE(test::largest_deviation(expected, found), problem.tolerance())
          << row.name << " on " << one.text();
      if (closed && !one.in_place) {
        EXPECT_LE(test::lost_mass(problem, found), 1) << row.name << " on " << one.text();
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 16 * 3 * 8 * 2);
}

TEST(Advect, HostVariantsEqualTheReferenceInFloat32) { compare_advect_variants<float>(); }
TEST(Advect, HostVariantsEqualTheReferenceInFloat64) { compare_advect_variants<double>(); }

TEST(Advect, HasNoUnitInFloat32) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_no_unit<float>(stream);
}
TEST(Advect, HasNoUnitInFloat64) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_no_unit<double>(stream);
}

TEST(Advect, WenoLimitsInAnyUnit) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_no_ripples<float>(stream);
  test::expect_no_ripples<double>(stream);
}

TEST(Advect, LeavesWhatLiesBesideCuts) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_cuts<float>(stream);
  test::expect_cuts<double>(stream);
}

TEST(Advect, ThreadsTakeSubnormalValuesForZero) {
  if (!FlushSubnormals::has_effect) GTEST_SKIP() << "this processor keeps subnormal numbers";
  for (auto const scheme : test::advect_schemes) {
    std::vector<double> zeros(700, 0), subnormal(700, 1e-310);
    for (std::size_t i = 300; i < 400; ++i) zeros[i] = subnormal[i] = 1;
    Line with_zeros(scheme, zeros, 1, true), with_subnormals(scheme, subnormal, 1, true);
    EXPECT_EQ(with_subnormals.run("threads"), with_zeros.run("threads")) << test::name_of(scheme);
  }
}

/// Losses are those of subnormal numbers, 2^-30 of such a u, with each of some ten operations of 300 stages.
TEST(Advect, SmallValuesMoveWithSubnormalOnes) {
  Stream stream(Device::open(Backend::cpu));
  auto const large = test::carried_block<float>(stream, "threads_subnormal", 1),
             small = test::carried_block<float>(stream, "threads_subnormal", 0x1p-119F);
  for (std::size_t i = 0; i < large.size(); ++i) EXPECT_NEAR(small[i], large[i], 3000 * 0x1p-30);
}

TEST(Advect, ConstantFieldIsKeptExactly) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& one : test::advect_cases()) {
    if (one.base || one.field[0] || one.field[1] || one.field[2]) continue;
    auto const size = static_cast<std::size_t>(one.grid.size());
    std::vector<double> const in(size, 3.25);
    test::AdvectProblem<double> problem(stream, one);
    auto& step = problem.step();
    step.in = in.data();
    for (auto& axis : step.sides)
      for (auto& side : axis) side.inflow = in.data();
    for (auto const* variant : {"reference", "threads"})
      EXPECT_EQ(problem.run(variant), in) << variant << ' ' << one.text();
  }
}

TEST(Advect, UpwindKeepsTheMaximumPrinciple) {
  // A solid rotation has no divergence along any axis, so that new values are means of old ones.
  Stream stream(Device::open(Backend::cpu));
  constexpr std::int64_t n = 37;
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> u(n * n), next(n * n), across(n * n), along(n * n);
  for (std::int64_t i = 0; i < n * n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    u[at] = uniform(generator);
    across[at] = -static_cast<double>(i / n - n / 2);
    along[at] = static_cast<double>(i % n - n / 2);
  }
  AdvectionStep<double> step;
  step.grid.dims = 2;
  step.grid.points = {n, n, 1};
  step.velocity[0].field = across.data();
  step.velocity[1].field = along.data();
  step.factor = 1.0 / static_cast<double>(n - 1);  // Σ |c| ≤ 1, and 1 in the corners
  for (int axis = 0; axis < 2; ++axis)
    for (auto& side : step.sides[axis]) side.periodic = false;
  for (int count = 0; count < 50; ++count) {
    auto const [least, greatest] = std::ranges::minmax(u);
    step.in = u.data();
    step.out = next.data();
    advect::advect(stream, step);
    EXPECT_GE(std::ranges::min(next), std::min(least, 0.0) - 1e-15);
    EXPECT_LE(std::ranges::max(next), std::max(greatest, 0.0) + 1e-15);
    u.swap(next);
  }
}

TEST(Advect, ImposesValuesWhereTheFlowEnters) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const velocity = {1, 1, -1, 1, 1, 1, 1, 1, -1}, left = {10, 11, 12};
  std::vector<double> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  AdvectionStep<double> step;
  step.grid.dims = 2;
  step.grid.points = {3, 3, 1};
  step.out = values.data();
  step.velocity[0].field = velocity.data();
  for (auto& side : step.sides[0]) side.periodic = false;
  step.sides[0][0].inflow = left.data();
  advect::impose_inflow(stream, step);
  EXPECT_EQ(values, (std::vector<double>{10, 1, 0, 11, 4, 5, 12, 7, 0}));
}

TEST(Advect, StepLimits) {
  Grid grid;
  grid.dims = 2;
  grid.points = {11, 11, 1};
  grid.spacing = {0.1, 0.2, 1};
  EXPECT_DOUBLE_EQ(advect::step_limit(Scheme::upwind, grid, {1, 4, 9}), 1 / 30.0);
  EXPECT_DOUBLE_EQ(advect::step_limit(Scheme::lax_wendroff, grid, {1, 4, 9}), 1 / 20.0);
  EXPECT_DOUBLE_EQ(advect::step_limit(Scheme::weno5, grid, {1, 4, 9}), 1.4349 / 30.0);
  EXPECT_TRUE(std::isinf(advect::step_limit(Scheme::lax_wendroff, grid, {0, 0, 9})));
}

TEST(Advect, RefusesBadArguments) {
  Line line(Scheme::upwind, {0, 1, 4, 9, 16}, 1, true);
  auto const refuses = [&](auto const& spoil) {
    auto step = line.step;
    spoil(step);
    EXPECT_THROW(advect::advect(line.stream, step), std::invalid_argument);
  };
  refuses([](auto& step) { step.in = nullptr; });
  refuses([](auto& step) { step.out = nullptr; });
  refuses([&](auto& step) { step.out = line.in.data(); });
  refuses([](auto& step) { step.grid.points[0] = 2; });
  refuses([](auto& step) { step.sides[0][1].periodic = false; });
  refuses([](auto& step) { step.sides[0][1].cut = true; });
  refuses([](auto& step) { step.in_weight = 1; });
  refuses([&](auto& step) {
    step.scheme = Scheme::lax_wendroff;
    step.base = line.in.data();
  });
  EXPECT_THROW(advect::advect(line.stream, line.step, "naive"), std::invalid_argument);
  EXPECT_THROW(advect::advect(line.stream, line.step, "fastest"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

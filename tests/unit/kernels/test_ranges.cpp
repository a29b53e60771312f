#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/adaptive/running.hpp"
#include "kernels/integrand/ranges.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "support/adaptive_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using namespace quadrature;
using test::infinity;
using test::line_integrand;

FiniteIntegral finite(std::string_view formula, Interval interval) {
  return on_finite_ranges(line_integrand(formula), std::span(&interval, 1));
}

TEST(Ranges, FiniteOnesStayAsTheyAre) {
  auto const same = finite("exp(x)", {3, -2});
  EXPECT_EQ(same.integrand.formula, line_integrand("exp(x)").formula);
  EXPECT_EQ(same.intervals[0].lower, 3);
  EXPECT_EQ(same.intervals[0].upper, -2);
}

TEST(Ranges, ReplaceTheVariable) {
  auto const line = finite("x", {-infinity, infinity});
  EXPECT_EQ(line.intervals[0].lower, -1);
  EXPECT_EQ(line.intervals[0].upper, 1);
  // t = 1/2: x = 2/3, dx/dt = (5/4)/(9/16) = 20/9.
  EXPECT_NEAR(line.integrand.formula.evaluate(0.5), 2.0 / 3 * 20 / 9, 4e-16);
  auto const up = finite("x", {10, infinity}), down = finite("x", {-infinity, 10});
  EXPECT_EQ(up.intervals[0].lower, 0);
  EXPECT_EQ(up.intervals[0].upper, 1);
  // t = 3/4: x = 10 ± 3, dx = 16 dt.
  EXPECT_EQ(up.integrand.formula.evaluate(0.75), 13 * 16);
  EXPECT_EQ(down.integrand.formula.evaluate(0.75), 7 * 16);
  EXPECT_EQ(finite("x", {infinity, 10}).integrand.formula.evaluate(0.75), -13 * 16);
}

TEST(Ranges, AreZeroAtInfinity) {
  for (double const end : {-1.0, 1.0})
    EXPECT_EQ(finite("1", {-infinity, infinity}).integrand.formula.evaluate(end), 0);
  EXPECT_EQ(finite("exp(x)", {0, infinity}).integrand.formula.evaluate(1), 0);
}

TEST(Ranges, KeepTheIntegral) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& integral : test::singular_integrals()) {
    auto const [integrand, intervals] = finite(integral.formula, integral.interval);
    if (integral.formula == "1/x^1.5" || integral.formula == "x^(-0.9)") continue;
    auto const result = test::integrated<double>(stream, integrand, intervals[0], {},
                                                 GaussKronrodOptions{.tolerance = {1e-9, 0}})[0];
    EXPECT_EQ(result.outcome, Outcome::reached) << integral.formula;
    EXPECT_LE(std::abs(result.value - integral.value), result.error) << integral.formula;
  }
}

TEST(Ranges, OfSeveralVariablesWithParameters) {
  std::array<expression::Variable, 3> const names = {{{"x", 0}, {"y", 1}, {"k", 2}}};
  Integrand const integrand{expression::Expression::parse("x*y + k", {}, names), 2, 1};
  std::array<Interval, 2> const intervals = {{{0, 2}, {1, infinity}}};
  auto const result = on_finite_ranges(integrand, intervals);
  EXPECT_EQ(result.integrand.dimensions, 2);
  EXPECT_EQ(result.integrand.parameters, 1);
  EXPECT_EQ(result.intervals[0].upper, 2);
  // y = 1 + 1 at t = 1/2, dy = 4 dt.
  EXPECT_EQ(result.integrand.formula.evaluate(std::array{3.0, 0.5, 7.0}), (3 * 2 + 7) * 4);
}

TEST(Ranges, RefuseWhatIsNoRange) {
  EXPECT_EQ(test::refusal([] {
              finite("x", {infinity, infinity});
            }),
            "on_finite_ranges: interval 0 is from inf to inf");
  EXPECT_EQ(test::refusal([] {
              finite("x", {0, NAN});
            }),
            "on_finite_ranges: interval 0 is from 0 to nan");
  EXPECT_EQ(test::refusal([] { on_finite_ranges(line_integrand("x"), {}); }),
            "on_finite_ranges: 0 intervals for an integrand of 1 dimensions");
}

// ------------------------------------------------------------------------------- running integrals

template <class T>
struct Curve {
  std::vector<double> values, errors;
};

template <class T>
Curve<T> running(Integrand const& integrand, Interval interval,
                 std::vector<double> const& parameters, int points, std::size_t panels) {
  Stream stream(Device::open(Backend::cpu));
  Curve<T> curve{std::vector<double>(panels + 1, -7), std::vector<double>(panels + 1, -7)};
  running_integral<T>(stream, integrand, interval, parameters, points, curve.values, curve.errors);
  return curve;
}

TEST(RunningIntegral, FollowsTheAntiderivative) {
  for (std::size_t const panels : {1, 2, 11, 12, 13, 1000, 4099})
    for (int const points : {15, 21}) {
      auto const [values, errors] =
          running<double>(line_integrand("k*cos(k*x)", 1), {0, 5}, {3}, points, panels);
      double const step = 5.0 / static_cast<double>(panels);
      for (std::size_t i = 0; i <= panels; ++i) {
        double const exact = std::sin(3 * step * static_cast<double>(i));
        ASSERT_LE(std::abs(values[i] - exact), errors[i] + 0x1p-52) << panels << ' ' << i;
        ASSERT_GE(errors[i], i == 0 ? 0 : errors[i - 1]);
      }
      EXPECT_EQ(values[0], 0);
      EXPECT_EQ(errors[0], 0);
    }
}

TEST(RunningIntegral, GoesDownwardsAndInFloat32) {
  auto const down = running<double>(line_integrand("2*x"), {3, 1}, {}, 15, 8);
  // Panels and sums of polynomials round to a few units of 9.
  for (std::size_t i = 0; i <= 8; ++i) {
    double const x = 3 - 0.25 * static_cast<double>(i);
    EXPECT_NEAR(down.values[i], x * x - 9, 8 * 9 * 0x1p-52);
  }
  auto const single = running<float>(line_integrand("exp(x)"), {0, 1}, {}, 15, 100);
  EXPECT_NEAR(single.values[100], std::numbers::e - 1, single.errors[100]);
  EXPECT_NE(single.values[100],
            running<double>(line_integrand("exp(x)"), {0, 1}, {}, 15, 100).values[100]);
}

TEST(RunningIntegral, IsNoNumberFromABadSampleOn) {
  auto const curve = running<double>(line_integrand("sqrt(0.5-x)"), {0, 1}, {}, 15, 4);
  EXPECT_TRUE(std::isfinite(curve.values[2]));
  EXPECT_TRUE(std::isnan(curve.values[3]) && std::isnan(curve.values[4]));
}

TEST(RunningIntegral, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  auto const x = line_integrand("x");
  std::vector<double> a(4), b(5);
  auto const run = [&](Integrand const& f, Interval interval, int points, std::span<double> values,
                       std::span<double> errors) {
    return test::refusal(
        [&] { running_integral<double>(stream, f, interval, {}, points, values, errors); });
  };
  EXPECT_EQ(run(x, {}, 15, a, b),
            "running_integral: values has 4 elements and errors has 5 (they must agree)");
  EXPECT_EQ(run(x, {}, 15, a, a),
            "running_integral: values (4 elements) and errors (4 elements) overlap");
  EXPECT_EQ(run(x, {}, 17, a, std::span(b).first(4)), "running_integral: 17 points (15 or 21)");
  EXPECT_EQ(run(x, {0, infinity}, 15, a, std::span(b).first(4)),
            "running_integral: the interval is from 0 to inf (finite ends)");
  EXPECT_EQ(run(x, {}, 15, std::span(a).first(1), std::span(b).first(1)),
            "running_integral: 1 values (at least 2)");
  EXPECT_EQ(run(line_integrand("x*k", 1), {}, 15, a, std::span(b).first(4)),
            "running_integral: parameters has 0 elements, it needs 1");
}

}  // namespace
}  // namespace gridstride

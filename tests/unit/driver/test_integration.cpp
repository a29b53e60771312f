#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "support/integral_cases.hpp"

namespace gridstride::test {
namespace {

TEST(Integration, FindsKnownIntegrals) { expect_known_integrals(cpu); }

/// e^x sin x on [0, 2] with so many samples.
double error_of(std::string const& rule, int points) {
  KnownIntegral const integral{"",
                               "exp(x)*sin(x)",
                               "x: [0, 2]",
                               "(exp(2)*(sin(2)-cos(2))+1)/2",
                               rule,
                               1,
                               fmt::format("points: {}\n  points_per_panel: 3", points)};
  return std::abs(integrate(integral_yaml(integral), cpu).value -
                  expression::Expression::parse(integral.exact).evaluate(0));
}

TEST(Integration, RulesHaveTheirOrders) {
  struct Case {
    std::string rule;
    int points, order;
  };
  for (auto const& [rule, points, order] :
       {Case{"left", 512, 1}, Case{"right", 512, 1}, Case{"midpoint", 64, 2},
        Case{"trapezoid", 64, 2}, Case{"simpson", 32, 4}, Case{"boole", 32, 6},
        Case{"gauss_legendre", 12, 6}})
    EXPECT_NEAR(std::log2(error_of(rule, points) / error_of(rule, 2 * points)), order, 0.1) << rule;
}

std::vector<double> values_of(std::string const& parameters) {
  OneShot done(parameters_yaml(parameters), cpu);
  auto const value = to_host(done.simulation->fields()[0], done.stream);
  auto const* const data = static_cast<double const*>(value.field.data);
  return {data, data + value.field.grid.size()};
}

TEST(Integration, SweepsEveryCombination) {
  auto const values = values_of(
      "{integrand: a*x^b, variables: {x: [0, 1]}, sweep: {a: {from: 1, to: 3, count: 3}, "
      "b: {from: 0, to: 4, count: 5}}}");
  ASSERT_EQ(values.size(), 15u);
  for (std::size_t j = 0; j < 5; ++j)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(values[3 * j + i], (static_cast<double>(i) + 1) / (static_cast<double>(j) + 1),
                  1e-12);
}

TEST(Integration, RunsAlongACurve) {
  auto const values =
      values_of("{integrand: cos(s), variables: {s: [0, 3]}, running: {points: 31}}");
  ASSERT_EQ(values.size(), 31u);
  for (std::size_t i = 0; i < 31; ++i)
    EXPECT_NEAR(values[i], std::sin(0.1 * static_cast<double>(i)), 1e-14);
}

TEST(Integration, EveryRuleTakesEveryKindOfRange) {
  for (std::string const rule : {"midpoint", "trapezoid", "simpson", "boole", "gauss_legendre",
                                 "clenshaw_curtis", "tanh_sinh", "gauss_kronrod", "vegas"}) {
    std::string const tolerance = rule == "vegas" ? "1e-2" : "1e-6";
    for (auto const& [range, exact] : {std::pair{"[-inf, inf]", std::sqrt(M_PI)},
                                       {"[inf, -inf]", -std::sqrt(M_PI)},
                                       {"[0, inf]", std::sqrt(M_PI) / 2},
                                       {"[-inf, 0]", std::sqrt(M_PI) / 2},
                                       {"[1, -1]", -std::sqrt(M_PI) * std::erf(1.0)}})
      EXPECT_NEAR(integrate(parameters_yaml(fmt::format(
                                "{{integrand: exp(-x^2), variables: {{x: {}}}, rule: {}, "
                                "tolerance: {{relative: {}}}}}",
                                range, rule, tolerance)),
                            cpu)
                      .value,
                  exact, std::stod(tolerance) * std::abs(exact))
          << rule << " " << range;
  }
}

std::string message_of(std::string const& parameters) {
  try {
    return integrate(parameters_yaml(parameters), cpu).shortfall;
  } catch (NumericalError const& error) {
    return error.what();
  }
}

TEST(Integration, SaysWhatItCouldNotReach) {
  std::string const single = message_of(
      "{integrand: exp(x), variables: {x: [0, 1]}, rule: left, points: 16, "
      "tolerance: {relative: 1e-9}}");
  EXPECT_TRUE(single.starts_with(
      "integration: the tolerance is not met (the best value is 1.66514482144064"))
      << single;
  std::string const swept = message_of(
      "{integrand: \"1/sqrt(abs(x-c))\", variables: {x: [0, 1]}, sweep: {c: {from: -1, to: 0.3, "
      "count: 2}}, points: 2000, tolerance: {relative: 1e-12}}");
  EXPECT_NE(swept.find("(1 of 2 integrals; the first, c = 0.3: the best value is "),
            std::string::npos)
      << swept;
}

void expect_message(std::string const& parameters, std::string const& part) {
  std::string const message = message_of(parameters);
  EXPECT_NE(message.find(part), std::string::npos) << parameters << ": " << message;
}

TEST(Integration, SaysWhereASampleIsNoNumber) {
  expect_message("{integrand: 1/x, variables: {x: [0, 1]}, rule: trapezoid, points: 9}",
                 ":2:25: parameters.integrand: is inf at the sample x = 0 (all samples have to be "
                 "finite; tanh_sinh takes singularities at the ends of a range)");
  expect_message(
      "{integrand: \"sqrt(y-x)\", variables: {x: [0, 1], y: [0, 1]}, rule: gauss_legendre, "
      "points: 8}",
      "is nan at the sample x = 0.");
  expect_message(
      "{integrand: log(x-c), variables: {x: [1, 2]}, sweep: {c: {from: 0, to: 3, count: 4}}}",
      " with c = 2 (all samples have to be finite");
  for (std::string const rule : {"monte_carlo", "quasi_monte_carlo", "vegas", "genz_malik"})
    expect_message("{integrand: log(x-2), variables: {x: [0, 1], y: [0, 1]}, rule: " + rule +
                       ", points: 100000}",
                   "is nan at the sample x = ");
  expect_message("{integrand: 1e308*(1+x), variables: {x: [0, 1]}}",
                 "is so large that sums of its samples are not finite in float64");
}

TEST(Integration, IntegralsThatAreZeroEnd) {
  for (std::string const integrand : {"x", "x*y", "sin(x)*exp(y)"})
    EXPECT_NEAR(integrate(parameters_yaml("{integrand: " + integrand +
                                          ", variables: {x: [-1, 1], y: [0, 1]}, "
                                          "tolerance: {absolute: 1e-9}}"),
                          cpu)
                    .value,
                0, 1e-9);
  // An absolute tolerance of 0 that is asked for, and a relative one beyond rounding, count.
  for (std::string const tolerance : {"relative: 1e-10, absolute: 0", "relative: 1e-15"})
    expect_message("{integrand: x, variables: {x: [-1, 1]}, tolerance: {" + tolerance + "}}",
                   "the tolerance is not met");
}

TEST(Integration, EndsWherePartsCancel) { expect_cancelled_integrals(cpu); }

TEST(Integration, ASampleThatIsNoNumberCostsItsIntegralAlone) { expect_gaps(cpu); }

TEST(Integration, SaysWhatNoSampleMeets) {
  for (std::string const rule : {"monte_carlo", "quasi_monte_carlo", "vegas"})
    expect_message(
        "{integrand: \"if((x-0.3)^2+(y-0.3)^2 < 1e-14, 1, 0)\", variables: {x: [0, 1], "
        "y: [0, 1]}, rule: " +
            rule + ", points: 16384}",
        "nothing is known of the integral (all 1");
  OneShot const done(parameters_yaml("{integrand: \"step(x-c)\", variables: {x: [0, 1]}, sweep: "
                                     "{c: {from: 0, to: 2, count: 3}}}"),
                     cpu);
  EXPECT_EQ(done.simulation->shortfall(), "");
  EXPECT_EQ(done.simulation->fallbacks(),
            std::vector<std::string>{
                "integration: all samples of 2 of 3 integrals by gauss_kronrod are 0, or cancel "
                "exactly (what lies between them, such as a narrow peak, would be missing)"});
}

/// A fifth of the integral lies beyond the last number of float32 beside the end.
TEST(Integration, SamplingCountsWhatLiesBesideAnEndWhereThePrecisionHasNoSample) {
  for (std::string const rule : {"monte_carlo", "quasi_monte_carlo", "vegas"}) {
    auto const of = [&](std::string const& integrand, std::string const& range) {
      return integrate(
          "precision: float32\n" +
              parameters_yaml("{integrand: " + integrand + ", variables: {x: " + range +
                              "}, rule: " + rule + ", points: 65536, tolerance: {relative: 0.02}}"),
          cpu);
    };
    for (auto const& [integrand, range] :
         {std::pair("x^(-1.1)", "[1, inf]"), {"(1-x)^(-0.9)", "[0, 1]"}}) {
      auto const found = of(integrand, range);
      EXPECT_NE(found.shortfall, "") << rule;
      EXPECT_LT(std::abs(found.value - 10), found.error_estimate) << rule;
    }
    EXPECT_EQ(of("exp(-x)", "[0, inf]").shortfall, "") << rule;
    EXPECT_EQ(of("(1-x)^(-0.3)", "[0, 1]").shortfall, "") << rule;
  }
}

TEST(Integration, ValuesBeyondFloat32AreMissing) {
  for (std::string const integrand : {"1e60", "1e-60"})
    EXPECT_THROW(integrate("precision: float32\n" +
                               parameters_yaml("{integrand: " + integrand +
                                               ", variables: {x: [0, 1]}, rule: quasi_monte_carlo, "
                                               "points: 1024}"),
                           cpu),
                 NumericalError)
        << integrand;
}

TEST(Integration, FallingSweepsAndCurvesHaveRisingImages) {
  auto const grid_and_values = [](std::string const& parameters) {
    OneShot done(parameters_yaml(parameters), cpu);
    auto const value = to_host(done.simulation->fields()[0], done.stream);
    auto const* const data = static_cast<double const*>(value.field.data);
    Grid const grid = value.field.grid;
    return std::pair{grid, std::vector<double>{data, data + grid.size()}};
  };
  auto const [grid, values] = grid_and_values(
      "{integrand: a*x + b, variables: {x: [0, 2]}, sweep: {a: {from: 3, to: 1, count: 5}, b: "
      "{from: -1, to: -2, count: 3}}}");
  for (int axis : {0, 1}) EXPECT_GT(grid.spacing[static_cast<std::size_t>(axis)], 0);
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    auto const place = grid.indices(i);
    EXPECT_NEAR(values[static_cast<std::size_t>(i)],
                2 * grid.coordinate(0, place[0]) + 2 * grid.coordinate(1, place[1]), 1e-13);
  }
  auto const [line, curve] =
      grid_and_values("{integrand: cos(x), variables: {x: [2, -1]}, running: {points: 31}}");
  EXPECT_GT(line.spacing[0], 0);
  for (std::int64_t i = 0; i < line.size(); ++i)
    EXPECT_NEAR(curve[static_cast<std::size_t>(i)], std::sin(line.coordinate(0, i)) - std::sin(2.0),
                1e-14);
  EXPECT_NEAR(integrate(parameters_yaml("{integrand: cos(x), variables: {x: [2, -1]}, running: "
                                        "{points: 31}}"),
                        cpu)
                  .value,
              std::sin(-1.0) - std::sin(2.0), 1e-14);
}

/// It has no value, and no number of boxes is enough.
TEST(Integration, CubatureEndsOnTheHostWhereThereIsNoIntegral) {
  auto const found = integrate(
      parameters_yaml("{integrand: x*y, variables: {x: [0, 1], y: [-inf, inf], z: [0, 1], "
                      "w: [0, 1]}}"),
      cpu);
  EXPECT_LE(found.evaluations, 0x1p28);
  EXPECT_NE(found.shortfall.find("the tolerance is not met"), std::string::npos);
}

TEST(Integration, ASweepOfOneValueHasTheFirst) {
  for (std::string const to : {"1", "5"})
    EXPECT_NEAR(values_of("{integrand: s*x, variables: {x: [0, 1]}, sweep: {s: {from: 3, to: " +
                          to + ", count: 1}}}")
                    .at(0),
                1.5, 1e-14)
        << to;
}

TEST(Integration, VegasLeavesAShortRest) {
  for (int const points : {1024, 1025, 1026, 1100, 5000}) {
    auto const found = integrate(
        parameters_yaml(fmt::format("{{integrand: exp(x)*sin(x), variables: {{x: [0, 10]}}, "
                                    "rule: vegas, points: {}}}",
                                    points)),
        cpu);
    EXPECT_LE(found.evaluations, points);
    EXPECT_GT(found.error_estimate, 1) << points;
    EXPECT_LE(std::abs(found.value - 3249.95897), 2 * found.error_estimate) << points;
  }
}

std::vector<Problem> kernel_problems(std::string const& parameters, std::string const& kernels) {
  auto const config = config_of(parameters_yaml(parameters) + "kernels: {" + kernels + "}\n");
  auto const& entry = entry_of(config);
  auto problems = entry.problems(config, inputs_of(config));
  if (problems.empty())
    problems = variant_problems(entry, config, inputs_of(config), Device::open(Backend::cpu));
  return problems;
}

std::string kernel_problem(std::string const& parameters, std::string const& kernels) {
  auto const problems = kernel_problems(parameters, kernels);
  return problems.size() == 1 ? problems[0].message : fmt::format("{} problems", problems.size());
}

constexpr char const* on_a_line = "{integrand: x, variables: {x: [0, 1]}, rule: midpoint}";
constexpr char const* in_a_plane =
    "{integrand: x*y, variables: {x: [0, 1], y: [0, 1]}, points: 2000, rule: ";

TEST(Integration, VariantsAreOfTheFamilyOfTheRule) {
  std::string const to_tolerance = "{integrand: x, variables: {x: [0, 1]}}";
  std::string const curve = "{integrand: x, variables: {x: [0, 1]}, running: {points: 3}}";
  for (auto const& [parameters, kernels] :
       {std::pair<std::string, std::string>{on_a_line, "riemann: reference"},
        {to_tolerance, "adaptive: reference"},
        {"{integrand: x, variables: {x: [0, 1]}, rule: tanh_sinh}", "adaptive: on_chip"},
        {std::string(in_a_plane) + "genz_malik}", "cubature: reference"},
        {std::string(in_a_plane) + "monte_carlo}", "sampling: reference"},
        {std::string(in_a_plane) + "quasi_monte_carlo}", "sampling: threads"},
        {std::string(in_a_plane) + "vegas}", "sampling: reference"}})
    EXPECT_EQ(kernel_problem(parameters, kernels), "0 problems") << kernels;
  EXPECT_EQ(kernel_problem(to_tolerance, "riemann: reference"),
            "'reference' is a variant of the fixed rules of one variable (here the rule is "
            "'gauss_kronrod')");
  EXPECT_EQ(kernel_problem(std::string(in_a_plane) + "midpoint}", "riemann: reference"),
            "'reference' is a variant of the fixed rules of one variable (here the rule is "
            "'midpoint', of several)");
  EXPECT_EQ(
      kernel_problem(on_a_line, "adaptive: threads"),
      "'threads' is a variant of 'tanh_sinh' or 'gauss_kronrod' (here the rule is 'midpoint')");
  EXPECT_EQ(kernel_problem(curve, "adaptive: threads"),
            "'threads' is a variant of 'tanh_sinh' or 'gauss_kronrod' (here the rule is "
            "'gauss_kronrod', for a curve)");
  EXPECT_EQ(kernel_problem(std::string(in_a_plane) + "vegas}", "cubature: threads"),
            "'threads' is a variant of 'genz_malik' (here the rule is 'vegas')");
  EXPECT_EQ(
      kernel_problem(on_a_line, "sampling: tiles"),
      "'tiles' is a variant of 'monte_carlo', 'quasi_monte_carlo' or 'vegas' (here the rule is "
      "'midpoint')");
  EXPECT_EQ(kernel_problem("{integrand: x, variables: {x: [0, 1]}, rule: tanh_sinh}",
                           "adaptive: breadth_first"),
            "'breadth_first' is a variant of 'gauss_kronrod' alone (here the rule is 'tanh_sinh')");
  EXPECT_EQ(kernel_problems(on_a_line, "adaptive: threads, sampling: threads").size(), 2u);
}

/// `riemann` was `quadrature` when the other families could not be chosen.
TEST(Integration, TheFormerNameOfRiemannMeansTheSame) {
  EXPECT_EQ(kernel_problem(on_a_line, "quadrature: reference"), "0 problems");
  EXPECT_EQ(kernel_problem(on_a_line, "quadrature: reference, riemann: reference"), "0 problems");
  EXPECT_EQ(kernel_problem(on_a_line, "quadrature: reference, riemann: threads"),
            "'reference' contradicts 'threads' for riemann, whose former name this is");
  EXPECT_EQ(kernel_problem(on_a_line, "quadrature: naive"), "cpu has no variant 'naive'");
  auto const found =
      kernel_problems("{integrand: x, variables: {x: [0, 1]}}", "quadrature: reference");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "kernels.quadrature");
  EXPECT_EQ(found[0].line, 3);
}

/// Rows of a GPU, which the host's tables refuse when they are asked for them.
TEST(Integration, TheVariantThatIsChosenIsAskedFor) {
  auto const refusal = [](std::string const& parameters, std::string const& kernels) {
    try {
      integrate(parameters_yaml(parameters) + "kernels: {" + kernels + "}\n", cpu);
      return std::string("none");
    } catch (std::invalid_argument const& error) {
      return std::string(error.what());
    }
  };
  std::string const plane = in_a_plane;
  EXPECT_EQ(refusal(on_a_line, "riemann: warp"), "riemann: cpu has no variant 'warp'");
  EXPECT_EQ(refusal(on_a_line, "quadrature: warp"), "riemann: cpu has no variant 'warp'");
  for (std::string const rule : {"gauss_kronrod", "tanh_sinh"})
    EXPECT_EQ(
        refusal("{integrand: x, variables: {x: [0, 1]}, rule: " + rule + "}", "adaptive: on_chip"),
        rule + ": cpu has no variant 'on_chip'");
  EXPECT_EQ(refusal(plane + "genz_malik}", "cubature: breadth_first"),
            "cubature: cpu has no variant 'breadth_first'");
  for (std::string const rule : {"monte_carlo", "quasi_monte_carlo", "vegas"})
    EXPECT_EQ(refusal(plane + rule + "}", "sampling: tiles"),
              rule + ": cpu has no variant 'tiles'");
}

TEST(Integration, TheSameSeedGivesTheSameBits) {
  auto const with = [](std::string const& rule, int seed) {
    return integrate(parameters_yaml(fmt::format(
                         "{{integrand: x*y, variables: {{x: [0, 1], y: [0, 1]}}, rule: {}, "
                         "points: 100000, seed: {}}}",
                         rule, seed)),
                     cpu)
        .value;
  };
  for (std::string const rule : {"monte_carlo", "quasi_monte_carlo", "vegas"}) {
    EXPECT_EQ(with(rule, 1), with(rule, 1)) << rule;
    EXPECT_NE(with(rule, 1), with(rule, 2)) << rule;
  }
}

}  // namespace
}  // namespace gridstride::test

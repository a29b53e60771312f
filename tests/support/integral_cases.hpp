#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "driver/prepare.hpp"
#include "simulations/registry.hpp"
#include "support/one_shot.hpp"

/// Integrals with known values, computed without files, on any device.
namespace gridstride::test {

/// An integral: its formula, its ranges as a config has them, and a formula of its value.
struct KnownIntegral {
  std::string name, integrand, variables, exact, rule;
  double relative;        ///< the tolerance asked for
  std::string more = "";  ///< parameters beside these
};

inline std::vector<KnownIntegral> const& known_integrals() {
  static std::string const square = "x: [0, 1], y: [0, 1]";
  static std::string const cube = square + ", z: [0, 1]";
  static std::string const four = cube + ", w: [0, 1]";
  static std::string const five = four + ", v: [0, 1]";
  static std::string const six = five + ", u: [0, 1]";
  static std::string const eight = six + ", s: [0, 1], r: [0, 1]";
  static std::vector<KnownIntegral> const integrals = {
      // smooth
      {"wave_packet", "exp(x)*sin(x)", "x: [0, 10]", "(exp(10)*(sin(10)-cos(10))+1)/2",
       "gauss_kronrod", 1e-12},
      {"power", "x^7", "x: [0, 1]", "1/8", "gauss_legendre", 1e-14, "points: 4"},
      {"quarter_circle", "1/(1+x^2)", "x: [0, 1]", "pi/4", "boole", 1e-13, "points: 1024"},
      {"runge", "1/(1+25*x^2)", "x: [-1, 1]", "2*atan(5)/5", "clenshaw_curtis", 1e-12,
       "points: 257"},
      {"cosine", "cos(x)", "x: [0, pi/2]", "1", "simpson", 1e-12, "points: 4096"},
      {"reversed", "cos(x)", "x: [pi/2, 0]", "-1", "gauss_kronrod", 1e-12},
      {"periodic", "exp(cos(x))*cos(sin(x))", "x: [0, 2*pi]", "2*pi", "trapezoid", 1e-12,
       "points: 64"},
      // oscillating
      {"fast_cosine", "cos(100*x)", "x: [0, 1]", "sin(100)/100", "gauss_kronrod", 1e-10},
      {"many_periods", "sin(x)^2", "x: [0, 100*pi]", "50*pi", "gauss_kronrod", 1e-12},
      {"growing_sine", "x*sin(30*x)", "x: [0, 2*pi]", "-pi/15", "gauss_kronrod", 1e-10},
      {"damped", "exp(x)*cos(40*x)", "x: [0, 1]", "(e*(cos(40)+40*sin(40))-1)/1601",
       "gauss_kronrod", 1e-10},
      {"midpoints", "exp(x)*sin(x)", "x: [0, 10]", "(exp(10)*(sin(10)-cos(10))+1)/2", "midpoint",
       1e-9, "points: 1048576"},
      // peaked
      {"lorentzian", "1/((x-0.3)^2+1e-6)", "x: [0, 1]", "1000*(atan(700)+atan(300))",
       "gauss_kronrod", 1e-10},
      {"narrow_gaussian", "exp(-10000*(x-0.4)^2)", "x: [0, 1]", "sqrt(pi)/100", "gauss_kronrod",
       1e-10},
      {"needle", "0.001/(x^2+1e-6)", "x: [-1, 2]", "atan(2000)+atan(1000)", "gauss_kronrod", 1e-10},
      // singular at an end
      {"logarithm", "log(x)", "x: [0, 1]", "-1", "tanh_sinh", 1e-12},
      {"inverse_root", "1/sqrt(x)", "x: [0, 1]", "2", "tanh_sinh", 1e-12},
      {"strong_pole", "x^(-0.75)", "x: [0, 1]", "4", "tanh_sinh", 1e-11},
      {"root_times_logarithm", "sqrt(x)*log(x)", "x: [0, 1]", "-4/9", "tanh_sinh", 1e-12},
      {"semicircle", "sqrt(1-x^2)", "x: [-1, 1]", "pi/2", "tanh_sinh", 1e-12},
      {"both_ends", "1/sqrt(x*(2-x))", "x: [0, 2]", "pi", "tanh_sinh", 1e-7},
      // not smooth
      {"jump", "step(x-0.3)", "x: [0, 1]", "0.7", "gauss_kronrod", 1e-10},
      {"stairs", "floor(5*x)", "x: [0, 1]", "2", "gauss_kronrod", 1e-10},
      {"kink", "abs(x-1/3)", "x: [0, 1]", "5/18", "gauss_kronrod", 1e-10},
      {"saw", "mod(x, 0.3)", "x: [0, 1]", "0.14", "gauss_kronrod", 1e-10},
      // infinite
      {"gaussian", "exp(-x^2)", "x: [-inf, inf]", "sqrt(pi)", "gauss_kronrod", 1e-11},
      {"decay", "exp(-x)", "x: [0, inf]", "1", "gauss_kronrod", 1e-11},
      {"gamma", "x^2*exp(-x)", "x: [0, inf]", "2", "tanh_sinh", 1e-11},
      {"cauchy", "1/(1+x^2)", "x: [-inf, inf]", "pi", "gauss_kronrod", 1e-11},
      {"left_tail", "exp(3*x)", "x: [-inf, 0]", "1/3", "gauss_kronrod", 1e-11},
      {"transform", "exp(-x^2/2)*cos(3*x)", "x: [-inf, inf]", "sqrt(2*pi)*exp(-4.5)",
       "gauss_kronrod", 1e-9},
      // several dimensions
      {"sines", "sin(x)*sin(y)", "x: [0, pi], y: [0, pi]", "4", "genz_malik", 1e-8},
      {"plane_gaussian", "exp(-x^2-y^2)", "x: [-inf, inf], y: [-inf, inf]", "pi", "genz_malik",
       1e-6},
      {"corner_peak", "(1+x+y+z)^(-4)", cube, "1/24", "genz_malik", 1e-7},
      {"product_peak", "1/((0.04+(x-0.5)^2)*(0.04+(y-0.5)^2)*(0.04+(z-0.5)^2))", cube,
       "(10*atan(2.5))^3", "genz_malik", 1e-6},
      {"box_corner", "if(max(x/0.5, y/0.25) < 1, exp(x+y), 0)", square,
       "(exp(0.5)-1)*(exp(0.25)-1)", "genz_malik", 1e-6},
      {"ridges", "exp(-5*(abs(x-0.5)+abs(y-0.5)+abs(z-0.5)))", cube, "(0.4*(1-exp(-2.5)))^3",
       "genz_malik", 1e-6},
      {"disk", "step(1-x^2-y^2)", "x: [-1, 1], y: [-1, 1]", "pi", "quasi_monte_carlo", 1e-3},
      {"gauss_product", "exp(x*y)*(1+x*y)", square, "e-1", "gauss_legendre", 1e-12, "points: 4"},
      {"hill", "exp(-25*((x-0.5)^2+(y-0.5)^2+(z-0.5)^2+(w-0.5)^2))", four,
       "(sqrt(pi)/5*erf(2.5))^4", "vegas", 1e-3},
      {"oscillatory", "cos(x+y+z+w+v)", five, "(2*sin(0.5))^5*cos(2.5)", "genz_malik", 1e-8},
      {"six_gaussians", "exp(-(x^2+y^2+z^2+w^2+v^2+u^2))", six, "(sqrt(pi)/2*erf(1))^6",
       "monte_carlo", 1e-3},
      {"eight_cosines", "cos(x+y+z+w+v+u+s+r)", eight, "(2*sin(0.5))^8*cos(4)", "quasi_monte_carlo",
       1e-4},
  };
  return integrals;
}

/// What an integration came to.
struct Integrated {
  double value = 0, error_estimate = 0, evaluations = 0;
  std::string shortfall = {};
};

inline std::string integral_yaml(KnownIntegral const& integral,
                                 std::string const& precision = "float64") {
  return fmt::format(
      "simulation: integration\nprecision: {}\nparameters:\n  integrand: \"{}\"\n"
      "  variables: {{{}}}\n  rule: {}\n  tolerance: {{relative: {}}}\n{}{}\n",
      precision, integral.integrand, integral.variables, integral.rule, integral.relative,
      integral.more.empty() ? "" : "  ", integral.more);
}

inline std::string parameters_yaml(std::string const& parameters) {
  return "simulation: integration\nparameters: " + parameters + "\n";
}

inline Integrated integrate(std::string const& yaml, Backend backend) {
  OneShot const done(yaml, backend);
  Integrated found;
  for (NamedValue const& one : done.simulation->diagnostics()) {
    if (one.name == "value") found.value = one.value;
    if (one.name == "error_estimate") found.error_estimate = one.value;
    if (one.name == "evaluations") found.evaluations = one.value;
  }
  found.shortfall = done.simulation->shortfall();
  return found;
}

/// Every value is within the tolerance asked for, and all estimates but two at most are no less
/// than the error; rounding of the value itself is no error of theirs.
inline void expect_known_integrals(Backend backend) {
  int too_small = 0;
  for (auto const& integral : known_integrals()) {
    SCOPED_TRACE(integral.name);
    auto const found = integrate(integral_yaml(integral), backend);
    double const exact = expression::Expression::parse(integral.exact).evaluate(0);
    double const error = std::abs(found.value - exact);
    EXPECT_LE(error, integral.relative * std::abs(exact));
    EXPECT_LE(found.error_estimate, integral.relative * std::abs(found.value));
    EXPECT_GT(found.evaluations, 0);
    EXPECT_EQ(found.shortfall, "");
    if (error > found.error_estimate + 0x1p-50 * std::abs(exact)) {
      ++too_small;
      fmt::print("{}: error {:.3g}, estimate {:.3g}\n", integral.name, error, found.error_estimate);
    }
  }
  EXPECT_GE(known_integrals().size(), 40u);
  EXPECT_LE(too_small, 2);
}

/// Integrals whose parts cancel end without an absolute tolerance, in any unit of the integrand.
inline void expect_cancelled_integrals(Backend backend) {
  for (std::string const factor : {"1", "1e-300", "1e300"})
    for (auto const& [rule, integrand, variables] :
         {std::array<std::string, 3>{"gauss_kronrod", "sin(x)", "x: [-2, 2]"},
          {"gauss_kronrod", "sin(x)", "x: [0, 8*pi]"},
          {"gauss_kronrod", "sin(100*x)*exp(x^2)", "x: [-2, 2]"},
          {"tanh_sinh", "sin(x)", "x: [-2, 2]"},
          {"tanh_sinh", "(x - 0.5)", "x: [0, 1]"},
          {"tanh_sinh", "(log(x) + 1)", "x: [0, 1]"},
          {"gauss_legendre", "sin(x)", "x: [-2, 2]"},
          {"clenshaw_curtis", "sin(x)", "x: [-2, 2]"},
          {"gauss_legendre", "sin(x)*exp(y)", "x: [-2, 2], y: [0, 1]"},
          {"genz_malik", "sin(x)*exp(y)", "x: [-2, 2], y: [0, 1]"}}) {
      SCOPED_TRACE(fmt::format("{} of {}*{} over {}", rule, factor, integrand, variables));
      auto const found = integrate(
          fmt::format("simulation: integration\nparameters: {{integrand: \"{}*{}\", variables: "
                      "{{{}}}, rule: {}}}\n",
                      factor, integrand, variables, rule),
          backend);
      EXPECT_EQ(found.shortfall, "");
      EXPECT_LE(std::abs(found.value), found.error_estimate);
      EXPECT_LE(found.error_estimate, 1e-10 * std::stod(factor));
    }
}

/// Of a sweep whose integrals have samples that are no numbers for some parameters, the others are
/// there.
inline void expect_gaps(Backend backend) {
  for (auto const& [rule, variables] :
       {std::pair<std::string, std::string>{"gauss_kronrod", "x: [1, 2]"},
        {"tanh_sinh", "x: [1, 2]"},
        {"midpoint", "x: [1, 2]"},
        {"simpson", "x: [1, 2], y: [0, 1]"},
        {"genz_malik", "x: [1, 2], y: [0, 1]"},
        {"monte_carlo", "x: [1, 2], y: [0, 1]"},
        {"quasi_monte_carlo", "x: [1, 2], y: [0, 1]"},
        {"vegas", "x: [1, 2], y: [0, 1]"}}) {
    SCOPED_TRACE(rule);
    OneShot done(
        fmt::format("simulation: integration\nparameters: {{integrand: \"sqrt(c*(x-1.5) + "
                    "1)\", variables: {{{}}}, sweep: {{c: {{from: -4, to: 4, count: 5}}}}, "
                    "rule: {}, tolerance: {{relative: 1e-2}}}}\n",
                    variables, rule),
        backend);
    auto const value = to_host(done.simulation->fields()[0], done.stream);
    auto const* const values = static_cast<double const*>(value.field.data);
    for (std::size_t i : {0u, 4u}) EXPECT_TRUE(std::isnan(values[i])) << values[i];
    // ∫ √(1 + c·t) dt over [−1/2, 1/2].
    auto const exact = [](double c) {
      return c == 0 ? 1 : 2 / (3 * c) * (std::pow(1 + c / 2, 1.5) - std::pow(1 - c / 2, 1.5));
    };
    for (std::size_t i : {1u, 2u, 3u})
      EXPECT_NEAR(values[i], exact(2 * static_cast<double>(i) - 4), 1e-2);
    auto const shortfall = done.simulation->shortfall();
    EXPECT_NE(shortfall.find(" with c = -4 ("), std::string::npos) << shortfall;
    EXPECT_NE(shortfall.find("; 2 of 5 integrals are missing"), std::string::npos) << shortfall;
  }
}

}  // namespace gridstride::test

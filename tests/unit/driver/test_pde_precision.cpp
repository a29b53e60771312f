// What equations in float32 cannot hold.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "support/heat_cases.hpp"

namespace gridstride {
namespace {

std::string problems_of(std::string const& text) {
  auto const config = test::config_of("simulation: pde\n" + text);
  std::string all;
  for (Problem const& one : entry_of(config).problems(config, {}))
    all += fmt::format("{}: {}\n", one.path, one.message);
  return all;
}

std::string const help =
    " in float32 (units in which numbers lie between 1.2e-38 and 3.4e+38 help, and 'precision: "
    "float64')\n";

TEST(PdePrecision, NumbersWithoutAllDigitsAreRefused) {
  auto const of = [](std::string const& precision, std::string const& rate,
                     std::string const& more = "") {
    return problems_of(fmt::format(
        "precision: {}\ngrid: {{points: 32}}\nboundary: {{x: periodic}}\nequations: {{u: \"{}\"}}\n"
        "initial: {{u: 1}}\ntime: {{end: 1, step: 1e-4, scheme: rk4}}\n{}",
        precision, rate, more));
  };
  EXPECT_EQ(of("float32", "laplace(-1e-54*laplace(u))"),
            "equations: the number -1e-54 comes up in it, which is 0" + help);
  EXPECT_EQ(of("float64", "laplace(-1e-54*laplace(u))"), "");
  EXPECT_EQ(of("float32", "laplace(u) - 1e-37*u"), "");
  EXPECT_EQ(
      of("float32", "-u",
         "output: {derived: {small: 1e-40*u, large: 1e40*u}}\n"
         "events: {at: 0.5, set: {u: u + 2e-46}}\n"),
      "output.derived.small: the number 1e-40 comes up in it, which is a number of few digits" +
          help +
          "output.derived.large: the number 1e+40 comes up in it, which is beyond all "
          "numbers" +
          help + "events.set: the number 2e-46 comes up in it, which is 0" + help);
  EXPECT_EQ(of("float32", "laplace(u) - u*exp(-1e-60*u)", "space: {derivatives: spectral}\n"),
            "equations: the number -1e-60 comes up in it, which is 0" + help);
}

/// Also in what is found once and held by an array.
TEST(PdePrecision, CoordinatesThatAreRoundedTooMuchAreRefused) {
  auto const of = [](std::string const& rate, std::string const& lower,
                     std::string const& more = "") {
    return problems_of(fmt::format(
        "precision: float32\ngrid: {{points: [65, 9], lower: [{}, 0], upper: [{} + 6.4, 1]}}\n"
        "boundary: {{x: {{neumann: 0}}, y: periodic}}\nequations: {{u: \"{}\"}}\n"
        "initial: {{u: \"sin(x)\"}}\ntime: {{end: 1}}\n{}",
        lower, lower, rate, more));
  };
  std::string const rounded =
      "x comes up in it, which float32 rounds by up to 0.27 m where it is 4.50001e+06 m, and "
      "points "
      "are 0.1 m apart (a grid that begins nearer to 0 helps, and 'precision: float64')\n";
  EXPECT_EQ(of("-u + sin((x - 4500000)*2)", "4500000"), "equations: " + rounded);
  EXPECT_EQ(of("-u + sin(x*y)", "4500000"), "equations: " + rounded);
  EXPECT_EQ(of("-u + sin(y)", "4500000", "output: {derived: {s: x*u}}\n"),
            "output.derived.s: " + rounded);
  EXPECT_EQ(of("-u + sin(x)", "100000"), "");
  EXPECT_NE(of("-u + sin(x)", "-110000"), "");
}

std::string first_and_sides(std::string const& precision, std::string const& lower,
                            std::string const& rest) {
  return problems_of(fmt::format(
      "precision: {0}\ngrid: {{points: [11, 11], lower: [{1}, 0], upper: [{1} + 1, 1]}}\n"
      "time: {{end: 1e-3, step: 1e-5, scheme: rk4}}\nlet: {{D: sin(6*x)}}\n{2}",
      precision, lower, rest));
}

TEST(PdePrecision, NumbersInFirstValuesAndOnSidesAreRefusedBesideFields) {
  std::string const config = R"(
fields: {q: vector}
equations: {u: laplace(u), w: 0*w, q: 0*q}
initial: {u: 1e-54*w, w: 1e30, q: {x: 1e-45*u, y: 1e-30*u}}
boundary:
  u: {x: {neumann: 1e-54*w}, y: {lower: {dirichlet: 1e39*w}, upper: {robin: [1e-50*w, 1e-30*w]}}}
  w: {x: {neumann: 1e-60}, y: {dirichlet: 1e-100*x}}
  q: {x: {neumann: {x: w, y: 1e-46*w}}, y: {neumann: {x: 0, y: 0}}}
)";
  std::string const zero = " comes up in it, which is 0" + help;
  EXPECT_EQ(first_and_sides("float32", "0", config),
            "initial.u: the number 1e-54" + zero +
                "initial.q: the number 1e-45 comes up in it, which is a number of few digits" +
                help + "boundary.u.x.neumann: the number 1e-54" + zero +
                "boundary.u.y.lower.dirichlet: the number 1e+39 comes up in it, which is beyond "
                "all numbers" +
                help + "boundary.u.y.upper.robin.0: the number 1e-50" + zero +
                "boundary.q.x.neumann.y: the number 1e-46" + zero);
  EXPECT_EQ(first_and_sides("float64", "0", config), "");
}

/// Formulas of space alone are found in float64.
TEST(PdePrecision, CoordinatesInFirstValuesAndOnSidesAreRefusedBesideFields) {
  auto const of = [](std::string const& u, std::string const& w, std::string const& of_x,
                     std::string const& of_y) {
    return first_and_sides("float32", "4500000",
                           fmt::format("equations: {{u: laplace(u), w: 0*w}}\n"
                                       "initial: {{u: {}, w: {}}}\n"
                                       "boundary: {{x: {{neumann: {}}}, y: {{neumann: {}}}}}\n",
                                       u, w, of_x, of_y));
  };
  std::string const rounded =
      ": x comes up in it, which float32 rounds by up to 0.27 m where it is 4.5e+06 m, and points "
      "are 0.1 m apart (a grid that begins nearer to 0 helps, and 'precision: float64')\n";
  EXPECT_EQ(of("w*sin(6*x)", "1", "0", "0"), "initial.u" + rounded);
  EXPECT_EQ(of("D", "1", "0", "0"), "initial.u" + rounded);
  EXPECT_EQ(of("laplace(w)", "sin(6*x)", "sin(6*x)", "sin(6*x)"), "");
  EXPECT_EQ(of("1", "1", "0", "w*sin(6*x)"), "boundary.y.neumann" + rounded);
  EXPECT_EQ(of("1", "1", "w*sin(7*x)", "0"), "boundary.x.neumann" + rounded);
}

}  // namespace
}  // namespace gridstride

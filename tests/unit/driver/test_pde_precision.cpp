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

}  // namespace
}  // namespace gridstride

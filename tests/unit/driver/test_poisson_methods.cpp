#include <gtest/gtest.h>

#include <string>

#include "support/poisson_reference.hpp"

namespace gridstride::test {
namespace {

/// What tools/make_poisson_reference.py makes of dense matrices: so many sweeps of each method, and
/// the solution. Values are about 1, a sweep rounds some ten times, and no sweep lets errors grow by
/// more than the relaxation.
TEST(PoissonMethods, SweepsAreThoseOfDenseMatrices) {
  for (auto const& entry : stored_cases("linear")) {
    std::string const coefficients =
        fmt::format("diffusivity: \"{}\", reaction: \"{}\"", entry.at("a").get<std::string>(),
                    entry.at("kappa").get<std::string>());
    for (auto const& one : entry.at("sweeps")) {
      std::string const method = one.at("method");
      double const factor = one.at("relaxation");
      std::string const relaxation =
          method == "gauss_seidel" ? "" : fmt::format(", relaxation: {}", factor);
      auto const solved = solve_poisson(
          reference_yaml(entry,
                         fmt::format("{}, method: {}, iterations: {}{}", coefficients, method,
                                     one.at("iterations").get<int>(), relaxation),
                         entry.at("f")),
          cpu);
      EXPECT_LE(largest_difference(solved.u, one.at("u")), 1e-12) << method << entry.at("sides");
    }
    for (std::string const method : {"jacobi", "gauss_seidel", "sor, relaxation: 1.5"})
      EXPECT_LE(largest_difference(
                    solve_poisson(reference_yaml(entry,
                                                 fmt::format("{}, method: {}, tolerance: 1e-12",
                                                             coefficients, method),
                                                 entry.at("f")),
                                  cpu)
                        .u,
                    entry.at("u")),
                1e-10)
          << method << entry.at("sides");
  }
}

constexpr char const* textbook[] = {"jacobi", "gauss_seidel", "sor"};

TEST(PoissonMethods, TextbooksAgreeWithTransforms) {
  for (std::string const method : textbook)
    for (std::string const precision : {"float32", "float64"})
      for (std::string const sides : {"dnndpp", "ppnnnn", "nnnnnn"}) {
        auto const solved = [&](std::string const& how) {
          return solve_poisson(
              poisson_yaml(
                  {{9, 8, 11}, sides}, "x*y + z", {"y", "x", "1"},
                  fmt::format("source: \"exp(x)*cos(9*y*z)\", imbalance: 1, method: {}", how),
                  precision),
              cpu);
        };
        EXPECT_LE(relative_difference(solved(method).u, solved("fft").u),
                  precision == "float32" ? 4e-6 : 1e-9)
            << method << sides;
      }
}

TEST(PoissonMethods, TellWhatTheyCameTo) {
  auto const solve = [](std::string const& parameters) {
    return OneShot(poisson_yaml({{33, 33}, "dddd"}, "0", {"0", "0", ""}, "source: 1, " + parameters,
                                "float64"),
                   cpu);
  };
  auto const cut = solve("method: gauss_seidel, iterations: 40");
  EXPECT_EQ(cut.simulation->tables()[0].rows(), 4);  // of 0, 16, 32 and 40
  std::string const told = cut.simulation->shortfall();
  EXPECT_NE(told.find("after 40 iterations the largest residual is "), std::string::npos) << told;
  EXPECT_NE(told.find("method: multigrid needs few, whatever the number of points is"),
            std::string::npos);
  auto const best = solve("method: sor");
  EXPECT_EQ(best.simulation->shortfall(), "");
  // 2/(1 + sin(π/32))
  EXPECT_EQ(best.simulation->chosen()[1].text, "1.82147");
  auto const plain = solve("method: jacobi");
  auto const cycles = [](OneShot const& run) {
    for (auto const& value : run.simulation->diagnostics())
      if (value.name == "solves") return value.value;
    return 0.0;
  };
  // ln(1e-10)/ln(ρ) of each, within what the starts are worth.
  EXPECT_NEAR(cycles(plain), 4770, 500);
  EXPECT_NEAR(cycles(best), 140, 40);
}

TEST(PoissonMethods, CheckTellsHowTheyRelax) {
  auto const config = config_of(
      poisson_yaml({{33, 33}, "dddd"}, "0", {"0", "0", "0"}, "source: 0, method: sor", "float64"));
  auto const told = entry_of(config).report(config, inputs_of(config), Device::open(cpu));
  EXPECT_EQ(told, std::vector<std::string>{"sor: 31 x 31 unknowns, relaxation 1.82147"});
}

}  // namespace
}  // namespace gridstride::test

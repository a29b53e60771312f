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

/// Smooth errors do not show beside rough ones, which go first. Of two modes the largest of the error
/// is at most the sum of what is told of each.
TEST(PoissonMethods, ErrorsAreNoLargerThanTold) {
  struct Case {
    PoissonGrid grid;
    std::array<int, 3> smooth, rough;
    std::string more;
  };
  Case const cases[] = {{{{65}, "dd"}, {1, 0, 0}, {30, 0, 0}, ""},
                        {{{33}, "nn"}, {1, 0, 0}, {14, 0, 0}, ""},
                        {{{33, 33}, "dddd"}, {1, 1, 0}, {12, 15, 0}, ", diffusivity: 3"},
                        {{{32, 17}, "ppdn"}, {0, 0, 0}, {9, 6, 0}, ", reaction: 5"},
                        {{{33, 17}, "dnnn"}, {0, 0, 0}, {9, 6, 0}, ", diffusivity: 1 + 0*x*y"}};
  for (auto const& [grid, smooth, rough, more] : cases) {
    double const a = more.find("3") != std::string::npos ? 3 : 1,
                 kappa = more.find("5") != std::string::npos ? 5 : 0;
    auto const one = poisson_mode(grid, smooth), other = poisson_mode(grid, rough);
    auto const u =
        expression::Expression::parse(fmt::format("0.3*{} + {}", one.formula, other.formula));
    for (std::string const method :
         {"jacobi", "jacobi, relaxation: 0.6", "gauss_seidel", "sor", "sor, relaxation: 1.2"})
      for (double const tolerance : {0.1, 1e-2}) {
        if (method == "sor" && more.find("x") != std::string::npos) continue;
        SCOPED_TRACE(fmt::format("{}{} {} {}", grid.sides, more, method, tolerance));
        auto const solved = solve_poisson(
            poisson_yaml(
                grid, "0", {"0", "0", "0"},
                fmt::format("source: \"{:.17g}*{} + {:.17g}*{}\", method: {}, tolerance: {}{}",
                            0.3 * (a * one.eigenvalue + kappa), one.formula,
                            a * other.eigenvalue + kappa, other.formula, method, tolerance, more),
                "float64"),
            cpu);
        EXPECT_LE(solved.diagnostic("estimated_error"), tolerance);
        double const error = host_error_norms(solved.u.field, u, 0).maximum;
        double const of_u =
            host_error_norms(solved.u.field, expression::Expression(0.0), 0).maximum;
        EXPECT_LE(error, 2 * solved.diagnostic("estimated_error") * of_u + 1e-13);
      }
  }
}

/// What hardly anything couples to the rest sweeps hardly begin to move. u is 1 everywhere; inside it is still near 0
/// where residuals and corrections are small.
TEST(PoissonMethods, ErrorsInsideOfInsulation) {
  struct Case {
    std::string sides, precision, method;
    double inside;
    bool converges;
  };
  Case const cases[] = {
      {"dd", "float64", "gauss_seidel, tolerance: 1e-3", 1e-4, false},
      {"dd", "float32", "gauss_seidel, tolerance: 1e-3", 1e-4, false},
      {"dd", "float64", "jacobi, tolerance: 1e-4", 1e-6, false},
      {"dd", "float64", "gauss_seidel", 1e-12, false},
      {"dd", "float64", "sor, relaxation: 1.8, tolerance: 1e-3", 1e-4, true},
      {"dn", "float64", "sor, relaxation: 1.8, tolerance: 1e-3", 1e-3, true},
      {"dddd", "float64", "sor, relaxation: 1.7, iterations: 4000, tolerance: 1e-2", 1e-6, false}};
  for (auto const& [sides, precision, method, inside, converges] : cases) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", sides, precision, method, inside));
    PoissonGrid const grid{std::vector<int>(sides.size() / 2, 33), sides};
    std::string const far = sides.size() == 2 ? "abs(x - 0.5)" : "sqrt((x - 0.5)^2 + (y - 0.5)^2)";
    OneShot run(
        poisson_yaml(
            grid, "1", {"0", "0", "0"},
            fmt::format("source: 0, diffusivity: \"if(abs({} - 0.25) < 0.05, {}, 1)\", method: {}",
                        far, inside, method),
            precision),
        cpu);
    double told = 0;
    for (auto const& value : run.simulation->diagnostics())
      if (value.name == "estimated_error") told = value.value;
    auto const u = to_host(run.simulation->fields()[0], run.stream);
    double const error = host_error_norms(u.field, expression::Expression(1.0), 0).maximum;
    EXPECT_EQ(run.simulation->shortfall().empty(), converges);
    EXPECT_GE(told, 0.9 * error);
    if (converges) {
      EXPECT_LE(told, 1.1 * error);
    }
  }
}

TEST(PoissonMethods, CheckTellsHowTheyRelax) {
  auto const config = config_of(
      poisson_yaml({{33, 33}, "dddd"}, "0", {"0", "0", "0"}, "source: 0, method: sor", "float64"));
  auto const told = entry_of(config).report(config, inputs_of(config), Device::open(cpu));
  EXPECT_EQ(told, std::vector<std::string>{"sor: 31 x 31 unknowns, relaxation 1.82147"});
}

}  // namespace
}  // namespace gridstride::test

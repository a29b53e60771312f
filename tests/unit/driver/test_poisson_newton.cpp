#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "support/poisson_reference.hpp"
#include "support/replaced.hpp"

namespace gridstride::test {
namespace {

/// scipy's solutions of dense nonlinear equations (tools/make_poisson_reference.py), whose residuals
/// are below 1e-10; conditions are below 1e4.
TEST(PoissonNewton, SolutionsAreThoseOfScipy) {
  for (auto const& entry : stored_cases("nonlinear")) {
    // The stored reaction stands for itself, and ours times u: it goes to the source.
    auto const solved = solve_poisson(
        reference_yaml(entry, fmt::format("diffusivity: \"{}\"", entry.at("a").get<std::string>()),
                       fmt::format("{} - ({})", entry.at("f").get<std::string>(),
                                   entry.at("reaction").get<std::string>())),
        cpu);
    EXPECT_EQ(solved.chosen[0].text, "newton");
    EXPECT_LE(largest_difference(solved.u, entry.at("u")), 1e-9) << entry.at("sides");
  }
}

/// With a = 1 + u the transform of Kirchhoff, w = u + u²/2, has −Δw = f: u of a known w.
TEST(PoissonNewton, KirchhoffsTransform) {
  for (std::string const sides : {"dd", "dn", "dddd", "dndn", "ppdd", "dddddd"}) {
    int const dims = static_cast<int>(sides.size()) / 2;
    // w = 2 + Σ sin(p_a·x_a + 0.3)/2, with whole waves along periodic axes.
    std::string w = "2", f, slopes[3] = {"0", "0", "0"};
    for (int a = 0; a < dims; ++a) {
      bool const periodic = sides[static_cast<std::size_t>(2 * a)] == 'p';
      std::string const wave = periodic ? "2*pi" : "2",
                        angle = fmt::format("({}*{} + 0.3)", wave, poisson_axes[a]);
      w += fmt::format(" + sin{}/2", angle);
      f += fmt::format("{}({})^2*sin{}/2", a == 0 ? "" : " + ", wave, angle);
      slopes[a] = fmt::format("{}*cos{}/2/sqrt(1 + 2*({{}}))", wave, angle);
    }
    for (auto& slope : slopes) slope = fmt::format(fmt::runtime(slope), w);
    std::string const u = fmt::format("sqrt(1 + 2*({})) - 1", w);
    double errors[2];
    for (int const level : {0, 1}) {
      PoissonGrid grid{{}, sides};
      for (int a = 0; a < dims; ++a)
        grid.points.push_back(((dims == 3 ? 8 : 16) << level) +
                              (sides[static_cast<std::size_t>(2 * a)] == 'p' ? 0 : 1));
      auto const solved = solve_poisson(
          poisson_yaml(grid, u, {slopes[0], slopes[1], slopes[2]},
                       fmt::format("diffusivity: 1 + u, source: \"{}\"", f), "float64"),
          cpu);
      errors[level] = solved.error;
    }
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.15)
        << sides << ' ' << errors[0] << ", " << errors[1];
  }
}

/// u = sin(2x + 0.3)·cos(3y − 0.2) for a = exp(u/2) + x·y, κ = u² and f from them.
std::string manufactured(int cells, std::string const& precision) {
  std::string const u = "(sin(2*x + 0.3)*cos(3*y - 0.2))",
                    u_x = "(2*cos(2*x + 0.3)*cos(3*y - 0.2))",
                    u_y = "(-3*sin(2*x + 0.3)*sin(3*y - 0.2))";
  std::string const a = fmt::format("(exp({}/2) + x*y)", u);
  // ∇a = exp(u/2)/2·∇u + (y, x), and Δu = −13·u.
  std::string const f = fmt::format(
      "13*{1}*{0} - exp({0}/2)/2*({2}^2 + {3}^2) - y*{2} - x*{3} + {0}^3", u, a, u_x, u_y);
  return poisson_yaml({{cells + 1, cells + 5}, "dnnd"}, u, {u_x, u_y, ""},
                      fmt::format("diffusivity: exp(u/2) + x*y, reaction: u^2, source: \"{}\"", f),
                      precision);
}

TEST(PoissonNewton, IsOfOrderTwo) {
  double const coarse = solve_poisson(manufactured(24, "float64"), cpu).error,
               fine = solve_poisson(manufactured(48, "float64"), cpu).error;
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.15) << coarse << ", " << fine;
  // What rounding to float32 leaves is far below the error of the differences.
  EXPECT_NEAR(solve_poisson(manufactured(24, "float32"), cpu).error, coarse, 1e-2 * coarse);
}

std::vector<double> const& numbers_of(Table const& table, std::string const& name) {
  for (auto const& column : table.columns)
    if (column.name == name) return std::get<1>(column.numbers);
  throw std::out_of_range(name);
}

/// From a start that is near, each step squares the residual, but for a factor, until roundings.
TEST(PoissonNewton, ConvergesQuadratically) {
  OneShot const run(manufactured(40, "float64"), cpu);
  EXPECT_EQ(run.simulation->shortfall(), "");
  auto const residuals = numbers_of(run.simulation->tables()[0], "residual");
  double const first = residuals.front();
  int squared = 0;
  for (std::size_t i = 1; i + 1 < residuals.size(); ++i) {
    double const before = residuals[i] / first, after = residuals[i + 1] / first;
    if (before > 0.1 || after < 1e-12) continue;
    EXPECT_LE(after, 20 * before * before + 1e-12) << i;
    ++squared;
  }
  EXPECT_GE(squared, 1);
  EXPECT_LE(residuals.size(), 9u);
}

/// Bratu's equation −u'' = λ·exp(u), u = 0 at both ends, for λ = 1 has two solutions,
/// −2·ln(cosh(θ/2·(x − ½))/cosh(θ/4)) with θ = √2·cosh(θ/4).
TEST(PoissonNewton, BothSolutionsOfBratu) {
  auto const theta_from = [](double theta, bool lower) {
    for (int i = 0; i < 200; ++i)
      theta =
          lower ? std::sqrt(2.0) * std::cosh(theta / 4) : 4 * std::acosh(theta / std::sqrt(2.0));
    return theta;
  };
  for (bool const lower : {true, false}) {
    double const theta = theta_from(lower ? 1 : 12, lower);
    std::string const exact =
        fmt::format("-2*log(cosh({0:.17g}/2*(x - 1/2))/cosh({0:.17g}/4))", theta);
    auto const error = [&](int points) {
      return solve_poisson(
                 poisson_yaml({{points}, "dd"}, exact, {"0", "", ""},
                              lower ? "source: exp(u)" : "source: exp(u), start: \"16*x*(1 - x)\"",
                              "float64"),
                 cpu)
          .error;
    };
    EXPECT_NEAR(std::log2(error(65) / error(129)), 2, 0.1) << theta;
  }
}

/// Beyond λ = 3.5138 there is none, and the run says so.
TEST(PoissonNewton, TellsWhereThereIsNoSolution) {
  OneShot const run(poisson_yaml({{65}, "dd"}, "0", {"0", "", ""}, "source: 5*exp(u)", "float64"),
                    cpu);
  std::string const told = run.simulation->shortfall();
  EXPECT_NE(told.find("of Newton's method the largest residual is "), std::string::npos) << told;
  EXPECT_NE(told.find("parameters.start"), std::string::npos) << told;
}

/// a = u is positive along a path that full steps leave: from u = 1 to 0.001 on one side.
TEST(PoissonNewton, StepsKeepDiffusivitiesPositive) {
  // u·u' is constant: u² is a line.
  std::string const yaml =
      "simulation: poisson\ngrid: {points: 201}\nboundary: {x: {lower: {dirichlet: 0.001}, upper: "
      "{dirichlet: 1}}}\nparameters: {diffusivity: u, source: 0, start: \"0.001 + 0.999*x^8\"}\n"
      "verify: {exact: {u: \"sqrt(1e-6 + (1 - 1e-6)*x)\"}, tolerance: {max: 1}}\n";
  OneShot const run(yaml, cpu);
  EXPECT_EQ(run.simulation->shortfall(), "");
  auto const parts = numbers_of(run.simulation->tables()[0], "step");
  EXPECT_LT(*std::min_element(parts.begin() + 1, parts.end()), 1) << "no step was shortened";
  // The face beside the small value has (0.001 + u)/2 where √ is steep: an error of a part of h^½.
  EXPECT_LE(solve_poisson(yaml, cpu).error, 0.02);
}

TEST(PoissonNewton, DiffusivitiesThatAreNotPositiveAreRefused) {
  auto const fault = [](std::string const& parameters) -> std::string {
    try {
      OneShot(poisson_yaml({{33}, "dd"}, "x - 1/2", {"1", "", ""}, parameters, "float64"), cpu);
    } catch (NumericalError const& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(
      fault("diffusivity: u, source: 1"),
      "poisson: where Newton's method begins the diffusivity is not positive everywhere, or a "
      "value is no number (parameters.start says where it begins)");
  EXPECT_EQ(fault("diffusivity: 2 + u, source: 1"), "nothing");
  EXPECT_NE(fault("source: log(u)"), "nothing");
}

/// Linear equations come to the same by the linear methods.
TEST(PoissonNewton, LinearEquations) {
  for (std::string const sides : {"dnnd", "nnnn"}) {
    auto const solved = [&](std::string const& method) {
      return solve_poisson(
          poisson_yaml(
              {{17, 14}, sides}, "x*y", {"y", "x", ""},
              "diffusivity: 1 + x*y, reaction: 2 + x, source: cos(9*x*y), method: " + method,
              "float64"),
          cpu);
    };
    EXPECT_LE(relative_difference(solved("newton").u, solved("mg_cg").u), 1e-9) << sides;
  }
}

/// Roots of u, which begins with 0, where their slopes are 0·∞ or infinite: u = x(1 − x)/2, a parabola,
/// which differences take exactly.
TEST(PoissonNewton, BeginsWhereRootsVanish) {
  std::string const exact = "x*(1 - x)/2";
  for (std::string const root : {"#*sqrt(#^2)", "#*abs(#)^0.25", "#*cbrt(#)", "cbrt(#)"}) {
    auto const of = [&](std::string const& value) { return replaced(root, "#", value); };
    auto const solved = solve_poisson(
        poisson_yaml({{33}, "dd"}, exact, {"1/2 - x", "", ""},
                     "source: \"1 + " + of("(" + exact + ")") + " - " + of("u") + "\"", "float64"),
        cpu);
    EXPECT_LE(solved.error, 1e-12) << root;
  }
}

TEST(PoissonNewton, FilesAndFormulasAndUnits) {
  // u³ = 8 with diffusion between free sides.
  auto const solved = solve_poisson(
      poisson_yaml({{20, 11}, "nnpp"}, "2", {"0", "0", ""},
                   "source: \"1e-30*(8 - u^3)\", diffusivity: 1e-30, start: 1", "float64"),
      cpu);
  EXPECT_LE(solved.error, 1e-12);
  EXPECT_NEAR(solved.diagnostic("mean"), 2, 1e-12);
}

/// Units of u are those of its numbers, to the bit: squares of none are taken.
TEST(PoissonNewton, UnitsOfAnySize) {
  auto const solved = [](double unit) {
    auto const in_units = [unit](std::string const& text) {
      return fmt::format("{:.17g}*({})", unit, text);
    };
    return solve_poisson(
        poisson_yaml(
            {{21, 18}, "dnnd"}, in_units("1 + x*y"), {in_units("y"), in_units("x"), ""},
            fmt::format("diffusivity: \"1 + (u/{0:.17g})^2\", reaction: \"exp(-u/{0:.17g})\", "
                        "source: \"{0:.17g}*cos(3*x*u/{0:.17g})\"",
                        unit),
            "float64"),
        cpu);
  };
  auto const plain = solved(1);
  for (int const exponent : {-996, -664, 498}) {  // 1e-300, 1e-200 and 1e150
    double const unit = std::ldexp(1.0, exponent);
    auto const found = solved(unit);
    EXPECT_EQ(found.diagnostic("solves"), plain.diagnostic("solves")) << exponent;
    for (std::int64_t i = 0; i < plain.u.field.grid.size(); ++i)
      ASSERT_EQ(value_at(found.u, i) / unit, value_at(plain.u, i)) << exponent;
  }
}

/// So are those of lengths and of the equation.
TEST(PoissonNewton, BoxesOfAnyLength) {
  auto const solved = [](double length, double unit) {
    std::string const x = fmt::format("x/{:.17g}", length);
    return solve_poisson(
        fmt::format("simulation: poisson\ngrid: {{points: [21, 18], upper: [{0:.17g}, {0:.17g}]}}\n"
                    "parameters: {{diffusivity: \"{1:.17g}*(1 + u^2)\", source: "
                    "\"{2:.17g}*exp(-u)*(1 + {3})\"}}",
                    length, unit, unit / length / length, x),
        cpu);
  };
  auto const plain = solved(1, 1);
  for (auto const& [length, unit] : {std::pair(70, 0),
                                     {-70, 0},
                                     {100, 0},
                                     {-100, 0},
                                     {0, 200},
                                     {0, -200},
                                     {70, 60},
                                     {70, -60}}) {
    auto const found = solved(std::ldexp(1.0, length), std::ldexp(1.0, unit));
    EXPECT_EQ(found.diagnostic("solves"), plain.diagnostic("solves")) << length << ' ' << unit;
    for (std::int64_t i = 0; i < plain.u.field.grid.size(); ++i)
      ASSERT_EQ(value_at(found.u, i), value_at(plain.u, i)) << length << ' ' << unit;
  }
}

/// A change within the tolerance is no end while the residual is not.
TEST(PoissonNewton, LooseTolerances) {
  for (std::string const a : {"1 + u^2", "exp(u)", "1 + u"})
    for (std::string const f : {"0", "x", "exp(-u^2)"})
      for (char const* const tolerance : {"0.1", "1e-2", "1e-3", "1e-4", "1e-5"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", a, f, tolerance));
        OneShot run(
            fmt::format("simulation: poisson\ngrid: {{points: 5, upper: 0.1}}\nboundary: {{x: "
                        "{{lower: {{dirichlet: 1}}, upper: {{neumann: 0.1}}}}}}\nparameters: "
                        "{{diffusivity: {}, source: {}, method: newton, tolerance: {}}}\n",
                        a, f, tolerance),
            cpu);
        EXPECT_EQ(run.simulation->shortfall(), "");
        auto const residuals = numbers_of(run.simulation->tables()[0], "residual");
        EXPECT_LE(residuals.back(), std::stod(tolerance) * residuals.front());
      }
}

/// Nothing holds u, and the slope of the source is 0 where it begins.
TEST(PoissonNewton, SingularWhereItBegins) {
  OneShot const run(poisson_yaml({{4}, "pp"}, "0", {"0", "", ""}, "source: exp(-u^2)", "float64"),
                    cpu);
  std::string const told = run.simulation->shortfall();
  EXPECT_NE(told.find("(the last step leaves u as it is; of its equations the matrix"),
            std::string::npos)
      << told;
}

/// The slope of the source has a square beyond all numbers.
TEST(PoissonNewton, WhereThereIsNoFirstStep) {
  OneShot const run(poisson_yaml({{33}, "dd"}, "0", {"0", "", ""},
                                 "source: 1 + 1e200*u, method: newton", "float64"),
                    cpu);
  std::string const told = run.simulation->shortfall();
  EXPECT_TRUE(told.starts_with("poisson: Newton's method has found no step (")) << told;
  EXPECT_EQ(told.find("nan"), std::string::npos) << told;
}

/// Where u comes to be 0 it is small beside what it was.
TEST(PoissonNewton, NothingAtAll) {
  for (std::string const source : {"-u", "-sinh(u)"}) {
    OneShot run(poisson_yaml({{33}, "dd"}, "0", {"0", "", ""},
                             fmt::format("source: \"{}\", start: x*(1 - x)", source), "float64"),
                cpu);
    EXPECT_EQ(run.simulation->shortfall(), "") << source;
    auto const u = to_host(run.simulation->fields()[0], run.stream);
    for (int i = 0; i < 33; ++i) EXPECT_LE(std::abs(value_at(u, i)), 1e-12) << source;
  }
}

TEST(PoissonNewton, TheSameBitsEveryTime) {
  EXPECT_EQ(solve_poisson(manufactured(20, "float64"), cpu).u.memory,
            solve_poisson(manufactured(20, "float64"), cpu).u.memory);
}

TEST(PoissonNewton, CheckTellsTheDerivative) {
  auto const config =
      config_of(poisson_yaml({{9}, "dd"}, "0", {"0", "", ""},
                             "diffusivity: 1 + u^2, source: exp(u), reaction: x", "float64"));
  auto const told = entry_of(config).report(config, inputs_of(config), Device::open(cpu));
  EXPECT_EQ(told, (std::vector<std::string>{"newton: gmres with cycles of multigrid for each step",
                                            "d(diffusivity)/du = 2*u",
                                            "d(reaction*u - source)/du = x - exp(u)"}));
}

}  // namespace
}  // namespace gridstride::test

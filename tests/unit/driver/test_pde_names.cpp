#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "support/pde_sides_cases.hpp"
#include "support/replaced.hpp"

/// Names under `let` with sides of their own.
namespace gridstride {
namespace {

using test::replaced;
using test::run_pde;

double difference(std::vector<double> const& a, std::vector<double> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(PdeNames, AreWhatStandsForThemOnPeriodicSides) {
  auto const array = run_pde(test::separation("periodic", true));
  auto const substituted = run_pde(test::separation("periodic", false));
  EXPECT_EQ(array.steps, substituted.steps);
  EXPECT_LT(difference(array.fields[0], substituted.fields[0]), 1e-12);
}

/// ∫c by the trapezoidal rule: points on a side count half.
double mass(std::vector<double> const& c) {
  double sum = 0;
  for (std::size_t j = 0; j < 22; ++j)
    for (std::size_t i = 0; i < 25; ++i)
      sum += c[i + 25 * j] * (i % 24 == 0 ? 0.5 : 1) * (j % 21 == 0 ? 0.5 : 1);
  return sum;
}

TEST(PdeNames, CahnHilliardInABoxKeepsItsMass) {
  std::string const text = test::separation("{neumann: 0}", true);
  auto const late = run_pde(text).fields[0];
  auto const early = run_pde(replaced(text, "end: 2", "end: 0.0001")).fields[0];
  EXPECT_GT(difference(early, late), 0.01);
  EXPECT_NEAR(mass(late), mass(early), 1e-12 * mass(early));
  // What mirrors both is what mirrors c alone.
  EXPECT_LT(difference(late, run_pde(test::separation("{neumann: 0}", false)).fields[0]), 1e-12);
  // A μ that is held lets c through.
  auto const open =
      run_pde(replaced(text, "mu: \\{x: \\{neumann: 0\\}", "mu: {x: {dirichlet: 0.01}"));
  EXPECT_GT(std::abs(mass(open.fields[0]) - mass(early)), 1e-3);
}

TEST(PdeNames, VariantsHaveTheSameBits) {
  for (char const* sides : {"periodic", "{neumann: 0.01}", "{dirichlet: \"0.5 + 0.01*t\"}"}) {
    auto const text = test::separation(sides, true);
    EXPECT_EQ(run_pde(text + "kernels: {system: reference}\n").fields,
              run_pde(text + "kernels: {system: threads}\n").fields)
        << sides;
  }
}

/// u_t = −∂⁴u/∂x⁴/100 + source, whose second conditions are those of w = ∂²u/∂x²: w is given on one
/// side and its slope on the other.
TEST(PdeNames, SecondConditionsAreOfOrderTwo) {
  auto const error = [](int cells) {
    return test::solution_error(
        fmt::format("simulation: pde\ngrid: {{points: {}}}\n"
                    "boundary:\n"
                    "  u: {{x: {{lower: {{dirichlet: 2 + exp(-t)*sin(0.3)}}, "
                    "upper: {{neumann: 3*exp(-t)*cos(3.3)}}}}}}\n"
                    "  w: {{x: {{lower: {{dirichlet: -9*exp(-t)*sin(0.3)}}, "
                    "upper: {{neumann: -27*exp(-t)*cos(3.3)}}}}}}\n"
                    "let: {{w: laplace(u)}}\n"
                    "equations: {{u: \"-0.01*laplace(w) + exp(-t)*(0.81 - 1)*sin(3*x + 0.3)\"}}\n"
                    "initial: {{u: 2 + sin(3*x + 0.3)}}\n"
                    "time: {{end: 0.1}}\noutput: {{every: {{count: 1}}}}\n"
                    "verify: {{exact: {{u: 2 + exp(-t)*sin(3*x + 0.3)}}, tolerance: {{l2: 1}}}}\n",
                    cells + 1),
        Backend::cpu);
  };
  auto const coarse = error(16), fine = error(32);
  EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.25)
      << "errors " << coarse.maximum << ", " << fine.maximum;
}

/// A vector that is a name, with walls, and a name that needs it: u_t = div(q) with q = grad(u).
TEST(PdeNames, VectorsAndNamesOfNames) {
  std::string const text =
      "simulation: pde\ngrid: {points: [12, 9]}\n"
      "let: {s: div(q), q: grad(u)}\n"
      "equations: {u: \"0.05*s + 0.01*laplace(u)\"}\n"
      "initial: {u: \"cos(pi*x)*cos(2*pi*y) + x\"}\n"
      "time: {scheme: ssprk3, end: 0.05, step: 1e-4}\noutput: {every: {count: 1}}\n"
      "boundary: {u: {x: wall, y: wall}";
  auto const array = run_pde(text + ", q: {x: wall, y: wall}, s: {x: wall, y: wall}}\n");
  auto const compact =
      run_pde(replaced(text, "s: div\\(q\\), q: grad\\(u\\)", "s: laplace(u)") + "}\n");
  EXPECT_EQ(array.fields[0].size(), 108);
  // Differences of an array of differences reach over two points.
  EXPECT_GT(difference(array.fields[0], compact.fields[0]), 1e-4);
  auto const components =
      run_pde(replaced(text, "s: div\\(q\\), q: grad\\(u\\)",
                       "s: d_dx(a) + d_dy(b), a: d_dx(u), b: d_dy(u)") +
              ", a: {x: {dirichlet: 0}, y: wall}, b: {x: wall, y: {dirichlet: 0}}}\n");
  EXPECT_LT(difference(array.fields[0], components.fields[0]), 1e-13);
}

std::string name_problems_of(std::string const& more) {
  std::string all;
  try {
    auto const run = test::config_of(
        "simulation: pde\ngrid: {points: [9, 9]}\n"
        "equations: {u: laplace(w)}\ninitial: {u: 0}\ntime: {end: 1}\n" +
        more + "\n");
    for (auto const& problem : entry_of(run).problems(run, {}))
      all += (all.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  } catch (ConfigError const& error) {
    for (auto const& problem : error.problems())
      all += (all.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  }
  return all;
}

TEST(PdeNames, FaultsAreToldInTheirPlaces) {
  EXPECT_EQ(name_problems_of("let: {w: u}\nboundary: {u: {x: wall}, w: {x: {neumann: 0}}}"), "");
  EXPECT_EQ(name_problems_of("let: {w: u}\nboundary: {u: {x: wall}, w: {}}"),
            "boundary.u.x: w is periodic along x and u is not (an axis is periodic for all fields "
            "or for none)");
  EXPECT_EQ(name_problems_of("let: {w: u}\nboundary: {x: wall, w: {y: wall}}"),
            "boundary.w.y: u is periodic along y and w is not (an axis is periodic for all fields "
            "or for none)");
  EXPECT_EQ(name_problems_of("let: {w: u}\nboundary: {x: wall, w: {x: {robin: [1, 2]}}}"),
            "boundary.w.x.robin: cannot stand here (fields alone take it)");
  EXPECT_EQ(name_problems_of("let: {w: u}\nboundary: {v: {x: wall}}"),
            "boundary.v: unknown key ('x', 'y' or 'u' expected)");
  EXPECT_EQ(name_problems_of("let: {w: nothing}\nboundary: {w: {x: wall}}"),
            "let.w: unknown name 'nothing' (an equation knows x, y, t, pi, e, fields, names under "
            "'let', constants, functions and operators)");
  EXPECT_EQ(name_problems_of("let: {w: v, v: w}\nboundary: {w: {x: wall}}"),
            "let.v: 'w' stands for itself (one needs the next: w, v, w)");
  EXPECT_EQ(name_problems_of("let: {w: u, v: grad(grad(u))}\nboundary: {v: {x: wall}}"),
            "let.v: 'v' is a tensor, which has no sides (scalars and vectors have)");
  EXPECT_EQ(name_problems_of("let: {w: \"diff(v^2, u)\", v: u^2}\nboundary: {v: {x: periodic}}"),
            "let.w: 'diff' is at a point by itself (a name with sides of its own stands in it)");
  EXPECT_EQ(
      name_problems_of("let: {w: u, q: grad(u)}\nboundary: {u: {x: wall}, q: {x: {dirichlet: 1}}}"),
      "boundary.q.x.dirichlet: a mapping of keys expected, not a single value");
  EXPECT_EQ(name_problems_of("let: {w: u, a: u, b: u}\nboundary: {a: {y: periodic}, b: {z: wall}}"),
            "boundary.b.z: the grid has no axis z (grid.points has 2 entries)");
}

/// What is derived for outputs, and values over the whole grid, see names as they are now.
TEST(PdeNames, AreSeenByWhatFollowsFromThem) {
  auto const text = test::separation("{neumann: 0}", true);
  auto const with = [&](char const* derived) {
    return run_pde(
        replaced(text, "output: \\{", std::string("output: {derived: {m: ") + derived + "}, "));
  };
  auto const name = with("mu"), formula = with("\"diff(f, c) - 2*laplace(c)\"");
  ASSERT_EQ(name.fields.size(), 2);
  EXPECT_EQ(name.fields[0], formula.fields[0]);
  EXPECT_LT(difference(name.fields[1], formula.fields[1]), 1e-13);
  auto const relaxed = [](char const* sides) {
    return run_pde(
        fmt::format("simulation: pde\ngrid: {{points: [12, 9]}}\nlet: {{w: u^2}}\n"
                    "boundary: {{x: periodic, y: antiperiodic{}}}\n"
                    "equations: {{u: \"0.05*laplace(u) + laplace(w)/100 - mean(w)\"}}\n"
                    "initial: {{u: sin(2*pi*x)*sin(pi*y)}}\ntime: {{end: 0.1}}\n",
                    sides));
  };
  auto const array = relaxed(", w: {y: periodic}"), none = relaxed("");
  EXPECT_EQ(array.steps, none.steps);
  EXPECT_LT(difference(array.fields[0], none.fields[0]), 1e-13);
}

/// A source that makes a solution hold knows what names stand for.
TEST(PdeNames, ManufacturedSolutionsGoThroughThem) {
  auto const found = [](char const* sides) {
    return run_pde(fmt::format(
        "simulation: pde\ngrid: {{points: 32}}\nlet: {{v: 2*u, w: v*u - laplace(u)/100}}\n"
        "boundary: {{x: periodic{}}}\nequations: {{u: laplace(w)/100}}\ntime: {{end: 0.1}}\n"
        "verify: {{manufactured: {{u: 2 + exp(-t)*sin(2*pi*x)}}, tolerance: {{max: 0.01}}}}\n",
        sides));
  };
  auto const names = found(", w: {x: periodic}, v: {x: periodic}"), none = found("");
  EXPECT_LT(difference(names.fields[0], none.fields[0]), 1e-12);
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_NEAR(names.fields[0][i],
                2 + std::exp(-0.1) * std::sin(std::numbers::pi * static_cast<double>(i) / 16),
                0.01);
}

TEST(PdeNames, HoldNoValuesOverTheWholeGrid) {
  EXPECT_EQ(
      name_problems_of("let: {w: u - mean(u)}\nboundary: {u: {x: wall}, w: {x: wall}}"),
      "let.w: 'w' has sides, and a value over the whole grid in it (it is found before these)");
  EXPECT_EQ(name_problems_of("let: {w: u + noise(1)}\nboundary: {u: {x: wall}, w: {x: wall}}"),
            "let.w: 'w' has sides, and noise in it (it is found before these)");
}

TEST(PdeNames, ThereAreAsManyAsComponents) {
  std::string lets = "w: u", sides = "u: {x: wall}";
  for (int n = 1; n < 24; ++n) {
    lets += fmt::format(", n{0}: u", n);
    sides += fmt::format(", n{0}: {{x: wall}}", n);
  }
  auto const text = [&](char const* more) {
    return "let: {" + lets + "}\nboundary: {" + sides + more + "}";
  };
  EXPECT_EQ(name_problems_of(text("")), "");
  EXPECT_EQ(name_problems_of(text(", w: {x: wall}")),
            "let.n23: fields and names with sides have 25 components (at most 24)");
}

/// Memory that a forecast has to know of: an array for each component, and what its sides hold.
TEST(PdeNames, AreInTheForecast) {
  auto const arrays = [](char const* sides) {
    auto const run = test::config_of(
        fmt::format("simulation: pde\ngrid: {{points: [9, 8]}}\nlet: {{q: grad(u)}}\n"
                    "equations: {{u: div(q)}}\ninitial: {{u: 0}}\ntime: {{end: 1}}\n"
                    "boundary: {{x: wall, y: wall{}}}\n",
                    sides));
    return memory_of(entry_of(run), run, {}, Backend::cpu);
  };
  auto const without = arrays(""), with = arrays(", q: {x: {dirichlet: {x: 1, y: 2}}}");
  EXPECT_EQ(with.arrays, without.arrays + 2);
  EXPECT_EQ(with.other_bytes, without.other_bytes + 2 * 2 * 8 * sizeof(double));
  EXPECT_EQ(with.saved_bytes, without.saved_bytes);
}

TEST(PdeNames, ReadBack) {
  auto const run = test::config_of(
      "simulation: pde\ngrid: {points: [9, 9]}\nlet: {w: grad(u)}\n"
      "equations: {u: div(w)}\ninitial: {u: 0}\ntime: {end: 1}\n"
      "boundary: {x: wall, w: {y: {lower: {dirichlet: {x: 1, y: t}}, upper: wall}}, "
      "u: {y: {robin: [\"1 + x\", t]}}}\n");
  auto const text = config::resolved_yaml(run);
  auto const again = test::config_of(text);
  EXPECT_EQ(config::resolved_yaml(again), text);
  EXPECT_EQ(again.sides_of("w")[1][0].components[1].text, "t");
  EXPECT_EQ(again.sides_of("w")[0][0].kind, SideKind::wall);
  EXPECT_EQ(again.sides_of("u")[1][1].factors[0].text, "1 + x");
}

}  // namespace
}  // namespace gridstride

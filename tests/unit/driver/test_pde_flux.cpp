#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/pde_side_value_cases.hpp"

/// Sides through which a flux is given.
namespace gridstride {
namespace {

using test::flux_pde;
using test::run_pde;
using test::step_of;

struct FluxCase {
  char const* name;
  char const* equations;
  char const* flux;  ///< along the axis @, of the solution s
  int dims;
  char const* sides;
  int cells;
  char const* more = "";
};
class PdeFlux : public testing::TestWithParam<FluxCase> {};

TEST_P(PdeFlux, IsOfOrderTwo) {
  auto const& one = GetParam();
  auto const error = [&](int cells) {
    return test::solution_error(
        flux_pde(one.equations, one.flux, one.dims, one.sides, cells, one.more), Backend::cpu);
  };
  auto const coarse = error(one.cells), fine = error(2 * one.cells);
  EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.25)
      << "errors " << coarse.maximum << ", " << fine.maximum;
}

constexpr char const* porous = "u: \"div((0.02 + 0.01*u^2)*grad(u)) - u\"";
constexpr char const* through_porous = "(0.02 + 0.01*s^2)*diff(s, @)";
constexpr char const* carried = "u: \"-div([0.3*u - 0.05*d_dx(u)])\"";
constexpr char const* through_carried = "0.3*s - 0.05*diff(s, @)";
INSTANTIATE_TEST_SUITE_P(
    Pde, PdeFlux,
    testing::Values(
        FluxCase{"line", porous, through_porous, 1, "ff", 32},
        FluxCase{"beside_dirichlet", porous, through_porous, 1, "fd", 32},
        FluxCase{"beside_neumann", porous, through_porous, 1, "nf", 32},
        FluxCase{"order_4", porous, through_porous, 1, "ff", 32, "space: {order: 4}\n"},
        FluxCase{"order_6", porous, through_porous, 1, "fd", 80, "space: {order: 6}\n"},
        FluxCase{"carried", carried, through_carried, 1, "ff", 32},
        FluxCase{"carried_order_4", carried, through_carried, 1, "ff", 40, "space: {order: 4}\n"},
        FluxCase{"corners", porous, through_porous, 2, "ffff", 20},
        FluxCase{"periodic", porous, through_porous, 2, "ppff", 20},
        FluxCase{"mixed", porous, through_porous, 2, "fdnf", 20},
        FluxCase{"space", porous, through_porous, 3, "ffppdf", 12},
        FluxCase{"other_terms", "u: \"div((0.02 + 0.01*u^2)*grad(u)) + 0.1*d_dx(u)*d_dy(u)\"",
                 through_porous, 2, "ffff", 20},
        FluxCase{"waves", "u: div((0.5 + x/4)*grad(u))", "(0.5 + x/4)*diff(s, @)", 1, "ff", 32,
                 "fields: {u: {order: 2}}\n"}),
    [](auto const& one) { return std::string(one.param.name); });

/// What a field with a flux through all sides gains: with values that do not change in time, the
/// integral with half weights on sides, times what flows.
TEST(PdeFluxes, TheIntegralChangesByWhatFlows) {
  for (char const* of : {"div((0.02 + 0.01*u^2 + 0.01*x)*grad(u) + [u^2/9, sin(u)/9])",
                         "-div((0.02 + 0.01*u^2 + 0.01*x)*[-d_dx(u), -d_dy(u)] + [u/5, 0])"})
    for (int const order : {2, 4, 6})
      for (char const* scheme : {"rk4", "ssprk3", "rk45"}) {
        auto const yaml = [&](char const* end) {
          return fmt::format(
              "simulation: pde\ngrid: {{points: [14, 11], upper: [2, 1]}}\n"
              "boundary: {{x: {{lower: {{flux: \"0.3 + y\"}}, upper: {{flux: \"y^2 - 0.7\"}}}}, "
              "y: {{flux: \"0.1*x\"}}}}\nequations: {{u: \"{}\"}}\nspace: {{order: {}}}\n"
              "initial: {{u: \"1 + x*y + sin(3*x)/4\"}}\ntime: {{scheme: {}, end: {}, step: "
              "0.005}}\noutput: {{every: {{count: 1}}}}\n",
              of, order, scheme, end);
        };
        auto const before = run_pde(yaml("0.005")), after = run_pde(yaml("0.105"));
        ASSERT_EQ(after.steps - before.steps, 20);
        // ∫ of 0.3 + y + y² − 0.7 over y, and of 0.2·x over x, by the trapezoidal rule, of which
        // y² is h²/6 too large over a length of 1.
        double const h = 0.1, flow = 0.3 + 0.5 + 1.0 / 3 + h * h / 6 - 0.7 + 0.2 * 2;
        double const gained = test::integral_of(yaml("1"), after.fields[0]) -
                              test::integral_of(yaml("1"), before.fields[0]);
        EXPECT_NEAR(gained, (of[0] == '-' ? -0.1 : 0.1) * flow, 2e-14)
            << of << ' ' << order << ' ' << scheme;
      }
}

/// A flux of fields counts at each point with what they are there: one step of Euler's.
TEST(PdeFluxes, MayFollowFromFields) {
  auto const yaml = [](char const* end) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 17}}\nconstants: {{k: 0.5}}\nlet: {{loss: k*(u^4 - "
        "v^4)}}\n"
        "boundary: {{u: {{x: {{lower: {{flux: \"-loss*(1 + x)\"}}, upper: {{flux: "
        "\"-2*loss\"}}}}}}, "
        "v: {{x: {{neumann: 0}}}}}}\n"
        "equations: {{u: div((1 + u)*grad(u)), v: laplace(v)}}\n"
        "initial: {{u: 1 + x, v: \"0.5\"}}\n"
        "time: {{scheme: euler, end: {}, step: 0.0001}}\noutput: {{every: {{count: 1}}}}\n",
        end);
  };
  auto const before = run_pde(yaml("0.0001")), after = run_pde(yaml("0.0002"));
  auto const& u = before.fields[0];
  auto const loss = [](double value) { return 0.5 * (std::pow(value, 4) - std::pow(0.5, 4)); };
  EXPECT_NEAR(test::integral_of(yaml("1"), after.fields[0]) - test::integral_of(yaml("1"), u),
              -0.0001 * (loss(u.front()) + 2 * loss(u.back())), 1e-15);
}

/// With a diffusivity that is a number, D·∂u/∂n = g is `neumann: g/D`, and has its step.
TEST(PdeFluxes, AreThoseOfSlopes) {
  auto const yaml = [](char const* side, char const* scheme) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [9, 8]}}\nboundary: {{x: {}, y: {{neumann: 0}}}}\n"
        "equations: {{u: div(0.5*grad(u)) - u^2}}\ninitial: {{u: x^2*y}}\n"
        "time: {{scheme: {}, end: 0.1}}\noutput: {{every: {{count: 1}}}}\n",
        side, scheme);
  };
  for (char const* scheme : {"euler", "rk4"}) {
    auto const flux = yaml("{flux: \"y + t\"}", scheme),
               slope = yaml("{neumann: \"2*(y + t)\"}", scheme);
    EXPECT_EQ(step_of(flux), step_of(slope));
    auto const a = run_pde(flux), b = run_pde(slope);
    for (std::size_t i = 0; i < a.fields[0].size(); ++i)
      EXPECT_NEAR(a.fields[0][i], b.fields[0][i], 1e-13);
  }
}

/// Cooling through the sides, D·∂u/∂n = −k·u, at the step that `auto` takes: that of `robin`, with
/// which nothing grows however large k is.
TEST(PdeFluxes, CoolingIsStable) {
  for (double const k : {0.1, 3.0, 300.0, 1e5}) {
    auto const yaml = [&](std::string const& side) {
      return fmt::format(
          "simulation: pde\ngrid: {{points: 17}}\nboundary: {{x: {}}}\n"
          "equations: {{u: div(2*grad(u))}}\ninitial: {{u: \"1 + 0.5*cos(16*pi*x)\"}}\n"
          "time: {{scheme: euler, end: {}, safety: 1}}\noutput: {{every: {{count: 1}}}}\n",
          side, k > 100 ? 1e-4 : 0.02);
    };
    auto const flux = yaml(fmt::format("{{flux: \"-{}*u\"}}", k));
    EXPECT_NEAR(step_of(flux) / step_of(yaml(fmt::format("{{robin: [{}, 0]}}", k / 2))), 1, 1e-12);
    auto const found = run_pde(flux);
    for (double const value : found.fields[0]) EXPECT_LE(std::abs(value), 1.5 + 1e-12) << k;
  }
}

/// What is carried out of a side at which its flux is 0 stays: a layer that the step has to take.
TEST(PdeFluxes, AStepTakesLayers) {
  for (char const* scheme : {"euler", "ssprk2", "rk4"})
    for (double const velocity : {0.5, 5.0, 12.0}) {
      auto const yaml = fmt::format(
          "simulation: pde\ngrid: {{points: 33}}\nboundary: {{x: {{flux: 0}}}}\n"
          "equations: {{u: \"-div([{}*u - 0.2*d_dx(u)])\"}}\ninitial: {{u: 1}}\n"
          "time: {{scheme: {}, end: 1, safety: 1}}\noutput: {{every: {{count: 1}}}}\n",
          velocity, scheme);
      auto const found = run_pde(yaml);
      EXPECT_NEAR(test::integral_of(yaml, found.fields[0]), 1, 1e-12) << scheme << ' ' << velocity;
      // exp(velocity·x/0.2) in the end, where a cell has up to velocity·h/0.2 < 2: rises all along.
      for (std::size_t i = 1; i < 33; ++i)
        EXPECT_GT(found.fields[0][i], found.fields[0][i - 1] - 1e-12) << scheme << ' ' << velocity;
    }
}

/// What another equation takes over from u by the same flux, or by dt(u), is what flows there.
TEST(PdeFluxes, CountWhereverTheyStand) {
  auto const yaml = [](char const* of_v) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 9}}\nboundary: {{u: {{x: {{flux: 3}}}}, v: {{x: "
        "outflow}}}}\nequations: {{u: div((1 + u^2)*grad(u)), v: \"{}\"}}\n"
        "initial: {{u: x, v: 0}}\ntime: {{scheme: rk4, end: 0.01, step: 0.0005}}\n"
        "output: {{every: {{count: 1}}, derived: {{rate: dt(u)}}}}\n",
        of_v);
  };
  auto const rate = run_pde(yaml("dt(u)")), flux = run_pde(yaml("div((1 + u^2)*grad(u))"));
  EXPECT_EQ(rate.fields, flux.fields);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(rate.fields[1][i], rate.fields[0][i] - static_cast<double>(i) / 8, 1e-14);
  EXPECT_NEAR(test::integral_of(yaml("u"), rate.fields[2]), 6, 1e-12);
}

TEST(PdeFluxes, VariantsHaveTheSameBits) {
  for (std::string const& text :
       {flux_pde(porous, through_porous, 1, "ff", 3),
        flux_pde(porous, through_porous, 2, "ffdf", 7),
        flux_pde(porous, through_porous, 3, "fnppff", 5),
        flux_pde(carried, through_carried, 1, "ff", 19, "space: {order: 6}\n")}) {
    auto const reference = run_pde(text + "kernels: {system: reference}\n");
    EXPECT_EQ(reference.fields, run_pde(text + "kernels: {system: threads}\n").fields) << text;
  }
}

std::string problems_of(std::string const& equations, std::string const& boundary,
                        std::string const& more = "", std::string const& initial = "{u: 0, v: 0}") {
  std::string all;
  try {
    auto const config = test::config_of("simulation: pde\ngrid: {points: [9, 9]}\nequations: {" +
                                        equations + "}\ninitial: " + initial +
                                        "\ntime: {end: 1}\nboundary: " + boundary + "\n" + more);
    for (Problem const& one : entry_of(config).problems(config, {}))
      all += one.path + ": " + one.message;
  } catch (ConfigError const& error) {
    for (auto const& problem : error.problems())
      all += (all.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  }
  return all;
}

TEST(PdeFluxes, WhatHasNoneIsRefused) {
  std::string const sides = "{u: {x: {flux: 1}, y: wall}, v: {x: wall, y: wall}}";
  auto const of = [&](std::string const& rate) {
    return problems_of("u: \"" + rate + "\", v: laplace(v) + u", sides);
  };
  EXPECT_EQ(of("div(v*grad(u)) - u"), "");
  EXPECT_EQ(of("u - div([u, v])"), "");
  EXPECT_EQ(of("div(v*grad(u)) + v*div([u, v])"), "");
  EXPECT_EQ(
      of("3*laplace(u)"),
      "boundary.u.x.flux: no term 'div(F)' of the equation of u has a flux along x (what "
      "flows through a side is F; did you mean 'div(D*grad(u))' in place of 'D*laplace(u)'?)");
  EXPECT_EQ(of("-u + d_dx(v)"),
            "boundary.u.x.flux: no term 'div(F)' of the equation of u has a flux along x (what "
            "flows through a side is F)");
  EXPECT_EQ(of("div([0, d_dy(u)])"),
            "boundary.u.x.flux: no term 'div(F)' of the equation of u has a flux along x (what "
            "flows through a side is F)");
  for (char const* rate : {"2*div(grad(u))", "div(grad(u))/3 + div([u, v])", "u*div(grad(u))"})
    EXPECT_EQ(of(rate),
              "boundary.u.x.flux: 'div' has a factor in the equation of u, and what flows through "
              "a side is what stands in 'div' (did you mean 'div(2*F)' in place of '2*div(F)'?)");
  EXPECT_EQ(of("div(grad(u)) - div([u, v])"),
            "boundary.u.x.flux: the equation of u has 2 terms 'div' with a flux along x, and which "
            "of them is meant is open (did you mean one of their sum, 'div(F + G)'?)");
  EXPECT_EQ(problems_of("u: div(grad(u)), v: -u", "{x: {flux: 0}, y: wall}"),
            "boundary.x.flux: no term 'div(F)' of the equation of v has a flux along x (what flows "
            "through a side is F)");
  // The equation of a field of order 2 is called by the field.
  EXPECT_EQ(problems_of("u: laplace(u)", "{x: {flux: \"-u_t\"}, y: wall}",
                        "fields: {u: {order: 2}}", "{u: 0, u_t: 0}"),
            "boundary.x.flux: no term 'div(F)' of the equation of u has a flux along x (what flows "
            "through a side is F; did you mean 'div(D*grad(u))' in place of 'D*laplace(u)'?)");
  EXPECT_EQ(problems_of("u: \"-div([u, v])\", v: \"-div([v, u])\"", "{x: {flux: 0}, y: wall}",
                        "space: {convection: upwind}"),
            "space.convection: a side has a 'flux', which central differences take alone (did you "
            "mean 'neumann', or 'dirichlet' where it flows in and 'outflow' where it leaves?)");
  EXPECT_EQ(problems_of("u: div(grad(u)), v: w",
                        "{u: {x: {flux: 1}, y: wall}, v: {x: wall, y: "
                        "wall}, w: {x: {flux: 0}, y: wall}}",
                        "let: {w: laplace(u)}"),
            "boundary.w.x.flux: cannot stand here (fields alone take it)");
}

}  // namespace
}  // namespace gridstride

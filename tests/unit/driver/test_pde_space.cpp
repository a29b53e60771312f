#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "kernels/system/rows.hpp"
#include "simulations/pde_parameters.hpp"
#include "support/pde_cases.hpp"
#include "support/pde_outputs.hpp"
#include "support/replaced.hpp"

/// Differences of higher order, and from upwind, in whole runs.
namespace gridstride {
namespace {

using test::replaced;
using test::run_pde;
using test::step_of;

/// What the equation is, dimensions, sides, cells of the coarser grid, `space`, and the order.
struct SpaceCase {
  char const* name;
  char const* rate;
  int dims;
  char const* sides;
  int cells;
  char const* space;
  double order;
};

class PdeSpace : public testing::TestWithParam<SpaceCase> {};

TEST_P(PdeSpace, HasItsOrder) {
  auto const& one = GetParam();
  auto const error = [&](int n) {
    auto text = test::manufactured_pde(one.rate, one.dims, one.sides, n, "rk4");
    // Short enough that time adds nothing to errors of sixth order.
    text = replaced(text, "end: 0.05", "end: 0.02, safety: 0.4");
    return test::solution_error(text + "space: " + one.space + "\n", Backend::cpu);
  };
  auto const coarse = error(one.cells), fine = error(2 * one.cells);
  EXPECT_NEAR(test::observed_order(coarse, fine), one.order, 0.08 * one.order + 0.1)
      << "errors " << coarse.maximum << ", " << fine.maximum;
}

constexpr char const *four = "{order: 4}", *six = "{order: 6}", *upwind = "{convection: upwind}",
                     *weno = "{convection: weno5, order: 6}";
constexpr char const *diffusion = "div((0.02 + 0.01*#^2)*grad(#))", *laplace = "0.05*laplace(#)",
                     *mixed = "0.05*(laplace(#) + d2_dxdy(#))",
                     *burgers = "0.05*laplace(#) - div([#^2/2])",
                     *fourth = "-1e-4*laplace(laplace(#)) + 0.1*laplace(#)",
                     *dispersion = "-1e-3*d_dx(d2_dx2(#)) - #*d_dx(#)",
                     *advection = "-advect([#, 0.5], #)";
INSTANTIATE_TEST_SUITE_P(
    Pde, PdeSpace,
    testing::Values(SpaceCase{"laplace_4", laplace, 1, "pp", 24, four, 4},
                    SpaceCase{"laplace_6", laplace, 1, "pp", 24, six, 6},
                    SpaceCase{"laplace_2D_6", laplace, 2, "pppp", 14, six, 6},
                    SpaceCase{"laplace_3D_4", laplace, 3, "pppppp", 12, four, 4},
                    SpaceCase{"laplace_3D_6", laplace, 3, "pppppp", 10, six, 6},
                    SpaceCase{"diffusion_4", diffusion, 1, "pp", 32, four, 4},
                    SpaceCase{"diffusion_6", diffusion, 1, "pp", 32, six, 6},
                    SpaceCase{"diffusion_2D_4", diffusion, 2, "pppp", 20, four, 4},
                    SpaceCase{"diffusion_2D_6", diffusion, 2, "pppp", 20, six, 6},
                    SpaceCase{"diffusion_3D_4", diffusion, 3, "pppppp", 14, four, 4},
                    SpaceCase{"mixed_4", mixed, 2, "pppp", 20, four, 4},
                    SpaceCase{"mixed_6", mixed, 2, "pppp", 20, six, 6},
                    SpaceCase{"fourth_4", fourth, 1, "pp", 24, four, 4},
                    SpaceCase{"fourth_6", fourth, 1, "pp", 24, six, 6},
                    SpaceCase{"dispersion_4", dispersion, 1, "pp", 32, four, 4},
                    SpaceCase{"dispersion_6", dispersion, 1, "pp", 32, six, 6},
                    SpaceCase{"flux_4", burgers, 1, "pp", 32, four, 4},
                    SpaceCase{"flux_6", burgers, 1, "pp", 32, six, 6},
                    SpaceCase{"transport_4", advection, 2, "pppp", 20, four, 4},
                    SpaceCase{"transport_6", advection, 2, "pppp", 20, six, 6},
                    SpaceCase{"upwind_flux", burgers, 1, "pp", 64, upwind, 1},
                    SpaceCase{"upwind_transport", advection, 2, "pppp", 48, upwind, 1},
                    SpaceCase{"weno_flux", burgers, 1, "pp", 64, weno, 5},
                    SpaceCase{"weno_transport", advection, 2, "pppp", 48, weno, 5},
                    // What the rules beyond the sides leave of them.
                    SpaceCase{"dirichlet_6", diffusion, 1, "dd", 128, six, 2},
                    SpaceCase{"neumann_6", diffusion, 1, "nn", 32, six, 2}),
    [](auto const& one) { return std::string(one.param.name); });

/// Over periodic axes nothing is lost, whatever the differences are.
TEST(PdeConvection, SumsStay) {
  for (char const* space : {four, six, upwind, weno}) {
    auto const found =
        run_pde(std::string("simulation: pde\ngrid: {points: [37, 21]}\nboundary: {x: periodic, y: "
                            "periodic}\nfields: {q: vector}\nequations:\n"
                            "  h: -div(q)\n"
                            "  q: div(0.001*h*grad(q/h) - outer(q, q)/h - h^2/2*identity)\n"
                            "initial: {h: \"1 + 0.2*sin(2*pi*x)*cos(2*pi*y)\", q: {x: "
                            "\"0.3 + 0.1*cos(2*pi*x)\", y: 0.2}}\n"
                            "time: {scheme: ssprk3, end: 0.3}\nspace: ") +
                space + "\n");
    double const points = 37 * 21;
    double const h = std::accumulate(found.fields[0].begin(), found.fields[0].end(), 0.0);
    double x = 0, y = 0;
    for (std::size_t i = 0; i < found.fields[1].size(); i += 2) {
      x += found.fields[1][i];
      y += found.fields[1][i + 1];
    }
    // Each of three stages rounds each value by less than 4 ε: what goes through both faces of a
    // cell in a step is no more than is in it.
    double const rounding = 3 * static_cast<double>(found.steps) * points * 4 * 2.2e-16;
    EXPECT_NEAR(h, points, rounding) << space;
    EXPECT_NEAR(x, 0.3 * points, rounding) << space;
    EXPECT_NEAR(y, 0.2 * points, rounding) << space;
  }
}

std::string carried_step(char const* rate, char const* more) {
  return std::string(
             "simulation: pde\ngrid: {points: 100}\nboundary: {x: periodic}\n"
             "initial: {u: \"if(abs(x - 0.5) < 0.2, 1, 0)\"}\nequations: {u: \"") +
         rate + "\"}\n" + more;
}

/// From upwind, a step that travels makes nothing larger or smaller, and no new hills.
TEST(PdeConvection, UpwindKeepsBounds) {
  for (char const* rate : {"-advect([1], u)", "advect([1], u)", "-div([u])", "div([0.5*u^2])"})
    for (char const* scheme : {"euler", "ssprk3"}) {
      auto const u = run_pde(carried_step(rate, fmt::format("space: {{convection: upwind}}\n"
                                                            "time: {{scheme: {}, end: 0.4}}\n",
                                                            scheme)
                                                    .c_str()))
                         .fields[0];
      double variation = 0;
      for (std::size_t i = 0; i < u.size(); ++i) {
        EXPECT_GE(u[i], -1e-16) << rate;
        EXPECT_LE(u[i], 1 + 1e-15) << rate;
        variation += std::abs(u[i] - u[(i + 1) % u.size()]);
      }
      EXPECT_LE(variation, 2 + 1e-13) << rate << scheme;
    }
}

/// Not so with weno5, but for little, where central differences ring by a fifth.
TEST(PdeConvection, WenoHardlyRings) {
  auto const largest = [](char const* rate, char const* space) {
    auto const u = run_pde(carried_step(rate, fmt::format("space: {}\ntime: {{scheme: ssprk3, end: "
                                                          "0.4}}\n",
                                                          space)
                                                  .c_str()))
                       .fields[0];
    return std::max(*std::ranges::max_element(u) - 1, -*std::ranges::min_element(u));
  };
  for (char const* rate : {"-advect([1], u)", "-div([u])"}) {
    EXPECT_LT(largest(rate, weno), 1e-3) << rate;
    EXPECT_GT(largest(rate, "{convection: central}"), 0.1) << rate;
  }
}

/// A change of an ulp does not grow at edges with the steps of `auto`, whatever is stable.
TEST(PdeConvection, RoundingsStayRoundingsAtEdges) {
  for (char const* scheme : {"ssprk3", "rk4", "rk45"}) {
    auto const values = [scheme](char const* more) {
      return run_pde(
                 fmt::format("simulation: pde\ngrid: {{points: 200}}\nboundary: {{x: periodic}}\n"
                             "initial: {{u: \"if(abs(x - 0.3) < 0.15, 1, 0){}\"}}\n"
                             "equations: {{u: \"-div([u])\"}}\nspace: {{convection: weno5}}\n"
                             "time: {{scheme: {}, end: 1}}\noutput: {{every: {{count: 1}}}}\n",
                             more, scheme))
          .fields[0];
    };
    auto const block = values(""), other = values(" + 2.2e-16*sin(7919*x)");
    for (std::size_t i = 0; i < block.size(); ++i)
      EXPECT_NEAR(block[i], other[i], 1e-9) << scheme << ' ' << i;
  }
}

/// The unit that a field is in makes no bit of difference, short of values that are not normal.
TEST(PdeConvection, UnitsDoNotMatter) {
  auto const values = [](char const* rate, std::string const& precision, int power) {
    return run_pde(fmt::format("simulation: pde\nprecision: {}\ngrid: {{points: 100}}\n"
                               "boundary: {{x: periodic}}\nconstants: {{unit: 2^({})}}\n"
                               "initial: {{u: \"unit*if(abs(x - 0.5) < 0.2, 1, 0.3*x)\"}}\n"
                               "equations: {{u: \"{}\"}}\nspace: {{convection: weno5}}\n"
                               "time: {{scheme: ssprk3, end: 0.2, step: 0.004}}\n",
                               precision, power, rate))
        .fields[0];
  };
  for (char const* rate : {"-div([u])", "-advect([1], u)", "-div([u^2/unit])"})
    for (auto const& [precision, power] : {std::pair{"float32", -40}, {"float64", -400}}) {
      auto const expected = values(rate, precision, 0), found = values(rate, precision, power);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(std::ldexp(found[i], -power), expected[i]) << rate << precision << i;
    }
}

/// Sod's tube: p and u between fan and shock, ρ on both sides of the contact.
std::vector<double> sod(double x, double t) {
  double const gamma = 1.4, p = 0.3031302, u = 0.9274526;
  double const left = std::sqrt(gamma), s = (x - 0.5) / t;
  double const middle = std::pow(p, 1 / gamma), sound = std::sqrt(gamma * p / middle);
  double const ratio = p / 0.1, g = (gamma - 1) / (gamma + 1);
  double const behind = 0.125 * (ratio + g) / (g * ratio + 1);
  double const shock = u * behind / (behind - 0.125);
  if (s < -left) return {1, 0, 1};
  if (s < u - sound) {
    double const velocity = 2 / (gamma + 1) * (left + s), c = left - (gamma - 1) / 2 * velocity;
    double const density = std::pow(c / left, 2 / (gamma - 1));
    return {density, velocity, std::pow(density, gamma)};
  }
  return s < u       ? std::vector{middle, u, p}
         : s < shock ? std::vector{behind, u, p}
                     : std::vector{0.125, 0., 0.1};
}

std::string input(char const* name) {
  std::ifstream file(std::string(GRIDSTRIDE_SOURCE_DIR "/inputs/pde/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Values at the points of a grid: the k-th of them at places[i] is values[k][i].
struct Profile {
  std::vector<double> places = {};
  std::vector<std::vector<double>> values = {};
};

/// By how much two profiles differ at most, and in the mean, at the points of the coarser one that
/// are between two places. Every second point of the finer one is one of these.
struct Difference {
  double most = 0, mean = 0;
};
Difference difference_between(Profile const& coarse, Profile const& fine, std::size_t k,
                              double from, double to) {
  Difference found;
  for (std::size_t i = 0; i < coarse.places.size(); ++i) {
    if (!(coarse.places[i] > from && coarse.places[i] < to)) continue;
    double const one = std::abs(coarse.values[k][i] - fine.values[k][2 * i]);
    found.most = std::max(found.most, one);
    found.mean += one / static_cast<double>(coarse.places.size());
  }
  return found;
}

/// Where a solution jumps, what conserves and is stable comes closer in the first order, and errors
/// on the finer of two grids are no larger than what lies between both: where e halves at least,
/// |e_fine| ≤ |e_coarse − e_fine|. A scheme that comes closer to anything else fails, however small
/// its tolerance would have been chosen; the values themselves are known to half a unit of their
/// last digit.
void expect_to_tend_to(double value, Profile const& coarse, Profile const& fine, std::size_t k,
                       double from, double to) {
  double const tolerance = difference_between(coarse, fine, k, from, to).most + 5e-8;
  EXPECT_LT(tolerance, 0.01 * value) << "grids that agree on nothing";
  for (std::size_t i = 0; i < fine.places.size(); ++i)
    if (fine.places[i] > from && fine.places[i] < to) {
      EXPECT_NEAR(fine.values[k][i], value, tolerance) << k << " at " << fine.places[i];
    }
}

/// ρ, u and p.
Profile sods_tube(int points) {
  auto const found =
      run_pde(replaced(input("sod.yaml"), "points: 401", fmt::format("points: {}", points))).fields;
  Profile profile = {.places = {}, .values = {3, std::vector<double>{}}};
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    double const rho = found[0][i], u = found[1][i] / rho;
    profile.places.push_back(static_cast<double>(i) / (points - 1));
    profile.values[0].push_back(rho);
    profile.values[1].push_back(u);
    profile.values[2].push_back(0.4 * (found[2][i] - rho * u * u / 2));
  }
  return profile;
}

double mean_error(Profile const& profile, std::size_t k) {
  double error = 0;
  for (std::size_t i = 0; i < profile.places.size(); ++i)
    error += std::abs(profile.values[k][i] - sod(profile.places[i], 0.2)[k]) /
             static_cast<double>(profile.places.size());
  return error;
}

/// In the mean, shocks count with the first order and contacts, which a scheme of order r widens as
/// h^{r/(r+1)} (Harten), with 5/6: e_coarse ≥ 2^{5/6}·e_fine, so that e_fine is at most what lies
/// between both grids over 2^{5/6} − 1. Where a jump is between two points is open by half a cell.
TEST(PdeKnownAnswers, SodsTube) {
  auto const coarse = sods_tube(201), fine = sods_tube(401);
  double const order = std::pow(2.0, 5.0 / 6), h = 1.0 / 400;
  std::vector<double> const jumps = {0.4263194 - 0.125, 0.9274526, 0.3031302 - 0.1};
  for (std::size_t k = 0; k < 3; ++k) {
    double const open = 0.5 * h * jumps[k],
                 between = difference_between(coarse, fine, k, 0, 1).mean;
    EXPECT_LT(mean_error(fine, k), between / (order - 1) + open) << k;
    EXPECT_GT((mean_error(coarse, k) + 2 * open) / (mean_error(fine, k) - open), order) << k;
  }
  // Between fan and shock, away from both and from the contact at 0.685.
  expect_to_tend_to(0.9274526, coarse, fine, 1, 0.55, 0.8);
  expect_to_tend_to(0.3031302, coarse, fine, 2, 0.55, 0.8);
  // Behind the shock components that are split as they are leave a ripple of thousandths.
  auto const [least, greatest] = std::ranges::minmax(fine.values[0]);
  EXPECT_GT(least, 0.125 - 0.002);
  EXPECT_LT(greatest, 1.002);
}

/// Height and velocity along x.
Profile broken_dam(int points, std::string const& precision) {
  auto text =
      replaced(input("shallow_water.yaml"), R"(\[501, 51\])", fmt::format("[{}, 4]", points));
  text = replaced(text, "y: wall", "y: periodic");
  text = replaced(text, "events: .*\n", "");
  auto const found = run_pde(text + "precision: " + precision + "\n").fields;
  Profile profile = {.places = {}, .values = {2, std::vector<double>{}}};
  auto const count = static_cast<std::size_t>(points);
  for (std::size_t i = 0; i < count; ++i) {
    double const height = found[0][i];
    profile.places.push_back(10.0 / (points - 1) * static_cast<double>(i));
    profile.values[0].push_back(height);
    profile.values[1].push_back(found[1][2 * i] / height);
    for (std::size_t j = 1; j < 4; ++j)
      EXPECT_NEAR(found[0][i + count * j], height, 1e-5) << "along y, nothing changes";
  }
  return profile;
}

/// The dam's bore is where it should be, and as high.
TEST(PdeKnownAnswers, DamBreak) {
  for (char const* precision : {"float64", "float32"}) {
    auto const coarse = broken_dam(201, precision), fine = broken_dam(401, precision);
    expect_to_tend_to(1.4538409, coarse, fine, 0, 4.2, 6.8);
    expect_to_tend_to(1.3058338, coarse, fine, 1, 4.2, 6.8);
    auto const& heights = fine.values[0];
    double const h = 10.0 / 400;
    double volume = 0, bore = 0;
    for (std::size_t i = 0; i < heights.size(); ++i) {
      volume += h * (i == 0 || i == 400 ? 0.5 : 1) * heights[i];
      if (i > 0 && fine.places[i] > 6 && heights[i] < 1.2269 && heights[i - 1] >= 1.2269)
        bore = fine.places[i];
    }
    // The first point behind half the bore's height; the profile keeps its volume, so that this is
    // within half a cell of where the bore is.
    EXPECT_NEAR(bore, 5 + 4.1831279 * 0.5, 1.5 * h) << precision;
    // The first values are 2 up to the last point before 5 and 1 at 5, so that their sum with half
    // weights at both ends is 15 − h/2; nothing flows through walls, and rounding of float32 adds
    // 2⁻²⁴ of 2 in each of three stages at most, in the same direction at all points and times.
    double const steps = 400,
                 rounding = precision == std::string("float32") ? std::pow(2, -24) : 1e-15;
    EXPECT_NEAR(volume, 15 - h / 2, 10 * 2 * rounding * 3 * steps) << precision;
    auto const [least, greatest] = std::ranges::minmax(heights);
    EXPECT_GT(least, 1 - 0.002);
    EXPECT_LT(greatest, 2 + 0.002);
  }
}

/// What is no rate has differences of the run's order, and is not taken from upwind.
TEST(PdeConvection, ValuesAreCentral) {
  test::Ended run(
      "simulation: pde\nprecision: float64\ngrid: {points: 24, upper: 6.283185307179586}\n"
      "boundary: {x: periodic}\nspace: {convection: weno5, order: 4}\n"
      "equations: {u: \"-div([u])\", v: 0, w: 0}\n"
      "initial: {u: sin(x), v: \"-div([u])\", w: 0}\n"
      "events: [{at: 1e-9, set: {w: \"-div([u])\"}}]\n"
      "time: {scheme: rk4, end: 1e-9}\noutput: {derived: {slope: \"-div([u])\"}}\n");
  double const h = 2 * std::numbers::pi / 24;
  double const factor = (8 * std::sin(h) - std::sin(2 * h)) / (6 * h);
  for (char const* name : {"v", "w", "slope"})
    for (std::size_t i = 0; i < 24; ++i)
      EXPECT_NEAR(run.values(name)[i], -factor * std::cos(h * static_cast<double>(i)), 1e-8)
          << name << ' ' << i;
}

/// A pressure under `let` with sides of its own is carried as its formula is.
TEST(PdeConvection, NamesWithSidesAreCarriedAlike) {
  std::string const text =
      "simulation: pde\nprecision: float64\ngrid: {points: 48}\n"
      "boundary: {h: {x: periodic}, q: {x: periodic}SIDES}\n"
      "let: {p: 5*h^2}\nequations: {h: \"-div([q])\", q: \"-div([q^2/h + p])\"}\n"
      "space: {convection: weno5}\ninitial: {h: \"if(x < 0.5, 2, 1)\", q: 0}\n"
      "time: {scheme: ssprk3, end: 0.03}\n";
  auto const run = [&](char const* sides) { return run_pde(replaced(text, "SIDES", sides)); };
  auto const array = run(", p: {x: periodic}"), formula = run("");
  EXPECT_EQ(array.steps, formula.steps);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 48; ++i)
      EXPECT_NEAR(array.fields[c][i], formula.fields[c][i], 1e-12) << c << ' ' << i;
}

/// What is generated for a GPU is CUDA.
TEST(PdeConvection, ProgramsCompile) {
  for (char const* name : {"sod.yaml", "shallow_water.yaml"}) {
    auto const config = test::config_of(input(name));
    auto const& parameters = pde::parameters_of(config);
    auto const stencil =
        equations::discretise(parameters.system.value(), config.grid, parameters.space);
    EXPECT_LT(stencil.terms.size(), equations::max_terms / 8) << name;
    auto const program = equations::program_of(stencil.terms, stencil.rates, config.grid.dims);
    try {
      auto const source = system::source_of<float>(program, {false, false, true},
                                                   static_cast<int>(stencil.rates.size()));
      EXPECT_FALSE(compile_cubin(source, 90).empty()) << name;
    } catch (RuntimeCompilerMissing const& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
}

/// What `check` says of equations on a grid.
std::string problem_of(std::string const& grid, std::string const& space, std::string const& rate) {
  auto const config = test::config_of(
      "simulation: pde\ngrid: {points: " + grid + "}\nboundary: {x: outflow" +
      (grid.front() == '[' ? ", y: outflow, z: outflow" : "") + "}\nspace: " + space +
      "\nequations: {u: \"" + rate + "\"}\ninitial: {u: 1}\ntime: {end: 1}\n");
  auto const problems = entry_of(config).problems(config, {});
  return problems.empty() ? "" : problems.front().path + ": " + problems.front().message;
}

TEST(PdeConvection, WhatCannotBeIsRefused) {
  std::string const nothing =
      "space.convection: nothing is carried along in these equations (no 'div' of a flux without "
      "derivatives and no 'advect' of a field by itself is a term of a rate)";
  EXPECT_EQ(problem_of("16", upwind, "div(u*grad(u))"), nothing);
  EXPECT_EQ(problem_of("16", weno, "u*div([u])"), nothing);
  EXPECT_EQ(problem_of("16", weno, "-div([u*x - d_dx(u)])"), "");
  EXPECT_EQ(problem_of("3", "{convection: weno5}", "-div([u])"),
            "grid.points: 3 points along x are too few (the equations reach 3 points to each side; "
            "4 are the least)");
  EXPECT_EQ(problem_of("4", "{convection: weno5}", "-div([u])"), "");
  EXPECT_EQ(problem_of("5", six, "div(u*grad(u))"),
            "grid.points: 5 points along x are too few (the equations reach 5 points to each side; "
            "6 are the least)");
  EXPECT_EQ(problem_of("[40, 40, 40]", "{convection: weno5, order: 6}",
                       "div([laplace(laplace(laplace(u^2)*u)*u), "
                       "laplace(laplace(laplace(u)*u)*u^2), u])"),
            "equations: the system has more than 65536 terms");
}

/// `check` tells what is carried along, beside λ of what is not.
TEST(PdeConvection, TheReportTellsTheSpeed) {
  auto const step = [](char const* rate) {
    auto const config =
        test::config_of(std::string("simulation: pde\ngrid: {points: 10}\nboundary: {x: periodic}\n"
                                    "space: {convection: upwind}\nequations: {u: \"") +
                        rate + "\"}\ninitial: {u: x}\ntime: {scheme: euler, end: 1}\n");
    return entry_of(config).report(config, {}, Device::open(Backend::cpu)).at(3);
  };
  EXPECT_NE(step("-div([3*u])").find("set by transport over 30 points/s of u; auto"),
            std::string::npos)
      << step("-div([3*u])");
  EXPECT_NE(step("-div([3*u]) + 0.1*laplace(u)")
                .find("λ = -40 1/s and transport over 30 points/s of u for waves of θ = π"),
            std::string::npos)
      << step("-div([3*u]) + 0.1*laplace(u)");
}

/// 30 points a second: 0.6/30 for edges, and 1.39/30 for what is smooth.
TEST(PdeConvection, TheReportTellsWhereEdgesDecide) {
  auto const told = [](std::string const& time) {
    auto const config = test::config_of(
        "simulation: pde\ngrid: {points: 10}\nboundary: {x: periodic}\n"
        "space: {convection: weno5}\nequations: {u: \"-div([3*u])\"}\n"
        "initial: {u: x}\ntime: {scheme: rk4, end: 1" +
        time + "}\n");
    auto const line = entry_of(config).report(config, {}, Device::open(Backend::cpu)).at(3);
    return line.substr(line.find("; ") + 2);
  };
  EXPECT_EQ(told(""), "auto takes 0.9 of 0.02 s, up to which edges stay sharp");
  EXPECT_EQ(told(", step: 0.03"),
            "the file gives a shorter one, but more than 0.02 s, up to which edges stay sharp");
  EXPECT_EQ(told(", step: 0.01"), "the file gives a shorter one");
}

/// Euler's equations in space: the largest that one would write fits.
TEST(PdeConvection, AGasInSpaceFits) {
  std::string const gas =
      "simulation: pde\ngrid: {points: [8, 8, 8]}\nboundary: {x: periodic, y: periodic, z: "
      "periodic}\nfields: {m: vector}\nlet: {u: m/rho, p: \"0.4*(E - dot(m, u)/2)\"}\n"
      "equations:\n  rho: -div(m)\n  m: -div(outer(m, u) + p*identity)\n  E: -div((E + p)*u)\n"
      "space: {convection: weno5}\n"
      "initial: {rho: 1, m: {x: 0, y: 0, z: 0.1}, E: 2.5}\ntime: {scheme: ssprk3, end: 1}\n";
  EXPECT_GT(step_of(gas), 0);
}

}  // namespace
}  // namespace gridstride

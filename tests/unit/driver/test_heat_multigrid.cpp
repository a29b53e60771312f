#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/heat_implicit_cases.hpp"

namespace gridstride {
namespace {

/// Cycles leave 1e-12 of the largest |u|, and what a step makes of that it makes of u.
TEST(HeatMultigrid, DecaysDiscreteEigenvectorsAsSchemesSay) {
  test::expect_decays({{{'d', 98, 3}},
                       {{'p', 97, 5}},
                       {{'d', 31, 2}, {'n', 37, 3}},
                       {{'p', 29, 14}, {'d', 24, 22}},
                       {{'n', 3, 1}, {'p', 3, 1}, {'d', 3, 1}},
                       {{'d', 14, 12}, {'p', 11, 3}, {'n', 18, 16}}},
                      Backend::cpu, {0.3, 30, 3000}, 1e-11, test::whole_decay,
                      ", solver: multigrid");
}

TEST(HeatMultigrid, DecaysThemInFloat32) {
  for (auto const* scheme : test::implicit_schemes)
    EXPECT_LE(test::solution_error("precision: float32\n" +
                                       test::eigenvector(scheme, {{'d', 14, 3}, {'p', 11, 3}}, 1e-3,
                                                         test::whole_decay, ", solver: multigrid"),
                                   Backend::cpu)
                  .maximum,
              1e-5)
        << scheme;
}

TEST(HeatMultigrid, IsOfTheOrderOfItsScheme) {
  for (auto const* scheme : test::implicit_schemes)
    for (auto const* sides : {"dn", "dnnd", "ddnndn"})
      for (bool const variable : {false, true}) {
        // Differences take α' at a Neumann side to first order.
        if (variable && !std::string_view(sides).starts_with("dd")) continue;
        double const order = scheme == std::string("backward_euler") ? 1 : 2;
        int const steps = order == 1 ? 128 : 32;
        auto const error = [&](int count) {
          return test::solution_error(test::whole(test::products(scheme, sides, variable, count)),
                                      Backend::cpu)
              .maximum;
        };
        EXPECT_NEAR(std::log2(error(steps) / error(2 * steps)), order, 0.1)
            << scheme << ' ' << sides << ' ' << variable;
      }
}

/// A steady state that is rough along several axes is kept, as splitting does not.
TEST(HeatMultigrid, KeepsWhatIsSteady) {
  for (auto const* scheme : test::implicit_schemes)
    EXPECT_LE(
        test::solution_error(
            fmt::format("simulation: heat\ngrid: {{points: [17, 14]}}\n"
                        "boundary: {{x: {{dirichlet: \"1 + 2*y + x*y\"}}, y: {{dirichlet: \"1 "
                        "+ 2*y + x*y\"}}}}\ninitial: {{u: \"1 + 2*y + x*y\"}}\n"
                        "parameters: {{diffusivity: \"2 + if(sin(40*x + 70*y^2) > 0, 0, 0)\", "
                        "solver: multigrid}}\n"
                        "time: {{scheme: {}, end: 10, step: 5}}\n"
                        "output: {{every: {{count: 1}}}}\n"
                        "verify: {{exact: {{u: \"1 + 2*y + x*y\"}}, tolerance: {{l2: 1}}}}\n",
                        scheme),
            Backend::cpu)
            .maximum,
        1e-10)
        << scheme;
}

/// Splitting with bounds for a field in 3D is of the order of its scheme, too, but where α jumps only at
/// steps that are far shorter.
TEST(HeatMultigrid, IsWhatFieldsIn3DTake) {
  auto const end_of = [](char const* solver, double step) {
    return test::solve(
        test::config_of(fmt::format(
            "simulation: heat\ngrid: {{points: [9, 8, 7]}}\n"
            "boundary: {{x: {{dirichlet: 0}}, y: {{neumann: 0}}, z: periodic}}\n"
            "initial: {{u: \"sin(pi*x)*(1 + cos(pi*y))\"}}\n"
            "parameters: {{diffusivity: \"if(x < 0.5, 1, 1e-2)\"{}}}\n"
            "time: {{scheme: tr_bdf2, end: 0.2, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
            solver, step)),
        Backend::cpu);
  };
  auto const right = end_of(", solver: multigrid", 1e-3);
  EXPECT_LE(test::relative_difference(end_of("", 0.01), right), 1e-3);
  EXPECT_GE(test::relative_difference(end_of(", solver: splitting", 0.01), right), 0.1);
}

/// Steps are long.
TEST(HeatMultigrid, IsStableWhateverTheDiffusivity) {
  for (auto const* scheme : {"backward_euler", "tr_bdf2"})
    for (auto const* points : {"[41, 37]", "[15, 17, 13]"})
      EXPECT_LE(test::largest_after(test::whole(test::jumps(scheme, points, 1, 20))), 1)
          << scheme << ' ' << points;
}

TEST(HeatMultigrid, BitsDependNeitherOnSlicesNorOnRestarts) {
  for (auto const* scheme : test::implicit_schemes)
    for (bool const variable : {false, true}) {
      // The last step before an output is shorter than the others.
      auto yaml = test::whole(test::products(scheme, "dnnd", variable, 23));
      yaml.replace(yaml.find("count: 1"), 8, "count: 3");
      auto const config = test::config_of(yaml);
      auto const once = test::solve(config, Backend::cpu);
      EXPECT_EQ(once.memory, test::solve(config, Backend::cpu, 5).memory) << scheme;
      EXPECT_EQ(once.memory, test::restarted(config)) << scheme;
    }
}

TEST(HeatMultigrid, AdaptiveStepsKeepTheirTolerance) { test::expect_tolerance_kept(test::whole); }

TEST(HeatMultigrid, AdaptiveStepsAreShortWhereMuchHappens) {
  test::expect_short_steps_where_much_happens(test::whole);
}

TEST(HeatMultigrid, BitsOfAdaptiveStepsDependNeitherOnSlicesNorOnRestarts) {
  test::expect_adaptive_bits(test::whole);
}

/// Where the solver leaves much less than a step may, both make the steps of the scheme: in one dimension
/// they are the same but for that.
TEST(HeatMultigrid, AdaptiveStepsAreThoseOfTheScheme) {
  for (bool const variable : {false, true}) {
    auto const yaml = test::adaptive_products("dd", variable, 1e-5);
    auto const split = test::steps_taken(yaml), by_cycles = test::steps_taken(test::whole(yaml));
    EXPECT_EQ(by_cycles.steps, split.steps);
    EXPECT_EQ(by_cycles.rejected, split.rejected);
    EXPECT_NEAR(by_cycles.error / split.error, 1, 0.05);
  }
}

std::string multigrid_refusal(std::string const& parameters, std::string const& time,
                              std::string const& kernels = "") {
  auto const config = test::config_of(
      "simulation: heat\ngrid: {points: [11, 11]}\ninitial: {u: 0}\nparameters: {diffusivity: 2" +
      parameters + "}\ntime: {" + time + "}\n" + kernels);
  for (auto const& problem : entry_of(config).problems(config, {}))
    return problem.path + ": " + problem.message;
  return {};
}

/// The mean of u is held by 1/dt alone, of which rounding leaves little.
TEST(HeatMultigrid, SaysWhereCyclesNoLongerHelp) {
  auto const config = test::config_of(
      "simulation: heat\ngrid: {points: [33, 21]}\nboundary: {x: {neumann: 0}, y: {neumann: 0}}\n"
      "initial: {u: \"1 + sin(50*x*y)\"}\nparameters: {diffusivity: 1, solver: multigrid}\n"
      "time: {scheme: crank_nicolson, step: 1e7, end: 1e8}\n");
  try {
    test::solve(config, Backend::cpu);
    ADD_FAILURE();
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(),
                 "heat: after 100 cycles for a step the error to be expected in u does not become "
                 "smaller, where 1e-12 is asked for (parameters.tolerance may be larger; solver: "
                 "splitting needs no cycles)");
  }
}

TEST(HeatMultigrid, RefusesWhatItCannotDo) {
  std::string const fixed = "scheme: tr_bdf2, end: 1, step: 0.1";
  EXPECT_EQ(multigrid_refusal(", solver: multigrid", fixed), "");
  std::string const adaptive = "scheme: tr_bdf2, end: 1, step: adaptive, tolerance: 1e-8";
  EXPECT_EQ(multigrid_refusal(", solver: multigrid", adaptive), "");
  EXPECT_EQ(multigrid_refusal(", solver: multigrid, tolerance: 1e-9", adaptive), "");
  EXPECT_EQ(multigrid_refusal(", solver: multigrid, tolerance: 2e-9", adaptive),
            "parameters.tolerance: 2e-09 is more than a tenth of what a step may be off by, 1e-08 "
            "(time.tolerance; what cycles leave would count as an error of the step)");
  EXPECT_EQ(multigrid_refusal(", tolerance: 1e-6", fixed),
            "parameters.tolerance: is of multigrid (the solver is splitting, which has none)");
  EXPECT_EQ(multigrid_refusal(", solver: multigrid", "scheme: rk4, end: 1"),
            "parameters.solver: multigrid is for implicit steps (the scheme is rk4)");
  EXPECT_EQ(multigrid_refusal("", fixed, "kernels: {multigrid: reference}\n"),
            "kernels.multigrid: is for solver: multigrid");
}

}  // namespace
}  // namespace gridstride

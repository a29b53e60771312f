#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/heat_implicit_cases.hpp"

namespace gridstride {
namespace {

TEST(HeatImplicit, DecaysDiscreteEigenvectorsAsItsFormulasSay) {
  test::expect_decays({{{'d', 98, 3}},
                       {{'n', 102, 100}},
                       {{'p', 97, 5}},
                       {{'d', 31, 2}, {'n', 37, 3}},
                       {{'p', 29, 14}, {'d', 24, 22}},
                       {{'n', 3, 1}, {'p', 3, 1}, {'d', 3, 1}},
                       {{'d', 14, 12}, {'p', 11, 3}, {'n', 18, 16}}},
                      Backend::cpu, {0.3, 30, 3000}, 1e-13);
}

TEST(HeatImplicit, DecaysThemInFloat32) {
  for (auto const* scheme : test::implicit_schemes)
    for (auto const& modes :
         std::vector<std::vector<test::Mode>>{{{'n', 102, 100}},
                                              {{'p', 29, 14}, {'d', 24, 22}},
                                              {{'d', 14, 3}, {'p', 11, 3}, {'n', 18, 4}}})
      EXPECT_LE(test::solution_error(
                    "precision: float32\n" + test::eigenvector(scheme, modes, 1e-3), Backend::cpu)
                    .maximum,
                1e-5)
          << scheme << ' ' << modes.size();
}

/// A plate, or a part of a line or a room, of `points`, with steps a thousand times too long for
/// explicit ones.
std::string stiff(std::string const& scheme, std::string const& points, std::string const& initial,
                  int dims, int steps) {
  double const step = 1000.0 / (2 * dims * 40 * 40);
  return fmt::format(
      "simulation: heat\ngrid: {{points: {}}}\nboundary: {{x: {{neumann: 0}}}}\n"
      "initial: {{u: \"{}\"}}\nparameters: {{diffusivity: 1}}\n"
      "time: {{scheme: {}, end: {}, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
      points, initial, scheme, steps * step, step);
}

/// tr_bdf2 leaves √2/(1 + (1 − 1/√2)·2000) of what goes up and down from point to point.
TEST(HeatImplicit, WhatIsRoughIsGoneAfterAStep) {
  for (auto const* scheme : {"backward_euler", "tr_bdf2"}) {
    EXPECT_LT(test::largest_after(stiff(scheme, "[41]", "cos(40*pi*x)", 1, 1)), 2.5e-3) << scheme;
    // Along every axis, or along one.
    EXPECT_LT(test::largest_after(stiff(scheme, "[41, 41]", "cos(40*pi*x)*cos(40*pi*y)", 2, 1)),
              5e-3)
        << scheme;
    EXPECT_LT(test::largest_after(stiff(scheme, "[41, 41]", "cos(40*pi*x)", 2, 1)), 5e-3) << scheme;
    EXPECT_LT(test::largest_after(
                  stiff(scheme, "[41, 41, 41]", "cos(40*pi*x)*cos(40*pi*y)*cos(40*pi*z)", 3, 1)),
              5e-3)
        << scheme;
  }
  EXPECT_GT(test::largest_after(stiff("crank_nicolson", "[41]", "cos(40*pi*x)", 1, 1)), 0.99);
}

/// What goes below zero where the spot was cut out is small, and smaller from step to step.
TEST(HeatImplicit, AHotSpotDoesNotRing) {
  std::string const spot = "if((x - 0.4)^2 + (y - 0.3)^2 < 0.04, 1, 0)";
  for (auto const* scheme : {"backward_euler", "tr_bdf2"}) {
    auto const config = test::config_of(stiff(scheme, "[41, 37]", spot, 2, 8));
    Stream stream(Device::open(Backend::cpu));
    auto const simulation = entry_of(config).make(config, stream, {});
    double before = 1;
    for (double most_below = 0.1; !simulation->finished(); most_below /= 4) {
      simulation->advance(1, config.time.end);
      auto const field = test::to_host(simulation->fields()[0], stream);
      double lowest = 1, highest = 0;
      for (std::int64_t i = 0; i < field.field.grid.size(); ++i) {
        lowest = std::min(lowest, test::value_at(field, i));
        highest = std::max(highest, test::value_at(field, i));
      }
      EXPECT_GE(lowest, -most_below) << scheme;
      EXPECT_LE(highest, before) << scheme;
      before = highest;
    }
  }
}

/// Nothing grows for ever, as it would by a factor a step.
TEST(HeatImplicit, IsStableWhateverTheDiffusivity) {
  for (auto const* scheme : test::implicit_schemes)
    for (auto const* points : {"[41, 37]", "[15, 17, 13]"})
      for (double const step : {5e-4, 0.02, 1.0})
        EXPECT_LE(test::largest_after(test::split(test::jumps(scheme, points, step, 100))), 20)
            << scheme << ' ' << points << ' ' << step;
}

TEST(HeatImplicit, KeepsWhatIsSteady) {
  for (auto const* scheme : test::implicit_schemes) {
    auto const error = test::solution_error(
        fmt::format(
            "simulation: heat\ngrid: {{points: [17, 14, 11]}}\n"
            "boundary: {{x: {{lower: {{dirichlet: \"1 + 2*y - z\"}}, upper: {{neumann: 3}}}}, "
            "y: {{dirichlet: \"1 + 3*x + 2*y - z\"}}, z: {{neumann: \"if(z > 0.5, -1, 1)\"}}}}\n"
            "initial: {{u: \"1 + 3*x + 2*y - z\"}}\nparameters: {{diffusivity: 2}}\n"
            "time: {{scheme: {}, end: 10, step: 5}}\noutput: {{every: {{count: 1}}}}\n"
            "verify: {{exact: {{u: \"1 + 3*x + 2*y - z\"}}, tolerance: {{l2: 1}}}}\n",
            scheme),
        Backend::cpu);
    // Rounding of values up to 6, times what 1 − dt·L makes of it.
    double const magnified = 4 * 5 * 2 * (16 * 16 + 13 * 13 + 10 * 10);
    EXPECT_LE(error.maximum, 6 * magnified * std::numeric_limits<double>::epsilon()) << scheme;
  }
}

TEST(HeatImplicit, BitsDependNeitherOnSlicesNorOnRestarts) {
  for (auto const* scheme : test::implicit_schemes)
    for (bool const variable : {false, true}) {
      auto const config = test::config_of(test::products(scheme, "dnnd", variable, 23));
      auto const once = test::solve(config, Backend::cpu);
      EXPECT_EQ(once.memory, test::solve(config, Backend::cpu, 5).memory) << scheme;
      EXPECT_EQ(once.memory, test::restarted(config)) << scheme;
    }
}

std::string as_it_is(std::string yaml) { return yaml; }

TEST(HeatImplicit, AdaptiveStepsKeepTheirTolerance) { test::expect_tolerance_kept(as_it_is); }

TEST(HeatImplicit, AdaptiveStepsAreShortWhereMuchHappens) {
  test::expect_short_steps_where_much_happens(as_it_is);
}

TEST(HeatImplicit, BitsOfAdaptiveStepsDependNeitherOnSlicesNorOnRestarts) {
  test::expect_adaptive_bits(as_it_is);
}

/// What a file is refused for.
std::string implicit_refusal(std::string const& time, std::string const& kernels = "") {
  auto const config = test::config_of(
      "simulation: heat\ngrid: {points: [11, 11]}\ninitial: {u: 0}\nparameters: {diffusivity: 2}\n"
      "time: {" +
      time + "}\n" + kernels);
  auto const& entry = entry_of(config);
  for (auto const& problem : entry.problems(config, {}))
    return problem.path + ": " + problem.message;
  try {
    entry.time_step(config, {}, Device::open(Backend::cpu));
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return {};
}

TEST(HeatImplicit, RefusesWhatItCannotDo) {
  EXPECT_EQ(
      implicit_refusal("scheme: crank_nicolson, end: 1"),
      "time.step: has to be given with crank_nicolson (it is stable for any step, so that the "
      "accuracy that you want decides; 100 times what ftcs could take are 0.125 s)");
  EXPECT_EQ(implicit_refusal("scheme: tr_bdf2, end: 1"),
            "time.step: has to be given with tr_bdf2, or be 'adaptive' (it is stable for any step, "
            "so that the accuracy that you want decides; 100 times what ftcs could take are 0.125 "
            "s)");
  for (auto const* scheme : {"ftcs", "crank_nicolson"})
    EXPECT_EQ(implicit_refusal(fmt::format("scheme: {}, end: 1, step: adaptive", scheme)),
              fmt::format("time.step: 'adaptive' is for tr_bdf2 ({} has no estimate of its error)",
                          scheme));
  EXPECT_EQ(implicit_refusal("scheme: tr_bdf2, end: 1, step: adaptive, tolerance: 1e-17"),
            "time.tolerance: 1e-17 is too small for float64 (numbers are rounded to 2.2e-16 of "
            "themselves; 1.8e-15 is the least)");
  EXPECT_EQ(implicit_refusal("scheme: tr_bdf2, end: 1, step: 0.1", "kernels: {stencil: threads}\n"),
            "kernels.stencil: is for explicit steps (the scheme is tr_bdf2)");
  EXPECT_EQ(implicit_refusal("scheme: tr_bdf2, end: 1, step: 0.1", "kernels: {fused_steps: 2}\n"),
            "kernels.fused_steps: is for explicit steps (the scheme is tr_bdf2)");
  EXPECT_EQ(implicit_refusal("scheme: tr_bdf2, end: 1, step: 0.1"), "");
  EXPECT_EQ(implicit_refusal("scheme: backward_euler, end: 1e12, step: 5.4e9"), "");
  EXPECT_EQ(
      implicit_refusal("scheme: backward_euler, end: 1e12, step: 5.6e9"),
      "time.step: 5600000000 s is 4.48e+12 times what ftcs could take (float64 has digits for "
      "4.4e+12 times)");
}

}  // namespace
}  // namespace gridstride

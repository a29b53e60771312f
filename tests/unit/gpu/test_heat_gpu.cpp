#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "driver/prepare.hpp"
#include "kernels/stencil/stencil.hpp"
#include "support/heat_implicit_cases.hpp"
#include "support/implicit_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

struct Case {
  int dims;
  std::string sides;
  int cells;
};

std::vector<Case> cases() {
  return {{1, "dn", 1000},  {1, "pp", 1024},   {2, "ppdn", 130}, {2, "nddn", 97},
          {2, "pppp", 128}, {3, "ppdnnd", 36}, {3, "nnddpp", 33}};
}

/// A tenth of the time: on the host a line takes thousands of steps.
std::string shortened(Case const& one, std::string const& scheme) {
  auto yaml = test::manufactured(one.dims, one.sides, one.cells, scheme);
  return yaml.replace(yaml.find("end: 0.1"), 8, "end: 0.01");
}

TEST(HeatGpu, AgreesWithTheHostInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& one : cases())
    for (auto const* scheme : {"ftcs", "rk4"}) {
      auto const config = test::config_of(shortened(one, scheme));
      EXPECT_LE(test::relative_difference(test::solve(config, Backend::cuda),
                                          test::solve(config, Backend::cpu)),
                1e-12)
          << one.sides << ' ' << one.cells << ' ' << scheme;
    }
}

TEST(HeatGpu, AgreesWithTheHostInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& one : cases())
    for (auto const* scheme : {"ftcs", "rk4"}) {
      auto const config = test::config_of("precision: float32\n" + shortened(one, scheme));
      EXPECT_LE(test::relative_difference(test::solve(config, Backend::cuda),
                                          test::solve(config, Backend::cpu)),
                1e-5)
          << one.sides << ' ' << one.cells << ' ' << scheme;
    }
}

TEST(HeatGpu, EveryVariantAgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* variant : {"naive", "shared", "register_queue"}) {
    std::string const yaml = test::manufactured(3, "ppdnnd", 20, "ftcs");
    auto const config = test::config_of(yaml);
    auto const chosen = test::config_of(yaml + "kernels: {stencil: " + variant + "}\n");
    EXPECT_LE(test::relative_difference(test::solve(chosen, Backend::cuda),
                                        test::solve(config, Backend::cpu)),
              1e-12)
        << variant;
  }
}

TEST(HeatGpu, BitsDependNeitherOnTheRunNorOnHowStepsAreQueued) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* scheme : {"ftcs", "rk4"}) {
    auto const config = test::config_of(test::manufactured(2, "ppdn", 100, scheme));
    auto const once = test::solve(config, Backend::cuda);
    for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 40})
      EXPECT_EQ(once.memory, test::solve(config, Backend::cuda, slice).memory)
          << scheme << " in slices of " << slice;
  }
}

TEST(HeatGpu, BitsDependNeitherOnTheVariantNorOnFusedSteps) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* precision : {"precision: float32\n", ""})
    for (auto const& one : cases()) {
      auto const yaml = precision + test::steady(one.dims, one.sides, one.cells, 201);
      auto const naive = test::config_of(yaml + "kernels: {stencil: naive}\n");
      auto const expected = test::solve(naive, Backend::cuda);
      std::vector<std::string> choices = {"stencil: auto", "stencil: temporal"};
      if (one.dims < 3) choices.push_back("stencil: resident");
      for (int fused = 1; fused <= stencil::most_fused_steps(one.dims); fused += 1 + fused / 2)
        choices.push_back("fused_steps: " + std::to_string(fused));
      for (auto const& kernels : choices) {
        auto const config = test::config_of(yaml + "kernels: {" + kernels + "}\n");
        for (std::int64_t const slice : {std::int64_t{3}, std::int64_t{50}, std::int64_t{1} << 40})
          EXPECT_EQ(expected.memory, test::solve(config, Backend::cuda, slice).memory)
              << one.sides << ' ' << one.cells << ' ' << kernels << " in slices of " << slice;
      }
    }
}

/// What `check` says of a file on the GPU.
std::string refusal(std::string const& yaml) {
  try {
    check_on_device(test::config_of(yaml), Device::open(Backend::cuda));
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return "";
}

TEST(HeatGpu, RefusesVariantsThatDoNotMakeItsSteps) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const heat = [](std::string const& points, std::string const& variant,
                       std::string const& more = "diffusivity: 1",
                       std::string const& scheme = "ftcs") {
    return "simulation: heat\ngrid: {points: [" + points +
           "]}\nboundary: {x: periodic, y: periodic}\ninitial: {u: \"x\"}\nparameters: {" + more +
           "}\ntime: {scheme: " + scheme + ", end: 1e-9}\nkernels: {stencil: " + variant + "}\n";
  };
  EXPECT_EQ(refusal(heat("64, 64", "resident")), "");
  EXPECT_EQ(refusal(heat("1000, 777", "temporal")), "");
  EXPECT_TRUE(refusal(heat("3000, 2777", "resident"))
                  .starts_with("kernels.stencil: 'resident' keeps small lines and planes on the "
                               "chip, and 3000 x 2777 points do not fit"))
      << refusal(heat("3000, 2777", "resident"));
  for (auto const* variant : {"resident", "temporal"}) {
    EXPECT_EQ(refusal(heat("64, 64", variant, "diffusivity: \"1 + x\"")),
              std::string("kernels.stencil: '") + variant +
                  "' makes no steps with a diffusivity that is a field");
    EXPECT_EQ(refusal(heat("64, 64", variant, "diffusivity: 1, source: x")),
              std::string("kernels.stencil: '") + variant + "' makes no steps with a source");
    EXPECT_NE(refusal(heat("64, 64", variant, "diffusivity: 1", "rk4")), "") << variant;
  }
}

TEST(HeatGpu, HasSecondOrderInSpace) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [dims, sides, cells] :
       {Case{1, "dn", 64}, Case{2, "ppnd", 48}, Case{3, "ppdnnd", 32}}) {
    auto const coarse =
        test::solution_error(test::manufactured(dims, sides, cells, "rk4"), Backend::cuda);
    auto const fine =
        test::solution_error(test::manufactured(dims, sides, 2 * cells, "rk4"), Backend::cuda);
    EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.1) << sides;
  }
}

/// Steps are up to 500 times as long as explicit ones, of which rounding comes back as much.
TEST(HeatGpu, ImplicitStepsAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [precision, tolerance] : {std::pair{"", 1e-11}, {"precision: float32\n", 1e-3}})
    for (auto const& one : cases())
      for (auto const* scheme : test::implicit_schemes) {
        auto yaml = test::split(test::manufactured(one.dims, one.sides, one.cells, scheme));
        yaml.replace(yaml.find("end: 0.1"), 8, "end: 0.02, step: 0.004");
        auto const config = test::config_of(precision + yaml);
        auto const once = test::solve(config, Backend::cuda);
        EXPECT_LE(test::relative_difference(once, test::solve(config, Backend::cpu)), tolerance)
            << precision << one.sides << ' ' << one.cells << ' ' << scheme;
        EXPECT_EQ(once.memory, test::solve(config, Backend::cuda, 3).memory) << scheme;
      }
}

TEST(HeatGpu, ImplicitStepsDecayDiscreteEigenvectors) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_decays({{{'d', 5001, 3}},
                       {{'p', 997, 5}},
                       {{'d', 131, 2}, {'n', 137, 3}},
                       {{'p', 129, 14}, {'d', 1001, 22}},
                       {{'d', 14, 12}, {'p', 11, 3}, {'n', 18, 16}}},
                      Backend::cuda, {0.3, 30}, 1e-13);
}

TEST(HeatGpu, StepsByMultigridDecayDiscreteEigenvectors) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // Cycles leave 1e-12 of the largest |u|.
  test::expect_decays({{{'d', 5001, 3}},
                       {{'d', 131, 2}, {'n', 137, 3}},
                       {{'p', 129, 14}, {'d', 1001, 22}},
                       {{'d', 14, 12}, {'p', 11, 3}, {'n', 18, 16}},
                       {{'n', 66, 5}, {'p', 64, 9}, {'d', 37, 3}}},
                      Backend::cuda, {0.3, 30, 3000}, 1e-11, test::whole_decay,
                      ", solver: multigrid");
}

/// Rounding as with splitting. What a solve leaves is within its tolerance on both devices, and
/// crank_nicolson, which goes twice as far as it, makes twice as much of it.
TEST(HeatGpu, StepsByMultigridAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  struct Kind {
    std::string precision;
    double rounding, tolerance;
  };
  constexpr int steps = 5, most_solves = 2;  // of a step
  for (Kind const& kind : {Kind{"", 1e-11, 1e-12}, {"precision: float32\n", 1e-3, 1e-7}})
    for (auto const& one : cases())
      for (auto const* scheme : test::implicit_schemes) {
        auto yaml = test::whole(test::manufactured(one.dims, one.sides, one.cells, scheme));
        yaml.replace(yaml.find("end: 0.1"), 8, "end: 0.02, step: 0.004");
        auto const config = test::config_of(kind.precision + yaml);
        auto const once = test::solve(config, Backend::cuda);
        EXPECT_LE(test::relative_difference(once, test::solve(config, Backend::cpu)),
                  kind.rounding + 4 * steps * most_solves * kind.tolerance)
            << kind.precision << one.sides << ' ' << one.cells << ' ' << scheme;
        EXPECT_EQ(once.memory, test::solve(config, Backend::cuda, 3).memory) << scheme;
      }
}

/// Sides and a source that change, with α a number.
TEST(HeatGpu, ImplicitStepsWithChangingSidesAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* scheme : test::implicit_schemes)
    for (auto const* sides : {"dn", "dnnd", "dddd", "dnnddn"}) {
      auto const config = test::config_of(test::products(scheme, sides, false, 40));
      EXPECT_LE(test::relative_difference(test::solve(config, Backend::cuda),
                                          test::solve(config, Backend::cpu)),
                1e-12)
          << scheme << ' ' << sides;
    }
}

TEST(HeatGpu, ImplicitKernelsFollowTheirFormulas) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::check_implicit(Backend::cuda);
}

TEST(HeatGpu, AdaptiveStepsAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* sides : {"dd", "dnnd", "ddnndn"})
    for (bool const variable : {false, true}) {
      auto const config =
          test::config_of(test::split(test::adaptive_products(sides, variable, 1e-5)));
      auto const once = test::solve(config, Backend::cuda);
      // Steps that differ by rounding have errors that differ by little beside the tolerance.
      EXPECT_LE(test::relative_difference(once, test::solve(config, Backend::cpu)), 1e-6) << sides;
      EXPECT_EQ(once.memory, test::solve(config, Backend::cuda, 5).memory) << sides;
    }
}

}  // namespace
}  // namespace gridstride

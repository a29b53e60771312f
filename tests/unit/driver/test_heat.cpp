#include <gtest/gtest.h>

#include "core/error.hpp"
#include "kernels/stencil/stencil.hpp"
#include "support/slab_cases.hpp"

namespace gridstride {
namespace {

TEST(Heat, BitsDependNeitherOnTheVariantNorOnHowStepsAreQueued) {
  for (auto const* sides : {"ddnn", "ppnd"}) {
    auto const yaml = test::steady(2, sides, 20, 101);
    auto const config = test::config_of(yaml);
    auto const expected = test::solve(config, Backend::cpu, 1);
    for (std::int64_t const slice : {std::int64_t{7}, std::int64_t{64}, std::int64_t{1} << 40})
      EXPECT_EQ(expected.memory, test::solve(config, Backend::cpu, slice).memory)
          << sides << " in slices of " << slice;
    auto const reference = test::config_of(yaml + "kernels: {stencil: reference}\n");
    EXPECT_EQ(expected.memory, test::solve(reference, Backend::cpu).memory) << sides;
  }
}

TEST(Heat, TellsWhatItChose) {
  auto const config = test::config_of(test::steady(1, "dd", 20, 1));
  Stream stream(Device::open(Backend::cpu));
  auto const chosen = entry_of(config).make(config, stream, {})->chosen();
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].name, "stencil");
  EXPECT_EQ(chosen[0].text, "threads");
}

TEST(Heat, RefusesMoreFusedStepsThanItsDimensionsHave) {
  auto const yaml = test::steady(3, "dddddd", 8, 1);
  int const most = stencil::most_fused_steps(3);
  auto const with = [&](int steps) {
    auto const config =
        test::config_of(yaml + fmt::format("kernels: {{fused_steps: {}}}\n", steps));
    return entry_of(config).problems(config, {}).size();
  };
  EXPECT_EQ(with(most), 0u);
  EXPECT_EQ(with(most + 1), 1u);
}

TEST(Heat, TakesAStepAtTheLimit) {
  for (auto const* step : {"1/35^2/4", "1/35/35/4"}) {
    auto const config = test::config_of(
        fmt::format("simulation: heat\ngrid: {{points: [36, 36]}}\ninitial: {{u: x}}\n"
                    "parameters: {{diffusivity: 1}}\ntime: {{end: 1, step: {}}}\n",
                    step));
    EXPECT_EQ(entry_of(config).time_step(config, {}, Device::open(Backend::cpu)),
              *config.time.step);
  }
}

TEST(Heat, InSlabsItHasTheBitsOfARunInCore) {
  for (auto const* precision : {"precision: float32\n", ""})
    for (auto const& [dims, sides] : {std::pair{1, "pp"},
                                      {1, "dn"},
                                      {1, "nd"},
                                      {2, "pppp"},
                                      {2, "ddnn"},
                                      {2, "ppnd"},
                                      {2, "dnpp"},
                                      {3, "pppppp"},
                                      {3, "nnddpp"},
                                      {3, "ppdnnd"},
                                      {3, "dndddd"}})
      test::expect_bits_in_slabs(precision + test::steady(dims, sides, dims < 3 ? 41 : 33, 23),
                                 Backend::cpu);
}

TEST(Heat, RunsInSlabsWithOutputsAndRestarts) { test::expect_runs_in_slabs(Backend::cpu); }

/// What is said of a limit on the device's memory.
std::string refusal(std::string const& yaml, std::string const& limits) {
  try {
    auto const config = test::config_of(yaml + "limits: {" + limits + "}\n");
    memory_of(entry_of(config), config, {}, Backend::cpu);
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return {};
}

TEST(Heat, RefusesLimitsThatItCannotKeep) {
  auto const heat = [](std::string const& parameters, std::string const& scheme = "ftcs",
                       std::string const& side = "1") {
    return "simulation: heat\ngrid: {points: [64, 64]}\nboundary: {x: {dirichlet: " + side +
           "}, y: periodic}\ninitial: {u: 0}\nparameters: {" + parameters +
           "}\ntime: {end: 1, scheme: " + scheme + "}\n";
  };
  std::string const take = "limits.device_memory: the arrays take ";
  EXPECT_EQ(refusal(heat("diffusivity: 1"), "device_memory: 65 KiB"), "");
  EXPECT_EQ(refusal(heat("diffusivity: 1"), "device_memory: 4 KiB"),
            "limits.device_memory: 0 B are left for slabs, and one of a single line along the "
            "slowest axis takes 15.5 KiB");
  EXPECT_EQ(refusal(heat("diffusivity: 1", "rk4"), "device_memory: 65 KiB"),
            take + "129.0 KiB, and grids larger than the device take steps of the scheme ftcs");
  EXPECT_EQ(refusal(heat("diffusivity: 1 + x"), "device_memory: 65 KiB"),
            take +
                "97.0 KiB, and grids larger than the device take steps with a diffusivity that "
                "is a number");
  EXPECT_EQ(refusal(heat("diffusivity: 1, source: x"), "device_memory: 65 KiB"),
            take + "97.0 KiB, and grids larger than the device take steps without a source");
  EXPECT_EQ(refusal(heat("diffusivity: 1", "ftcs", "sin(t)"), "device_memory: 64 KiB"),
            take +
                "65.0 KiB, and grids larger than the device take steps with sides that do not "
                "depend on time");
  EXPECT_EQ(refusal(heat("diffusivity: 1", "crank_nicolson, step: 1"), "device_memory: 64 KiB"),
            take + "65.0 KiB, and grids larger than the device take steps of the scheme ftcs");
  // What fits needs none.
  EXPECT_EQ(refusal(heat("diffusivity: 1", "rk4"), "device_memory: 1 MiB"), "");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/advection_cases.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/wave_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr char const* schemes[] = {"upwind", "lax_wendroff", "weno5"};

/// Constant, variable and changing velocities, in one to three dimensions, periodic and open.
std::vector<test::AdvectionRun> runs(std::string const& scheme) {
  return {test::carried_waves(scheme, "o", 300, {1, 0, 0}, 0.3),
          test::carried_waves(scheme, "po", 70, {1, -0.5, 0}, 0.2),
          test::carried_waves(scheme, "oop", 24, {-0.4, 0.8, 1}, 0.2),
          test::stretched_waves(scheme, 2, 65, 0.1),
          test::rotated_hill(scheme, 80, 0.1),
          test::swinging_wave(scheme, "o", 150, 0.7),
          test::swinging_wave(scheme, "p", 131, 0.7)};
}

TEST(AdvectionGpu, AgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [precision, tolerance] :
       {std::pair("float64", 1e-11), std::pair("float32", 1e-4)})
    for (auto const* scheme : schemes)
      for (auto const& run : runs(scheme)) {
        auto const config =
            test::config_of(fmt::format("precision: {}\n{}", precision, run.yaml()));
        EXPECT_LE(test::relative_difference(test::solve(config, Backend::cuda),
                                            test::solve(config, Backend::cpu)),
                  tolerance)
            << scheme << ' ' << precision << ' ' << run.sides << ' ' << run.velocity[0];
      }
}

TEST(AdvectionGpu, EveryVariantAgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* scheme : schemes)
    for (auto const* variant : {"naive", "streaming"}) {
      auto run = test::carried_waves(scheme, "oop", 20, {-0.4, 0.8, 1}, 0.2);
      auto const config = test::config_of(run.yaml());
      run.extra = fmt::format("kernels: {{advect: {}}}\n", variant);
      EXPECT_LE(test::relative_difference(test::solve(test::config_of(run.yaml()), Backend::cuda),
                                          test::solve(config, Backend::cpu)),
                1e-11)
          << scheme << ' ' << variant;
    }
}

TEST(AdvectionGpu, HasTheOrdersOfItsSchemes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const order = [](std::string const& scheme, int cells) {
    return test::order_in_space(
        [&](int n) {
          return test::carried_waves(scheme, "po", n, {1, 0.5, 0}, 0.2);
        },
        cells, 0.5, Backend::cuda);
  };
  EXPECT_NEAR(order("upwind", 128), 1, 0.1);
  EXPECT_NEAR(order("lax_wendroff", 48), 2, 0.1);
  EXPECT_GE(order("weno5", 40), 4.8);
  auto const swinging = [](std::string const& scheme, int cells) {
    return test::order_in_space([&](int n) { return test::swinging_wave(scheme, "o", n, 0.3); },
                                cells, 0.5, Backend::cuda);
  };
  EXPECT_NEAR(swinging("upwind", 400), 1, 0.1);
  EXPECT_NEAR(swinging("lax_wendroff", 50), 2, 0.1);
}

TEST(AdvectionGpu, BitsDependNeitherOnTheRunNorOnHowStepsAreQueued) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* scheme : schemes)
    for (auto const& run : runs(scheme)) {
      auto const config = test::config_of(run.yaml());
      auto const once = test::solve(config, Backend::cuda);
      for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 40})
        EXPECT_EQ(once.memory, test::solve(config, Backend::cuda, slice).memory)
            << scheme << ' ' << run.sides << " in slices of " << slice;
    }
}

TEST(AdvectionGpu, GoesOnFromACheckpointWithTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* scheme : schemes)
    for (auto const& one : {test::rotated_hill(scheme, 80, 0.3),
                            test::carried_waves(scheme, "p", 100, {1, 0, 0}, 0.9)}) {
      auto const config = test::config_of("precision: float32\n" + one.yaml());
      auto const expected = test::solve(config, Backend::cuda).memory;
      for (std::int64_t const steps : {1, 2, 33, 64}) {
        Stream stream(Device::open(Backend::cuda));
        auto const first = entry_of(config).make(config, stream, {});
        first->advance(steps, config.time.end);
        test::MemoryCheckpoint checkpoint;
        first->save(checkpoint);
        auto const second = entry_of(config).make(config, stream, {});
        second->load(checkpoint);
        EXPECT_EQ(second->clock().step, steps);
        second->advance(std::int64_t{1} << 40, config.time.end);
        EXPECT_EQ(test::to_host(second->fields()[0], stream).memory, expected)
            << scheme << " from step " << steps;
      }
    }
}

}  // namespace
}  // namespace gridstride

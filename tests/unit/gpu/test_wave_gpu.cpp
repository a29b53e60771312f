#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "support/memory_checkpoint.hpp"
#include "support/wave_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(WaveGpu, AgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [precision, tolerance] :
       {std::pair("float64", 1e-12), std::pair("float32", 1e-4)}) {
    test::WaveRun host(test::everything(precision)),
        device(test::everything(precision), Backend::cuda);
    for (double const until : {0.1, 0.33, 0.75}) {
      host.go(until);
      device.go(until);
    }
    EXPECT_LE(test::relative_difference(device.field(), host.field()), tolerance);
    EXPECT_NEAR(device.energy(), host.energy(), 10 * tolerance * host.energy());
  }
}

TEST(WaveGpu, EveryVariantGivesTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const result = [](std::string const& variant) {
    test::WaveRun run(test::everything("float32", "kernels: {star: " + variant + "}\n"),
                      Backend::cuda);
    run.go(0.75);
    return run.field().memory;
  };
  auto const expected = result("auto");
  for (auto const* variant : {"naive", "register_queue"})
    EXPECT_EQ(result(variant), expected) << variant;
  EXPECT_THROW(result("temporal"), std::invalid_argument);  // there are sources and layers
}

TEST(WaveGpu, BitsDependNeitherOnTheRunNorOnHowStepsAreQueued) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const result = [](std::int64_t slice) {
    test::WaveRun run(test::everything("float64"), Backend::cuda);
    for (double const until : {0.1, 0.33, 0.75}) run.go(until, slice);
    return run.field().memory;
  };
  auto const once = result(std::int64_t{1} << 40);
  for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 40})
    EXPECT_EQ(result(slice), once) << slice;
}

/// Steps one by one and several in a pass, in slices and in graphs, to moments that no pass meets.
TEST(WaveGpu, FusedStepsGiveTheBitsOfSingleOnes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* precision : {"float32", "float64"}) {
    auto const result = [&](std::string const& kernels, std::int64_t slice) {
      test::WaveRun run(test::undisturbed(precision, kernels), Backend::cuda);
      EXPECT_EQ(run.simulation->chosen().size() > 1, kernels == "star: temporal");
      for (double const until : {0.0501, 0.0502, 0.16}) run.go(until, slice);
      EXPECT_GT(run.simulation->clock().step, 150);
      return std::pair(run.field().memory, run.energy());
    };
    auto const single = result("star: register_queue", std::int64_t{1} << 40);
    for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 40})
      EXPECT_EQ(result("star: temporal", slice), single) << slice;
  }
}

TEST(WaveGpu, FusedStepsGoOnFromACheckpoint) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const yaml = test::undisturbed("float64", "star: temporal");
  test::WaveRun whole(yaml, Backend::cuda), first(yaml, Backend::cuda), second(yaml, Backend::cuda);
  for (auto* run : {&whole, &first}) run->go(0.0501);
  test::MemoryCheckpoint checkpoint;
  first.simulation->save(checkpoint);
  second.simulation->load(checkpoint);
  for (auto* run : {&whole, &second}) run->go(0.16);
  EXPECT_EQ(second.field().memory, whole.field().memory);
  EXPECT_EQ(second.energy(), whole.energy());
}

TEST(WaveGpu, HasTheOrderOfTheDifferences) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (int const order : {2, 8}) {
    auto const coarse =
        test::solution_error(test::standing(2, "===0", order, 18, 24), Backend::cuda);
    auto const fine = test::solution_error(test::standing(2, "===0", order, 36, 24 << (order / 2)),
                                           Backend::cuda);
    EXPECT_NEAR(test::observed_order(coarse, fine), order, 0.1);
  }
}

}  // namespace
}  // namespace gridstride

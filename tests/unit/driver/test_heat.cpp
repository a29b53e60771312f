#include <gtest/gtest.h>

#include "kernels/stencil/stencil.hpp"
#include "support/heat_cases.hpp"

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

}  // namespace
}  // namespace gridstride

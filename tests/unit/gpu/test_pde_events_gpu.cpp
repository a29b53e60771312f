#include <gtest/gtest.h>

#include "support/pde_event_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(PdeEventsGpu, AreThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const host = test::run_events(test::events_pde());
  for (std::int64_t const steps : {1, 1000}) {
    auto const gpu = test::run_events(test::events_pde(), Backend::cuda, steps);
    EXPECT_EQ(gpu.clock.step, host.clock.step);
    // Some fifty steps round values of about 1 some ten times each.
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        ASSERT_NEAR(gpu.fields[f][i], host.fields[f][i], 1e-12) << f << ' ' << i;
  }
}

TEST(PdeEventsGpu, ConditionsEndTheSameStep) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* stop : {"steady: 1e-3", "when: min(u) < 0.5", "when: integral(u) < 1",
                           "when: \"(mean(v) > 0.9)*(t > 0.5)\""}) {
    auto const yaml = test::decaying_pde(std::string("stop: {") + stop + "}\n");
    auto const host = test::run_events(yaml);
    for (std::int64_t const steps : {1, 50, 100'000}) {
      auto const gpu = test::run_events(yaml, Backend::cuda, steps);
      EXPECT_EQ(gpu.clock.step, host.clock.step) << stop;
      EXPECT_NE(gpu.ending, "") << stop;
    }
  }
}

}  // namespace
}  // namespace gridstride

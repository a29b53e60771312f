#include "bench/links.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gridstride::bench {
namespace {

TEST(BenchLinks, FitsLatencyAndRate) {
  std::vector<LinkTime> times;
  for (std::size_t const bytes : {8, 1 << 16, 1 << 24})
    times.push_back({bytes, 3e-6 + static_cast<double>(bytes) / 2e11});
  auto const [latency, rate] = fit(times);
  EXPECT_NEAR(latency, 3e-6, 1e-15);
  EXPECT_NEAR(rate, 2e11, 1e2);
}

}  // namespace
}  // namespace gridstride::bench

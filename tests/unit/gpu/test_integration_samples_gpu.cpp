#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/sample_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

TEST(IntegrationOfSamplesGpu, BitsDoNotDependOnTheChunks) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_alike_in_chunks(Backend::cuda);
}

/// Both are within (n + 20)·2^-53·Σ|w·f| of the exact sum: samples are at most 1, weights add up to
/// less than twice what is integrated over.
TEST(IntegrationOfSamplesGpu, EqualsTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  SampleFiles const files;
  auto const values = samples_of([](double x) { return std::sin(40 * x * x); }, 0, 2, 33 * 17 * 65);
  auto const f = files.write("f.bin", values, "65, 17, 33");
  auto const line = files.write("line.bin", values);
  auto const p =
      files.write("p.bin", samples_of([](double x) { return x * (x + 1); }, 0, 1, 33 * 17 * 65));
  double const bound = 2 * 2 * 2.0 * (33 * 17 * 65 + 20) * 0x1p-53;
  for (std::string const rule : {"trapezoid", "simpson", "romberg"}) {
    std::vector<std::string> parameters;
    for (std::string const axis : {"x", "y", "z", "all"})
      parameters.push_back(fmt::format(
          "integrand: {}, variables: {{x: [0, 1], y: [0, 1], z: [0, 1]}}, rule: {}, axis: {}", f,
          rule, axis));
    if (rule != "romberg")
      parameters.push_back(fmt::format(
          "integrand: {}, variables: {{x: {{positions: {}}}}}, rule: {}", line, p, rule));
    for (auto const& one : parameters) {
      SCOPED_TRACE(one);
      auto const host = integrate_samples(samples_yaml(one), Backend::cpu);
      auto const device = integrate_samples(samples_yaml(one), Backend::cuda);
      ASSERT_EQ(host.values.size(), device.values.size());
      for (std::size_t i = 0; i < host.values.size(); ++i)
        EXPECT_NEAR(host.values[i], device.values[i], bound);
      for (std::size_t i = 0; i < host.errors.size(); ++i)
        EXPECT_NEAR(host.errors[i], device.errors[i], 2 * bound);
    }
  }
}

}  // namespace
}  // namespace gridstride::test

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "support/wave_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// The largest difference of two fields, relative to the largest value of the second.
template <class T>
double relative_difference(test::HostField const& a, test::HostField const& b) {
  auto const* first = static_cast<T const*>(a.field.data);
  auto const* second = static_cast<T const*>(b.field.data);
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < a.field.grid.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(second[i])));
    double const one = std::abs(static_cast<double>(first[i]) - static_cast<double>(second[i]));
    if (!(one <= difference)) difference = one;
  }
  return difference / largest;
}

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
    bool const single = host.field().field.precision == Precision::float32;
    EXPECT_LE(single ? relative_difference<float>(device.field(), host.field())
                     : relative_difference<double>(device.field(), host.field()),
              tolerance);
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

#include "core/processors.hpp"
#include "kernels/machine/machine.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "tests/support/machine_cases.hpp"

namespace gridstride::machine {
namespace {

using test::filled;

Stream host() { return Stream(Device::open(Backend::cpu)); }

TEST(MachineRandom, BitsAreThoseOfSplitMix64) {
  // The first numbers of its seed 1234567, from the reference implementation.
  std::uint64_t const expected[] = {6457827717110365317u, 3203168211198807973u,
                                    9817491932198370423u, 4593380528125082431u,
                                    16408922859458223821u};
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(random_bits(1234567, i), expected[i]);
}

TEST(MachineRandom, FloatsAreTheOddMultiples) {
  Stream stream = host();
  auto const values = filled<float>(stream, 1000, 1, {.bits = 2});
  std::set<float> const found(values.begin(), values.end());
  EXPECT_EQ(found, (std::set<float>{-0.75f, -0.25f, 0.25f, 0.75f}));
  auto const doubles = filled<double>(stream, 1000, 1, {.bits = 1});
  EXPECT_EQ(std::set<double>(doubles.begin(), doubles.end()), (std::set<double>{-0.5, 0.5}));
}

TEST(MachineRandom, FloatsFillTheirRangeAroundZero) {
  Stream stream = host();
  constexpr std::int64_t size = 1'000'003;
  for (int const bits : {7, 24}) {
    auto const values = filled<float>(stream, size, 3, {.bits = bits});
    double sum = 0;
    for (float const value : values) sum += value;
    // The standard deviation of the mean is 1/sqrt(3n).
    EXPECT_LT(std::abs(sum / size), 6 / std::sqrt(3.0 * size)) << bits;
    auto const [least, greatest] = std::ranges::minmax(values);
    EXPECT_GT(least, -1);
    EXPECT_LT(greatest, 1);
    EXPECT_LT(least, -0.9);
    EXPECT_GT(greatest, 0.9);
    double const steps = std::ldexp(1.0, bits);
    EXPECT_TRUE(std::ranges::all_of(values, [&](float value) {
      return std::fmod(value * steps, 2) != 0 && std::floor(value * steps) == value * steps;
    })) << bits;
  }
}

TEST(MachineRandom, IntegersAreAllDifferent) {
  Stream stream = host();
  auto values = filled<std::int32_t>(stream, 1'000'003, 9);
  EXPECT_LT(*std::ranges::min_element(values), -2'000'000'000);
  EXPECT_GT(*std::ranges::max_element(values), 2'000'000'000);
  std::ranges::sort(values);
  EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
  auto longs = filled<std::int64_t>(stream, 1'000'003, 9);
  std::ranges::sort(longs);
  EXPECT_EQ(std::ranges::adjacent_find(longs), longs.end());
}

TEST(MachineRandom, BoundsAndZeros) {
  Stream stream = host();
  constexpr std::int64_t size = 1'000'003;
  Distribution below;
  below.below = 7;
  auto const places = filled<std::int64_t>(stream, size, 5, below);
  EXPECT_EQ(std::set<std::int64_t>(places.begin(), places.end()),
            (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  auto const of_both_signs = filled<float>(stream, size, 5);
  auto const positive = filled<float>(stream, size, 5, {.positive = true});
  for (std::size_t i = 0; i < positive.size(); ++i)
    ASSERT_EQ(positive[i], std::abs(of_both_signs[i])) << i;
  auto const bytes = filled<std::uint8_t>(stream, size, 5, {.zeros = 0.9});
  // 0 is drawn with probability 0.9 + 0.1/256.
  double const expected = 0.9 + 0.1 / 256;
  double const share = static_cast<double>(std::ranges::count(bytes, 0)) / size;
  EXPECT_NEAR(share, expected, 6 * std::sqrt(expected * (1 - expected) / size));
  EXPECT_EQ(std::set<std::uint8_t>(bytes.begin(), bytes.end()).size(), 256u);
}

TEST(MachineRandom, ValuesDependOnSeedAndPlaceAlone) {
  Stream stream = host();
  int const threads = host_threads();
  set_host_threads(1);
  auto const alone = filled<double>(stream, 100'003, 11);
  set_host_threads(3);
  auto const shared = filled<double>(stream, 100'003, 11);
  set_host_threads(threads);
  EXPECT_EQ(alone, shared);
  auto const fewer = filled<double>(stream, 1001, 11);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), alone.begin()));
  EXPECT_NE(filled<double>(stream, 1001, 12), fewer);
  EXPECT_TRUE(filled<float>(stream, 0, 1).empty());
}

TEST(MachineRandom, BitsThatATypeHasNotAreRefused) {
  Stream stream = host();
  for (int const bits : {0, 25}) {
    try {
      filled<float>(stream, 3, 1, {.bits = bits});
      FAIL() << bits << " bits were taken";
    } catch (std::invalid_argument const& error) {
      EXPECT_EQ(std::string(error.what()),
                "machine: bits is " + std::to_string(bits) + ", this type has 1 to 24");
    }
  }
  EXPECT_NO_THROW(filled<double>(stream, 3, 1, {.bits = 53}));
}

TEST(MachineHost, MeasuresItsRoofs) {
  Stream stream = host();
  auto const roofs = measure(stream);
  std::vector<std::string_view> names;
  for (auto const& roof : roofs) {
    names.push_back(roof.name);
    // From a slow laptop to a large server.
    EXPECT_GT(roof.rate, 1e8) << roof.name;
    EXPECT_LT(roof.rate, 1e15) << roof.name;
    bool const memory = roof.name == copy_roof || roof.name == read_roof;
    EXPECT_EQ(roof.unit, memory ? "B/s" : "FLOP/s");
    EXPECT_FALSE(roof.how.empty());
  }
  EXPECT_EQ(names, (std::vector{copy_roof, read_roof, float32_roof, float64_roof}));
  EXPECT_GT(cache_bytes(stream.device()), 0u);
  occupy(stream, 1e9);  // returns, for there is no queue
}

TEST(MachineHost, MeasuresItsDetails) {
  Stream stream = host();
  std::vector<std::string_view> names;
  for (auto const& roof : measure_details(stream)) {
    names.push_back(roof.name);
    EXPECT_EQ(roof.unit, "1/s");
    // Between a nanosecond and a tenth of a millisecond.
    EXPECT_GT(roof.rate, 1e4) << roof.name;
    EXPECT_LT(roof.rate, 1e9) << roof.name;
  }
  EXPECT_EQ(names, (std::vector{memory_latency, launch_latency}));
}

}  // namespace
}  // namespace gridstride::machine

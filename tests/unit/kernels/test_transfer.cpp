#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/transfer/transfer.hpp"
#include "support/refusal.hpp"
#include "support/transfer_cases.hpp"

namespace gridstride {
namespace {

using Values = std::vector<double>;

Stream host_stream() { return Stream(Device::open(Backend::cpu)); }

TEST(TransferReference, ByHand) {
  auto stream = host_stream();
  Values const x = {1, -2, 0.5, 0};
  Values y(4);
  transfer::round_trip<double>(stream, 3, 0.25, x, y, "reference");
  EXPECT_EQ(y, (Values{3.25, -5.75, 1.75, 0.25}));
}

TEST(TransferReference, RoundsProductAndSumSeparately) {
  auto stream = host_stream();
  // (1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴ rounds to 1 + 2⁻¹¹ in float32; fused, 2⁻²⁴ would be left.
  float const a = 1 + std::ldexp(1.0F, -12), less = -(1 + std::ldexp(1.0F, -11));
  std::vector<float> const x(9, a);
  for (auto const* variant : {"reference", "threads"}) {
    std::vector<float> y(9, 1);
    transfer::round_trip<float>(stream, a, less, x, y, variant);
    EXPECT_EQ(y, std::vector<float>(9, 0.0F)) << variant;
  }
}

template <class T>
void compare_rows(std::size_t size) {
  auto stream = host_stream();
  for (std::size_t const offset : {0, 1}) {
    auto const expected = test::expected_round_trip<T>(size, offset);
    int compared = 0;
    for (auto const& row : transfer::variants<T>()) {
      if (row.backend != Backend::cpu) continue;
      test::RoundTrip<T> trip(stream, transfer::host_space(Backend::cpu, row.name), size, offset);
      EXPECT_EQ(test::first_difference(expected, trip.run(row.name)), -1)
          << row.name << ", " << size << " elements, offset " << offset;
      ++compared;
    }
    EXPECT_EQ(compared, 2);
  }
}

TEST(TransferHost, RowsEqualTheReference) {
  for (std::size_t const size : {0, 1, 31, 32, 33, 255, 1023, 1025, 16384, 16385, 999983}) {
    compare_rows<float>(size);
    compare_rows<double>(size);
  }
}

TEST(Transfer, RefusesBadArguments) {
  auto stream = host_stream();
  Values all(10);
  std::span<double> const span(all);
  auto const trip = [&](std::span<double const> x, std::span<double> y, std::string_view variant,
                        int pieces) {
    return test::refusal(
        [&] { transfer::round_trip<double>(stream, 1, 0, x, y, variant, pieces); });
  };
  auto const x = span.first(4), y = span.last(4);
  EXPECT_EQ(trip(x, span.last(3), "auto", 4),
            "transfer::round_trip: x has 4 elements and y has 3 (they must agree)");
  EXPECT_EQ(trip(x, x, "auto", 4),
            "transfer::round_trip: x (4 elements) and y (4 elements) overlap");
  EXPECT_EQ(trip(x, span.subspan(3, 4), "auto", 4),
            "transfer::round_trip: x (4 elements) and y (4 elements) overlap");
  EXPECT_EQ(trip(x, y, "auto", 0), "transfer::round_trip: pieces is 0, from 1 to 8 are possible");
  EXPECT_EQ(trip(x, y, "auto", 9), "transfer::round_trip: pieces is 9, from 1 to 8 are possible");
  EXPECT_EQ(trip(x, y, "fastest", 4), "transfer: cpu has no variant 'fastest'");
  EXPECT_EQ(trip({}, {}, "pinned", 4), "transfer: cpu has no variant 'pinned'");
  EXPECT_EQ(trip(x, y, "auto", 1), "nothing");
  EXPECT_EQ(trip(x, y, "auto", 8), "nothing");
}

TEST(Transfer, HostVariantsTakeHostMemory) {
  for (auto const* variant : {"auto", "reference", "threads"})
    EXPECT_EQ(transfer::host_space(Backend::cpu, variant), MemorySpace::host) << variant;
  EXPECT_EQ(test::refusal([] { transfer::host_space(Backend::cpu, "overlapped"); }),
            "transfer: cpu has no variant 'overlapped'");
}

}  // namespace
}  // namespace gridstride

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/scan/scan.hpp"
#include "support/same_bits.hpp"

/// Scans of all kinds of data, run on any device and compared on the host.
namespace gridstride::test {

enum class ScanData { random, whole, constant, rising, falling, cancelling, nan, infinities };

/// What there is for T; the last two only for floating point.
template <class T>
std::vector<ScanData> scan_data_kinds() {
  std::vector<ScanData> kinds = {ScanData::random, ScanData::whole,   ScanData::constant,
                                 ScanData::rising, ScanData::falling, ScanData::cancelling};
  if constexpr (std::is_floating_point_v<T>)
    kinds.insert(kinds.end(), {ScanData::nan, ScanData::infinities});
  return kinds;
}

/// Random integers are from the whole range of T, so that their sums wrap; random floats are from
/// −1 to 1. `whole` has small whole numbers, whose sums are exact in any order.
template <class T>
std::vector<T> scan_data(ScanData kind, std::size_t size) {
  std::mt19937_64 generator(size + 1);
  auto const random = [&] {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(generator());
    else
      return std::uniform_real_distribution<T>(-1, 1)(generator);
  };
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const index = static_cast<T>(i), half = static_cast<T>(size / 2);
    switch (kind) {
      case ScanData::whole:
        values[i] = static_cast<T>(static_cast<int>(generator() % 5) - 2);
        break;
      case ScanData::constant:
        values[i] = std::is_integral_v<T> ? T(7) : T(0.1);
        break;
      case ScanData::rising:
        values[i] = index - half;
        break;
      case ScanData::falling:
        values[i] = half - index;
        break;
      case ScanData::cancelling:
        values[i] = static_cast<T>(i % 2 == 0 ? 1e8 : -1e8) + static_cast<T>(i % 7);
        break;
      default:
        values[i] = random();
    }
  }
  using Limits = std::numeric_limits<T>;
  if (kind == ScanData::nan && size > 0) values[size / 2] = Limits::quiet_NaN();
  if (kind == ScanData::infinities && size > 0) {
    values[size / 3] = Limits::infinity();
    values[size * 2 / 3] = -Limits::infinity();
  }
  return values;
}

/// The four functions of the family.
struct ScanCase {
  scan::Operation operation;
  scan::Kind kind;

  std::string text() const {
    return std::string(kind == scan::Kind::inclusive ? "inclusive" : "exclusive") +
           (operation == scan::Operation::sum ? " sum" : " maximum");
  }
};
inline constexpr std::array<ScanCase, 4> scan_cases = {{
    {scan::Operation::sum, scan::Kind::inclusive},
    {scan::Operation::sum, scan::Kind::exclusive},
    {scan::Operation::maximum, scan::Kind::inclusive},
    {scan::Operation::maximum, scan::Kind::exclusive},
}};

template <class T>
void run_scan(Stream& stream, ScanCase const& one, std::span<T const> input, std::span<T> output,
              std::string_view variant) {
  bool const inclusive = one.kind == scan::Kind::inclusive;
  if (one.operation == scan::Operation::sum)
    return inclusive ? scan::inclusive_sum(stream, input, output, variant)
                     : scan::exclusive_sum(stream, input, output, variant);
  return inclusive ? scan::inclusive_maximum(stream, input, output, variant)
                   : scan::exclusive_maximum(stream, input, output, variant);
}

/// Where the arrays of a scan begin, in elements after an address of the best alignment, and
/// whether the output is the input.
struct ScanPlacement {
  std::size_t input, output;
  bool in_place;
};
inline constexpr std::array<ScanPlacement, 5> scan_placements = {
    {{0, 0, false}, {0, 0, true}, {1, 1, true}, {1, 2, false}, {0, 3, false}}};

/// The scan of `values` in the memory of the stream's device. What lies around the output has to
/// stay as it is.
template <class T>
std::vector<T> scanned(Stream& stream, ScanCase const& one, std::vector<T> const& values,
                       std::string_view variant, ScanPlacement const& placement = {}) {
  constexpr std::size_t beyond = 5;
  std::size_t const size = values.size();
  std::vector<T> before(placement.input + size + beyond, T(77));
  std::copy(values.begin(), values.end(), before.begin() + placement.input);
  Buffer<T> input(stream, MemorySpace::device, before.size());
  copy_async(input.span(), std::span(before), stream);

  std::vector<T> after(placement.output + size + beyond, T(77));
  Buffer<T> apart(stream, MemorySpace::device, after.size());
  copy_async(apart.span(), std::span(after), stream);
  Buffer<T>& output = placement.in_place ? input : apart;
  run_scan<T>(stream, one, input.span().subspan(placement.input, size),
              output.span().subspan(placement.output, size), variant);
  copy_async(std::span(after), output.span(), stream);
  stream.synchronize();

  auto const first = after.begin() + placement.output, last = first + size;
  EXPECT_EQ(std::count(after.begin(), first, T(77)), placement.output) << "written before";
  EXPECT_EQ(std::count(last, after.end(), T(77)), beyond) << "written beyond";
  return {first, last};
}

/// Whether `result` is the scan of `values`, of which `expected` is what the reference made.
///
/// Integers and maxima have to be the same. A sum of k floats, added in whatever order, differs
/// from the exact one by at most (k − 1)·(ε/2)·Σ|x| (C.-P. Jeannerod and S. M. Rump, "Improved
/// error bounds for inner products in floating-point arithmetic", SIAM J. Matrix Anal. Appl. 34
/// (2013)), so that two of them differ by at most (k − 1)·ε·Σ|x|; they are the same where all x are
/// whole numbers and Σ|x| is one that T can count to.
template <class T>
testing::AssertionResult is_scan(ScanCase const& one, std::vector<T> const& values,
                                 std::vector<T> const& expected, std::vector<T> const& result) {
  if (result.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  bool const rounds = std::is_floating_point_v<T> && one.operation == scan::Operation::sum;
  long double const epsilon = std::numeric_limits<T>::epsilon();
  long double const countable = std::ldexp(1.0L, std::numeric_limits<T>::digits);
  long double sum = 0;
  bool whole = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const take_in = [&](std::size_t j) {
      auto const x = static_cast<long double>(values[j]);
      sum += std::fabs(x);
      whole = whole && std::trunc(x) == x;
    };
    std::size_t const terms = one.kind == scan::Kind::inclusive ? i + 1 : i;
    if (terms > 0) take_in(terms - 1);
    auto const want = static_cast<long double>(expected[i]);
    auto const got = static_cast<long double>(result[i]);
    bool good = want == got || (std::isnan(want) && std::isnan(got));
    if (!good && rounds && std::isfinite(want) && !(whole && sum <= countable) && terms > 1)
      good = std::fabs(got - want) <= static_cast<long double>(terms - 1) * epsilon * sum;
    if (!good)
      return testing::AssertionFailure()
             << "at " << i << ": " << result[i] << " in place of " << expected[i];
  }
  return testing::AssertionSuccess();
}

/// Runs every variant of the stream's backend on all data of the size, with the placement of the
/// arrays changing from run to run, and compares it with the reference. Adds to `compared`.
template <class T>
void compare_scans(Stream& stream, std::size_t size, std::vector<ScanData> const& kinds,
                   int& compared) {
  Stream host(Device::open(Backend::cpu));
  std::size_t turn = size;
  for (ScanData const kind : kinds) {
    auto const values = scan_data<T>(kind, size);
    for (auto const& one : scan_cases) {
      auto const expected = scanned(host, one, values, "reference");
      auto const& placement = scan_placements[++turn % scan_placements.size()];
      for (auto const& row : scan::variants<T>()) {
        if (row.backend != stream.backend()) continue;
        auto const result = scanned(stream, one, values, row.name, placement);
        EXPECT_TRUE(is_scan(one, values, expected, result))
            << row.name << ", " << one.text() << " of " << size << ", data "
            << static_cast<int>(kind) << ", arrays at " << placement.input << ", "
            << placement.output << (placement.in_place ? ", in place" : "");
        ++compared;
      }
    }
  }
}

}  // namespace gridstride::test

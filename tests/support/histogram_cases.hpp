#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/histogram/histogram.hpp"
#include "model/histogram_edges.hpp"

/// Data for histograms, and calls of the family on any device.
namespace gridstride::test {

inline constexpr std::int64_t histogram_sizes[] = {0, 1, 31, 32, 33, 255, 1023, 1025};
inline constexpr std::int64_t large_histogram_size = 999983;  // a prime

/// What is counted, into which bins.
template <class T>
struct HistogramCase {
  std::string name;
  std::vector<T> values, weights, edges;
  T lower = 0, upper = 0;
  int bins = 0;
};

/// A whole number of 24 bits times 2^exponent, so that sums of them are exact in both precisions.
template <class T>
T random_weight(std::mt19937_64& generator, int exponent) {
  auto const whole = static_cast<std::int64_t>(generator() % (1 << 24)) - (1 << 23);
  return std::ldexp(static_cast<T>(whole), exponent);
}

enum class HistogramData { random, constant, sorted, special };

template <class T>
std::vector<T> histogram_values(HistogramData data, std::int64_t size, T lower, T upper) {
  std::mt19937_64 generator(7);
  T const width = upper - lower;
  std::uniform_real_distribution<T> uniform(lower - width / 8, upper + width / 8);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T const odd[] = {lower,
                   std::nextafter(lower, -infinity),
                   upper,
                   std::nextafter(upper, lower),
                   infinity,
                   -infinity,
                   std::numeric_limits<T>::quiet_NaN(),
                   0,
                   -T{0},
                   std::numeric_limits<T>::denorm_min(),
                   std::numeric_limits<T>::max()};
  std::vector<T> values(static_cast<std::size_t>(size));
  for (auto& value : values) {
    value = data == HistogramData::constant ? lower + width / 3 : uniform(generator);
    if (data == HistogramData::special && generator() % 2 == 0)
      value = odd[generator() % std::size(odd)];
  }
  if (data == HistogramData::sorted) std::sort(values.begin(), values.end());
  return values;
}

template <class T>
HistogramCase<T> histogram_case(HistogramData data, std::int64_t size, int bins, T lower, T upper) {
  static constexpr char const* names[] = {"random", "constant", "sorted", "special"};
  HistogramCase<T> one;
  one.name = std::string(names[static_cast<int>(data)]) + ", " + std::to_string(size) +
             " values, " + std::to_string(bins) + " bins";
  one.values = histogram_values(data, size, lower, upper);
  one.lower = lower;
  one.upper = upper;
  one.bins = bins;
  // Edges that lie closer and closer, the first and last at infinity now and then.
  for (int b = 0; b <= bins; ++b) {
    double const place = std::sqrt(static_cast<double>(b) / bins);
    one.edges.push_back(static_cast<T>(lower + (upper - lower) * place));
  }
  if (bins % 2 == 0) one.edges.front() = -std::numeric_limits<T>::infinity();
  if (bins % 3 == 0) one.edges.back() = std::numeric_limits<T>::infinity();
  std::mt19937_64 generator(11);
  for (std::size_t i = 0; i < one.values.size(); ++i)
    one.weights.push_back(data == HistogramData::special && i % 97 == 96
                              ? std::numeric_limits<T>::infinity()
                              : random_weight<T>(generator, static_cast<int>(i % 5) * 20 - 60));
  return one;
}

/// Every kind of data with several numbers of bins at this size. Values just below the end of
/// [-1, 1) round up to it when the formula takes their bin.
template <class T>
std::vector<HistogramCase<T>> histogram_cases_of(std::int64_t size) {
  static constexpr int bins[] = {1, 10, 64, 256, 257, histogram::max_bins};
  std::vector<HistogramCase<T>> cases;
  int turn = static_cast<int>(size % 6);
  for (auto const data : {HistogramData::random, HistogramData::constant, HistogramData::sorted,
                          HistogramData::special})
    for (int repeat = 0; repeat < 2; ++repeat, ++turn)
      cases.push_back(turn % 4 == 3 ? histogram_case<T>(data, size, bins[turn % 6], T(0.25), T(1e3))
                                    : histogram_case<T>(data, size, bins[turn % 6], -1, 1));
  return cases;
}

inline std::vector<std::uint8_t> random_bytes(std::int64_t size, unsigned distinct = 256) {
  std::mt19937_64 generator(3);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(generator() % distinct * 37);
  return bytes;
}

/// A copy of `values` in device memory, `offset` elements behind the start of an allocation.
template <class T>
class DeviceCopy {
 public:
  DeviceCopy(Stream& stream, std::vector<T> const& values, std::size_t offset = 0)
      : memory_(stream, MemorySpace::device, values.size() + offset), offset_(offset) {
    copy_async(memory_.span().subspan(offset), std::span(values), stream);
    stream.synchronize();
  }
  std::span<T const> span() const { return memory_.span().subspan(offset_); }

 private:
  Buffer<T> memory_;
  std::size_t offset_;
};

/// What `fill(results)` leaves in `size` elements of device memory, which hold rubbish before.
template <class Result, class Fill>
std::vector<Result> results_of(Stream& stream, std::size_t size, Fill const& fill) {
  std::vector<Result> host(size, static_cast<Result>(-77));
  Buffer<Result> device(stream, MemorySpace::device, size);
  copy_async(device.span(), std::span(host), stream);
  fill(device.span());
  copy_async(std::span(host), device.span(), stream);
  stream.synchronize();
  return host;
}

/// The bits of sums, so that NaN equals NaN.
inline std::vector<std::uint64_t> bits_of(std::vector<double> const& values) {
  std::vector<std::uint64_t> bits;
  for (double const value : values)
    bits.push_back(std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// A case's arrays on a device, and its four histograms.
template <class T>
class HistogramProblem {
 public:
  HistogramProblem(Stream& stream, HistogramCase<T> const& one, std::size_t offset = 0)
      : stream_(stream),
        lower_(one.lower),
        upper_(one.upper),
        bins_(static_cast<std::size_t>(one.bins)),
        values_(stream, one.values, offset),
        weights_(stream, one.weights, offset),
        edges_(stream, one.edges) {}

  std::vector<std::int64_t> count_even(std::string_view variant) {
    return results_of<std::int64_t>(stream_, bins_, [&](auto counts) {
      histogram::count_even(stream_, values_.span(), lower_, upper_, counts, variant);
    });
  }
  std::vector<std::int64_t> count_edges(std::string_view variant) {
    return results_of<std::int64_t>(stream_, bins_, [&](auto counts) {
      histogram::count_edges(stream_, values_.span(), edges_.span(), counts, variant);
    });
  }
  std::vector<std::uint64_t> weigh_even(std::string_view variant) {
    return bits_of(results_of<double>(stream_, bins_, [&](auto sums) {
      histogram::weigh_even(stream_, values_.span(), weights_.span(), lower_, upper_, sums,
                            variant);
    }));
  }
  std::vector<std::uint64_t> weigh_edges(std::string_view variant) {
    return bits_of(results_of<double>(stream_, bins_, [&](auto sums) {
      histogram::weigh_edges(stream_, values_.span(), weights_.span(), edges_.span(), sums,
                             variant);
    }));
  }

 private:
  Stream stream_;
  T lower_, upper_;
  std::size_t bins_;
  DeviceCopy<T> values_, weights_, edges_;
};

/// Even edges give the counts of any edges, on values on edges, beside them and between them, where
/// a multiplication tells the bin and where rounding leaves it open.
template <class T>
void expect_even_edges(Stream& stream, std::string_view variant) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T largest = std::numeric_limits<T>::max();
  struct Range {
    T first, last;
    int bins;
  };
  for (auto const& [first, last, bins] :
       {Range{-1, 1, 64}, Range{T(0.1), 1000, 257}, Range{1000, T(1000.01), 40},
        Range{T(-1e-3), 7, histogram::max_bins}, Range{-largest / 4, largest / 4, 3},
        Range{3, 4, 1}}) {
    auto const edges = histogram_edges<T>(first, last, bins);
    ASSERT_TRUE(rise(edges));
    std::vector<T> values = {infinity, -infinity, std::numeric_limits<T>::quiet_NaN(), 0};
    for (T const edge : edges)
      values.insert(values.end(),
                    {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)});
    std::mt19937_64 generator(13);
    std::uniform_real_distribution<T> uniform(0, 1);
    for (int i = 0; i < 20000; ++i)
      values.push_back(first + uniform(generator) * (last / 2 - first / 2) * 2);
    DeviceCopy<T> const input(stream, values), on_device(stream, edges);
    auto const size = static_cast<std::size_t>(bins);
    EXPECT_EQ(results_of<std::int64_t>(stream, size,
                                       [&](auto counts) {
                                         histogram::count_even_edges<T>(stream, input.span(),
                                                                        on_device.span(), first,
                                                                        last, counts, variant);
                                       }),
              results_of<std::int64_t>(stream, size,
                                       [&](auto counts) {
                                         histogram::count_edges<T>(stream, input.span(),
                                                                   on_device.span(), counts,
                                                                   variant);
                                       }))
        << variant << ": " << bins << " bins from " << first << " to " << last;
  }
}

/// Stretches of numbers hold what they are said to, on all kinds of bits.
template <class T>
void expect_numbers(Stream& stream, std::string_view variant) {
  using Signed = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  auto const number_of = [](T value) -> std::int64_t {
    auto const magnitude = std::bit_cast<Signed>(std::abs(value));
    return value < 0 ? -std::int64_t{magnitude} : std::int64_t{magnitude};
  };
  std::mt19937_64 generator(17);
  std::vector<T> values = {0, -T{0}, std::numeric_limits<T>::quiet_NaN(),
                           -std::numeric_limits<T>::quiet_NaN()};
  for (int i = 0; i < 30000; ++i) {
    values.push_back(std::bit_cast<T>(static_cast<Signed>(generator())));
    values.push_back(static_cast<T>(static_cast<int>(generator() % 41) - 20) *
                     std::numeric_limits<T>::denorm_min());
    values.push_back(T(1) + static_cast<T>(generator() % 5000) * std::numeric_limits<T>::epsilon());
  }
  std::int64_t const one = number_of(1);
  int const whole = sizeof(T) == 4 ? 19 : 51;
  std::int64_t const most = number_of(std::numeric_limits<T>::max());
  for (std::vector<histogram::NumberRange> const& ranges :
       {std::vector<histogram::NumberRange>{{-most, (2 * (most >> whole)), whole}},
        {{-7, 11, 0}},
        {{-one - 4000, 500, 3}, {-3, 2, 1}, {one, 300, 4}, {one + 4800, 7, 0}}}) {
    std::int64_t bins = 0;
    for (auto const& range : ranges) bins += range.count;
    std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
    for (T const value : values) {
      if (std::isnan(value)) continue;
      std::int64_t bin = 0;
      for (auto const& [low, count, log2] : ranges) {
        auto const from =
            static_cast<std::uint64_t>(number_of(value)) - static_cast<std::uint64_t>(low);
        if (number_of(value) >= low && from >> log2 < static_cast<std::uint64_t>(count))
          ++expected[static_cast<std::size_t>(bin) + static_cast<std::size_t>(from >> log2)];
        bin += count;
      }
    }
    DeviceCopy<T> const input(stream, values, 1);
    auto const counted = results_of<std::int64_t>(stream, expected.size(), [&](auto counts) {
      histogram::count_numbers<T>(stream, input.span(), ranges, counts, variant);
    });
    EXPECT_EQ(counted, expected) << variant << ", " << ranges.size() << " ranges";
  }
}

inline std::vector<std::int64_t> count_bytes(Stream& stream, std::vector<std::uint8_t> const& bytes,
                                             std::string_view variant, std::size_t offset = 0) {
  DeviceCopy<std::uint8_t> const input(stream, bytes, offset);
  return results_of<std::int64_t>(stream, 256, [&](auto counts) {
    histogram::count_bytes(stream, input.span(), counts, variant);
  });
}

}  // namespace gridstride::test

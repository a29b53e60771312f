#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/reduce/reduce.hpp"

/// Arrays to reduce, on any device, and what two rows may differ by.
namespace gridstride::test {

/// Everything that the family finds out about two arrays; all but `dot` about the first.
template <class T>
struct Reduced {
  reduce::Sum<T> sum, dot;
  T minimum, maximum;
  double mean, variance, l2_norm;
  reduce::Moments<T> moments;
};

enum class ReduceData {
  random,      // integers over their whole range, so that sums wrap
  constant,    //
  rising,      // the extremes are the ends
  falling,     //
  small,       // small integers: sums up to 2^20 elements are exact, in float32 too
  cancelling,  // large values that cancel and small ones that are left
};

struct ReduceCase {
  std::size_t size;
  ReduceData data;
  std::size_t x_offset, y_offset;  // elements before the first: unaligned when odd

  std::string text() const {
    static constexpr char const* names[] = {"random",  "constant", "rising",
                                            "falling", "small",    "cancelling"};
    return std::to_string(size) + " " + names[static_cast<int>(data)] + " values from elements " +
           std::to_string(x_offset) + " and " + std::to_string(y_offset);
  }
};

/// Two kinds of data for every size, and places in memory that are aligned, unaligned alike, and
/// each unaligned in its own way.
inline std::vector<ReduceCase> reduce_cases(std::vector<std::size_t> const& sizes) {
  static constexpr std::size_t offsets[][2] = {{0, 0}, {1, 1}, {1, 0}, {3, 2}, {0, 1}};
  std::vector<ReduceCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s)
    for (std::size_t k = 0; k < 2; ++k) {
      auto const& [x, y] = offsets[(s + 2 * k) % 5];
      cases.push_back({sizes[s], static_cast<ReduceData>((2 * s + k) % 6), x, y});
    }
  return cases;
}

inline std::vector<ReduceCase> small_reduce_cases() {
  return reduce_cases({0,   1,   2,   3,    31,   32,   33,   63,   64,   65,
                       255, 256, 257, 1023, 1025, 2047, 4097, 5003, 7919, 20011});
}

/// All kinds of data, with several elements a thread and several passes over partial results.
inline std::vector<ReduceCase> large_reduce_cases() {
  std::vector<ReduceCase> cases;
  for (std::size_t k = 0; k < 6; ++k)
    cases.push_back({999983, static_cast<ReduceData>(k), k % 2, k % 3});
  return cases;
}

template <class T>
std::vector<T> reduce_values(std::size_t size, ReduceData data, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const place = static_cast<std::int64_t>(data == ReduceData::falling ? size - i : i);
    switch (data) {
      case ReduceData::random:
        if constexpr (std::is_integral_v<T>)
          values[i] = static_cast<T>(generator());
        else
          values[i] = std::uniform_real_distribution<T>(-1, 1)(generator);
        break;
      case ReduceData::constant:
        values[i] = static_cast<T>(0.7 + 2 * seed);
        break;
      case ReduceData::rising:
      case ReduceData::falling:
        values[i] = static_cast<T>(1.25 * static_cast<double>(place - 300));
        break;
      case ReduceData::small:
        values[i] = static_cast<T>(static_cast<int>(generator() % 17) - 8);
        break;
      case ReduceData::cancelling:
        values[i] = i % 3 == 2 ? static_cast<T>(generator() % 5)
                               : static_cast<T>(1 << 30) * static_cast<T>(i % 3 == 0 ? 1 : -1);
        break;
    }
  }
  return values;
}

/// Whether a row finds moments; one that does not throws.
inline bool takes_moments(std::string_view row) { return row != "atomic" && row != "cub"; }

/// Two arrays in the memory of one device.
template <class T>
class ReduceProblem {
 public:
  ReduceProblem(Stream& stream, std::vector<T> const& x, std::vector<T> const& y,
                std::size_t x_offset = 0, std::size_t y_offset = 0)
      : stream_(stream),
        size_(x.size()),
        x_offset_(x_offset),
        y_offset_(y_offset),
        x_(upload(x, x_offset)),
        y_(upload(y, y_offset)) {}

  ReduceProblem(Stream& stream, ReduceCase const& one)
      : ReduceProblem(stream, reduce_values<T>(one.size, one.data, 1),
                      reduce_values<T>(one.size, one.data, 2), one.x_offset, one.y_offset) {}

  std::span<T const> x() const { return x_.span().subspan(x_offset_, size_); }
  std::span<T const> y() const { return y_.span().subspan(y_offset_, size_); }

  Reduced<T> run(std::string_view variant) {
    // Poison, so that a result that is not written is seen.
    std::vector<Reduced<T>> values(1);
    std::memset(static_cast<void*>(values.data()), 0x5a, sizeof(Reduced<T>));
    Buffer<Reduced<T>> results(stream_, MemorySpace::device, 1);
    copy_async(results.span(), std::span(values), stream_);
    queue(results.data(), variant);
    copy_async(std::span(values), results.span(), stream_);
    stream_.synchronize();
    return values[0];
  }

  /// Queues everything that the row takes; `results` is in the device's memory.
  void queue(Reduced<T>* results, std::string_view variant) {
    reduce::sum(stream_, x(), std::span(&results->sum, 1), variant);
    reduce::minimum(stream_, x(), std::span(&results->minimum, 1), variant);
    reduce::maximum(stream_, x(), std::span(&results->maximum, 1), variant);
    reduce::dot(stream_, x(), y(), std::span(&results->dot, 1), variant);
    reduce::mean(stream_, x(), std::span(&results->mean, 1), variant);
    reduce::variance(stream_, x(), std::span(&results->variance, 1), variant);
    reduce::l2_norm(stream_, x(), std::span(&results->l2_norm, 1), variant);
    if (takes_moments(variant))
      reduce::moments(stream_, x(), std::span(&results->moments, 1), variant);
  }

 private:
  /// With values around them that would be seen in every result.
  Buffer<T> upload(std::vector<T> const& values, std::size_t offset) {
    std::vector<T> padded(offset + values.size() + 5);
    for (std::size_t i = 0; i < padded.size(); ++i)
      padded[i] = std::is_integral_v<T> ? (i % 2 == 0 ? std::numeric_limits<T>::max()
                                                      : std::numeric_limits<T>::lowest())
                                        : std::numeric_limits<T>::quiet_NaN();
    std::copy(values.begin(), values.end(), padded.begin() + static_cast<std::ptrdiff_t>(offset));
    Buffer<T> buffer(stream_, MemorySpace::device, padded.size());
    copy_async(buffer.span(), std::span(padded), stream_);
    stream_.synchronize();
    return buffer;
  }

  Stream stream_;
  std::size_t size_, x_offset_, y_offset_;
  Buffer<T> x_, y_;
};

/// Bounds on the difference of two rows. A sum of n terms in any order has an error of at most
/// n·u·Σ|term| with u half of ε, and so has the one that it is compared with; rounding each term
/// costs one operation more, and a subtraction before it another.
template <class T>
struct ReduceBounds {
  double sum = 0, dot = 0, mean = 0, variance = 0, squares = 0, l2_norm = 0;

  /// `row` sums float32 in float32 when it is CUB's. Small integers are summed without error.
  ReduceBounds(std::span<T const> x, std::span<T const> y, ReduceData data, std::string_view row,
               Reduced<T> const& expected) {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    bool const narrow = row == "cub" && std::is_same_v<T, float>;
    double const sum_epsilon = narrow ? std::numeric_limits<float>::epsilon() : epsilon;
    double const n = static_cast<double>(x.size());
    double magnitude = 0, products = 0, squared = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
      magnitude += std::abs(a);
      products += std::abs(a * b);
      squared += a * a;
    }
    // A mean m that is off by d adds n·d² to Σ(x - m)².
    double const off = sum_epsilon * magnitude + epsilon * std::abs(expected.mean);
    variance = (n + 4) * epsilon * (expected.variance + off * off) + 2 * off * off;
    if (data == ReduceData::small) return;
    squares = (n + 2) * epsilon * squared;
    l2_norm = (n + 4) * epsilon * expected.l2_norm;
    if (std::is_integral_v<T>) return;
    sum = n * sum_epsilon * magnitude;
    mean = off;
    dot = (n + 2) * epsilon * products;
  }
};

template <class S>
void expect_close(S expected, S found, double bound, std::string_view what,
                  std::string const& where) {
  if (expected == found || (expected != expected && found != found)) return;
  double const difference = std::abs(static_cast<double>(expected) - static_cast<double>(found));
  if (std::is_integral_v<S> || !(difference <= bound))
    ADD_FAILURE() << what << " of " << where << ": " << found << " instead of " << expected
                  << ", which differs by more than " << bound;
}

template <class T>
void expect_agree(Reduced<T> const& expected, Reduced<T> const& found, ReduceBounds<T> const& bound,
                  std::string_view row, std::string const& text) {
  std::string const where = std::string(row) + " on " + text;
  expect_close(expected.sum, found.sum, bound.sum, "sum", where);
  expect_close(expected.minimum, found.minimum, 0, "minimum", where);
  expect_close(expected.maximum, found.maximum, 0, "maximum", where);
  expect_close(expected.dot, found.dot, bound.dot, "dot", where);
  expect_close(expected.mean, found.mean, bound.mean, "mean", where);
  expect_close(expected.variance, found.variance, bound.variance, "variance", where);
  expect_close(expected.l2_norm, found.l2_norm, bound.l2_norm, "l2_norm", where);
  if (!takes_moments(row)) return;
  auto const &a = expected.moments, &b = found.moments;
  expect_close(a.minimum, b.minimum, 0, "minimum in moments", where);
  expect_close(a.maximum, b.maximum, 0, "maximum in moments", where);
  expect_close(a.sum, b.sum, bound.sum, "sum in moments", where);
  expect_close(a.sum_of_squares, b.sum_of_squares, bound.squares, "squares in moments", where);
  EXPECT_EQ(a.first_non_finite, b.first_non_finite) << where;
}

/// Every row of a backend against the host's reference; how many runs were compared.
template <class T>
int compare_reduce_rows(Backend backend, std::vector<ReduceCase> const& cases) {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(backend));
  int compared = 0;
  for (auto const& one : cases) {
    ReduceProblem<T> reference(host, one);
    ReduceProblem<T> problem(device, one);
    auto const expected = reference.run("reference");
    for (auto const& row : reduce::variants<T>()) {
      if (row.backend != backend || row.name == "reference") continue;
      ReduceBounds<T> const bounds(reference.x(), reference.y(), one.data, row.name, expected);
      expect_agree(expected, problem.run(row.name), bounds, row.name, one.text());
      ++compared;
    }
  }
  return compared;
}

/// The same for arrays with one element, or two, that are not finite.
template <class T>
int compare_reduce_rows_of_non_finite(Backend backend) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(backend));
  int compared = 0;
  for (std::size_t const size : {1, 33, 1025, 20011})
    for (std::size_t const place : {std::size_t{0}, size / 2, size - 1})
      for (T const first : {nan, infinity, -infinity})
        for (T const last : {T{1}, nan, infinity, -infinity}) {
          auto x = reduce_values<T>(size, ReduceData::small, 1);
          auto const y = reduce_values<T>(size, ReduceData::small, 2);
          x.back() = last;
          x[place] = first;
          auto const expected = ReduceProblem<T>(host, x, y).run("reference");
          std::string const text = std::to_string(size) + " values with " + std::to_string(first) +
                                   " at " + std::to_string(place) + ", last " +
                                   std::to_string(last);
          ReduceProblem<T> problem(device, x, y);
          for (auto const& row : reduce::variants<T>()) {
            if (row.backend != backend || row.name == "reference") continue;
            ReduceBounds<T> const bounds(x, y, ReduceData::small, row.name, expected);
            expect_agree(expected, problem.run(row.name), bounds, row.name, text);
            ++compared;
          }
        }
  return compared;
}

/// Numbers that are the same, or both none.
template <class S>
bool is_same(S a, S b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <class T>
void expect_same(reduce::Moments<T> const& a, reduce::Moments<T> const& b,
                 std::string const& where) {
  EXPECT_TRUE(is_same(a.minimum, b.minimum)) << where;
  EXPECT_TRUE(is_same(a.maximum, b.maximum)) << where;
  EXPECT_TRUE(is_same(a.sum, b.sum)) << where;
  EXPECT_TRUE(is_same(a.sum_of_squares, b.sum_of_squares)) << where;
  EXPECT_EQ(a.first_non_finite, b.first_non_finite) << where;
}

/// Sizes about those of pieces and blocks.
inline std::vector<std::size_t> block_sizes() {
  return {0, 1, 31, 33, 511, 512, 8191, 8193, 65535, 65536, 65537, 73729, 196613, 524289};
}

/// Values of any size and both signs, zeros, and, where wanted, some that are not finite.
template <class T>
std::vector<T> values_of_any_size(std::size_t size, bool finite, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> values(size);
  for (T& value : values) {
    auto const sign = static_cast<T>(generator() % 2 == 0 ? 1 : -1);
    auto const digits = std::uniform_real_distribution<T>(0, 1)(generator);
    value = sign * std::ldexp(digits, static_cast<int>(generator() % 60) - 30);
    if (generator() % 9 == 0) value = sign * 0;
  }
  if (!finite && size > 40) {
    values[size / 2] = std::numeric_limits<T>::infinity();
    values[size - 3] = std::numeric_limits<T>::quiet_NaN();
  }
  return values;
}

/// The moments of blocks of values on a device, whose first one has the index `first`; of several arrays those of
/// lengths.
template <class T>
std::vector<reduce::Moments<T>> found_blocks(Backend backend,
                                             std::vector<std::vector<T>> const& arrays,
                                             std::int64_t first) {
  Stream stream(Device::open(backend));
  std::vector<Buffer<T>> memory;
  std::vector<std::span<T const>> components;
  for (auto const& array : arrays) {
    memory.emplace_back(stream, MemorySpace::device, array.size());
    copy_async(memory.back().span(), std::span<T const>(array), stream);
    components.push_back(memory.back().span());
  }
  std::vector<reduce::Moments<T>> blocks((arrays[0].size() + reduce::host_block - 1) /
                                         reduce::host_block);
  Buffer<reduce::Moments<T>> found(stream, MemorySpace::device, blocks.size());
  if (arrays.size() == 1)
    reduce::block_moments(stream, components[0], first, found.span());
  else
    reduce::block_moments(stream, std::span<std::span<T const> const>(components), first,
                          found.span());
  copy_async(std::span(blocks), std::as_const(found).span(), stream);
  stream.synchronize();
  return blocks;
}

/// Minima and maxima beside a NaN are what they are until blocks are put together, when they become NaN.
template <class T>
void expect_same_blocks(std::span<reduce::Moments<T> const> found,
                        std::span<reduce::Moments<T> const> expected, std::string const& where) {
  ASSERT_EQ(found.size(), expected.size()) << where;
  for (std::size_t b = 0; b < found.size(); ++b)
    expect_same(reduce::combined_moments<T>(found.subspan(b, 1)),
                reduce::combined_moments<T>(expected.subspan(b, 1)), where);
}

/// Blocks of an array, and of any part of it that begins with a block, are those of the host.
template <class T>
void expect_blocks_of_parts(Backend backend) {
  for (std::size_t const size : block_sizes())
    for (bool const finite : {true, false}) {
      auto const values = values_of_any_size<T>(size, finite, 5);
      std::size_t const blocks = (size + reduce::host_block - 1) / reduce::host_block;
      std::vector<reduce::Moments<T>> expected(blocks);
      reduce::block_moments<T>(values, 0, expected);
      for (std::size_t first = 0; first < blocks; ++first) {
        auto const begin = static_cast<std::ptrdiff_t>(first * reduce::host_block);
        auto const found =
            found_blocks<T>(backend, {{values.begin() + begin, values.end()}}, begin);
        expect_same_blocks<T>(found, std::span(expected).subspan(first),
                              std::to_string(size) + " values from block " + std::to_string(first));
      }
    }
}

/// And those of lengths are those of an array that has them.
template <class T>
void expect_blocks_of_lengths(Backend backend) {
  Stream host(Device::open(Backend::cpu));
  for (std::size_t const size : {1, 8193, 65537, 140001})
    for (std::size_t const count : {2, 3, 4, 24}) {
      std::vector<std::vector<T>> arrays;
      for (std::size_t c = 0; c < count; ++c)
        arrays.push_back(
            values_of_any_size<T>(size, c + 1 < count || size < 9000, static_cast<unsigned>(c)));
      std::vector<T> lengths(size);
      for (std::size_t i = 0; i < size; ++i) {
        std::vector<T> vector;
        for (auto const& array : arrays) vector.push_back(array[i]);
        elementwise::magnitude<T>(host, vector, static_cast<int>(count),
                                  std::span(lengths).subspan(i, 1));
      }
      auto const found = found_blocks<T>(backend, arrays, reduce::host_block);
      auto const expected = found_blocks<T>(Backend::cpu, {lengths}, reduce::host_block);
      expect_same_blocks<T>(found, expected,
                            std::to_string(size) + " vectors of " + std::to_string(count));
    }
}

/// Runs every row of a backend 100 times, but `atomic`, which does not promise the same bits.
template <class T>
void expect_same_bits(Backend backend, std::size_t size) {
  Stream device(Device::open(backend));
  ReduceProblem<T> problem(device, {size, ReduceData::random, 1, 2});
  for (auto const& row : reduce::variants<T>()) {
    if (row.backend != backend || row.name == "atomic") continue;
    auto const first = problem.run(row.name);
    for (int repeat = 1; repeat < 100; ++repeat) {
      auto const again = problem.run(row.name);
      ASSERT_EQ(std::memcmp(&first, &again, sizeof first), 0) << row.name << " of " << size;
    }
  }
}

}  // namespace gridstride::test

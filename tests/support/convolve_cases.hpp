#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convolve/convolve.hpp"
#include "support/vendor_rows.hpp"

/// Filters of all kinds, run on any device and compared on the host.
namespace gridstride::test {

inline constexpr std::array<convolve::Boundary, 5> convolve_boundaries = {
    convolve::Boundary::reflect, convolve::Boundary::mirror, convolve::Boundary::nearest,
    convolve::Boundary::wrap, convolve::Boundary::constant};

struct ConvolveCase {
  convolve::Shape shape;
  std::int64_t taps, center;
  convolve::Boundary boundary;
  double value = 0.375;  ///< beyond the ends where the boundary is constant

  std::string text() const {
    auto const [nx, ny, nz] = shape.points;
    return std::to_string(taps) + " taps about " + std::to_string(center) + " along axis " +
           std::to_string(shape.axis) + " of " + std::to_string(nx) + " x " + std::to_string(ny) +
           " x " + std::to_string(nz) + ", " +
           std::string(convolve::boundary_names[static_cast<std::size_t>(boundary)]);
  }
};

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(distribution(generator)));
  return values;
}

/// Where the arrays begin, in elements after an address of the best alignment.
struct ConvolvePlacement {
  std::size_t in, out;
};
inline constexpr std::array<ConvolvePlacement, 4> convolve_placements = {
    {{0, 0}, {1, 1}, {0, 1}, {0, 0}}};

/// `values` filtered in the memory of the stream's device. What lies around the output has to stay
/// as it is.
template <class T>
std::vector<T> convolved(Stream& stream, ConvolveCase const& one, std::vector<double> const& taps,
                         std::vector<T> const& values, std::string_view variant,
                         ConvolvePlacement const& placement = {0, 0}) {
  constexpr std::size_t beyond = 5;
  std::size_t const size = values.size();
  Buffer<T> in(stream, MemorySpace::device, placement.in + size);
  copy_async(in.span().subspan(placement.in), std::span<T const>(values), stream);
  std::vector<T> after(placement.out + size + beyond, T(77));
  Buffer<T> out(stream, MemorySpace::device, after.size());
  copy_async(out.span(), std::span<T const>(after), stream);

  convolve::Filter<T> const filter(stream, taps, one.center);
  convolve::convolve<T>(stream, filter, one.shape, one.boundary,
                        in.span().subspan(placement.in, size),
                        out.span().subspan(placement.out, size), one.value, variant);
  copy_async(std::span(after), std::span<T const>(out.span()), stream);
  stream.synchronize();

  auto const first = after.begin() + static_cast<std::ptrdiff_t>(placement.out);
  auto const last = first + static_cast<std::ptrdiff_t>(size);
  EXPECT_EQ(std::count(after.begin(), first, T(77)), placement.out) << "written before";
  EXPECT_EQ(std::count(last, after.end(), T(77)), beyond) << "written beyond";
  return {first, last};
}

/// Whether the row transforms blocks of the signal, so that an error spreads over a block.
inline bool transforms(std::string_view variant) {
  return variant == "fft" || variant == "overlap_save" || variant == "cufft";
}

/// Whether a row is there to be tested: a row for one type has no function for the other, and
/// those that transform on a GPU need cuFFT, if only for very long filters.
template <class T>
bool can_run(Variant<convolve::Function<T>> const& row, Backend backend) {
  bool const needs_library = backend == Backend::cuda && transforms(row.name);
  return row.backend == backend && row.run != nullptr &&
         (!needs_library || has_library_of("cufft"));
}

/// How far outputs may be from the reference's, each for itself.
///
/// In any order and with any fusing, a sum of k products rounds by at most k·(ε/2)/(1 − k·ε/2) of
/// Σ|taps||in| (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 3.1), which
/// k·ε covers; the reference sums in float64 and rounds once to T. A row with transforms has what
/// docs/kernels/convolve.md derives for a block of N < 4·(length + taps) points:
/// 10·ε·log2 N·‖taps‖₂·√(2·(length + taps))·max|in|.
template <class T>
std::vector<double> convolve_bounds(ConvolveCase const& one, std::vector<double> const& taps,
                                    std::vector<T> const& values, std::string_view variant) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  auto magnitudes = values;
  double largest = std::fabs(one.value);
  for (auto& value : magnitudes) {
    value = std::fabs(value);
    largest = std::max<double>(largest, value);
  }
  if (transforms(variant)) {
    double squares = 0;
    for (double const tap : taps) squares += tap * tap;
    auto const points = static_cast<double>(one.shape.length() + one.taps);
    double const bound =
        10 * epsilon * std::log2(4 * points) * std::sqrt(squares * 2 * points) * largest;
    return std::vector<double>(values.size(), bound);
  }
  auto sizes = taps;
  for (auto& tap : sizes) tap = std::fabs(tap);
  auto absolute = one;
  absolute.value = std::fabs(one.value);
  Stream host(Device::open(Backend::cpu));
  std::vector<double> bounds;
  for (T const magnitude : convolved(host, absolute, sizes, magnitudes, "reference"))
    bounds.push_back((static_cast<double>(one.taps) + 1) * epsilon * magnitude);
  return bounds;
}

template <class T>
testing::AssertionResult is_within(std::vector<double> const& bounds,
                                   std::vector<T> const& expected, std::vector<T> const& result) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const error = std::fabs(static_cast<double>(result[i]) - expected[i]);
    if (!(error <= bounds[i]))
      return testing::AssertionFailure()
             << "at " << i << ": " << result[i] << " in place of " << expected[i] << ", off by "
             << error << ", " << bounds[i] << " is allowed";
  }
  return testing::AssertionSuccess();
}

/// Whether a row takes a case's filter on a device.
template <class T>
bool takes(Device const& device, ConvolveCase const& one, std::string_view variant) {
  try {
    convolve::row_for<T>(device, one.taps, one.shape, variant);
    return true;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

/// Runs every variant of the stream's backend on random data, with the placement of the arrays
/// changing from case to case, and compares it with the reference. Adds to `compared`.
template <class T>
void compare_filters(Stream& stream, ConvolveCase const& one, int& compared) {
  Stream host(Device::open(Backend::cpu));
  auto const seed = static_cast<std::uint64_t>(compared) + 1;
  auto const taps = random_values<double>(one.taps, seed);
  auto const values = random_values<T>(one.shape.size(), seed + 1);
  auto const expected = convolved(host, one, taps, values, "reference");
  auto const direct = convolve_bounds(one, taps, values, "direct");
  auto const transformed = convolve_bounds(one, taps, values, "fft");
  auto const& placement = convolve_placements[seed / 2 % convolve_placements.size()];
  for (auto const& row : convolve::variants<T>()) {
    if (row.name == "reference" || !can_run(row, stream.backend())) continue;
    if (!takes<T>(stream.device(), one, row.name)) {
      EXPECT_EQ(row.name, "fft") << one.text();  // its blocks end at some number of taps
      EXPECT_THROW(convolved(stream, one, taps, values, row.name, placement), std::invalid_argument)
          << one.text();
      continue;
    }
    auto const result = convolved(stream, one, taps, values, row.name, placement);
    EXPECT_TRUE(is_within(transforms(row.name) ? transformed : direct, expected, result))
        << row.name << ", " << one.text() << ", arrays at " << placement.in << ", "
        << placement.out;
    ++compared;
  }
}

inline constexpr std::array<std::int64_t, 9> convolve_taps = {1, 2, 3, 4, 9, 31, 64, 255, 1000};

/// Every number of taps, centers at both ends and within, along every axis of a few points, each
/// boundary in turn.
template <class T>
void compare_small_filters(Stream& stream, int& compared) {
  std::size_t turn = 0;
  auto const compare = [&](convolve::Shape const& shape, std::int64_t taps, std::int64_t center) {
    compare_filters<T>(stream, {shape, taps, center, convolve_boundaries[turn++ % 5]}, compared);
  };
  for (std::int64_t const taps : convolve_taps)
    for (std::int64_t const center : {std::int64_t{0}, taps / 2, taps - 1}) {
      for (std::int64_t const n : {1, 2, 31, 33}) {
        compare({{n, 1, 1}, 0}, taps, center);
        compare({{n, 3, 2}, 0}, taps, center);
        compare({{5, n, 2}, 1}, taps, center);
        compare({{36, n, 1}, 1}, taps, center);
        compare({{8, 3, n}, 2}, taps, center);
      }
      compare({{1023, 1, 1}, 0}, taps, center);
    }
}

}  // namespace gridstride::test

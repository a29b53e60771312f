#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/spectrum/spectrum.hpp"
#include "support/running_cases.hpp"
#include "support/vendor_rows.hpp"

/// Spectra by Welch's method, made on any device and compared on the host.
namespace gridstride::test {

template <class T>
std::vector<double> densities_of(Stream& stream, std::vector<T> const& signal,
                                 spectrum::Options const& options, std::string_view variant,
                                 std::size_t piece) {
  auto const samples = on_device(stream, signal);
  spectrum::Welch<T> welch(stream, options, variant);
  for_pieces(signal.size(), piece, [&](std::size_t first, std::size_t count) {
    welch.add(stream, samples.span().subspan(first, count));
  });
  Buffer<double> densities(stream, MemorySpace::device, static_cast<std::size_t>(options.bins()));
  welch.finish(stream, densities.span());
  std::vector<double> host(densities.size());
  copy_async(std::span(host), std::as_const(densities).span(), stream);
  stream.synchronize();
  return host;
}

/// The definition, with a sum for each frequency.
template <class T>
std::vector<double> densities_by_definition(std::vector<T> const& signal,
                                            spectrum::Options const& options) {
  auto const n = static_cast<std::size_t>(options.segment);
  auto const window = spectrum::window_values(options.window, options.segment);
  double squares = 0;
  for (double const w : window) squares += w * w;
  std::vector<double> sums(static_cast<std::size_t>(options.bins()));
  std::int64_t const segments = options.segments_of(std::ssize(signal));
  for (std::int64_t s = 0; s < segments; ++s) {
    std::vector<double> x(signal.begin() + s * options.hop(),
                          signal.begin() + s * options.hop() + options.segment);
    double const middle = static_cast<double>(n - 1) / 2;
    double mean = 0, moment = 0, spread = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double const t = static_cast<double>(j) - middle;
      mean += x[j] / static_cast<double>(n), moment += x[j] * t, spread += t * t;
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (options.detrend != spectrum::Detrend::none) x[j] -= mean;
      if (options.detrend == spectrum::Detrend::linear)
        x[j] -= moment / spread * (static_cast<double>(j) - middle);
      x[j] *= window[j];
    }
    for (std::size_t k = 0; k < sums.size(); ++k) {
      double re = 0, im = 0;
      for (std::size_t j = 0; j < n; ++j) {
        double const angle =
            2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
        re += x[j] * std::cos(angle), im -= x[j] * std::sin(angle);
      }
      sums[k] += re * re + im * im;
    }
  }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    bool const alone = k == 0 || 2 * k == n;
    sums[k] *= (alone ? 1 : 2) / (options.sampling_rate * squares * static_cast<double>(segments));
  }
  return sums;
}

/// A transform of n points errs by no more than about 10·ε·log2(n) of the norm of its input (N. J.
/// Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., theorem 24.2); Bluestein's way
/// takes three, of up to 4n points. With δ that error and X a transform, |X|² errs by 2·|X|·δ + δ²,
/// and the mean of |X| is below the root of that of |X|². Means, lines and the window's rounding are
/// part of δ with (|x|'s largest)·ε for each sample.
template <class T>
testing::AssertionResult is_spectrum(std::vector<T> const& signal, spectrum::Options const& options,
                                     std::vector<double> const& expected,
                                     std::vector<double> const& result) {
  if (result.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  double const epsilon = std::numeric_limits<T>::epsilon();
  double squares = 0, greatest = 0;
  for (double const w : spectrum::window_values(options.window, options.segment)) squares += w * w;
  for (T const x : signal) greatest = std::max(greatest, std::abs(static_cast<double>(x)));
  auto const n = static_cast<double>(options.segment);
  double const norm = greatest * std::sqrt(2 * n);  // of two segments
  double const error = 30 * epsilon * std::log2(4 * n) * norm;
  double const factor = 2 / (options.sampling_rate * squares);
  for (std::size_t k = 0; k < result.size(); ++k) {
    double const size = std::sqrt(std::max(expected[k], 0.0) / factor);
    double const bound = factor * (2 * size * error + error * error);
    if (!(std::abs(result[k] - expected[k]) <= bound))
      return testing::AssertionFailure() << "at " << k << ": " << result[k] << " in place of "
                                         << expected[k] << ", beyond " << bound;
  }
  return testing::AssertionSuccess();
}

struct SpectrumCase {
  spectrum::Options options;
  std::int64_t samples;
};

/// Segments of all kinds of lengths; of one segment, an odd number, whole groups and a few more.
inline std::vector<SpectrumCase> spectrum_cases() {
  using enum spectrum::Window;
  using enum spectrum::Detrend;
  return {
      {{2, 1, hann, constant, 1}, 9},
      {{3, 0, hamming, none, 2}, 20},
      {{16, 4, blackman, linear, 1}, 16},
      {{31, 30, hann, linear, 8}, 64},
      {{100, 50, boxcar, none, 1}, 1777},
      {{256, 128, hann, constant, 1}, 6000},
      {{256, 255, blackman, linear, 3}, 700},
      {{512, 256, hann, linear, 10}, 512},
      {{512, 100, boxcar, constant, 1}, 9000},
      {{1000, 500, hann, constant, 1}, 8000},
      {{1024, 512, hamming, linear, 1}, 12345},
      {{2048, 1024, hann, constant, 0.5}, 33000},
      {{4096, 2048, hann, none, 1}, 40000},
      {{4096, 3072, blackman, linear, 1}, 4096 + 16 * 1024},
      {{8192, 4096, hann, constant, 1}, 60000},
  };
}

inline std::string text_of(SpectrumCase const& one) {
  return std::to_string(one.samples) + " samples in segments of " +
         std::to_string(one.options.segment) + ", " + std::to_string(one.options.overlap) +
         " shared";
}

/// Whether a row takes such segments.
inline bool takes(std::string_view row, spectrum::Options const& options) {
  std::int64_t const n = options.segment;
  return row != "fused" || (n >= 256 && n <= 4096 && (n & (n - 1)) == 0);
}

/// Every variant of the backend against the definition, or for long segments against the reference.
template <class T>
void compare_spectra(Stream& stream, int& compared) {
  Stream host(Device::open(Backend::cpu));
  for (auto const& one : spectrum_cases()) {
    auto signal = scan_data<T>(ScanData::random, static_cast<std::size_t>(one.samples));
    for (std::size_t i = 0; i < signal.size(); ++i)
      signal[i] += static_cast<T>(2 + 1e-4 * static_cast<double>(i)) +
                   static_cast<T>(std::sin(0.3 * static_cast<double>(i)));
    auto const expected = one.options.segment <= 512
                              ? densities_by_definition(signal, one.options)
                              : densities_of(host, signal, one.options, "reference", signal.size());
    for (auto const& row : spectrum::variants<T>()) {
      if (row.backend != stream.backend() || !has_library_of(row.name)) continue;
      if (!takes(row.name, one.options)) continue;
      auto const result = densities_of(stream, signal, one.options, row.name, signal.size());
      EXPECT_TRUE(is_spectrum(signal, one.options, expected, result))
          << row.name << ", " << text_of(one);
      ++compared;
    }
  }
}

/// A signal of several groups, cut in all kinds of ways, gives the same bits.
template <class T>
void expect_same_spectra_of_pieces(Stream& stream, std::vector<spectrum::Options> const& all) {
  for (auto const& options : all) {
    auto const signal = scan_data<T>(ScanData::random, 5'000'003);
    for (auto const& row : spectrum::variants<T>()) {
      if (row.backend != stream.backend() || row.name == "reference") continue;
      if (!takes(row.name, options) || !has_library_of(row.name)) continue;
      auto const whole = densities_of(stream, signal, options, row.name, signal.size());
      for (std::size_t const piece : {std::size_t{1} << 21, std::size_t{1'000'001},
                                      std::size_t{3'000'017}, std::size_t{99'991}})
        EXPECT_TRUE(same_bits(densities_of(stream, signal, options, row.name, piece), whole))
            << row.name << ", segments of " << options.segment << " in pieces of " << piece;
    }
  }
}

}  // namespace gridstride::test

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
#include "kernels/adaptive/adaptive.hpp"
#include "support/riemann_cases.hpp"

/// Integrals of one variable, computed to a tolerance on any device.
namespace gridstride::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct LineIntegral {
  std::string formula;
  quadrature::Interval interval;
  double value;
};

/// For Gauss–Kronrod: smooth, peaked, oscillating, with a kink, a jump, a singular derivative and a
/// singularity, and from the upper end to the lower.
inline std::vector<LineIntegral> const& bounded_integrals() {
  using std::numbers::pi;
  static std::vector<LineIntegral> const integrals = {
      {"exp(x)", {0, 1}, std::numbers::e - 1},
      {"exp(x)*sin(x)", {0, 10}, (std::exp(10) * (std::sin(10) - std::cos(10)) + 1) / 2},
      {"1/(1+25*x^2)", {-1, 1}, 2 * std::atan(5) / 5},
      {"exp(-10000*(x-1/3)^2)", {0, 1}, std::sqrt(pi) / 100},
      {"1/((x-0.3)^2+1e-6)", {0, 1}, 1000 * (std::atan(700) + std::atan(300))},
      {"cos(100*x)", {0, 1}, std::sin(100) / 100},
      {"abs(x-1/3)", {0, 1}, 5.0 / 18},
      {"step(x-0.3)", {0, 1}, 0.7},
      {"sqrt(x)", {0, 1}, 2.0 / 3},
      {"log(x)", {0, 1}, -1},
      {"x^(-0.5)", {0, 1}, 2},
      {"cos(x)", {pi / 2, 0}, -1},
      {"7", {-3, 5}, 56},
  };
  return integrals;
}

/// For tanh_sinh: singular at an end, or with infinite ends.
inline std::vector<LineIntegral> const& singular_integrals() {
  using std::numbers::pi;
  static std::vector<LineIntegral> const integrals = {
      {"exp(x)", {0, 1}, std::numbers::e - 1},
      {"sqrt(x)*log(x)", {0, 1}, -4.0 / 9},
      {"x^(-0.5)", {0, 1}, 2},
      {"x^(-0.9)", {0, 1}, 10},
      {"sqrt(1-x^2)", {-1, 1}, pi / 2},
      {"log(x)", {2, 0}, 2 - 2 * std::log(2)},
      {"exp(-x)/sqrt(x)", {0, infinity}, std::sqrt(pi)},
      {"1/x^1.5", {1, infinity}, 2},
      {"exp(2*x)", {-infinity, 0}, 0.5},
      {"exp(-x^2)", {-infinity, infinity}, std::sqrt(pi)},
      {"exp(-x^2)", {infinity, -infinity}, -std::sqrt(pi)},
      {"1/(1+x^2)", {0, infinity}, pi / 2},
  };
  return integrals;
}

/// k from 0 to `last` in equal steps.
inline std::vector<double> parameter_ramp(std::size_t size, double last) {
  std::vector<double> values(size, last);
  for (std::size_t i = 0; i + 1 < size; ++i)
    values[i] = last * static_cast<double>(i) / static_cast<double>(size - 1);
  return values;
}

/// The integrals for all parameters, `rows` of them where the formula has none.
template <class T, class Options>
std::vector<quadrature::Estimate> integrated(Stream& stream, quadrature::Integrand const& integrand,
                                             quadrature::Interval interval,
                                             std::vector<double> const& parameters,
                                             Options const& options,
                                             std::string_view variant = "auto",
                                             std::size_t rows = 1) {
  if (integrand.parameters > 0) rows = parameters.size();
  Buffer<double> given(stream, MemorySpace::device, parameters.size());
  Buffer<quadrature::Estimate> results(stream, MemorySpace::device, rows);
  copy_async(given.span(), std::span(parameters), stream);
  if constexpr (std::is_same_v<Options, quadrature::GaussKronrodOptions>)
    quadrature::gauss_kronrod<T>(stream, integrand, interval, given.span(), options, results.span(),
                                 variant);
  else
    quadrature::tanh_sinh<T>(stream, integrand, interval, given.span(), options, results.span(),
                             variant);
  std::vector<quadrature::Estimate> host(rows);
  copy_async(std::span(host), results.span(), stream);
  stream.synchronize();
  return host;
}

inline bool same_bits(std::vector<quadrature::Estimate> const& a,
                      std::vector<quadrature::Estimate> const& b) {
  return std::ranges::equal(
      a, b, [](auto const& one, auto const& other) { return same_bits(one, other); });
}

/// Whether two devices found the same: the same outcome, and values that differ by no more than
/// both say they are wrong by. Where sums round differently the intervals may differ too.
inline testing::AssertionResult agree(quadrature::Estimate const& a,
                                      quadrature::Estimate const& b) {
  if (a.outcome != b.outcome) return testing::AssertionFailure() << "outcomes differ";
  if (a.outcome == quadrature::Outcome::non_finite) return testing::AssertionSuccess();
  if (std::abs(a.value - b.value) <= a.error + b.error) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << a.value << " ± " << a.error << ", " << b.value << " ± " << b.error;
}

/// The integral is as accurate as asked for, says so, and is not wrong by more than it says. The
/// tolerance is far above what rounding adds to the estimates.
template <class T, class Options>
void expect_integral(Stream& stream, LineIntegral const& integral, Options options,
                     std::string_view variant) {
  SCOPED_TRACE(std::string(integral.formula) + " by " + std::string(variant));
  auto const result = integrated<T>(stream, line_integrand(integral.formula), integral.interval, {},
                                    options, variant)[0];
  double const error = std::abs(result.value - integral.value);
  double const tolerance = options.tolerance.relative * std::abs(result.value);
  EXPECT_EQ(result.outcome, quadrature::Outcome::reached);
  EXPECT_LE(result.error, tolerance);
  EXPECT_LE(error, result.error);
  EXPECT_GT(result.evaluations, 0);
}

}  // namespace gridstride::test

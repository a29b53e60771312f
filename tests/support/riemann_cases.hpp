#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/riemann/riemann.hpp"

/// Integrals of one variable by fixed rules, run on any device and compared on the host.
namespace gridstride::test {

/// A formula of x and of so many of the parameters k and m.
inline quadrature::Integrand line_integrand(std::string_view formula, int parameters = 0) {
  constexpr expression::Variable variables[] = {{"x", 0}, {"k", 1}, {"m", 2}};
  return {expression::Expression::parse(
              formula, {}, std::span(variables).first(static_cast<std::size_t>(1 + parameters))),
          1, parameters};
}

/// Results on the host; `parameters` has a row for each of so many integrals.
template <class T>
std::vector<quadrature::Estimate> integrals(Stream& stream, quadrature::Integrand const& integrand,
                                            quadrature::Interval interval,
                                            quadrature::FixedRule const& rule,
                                            std::string_view variant = "auto",
                                            std::vector<double> const& parameters = {},
                                            std::size_t count = 1) {
  Buffer<double> rows(stream, MemorySpace::device, parameters.size());
  if (!parameters.empty()) copy_async<double>(rows.span(), parameters, stream);
  Buffer<quadrature::Estimate> device(stream, MemorySpace::device, count);
  quadrature::integrate<T>(stream, integrand, interval, rows.span(), rule, device.span(), variant);
  std::vector<quadrature::Estimate> results(count);
  copy_async<quadrature::Estimate>(results, device.span(), stream);
  stream.synchronize();
  return results;
}

template <class T>
quadrature::Estimate integral(Stream& stream, std::string_view formula,
                              quadrature::Interval interval, quadrature::FixedRule const& rule,
                              std::string_view variant = "auto") {
  return integrals<T>(stream, line_integrand(formula), interval, rule, variant)[0];
}

/// Rules of every kind on about as many samples, none less than their least number of panels.
inline std::vector<quadrature::FixedRule> rules_with(std::int64_t samples) {
  using quadrature::Rule;
  auto const panels = [&](std::int64_t of_panel, int unit) {
    return std::max<std::int64_t>(1, samples / of_panel / unit) * unit;
  };
  int const nested = 1 + static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(
                             std::clamp<std::int64_t>(samples, 2, 8192))));
  return {{Rule::left, panels(1, 2)},
          {Rule::right, panels(1, 2)},
          {Rule::midpoint, panels(1, 4)},
          {Rule::trapezoid, panels(1, 2)},
          {Rule::simpson, panels(2, 2)},
          {Rule::boole, panels(4, 2)},
          {Rule::gauss_legendre, panels(3, 2), 2},
          {Rule::gauss_legendre, panels(10, 2), 7},
          {Rule::gauss_legendre, panels(96, 2), 64},
          {Rule::clenshaw_curtis, panels(16, 1), 17},
          {Rule::clenshaw_curtis, 1, nested}};
}

/// A formula whose rounding is bounded: on the interval, ∫|f| and ∫|f′| are not more than this.
struct RoundedCase {
  std::string_view formula;
  quadrature::Interval interval;
  double f, derivative;
};
inline constexpr RoundedCase rounded_cases[] = {
    {"exp(x)*sin(x)", {0, 10}, 1.8e4, 3.6e4},
    {"cos(3*x)/(1+x*x)", {-2, 3}, 5, 20},
    {"sin(20000*x)", {3, 4}, 1, 20000},  // its arguments are on both sides of a fast range's end
};

/// What two ways of adding the same samples may differ by, divided by ε of their precision: each
/// has functions within 4·ε/2 of theirs and as many operations, and coordinates within two
/// roundings of a number of the size of the ends.
inline double rounding_bound(RoundedCase const& one) {
  double const farthest = std::max(std::abs(one.interval.lower), std::abs(one.interval.upper));
  return 8 * one.f + 4 * farthest * one.derivative;
}

/// What a row may lose by adding so many samples, if it adds them plainly: less than n·2^−53 of
/// ∫|f|. The host's rows and the GPU's default keep what additions round away.
inline double summing_bound(Variant<quadrature::RuleFunction> const& row, std::int64_t samples,
                            double f) {
  bool const plain =
      row.backend == Backend::cuda && row.name != quadrature::default_riemann(Backend::cuda);
  return plain ? std::ldexp(static_cast<double>(samples), -53) * f : 0;
}

/// Compares every variant of the stream's backend with the reference, for rules of all kinds and
/// about so many samples. Adds to `compared`.
template <class T>
void compare_rules(Stream& stream, std::int64_t samples, int& compared) {
  Stream host(Device::open(Backend::cpu));
  double const epsilon = std::numeric_limits<T>::epsilon();
  for (auto const& one : rounded_cases)
    for (auto const& rule : rules_with(samples)) {
      auto const expected = integral<T>(host, one.formula, one.interval, rule, "reference");
      for (auto const& row : quadrature::riemann_variants<T>()) {
        if (row.backend != stream.backend()) continue;
        auto const got = integral<T>(stream, one.formula, one.interval, rule, row.name);
        auto const where = [&] {
          return testing::Message() << row.name << ", " << one.formula << ", " << name_of(rule.rule)
                                    << ' ' << rule.points << " on " << rule.panels << " panels";
        };
        double const tolerance =
            epsilon * rounding_bound(one) + summing_bound(row, expected.evaluations, one.f);
        EXPECT_NEAR(got.value, expected.value, tolerance) << where();
        // The estimate is at most twice a difference of two sums, and a part for rounding.
        EXPECT_NEAR(got.error, expected.error, 5 * tolerance) << where();
        EXPECT_EQ(got.evaluations, expected.evaluations) << where();
        EXPECT_EQ(got.outcome, expected.outcome) << where();
        ++compared;
      }
    }
}

inline bool same_bits(quadrature::Estimate const& a, quadrature::Estimate const& b) {
  return std::memcmp(&a.value, &b.value, sizeof a.value) == 0 &&
         std::memcmp(&a.error, &b.error, sizeof a.error) == 0 && a.evaluations == b.evaluations &&
         a.outcome == b.outcome;
}

/// The integral of exp(x)·sin(x) from 0 to 10.
inline double exp_sin_value() {
  long double const ten = 10;
  return static_cast<double>((std::exp(ten) * (std::sin(ten) - std::cos(ten)) + 1) / 2);
}

}  // namespace gridstride::test

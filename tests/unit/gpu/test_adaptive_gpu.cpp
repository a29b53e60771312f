#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <string_view>
#include <vector>

#include "kernels/adaptive/adaptive.hpp"
#include "kernels/adaptive/running.hpp"
#include "kernels/integrand/ranges.hpp"
#include "support/adaptive_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using namespace quadrature;
using test::infinity;
using test::integrated;
using test::line_integrand;

/// The rows for a GPU of a table.
template <class Rows>
std::vector<std::string_view> gpu_rows(Rows const& rows) {
  std::vector<std::string_view> names;
  for (auto const& row : rows)
    if (row.backend == Backend::cuda) names.push_back(row.name);
  return names;
}

bool is_among(std::initializer_list<std::string_view> formulas, std::string_view formula) {
  return std::ranges::find(formulas, formula) != formulas.end();
}

/// A sweep over k on the GPU, twice, against the host's.
template <class T, class Options>
void expect_as_on_host(std::string_view formula, Interval interval, std::vector<double> const& k,
                       Options const& options, std::string_view variant) {
  auto const family = line_integrand(formula, 1);
  Stream host(Device::open(Backend::cpu)), stream(Device::open(Backend::cuda));
  auto const expected = integrated<T>(host, family, interval, k, options);
  auto const found = integrated<T>(stream, family, interval, k, options, variant);
  for (std::size_t i = 0; i < k.size(); ++i)
    EXPECT_TRUE(test::agree(found[i], expected[i]))
        << formula << ", " << variant << ", k = " << k[i] << ", " << i << " of " << k.size();
  EXPECT_TRUE(test::same_bits(found, integrated<T>(stream, family, interval, k, options, variant)))
      << formula << ", " << variant;
}

template <class T>
class AdaptiveGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(AdaptiveGpu, Types);

TYPED_TEST(AdaptiveGpu, IsAsAccurateAsAskedFor) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  bool const single = std::is_same_v<TypeParam, float>;
  // Few of them, since each formula is compiled.
  for (auto const name : gpu_rows(gauss_kronrod_variants<TypeParam>()))
    for (auto const& integral : test::bounded_integrals())
      if (is_among({"exp(x)*sin(x)", "step(x-0.3)", "cos(x)"}, integral.formula))
        test::expect_integral<TypeParam>(
            stream, integral, GaussKronrodOptions{.tolerance = {single ? 1e-3 : 1e-10, 0}}, name);
  for (auto const name : gpu_rows(tanh_sinh_variants<TypeParam>()))
    for (auto const& integral : test::singular_integrals())
      if (is_among({"x^(-0.5)", "exp(-x)/sqrt(x)", "exp(-x^2)"}, integral.formula))
        test::expect_integral<TypeParam>(
            stream, integral, TanhSinhOptions{.tolerance = {single ? 1e-3 : 1e-10, 0}}, name);
}

TYPED_TEST(AdaptiveGpu, SweepsEqualTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  bool const single = std::is_same_v<TypeParam, float>;
  double const tolerance = single ? 1e-4 : 1e-10;
  for (std::size_t const size : {1, 2, 31, 32, 33, 527, 529, 1031}) {
    auto const k = test::parameter_ramp(size, 50);
    for (auto const name : gpu_rows(gauss_kronrod_variants<TypeParam>()))
      for (int const points : {15, 21})
        expect_as_on_host<TypeParam>(
            "cos(k*x)/(1+x^2)", {0, 1}, k,
            GaussKronrodOptions{.points = points, .tolerance = {tolerance, tolerance}}, name);
    for (auto const name : gpu_rows(tanh_sinh_variants<TypeParam>()))
      expect_as_on_host<TypeParam>("cos(k*x)/sqrt(x)", {0, 1}, k,
                                   TanhSinhOptions{.tolerance = {tolerance, tolerance}}, name);
  }
}

TEST(AdaptiveGpuOutcomes, ManyIntervalsOfSomeIntegrals) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // Up to 1000 intervals an integral: the first ones fit on the chip, the last ones do not.
  for (auto const name : gpu_rows(gauss_kronrod_variants<double>()))
    expect_as_on_host<double>("cos(k*x)/(1+x^2)", {0, 1}, test::parameter_ramp(301, 4000),
                              GaussKronrodOptions{.tolerance = {1e-10, 1e-10}}, name);
}

TEST(AdaptiveGpuOutcomes, ManyGenerations) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const name : gpu_rows(gauss_kronrod_variants<double>()))
    expect_as_on_host<double>("x^(-k)", {0, 1}, test::parameter_ramp(33, 0.9),
                              GaussKronrodOptions{.tolerance = {1e-10, 0}}, name);
}

TEST(AdaptiveGpuOutcomes, WhatCannotBeReached) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const name : gpu_rows(gauss_kronrod_variants<double>())) {
    GaussKronrodOptions options;
    options.max_intervals = 40;
    expect_as_on_host<double>("cos(k*x)", {0, 1}, {1, 100, 10000}, options, name);
    options.max_intervals = 500;
    expect_as_on_host<double>("cos(k*x)", {0, 1}, {1, 100, 10000}, options, name);
    // A pole at the middle of the first of four intervals, of one integral of three.
    expect_as_on_host<double>("1/(x-k)", {0, 1}, {-1, 0.125, 2}, GaussKronrodOptions{}, name);
    options = {.points = 15, .initial_intervals = 200};
    if (name == "on_chip")  // has room for fewer
      EXPECT_THROW(expect_as_on_host<double>("exp(-k*x)", {0, 1}, {1, 2}, options, name),
                   std::invalid_argument);
    else
      expect_as_on_host<double>("exp(-k*x)", {0, 1}, {1, 2}, options, name);
  }
  expect_as_on_host<double>("exp(-k*x)", {0, 1}, {1, 2},
                            GaussKronrodOptions{.points = 15, .initial_intervals = 200}, "auto");
  for (auto const name : gpu_rows(tanh_sinh_variants<double>())) {
    expect_as_on_host<double>("sqrt(x-k)", {0, 1}, {-1, 0.25, 0}, TanhSinhOptions{}, name);
    expect_as_on_host<double>("cos(k*x)", {0, 1}, {10, 5000}, TanhSinhOptions{.max_level = 6},
                              name);
    expect_as_on_host<double>("exp(-k*x^2)", {-infinity, infinity}, {1, 2}, TanhSinhOptions{},
                              name);
  }
}

TEST(AdaptiveGpuOutcomes, NothingToDo) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const plain = line_integrand("x");
  EXPECT_NO_THROW(gauss_kronrod<double>(stream, plain, {}, {}, {}, {}));
  EXPECT_NO_THROW(tanh_sinh<double>(stream, plain, {}, {}, {}, {}));
}

TEST(RangesGpu, KeepTheIntegral) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (Interval const interval : {Interval{-infinity, infinity}, Interval{0, infinity}}) {
    auto const finite = on_finite_ranges(line_integrand("exp(-x^2)"), std::span(&interval, 1));
    auto const result = integrated<double>(stream, finite.integrand, finite.intervals[0], {},
                                           GaussKronrodOptions{})[0];
    EXPECT_EQ(result.outcome, Outcome::reached);
    EXPECT_NEAR(result.value, std::sqrt(std::numbers::pi) / (interval.lower < 0 ? 1 : 2),
                result.error);
  }
}

TYPED_TEST(AdaptiveGpu, RunningIntegralsEqualTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu)), stream(Device::open(Backend::cuda));
  auto const integrand = line_integrand("exp(x)*sin(k*x)", 1);
  std::vector<double> const k = {3};
  auto const parameters = test::to_device(std::span(k), stream);
  for (std::size_t const panels : {1, 2, 127, 128, 129, 100003})
    for (int const points : {15, 21}) {
      std::vector<double> values(panels + 1), errors(panels + 1);
      running_integral<TypeParam>(host, integrand, {0, 4}, k, points, values, errors);
      Buffer<double> on_device(stream, MemorySpace::device, panels + 1),
          their_errors(stream, MemorySpace::device, panels + 1);
      running_integral<TypeParam>(stream, integrand, {0, 4}, parameters.span(), points,
                                  on_device.span(), their_errors.span());
      auto const found = test::to_host(on_device.span(), stream);
      auto const found_errors = test::to_host(their_errors.span(), stream);
      EXPECT_EQ(found[0], 0);
      for (std::size_t i = 0; i <= panels; ++i)
        ASSERT_LE(std::abs(found[i] - values[i]), found_errors[i] + errors[i])
            << panels << ' ' << i;
    }
}

}  // namespace
}  // namespace gridstride

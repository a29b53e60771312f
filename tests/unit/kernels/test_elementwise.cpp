#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "kernels/elementwise/elementwise.hpp"
#include "support/elementwise_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using elementwise::Matrix;
using Values = std::vector<double>;

Stream host_stream() { return Stream(Device::open(Backend::cpu)); }

TEST(ElementwiseReference, AddByHand) {
  auto stream = host_stream();
  Values const x = {1, -2, 0.5}, y = {10, 2, 0.25};
  Values z(3);
  elementwise::add<double>(stream, x, y, z, "reference");
  EXPECT_EQ(z, (Values{11, 0, 0.75}));
}

TEST(ElementwiseReference, AxpyByHand) {
  auto stream = host_stream();
  Values const x = {1, 2, 3};
  Values y = {10, 20, 30};
  elementwise::axpy<double>(stream, -2, x, y, "reference");
  EXPECT_EQ(y, (Values{8, 16, 24}));
  elementwise::axpy<double>(stream, 2, y, y, "reference");
  EXPECT_EQ(y, (Values{24, 48, 72}));
}

TEST(ElementwiseReference, ScaleAndFillByHand) {
  auto stream = host_stream();
  Values x = {1, -2, 3};
  elementwise::scale<double>(stream, 0.5, x, "reference");
  EXPECT_EQ(x, (Values{0.5, -1, 1.5}));
  elementwise::fill<double>(stream, 7, x, "reference");
  EXPECT_EQ(x, (Values{7, 7, 7}));
}

TEST(ElementwiseReference, MatrixAddLeavesGapsAlone) {
  auto stream = host_stream();
  Values const a = {1, 2, -1, 3, 4}, b = {10, 20, 30, 40};
  Values c(7, -7);
  elementwise::matrix_add<double>(stream, {a.data(), 2, 2, 3}, {b.data(), 2, 2, 2},
                                  {c.data(), 2, 2, 4}, "reference");
  EXPECT_EQ(c, (Values{11, 22, -7, -7, 33, 44, -7}));
}

TEST(ElementwiseReference, Dot3ByHand) {
  auto stream = host_stream();
  Values const a = {1, 2, 3, 4, 5, 6}, b = {1, 10, 100, 0, -1, 2};
  Values c(2);
  elementwise::dot3<double>(stream, a, b, c, "reference");
  EXPECT_EQ(c, (Values{321, 7}));
}

TEST(ElementwiseReference, Dot3SumsInOrder) {
  auto stream = host_stream();
  // (1e20 - 1e20) + 1, where another order would lose the one.
  Values const a = {1e20, -1e20, 1}, b = {1, 1, 1};
  Values c(1);
  elementwise::dot3<double>(stream, a, b, c, "reference");
  EXPECT_EQ(c, Values{1});
}

TEST(ElementwiseReference, GatherByHand) {
  auto stream = host_stream();
  Values const x = {5, 6, 7};
  std::vector<std::int64_t> const index = {2, 0, 2, 1};
  Values output(4);
  elementwise::gather<double>(stream, x, index, output, "reference");
  EXPECT_EQ(output, (Values{7, 5, 7, 6}));
}

TEST(ElementwiseReference, ComponentByHand) {
  auto stream = host_stream();
  Values const x = {1, 2, 3, 4, 5, 6};
  Values pair(3), triple(2);
  elementwise::component<double>(stream, x, 2, 1, pair, "reference");
  EXPECT_EQ(pair, (Values{2, 4, 6}));
  elementwise::component<double>(stream, x, 3, 0, triple, "reference");
  EXPECT_EQ(triple, (Values{1, 4}));
}

TEST(ElementwiseReference, MagnitudeByHand) {
  auto stream = host_stream();
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Values const x = {3, -4, 0, 0, 5e-324, 0, 3e300, 4e300, 3e-320, 4e-320, -infinity, 1, nan, 0};
  Values length(7);
  elementwise::magnitude<double>(stream, x, 2, length, "reference");
  EXPECT_EQ(length[0], 5);
  EXPECT_EQ(length[1], 0);
  EXPECT_EQ(length[2], 5e-324);
  EXPECT_DOUBLE_EQ(length[3], 5e300);
  EXPECT_NEAR(length[4] / 5e-320, 1, 1e-3);
  EXPECT_EQ(length[5], infinity);
  EXPECT_TRUE(std::isnan(length[6]));
  Values const y = {nan, infinity, 0, 2, -3, 6, -7, 0, 0};
  Values of_three(3);
  elementwise::magnitude<double>(stream, y, 3, of_three, "reference");
  EXPECT_TRUE(std::isnan(of_three[0]));
  EXPECT_EQ(of_three[1], 7);
  EXPECT_EQ(of_three[2], 7);
}

TEST(ElementwiseHost, RefusesComponentsThatAreNotThere) {
  auto stream = host_stream();
  Values const x(6);
  Values output(3);
  EXPECT_THROW(elementwise::component<double>(stream, x, 2, 2, output), std::invalid_argument);
  EXPECT_THROW(elementwise::component<double>(stream, x, 2, -1, output), std::invalid_argument);
  EXPECT_THROW(elementwise::component<double>(stream, x, 0, 0, output), std::invalid_argument);
  EXPECT_THROW(elementwise::component<double>(stream, x, 3, 0, output), std::invalid_argument);
  EXPECT_THROW(elementwise::magnitude<double>(stream, x, 3, output), std::invalid_argument);
}

TEST(ElementwiseHost, RoundsProductsAndSumsSeparately) {
  auto stream = host_stream();
  // (1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴ rounds to 1 + 2⁻¹¹ in float32; fused, 2⁻²⁴ would be left.
  float const a = 1 + std::ldexp(1.0F, -12), less = -(1 + std::ldexp(1.0F, -11));
  for (auto const* variant : {"reference", "threads"}) {
    std::vector<float> const x(9, a);
    std::vector<float> y(9, less);
    elementwise::axpy<float>(stream, a, x, y, variant);
    EXPECT_EQ(y, std::vector<float>(9, 0.0F)) << variant;
    std::vector<float> const u = {less, a, 0}, v = {1, a, 0};
    std::vector<float> c(1);
    elementwise::dot3<float>(stream, u, v, c, variant);
    EXPECT_EQ(c[0], 0.0F) << variant;
  }
}

template <class T>
void compare_rows(std::vector<test::ElementwiseCase> const& cases) {
  int const compared = test::compare_elementwise<T>(
      Backend::cpu, cases, [](auto row, auto const& one, std::int64_t where) {
        ADD_FAILURE() << row << ": " << one.text() << " differs at " << where;
      });
  EXPECT_EQ(compared, 2 * static_cast<int>(cases.size()));
}

class ElementwiseSizes : public testing::TestWithParam<std::int64_t> {};

TEST_P(ElementwiseSizes, HostRowsEqualTheReference) {
  compare_rows<float>(test::elementwise_cases(GetParam()));
  compare_rows<double>(test::elementwise_cases(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(ElementwiseHost, ElementwiseSizes,
                         testing::Values(0, 1, 31, 32, 33, 255, 1023, 1025, 16384, 16385));

TEST(ElementwiseHost, LargeArraysEqualTheReference) {
  compare_rows<float>(test::large_elementwise_cases(250007));
  compare_rows<double>(test::large_elementwise_cases(250007));
}

TEST(ElementwiseHost, AddsInTheRowsOfOneMatrix) {
  auto stream = host_stream();
  for (auto const* variant : {"reference", "threads"}) {
    // Columns 0 and 1, 2 and 3, 4 and 5 of three rows of seven.
    Values all(21);
    std::iota(all.begin(), all.end(), 0);
    double* const data = all.data();
    elementwise::matrix_add<double>(stream, {data, 3, 2, 7}, {data + 2, 3, 2, 7},
                                    {data + 4, 3, 2, 7}, variant);
    EXPECT_EQ(all,
              (Values{0, 1, 2, 3, 2, 4, 6, 7, 8, 9, 10, 16, 18, 13, 14, 15, 16, 17, 30, 32, 20}))
        << variant;
  }
}

TEST(Elementwise, RefusesBadSizes) {
  auto stream = host_stream();
  Values const x(3), y(4);
  Values z(3);
  std::vector<std::int64_t> const index(2);
  EXPECT_EQ(test::refusal([&] { elementwise::add<double>(stream, x, y, z); }),
            "elementwise::add: y has 4 elements and z has 3 (they must agree)");
  EXPECT_EQ(test::refusal([&] { elementwise::add<double>(stream, y, x, z); }),
            "elementwise::add: x has 4 elements and z has 3 (they must agree)");
  EXPECT_EQ(test::refusal([&] { elementwise::axpy<double>(stream, 1, y, z); }),
            "elementwise::axpy: x has 4 elements and y has 3 (they must agree)");
  EXPECT_EQ(test::refusal([&] { elementwise::dot3<double>(stream, x, x, z); }),
            "elementwise::dot3: a has 3 elements, it needs 9");
  EXPECT_EQ(test::refusal([&] { elementwise::gather<double>(stream, x, index, z); }),
            "elementwise::gather: index has 2 elements and output has 3 (they must agree)");
}

TEST(Elementwise, RefusesOverlap) {
  auto stream = host_stream();
  Values all(20);
  std::span<double> const span(all);
  auto const a = span.first(6), shifted = span.subspan(1, 6), apart = span.subspan(8, 6);
  EXPECT_EQ(test::refusal([&] { elementwise::add<double>(stream, a, apart, shifted); }),
            "elementwise::add: x (6 elements) and z (6 elements) overlap");
  EXPECT_EQ(test::refusal([&] { elementwise::add<double>(stream, apart, a, shifted); }),
            "elementwise::add: y (6 elements) and z (6 elements) overlap");
  EXPECT_EQ(test::refusal([&] { elementwise::axpy<double>(stream, 1, a, shifted); }),
            "elementwise::axpy: x (6 elements) and y (6 elements) overlap");
  EXPECT_EQ(test::refusal([&] { elementwise::dot3<double>(stream, a, apart, span.first(2)); }),
            "elementwise::dot3: a (6 elements) and c (2 elements) overlap");
  EXPECT_EQ(test::refusal([&] { elementwise::dot3<double>(stream, apart, a, span.first(2)); }),
            "elementwise::dot3: b (6 elements) and c (2 elements) overlap");
  std::vector<std::int64_t> const index(6);
  EXPECT_EQ(test::refusal([&] { elementwise::gather<double>(stream, a, index, a); }),
            "elementwise::gather: x (6 elements) and output (6 elements) overlap");
  EXPECT_EQ(test::refusal([&] { elementwise::add<double>(stream, a, shifted, apart); }), "nothing");
}

TEST(Elementwise, RefusesBadMatrices) {
  auto stream = host_stream();
  Values all(40);
  double* const data = all.data();
  auto const add = [&](Matrix<double const> const& a, Matrix<double const> const& b,
                       Matrix<double> const& c) {
    return test::refusal([&] { elementwise::matrix_add<double>(stream, a, b, c); });
  };
  Matrix<double> const c{data, 2, 3, 3};
  Matrix<double const> const a{data + 10, 2, 3, 3};
  EXPECT_EQ(add(a, {data + 20, 3, 2, 3}, c),
            "elementwise::matrix_add: b has 3 x 2 elements and c has 2 x 3 (they must agree)");
  EXPECT_EQ(add({data + 20, 2, 3, 2}, a, c),
            "elementwise::matrix_add: a has 2 x 3 elements and a stride of 2 (rows would overlap)");
  EXPECT_EQ(add(a, a, {data, -2, 3, 3}),
            "elementwise::matrix_add: c has -2 x 3 elements (neither may be negative)");
  EXPECT_EQ(add(a, a, {nullptr, 2, 3, 3}),
            "elementwise::matrix_add: c has 2 x 3 elements and no "
            "data");
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(add(a, a, {data, most / 8, 3, 9}),
            "elementwise::matrix_add: c has 1152921504606846975 x 3 elements and a stride of 9 "
            "(beyond any memory)");
  EXPECT_EQ(add({data + 4, 2, 3, 3}, a, c),
            "elementwise::matrix_add: a (6 elements) and c (6 elements) overlap");
  EXPECT_EQ(add(a, {data, 2, 3, 4}, c),
            "elementwise::matrix_add: b (7 elements) and c (6 elements) overlap");
  // Two columns apart in rows of seven.
  EXPECT_EQ(add({data + 2, 2, 3, 7}, {data, 2, 3, 7}, {data, 2, 3, 7}),
            "elementwise::matrix_add: a (10 elements) and c (10 elements) overlap");
  EXPECT_EQ(add({data, 2, 3, 7}, {data, 2, 3, 7}, {data + 5, 2, 3, 7}),
            "elementwise::matrix_add: a (10 elements) and c (10 elements) overlap");
  EXPECT_EQ(add({nullptr, 0, 0, 0}, {nullptr, 0, 0, 0}, {nullptr, 0, 0, 0}), "nothing");
}

TEST(Elementwise, RefusesUnknownVariants) {
  auto stream = host_stream();
  Values x(3);
  EXPECT_EQ(test::refusal([&] { elementwise::fill<double>(stream, 0, x, "fastest"); }),
            "elementwise: cpu has no variant 'fastest'");
  EXPECT_EQ(test::refusal([&] { elementwise::fill<double>(stream, 0, x, "vectorized"); }),
            "elementwise: cpu has no variant 'vectorized'");
  EXPECT_EQ(test::refusal([&] { elementwise::fill<double>(stream, 0, {}, "fastest"); }),
            "elementwise: cpu has no variant 'fastest'");
}

}  // namespace
}  // namespace gridstride

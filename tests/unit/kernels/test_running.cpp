#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/processors.hpp"
#include "support/line_integral_cases.hpp"
#include "support/refusal.hpp"
#include "support/running_cases.hpp"

namespace gridstride {
namespace {

using scan::Running;
using test::ScanData;

Stream host() { return Stream(Device::open(Backend::cpu)); }

template <class T>
class RunningHost : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RunningHost, Types);

TYPED_TEST(RunningHost, SumsOfPieces) {
  auto stream = host();
  test::expect_running_sums<TypeParam>(stream);
}

TYPED_TEST(RunningHost, SumsOnRanks) {
  test::expect_shared_sums<TypeParam>(Device::open(Backend::cpu));
}

TYPED_TEST(RunningHost, ExtremesOfPieces) {
  auto stream = host();
  test::expect_running_extremes<TypeParam>(stream);
}

TYPED_TEST(RunningHost, IntegralsOfPieces) {
  auto stream = host();
  test::expect_running_integrals<TypeParam>(stream);
}

TYPED_TEST(RunningHost, FieldsInParts) {
  auto stream = host();
  test::expect_field_parts<TypeParam>(stream);
}

TYPED_TEST(RunningHost, ScansOfPieces) {
  auto stream = host();
  for (Running const what : {Running::sum, Running::maximum, Running::integral})
    for (ScanData const kind : {ScanData::random, ScanData::nan})
      test::expect_running_scans<TypeParam>(stream, what, kind);
}

TYPED_TEST(RunningHost, OrderStatistics) {
  auto stream = host();
  // Three ranks share 8192 bins: 2^32 or 2^64 values in passes of at least 2730.
  test::expect_order_statistics<TypeParam>(stream, sizeof(TypeParam) == 4 ? 3 : 6);
}

TEST(RunningHostOfIntegers, ScansWrap) {
  auto stream = host();
  for (Running const what : {Running::sum, Running::maximum}) {
    test::expect_running_scans<std::int32_t>(stream, what, ScanData::random);
    test::expect_running_scans<std::int64_t>(stream, what, ScanData::random);
  }
}

TEST(RunningHostOfFloats, BitsDoNotDependOnTheNumberOfThreads) {
  auto stream = host();
  auto const values = test::scan_data<float>(ScanData::random, 200003);
  auto const sum = [&](int threads) {
    int const before = host_threads();
    set_host_threads(threads);
    auto const scanned = test::scanned_in_pieces(stream, Running::sum, values, 70001);
    auto const reduced =
        test::reduced_in_pieces(stream, reduce::SumOperation<float>{}, values, 70001);
    set_host_threads(before);
    return std::pair(scanned, reduced);
  };
  EXPECT_EQ(sum(1), sum(3));
}

TEST(RunningHostOfFloats, PartsOfFieldsAreNotCut) {
  auto stream = host();
  reduce::FieldReduction<float> reduction(stream, {.dims = 2, .points = {8, 1000, 1}});
  ASSERT_GT(reduce::planes_of_part(Backend::cpu, 2, {8, 1000, 1}), 1);
  std::vector<float> const values(8 * 1001);
  EXPECT_EQ(test::refusal([&] { reduction.find_parts(stream, 0, std::span(values).first(8)); }),
            "field reduction: planes that cut a part");
  std::array<reduce::FieldNumbers, 1> found;
  EXPECT_EQ(test::refusal([&] { reduction.find(stream, values, found); }),
            "field reduction: 8008 elements in place of 8000");
}

/// On a GPU three numbers for each column of a part, by sums, and a counter; 1, 2 and 4 rows are a part.
TEST(RunningHostOfFloats, FieldsInTwoDimensionsTakeColumnsOfAGpu) {
  for (auto const& [rows, parts] : {std::pair{3, 3}, {600, 300}, {1030, 258}}) {
    reduce::FieldOperation<float> const operation{.dims = 2, .points = {1000, rows, 1}};
    auto const bytes = reduce::FieldReduction<float>::bytes(Backend::cuda, operation);
    auto const sums = reduce::FieldReduction<float>::sums_of(Backend::cuda, operation);
    EXPECT_EQ(sums, parts);
    EXPECT_EQ(bytes, static_cast<std::size_t>(parts) * (3 * 1000 * sizeof(double) + 32) + 4);
  }
}

TEST(RunningHostOfFloats, MoreOrFewerElementsThanSaidAreRefused) {
  auto stream = host();
  reduce::RunningReduction<reduce::SumOperation<float>> part(stream, 80, {10, 13});
  EXPECT_THROW(part.add(stream, std::vector<float>(4, 1)), std::invalid_argument);
  part.add(stream, std::vector<float>(2, 1));
  test::Mailbox mailbox;
  test::ThreadRank alone(mailbox, 0, {0});
  EXPECT_THROW(part.share(stream, alone, {10, 13}), std::logic_error);
  std::vector<float> const x(5, 1), y(4, 1);
  reduce::RunningReduction<reduce::DotOperation<float>> dot(stream, 8);
  dot.add(stream, x, x);
  std::vector<double> result(1);
  EXPECT_THROW(dot.finish(stream, result), std::logic_error);
  EXPECT_EQ(test::refusal([&] { dot.add(stream, x, x); }),
            "running reduction: 2 elements more than the 8 that there are");
  EXPECT_EQ(test::refusal([&] { dot.add(stream, x, y); }),
            "running reduction: x has 5 elements and y has 4 (they must agree)");
  dot.add(stream, std::span(x).first(3), std::span(y).first(3));
  dot.finish(stream, result);
  EXPECT_EQ(result[0], 8);
  reduce::RunningReduction<reduce::SumOperation<float>> sum(stream, 8);
  EXPECT_EQ(test::refusal([&] { sum.add(stream, x, x); }),
            "running reduction: there is no second factor");
}

TEST(RunningHostOfFloats, ScansCheckTheirArguments) {
  auto stream = host();
  std::vector<float> x(8, 1), y(7);
  auto const call = [&](Running what, std::span<float> output) {
    return test::refusal([&] { scan::RunningScan<float>(stream, what).add(stream, x, output); });
  };
  EXPECT_EQ(call(Running::sum, y),
            "running scan: input has 8 elements and output has 7 (they must agree)");
  EXPECT_EQ(call(Running::integral, x),
            "running scan: input (8 elements) and output (8 elements) overlap");
  EXPECT_EQ(test::refusal([&] { scan::RunningScan<std::int32_t>(stream, Running::integral); }),
            "running scan: integrals are of floating-point numbers");
}

TEST(RombergWeights, AreThoseOfKnownRules) {
  auto const expect = [](std::vector<double> const& table, std::vector<double> const& expected,
                         double end) {
    for (std::size_t t = 0; t < expected.size(); ++t) EXPECT_NEAR(table[t], expected[t], 1e-13);
    EXPECT_NEAR(table.back(), end, 1e-13);
  };
  expect(reduce::romberg_weights(3), {16}, 4);                            // Simpson's rule
  expect(reduce::romberg_weights(5), {768. / 45, 288. / 45}, 168. / 45);  // Boole's
  expect(reduce::romberg_weights(3, true), {0}, 12);
  expect(reduce::romberg_weights(5, true), {0, 32}, 8);
  for (int k = 1; k < 40; ++k)
    for (bool const of_half : {false, true}) {
      auto const table = reduce::romberg_weights((std::int64_t{1} << k) + 1, of_half);
      double sum = 2 * table.back();
      for (int t = 0; t < k; ++t)
        sum += std::ldexp(table[static_cast<std::size_t>(t)], k - 1 - t);  // as many points
      EXPECT_NEAR(sum / std::ldexp(12.0, k), 1, 1e-14) << k;
    }
  for (std::int64_t const points : {-1, 0, 1, 2, 4, 6, 1024})
    EXPECT_EQ(test::refusal([&] { reduce::romberg_weights(points); }),
              fmt::format("romberg: {} points are not 2^k + 1, 3 at least", points));
}

TEST(LineIntegralsHost, AreSumsOfProducts) {
  auto stream = host();
  test::expect_line_integrals(stream);
}

TEST(LineIntegralsHost, CheckTheirArguments) {
  auto stream = host();
  using reduce::LineIntegrals;
  LineIntegrals lines(stream, {reduce::Rule::trapezoid, 2, {4, 3, 1}, {1, 1, 1}}, 0, 2);
  std::vector<double> const values(12, 1);
  std::vector<double> results(3);
  auto const add = [&](std::size_t count) {
    return test::refusal([&] { lines.add(stream, std::span(values).first(count)); });
  };
  EXPECT_EQ(add(7), "line integrals: 7 elements are not up to 2 rows of 4");
  EXPECT_EQ(add(12), "line integrals: 12 elements are not up to 2 rows of 4");
  EXPECT_EQ(add(8), "nothing");
  EXPECT_EQ(add(8), "line integrals: 8 elements are not up to 1 rows of 4");
  EXPECT_THROW(lines.finish(stream, results), std::logic_error);
  EXPECT_EQ(add(4), "nothing");
  EXPECT_EQ(test::refusal([&] { lines.finish(stream, std::span(results).first(2)); }),
            "line integrals: target has 2 elements, it needs 3");
  lines.finish(stream, results);
  EXPECT_EQ(results, std::vector<double>(3, 3));
}

TEST(OrderStatisticsArguments, AreChecked) {
  using Statistics = histogram::OrderStatistics<float>;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(test::refusal([] { Statistics({0}, 3, nan, 1); }),
            "order statistics: there is no range of values");
  EXPECT_EQ(test::refusal([] {
              Statistics({1, 3}, 3, 0, 1);
            }),
            "order statistics: there is no value of rank 3");
  EXPECT_EQ(test::refusal([] { Statistics({1}, 3, 0, 1).narrow({}); }),
            "order statistics: there are other bins");
  EXPECT_TRUE(Statistics({}, 0, nan, nan).done());
  EXPECT_EQ(Statistics({1, 0}, 3, 2, 2).values(), (std::vector<float>{2, 2}));
}

TEST(HistogramOfPieces, CountsAreAddedTo) {
  auto stream = host();
  std::vector<double> const values = {0.1, 0.5, 0.6, 0.9, 2}, edges = {0, 0.5, 1};
  std::vector<std::int64_t> counts = {100, 200};
  auto const before = histogram::Before::added_to;
  for (auto const& row : histogram::variants<double>()) {
    if (row.backend != Backend::cpu) continue;
    counts = {100, 200};
    histogram::count_even<double>(stream, values, 0, 1, counts, row.name, before);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{101, 203}));
    histogram::count_edges<double>(stream, values, edges, counts, row.name, before);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{102, 206}));
    histogram::count_even<double>(stream, {}, 0, 1, counts, row.name, before);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{102, 206}));
    histogram::count_even<double>(stream, values, 0, 1, counts, row.name);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 3}));
  }
}

}  // namespace
}  // namespace gridstride

#include "driver/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gridstride {
namespace {

template <class T>
Field field_of(std::vector<T> const& values, Grid const& grid) {
  return {"u", "1", grid, precision_of<T>(), values.data()};
}

TEST(Diagnostics, NormsByHand) {
  std::vector<float> const values = {3, -4, 0, 1};
  Grid const grid{.dims = 2, .points = {2, 2, 1}};
  auto const field = field_of(values, grid);
  auto const result = diagnose({.norms = true, .probes = {}}, std::span(&field, 1));
  ASSERT_EQ(result.size(), 4u);
  EXPECT_EQ(result[0].name, "u.min");
  EXPECT_EQ(result[0].value, -4);
  EXPECT_EQ(result[1].name, "u.max");
  EXPECT_EQ(result[1].value, 3);
  EXPECT_EQ(result[2].name, "u.mean");
  EXPECT_EQ(result[2].value, 0);
  EXPECT_EQ(result[3].name, "u.l2");
  EXPECT_DOUBLE_EQ(result[3].value, std::sqrt(26.0 / 4));
}

TEST(Diagnostics, SumsOverManyBlocks) {
  std::vector<double> values(1000003);
  std::iota(values.begin(), values.end(), 0);
  Grid const grid{.dims = 1, .points = {1000003, 1, 1}};
  auto const field = field_of(values, grid);
  auto const result = diagnose({.norms = true, .probes = {}}, std::span(&field, 1));
  EXPECT_EQ(result[1].value, 1000002);
  EXPECT_DOUBLE_EQ(result[2].value, 500001);
}

TEST(Diagnostics, ProbesInterpolate) {
  // u = x + 10 y + 100 z is linear, so that the interpolation is exact.
  Grid const grid{.dims = 3, .points = {3, 3, 3}, .origin = {1, 0, 0}, .spacing = {0.5, 1, 2}};
  std::vector<double> values;
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    auto const at = grid.indices(i);
    values.push_back(grid.coordinate(0, at[0]) + 10 * grid.coordinate(1, at[1]) +
                     100 * grid.coordinate(2, at[2]));
  }
  auto const field = field_of(values, grid);
  auto const result = diagnose(
      {.norms = false, .probes = {{"u", {1.3, 0.7, 3.9}}, {"u", {2, 2, 4}}, {"u", {1, 0, 0}}}},
      std::span(&field, 1));
  EXPECT_EQ(result[0].name, "u(1.3, 0.7, 3.9)");
  EXPECT_NEAR(result[0].value, 1.3 + 7 + 390, 1e-11);
  EXPECT_EQ(result[1].value, 2 + 20 + 400);
  EXPECT_EQ(result[2].value, 1);
}

TEST(Diagnostics, ProbesCloseAPeriodicAxis) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}, .origin = {0, 0, 0}, .spacing = {0.25, 1, 1}};
  std::vector<double> const values = {8, 1, 2, 4};
  auto const field = field_of(values, grid);
  auto const result =
      diagnose({.norms = false, .probes = {{"u", {0.875, 0, 0}}}}, std::span(&field, 1));
  EXPECT_EQ(result[0].value, 6);
}

TEST(RequireFinite, NamesTheFirstCell) {
  Grid const grid{.dims = 2, .points = {300, 300, 1}};
  std::vector<double> values(90000, 1);
  EXPECT_NO_THROW(require_finite(field_of(values, grid), {3, 0.5}));
  values[299 + 300 * 298] = std::numeric_limits<double>::infinity();
  values[7 + 300 * 250] = std::nan("");
  try {
    require_finite(field_of(values, grid), {3, 0.5});
    FAIL();
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "NaN in field 'u' at cell (7, 250, 0), step 3, time 0.5");
  }
}

TEST(ErrorNorms, ByHand) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}};
  std::vector<float> const values = {0, 1, 2, 7};
  auto const exact = expression::Expression::parse("x*t");
  auto const error = error_norms(field_of(values, grid), exact, 1);
  EXPECT_EQ(error.maximum, 4);
  EXPECT_EQ(error.l2, 2);
  std::vector<float> const bad = {0, 1, std::nanf(""), 3};
  EXPECT_TRUE(std::isnan(error_norms(field_of(bad, grid), exact, 1).maximum));
}

}  // namespace
}  // namespace gridstride

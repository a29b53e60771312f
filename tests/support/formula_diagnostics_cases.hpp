#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/diagnostics_cases.hpp"

/// What integrals and extremes of formulas must find, on either backend and in either precision.
namespace gridstride::test {

inline Grid cube_of(std::int64_t nx, std::int64_t ny, std::int64_t nz = 1) {
  return {.dims = nz > 1 ? 3 : 2,
          .points = {nx, ny, nz},
          .origin = {1, -2, 0.5},
          .spacing = {0.5, 0.25, 2}};
}

/// The values of a function of x, y and z at the points of a grid.
template <class T, class Function>
std::vector<T> sampled(Grid const& grid, Function const& function) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    auto const at = grid.indices(i);
    values.push_back(static_cast<T>(
        function(grid.coordinate(0, at[0]), grid.coordinate(1, at[1]), grid.coordinate(2, at[2]))));
  }
  return values;
}

template <class T>
void expect_formulas_by_hand(Backend backend) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}, .origin = {1, 0, 0}, .spacing = {0.5, 1, 1}};
  std::vector<T> const values = {3, -1, -1, 5};
  auto const measured =
      measure<T>(backend,
                 "[{integral: u}, {integral: u^2}, {maximum: {of: -u, where: true}}, {minimum: "
                 "{of: u*x + t, where: true, name: low}}, {integral: {of: x/2, name: half}}, "
                 "{maximum: u}]",
                 grid, values);
  // Of one kind after the other; t is 0.5.
  EXPECT_EQ(names(measured),
            (std::vector<std::string>{"integral(u)", "integral(u^2)", "half", "low", "low.x",
                                      "maximum(-u)", "maximum(-u).x", "maximum(u)"}));
  EXPECT_EQ(numbers(measured),
            (std::vector<double>{0.5 * (1.5 - 1 - 1 + 2.5), 0.5 * (4.5 + 1 + 1 + 12.5), 1.3125,
                                 -1.5, 2, 1, 1.5, 5}));
}

/// The trapezoidal rule is exact for what is linear along each axis; a periodic one counts all
/// points alike.
template <class T>
void expect_integrals_over_boxes(Backend backend) {
  static auto const info = info_of({{"u", "1", ""}});
  for (auto const& grid : {cube_of(3, 4), cube_of(33, 65), cube_of(5, 3, 4), cube_of(17, 9, 33)}) {
    auto const values = sampled<T>(grid, [](double x, double y, double z) { return x * y + z; });
    for (int periodic = 0; periodic < 1 << grid.dims; ++periodic) {
      auto run = run_with("[{integral: u}, {integral: 1}]", grid, precision_of<T>(), info);
      double volume = 1;
      std::array<double, 3> mean = {0, 0, 0};  // of the coordinates
      for (int axis = 0; axis < grid.dims; ++axis) {
        bool const closed = (periodic >> axis & 1) != 0;
        run.boundary.front()[axis].fill(
            {closed ? SideKind::periodic : SideKind::neumann, {"0", {}, {}}});
        auto const n = static_cast<double>(grid.points[axis]);
        volume *= grid.spacing[axis] * (closed ? n : n - 1);
        mean[static_cast<std::size_t>(axis)] = grid.origin[axis] + grid.spacing[axis] * (n - 1) / 2;
      }
      if (grid.dims == 2) mean[2] = grid.origin[2];
      auto const found = numbers(measure_as(run, backend, grid, values));
      double const largest = 300;  // of |u|
      double const rounding =
          static_cast<double>(grid.size()) * std::numeric_limits<double>::epsilon();
      EXPECT_NEAR(found[0] / volume, mean[0] * mean[1] + mean[2], rounding * largest)
          << format_points(grid) << ' ' << periodic;
      EXPECT_NEAR(found[1] / volume, 1, rounding) << format_points(grid) << ' ' << periodic;
    }
  }
}

/// Grids of several pieces: the extreme lies in any of them, and of equal ones the first is told.
template <class T>
void expect_extremes_anywhere(Backend backend) {
  Grid const grid = cube_of(1100, 2100);
  std::vector<T> values(static_cast<std::size_t>(grid.size()), T(1));
  std::string const wanted =
      "[{maximum: {of: abs(u), where: true}}, {minimum: {of: u, where: true}}, {integral: u}]";
  auto const last = static_cast<std::size_t>(grid.size()) - 1;
  for (std::size_t const place :
       {std::size_t{0}, std::size_t{1234}, std::size_t{1'048'576}, std::size_t{2'000'001}, last}) {
    values[place] = -7;
    values[last] = -7;
    auto const found = numbers(measure<T>(backend, wanted, grid, values));
    auto const at = grid.indices(static_cast<std::int64_t>(place));
    double const x = grid.coordinate(0, at[0]), y = grid.coordinate(1, at[1]);
    double const corner = 0.125 * (0.25 + (place == 0 ? 0.25 : 0));
    double const inside = place != 0 && place != last ? (at[1] == 0 || at[0] == 0 ? 0.5 : 1) : 0;
    EXPECT_EQ(found, (std::vector<double>{0.125 * 1099 * 2099 - 8 * corner - 8 * 0.125 * inside, -7,
                                          x, y, 7, x, y}))
        << place;
    values[place] = 1;
  }
}

/// Coordinates are those of the grid to the last bit, in whatever piece a point lies.
inline void expect_coordinates_of_the_grid(Backend backend) {
  for (auto const& points : {std::array<std::int64_t, 3>{7, 1, 1}, {1500, 1100, 1}, {9, 10, 11}}) {
    Grid grid{.dims = 1, .points = points, .origin = {0.3, -0.7, 1.1}, .spacing = {0.1, 0.7, 1e-3}};
    for (int axis = 0; axis < 3; ++axis)
      if (points[static_cast<std::size_t>(axis)] > 1) grid.dims = axis + 1;
    for (int axis = 0; axis < grid.dims; ++axis) {
      auto const values = sampled<double>(grid, [&](double x, double y, double z) {
        return std::array{x, y, z}[static_cast<std::size_t>(axis)];
      });
      auto const wanted =
          fmt::format("[{{maximum: abs(u - {0})}}, {{integral: abs(u - {0})}}]", axis_names[axis]);
      EXPECT_EQ(numbers(measure<double>(backend, wanted, grid, values)),
                (std::vector<double>{0, 0}))
          << format_points(grid) << ' ' << axis;
    }
  }
}

/// Values beyond float32, of a field in float32; the sum is in float64.
inline void expect_formulas_in_float64(Backend backend) {
  Grid const grid = line_of(3);
  std::vector<float> const values = {1e30F, 2e30F, 1e30F};
  auto const found =
      numbers(measure<float>(backend, "[{integral: u^2}, {maximum: 1e-60*u^2}]", grid, values));
  double const one = static_cast<double>(1e30F), two = static_cast<double>(2e30F);
  EXPECT_EQ(found[0], 0.5 * one * one + two * two + 0.5 * one * one);
  EXPECT_EQ(found[1], 1e-60 * (two * two));
}

template <class T>
void expect_formulas_that_are_not_finite(Backend backend) {
  Grid const grid = cube_of(40, 50);
  auto values = sampled<T>(grid, [](double, double, double) { return 1; });
  auto const message = [&](std::string const& formula) -> std::string {
    try {
      measure<T>(backend, formula, grid, values);
      return "no error";
    } catch (NumericalError const& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("{integral: log(u)}"), "no error");
  values[7 + 40 * 49] = 0;
  EXPECT_EQ(message("{integral: log(u)}"),
            "integral(log(u)) is not finite at x = 4.5, y = 10.25, step 3, time 0.5");
  values[3] = -1;
  EXPECT_EQ(message("{minimum: {of: log(u), name: least}}"),
            "least is not finite at x = 2.5, y = -2, step 3, time 0.5");
}

/// Where values of fields may be missing, so may those of formulas.
inline void expect_gaps_in_formulas(Backend backend) {
  auto info = info_of({{"u", "1", ""}});
  info.has_gaps = true;
  std::vector<double> const values = {1, std::nan(""), 2};
  auto const run = run_with("[{integral: u}, {maximum: {of: u, where: true}}, {maximum: x}]",
                            line_of(3), Precision::float64, info);
  auto const found = numbers(measure_as(run, backend, line_of(3), values));
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(found[i])) << i;
  EXPECT_EQ(found[3], 2);
}

/// Fields of two types, in any order, and one that is not named.
inline void expect_formulas_of_several_fields(Backend backend) {
  Stream stream(Device::open(backend));
  std::vector<float> const first = {1, 2, 3, 4};
  std::vector<double> const second = {-1, 0.5, 0, 1}, third = {9, 9, 9, 9};
  Buffer<float> a(stream, MemorySpace::device, 4);
  Buffer<double> b(stream, MemorySpace::device, 4), c(stream, MemorySpace::device, 4);
  copy_async(a.span(), first, stream);
  copy_async(b.span(), second, stream);
  copy_async(c.span(), third, stream);
  auto const info = info_of({{"p", "Pa", ""}, {"q", "1", ""}, {"v", "m/s", ""}});
  auto const run = run_with("[{integral: p*v}, {maximum: {of: v - p, where: true}}]", line_of(4),
                            Precision::float64, info);
  std::vector<Field> fields = {{"v", "m/s", line_of(4), Precision::float64, b.data()},
                               {"p", "Pa", line_of(4), Precision::float32, a.data()},
                               {"q", "1", line_of(4), Precision::float64, c.data()}};
  auto const measured = Diagnostics(run, fields, stream).measure(fields, {});
  EXPECT_EQ(names(measured), diagnostic_names(run, fields));
  EXPECT_EQ(numbers(measured), (std::vector<double>{-0.5 + 1 + 0 + 2, -1.5, 1}));
  fields[2].grid = line_of(3);
  EXPECT_THROW(Diagnostics(run, fields, stream), std::invalid_argument);
}

/// All variants of the families that formulas go through find the same, sums to their rounding.
template <class T>
void expect_formula_variants_to_agree(Backend backend) {
  auto const values = quantile_fields<T>(4099)[0];
  std::string const wanted = "[{integral: u^2 + x}, {maximum: {of: abs(u)*t, where: true}}]";
  auto const expected = numbers(measure<T>(backend, wanted, line_of(4099), values));
  int variants = 0;
  for (auto const& family : kernel_families()) {
    if (family.name != "reduce" && family.name != "evaluate") continue;
    for (auto const& row : family.rows) {
      Device const device = Device::open(backend);
      if (row.backend != backend || !row.in_build ||
          !diagnostics_refusal(family.name, row.name, device).empty())
        continue;
      auto const found = numbers(measure<T>(backend, wanted, line_of(4099), values,
                                            {{std::string(family.name), std::string(row.name)}}));
      EXPECT_NEAR(found[0], expected[0], 4099 * 1.2e-16 * expected[0]) << row.name;
      for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(found[i], expected[i]) << row.name;
      ++variants;
    }
  }
  EXPECT_GE(variants, 4);
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/poisson/aggregation.hpp"
#include "support/conjugate_cases.hpp"

/// The equation's matrix in memory, and conjugate gradients with algebraic multigrid of it.
namespace gridstride::poisson::test {

/// Row by row what `known_equation` has, scaled, and empty rows where u is known.
template <class T>
void expect_symmetric_rows(Stream& stream, KnownEquation const& e) {
  constexpr int exponent = -3;
  auto const a = to_device<T>(stream, e.a), kappa = to_device<T>(stream, e.kappa);
  auto const equation = equation_of(e, a, kappa);
  auto const roots = diagonal_roots<double>(stream, equation, exponent);
  auto const [rows, constants] =
      symmetric_rows(stream, equation, exponent, e.varies ? roots.data() : nullptr);
  auto const offsets = from_device(stream, rows.offsets);
  auto const columns = from_device(stream, rows.column_indices);
  auto const values = from_device(stream, rows.values);
  auto const ones = from_device(stream, constants);
  auto const n = static_cast<std::size_t>(e.grid.size());
  ASSERT_EQ(offsets.size(), n + 1);
  auto const root = [&](std::size_t i) {
    return e.varies ? 1 / std::sqrt(std::ldexp(e.volume[i] * e.matrix[i][i], exponent)) : 1.0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    std::map<std::size_t, double> found;
    for (auto k = static_cast<std::size_t>(offsets[i]);
         k < static_cast<std::size_t>(offsets[i + 1]); ++k)
      EXPECT_TRUE(found.emplace(columns[k], values[k]).second) << i;
    if (!e.is_unknown(static_cast<std::int64_t>(i))) {
      EXPECT_TRUE(found.empty()) << i;
      EXPECT_EQ(ones[i], 1);
      continue;
    }
    EXPECT_NEAR(ones[i] * root(i), 1, 1e-6);
    for (std::size_t j = 0; j < n; ++j) {
      bool const is_there = found.contains(j);
      double const wanted =
          e.is_unknown(static_cast<std::int64_t>(j))
              ? std::ldexp(e.volume[i] * e.matrix[i][j], exponent) * root(i) * root(j)
              : 0;
      EXPECT_EQ(is_there, wanted != 0) << i << ' ' << j;
      EXPECT_NEAR(is_there ? found[j] : 0, wanted, 1e-6 * std::abs(wanted)) << i << ' ' << j;
    }
  }
}

inline void expect_rows_of_all_sides(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  for (auto const& one :
       {Case{{3}, "pp"}, Case{{3}, "dd"}, Case{{5}, "nn"}, Case{{5, 3}, "ppnd"},
        Case{{3, 4}, "dddd"}, Case{{4, 5}, "nnpp"}, Case{{3, 3, 3}, "nnnnnn"},
        Case{{3, 4, 5}, "dnppnn"}, Case{{4, 3, 3}, "ppdddn"}, Case{{3, 5, 4}, "nndndd"}})
    for (bool const varies : {false, true}) {
      SCOPED_TRACE(one.sides);
      auto const e = known_equation(one.points, one.sides, varies);
      expect_symmetric_rows<double>(stream, e);
      expect_symmetric_rows<float>(stream, e);
    }
}

/// So many iterations at most for a that follows from the indices of points, and the same bits every time;
/// open means, too.
template <class Value>
void expect_few_iterations(Stream& stream, std::vector<std::int64_t> const& points,
                           std::string const& sides, std::int64_t most, Value const& value) {
  SCOPED_TRACE(sides);
  Equation<double> equation;
  equation.grid.dims = static_cast<int>(points.size());
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    equation.grid.points[axis] = points[axis];
    equation.sides[axis] = {kind_of(sides[2 * axis]), kind_of(sides[2 * axis + 1])};
  }
  auto const f = random_unknowns(equation.grid, equation.sides, 5);
  std::vector<double> values(f.size());
  for (std::size_t i = 0; i < f.size(); ++i)
    values[i] = value(equation.grid.indices(static_cast<std::int64_t>(i)));
  auto const a = to_device<double>(stream, values), right = to_device<double>(stream, f);
  equation.diffusivities = a.data();
  bool const singular = sides.find('d') == std::string::npos;
  std::vector<double> first;
  for (Precision const inner : {Precision::float64, Precision::float32}) {  // which does not matter
    auto u = to_device<double>(stream, f);
    ConjugateSolver<double> solver(stream, equation, singular,
                                   {.tolerance = 1e-10, .inner = inner, .aggregates = true});
    auto const result = solver.solve(stream, right.span(), u.span());
    EXPECT_TRUE(result.converged()) << result.advice;
    EXPECT_LE(result.iterations, most);
    auto const found = from_device(stream, u);
    if (first.empty()) first = found;
    EXPECT_EQ(found, first);
  }
}

/// A fifth of all squares, or cubes, of two points has a = 10⁶: they meet at corners.
inline void expect_squares_at_random(Stream& stream, std::vector<std::int64_t> const& points,
                                     std::string const& sides, std::int64_t most) {
  expect_few_iterations(stream, points, sides, most, [](auto const& at) {
    std::mt19937 engine(
        static_cast<unsigned>(at[0] / 2 + 1000 * (at[1] / 2) + 77777 * (at[2] / 2)));
    return engine() % 5 == 0 ? 1e6 : 1.0;
  });
}

/// a over ten orders of magnitude from point to point: rows whose couplings are nothing beside those of
/// their neighbours.
inline void expect_orders_of_magnitude(Stream& stream, std::vector<std::int64_t> const& points,
                                       std::string const& sides, std::int64_t most) {
  expect_few_iterations(stream, points, sides, most, [](auto const& at) {
    std::mt19937 engine(static_cast<unsigned>(at[0] + 1000 * at[1] + 777777 * at[2]));
    return std::pow(10, 10 * (static_cast<double>(engine()) / 4294967296.0) - 5);
  });
}

/// With an open mean it comes to roundings, also where those of a hide that A has no inverse.
inline void expect_open_means(Stream& stream) {
  Equation<float> equation;
  equation.grid = {3, {13, 13, 20}, {0, 0, 0}, {1.0 / 12, 1.0 / 12, 1.0 / 20}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    equation.sides[axis] = {kind_of(axis == 2 ? 'p' : 'n'), kind_of(axis == 2 ? 'p' : 'n')};
  auto const size = static_cast<std::size_t>(equation.grid.size());
  std::vector<double> values(size), f(size);
  for (std::size_t i = 0; i < size; ++i) {
    double const x =
        equation.grid.coordinate(0, equation.grid.indices(static_cast<std::int64_t>(i))[0]);
    values[i] = std::exp(3 * std::sin(9 * x));
    f[i] = std::sin(7 * x);
  }
  auto const a = to_device<float>(stream, values), right = to_device<float>(stream, f);
  equation.diffusivities = a.data();
  auto u = to_device<float>(stream, f);
  ConjugateSolver<float> solver(stream, equation, true, {.tolerance = 1e-12, .aggregates = true});
  auto const result = solver.solve(stream, right.span(), u.span());
  EXPECT_TRUE(result.converged()) << result.advice;
  EXPECT_LE(result.iterations, 50);
}

}  // namespace gridstride::poisson::test

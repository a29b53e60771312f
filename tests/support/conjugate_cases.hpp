#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "kernels/poisson/conjugate.hpp"
#include "support/poisson_kernel_cases.hpp"

/// Conjugate gradients on grids, against matrices, and on one backend against another.
namespace gridstride::poisson::test {

/// Numbers in [−1, 1), 0 on Dirichlet sides.
inline std::vector<double> random_unknowns(Grid const& grid, Sides const& sides, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> values(static_cast<std::size_t>(grid.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Sixteenths, so that float32 holds them too.
    double const value = static_cast<double>(engine() % 32) / 16 - 1;
    auto const at = grid.indices(static_cast<std::int64_t>(i));
    bool known = false;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis)
      known = known || (at[axis] == 0 && sides[axis][0] == SideKind::dirichlet) ||
              (at[axis] == grid.points[axis] - 1 && sides[axis][1] == SideKind::dirichlet);
    values[i] = known ? 0 : value;
  }
  return values;
}

/// What an operator makes of vectors: A·v; then q = r + β·p, x + α·q and r − α·A·q, and the sums.
template <class S>
struct StepsTaken {
  std::vector<S> product, q, x, r;
  double curvature = 0, square = 0;
};

constexpr double step_beta = 0.625, step_alpha = 0.375;

template <class S>
StepsTaken<S> take_steps(Stream& stream, krylov::Operator<S> const& a, std::vector<double> const& v,
                         std::vector<double> const& w) {
  auto const p = to_device<S>(stream, v), plain = to_device<S>(stream, w);
  auto r = to_device<S>(stream, w), x = to_device<S>(stream, v);
  std::vector<double> const nothing(v.size());
  auto q = to_device<S>(stream, nothing), product = to_device<S>(stream, nothing);
  auto const factors = to_device<double>(stream, {step_beta, step_alpha});
  Buffer<int> stop(stream, MemorySpace::device, 1);
  zero_async(stop.span(), stream);
  Buffer<double> sums(stream, MemorySpace::device, static_cast<std::size_t>(a.fused.partials));
  auto const total = [&] {
    double sum = 0;
    for (double const part : from_device(stream, sums)) sum += part;
    return sum;
  };
  StepsTaken<S> taken;
  a.apply(stream, p.span(), product.span());
  a.fused.direct(stream, stop.data(), factors.data(), plain.span(), p.span(), q.span(),
                 sums.span());
  taken.curvature = total();
  a.fused.descend(stream, stop.data(), factors.data() + 1, std::as_const(q).span(), x.span(),
                  r.span(), sums.span());
  taken.square = total();
  taken.product = from_device(stream, product);
  taken.q = from_device(stream, q);
  taken.x = from_device(stream, x);
  taken.r = from_device(stream, r);
  // Once it is over nothing changes.
  int const over = 1;
  copy_async(stop.span(), std::span<int const>(&over, 1), stream);
  a.fused.direct(stream, stop.data(), factors.data(), p.span(), p.span(), q.span(), sums.span());
  a.fused.descend(stream, stop.data(), factors.data(), p.span(), x.span(), r.span(), sums.span());
  EXPECT_EQ(from_device(stream, q), taken.q);
  EXPECT_EQ(from_device(stream, x), taken.x);
  EXPECT_EQ(from_device(stream, r), taken.r);
  return taken;
}

/// An equation with the coefficients that lie on the device.
template <class T>
Equation<T> equation_of(KnownEquation const& e, Buffer<T> const& a, Buffer<T> const& kappa) {
  Equation<T> equation{
      .grid = e.grid, .sides = e.sides, .diffusivity = e.a[0], .reaction = e.kappa[0]};
  if (!e.varies) return equation;
  equation.diffusivities = a.data();
  equation.reactions = kappa.data();
  return equation;
}

/// `scaled`: rows and columns by the roots of the diagonal.
template <class S, class T>
void expect_symmetric(Stream& stream, KnownEquation const& e, bool scaled) {
  constexpr int exponent = -3;
  auto const a = to_device<T>(stream, e.a), kappa = to_device<T>(stream, e.kappa);
  auto const equation = equation_of(e, a, kappa);
  auto const v = random_unknowns(e.grid, e.sides, 1), w = random_unknowns(e.grid, e.sides, 2);
  auto const roots = diagonal_roots<S>(stream, equation, exponent);
  EXPECT_EQ(roots.size(), e.varies ? v.size() : 0);
  S const* const factors = scaled ? roots.data() : nullptr;
  auto const taken =
      take_steps(stream, symmetric_operator<S>(stream, equation, exponent, factors), v, w);
  auto const root = [&](std::size_t i) {
    return scaled ? 1 / std::sqrt(std::ldexp(e.volume[i] * e.matrix[i][i], exponent)) : 1.0;
  };
  double curvature = 0, square = 0, size = 0;
  double const epsilon = 64 * double{std::numeric_limits<S>::epsilon()};
  for (std::size_t i = 0; i < v.size(); ++i) {
    double product = 0, of_q = 0, row = 0;
    bool const known = !e.is_unknown(static_cast<std::int64_t>(i));
    for (std::size_t j = 0; j < v.size() && !known; ++j) {
      if (!e.is_unknown(static_cast<std::int64_t>(j))) continue;
      double const element = std::ldexp(e.volume[i] * e.matrix[i][j], exponent) * root(i) * root(j);
      product += element * v[j];
      of_q += element * (w[j] + step_beta * v[j]);
      row += std::abs(element);
    }
    double const q = w[i] + step_beta * v[i], r = w[i] - step_alpha * of_q;
    EXPECT_NEAR(taken.product[i], product, epsilon * row) << i;
    EXPECT_NEAR(taken.q[i], q, epsilon) << i;
    EXPECT_NEAR(taken.x[i], v[i] + step_alpha * q, 4 * epsilon) << i;
    EXPECT_NEAR(taken.r[i], r, epsilon * (1 + row)) << i;
    curvature += q * of_q;
    square += r * r;
    size += (1 + row) * (1 + row);
  }
  EXPECT_NEAR(taken.curvature, curvature, epsilon * size);
  EXPECT_NEAR(taken.square, square, epsilon * size);
}

inline void expect_symmetric_operators(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  std::vector<Case> const cases = {
      {{3}, "pp"},           {{3}, "dd"},           {{5}, "nn"},           {{4}, "dn"},
      {{5, 3}, "ppnd"},      {{3, 4}, "dddd"},      {{4, 5}, "nnpp"},      {{3, 3, 3}, "pppppp"},
      {{3, 3, 3}, "nnnnnn"}, {{3, 4, 5}, "dnppnn"}, {{4, 3, 3}, "ppdddn"}, {{3, 5, 4}, "nndndd"}};
  for (auto const& one : cases)
    for (bool const varies : {false, true}) {
      SCOPED_TRACE(fmt::format("{} varies {}", one.sides, varies));
      auto const e = known_equation(one.points, one.sides, varies);
      for (bool const scaled : {false, true}) {
        if (scaled && !varies) continue;
        expect_symmetric<double, double>(stream, e, scaled);
        expect_symmetric<float, double>(stream, e, scaled);
        expect_symmetric<double, float>(stream, e, scaled);
        expect_symmetric<float, float>(stream, e, scaled);
      }
    }
}

/// Volumes of many tiles on one backend against the other, which has been compared with matrices.
template <class S>
void expect_the_same_steps(Stream& stream, Stream& other) {
  struct Case {
    std::array<std::int64_t, 3> points;
    std::string sides;
  };
  for (Case const& one : {Case{{67, 35, 9}, "dddddd"}, Case{{13, 50, 7}, "nnppdn"},
                          Case{{130, 3, 11}, "ppnnpp"}, Case{{65, 33, 17}, "ndndnd"}}) {
    Equation<double> equation;
    equation.grid = {3, one.points, {0, 0, 0}, {0.5, 1, 0.75}};
    for (std::size_t axis = 0; axis < 3; ++axis)
      equation.sides[axis] = {kind_of(one.sides[2 * axis]), kind_of(one.sides[2 * axis + 1])};
    equation.diffusivity = 0.75;
    equation.reaction = 0.25;
    auto const v = random_unknowns(equation.grid, equation.sides, 3);
    auto const w = random_unknowns(equation.grid, equation.sides, 4);
    auto const found = take_steps(stream, symmetric_operator<S>(stream, equation, -4), v, w);
    auto const wanted = take_steps(other, symmetric_operator<S>(other, equation, -4), v, w);
    double const epsilon = 16 * double{std::numeric_limits<S>::epsilon()};
    for (auto const& [a, b] : {std::pair{&found.product, &wanted.product},
                               {&found.q, &wanted.q},
                               {&found.x, &wanted.x},
                               {&found.r, &wanted.r}}) {
      double worst = 0;
      for (std::size_t i = 0; i < v.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs((*a)[i] - (*b)[i])));
      EXPECT_LE(worst, 4 * epsilon) << one.sides;
    }
    EXPECT_NEAR(found.curvature, wanted.curvature, epsilon * wanted.curvature) << one.sides;
    EXPECT_NEAR(found.square, wanted.square, epsilon * wanted.square) << one.sides;
  }
}

/// A right-hand side of m eigenvectors takes m iterations, and where roundings count one more.
inline void expect_few_conjugate_iterations(Stream& stream) {
  for (std::array<std::int64_t, 3> const points :
       {std::array<std::int64_t, 3>{40, 1, 1}, {17, 12, 1}, {9, 12, 7}}) {
    Equation<double> equation;
    equation.grid.dims = points[2] > 1 ? 3 : points[1] > 1 ? 2 : 1;
    equation.grid.points = points;
    for (auto& sides : equation.sides) sides = {SideKind::dirichlet, SideKind::dirichlet};
    std::vector<double> f(static_cast<std::size_t>(equation.grid.size()));
    std::set<int> const numbers = {1, 2, 5};
    for (std::size_t i = 0; i < f.size(); ++i)
      for (int const number : numbers) {
        double product = 1;
        auto const at = equation.grid.indices(static_cast<std::int64_t>(i));
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(equation.grid.dims); ++axis)
          product *= std::sin(std::numbers::pi * number * static_cast<double>(at[axis]) /
                              static_cast<double>(points[axis] - 1));
        f[i] += product;
      }
    auto const right = to_device<double>(stream, f);
    auto u = to_device<double>(stream, f);
    ConjugateSolver<double> solver(stream, equation, false, {.tolerance = 1e-10});
    auto const result = solver.solve(stream, right.span(), u.span());
    EXPECT_TRUE(result.converged()) << result.advice;
    EXPECT_LE(result.iterations, static_cast<std::int64_t>(numbers.size()) + 1);
    EXPECT_EQ(std::ssize(result.history), result.iterations + 1);
  }
}

/// Float32 inside comes to what float64 does, with hardly more iterations, and always to the same bits.
inline void expect_rounded_directions(Stream& stream, std::int64_t extent) {
  for (std::string const sides : {"dddddd", "dnppnn", "nnnnpp"})
    for (bool const varies : {false, true}) {
      SCOPED_TRACE(fmt::format("{} varies {}", sides, varies));
      Equation<double> equation;
      equation.grid = {3, {extent, extent + 2, extent - 3}, {0, 0, 0}, {1, 1, 1}};
      for (std::size_t axis = 0; axis < 3; ++axis)
        equation.sides[axis] = {kind_of(sides[2 * axis]), kind_of(sides[2 * axis + 1])};
      auto const f = random_unknowns(equation.grid, equation.sides, 5);
      std::vector<double> coefficients(f.size());
      for (std::size_t i = 0; i < f.size(); ++i) coefficients[i] = 1.5 + f[i];
      auto const a = to_device<double>(stream, coefficients);
      if (varies) equation.diffusivities = a.data();
      auto const right = to_device<double>(stream, f);
      bool const singular = sides.find('d') == std::string::npos;
      auto const solve = [&](Precision inner, std::vector<double>& u) {
        ConjugateSolver<double> solver(stream, equation, singular,
                                       {.tolerance = 1e-11, .inner = inner});
        auto there = to_device<double>(stream, f);
        auto result = solver.solve(stream, right.span(), there.span());
        EXPECT_TRUE(result.converged()) << result.advice;
        u = from_device(stream, there);
        auto again = to_device<double>(stream, f);
        solver.solve(stream, right.span(), again.span());
        EXPECT_EQ(from_device(stream, again), u);
        return result;
      };
      std::vector<double> wanted, found;
      auto const plain = solve(Precision::float64, wanted);
      auto const rounded = solve(Precision::float32, found);
      EXPECT_LE(static_cast<double>(rounded.iterations),
                1.25 * static_cast<double>(plain.iterations) + 4);
      double largest = 0, worst = 0, mean = 0;
      for (std::size_t i = 0; i < f.size(); ++i) mean += wanted[i] - found[i];
      mean = singular ? mean / static_cast<double>(f.size()) : 0;
      for (std::size_t i = 0; i < f.size(); ++i) {
        largest = std::max(largest, std::abs(wanted[i]));
        worst = std::max(worst, std::abs(wanted[i] - found[i] - mean));
      }
      // The condition is below 4·extent².
      EXPECT_LE(worst, 1e-10 * static_cast<double>(extent * extent) * largest);
    }
}

}  // namespace gridstride::poisson::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/poisson/conjugate.hpp"
#include "kernels/support/rank_planes.hpp"
#include "support/conjugate_cases.hpp"
#include "support/thread_ranks.hpp"

/// Equations that ranks of one process share, against those that it has alone.
namespace gridstride::poisson::test {

/// Planes of an array as a rank has them, one more on each side: around the grid.
inline std::vector<double> held_planes(RankPlanes const& planes, std::vector<double> const& whole) {
  auto const all = static_cast<std::size_t>(planes.all()), line = whole.size() / all;
  std::vector<double> held;
  for (std::int64_t plane = planes.lower() - 1; plane <= planes.upper(); ++plane) {
    auto const begin = whole.begin() + static_cast<std::ptrdiff_t>(
                                           (static_cast<std::size_t>(plane) + all) % all * line);
    held.insert(held.end(), begin, begin + static_cast<std::ptrdiff_t>(line));
  }
  return held;
}

template <class T>
struct SharedEquation {
  Grid grid;
  Sides sides;
  std::vector<double> a, kappa, right;  ///< fields, or none
  Precision inner = Precision::float64;

  krylov::Result solve(Stream& stream, RankPlanes* planes, std::vector<double>& u) const {
    auto const on_device = [&](std::vector<double> const& values) {
      return to_device<T>(stream, planes == nullptr ? values : held_planes(*planes, values));
    };
    Buffer<T> of_a, of_kappa;
    if (!a.empty()) of_a = on_device(a), of_kappa = on_device(kappa);
    Equation<T> const equation{.grid = grid,
                               .sides = sides,
                               .diffusivity = 1.5,
                               .diffusivities = a.empty() ? nullptr : of_a.data(),
                               .reaction = 0.5,
                               .reactions = a.empty() ? nullptr : of_kappa.data(),
                               .ranks = planes};
    auto const f = on_device(right);
    auto x = on_device(std::vector<double>(right.size()));
    ConjugateSolver<T> solver(stream, equation, false, {.inner = inner});
    auto result = solver.solve(stream, f.span(), x.span());
    auto const integral = integrate(stream, equation, std::as_const(x).span());
    result.history.push_back(integral.sum);
    result.history.push_back(integral.magnitude);
    if (planes != nullptr) planes->exchange(stream, x.span());
    auto const residual = measure(stream, equation, x.span(), f.span());
    result.history.push_back(residual.largest);
    result.history.push_back(residual.backward_error);
    for (T const value : from_device(stream, x)) u.push_back(value);
    return result;
  }
};

/// On so many ranks as one process has it, in every bit.
template <class T>
void expect_shared(Backend backend, SharedEquation<T> const& equation, int count) {
  Grid const& grid = equation.grid;
  int const slowest = grid.dims - 1;
  Stream stream(Device::open(backend));
  std::vector<double> alone;
  auto const expected = equation.solve(stream, nullptr, alone);
  EXPECT_TRUE(expected.converged());
  EXPECT_GT(expected.iterations, 3);
  std::int64_t const together =
      planes_together(backend, grid, equation.sides, !equation.a.empty(), equation.inner);
  RankCuts cuts;
  for (int rank = 0; rank < count; ++rank)
    cuts.push_back(grid.points[slowest] / together * rank / count * together);
  cuts.push_back(grid.points[slowest]);
  ASSERT_LT(cuts[static_cast<std::size_t>(count) - 1], cuts.back());
  auto const line = static_cast<std::size_t>(grid.face_size(slowest));
  EXPECT_TRUE(gridstride::test::on_ranks(count, [&](Ranks& ranks) {
    Stream own(Device::open(backend));
    RankPlanes planes(ranks, own, cuts, equation.sides[slowest][0] == SideKind::periodic,
                      line * sizeof(double), static_cast<std::size_t>(most_shared_sums(grid)));
    std::vector<double> u;
    auto const found = equation.solve(own, &planes, u);
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(found.history, expected.history);
    EXPECT_EQ(found.residual_norm, expected.residual_norm);
    auto const first = static_cast<std::size_t>(planes.lower()) * line;
    auto const size = static_cast<std::size_t>(planes.upper() - planes.lower()) * line;
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(u[line + i], alone[first + i]) << first + i;
  }));
}

template <class T>
SharedEquation<T> shared_equation(std::vector<std::int64_t> const& points, std::string const& kinds,
                                  bool varies, Precision inner) {
  SharedEquation<T> e;
  e.inner = inner;
  e.grid.dims = static_cast<int>(points.size());
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    e.grid.points[axis] = points[axis];
    e.grid.spacing[axis] = axis == 0 ? 0.5 : axis == 1 ? 0.75 : 1;
    for (std::size_t side = 0; side < 2; ++side)
      e.sides[axis][side] = kind_of(kinds[2 * axis + side]);
  }
  std::mt19937 engine(3);
  auto const draw = [&](std::vector<double>& values) {
    for (std::int64_t i = 0; i < e.grid.size(); ++i)
      values.push_back(static_cast<double>(engine() % 1024) / 1024 + 0.5);
  };
  draw(e.right);
  if (varies) draw(e.a), draw(e.kappa);
  return e;
}

inline void expect_shared_equations(Backend backend) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
    int ranks;
  };
  Case const cases[] = {{{9, 17}, "ppdn", 2},
                        {{7, 24}, "ndpp", 3},
                        {{2100, 8}, "dddd", 2},
                        {{33, 6, 17}, "ddnnpp", 3},
                        {{5, 17, 20}, "ppndnd", 4}};
  for (auto const& one : cases)
    for (bool const varies : {false, true})
      for (auto const inner : {Precision::float64, Precision::float32}) {
        SCOPED_TRACE(fmt::format("{} varies {} inner {}", one.sides, varies, name_of(inner)));
        expect_shared(backend, shared_equation<double>(one.points, one.sides, varies, inner),
                      one.ranks);
        expect_shared(backend, shared_equation<float>(one.points, one.sides, varies, inner),
                      one.ranks);
      }
}

}  // namespace gridstride::poisson::test

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/lattice/cycle.hpp"
#include "support/krylov_cases.hpp"

/// Products with the matrices of stencils, and solves with them, on any backend.
namespace gridstride::test {

using lattice::GridPoints;
using lattice::Neighbours;

/// One point; lines along each axis, flat grids, sizes about a warp and about the tiles of blocks,
/// with rows that begin at multiples of 16 bytes and with others; several parts along z.
inline std::vector<GridPoints> const& awkward_grids() {
  static std::vector<GridPoints> const all = {
      {1, 1, 1},   {2, 1, 1},    {1, 3, 1},    {1, 1, 5},    {31, 1, 1},  {33, 2, 1},   {2, 2, 2},
      {3, 3, 3},   {32, 31, 1},  {1, 17, 64},  {17, 1, 40},  {64, 33, 7}, {63, 5, 9},   {65, 4, 3},
      {66, 32, 2}, {128, 9, 2},  {130, 37, 5}, {127, 3, 31}, {4, 129, 6}, {1000, 1, 1}, {8, 1, 200},
      {2, 70, 40}, {132, 2, 67}, {256, 34, 3}, {1023, 5, 1}, {7, 11, 13}, {36, 40, 129}};
  return all;
}

/// y = A·x by a variant, in vectors that begin so many values behind aligned memory; from memory full
/// of NaN.
template <class T>
std::vector<T> lattice_product(Stream& stream, Neighbours neighbours, GridPoints const& points,
                               std::string_view variant, std::vector<T> const& x,
                               std::size_t behind = 0) {
  lattice::Matrix<T> const a(stream, neighbours, points, variant);
  std::vector<T> y(x.size(), std::numeric_limits<T>::quiet_NaN());
  Buffer<T> x_there(stream, MemorySpace::device, x.size() + behind),
      y_there(stream, MemorySpace::device, x.size() + behind);
  auto const from = x_there.span().subspan(behind), to = y_there.span().subspan(behind);
  copy_async(from, std::span(x), stream);
  copy_async(to, std::span(y), stream);
  a.multiply(stream, from, to);
  copy_async(std::span(y), std::span<T const>(to), stream);
  stream.synchronize();
  return y;
}

/// All rungs of the stream's backend: those of rows within their bounds, the same bits twice, and
/// wherever vectors begin.
template <class T>
int check_lattice_products(Stream& stream) {
  int checked = 0;
  for (auto const neighbours : {Neighbours::axes, Neighbours::all})
    for (auto const& points : awkward_grids()) {
      auto const matrix = sparse::stencil_matrix<T>(neighbours, points);
      auto const x = random_vector<T>(matrix.rows, 4);
      for (auto const& row : lattice::variants<T>()) {
        if (row.backend != stream.backend() || row.run == nullptr) continue;
        std::string const what =
            fmt::format("{}, {} by {}", fmt::join(points, " x "),
                        neighbours == Neighbours::all ? "all" : "axes", row.name);
        auto const y = lattice_product<T>(stream, neighbours, points, row.name, x);
        expect_product(matrix, x, y, what);
        EXPECT_EQ(lattice_product<T>(stream, neighbours, points, row.name, x), y) << what;
        EXPECT_EQ(lattice_product<T>(stream, neighbours, points, row.name, x, 1), y) << what;
        ++checked;
      }
    }
  return checked;
}

/// ‖A‖∞ is the largest sum of a row.
inline void expect_norms(Stream& stream) {
  for (auto const neighbours : {Neighbours::axes, Neighbours::all})
    for (auto const& points : awkward_grids()) {
      auto const matrix = sparse::stencil_matrix<double>(neighbours, points);
      double largest = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.rows); ++i) {
        double sum = 0;
        for (auto k = matrix.offsets[i]; k < matrix.offsets[i + 1]; ++k)
          sum += std::abs(matrix.values[static_cast<std::size_t>(k)]);
        largest = std::max(largest, sum);
      }
      EXPECT_EQ(lattice::Matrix<double>(stream, neighbours, points).norm(), largest)
          << fmt::format("{}", fmt::join(points, " x "));
    }
}

template <class T>
krylov::Operator<T> lattice_operator(Stream& stream, Neighbours neighbours,
                                     GridPoints const& points) {
  auto const a = std::make_shared<lattice::Matrix<T> const>(stream, neighbours, points);
  return {.size = a->rows(),
          .apply = [a](Stream& s, std::span<T const> x, std::span<T> y) { a->multiply(s, x, y); }};
}

/// The iterations that conjugate gradients need at most for a residual of `tolerance`, where a cycle is
/// within a tenth of an inverse: errors in the norm of A shrink as Chebyshev's polynomials have it,
/// and √cond(A) is between that norm and the residual's.
inline double most_iterations(Neighbours neighbours, GridPoints const& points, double tolerance) {
  double least_box = 1, least_axes = 0, most_axes = 0;
  int dims = 0;
  for (auto const extent : points) {
    if (extent == 1) continue;
    double const c = std::cos(std::numbers::pi / static_cast<double>(extent + 1));
    least_box *= (1 + 2 * c) / 3;
    least_axes += 2 - 2 * c;
    most_axes += 4;
    ++dims;
  }
  if (dims == 0) return 1;
  double const box = std::pow(3, dims);
  bool const all = neighbours == Neighbours::all;
  double const condition = all ? (box + 9) / (box * (1 - least_box)) : most_axes / least_axes;
  double const quotients = !all || dims == 1 ? 1 : dims == 2 ? 3 : 27.0 / 7;
  double const root = std::sqrt(quotients * 1.1 / 0.9);
  return std::ceil(std::log(2 * std::sqrt(condition) / tolerance) /
                   std::log((root + 1) / (root - 1)));
}

/// Conjugate gradients with a cycle: iterations within their bound on grids of any shape, the same bits
/// twice, and x as the rows of the matrix have it.
template <class T>
void expect_cycles(Stream& stream, std::vector<GridPoints> const& grids, double tolerance) {
  for (auto const neighbours : {Neighbours::axes, Neighbours::all})
    for (auto const& points : grids) {
      SCOPED_TRACE(fmt::format("{}, {}", fmt::join(points, " x "),
                               neighbours == Neighbours::all ? "all" : "axes"));
      auto const matrix = sparse::stencil_matrix<T>(neighbours, points);
      auto const b = random_vector<T>(matrix.rows, 5);
      auto const a = lattice_operator<T>(stream, neighbours, points);
      auto const cycle = lattice::cycle<T>(stream, points);
      krylov::Options const options{.tolerance = tolerance, .iterations = 100, .flexible = true};
      auto const found = solve_krylov<T>(stream, Method::cg, a, b, options, cycle);
      EXPECT_TRUE(found.result.converged()) << found.result.advice;
      EXPECT_LE(static_cast<double>(found.result.iterations),
                most_iterations(neighbours, points, tolerance));
      EXPECT_LE(residual_of(matrix, found.x, b), 1.01 * tolerance);
      EXPECT_TRUE(std::isnan(found.result.condition));
      auto const again = solve_krylov<T>(stream, Method::cg, a, b, options, cycle);
      EXPECT_EQ(again.x, found.x);
      for (auto const method : {Method::gmres, Method::bicgstab}) {
        auto const other = solve_krylov<T>(stream, method, a, b, options, cycle);
        EXPECT_TRUE(other.result.converged()) << other.result.advice;
        EXPECT_LE(residual_of(matrix, other.x, b), 1.01 * tolerance) << name_of(method);
      }
    }
}

}  // namespace gridstride::test

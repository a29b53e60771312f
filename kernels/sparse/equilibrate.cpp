// Exponents are found in halves: each row and each column is divided by the square root of its largest
// element, all at once, until all of these are about 1. What units differ by becomes the square root
// of it each time: ten times take 2^1000 to 2. Of a positive definite matrix |a_ij|² ≤ a_ii·a_jj, so
// that the square roots of the diagonal are what is wanted from the beginning.

#include "kernels/sparse/equilibrate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// log₂ of what rows and columns are divided by.
struct Units {
  std::vector<double> rows, columns;
};

/// log₂ of the largest element of each row and column as they are scaled; `nothing` of empty ones.
Units largest(Csr<double> const& a, Units const& units, bool symmetric) {
  Units found{std::vector<double>(units.rows.size(), nothing),
              std::vector<double>(symmetric ? 0 : units.columns.size(), nothing)};
  auto const each = [&](std::int64_t row, auto const& see) {
    auto const i = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(a.offsets[i]);
         k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
      if (a.values[k] == 0) continue;
      auto const j = static_cast<std::size_t>(a.column_indices[k]);
      see(i, j, std::ilogb(a.values[k]) - units.rows[i] - units.columns[j]);
    }
  };
  std::int64_t const work = 8 * (a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 1);
  parallel_for(a.rows, work, [&](std::int64_t row) {
    each(row, [&](std::size_t i, std::size_t, double size) {
      found.rows[i] = std::max(found.rows[i], size);
    });
  });
  if (symmetric) return found;
  for (std::int64_t row = 0; row < a.rows; ++row)
    each(row, [&](std::size_t, std::size_t j, double size) {
      found.columns[j] = std::max(found.columns[j], size);
    });
  return found;
}

/// Takes half of it out; returns whether something was off by more than a power of two.
bool take_half(std::vector<double>& units, std::vector<double> const& found) {
  bool off = false;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (found[i] == nothing) continue;
    off = off || std::abs(found[i]) > 1;
    units[i] += found[i] / 2;
  }
  return off;
}

/// Whether the square roots of the diagonal are such units, which become those.
bool take_diagonal(Csr<double> const& a, Units& units) {
  for (std::size_t i = 0; i < units.rows.size(); ++i) {
    double const value = element(a, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    if (!(value > 0)) return false;
    units.rows[i] = std::floor(std::ilogb(value) / 2.0);
  }
  units.columns = units.rows;
  // The diagonal is in [1, 4) then.
  return std::ranges::all_of(largest(a, units, true).rows, [](double size) { return size <= 1; });
}

std::vector<int> whole(std::vector<double> const& units) {
  std::vector<int> exponents(units.size());
  std::ranges::transform(units, exponents.begin(),
                         [](double unit) { return static_cast<int>(std::floor(unit)); });
  return exponents;
}

}  // namespace

Exponents equilibrate(Csr<double> const& matrix, bool symmetric) {
  Units units{std::vector<double>(static_cast<std::size_t>(matrix.rows)),
              std::vector<double>(static_cast<std::size_t>(matrix.columns))};
  if (!symmetric || !take_diagonal(matrix, units)) {
    std::ranges::fill(units.rows, 0);
    std::ranges::fill(units.columns, 0);
    constexpr int enough = 20;
    for (int i = 0; i < enough; ++i) {
      auto const found = largest(matrix, units, symmetric);
      bool off = take_half(units.rows, found.rows);
      if (symmetric)
        units.columns = units.rows;
      else
        off = take_half(units.columns, found.columns) || off;
      if (!off) break;
    }
  }
  return {whole(units.rows), whole(units.columns)};
}

template <class T>
Csr<T> scaled(Csr<double> const& matrix, Exponents const& exponents) {
  Csr<T> result{matrix.rows, matrix.columns, {}, {}, {}};
  result.offsets = matrix.offsets;
  result.column_indices = matrix.column_indices;
  result.values.resize(matrix.values.size());
  std::int64_t const work = 8 * (matrix.nonzeros() / std::max<std::int64_t>(matrix.rows, 1) + 1);
  parallel_for(matrix.rows, work, [&](std::int64_t row) {
    auto const i = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(matrix.column_indices[k]);
      result.values[k] =
          static_cast<T>(std::ldexp(matrix.values[k], -exponents.rows[i] - exponents.columns[j]));
    }
  });
  return result;
}

template Csr<float> scaled(Csr<double> const&, Exponents const&);
template Csr<double> scaled(Csr<double> const&, Exponents const&);

}  // namespace gridstride::sparse

// Exponents are found in halves: each row and each column is divided by the square root of its largest
// element, all at once, until all of these are about 1. What units differ by becomes the square root
// of it each time: ten times take 2^1000 to 2. Many units do so, and not all of them are good: where rows
// and columns had units of their own, small elements may take the place of what was large in its row and
// column. So halves begin from means, which find such units again whatever the places of elements are. Of a
// positive definite matrix |a_ij|² ≤ a_ii·a_jj, so that the square roots of the diagonal are what is wanted
// from the beginning.

#include "kernels/sparse/equilibrate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

std::int64_t work_of_row(Csr<double> const& a) {
  return 8 * (a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 1);
}

/// log₂ of what rows and columns are divided by.
struct Units {
  std::vector<double> rows, columns;
};

/// `combine(found, size)` for each element of a row and of a column, `size` its log₂ as it is scaled, from
/// `start` on; of columns not where rows are enough, as of a symmetric matrix.
template <class Combine>
Units over_elements(Csr<double> const& a, Units const& units, bool rows_alone, double start,
                    Combine const& combine) {
  Units found{std::vector<double>(units.rows.size(), start),
              std::vector<double>(rows_alone ? 0 : units.columns.size(), start)};
  auto const each = [&](std::int64_t row, auto const& see) {
    auto const i = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(a.offsets[i]);
         k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
      if (a.values[k] == 0) continue;
      auto const j = static_cast<std::size_t>(a.column_indices[k]);
      see(i, j, std::ilogb(a.values[k]) - units.rows[i] - units.columns[j]);
    }
  };
  parallel_for(a.rows, work_of_row(a), [&](std::int64_t row) {
    each(row, [&](std::size_t i, std::size_t, double size) { combine(found.rows[i], size); });
  });
  if (rows_alone) return found;
  for (std::int64_t row = 0; row < a.rows; ++row)
    each(row, [&](std::size_t, std::size_t j, double size) { combine(found.columns[j], size); });
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

/// Takes out half of the largest element of each row and column; `take_half` says what is returned.
bool halve(Csr<double> const& a, Units& units, bool symmetric) {
  auto const found = over_elements(a, units, symmetric, nothing,
                                   [](double& most, double size) { most = std::max(most, size); });
  bool const off = take_half(units.rows, found.rows);
  if (!symmetric) return take_half(units.columns, found.columns) || off;
  units.columns = units.rows;
  return off;
}

/// Takes out a part of the mean; returns the most that it takes.
double take_mean(std::vector<double>& units, std::vector<double> const& sums,
                 std::vector<double> const& counts, double part) {
  double most = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (counts[i] == 0) continue;
    double const mean = part * sums[i] / counts[i];
    units[i] += mean;
    most = std::max(most, std::abs(mean));
  }
  return most;
}

/// Each row and then each column is divided by the geometric mean of its elements, until that is about 1 or ten
/// times: the least squares of the logarithms of all elements (Curtis and Reid, J. Inst. Math. Appl. 10, 1972).
Units by_means(Csr<double> const& a, bool symmetric) {
  Units units{std::vector<double>(static_cast<std::size_t>(a.rows)),
              std::vector<double>(static_cast<std::size_t>(a.columns))};
  auto const sum = [&](bool rows_alone) {
    return over_elements(a, units, rows_alone, 0, [](double& all, double size) { all += size; });
  };
  auto const counts =
      over_elements(a, units, symmetric, 0, [](double& count, double) { count += 1; });
  double change = 2;
  for (int i = 0; i < 10 && change > 1; ++i) {
    change = take_mean(units.rows, sum(true).rows, counts.rows, symmetric ? 0.5 : 1);
    if (symmetric)
      units.columns = units.rows;
    else
      change = std::max(change, take_mean(units.columns, sum(false).columns, counts.columns, 1));
  }
  return units;
}

/// The square roots of the diagonal, where that is positive and they are such units: it is in [1, 4)
/// then, and no element is above.
std::optional<Exponents> of_diagonal(Csr<double> const& a) {
  Exponents found;
  found.rows.resize(static_cast<std::size_t>(a.rows));
  std::atomic<bool> suits = true;
  parallel_for(a.rows, work_of_row(a), [&](std::int64_t row) {
    double const value = element(a, row, row);
    if (!(value > 0)) return suits.store(false);
    found.rows[static_cast<std::size_t>(row)] =
        static_cast<int>(std::floor(std::ilogb(value) / 2.0));
  });
  if (!suits) return std::nullopt;
  parallel_for(a.rows, work_of_row(a), [&](std::int64_t row) {
    auto const i = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(a.offsets[i]);
         k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(a.column_indices[k]);
      if (a.values[k] != 0 && std::ilogb(a.values[k]) - found.rows[i] - found.rows[j] > 1)
        suits = false;
    }
  });
  if (!suits) return std::nullopt;
  found.columns = found.rows;
  return found;
}

Csr<double>::Array<int> whole(std::vector<double> const& units) {
  Csr<double>::Array<int> exponents(units.size());
  std::ranges::transform(units, exponents.begin(),
                         [](double unit) { return static_cast<int>(std::floor(unit)); });
  return exponents;
}

}  // namespace

Exponents equilibrate(Csr<double> const& matrix, bool symmetric) {
  if (symmetric)
    if (auto found = of_diagonal(matrix)) return *std::move(found);
  Units units{std::vector<double>(static_cast<std::size_t>(matrix.rows)),
              std::vector<double>(static_cast<std::size_t>(matrix.columns))};
  constexpr int enough = 20;
  for (int i = 0; i < enough && halve(matrix, units, symmetric); ++i)
    if (i == 0) units = by_means(matrix, symmetric);
  return {whole(units.rows), whole(units.columns)};
}

template <class T>
Csr<T> scaled(Csr<double> matrix, Exponents const& exponents) {
  Csr<T> result{matrix.rows, matrix.columns, {}, {}, {}};
  if constexpr (!std::is_same_v<T, double>) result.values.resize(matrix.values.size());
  double const* const given = matrix.values.data();
  T* target;
  if constexpr (std::is_same_v<T, double>)
    target = matrix.values.data();
  else
    target = result.values.data();
  parallel_for(matrix.rows, work_of_row(matrix), [&](std::int64_t row) {
    auto const i = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(matrix.column_indices[k]);
      target[k] = static_cast<T>(std::ldexp(given[k], -exponents.rows[i] - exponents.columns[j]));
    }
  });
  result.offsets = std::move(matrix.offsets);
  result.column_indices = std::move(matrix.column_indices);
  if constexpr (std::is_same_v<T, double>) result.values = std::move(matrix.values);
  return result;
}

template Csr<float> scaled(Csr<double>, Exponents const&);
template Csr<double> scaled(Csr<double>, Exponents const&);

}  // namespace gridstride::sparse

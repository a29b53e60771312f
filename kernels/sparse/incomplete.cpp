// Incomplete factors, row by row: row i takes away l_ik times row k of D·(1 + U) for each k < i where
// it has an element, as Gauss' elimination does, but only from elements that it has. A row waits for
// those rows k alone, so that rows without any such in common are eliminated at the same time.

#include "kernels/sparse/incomplete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "kernels/sparse/triangle.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

std::size_t index_of(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A with all of its diagonal, on its way to L and D·(1 + U).
class Elimination {
 public:
  template <class T>
  explicit Elimination(Csr<T> const& matrix);

  /// Eliminates A + shift·S. The first row whose pivot is not above `least` of Σ|a_ij|, by levels; of
  /// `definite` it has to be positive.
  std::optional<std::int64_t> run(double shift, double least, bool definite);
  /// The row of the largest element of M⁻¹·(Σ_j |a_ij|), which is 1 for a diagonal matrix, where that
  /// exceeds `most`.
  std::optional<std::int64_t> too_large(double most) const;
  IncompleteFactors factors(bool symmetric) const;

 private:
  void eliminate(std::int64_t row);
  void sort_levels();
  Csr<double> part(bool upper) const;

  Csr<double> work_;
  Csr<double>::Array<double> given_;
  std::vector<std::int64_t> diagonal_;  ///< places of the diagonal
  std::vector<double> sums_;            ///< Σ|a_ij|
  std::vector<std::int32_t> order_;     ///< rows by levels
  std::vector<std::int64_t> levels_;    ///< where levels begin in it, and the end
};

template <class T>
Elimination::Elimination(Csr<T> const& matrix)
    : diagonal_(index_of(matrix.rows)), sums_(index_of(matrix.rows)) {
  work_.rows = work_.columns = matrix.rows;
  work_.offsets.reserve(index_of(matrix.rows) + 1);
  work_.column_indices.reserve(index_of(matrix.nonzeros() + matrix.rows));
  given_.reserve(index_of(matrix.nonzeros() + matrix.rows));
  work_.offsets.push_back(0);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    auto k = matrix.offsets[index_of(row)];
    auto const end = matrix.offsets[index_of(row) + 1];
    auto const take = [&](std::int64_t until) {
      for (; k < end && matrix.column_indices[index_of(k)] < until; ++k) {
        work_.column_indices.push_back(matrix.column_indices[index_of(k)]);
        given_.push_back(static_cast<double>(matrix.values[index_of(k)]));
        sums_[index_of(row)] += std::abs(given_.back());
      }
    };
    take(row);
    diagonal_[index_of(row)] = static_cast<std::int64_t>(given_.size());
    if (k == end || matrix.column_indices[index_of(k)] > row) {
      work_.column_indices.push_back(static_cast<std::int32_t>(row));
      given_.push_back(0);
    }
    take(matrix.rows);
    work_.offsets.push_back(static_cast<std::int64_t>(given_.size()));
  }
  work_.values.resize(given_.size());
  sort_levels();
}

void Elimination::sort_levels() {
  std::vector<std::int32_t> level(diagonal_.size());
  levels_.assign(1, 0);
  for (std::size_t row = 0; row < level.size(); ++row) {
    for (auto k = work_.offsets[row]; k < diagonal_[row]; ++k)
      level[row] = std::max(level[row], level[index_of(work_.column_indices[index_of(k)])] + 1);
    if (index_of(level[row]) + 1 >= levels_.size()) levels_.push_back(0);
    ++levels_[index_of(level[row]) + 1];
  }
  for (std::size_t i = 1; i < levels_.size(); ++i) levels_[i] += levels_[i - 1];
  auto next = levels_;
  order_.resize(level.size());
  for (std::size_t row = 0; row < level.size(); ++row)
    order_[index_of(next[index_of(level[row])]++)] = static_cast<std::int32_t>(row);
}

void Elimination::eliminate(std::int64_t row) {
  auto& values = work_.values;
  auto const& columns = work_.column_indices;
  std::int64_t const end = work_.offsets[index_of(row) + 1];
  for (auto k = work_.offsets[index_of(row)]; k < diagonal_[index_of(row)]; ++k) {
    auto const above = index_of(columns[index_of(k)]);
    double const factor = values[index_of(k)] /= values[index_of(diagonal_[above])];
    auto own = k + 1;
    for (auto q = diagonal_[above] + 1; q < work_.offsets[above + 1]; ++q) {
      while (own < end && columns[index_of(own)] < columns[index_of(q)]) ++own;
      if (own == end) break;
      if (columns[index_of(own)] == columns[index_of(q)])
        values[index_of(own)] -= factor * values[index_of(q)];
    }
  }
}

std::optional<std::int64_t> Elimination::run(double shift, double least, bool definite) {
  std::copy(given_.begin(), given_.end(), work_.values.begin());
  for (std::size_t row = 0; row < sums_.size(); ++row) {
    double& own = work_.values[index_of(diagonal_[row])];
    own += std::copysign(shift * sums_[row], own);
  }
  std::int64_t const mean = 2 + work_.nonzeros() / std::max<std::int64_t>(1, work_.rows);
  for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
    std::int64_t const first = levels_[level], last = levels_[level + 1];
    parallel_for(last - first, 2 * mean * mean,
                 [&](std::int64_t i) { eliminate(order_[index_of(first + i)]); });
    for (std::int64_t i = first; i < last; ++i) {
      auto const row = index_of(order_[index_of(i)]);
      double const pivot = work_.values[index_of(diagonal_[row])];
      if (!((definite ? pivot : std::abs(pivot)) > least * sums_[row]) ||
          !(std::abs(pivot) <= std::numeric_limits<double>::max()))
        return static_cast<std::int64_t>(row);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> Elimination::too_large(double most) const {
  auto x = sums_;
  auto const subtract = [&](std::size_t row, std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k)
      x[row] -= work_.values[index_of(k)] * x[index_of(work_.column_indices[index_of(k)])];
  };
  for (std::size_t row = 0; row < x.size(); ++row)
    subtract(row, work_.offsets[row], diagonal_[row]);
  std::optional<std::int64_t> found;
  for (std::size_t row = x.size(); row-- > 0;) {
    subtract(row, diagonal_[row] + 1, work_.offsets[row + 1]);
    x[row] /= work_.values[index_of(diagonal_[row])];
    if (std::abs(x[row]) <= most) continue;
    found = static_cast<std::int64_t>(row);
    if (!(std::abs(x[row]) > most)) break;  // not a number
    most = std::abs(x[row]);
  }
  return found;
}

/// L, or D·(1 + U) divided by D, without the diagonal.
Csr<double> Elimination::part(bool upper) const {
  Csr<double> result;
  result.rows = result.columns = work_.rows;
  result.offsets.push_back(0);
  for (std::size_t row = 0; row < diagonal_.size(); ++row) {
    double const pivot = work_.values[index_of(diagonal_[row])];
    auto const first = upper ? diagonal_[row] + 1 : work_.offsets[row];
    auto const last = upper ? work_.offsets[row + 1] : diagonal_[row];
    for (auto k = first; k < last; ++k) {
      double const value = work_.values[index_of(k)];
      result.column_indices.push_back(work_.column_indices[index_of(k)]);
      result.values.push_back(upper ? value / pivot : value);
    }
    result.offsets.push_back(result.nonzeros());
  }
  return result;
}

IncompleteFactors Elimination::factors(bool symmetric) const {
  IncompleteFactors factors;
  factors.lower = part(false);
  factors.upper = symmetric ? transposed(factors.lower) : part(true);
  for (auto const place : diagonal_) factors.diagonal.push_back(work_.values[index_of(place)]);
  return factors;
}

}  // namespace

template <class T>
IncompleteFactors factorize(Csr<T> const& matrix, Incomplete kind) {
  if (std::string const fault = fault_of(matrix); !fault.empty())
    throw std::invalid_argument("sparse: " + fault);
  if (matrix.rows != matrix.columns)
    throw std::invalid_argument(
        fmt::format("sparse: {} rows of {} columns (factors are of square matrices)", matrix.rows,
                    matrix.columns));
  bool const definite = kind == Incomplete::cholesky;
  if (definite)
    if (auto const found = examine(matrix); !found.symmetric())
      throw std::invalid_argument(
          fmt::format("sparse: a({0}, {1}) and a({1}, {0}) differ (ic0 is of symmetric matrices)",
                      found.row, found.column));
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  Elimination elimination(matrix);
  std::int64_t failed = -1;
  for (double shift = 0; shift <= 2; shift = shift == 0 ? 0x1p-10 : 2 * shift) {
    auto fault = elimination.run(shift, 16 * epsilon, definite);
    if (!fault) fault = elimination.too_large(1 / epsilon);
    if (!fault) {
      auto factors = elimination.factors(definite);
      factors.shift = shift;
      factors.failed = failed;
      return factors;
    }
    if (failed < 0) failed = *fault;
  }
  throw std::invalid_argument(fmt::format(
      "sparse: row {}, counted from 0, has no pivot, whatever is added to the diagonal: "
      "its elements are 0 or not finite",
      failed));
}

template <class T>
IncompleteSolver<T>::IncompleteSolver(Stream& stream, IncompleteFactors const& factors) {
  lower_ = std::make_unique<Triangle<T>>(stream, factors.lower, std::span<double const>(), false);
  std::vector<double> inverse(factors.diagonal);
  for (double& value : inverse) value = 1 / value;
  upper_ = std::make_unique<Triangle<T>>(stream, factors.upper, inverse, true);
}

template <class T>
IncompleteSolver<T>::~IncompleteSolver() = default;
template <class T>
IncompleteSolver<T>::IncompleteSolver(IncompleteSolver&&) noexcept = default;

template <class T>
void IncompleteSolver<T>::solve(Stream& stream, std::span<T const> r, std::span<T> z) const {
  auto const rows = static_cast<std::size_t>(lower_->rows());
  require_size("sparse", named("r", r), rows);
  require_size("sparse", named("z", z), rows);
  require_disjoint("sparse", named("r", r), named("z", z));
  if (rows == 0) return;
  lower_->solve(stream, r.data(), z.data());
  upper_->solve(stream, z.data(), z.data());
}

template <class T>
std::int64_t IncompleteSolver<T>::levels() const {
  return lower_->levels();
}

#define GRIDSTRIDE_INSTANTIATE(T)                                  \
  template IncompleteFactors factorize(Csr<T> const&, Incomplete); \
  template class IncompleteSolver<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

#include "simulations/linear_system_scaled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/support/parallel_for.hpp"
#include "simulations/linear_system_rounding.hpp"

namespace gridstride::linear_system {

namespace {

/// Rows that sums and extremes are taken of at a time, so that neither depends on threads.
constexpr std::int64_t rows_of_tile = 1024;

std::size_t tiles_of(std::size_t rows) { return (rows + rows_of_tile - 1) / rows_of_tile; }

/// Calls `body(tile, first, last)` for all tiles of so many rows; each row is about `work` operations.
template <class Body>
void for_each_tile(std::size_t rows, std::int64_t work, Body const& body) {
  auto const tiles = static_cast<std::int64_t>(tiles_of(rows));
  parallel_for(tiles, work * rows_of_tile, [&](std::int64_t tile) {
    auto const first = static_cast<std::size_t>(tile * rows_of_tile);
    body(static_cast<std::size_t>(tile), first,
         std::min(rows, first + static_cast<std::size_t>(rows_of_tile)));
  });
}

constexpr std::int64_t work_of_scaling = 8;

}  // namespace

template <class T>
ScaledSystem<T>::ScaledSystem(Csr<double> matrix, bool symmetric)
    : exponents_(sparse::equilibrate(matrix, symmetric)) {
  rows_ = sparse::scaled<T>(std::move(matrix), exponents_);
  auto const n = static_cast<std::size_t>(rows_.rows);
  std::vector<double> norms(tiles_of(n)), plain_norms(norms.size());
  for_each_tile(n, work_of_row(), [&](std::size_t tile, std::size_t i, std::size_t last) {
    for (; i < last; ++i) {
      double size = 0, plain_size = 0;
      for (auto k = static_cast<std::size_t>(rows_.offsets[i]);
           k < static_cast<std::size_t>(rows_.offsets[i + 1]); ++k) {
        double const value = std::abs(static_cast<double>(rows_.values[k]));
        auto const j = static_cast<std::size_t>(rows_.column_indices[k]);
        size += value;
        plain_size += std::ldexp(value, exponents_.rows[i] + exponents_.columns[j]);
      }
      norms[tile] = std::max(norms[tile], size);
      plain_norms[tile] = std::max(plain_norms[tile], plain_size);
    }
  });
  for (double const norm : norms) norm_ = std::max(norm_, norm);
  for (double const norm : plain_norms) plain_norm_ = std::max(plain_norm_, norm);
}

template <class T>
std::int64_t ScaledSystem<T>::work_of_row() const {
  return 16 * (rows_.nonzeros() / std::max<std::int64_t>(rows_.rows, 1) + 1);
}

template <class T>
std::vector<T> ScaledSystem<T>::units_of_unknowns() const {
  if (exponents_.columns.empty()) return {};
  auto const [least, most] = std::ranges::minmax(exponents_.columns);
  if (most == least || most - least > std::numeric_limits<T>::max_exponent / 4) return {};
  std::vector<T> units(exponents_.columns.size());
  for (std::size_t j = 0; j < units.size(); ++j)
    units[j] = std::ldexp(T{1}, exponents_.columns[j] - most);
  return units;
}

template <class T>
auto ScaledSystem<T>::scaled_right(std::span<double const> b, int& exponent) const -> Values<T> {
  constexpr int none = std::numeric_limits<int>::min();
  std::vector<int> largest(tiles_of(b.size()), none);
  for_each_tile(b.size(), work_of_scaling, [&](std::size_t tile, std::size_t i, std::size_t last) {
    for (; i < last; ++i)
      if (b[i] != 0) largest[tile] = std::max(largest[tile], std::ilogb(b[i]) - exponents_.rows[i]);
  });
  exponent = largest.empty() ? none : std::ranges::max(largest);
  if (exponent == none) {
    exponent = 0;
    return Values<T>(b.size(), T{0});
  }
  Values<T> scaled(b.size());
  for_each_tile(b.size(), work_of_scaling, [&](std::size_t, std::size_t i, std::size_t last) {
    for (; i < last; ++i)
      scaled[i] = static_cast<T>(std::ldexp(b[i], -exponents_.rows[i] - exponent));
  });
  return scaled;
}

template <class T>
auto ScaledSystem<T>::solution(std::span<T const> scaled, int exponent) const -> Values<T> {
  Values<T> x(scaled.size());
  for_each_tile(x.size(), work_of_scaling, [&](std::size_t, std::size_t i, std::size_t last) {
    for (; i < last; ++i)
      x[i] = static_cast<T>(
          std::ldexp(static_cast<double>(scaled[i]), exponent - exponents_.columns[i]));
  });
  return x;
}

template <class T>
auto ScaledSystem<T>::back(std::span<T const> solution, int exponent) const -> Values<double> {
  Values<double> scaled(solution.size());
  for_each_tile(scaled.size(), work_of_scaling, [&](std::size_t, std::size_t i, std::size_t last) {
    for (; i < last; ++i)
      scaled[i] = std::ldexp(static_cast<double>(solution[i]), exponents_.columns[i] - exponent);
  });
  return scaled;
}

template <class T>
std::optional<std::size_t> ScaledSystem<T>::first_lost(std::span<T const> scaled,
                                                       int exponent) const {
  auto const is_lost = [&](std::size_t i) {
    if (scaled[i] == T{0}) return false;
    int const size = std::ilogb(scaled[i]) + exponent - exponents_.columns[i];
    return size < std::numeric_limits<T>::min_exponent - 1 ||
           size > std::numeric_limits<T>::max_exponent - 1;
  };
  std::vector<std::size_t> found(tiles_of(scaled.size()), scaled.size());
  for_each_tile(scaled.size(), work_of_scaling,
                [&](std::size_t tile, std::size_t i, std::size_t last) {
                  while (i < last && !is_lost(i)) ++i;
                  if (i < last) found[tile] = i;
                });
  auto const first = std::ranges::min_element(found);
  if (first == found.end() || *first == scaled.size()) return std::nullopt;
  return *first;
}

template <class T>
double ScaledSystem<T>::magnitude_of(T scaled, std::size_t place, int exponent) const {
  return std::log10(std::abs(static_cast<double>(scaled))) +
         (exponent - exponents_.columns[place]) * std::log10(2.0);
}

template <class T>
double ScaledSystem<T>::rounding() const {
  std::int64_t longest = 0;
  for (std::size_t i = 0; i + 1 < rows_.offsets.size(); ++i)
    longest = std::max(longest, rows_.offsets[i + 1] - rows_.offsets[i]);
  return roundings<T>(longest);
}

namespace {

/// A norm and a largest magnitude of numbers, without overflow on the way.
struct Sizes {
  double norm = 0, largest = 0;

  Sizes() = default;
  explicit Sizes(std::span<double const> values) {
    for (double const value : values) largest = std::max(largest, std::abs(value));
    double const unit = largest > 0 && std::isfinite(largest) ? largest : 1;
    double squares = 0;
    for (double const value : values) squares += (value / unit) * (value / unit);
    norm = unit * std::sqrt(squares);
  }
  void add(Sizes const& more) {
    norm = std::hypot(norm, more.norm);
    largest = std::max(largest, more.largest);
  }
};

/// What rows have, in the system's units and in the given ones.
struct Sums {
  Sizes left, right, plain_left, plain_right;
  double x = 0;
  double plain_x = -std::numeric_limits<double>::infinity();  ///< log₂, for it need not be a number

  void add(Sums const& more) {
    left.add(more.left);
    right.add(more.right);
    plain_left.add(more.plain_left);
    plain_right.add(more.plain_right);
    x = std::max(x, more.x);
    plain_x = std::max(plain_x, more.plain_x);
  }
};

/// The equations of a tile, one after the other.
class TileSums {
 public:
  void add_row(double left, double right, int exponent) {
    left_[rows_] = left;
    right_[rows_] = right;
    plain_left_[rows_] = std::ldexp(left, exponent);
    plain_right_[rows_++] = std::ldexp(right, exponent);
  }
  void give_sizes(Sums& sums) const {
    auto const sizes = [&](Values const& values) { return Sizes(std::span(values).first(rows_)); };
    sums.left = sizes(left_);
    sums.right = sizes(right_);
    sums.plain_left = sizes(plain_left_);
    sums.plain_right = sizes(plain_right_);
  }

 private:
  using Values = std::array<double, rows_of_tile>;
  Values left_, right_, plain_left_, plain_right_;
  std::size_t rows_ = 0;
};

/// log₂ of ‖x‖∞ and of ‖A‖∞, whose product need not be a number.
double log_of(double value) { return std::log2(value); }

/// b'_i − Σ a'_ij·x'_j.
template <class T, class X>
double left_of(Csr<T> const& rows, std::span<X const> scaled, std::span<T const> right,
               std::size_t i) {
  double sum = 0;
  for (auto k = static_cast<std::size_t>(rows.offsets[i]);
       k < static_cast<std::size_t>(rows.offsets[i + 1]); ++k) {
    auto const j = static_cast<std::size_t>(rows.column_indices[k]);
    sum += static_cast<double>(rows.values[k]) * static_cast<double>(scaled[j]);
  }
  return static_cast<double>(right[i]) - sum;
}

/// Σ |a'_ij|·|x'_j| + |b'_i|.
template <class T>
double terms_of(Csr<T> const& rows, std::span<T const> scaled, std::span<T const> right,
                std::size_t i) {
  double sum = std::abs(static_cast<double>(right[i]));
  for (auto k = static_cast<std::size_t>(rows.offsets[i]);
       k < static_cast<std::size_t>(rows.offsets[i + 1]); ++k) {
    auto const j = static_cast<std::size_t>(rows.column_indices[k]);
    sum += std::abs(static_cast<double>(rows.values[k]) * static_cast<double>(scaled[j]));
  }
  return sum;
}

template <class T, class X>
Sums sums_of(Csr<T> const& rows, sparse::Exponents const& exponents, std::span<X const> scaled,
             std::span<T const> right, int exponent, std::size_t first, std::size_t last) {
  TileSums of_rows;
  Sums found;
  for (std::size_t i = first; i < last; ++i) {
    of_rows.add_row(left_of(rows, scaled, right, i), static_cast<double>(right[i]),
                    exponents.rows[i] + exponent);
    double const x = std::abs(static_cast<double>(scaled[i]));
    found.x = std::max(found.x, x);
    if (x > 0) found.plain_x = std::max(found.plain_x, log_of(x) + exponent - exponents.columns[i]);
  }
  of_rows.give_sizes(found);
  return found;
}

}  // namespace

template <class T>
std::optional<std::size_t> ScaledSystem<T>::lost_of_right(std::span<double const> b,
                                                          std::span<T const> scaled, int exponent,
                                                          double tolerance) const {
  Values<double> lost(b.size());
  std::vector<Sizes> sizes(tiles_of(b.size())), lost_sizes(sizes.size());
  auto const of_tile = [](std::span<double const> values, std::size_t first, std::size_t last) {
    return Sizes(values.subspan(first, last - first));
  };
  for_each_tile(
      b.size(), work_of_scaling, [&](std::size_t tile, std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
          lost[i] =
              std::abs(scaled[i]) < std::numeric_limits<T>::min()
                  ? b[i] - std::ldexp(static_cast<double>(scaled[i]), exponents_.rows[i] + exponent)
                  : 0;
        sizes[tile] = of_tile(b, first, last);
        lost_sizes[tile] = of_tile(lost, first, last);
      });
  Sizes all, all_lost;
  for (Sizes const& more : sizes) all.add(more);
  for (Sizes const& more : lost_sizes) all_lost.add(more);
  if (!(all_lost.norm > tolerance * all.norm)) return std::nullopt;
  return std::ranges::max_element(lost, {}, [](double value) { return std::abs(value); }) -
         lost.begin();
}

template <class T>
auto ScaledSystem<T>::left_over(std::span<T const> scaled, std::span<T const> right,
                                double rounding) const -> LeftOver {
  std::vector<double> largest(tiles_of(right.size()));
  Values<double> left(right.size());
  for_each_tile(left.size(), work_of_row(), [&](std::size_t tile, std::size_t i, std::size_t last) {
    for (; i < last; ++i) {
      left[i] = left_of(rows_, scaled, right, i);
      if (rounding > 0 && std::abs(left[i]) <= rounding * terms_of(rows_, scaled, right, i))
        left[i] = 0;
      largest[tile] = std::max(largest[tile], std::abs(left[i]));
    }
  });
  double const most = largest.empty() ? 0 : std::ranges::max(largest);
  LeftOver found{Values<T>(left.size()), most > 0 ? std::ilogb(most) : 0, !(most > 0)};
  for_each_tile(left.size(), work_of_scaling, [&](std::size_t, std::size_t i, std::size_t last) {
    for (; i < last; ++i) found.unit[i] = static_cast<T>(std::ldexp(left[i], -found.exponent));
  });
  return found;
}

template <class T>
double ScaledSystem<T>::share_of_terms(std::span<T const> scaled, std::span<T const> right,
                                       int exponent) const {
  std::vector<double> left(tiles_of(right.size())), terms(left.size());
  for_each_tile(right.size(), work_of_row(),
                [&](std::size_t tile, std::size_t i, std::size_t last) {
                  auto const plain = [&](double value) {
                    return std::ldexp(std::abs(value), exponents_.rows[i] + exponent);
                  };
                  for (; i < last; ++i) {
                    left[tile] = std::max(left[tile], plain(left_of(rows_, scaled, right, i)));
                    terms[tile] = std::max(terms[tile], plain(terms_of(rows_, scaled, right, i)));
                  }
                });
  return left.empty() ? 0 : ratio(std::ranges::max(left), std::ranges::max(terms));
}

template <class T>
template <class X>
struct ScaledSystem<T>::Column {
  std::span<X const> scaled;
  std::span<T const> right;
  int exponent;
};

/// What a tile of the matrix has is in a cache for all columns.
template <class T>
template <class X>
std::vector<Residual> ScaledSystem<T>::residuals_of(std::span<Column<X> const> columns) const {
  auto const n = static_cast<std::size_t>(rows_.rows);
  std::vector<Sums> tiles(tiles_of(n) * columns.size());
  std::int64_t const work = work_of_row() * static_cast<std::int64_t>(columns.size());
  for_each_tile(n, work, [&](std::size_t tile, std::size_t first, std::size_t last) {
    for (std::size_t k = 0; k < columns.size(); ++k)
      tiles[tile * columns.size() + k] = sums_of(
          rows_, exponents_, columns[k].scaled, columns[k].right, columns[k].exponent, first, last);
  });
  std::vector<Residual> residuals;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    Sums all;
    for (std::size_t i = k; i < tiles.size(); i += columns.size()) all.add(tiles[i]);
    // ‖A‖∞·‖x‖∞ beside ‖b‖∞, by their logarithms.
    double const product = log_of(plain_norm_) + all.plain_x;
    double const right_size = log_of(all.plain_right.largest);
    double const larger = std::max(product, right_size);
    Residual found;
    found.norm = all.plain_left.norm;
    found.relative = ratio(all.plain_left.norm, all.plain_right.norm);
    found.scaled_relative = ratio(all.left.norm, all.right.norm);
    if (all.plain_left.largest > 0)
      found.backward_error = std::exp2(log_of(all.plain_left.largest) - larger) /
                             (std::exp2(product - larger) + std::exp2(right_size - larger));
    found.scaled_backward_error = ratio(all.left.largest, norm_ * all.x + all.right.largest);
    residuals.push_back(found);
  }
  return residuals;
}

template <class T>
template <class X>
Residual ScaledSystem<T>::residual(std::span<X const> scaled, std::span<T const> right,
                                   int exponent) const {
  Column<X> const column{scaled, right, exponent};
  return residuals_of<X>({&column, 1})[0];
}

template <class T>
std::vector<Residual> ScaledSystem<T>::residuals(std::span<Values<T> const> scaled,
                                                 std::span<Values<T> const> rights,
                                                 std::span<int const> exponents) const {
  std::vector<Column<T>> columns;
  for (std::size_t k = 0; k < scaled.size(); ++k)
    columns.push_back({scaled[k], rights[k], exponents[k]});
  return residuals_of<T>(columns);
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template class ScaledSystem<T>; \
  template Residual ScaledSystem<T>::residual(std::span<T const>, std::span<T const>, int) const;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
template Residual ScaledSystem<float>::residual(std::span<double const>, std::span<float const>,
                                                int) const;

}  // namespace gridstride::linear_system

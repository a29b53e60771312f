#include "simulations/linear_system_scaled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::linear_system {

template <class T>
ScaledSystem<T>::ScaledSystem(Csr<double> const& matrix, bool symmetric)
    : exponents_(sparse::equilibrate(matrix, symmetric)) {
  rows_ = sparse::scaled<T>(matrix, exponents_);
}

template <class T>
std::vector<T> ScaledSystem<T>::units_of_unknowns() const {
  if (exponents_.columns.empty()) return {};
  auto const [least, most] = std::ranges::minmax(exponents_.columns);
  if (most - least > std::numeric_limits<T>::max_exponent / 4) return {};
  std::vector<T> units(exponents_.columns.size());
  for (std::size_t j = 0; j < units.size(); ++j)
    units[j] = std::ldexp(T{1}, exponents_.columns[j] - most);
  return units;
}

template <class T>
std::vector<T> ScaledSystem<T>::scaled_right(std::span<double const> b, int& exponent) const {
  exponent = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < b.size(); ++i)
    if (b[i] != 0) exponent = std::max(exponent, std::ilogb(b[i]) - exponents_.rows[i]);
  std::vector<T> scaled(b.size());
  if (exponent == std::numeric_limits<int>::min()) {
    exponent = 0;
    return scaled;
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    scaled[i] = static_cast<T>(std::ldexp(b[i], -exponents_.rows[i] - exponent));
  return scaled;
}

template <class T>
std::vector<T> ScaledSystem<T>::solution(std::span<T const> scaled, int exponent) const {
  std::vector<T> x(scaled.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(
        std::ldexp(static_cast<double>(scaled[i]), exponent - exponents_.columns[i]));
  return x;
}

template <class T>
std::vector<double> ScaledSystem<T>::back(std::span<T const> solution, int exponent) const {
  std::vector<double> scaled(solution.size());
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = std::ldexp(static_cast<double>(solution[i]), exponents_.columns[i] - exponent);
  return scaled;
}

template <class T>
std::optional<std::size_t> ScaledSystem<T>::first_lost(std::span<T const> scaled,
                                                       int exponent) const {
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    if (scaled[i] == T{0}) continue;
    int const size = std::ilogb(scaled[i]) + exponent - exponents_.columns[i];
    if (size < std::numeric_limits<T>::min_exponent - 1 ||
        size > std::numeric_limits<T>::max_exponent - 1)
      return i;
  }
  return std::nullopt;
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
  return static_cast<double>(longest + 8) * std::numeric_limits<T>::epsilon();
}

namespace {

/// A norm and a largest magnitude of numbers ·2^exponent, without overflow on the way.
struct Sizes {
  double norm = 0, largest = 0;
  void add(double value) {
    norm = std::hypot(norm, value);
    largest = std::max(largest, std::abs(value));
  }
};

double ratio(double part, double whole) { return part == 0 ? 0 : part / whole; }

/// log₂ of ‖x‖∞ and of ‖A‖∞, whose product need not be a number.
double log_of(double value) { return std::log2(value); }

}  // namespace

template <class T>
template <class X>
Residual ScaledSystem<T>::residual(std::span<X const> scaled, std::span<T const> right,
                                   int exponent) const {
  auto const n = static_cast<std::size_t>(rows_.rows);
  // Of each row: what is left, and the sums of |a'_ij| and of |a_ij|.
  std::vector<double> left(n), scaled_sums(n), sums(n);
  std::int64_t const work = 16 * (rows_.nonzeros() / std::max<std::int64_t>(rows_.rows, 1) + 1);
  parallel_for(rows_.rows, work, [&](std::int64_t row) {
    auto const i = static_cast<std::size_t>(row);
    double sum = 0;
    for (auto k = static_cast<std::size_t>(rows_.offsets[i]);
         k < static_cast<std::size_t>(rows_.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(rows_.column_indices[k]);
      auto const a = static_cast<double>(rows_.values[k]);
      sum += a * static_cast<double>(scaled[j]);
      scaled_sums[i] += std::abs(a);
      sums[i] += std::ldexp(std::abs(a), exponents_.rows[i] + exponents_.columns[j]);
    }
    left[i] = static_cast<double>(right[i]) - sum;
  });
  Sizes of_left, of_right, plain_left, plain_right;
  double of_a = 0, plain_a = 0, of_x = 0, plain_x = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    of_left.add(left[i]);
    of_right.add(static_cast<double>(right[i]));
    plain_left.add(std::ldexp(left[i], exponents_.rows[i] + exponent));
    plain_right.add(std::ldexp(static_cast<double>(right[i]), exponents_.rows[i] + exponent));
    of_a = std::max(of_a, scaled_sums[i]);
    plain_a = std::max(plain_a, sums[i]);
    double const x = std::abs(static_cast<double>(scaled[i]));
    of_x = std::max(of_x, x);
    if (x > 0) plain_x = std::max(plain_x, log_of(x) + exponent - exponents_.columns[i]);
  }
  // ‖A‖∞·‖x‖∞ beside ‖b‖∞, by their logarithms.
  double const product = log_of(plain_a) + plain_x, right_size = log_of(plain_right.largest);
  double const larger = std::max(product, right_size);
  Residual found;
  found.norm = plain_left.norm;
  found.relative = ratio(plain_left.norm, plain_right.norm);
  found.scaled_relative = ratio(of_left.norm, of_right.norm);
  if (plain_left.largest > 0)
    found.backward_error = std::exp2(log_of(plain_left.largest) - larger) /
                           (std::exp2(product - larger) + std::exp2(right_size - larger));
  found.scaled_backward_error = ratio(of_left.largest, of_a * of_x + of_right.largest);
  return found;
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template class ScaledSystem<T>; \
  template Residual ScaledSystem<T>::residual(std::span<T const>, std::span<T const>, int) const;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
template Residual ScaledSystem<float>::residual(std::span<double const>, std::span<float const>,
                                                int) const;

}  // namespace gridstride::linear_system

// Estimates of condition numbers: of ‖A⁻¹‖₁ from a few products with A⁻¹ and its transpose, each a
// solve with the factors. The vectors are the host's; a solve moves n numbers there and back.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/measures.hpp"

namespace gridstride::factorize {

namespace {

/// Of a solution: one that has left the numbers comes of a division by next to nothing.
template <class T>
double sum_of_magnitudes(std::vector<T> const& x) {
  double sum = 0;
  for (T const value : x) sum += std::abs(static_cast<double>(value));
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

/// The index of the first of the largest magnitudes.
template <class T>
std::size_t largest_at(std::vector<T> const& x) {
  return static_cast<std::size_t>(
      std::max_element(x.begin(), x.end(), [](T a, T b) { return std::abs(a) < std::abs(b); }) -
      x.begin());
}

template <class T>
std::vector<T> signs_of(std::vector<T> const& x) {
  std::vector<T> signs(x.size());
  std::transform(x.begin(), x.end(), signs.begin(), [](T v) { return v < 0 ? T(-1) : T(1); });
  return signs;
}

/// The norm of x = B·e with e the best unit vector that a climb finds: the gradient of ‖B·e‖₁ is
/// Bᵀ·sign(B·e), whose largest element says where to go. `multiply(op, x)` makes x into op(B)·x.
template <class T, class Multiply>
double climb(std::vector<T>& x, Multiply const& multiply) {
  constexpr int most_steps = 5;
  multiply(Op::none, x);
  double estimate = sum_of_magnitudes(x);
  std::vector<T> signs = signs_of(x);
  x = signs;
  multiply(Op::transpose, x);
  std::size_t at = largest_at(x);
  for (int step = 2; step <= most_steps; ++step) {
    std::fill(x.begin(), x.end(), T(0));
    x[at] = 1;
    multiply(Op::none, x);
    double const before = estimate;
    estimate = sum_of_magnitudes(x);
    // Where the signs are those of the step before, the gradient is too.
    if (signs_of(x) == signs || !(estimate > before)) return std::max(estimate, before);
    signs = signs_of(x);
    x = signs;
    multiply(Op::transpose, x);
    std::size_t const previous = at;
    at = largest_at(x);
    if (std::abs(x[previous]) == std::abs(x[at])) return estimate;
  }
  return estimate;
}

/// An estimate of ‖B‖₁ from below, B of n rows.
template <class T, class Multiply>
double estimate_norm_one(std::int64_t n, Multiply const& multiply) {
  auto const size = static_cast<std::size_t>(n);
  std::vector<T> x(size, T(1) / static_cast<T>(n));
  double const climbed = climb(x, multiply);
  if (n == 1 || !std::isfinite(climbed)) return climbed;
  // A vector of growing magnitudes and alternating signs, for the matrices whose cancellations
  // mislead the climb.
  for (std::size_t i = 0; i < size; ++i) {
    auto const magnitude = 1 + static_cast<double>(i) / static_cast<double>(n - 1);
    x[i] = static_cast<T>(i % 2 == 0 ? magnitude : -magnitude);
  }
  multiply(Op::none, x);
  return std::max(climbed, 2 * sum_of_magnitudes(x) / (3 * static_cast<double>(n)));
}

/// ‖A‖₁ times the estimate of ‖A⁻¹‖₁; `solve(op, b)` makes b into op(A)⁻¹·b in device memory.
template <class T, class Solve>
double condition(Stream& stream, std::int64_t n, double norm, Solve const& solve) {
  if (n == 0) return 0;
  Buffer<T> b(stream, MemorySpace::device, static_cast<std::size_t>(n));
  return norm * estimate_norm_one<T>(n, [&](Op op, std::vector<T>& x) {
           copy_async(b.span(), std::span<T const>(x), stream);
           solve(op, Matrix<T>(b.data(), n, 1));
           copy_async(std::span<T>(x), b.span(), stream);
           stream.synchronize();
         });
}

}  // namespace

template <class T>
double lu_condition_estimate(Stream& stream, Matrix<T const> lu,
                             std::span<std::int32_t const> pivots, double norm_one,
                             Variants const& variants) {
  return condition<T>(stream, lu.rows, norm_one,
                      [&](Op op, Matrix<T> b) { lu_solve(stream, op, lu, pivots, b, variants); });
}

template <class T>
double cholesky_condition_estimate(Stream& stream, Matrix<T const> l, double norm_one,
                                   Variants const& variants) {
  return condition<T>(stream, l.rows, norm_one,
                      [&](Op, Matrix<T> b) { cholesky_solve(stream, l, b, variants); });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  template double lu_condition_estimate(Stream&, Matrix<T const>, std::span<std::int32_t const>, \
                                        double, Variants const&);                                \
  template double cholesky_condition_estimate(Stream&, Matrix<T const>, double, Variants const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

#include "equations/eigenvalues.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;

/// To the upper Hessenberg form, by eliminations with pivots.
void reduce(Matrix& a) {
  std::size_t const n = a.size;
  for (std::size_t m = 1; m + 1 < n; ++m) {
    std::size_t pivot = m;
    for (std::size_t i = m; i < n; ++i)
      if (std::abs(a(i, m - 1)) > std::abs(a(pivot, m - 1))) pivot = i;
    if (a(pivot, m - 1) == 0.0) continue;
    for (std::size_t j = 0; j < n; ++j) std::swap(a(pivot, j), a(m, j));
    for (std::size_t i = 0; i < n; ++i) std::swap(a(i, pivot), a(i, m));
    for (std::size_t i = m + 1; i < n; ++i) {
      Complex const factor = a(i, m - 1) / a(m, m - 1);
      for (std::size_t j = m - 1; j < n; ++j) a(i, j) -= factor * a(m, j);
      for (std::size_t j = 0; j < n; ++j) a(j, m) += factor * a(j, i);
    }
  }
}

/// The eigenvalue of the last 2×2 block of rows up to `last` that is nearer to its last entry.
Complex shift_of(Matrix const& a, std::size_t last) {
  Complex const p = a(last - 1, last - 1), q = a(last, last);
  Complex const half = 0.5 * (p - q);
  Complex const root = std::sqrt(half * half + a(last - 1, last) * a(last, last - 1));
  Complex const one = q + half + root, two = q + half - root;
  return std::abs(one - q) < std::abs(two - q) ? one : two;
}

/// One step A − s = Q·R, A' = R·Q + s on rows first to last, by Givens rotations.
void rotate(Matrix& a, std::size_t first, std::size_t last, Complex shift) {
  struct Rotation {
    double c;
    Complex s;
  };
  std::vector<Rotation> rotations;
  for (std::size_t i = first; i <= last; ++i) a(i, i) -= shift;
  for (std::size_t i = first; i < last; ++i) {
    Complex const x = a(i, i), y = a(i + 1, i);
    double const length = std::hypot(std::abs(x), std::abs(y));
    Rotation r = {1, 0};
    if (length > 0) {
      double const size = std::abs(x);
      Complex const phase = size > 0 ? x / size : Complex(1);
      r = {size / length, phase * std::conj(y) / length};
    }
    for (std::size_t j = i; j <= last; ++j) {
      Complex const upper = a(i, j), lower = a(i + 1, j);
      a(i, j) = r.c * upper + r.s * lower;
      a(i + 1, j) = -std::conj(r.s) * upper + r.c * lower;
    }
    rotations.push_back(r);
  }
  for (std::size_t i = first; i < last; ++i) {
    auto const [c, s] = rotations[i - first];
    for (std::size_t j = first; j <= std::min(i + 1, last); ++j) {
      Complex const left = a(j, i), right = a(j, i + 1);
      a(j, i) = c * left + std::conj(s) * right;
      a(j, i + 1) = -s * left + c * right;
    }
  }
  for (std::size_t i = first; i <= last; ++i) a(i, i) += shift;
}

}  // namespace

std::vector<Complex> eigenvalues(Matrix a) {
  for (Complex const& entry : a.entries)
    if (!std::isfinite(entry.real()) || !std::isfinite(entry.imag()))
      throw std::invalid_argument("eigenvalues: an entry is not finite");
  std::vector<Complex> found;
  if (a.size == 0) return found;
  reduce(a);
  constexpr double rounding = std::numeric_limits<double>::epsilon();
  std::size_t last = a.size - 1;
  for (int steps = 0; last > 0; ++steps) {
    std::size_t first = last;
    while (first > 0 &&
           std::abs(a(first, first - 1)) >
               rounding * (std::abs(a(first, first)) + std::abs(a(first - 1, first - 1))) &&
           std::abs(a(first, first - 1)) > std::numeric_limits<double>::min())
      --first;
    if (first == last) {
      found.push_back(a(last, last));
      --last;
      steps = -1;
      continue;
    }
    // Now and then another shift, for matrices that the usual one leaves as they are.
    bool const stuck = steps % 10 == 9;
    rotate(a, first, last, stuck ? a(last, last) + std::abs(a(last, last - 1)) : shift_of(a, last));
  }
  found.push_back(a(0, 0));
  return found;
}

namespace {

/// As parts of the largest, with a little everywhere: the vector is positive then, and the radius
/// grows by the root of that at most.
void prepare(std::span<double> entries, double largest) {
  for (double& entry : entries) entry = entry / largest + 1e-9;
}

}  // namespace

PerronOfTwo perron_of_two(std::array<double, 4> entries) {
  double const largest = *std::ranges::max_element(entries);
  if (largest == 0) return {0, {1, 1}};
  prepare(entries, largest);
  auto const [a, b, c, d] = entries;
  double const root = std::hypot(0.5 * (a - d), std::sqrt(b * c)) + 0.5 * std::abs(a - d);
  std::array<double, 2> const x = a >= d ? std::array{root, c} : std::array{b, root};
  return {largest * std::max((a * x[0] + b * x[1]) / x[0], (c * x[0] + d * x[1]) / x[1]), x};
}

Perron perron(std::size_t size, std::vector<double> entries) {
  if (size == 2) {
    auto const [radius, x] = perron_of_two({entries[0], entries[1], entries[2], entries[3]});
    return {radius, {x[0], x[1]}};
  }
  double const largest = entries.empty() ? 0 : *std::ranges::max_element(entries);
  std::vector<double> x(size, 1);
  if (largest == 0) return {0, x};
  prepare(entries, largest);
  double radius = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 300; ++step) {
    // A + 1 has the same vector, and no other eigenvalue of the same size.
    std::vector<double> next = x;
    double bound = 0;
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < size; ++j) sum += entries[i * size + j] * x[j];
      bound = std::max(bound, sum / x[i]);
      next[i] += sum;
    }
    double const before = std::exchange(radius, bound);
    if (before - bound < 1e-12 * bound) break;
    double const most = *std::ranges::max_element(next);
    for (std::size_t i = 0; i < size; ++i) x[i] = next[i] / most;
  }
  return {radius * largest, x};
}

std::vector<double> symmetric_scale(std::size_t size, std::vector<double> const& entries) {
  std::vector<double> transposed(entries.size());
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) transposed[j * size + i] = entries[i * size + j];
  auto const right = perron(size, entries), left = perron(size, transposed);
  std::vector<double> scale(size);
  for (std::size_t i = 0; i < size; ++i) scale[i] = std::sqrt(right.vector[i] / left.vector[i]);
  return scale;
}

}  // namespace gridstride::equations

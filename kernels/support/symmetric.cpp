// Reflections bring a symmetric matrix to three diagonals, T = Q·A·Qᵀ, and rotations that shift by an
// eigenvalue of T's last corner (Wilkinson's shift) take what is beside its diagonal away, one
// eigenvalue after the other (Golub and Van Loan, "Matrix Computations", 4th ed., 8.3). Modes are rows
// of what Q becomes by the same rotations, so that each works on two rows that lie whole in memory.

#include "kernels/support/symmetric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace gridstride {

namespace {

using Index = std::int64_t;

/// A symmetric matrix of three diagonals; beside[i] is between i and i + 1.
struct Tridiagonal {
  std::vector<double> diagonal, beside;
};

/// What is below the diagonal in column k becomes a multiple of its first element by I − 2·v·vᵀ, on
/// both sides. The lower triangle of `a` is what counts and changes; v stays in column k.
double reflect(Index n, double* a, Index k, std::vector<double>& v, std::vector<double>& w) {
  double largest = 0;
  for (Index i = k + 1; i < n; ++i) largest = std::max(largest, std::abs(a[i * n + k]));
  double norm = 0;
  for (Index i = k + 1; i < n; ++i) {
    v[static_cast<std::size_t>(i)] = largest > 0 ? a[i * n + k] / largest : 0;
    norm += v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(i)];
  }
  norm = std::sqrt(norm);
  double& first = v[static_cast<std::size_t>(k + 1)];
  double const beside = first > 0 ? -norm : norm;
  // Twice half of ‖v‖², of v with its first element moved away from what it becomes.
  double const square = norm * (norm + std::abs(first));
  first -= beside;
  double const factor = square > 0 ? 1 / std::sqrt(2 * square) : 0;
  for (Index i = k + 1; i < n; ++i) {
    v[static_cast<std::size_t>(i)] *= factor;
    a[i * n + k] = v[static_cast<std::size_t>(i)];
  }
  if (factor == 0) return 0;
  // A − v·wᵀ − w·vᵀ with w = 2·A·v − 2·(vᵀ·A·v)·v.
  std::fill(w.begin(), w.end(), 0.0);
  for (Index i = k + 1; i < n; ++i) {
    double const* const row = a + i * n;
    double const own = v[static_cast<std::size_t>(i)];
    double sum = 0;
    for (Index j = k + 1; j < i; ++j) {
      sum += row[j] * v[static_cast<std::size_t>(j)];
      w[static_cast<std::size_t>(j)] += row[j] * own;
    }
    w[static_cast<std::size_t>(i)] += sum + row[i] * own;
  }
  double curvature = 0;
  for (Index i = k + 1; i < n; ++i)
    curvature += v[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(i)];
  for (Index i = k + 1; i < n; ++i)
    w[static_cast<std::size_t>(i)] =
        2 * (w[static_cast<std::size_t>(i)] - curvature * v[static_cast<std::size_t>(i)]);
  for (Index i = k + 1; i < n; ++i) {
    double* const row = a + i * n;
    double const of_v = v[static_cast<std::size_t>(i)], of_w = w[static_cast<std::size_t>(i)];
    for (Index j = k + 1; j <= i; ++j)
      row[j] -= of_v * w[static_cast<std::size_t>(j)] + of_w * v[static_cast<std::size_t>(j)];
  }
  return beside * largest;
}

/// Three diagonals, and in the place of the matrix Q, of which T = Q·A·Qᵀ.
Tridiagonal tridiagonalise(Index n, double* a) {
  auto const size = static_cast<std::size_t>(n);
  Tridiagonal t{std::vector<double>(size), std::vector<double>(size)};
  std::vector<double> v(size), w(size), q(size * size, 0.0);
  for (Index k = 0; k + 2 < n; ++k) t.beside[static_cast<std::size_t>(k)] = reflect(n, a, k, v, w);
  if (n > 1) t.beside[size - 2] = a[(n - 1) * n + n - 2];
  for (Index i = 0; i < n; ++i) {
    t.diagonal[static_cast<std::size_t>(i)] = a[i * n + i];
    q[static_cast<std::size_t>(i * n + i)] = 1;
  }
  // Q = H_last ⋯ H_0: rows from k + 1 on, times the reflections from the last one back, become it.
  for (Index k = n - 3; k >= 0; --k) {
    for (Index i = k + 1; i < n; ++i) v[static_cast<std::size_t>(i)] = a[i * n + k];
    for (Index i = k + 1; i < n; ++i) {
      double* const row = q.data() + i * n;
      double sum = 0;
      for (Index j = k + 1; j < n; ++j) sum += row[j] * v[static_cast<std::size_t>(j)];
      for (Index j = k + 1; j < n; ++j) row[j] -= 2 * sum * v[static_cast<std::size_t>(j)];
    }
  }
  std::copy(q.begin(), q.end(), a);
  return t;
}

/// The first place from `from` on behind which nothing is beside the diagonal any more, of what is
/// about it or of `norm`.
Index end_of_block(Tridiagonal const& t, Index from, double norm) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  Index const last = std::ssize(t.diagonal) - 1;
  Index m = from;
  for (; m < last; ++m) {
    auto const i = static_cast<std::size_t>(m);
    double const around = std::abs(t.diagonal[i]) + std::abs(t.diagonal[i + 1]);
    if (std::abs(t.beside[i]) <= epsilon * std::max(around, norm)) break;
  }
  return m;
}

/// One sweep of rotations from place m up to l (EISPACK's tql2 has the same recurrence).
void sweep(Tridiagonal& t, Index l, Index m, double* rows) {
  auto& d = t.diagonal;
  auto& e = t.beside;
  Index const n = std::ssize(d);
  auto const at = [](Index i) { return static_cast<std::size_t>(i); };
  double const half = (d[at(l + 1)] - d[at(l)]) / (2 * e[at(l)]);
  double const root = std::hypot(half, 1.0);
  double g = d[at(m)] - d[at(l)] + e[at(l)] / (half + std::copysign(root, half));
  double sine = 1, cosine = 1, moved = 0;
  for (Index i = m - 1; i >= l; --i) {
    double const f = sine * e[at(i)], b = cosine * e[at(i)];
    double const r = std::hypot(f, g);
    e[at(i + 1)] = i + 1 < m ? r : 0;
    if (r == 0) {  // the block has come apart
      d[at(i + 1)] -= moved;
      e[at(m)] = 0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    double const shifted = d[at(i + 1)] - moved;
    double const change = (d[at(i)] - shifted) * sine + 2 * cosine * b;
    moved = sine * change;
    d[at(i + 1)] = shifted + moved;
    g = cosine * change - b;
    double* const upper = rows + i * n;
    double* const lower = rows + (i + 1) * n;
#pragma omp simd
    for (Index k = 0; k < n; ++k) {
      double const above = upper[k], below = lower[k];
      lower[k] = sine * above + cosine * below;
      upper[k] = cosine * above - sine * below;
    }
  }
  d[at(l)] -= moved;
  e[at(l)] = g;
}

/// Ascending, rows with their values.
void sort(Index n, double* rows, std::vector<double> const& values, double* sorted) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
    return values[static_cast<std::size_t>(i)] < values[static_cast<std::size_t>(j)];
  });
  std::vector<double> const copy(rows, rows + n * n);
  for (Index i = 0; i < n; ++i) {
    Index const from = order[static_cast<std::size_t>(i)];
    sorted[i] = values[static_cast<std::size_t>(from)];
    std::copy_n(copy.begin() + from * n, n, rows + i * n);
  }
}

double norm_of(Tridiagonal const& t) {
  double norm = 0;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i)
    norm = std::max(norm, std::abs(t.diagonal[i]) + 2 * std::abs(t.beside[i]));
  return norm;
}

}  // namespace

/// Small eigenvalues are found to digits of their own where rotations come that far; of several that
/// are 0 there are none, and roundings of the norm are what is left beside them.
void diagonalise(std::int64_t n, double* matrix, double* values) {
  constexpr int most_sweeps = 60, own_sweeps = 20;
  auto t = tridiagonalise(n, matrix);
  double const norm = norm_of(t);
  for (Index l = 0; l < n; ++l)
    for (int sweeps = 0;; ++sweeps) {
      Index const m = end_of_block(t, l, sweeps < own_sweeps ? 0 : norm);
      if (m == l) break;
      if (sweeps == most_sweeps)
        throw NumericalError(fmt::format("eigen: eigenvalue {} of {} is not found after {} sweeps",
                                         l + 1, n, most_sweeps));
      sweep(t, l, m, matrix);
    }
  sort(n, matrix, t.diagonal, values);
}

}  // namespace gridstride

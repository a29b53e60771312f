// Dense symmetric matrices on the host.
//
// `reference`: reflections bring the matrix to three diagonals, T = Q·A·Qᵀ, and rotations that shift
// by an eigenvalue of T's last corner (Wilkinson's shift) take what is beside its diagonal away, one
// eigenvalue after the other (Golub and Van Loan, "Matrix Computations", 4th ed., 8.3). Modes are rows
// of what Q becomes by the same rotations, so that each works on two rows that lie whole in memory.
// On one thread: small problems within the methods of this family are solved by it, too.
// `lapack`: dsyevd of OpenBLAS (divide and conquer), on one thread, for the same bits on all hosts'
// numbers of threads.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"
#include "kernels/eigen/rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/openblas.hpp"

namespace gridstride::eigen {

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

}  // namespace

namespace {

double norm_of(Tridiagonal const& t) {
  double norm = 0;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i)
    norm = std::max(norm, std::abs(t.diagonal[i]) + 2 * std::abs(t.beside[i]));
  return norm;
}

/// Small eigenvalues are found to digits of their own where rotations come that far; of several that
/// are 0 there are none, and roundings of the norm are what is left beside them.
void diagonalise(Index n, double* matrix, double* values) {
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

}  // namespace

void host_reference(Stream&, Index n, double* matrix, double* values) {
  diagonalise(n, matrix, values);
}

std::vector<double> decompose_small(Small& matrix) {
  std::vector<double> values(static_cast<std::size_t>(matrix.rows));
  diagonalise(matrix.rows, matrix.values.data(), values.data());
  return values;
}

bool lapack_available() { return openblas().available(); }

namespace {

/// As long as it lives OpenBLAS works on one thread.
class OneThread {
 public:
  OneThread() : threads_(openblas().function<int()>("openblas_get_num_threads")()) { set(1); }
  ~OneThread() { set(threads_); }
  OneThread(OneThread const&) = delete;
  OneThread& operator=(OneThread const&) = delete;

 private:
  static void set(int threads) {
    openblas().function<void(int)>("openblas_set_num_threads")(threads);
  }
  int threads_;
};

}  // namespace

void host_lapack(Stream&, Index n, double* matrix, double* values) {
  if (n > std::numeric_limits<int>::max())
    throw std::invalid_argument(fmt::format("eigen: lapack takes no matrix of {} rows", n));
  using Syevd = void(char const*, char const*, int const*, double*, int const*, double*, double*,
                     int const*, int*, int const*, int*);
  auto* const syevd = openblas().function<Syevd>("dsyevd_");
  OneThread const one;
  int const size = static_cast<int>(n), ask = -1;
  int info = 0, integers = 0;
  double numbers = 0;
  // A row-major symmetric matrix is the same by columns, and modes by columns are rows.
  syevd("V", "U", &size, matrix, &size, values, &numbers, &ask, &integers, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(numbers));
  std::vector<int> whole(static_cast<std::size_t>(integers));
  int const work_size = static_cast<int>(work.size()), whole_size = static_cast<int>(whole.size());
  syevd("V", "U", &size, matrix, &size, values, work.data(), &work_size, whole.data(), &whole_size,
        &info);
  if (info != 0)
    throw NumericalError(fmt::format("eigen: LAPACK's dsyevd ends with info = {}", info));
}

std::span<Variant<Function> const> variants() {
  static Variant<Function> const rows[] = {
      {"reference", Backend::cpu, host_reference,
       "reflections to three diagonals, then rotations with shifts, on one thread"},
      {"lapack", Backend::cpu, host_lapack,
       "LAPACK's dsyevd in OpenBLAS, on one thread; the default where it is installed"},
      {"cusolver", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusolver), "cuSOLVER's Xsyevd"}};
  return rows;
}

std::string_view default_variant(Backend backend) {
  if (backend == Backend::cuda) return "cusolver";
  return lapack_available() ? "lapack" : "reference";
}

void decompose(Stream& stream, Index n, std::span<double> matrix, std::span<double> values,
               std::string_view variant) {
  require_size("decompose", named("matrix", matrix), static_cast<std::size_t>(n * n));
  require_size("decompose", named("values", values), static_cast<std::size_t>(n));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("eigen", variants(), stream.device(), variant);
  if (n > 0) row.run(stream, n, matrix.data(), values.data());
}

}  // namespace gridstride::eigen

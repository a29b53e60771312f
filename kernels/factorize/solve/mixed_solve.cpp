#include "kernels/factorize/solve/mixed_solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/measures.hpp"
#include "kernels/factorize/measures/parts.hpp"
#include "kernels/factorize/solve/mixed_parts.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::factorize {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
/// A step of refinement that gains less than this has stalled.
constexpr double least_gain = 0.5;
constexpr int most_steps = 40;
/// Elements of L beyond this ask for exchanges of rows.
constexpr double largest_multiplier = 10;
/// Of one GMRES solve for a correction: how long, and how far its own residual has to fall.
constexpr int most_inner_steps = 100;
constexpr double inner_reduction = 1e-10;

/// The leading dimension of the float32 copy: rows begin at 16 bytes.
std::int64_t leading_of(std::int64_t n) { return (n + 3) / 4 * 4; }

/// A power of two that brings `size` to about 1, or as near as its range allows.
double reciprocal_power(double size) { return std::exp2(std::min(-std::ilogb(size), 1000)); }

template <class T>
std::vector<T> to_host(Stream& stream, Buffer<T> const& values) {
  std::vector<T> host(values.size());
  copy_async(std::span(host), values.span(), stream);
  stream.synchronize();
  return host;
}

/// The matrix's factors in float32 and what applies them.
class Factors {
 public:
  Factors(Stream& stream, Matrix<double const> a, double maximum, Variants const& variants)
      : n_(a.rows),
        variants_(variants),
        scale_(reciprocal_power(maximum)),
        values_(stream, MemorySpace::device, static_cast<std::size_t>(n_ * leading_of(n_))),
        vector_(stream, MemorySpace::device, static_cast<std::size_t>(n_)) {}

  /// Factors A as it stands, or with its rows exchanged. Returns whether the factors are of use.
  bool factor_in_place(Stream& stream, Matrix<double const> a);
  bool factor_exchanging(Stream& stream, Matrix<double const> a);

  /// result = weight·result + A⁻¹·v/unit, about, for v not much larger than `size`; in T's
  /// arithmetic.
  template <class T>
  void apply(Stream& stream, Matrix<double const> v, double size, double unit, double weight,
             Matrix<double> result);
  /// A power of two near what A⁻¹·v is for a v of this size, if the condition is good.
  double unit_of(double size) const { return scale_ / reciprocal_power(size); }

 private:
  Matrix<float> matrix() { return {values_.data(), n_, n_, leading_of(n_)}; }

  std::int64_t n_;
  Variants variants_;
  double scale_;
  Buffer<float> values_;
  Buffer<double> wide_values_;  // the same factors, once they are needed so
  Buffer<std::int32_t> order_;  // of the rows, where they were exchanged
  Buffer<double> vector_;
};

bool Factors::factor_in_place(Stream& stream, Matrix<double const> a) {
  accumulate(stream, scale_, a, 0, matrix());
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  auto const good = [&](std::int64_t columns) {
    return to_host(stream, status)[0] == 0 &&
           lower_triangle_maximum<float>(stream, matrix().block(0, 0, n_, columns)) <=
               largest_multiplier;
  };
  bool promising = true;
  lu_unpivoted<float>(stream, matrix(), status.span(), variants_,
                      [&](std::int64_t columns) { return promising = good(columns); });
  return promising && good(n_);
}

bool Factors::factor_exchanging(Stream& stream, Matrix<double const> a) {
  accumulate(stream, scale_, a, 0, matrix());
  order_ = Buffer<std::int32_t>(stream, MemorySpace::device, static_cast<std::size_t>(n_));
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  lu(stream, matrix(), order_.span(), status.span(), variants_);
  if (to_host(stream, status)[0] != 0) return false;
  auto const pivots = to_host(stream, order_);
  std::vector<std::int32_t> order(pivots.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::swap(order[i], order[static_cast<std::size_t>(pivots[i])]);
  copy_async(order_.span(), std::span<std::int32_t const>(order), stream);
  stream.synchronize();
  return true;
}

template <class T>
void Factors::apply(Stream& stream, Matrix<double const> v, double size, double unit, double weight,
                    Matrix<double> result) {
  Matrix<T> factors(nullptr, n_, n_, leading_of(n_));
  if constexpr (std::is_same_v<T, float>) {
    factors.data = values_.data();
  } else {
    if (wide_values_.size() == 0) {
      wide_values_ = Buffer<double>(stream, MemorySpace::device, values_.size());
      factors.data = wide_values_.data();
      accumulate<float, double>(stream, 1, matrix(), 0, factors);
    }
    factors.data = wide_values_.data();
  }
  Matrix<T> const x(reinterpret_cast<T*>(vector_.data()), n_, 1);
  accumulate(stream, reciprocal_power(size), v, 0, x, order_.data());
  Variants const variants{.factorize = variants_.factorize};
  triangular_solve(stream, Triangle::lower, Op::none, Diagonal::unit, factors, x, variants);
  triangular_solve(stream, Triangle::upper, Op::none, Diagonal::general, factors, x, variants);
  accumulate<T, double>(stream, unit_of(size) / unit, x, weight, result);
}

/// GMRES for A·d = r from d = 0, preconditioned from the left by the factors, whose own rounding
/// would spoil it in float32 (Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed.,
/// algorithm 9.4; classical Gram-Schmidt, twice). d is found in a unit of its own, so that no
/// square of it overflows or vanishes.
class Gmres {
 public:
  Gmres(Stream& stream, Matrix<double const> a, double norm, Factors& factors)
      : stream_(stream),
        a_(a),
        norm_(norm),
        factors_(factors),
        most_steps_(static_cast<int>(std::min<std::int64_t>(a.rows, most_inner_steps))),
        basis_(stream, MemorySpace::device, static_cast<std::size_t>(a.rows * (most_steps_ + 1))),
        product_(stream, MemorySpace::device, static_cast<std::size_t>(a.rows)),
        coefficients_(stream, MemorySpace::device, most_inner_steps + 1) {}

  /// x += d; returns the steps taken. `size` is the largest magnitude in r.
  int improve(Matrix<double const> r, double size, Matrix<double> x);

 private:
  Matrix<double> basis(int count) { return {basis_.data(), count, a_.rows}; }
  Matrix<double> vector(int k) { return {basis_.data() + k * a_.rows, a_.rows, 1}; }
  Matrix<double> column(int count) { return {coefficients_.data(), count, 1}; }
  std::vector<double> read(int count);
  double normalize(int k);

  Stream& stream_;
  Matrix<double const> a_;
  double norm_;
  Factors& factors_;
  int most_steps_;
  Buffer<double> basis_;  // a vector in each row
  Buffer<double> product_;
  Buffer<double> coefficients_;
};

std::vector<double> Gmres::read(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  copy_async(std::span(values), coefficients_.span().first(values.size()), stream_);
  stream_.synchronize();
  return values;
}

/// Divides basis vector k by its length, which it returns.
double Gmres::normalize(int k) {
  Matrix<double> const v = vector(k);
  matmul::multiply(stream_, 1, {v, Op::transpose}, v, 0, column(1));
  double const length = std::sqrt(read(1)[0]);
  Matrix<double> const line(v.data, 1, a_.rows), factor(coefficients_.data(), 1, 1);
  std::vector<double> const reciprocal = {length > 0 ? 1 / length : 0};
  copy_async(coefficients_.span().first(1), std::span(reciprocal), stream_);
  copy_async(product_.span(), std::span<double const>(v.data, product_.size()), stream_);
  matmul::multiply(stream_, 1, factor, Matrix<double>(product_.data(), 1, a_.rows), 0, line);
  stream_.synchronize();
  return length;
}

int Gmres::improve(Matrix<double const> r, double size, Matrix<double> x) {
  double const unit = factors_.unit_of(size);
  factors_.apply<double>(stream_, r, size, unit, 0, vector(0));
  double const start = normalize(0);
  if (!(start > 0) || !std::isfinite(start)) return 0;
  // The Hessenberg matrix's columns, turned to triangular form by rotations on the way.
  std::vector<std::vector<double>> h;
  std::vector<double> cosines, sines, right = {start};
  int k = 0;
  while (k < most_steps_ &&
         std::abs(right[static_cast<std::size_t>(k)]) > inner_reduction * start) {
    Matrix<double> const product(product_.data(), a_.rows, 1), next = vector(k + 1);
    matmul::multiply(stream_, 1, a_, vector(k), 0, product);
    factors_.apply<double>(stream_, product, norm_, 1, 0, next);
    std::vector<double> entries(static_cast<std::size_t>(k + 2), 0.0);
    for (int pass = 0; pass < 2; ++pass) {
      matmul::multiply(stream_, 1, basis(k + 1), next, 0, column(k + 1));
      matmul::multiply(stream_, -1, {basis(k + 1), Op::transpose}, column(k + 1), 1, next);
      auto const part = read(k + 1);
      for (std::size_t i = 0; i < part.size(); ++i) entries[i] += part[i];
    }
    double const length = normalize(k + 1);
    entries.back() = length;
    if (!std::isfinite(length)) return k;
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      double const upper = entries[i], lower = entries[i + 1];
      entries[i] = cosines[i] * upper + sines[i] * lower;
      entries[i + 1] = cosines[i] * lower - sines[i] * upper;
    }
    auto const last = static_cast<std::size_t>(k);
    double const radius = std::hypot(entries[last], entries[last + 1]);
    if (!(radius > 0)) return k;
    cosines.push_back(entries[last] / radius);
    sines.push_back(entries[last + 1] / radius);
    entries[last] = radius;
    right.push_back(-sines[last] * right[last]);
    right[last] *= cosines[last];
    h.push_back(std::move(entries));
    ++k;
    if (length == 0) break;
  }
  for (auto i = static_cast<std::size_t>(k); i-- > 0;) {
    for (std::size_t j = i + 1; j < static_cast<std::size_t>(k); ++j)
      right[i] -= h[j][i] * right[j];
    right[i] /= h[i][i];
  }
  if (k == 0) return 0;
  right.resize(static_cast<std::size_t>(k));
  copy_async(coefficients_.span().first(right.size()), std::span<double const>(right), stream_);
  matmul::multiply(stream_, unit, {basis(k), Op::transpose}, column(k), 1, x);
  stream_.synchronize();
  return k;
}

/// One right-hand side at a time.
class Refinement {
 public:
  Refinement(Stream& stream, Matrix<double const> a, double norm, Factors& factors)
      : stream_(stream),
        a_(a),
        norm_(norm),
        factors_(factors),
        residual_(stream, MemorySpace::device, static_cast<std::size_t>(a.rows)),
        solution_(stream, MemorySpace::device, static_cast<std::size_t>(a.rows)) {}

  /// Adds to `result` how it went; returns whether it converged. GMRES helps where rows were
  /// exchanged; where they were not, a solve that fails leaves nothing but its iterations there.
  bool solve(Matrix<double const> b, Matrix<double> x, MixedSolve& result);

 private:
  /// Sets the residual b − A·x of the present solution.
  ColumnNorms measure(Matrix<double const> b);

  Stream& stream_;
  Matrix<double const> a_;
  double norm_;
  Factors& factors_;
  Buffer<double> residual_;
  Buffer<double> solution_;
};

ColumnNorms Refinement::measure(Matrix<double const> b) {
  Matrix<double> const r(residual_.data(), a_.rows, 1), x(solution_.data(), a_.rows, 1);
  matmul::multiply(stream_, 1, a_, x, 0, r);
  ColumnNorms const norms = column_norms<double>(stream_, r, x, b).front();
  accumulate(stream_, 1, b, -1, r);
  return norms;
}

bool Refinement::solve(Matrix<double const> b, Matrix<double> x, MixedSolve& result) {
  double const goal = std::sqrt(static_cast<double>(a_.rows)) * epsilon;
  Matrix<double> const r(residual_.data(), a_.rows, 1), present(solution_.data(), a_.rows, 1);
  zero_async(solution_.span(), stream_);
  ColumnNorms norms = measure(b);
  double error = backward_error(norms, norm_);
  std::optional<Gmres> gmres;
  for (int step = 0; !(error <= goal) && step < most_steps; ++step) {
    double const previous = error;
    if (gmres) {
      result.iterations += gmres->improve(r, norms.residual, present);
    } else {
      factors_.apply<float>(stream_, r, norms.residual, 1, 1, present);
      ++result.iterations;
    }
    norms = measure(b);
    error = backward_error(norms, norm_);
    if (error <= goal || error <= least_gain * previous) continue;
    if (gmres || !result.exchanged_rows) break;
    // What a refinement that diverges leaves is far from the solution, though its residual may be
    // small beside it: GMRES begins anew.
    gmres.emplace(stream_, a_, norm_, factors_);
    result.used_gmres = true;
    zero_async(solution_.span(), stream_);
    norms = measure(b);
    error = backward_error(norms, norm_);
  }
  if (!(error <= goal) && !result.exchanged_rows) return false;
  accumulate(stream_, 1, Matrix<double const>(present), 0, x);
  result.backward_error = larger(result.backward_error, error);
  return error <= goal;
}

}  // namespace

MixedSolve mixed_solve(Stream& stream, Matrix<double const> a, Matrix<double const> b,
                       Matrix<double> x, Variants const& variants) {
  if (a.rows != a.columns || a.rows != b.rows || a.rows != x.rows || b.columns != x.columns)
    throw std::invalid_argument(fmt::format(
        "mixed_solve: A is {} x {}, B {} x {} and X {} x {} (A is square, B and X have its rows)",
        a.rows, a.columns, b.rows, b.columns, x.rows, x.columns));
  MixedSolve result;
  auto const stopped = [&](std::string_view reason) {
    result.reason = reason;
    return result;
  };
  if (b.empty()) {
    result.converged = true;
    return result;
  }
  MatrixNorms const norms = matrix_norms(stream, a);
  if (!(norms.maximum > 0) || !std::isfinite(norms.infinity))
    return stopped("the matrix is zero or not finite");
  Variants chosen = variants;
  if (chosen.matmul == "auto" && matmul::has_tf32(stream.device())) chosen.matmul = "tf32";
  Factors factors(stream, a, norms.maximum, chosen);
  Refinement refinement(stream, a, norms.infinity, factors);
  std::int64_t solved = 0;
  auto const solve_rest = [&] {
    while (solved < b.columns &&
           refinement.solve(b.block(0, solved, b.rows, 1), x.block(0, solved, x.rows, 1), result))
      ++solved;
    return solved == b.columns;
  };
  result.converged =
      stream.backend() == Backend::cuda && factors.factor_in_place(stream, a) && solve_rest();
  if (result.converged) return result;
  result.exchanged_rows = true;
  if (!factors.factor_exchanging(stream, a)) return stopped("a pivot is zero in float32");
  if (!solve_rest())
    return stopped("the refinement stalled: the matrix is too ill-conditioned for it");
  result.converged = true;
  return result;
}

std::size_t mixed_solve_bytes(std::int64_t n) {
  auto const rows = static_cast<std::size_t>(n);
  return rows * static_cast<std::size_t>(leading_of(n)) * (sizeof(float) + sizeof(double)) +
         rows * (sizeof(double) * (most_inner_steps + 5) + 64);
}

template <class From, class To>
void accumulate(Stream& stream, double scale, Matrix<From const> from, double weight, Matrix<To> to,
                std::int32_t const* order) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_accumulate(stream, scale, from, weight, to, order);
#else
  static_cast<void>(stream);
#endif
  parallel_for(from.rows, from.columns, [&](std::int64_t i) {
    From const* const source = from.data + (order == nullptr ? i : order[i]) * from.leading;
    for (std::int64_t j = 0; j < from.columns; ++j) {
      To& target = to.data[i * to.leading + j];
      double const added = scale * static_cast<double>(source[j]);
      target = static_cast<To>(weight == 0 ? added : added + weight * static_cast<double>(target));
    }
  });
}

}  // namespace gridstride::factorize

#pragma once

#include "kernels/krylov/state.hpp"

/// Passes of GMRES (gmres.cpp).
namespace gridstride::krylov {

/// Products of columns `first` … `first` + 7, as far as there are `count`, with w.
template <class T>
struct ColumnProducts {
  static constexpr int sums = 8;
  T const* columns;  ///< one after the other, `size` elements each
  std::int64_t size;
  int first, count;
  T const* w;
  double* products;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    T const own = w[i];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int c = 0; c < sums; ++c)
      if (first + c < count) sum[c] += exact(columns[(first + c) * size + i], own);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State&) const {
    for (int c = 0; c < sums && first + c < count; ++c) products[first + c] = sum[c];
  }
};

/// What GMRES knows of its vectors, in device memory: column j of the Hessenberg matrix is made
/// triangular by rotations as it comes.
struct Hessenberg {
  int restart;
  double *products, *columns, *c, *s, *right;

  /// Numbers that it needs for so many vectors.
  static std::int64_t elements(int restart) {
    return (restart + 1) + std::int64_t{restart + 1} * restart + 2 * restart + restart + 1;
  }
  static Hessenberg of(double* memory, int restart) {
    double* const columns = memory + restart + 1;
    double* const c = columns + std::int64_t{restart + 1} * restart;
    return {restart, memory, columns, c, c + restart, c + 2 * restart};
  }
  GRIDSTRIDE_HOST_DEVICE double* column(int j) const {
    return columns + std::int64_t{restart + 1} * j;
  }
};

/// w ← w − Σ products·columns: the first time of two, which leave w orthogonal to the columns as far
/// as rounding allows (Giraud, Langou, Rozložník and van den Eshof, "Rounding error analysis of the
/// classical Gram–Schmidt orthogonalization process", Numer. Math. 101 (2005)).
template <class T>
struct Orthogonalise {
  static constexpr int sums = 1;
  T const* columns;
  std::int64_t size;
  int count;
  T* w;
  Hessenberg h;
  bool again;  ///< the second time
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    double next = w[i];
    for (int c = 0; c < count; ++c) next -= exact(h.products[c], columns[c * size + i]);
    w[i] = static_cast<T>(next);
    sum[0] += next * next;
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    int const j = count - 1;
    double* const column = h.column(j);
    for (int c = 0; c < count; ++c) column[c] = h.products[c] + (again ? column[c] : 0);
    if (!again) return;
    double squares = sum[0];
    for (int c = 0; c < count; ++c) squares += column[c] * column[c];
    double const next = std::sqrt(sum[0]), size_of_column = std::sqrt(squares);
    if (!(squares <= std::numeric_limits<double>::max())) {
      state.stop = Stop::not_finite;
      return;
    }
    bool const exhausted = next <= nothing(state) * size_of_column;
    for (int c = 0; c < j; ++c) {
      double const upper = column[c], lower = column[c + 1];
      column[c] = h.c[c] * upper + h.s[c] * lower;
      column[c + 1] = h.c[c] * lower - h.s[c] * upper;
    }
    double const below = exhausted ? 0 : next;
    double const root = std::sqrt(column[j] * column[j] + below * below);
    if (size_of_column > state.largest) state.largest = size_of_column;
    // Of a singular matrix the last vector may leave nothing to solve with.
    bool const unsolvable = root <= nothing(state) * state.largest;
    h.c[j] = unsolvable ? 0 : column[j] / root;
    h.s[j] = unsolvable ? 1 : below / root;
    column[j] = unsolvable ? 0 : root;
    column[j + 1] = 0;
    h.right[j + 1] = -h.s[j] * h.right[j];
    h.right[j] *= h.c[j];
    state.alpha = exhausted ? 0 : 1 / next;
    record(state, std::abs(h.right[j + 1]));
    if (exhausted && state.stop == Stop::running) state.stop = Stop::exhausted;
  }
};

/// v ← v·α, where v is the residual of norm `norm` at the beginning of a cycle.
template <class T>
struct FirstColumn {
  static constexpr int sums = 0;
  T const* r;
  T* v;
  Hessenberg h;
  GRIDSTRIDE_HOST_DEVICE T begin(State const& state) const {
    return static_cast<T>(1 / state.norm);
  }
  GRIDSTRIDE_HOST_DEVICE void each(T factor, std::int64_t i, double*) const {
    v[i] = factor * r[i];
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const*, State& state) const { h.right[0] = state.norm; }
};
template <class T>
struct NextColumn {
  static constexpr int sums = 0;
  T* v;
  GRIDSTRIDE_HOST_DEVICE T begin(State const& state) const { return static_cast<T>(state.alpha); }
  GRIDSTRIDE_HOST_DEVICE void each(T factor, std::int64_t i, double*) const { v[i] *= factor; }
};

/// y ← Σ factors·columns, or y + that.
template <class T>
struct Combine {
  static constexpr int sums = 0;
  T const* columns;
  std::int64_t size;
  int count;
  double const* factors;
  bool add;
  T* y;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double*) const {
    double sum = add ? static_cast<double>(y[i]) : 0;
    for (int c = 0; c < count; ++c) sum += exact(factors[c], columns[c * size + i]);
    y[i] = static_cast<T>(sum);
  }
};

}  // namespace gridstride::krylov

#pragma once

#include "core/host_device.hpp"
#include "kernels/modes/complex.hpp"

/// Of a function that is called on a GPU: wherever it is used, it would take the compiler long.
#ifdef __CUDACC__
#define GRIDSTRIDE_CALLED __noinline__
#else
#define GRIDSTRIDE_CALLED
#endif

/// Functions of numbers and of small matrices that steps in modes are made of, in float64, on the
/// host and on the GPU.
namespace gridstride::modes {

/// Σ weights[l]·φ_l(argument·z), where φ_0 = exp and φ_(l+1)(z) = (φ_l(z) − 1/l!)/z, or
/// (above[0] + above[1]·z)/(below[0] + below[1]·z). Made by the functions beneath.
struct MatrixFunction {
  static constexpr int series_terms = 24;

  bool is_rational = false;
  double argument = 1;
  double weights[4] = {};
  double tail[4] = {};               ///< beside exp, of z^(−p)
  double series[series_terms] = {};  ///< of z^k
  double above[2] = {}, below[2] = {};
};

MatrixFunction entire(double argument, double w0, double w1, double w2, double w3);
MatrixFunction rational(double above0, double above1, double below0, double below1);

/// Of a number, for functions that are not rational. Near 0, where the terms of the formula cancel
/// each other, by the series of all of it; else as e^z·Σ w_l/z^l − Σ_p z^(−p)·Σ_l w_l/(l − p)!, whose
/// leading terms cancel beforehand, so that what decays as z^(−2) is right for large z, too.
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED inline Complex value_at(MatrixFunction const& f,
                                                                 Complex z) {
  z = f.argument * z;
  if (magnitude(z) <= 2) {
    Complex sum;
    for (int k = MatrixFunction::series_terms - 1; k >= 0; --k)
      sum = sum * z + Complex{f.series[k], 0};
    return sum;
  }
  Complex const inverse = Complex{1, 0} / z;
  Complex growing, rest;
  for (int l = 3; l >= 0; --l) {
    growing = growing * inverse + Complex{f.weights[l], 0};
    rest = rest * inverse + Complex{f.tail[l], 0};
  }
  return exponential(z) * growing - rest;
}

/// The divided difference f[x_1, …, x_n]. Apart, numbers make a quotient of differences. What lies
/// together, no two more than 1 apart, is inside of a circle that is well away from all of them:
///
///   f[x_1, …, x_n] = 1/(2πi)·∮ f(w)/Π(w − x_i) dw
///
/// by the trapezoidal rule, whose error falls as (3/4/radius)^points (A.-K. Kassam and L. N. Trefethen,
/// SIAM J. Sci. Comput. 26 (2005)); it is for equal numbers what the derivative is.
template <int n>
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED Complex divided_difference(MatrixFunction const& f,
                                                                    Complex const (&x)[n]) {
  if constexpr (n == 1) {
    return value_at(f, x[0]);
  } else {
    int a = 0, b = 1;
    double apart = -1;
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j)
        if (double const d = magnitude(f.argument * (x[i] - x[j])); d > apart) {
          apart = d;
          a = i;
          b = j;
        }
    if (apart > 1) {
      Complex without_a[n - 1], without_b[n - 1];
      for (int i = 0, p = 0, q = 0; i < n; ++i) {
        if (i != a) without_a[p++] = x[i];
        if (i != b) without_b[q++] = x[i];
      }
      return (divided_difference<n - 1>(f, without_a) - divided_difference<n - 1>(f, without_b)) /
             (x[b] - x[a]);
    }
    // In w·argument, so that the circle has the same size for all functions; f = g(argument·w).
    constexpr int points = 32;
    constexpr double radius = 3, pi = 3.14159265358979323846;
    Complex middle;
    for (int i = 0; i < n; ++i) middle = middle + (1.0 / n) * (f.argument * x[i]);
    Complex sum;
    for (int p = 0; p < points; ++p) {
      double const angle = 2 * pi * (p + 0.5) / points;
      Complex const out = {radius * std::cos(angle), radius * std::sin(angle)}, w = middle + out;
      Complex term = value_at(f, (1 / f.argument) * w) * out;
      for (int i = 0; i < n; ++i) term = term / (w - f.argument * x[i]);
      sum = sum + term;
    }
    double factor = 1.0 / points;
    for (int i = 1; i < n; ++i) factor *= f.argument;
    return factor * sum;
  }
}

template <int m>
struct Matrix {
  Complex at[m][m];
};

template <int m>
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED Matrix<m> product(Matrix<m> const& a, Matrix<m> const& b) {
  Matrix<m> result;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int k = 0; k < m; ++k) result.at[i][j] = result.at[i][j] + a.at[i][k] * b.at[k][j];
  return result;
}

/// (below0 + below1·A)⁻¹·(above0 + above1·A), by elimination with pivots.
template <int m>
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED Matrix<m> quotient(MatrixFunction const& f,
                                                            Matrix<m> const& a) {
  Matrix<m> left, right;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      left.at[i][j] = f.below[1] * a.at[i][j] + Complex{i == j ? f.below[0] : 0, 0};
      right.at[i][j] = f.above[1] * a.at[i][j] + Complex{i == j ? f.above[0] : 0, 0};
    }
  for (int k = 0; k < m; ++k) {
    int pivot = k;
    for (int i = k + 1; i < m; ++i)
      if (magnitude(left.at[i][k]) > magnitude(left.at[pivot][k])) pivot = i;
    for (int j = 0; j < m; ++j) {
      Complex const l = left.at[k][j], r = right.at[k][j];
      left.at[k][j] = left.at[pivot][j];
      right.at[k][j] = right.at[pivot][j];
      left.at[pivot][j] = l;
      right.at[pivot][j] = r;
    }
    for (int i = 0; i < m; ++i) {
      if (i == k) continue;
      Complex const factor = left.at[i][k] / left.at[k][k];
      for (int j = k; j < m; ++j) left.at[i][j] = left.at[i][j] - factor * left.at[k][j];
      for (int j = 0; j < m; ++j) right.at[i][j] = right.at[i][j] - factor * right.at[k][j];
    }
  }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) right.at[i][j] = right.at[i][j] / left.at[i][i];
  return right;
}

/// A turn of two coordinates, [c, s; −s̄, c] with a real c, that leaves 0 of the second of (a, b).
struct Turn {
  double c = 1;
  Complex s;

  GRIDSTRIDE_HOST_DEVICE static Turn of(Complex a, Complex b) {
    double const size = hypot(magnitude(a), magnitude(b));
    if (magnitude(b) == 0 || size == 0) return {};
    if (magnitude(a) == 0) return {0, (1 / size) * conjugate(b)};
    double const of_a = magnitude(a);
    return {of_a / size, (1 / (of_a * size)) * (a * conjugate(b))};
  }
};

/// A = Q·T·Qᴴ with a unitary Q and T of an upper triangle.
template <int m>
struct Schur {
  Matrix<m> t, q;

  /// Rows k and k + 1 of T turned, and its columns back, so that Q·T·Qᴴ stays.
  GRIDSTRIDE_HOST_DEVICE void turn_rows(int k, Turn turn) {
    for (int j = 0; j < m; ++j) {
      Complex const a = t.at[k][j], b = t.at[k + 1][j];
      t.at[k][j] = turn.c * a + turn.s * b;
      t.at[k + 1][j] = turn.c * b - conjugate(turn.s) * a;
    }
  }
  GRIDSTRIDE_HOST_DEVICE void turn_columns(int k, Turn turn) {
    for (Matrix<m>* const x : {&t, &q})
      for (int i = 0; i < m; ++i) {
        Complex const a = x->at[i][k], b = x->at[i][k + 1];
        x->at[i][k] = turn.c * a + conjugate(turn.s) * b;
        x->at[i][k + 1] = turn.c * b - turn.s * a;
      }
  }
};

/// Both eigenvalues of two rows as what they differ by from the diagonal: a + shift, d − shift; and
/// `gap` with shift = b·c/gap, the larger of the two that there are.
struct Eigenvalues {
  Complex shift, gap;

  GRIDSTRIDE_HOST_DEVICE static Eigenvalues of(Complex a, Complex b, Complex c, Complex d) {
    Complex const half = 0.5 * (a - d), root = square_root(half * half + b * c);
    Complex const plus = half + root, minus = half - root;
    Complex const gap = magnitude(plus) >= magnitude(minus) ? plus : minus;
    if (magnitude(gap) == 0) return {};
    return {(b * c) / gap, gap};
  }
};

/// By turns to a triangle and a diagonal below it, then the QR method with Wilkinson's shifts; two
/// rows have their eigenvector at once.
template <int m>
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED Schur<m> schur(Matrix<m> const& a) {
  Schur<m> s;
  s.t = a;
  for (int i = 0; i < m; ++i) s.q.at[i][i] = {1, 0};
  auto& t = s.t.at;
  for (int j = 0; j + 2 < m; ++j)
    for (int i = m - 1; i > j + 1; --i) {
      Turn const turn = Turn::of(t[i - 1][j], t[i][j]);
      s.turn_rows(i - 1, turn);
      s.turn_columns(i - 1, turn);
      t[i][j] = {};
    }
  constexpr double epsilon = 2.220446049250313e-16;
  int end = m - 1;
  for (int tries = 0; end > 0 && tries < 60 * m; ++tries) {
    int begin = end;
    while (begin > 0) {
      double const beside = magnitude(t[begin][begin]) + magnitude(t[begin - 1][begin - 1]);
      if (magnitude(t[begin][begin - 1]) <= epsilon * beside) break;
      --begin;
    }
    if (begin > 0) t[begin][begin - 1] = {};
    if (begin == end) {
      --end;
      continue;
    }
    auto const pair =
        Eigenvalues::of(t[end - 1][end - 1], t[end - 1][end], t[end][end - 1], t[end][end]);
    if (begin == end - 1) {
      // (gap, c) and (b, shift) are the eigenvector of a + shift.
      Complex const x = pair.gap, y = t[end][end - 1];
      Turn const turn = Turn::of(x, y);
      s.turn_rows(begin, turn);
      s.turn_columns(begin, turn);
      t[end][end - 1] = {};
      end -= 2;
      continue;
    }
    Complex shift = t[end][end] - pair.shift;
    if (tries % 11 == 10) shift = shift + Complex{magnitude(t[end][end - 1]), 0};
    for (int i = 0; i < m; ++i) t[i][i] = t[i][i] - shift;
    Turn turns[m];
    for (int k = begin; k < end; ++k) {
      turns[k] = Turn::of(t[k][k], t[k + 1][k]);
      s.turn_rows(k, turns[k]);
      t[k + 1][k] = {};
    }
    for (int k = begin; k < end; ++k) s.turn_columns(k, turns[k]);
    for (int i = 0; i < m; ++i) t[i][i] = t[i][i] + shift;
  }
  return s;
}

/// f(T) of a triangle: sums over all ways from i to j (C. Davis, Linear Algebra Appl. 6 (1973)),
///
///   f(T)_ij = Σ t_(i,k)·t_(k,l)·…·t_(…,j)·f[t_ii, t_kk, …, t_jj]   for i < k < l < … < j
template <int m>
GRIDSTRIDE_HOST_DEVICE GRIDSTRIDE_CALLED Complex triangle_entry(MatrixFunction const& f,
                                                                Matrix<m> const& t, int i, int j) {
  Complex sum;
  int const between = j - i - 1;
  for (int chosen = 0; chosen < 1 << between; ++chosen) {
    Complex x[4] = {t.at[i][i]}, way = {1, 0};
    int count = 1, last = i;
    for (int k = i + 1; k <= j; ++k) {
      if (k < j && (chosen >> (k - i - 1) & 1) == 0) continue;
      way = way * t.at[last][k];
      x[count++] = t.at[k][k];
      last = k;
    }
    if (magnitude(way) == 0) continue;
    if (count == 2) {
      Complex const two[] = {x[0], x[1]};
      sum = sum + way * divided_difference<2>(f, two);
    } else if (count == 3) {
      Complex const three[] = {x[0], x[1], x[2]};
      sum = sum + way * divided_difference<3>(f, three);
    } else {
      sum = sum + way * divided_difference<4>(f, x);
    }
  }
  return sum;
}

/// f(A), for any A, also one without a full set of eigenvectors; `s` is its Schur form.
template <int m>
GRIDSTRIDE_HOST_DEVICE Matrix<m> function_of(MatrixFunction const& f, Matrix<m> const& a,
                                             Schur<m> const& s) {
  if (f.is_rational) return quotient(f, a);
  Matrix<m> of_t, adjoint;
  for (int i = 0; i < m; ++i)
    for (int j = i; j < m; ++j)
      of_t.at[i][j] = i == j ? value_at(f, s.t.at[i][i]) : triangle_entry(f, s.t, i, j);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) adjoint.at[i][j] = conjugate(s.q.at[j][i]);
  return product(product(s.q, of_t), adjoint);
}

}  // namespace gridstride::modes

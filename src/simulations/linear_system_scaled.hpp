#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "kernels/sparse/equilibrate.hpp"

/// Sparse systems in units of their own, for `linear_system` alone.
///
///   A'·x' = b'     a_ij = a'_ij·2^(rows_i + columns_j),  b_i = b'_i·2^(rows_i + e),
///                  x_j = x'_j·2^(e − columns_j)
///
/// All of it is exact but for the rounding to T, so that neither the units of equations nor those of
/// unknowns decide on what can be solved.
namespace gridstride::linear_system {

/// What x' leaves of its equations, summed in float64.
struct Residual {
  double norm = 0;             ///< ‖b − A·x‖₂
  double relative = 0;         ///< ‖b − A·x‖₂ / ‖b‖₂; 0 where both are 0
  double scaled_relative = 0;  ///< ‖b' − A'·x'‖₂ / ‖b'‖₂
  double backward_error = 0;   ///< ‖b − A·x‖∞ / (‖A‖∞·‖x‖∞ + ‖b‖∞)
  double scaled_backward_error = 0;
};

/// What part is of the whole; 0 where there is none of it.
inline double ratio(double part, double whole) { return part == 0 ? 0 : part / whole; }

template <class T>
class ScaledSystem {
 public:
  /// What all threads fill.
  template <class U>
  using Values = typename Csr<U>::template Array<U>;

  ScaledSystem() = default;
  ScaledSystem(Csr<double> matrix, bool symmetric);

  Csr<T> const& rows() const { return rows_; }
  /// What 2^columns_j are, beside the largest; empty where they are all alike, or differ by more than T
  /// bears.
  std::vector<T> units_of_unknowns() const;

  /// b' of a column of b; its largest element is in [1, 2), and `exponent` becomes e.
  Values<T> scaled_right(std::span<double const> b, int& exponent) const;
  /// A row of b that b' has lost digits of, being too small for T there, where that is more than a part
  /// `tolerance` of ‖b‖₂: the one that has lost most.
  std::optional<std::size_t> lost_of_right(std::span<double const> b, std::span<T const> scaled,
                                           int exponent, double tolerance) const;
  /// x in T. An element that T cannot hold is infinite, or has lost digits.
  Values<T> solution(std::span<T const> scaled, int exponent) const;
  /// x' of x, as far as T tells.
  Values<double> back(std::span<T const> solution, int exponent) const;
  /// The first element of x that T cannot hold with all of its digits, though x' has one there.
  std::optional<std::size_t> first_lost(std::span<T const> scaled, int exponent) const;
  /// The same as a number: its logarithm to the base 10.
  double magnitude_of(T scaled, std::size_t place, int exponent) const;

  /// Of x' in T or in float64.
  template <class X>
  Residual residual(std::span<X const> scaled, std::span<T const> right, int exponent) const;
  /// Of several x' in T, with one read of the matrix.
  std::vector<Residual> residuals(std::span<Values<T> const> scaled,
                                  std::span<Values<T> const> rights,
                                  std::span<int const> exponents) const;
  /// b' − A'·x', summed in float64, by a power of two near 1; 0 where it is.
  struct LeftOver {
    Values<T> unit;
    int exponent = 0;  ///< of that power
    bool is_zero = true;
  };
  /// 0, too, where a change of a row's elements and of b by `rounding` of them explains it.
  LeftOver left_over(std::span<T const> scaled, std::span<T const> right, double rounding) const;
  /// ‖b − A·x‖∞ / ‖|A|·|x| + |b|‖∞, both as given: so much roundings of terms have to be to explain it.
  double share_of_terms(std::span<T const> scaled, std::span<T const> right, int exponent) const;
  /// What rounding may make of `scaled_backward_error`.
  double rounding() const;

 private:
  template <class X>
  struct Column;
  std::int64_t work_of_row() const;
  template <class X>
  std::vector<Residual> residuals_of(std::span<Column<X> const> columns) const;

  Csr<T> rows_;
  sparse::Exponents exponents_;
  double norm_ = 0, plain_norm_ = 0;  // ‖A'‖∞, ‖A‖∞
};

}  // namespace gridstride::linear_system

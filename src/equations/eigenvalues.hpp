#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace gridstride::equations {

/// A small square matrix, row after row.
struct Matrix {
  std::size_t size;
  std::vector<std::complex<double>> entries;

  explicit Matrix(std::size_t n) : size(n), entries(n * n) {}
  std::complex<double>& operator()(std::size_t i, std::size_t j) { return entries[i * size + j]; }
  std::complex<double> operator()(std::size_t i, std::size_t j) const {
    return entries[i * size + j];
  }
};

/// All eigenvalues, in no order, by the QR method with shifts (Golub and Van Loan, Matrix
/// Computations, ch. 7). Throws `std::invalid_argument` for entries that are not finite.
std::vector<std::complex<double>> eigenvalues(Matrix matrix);

/// Of a matrix without negative entries: its spectral radius (Perron's eigenvalue) rounded up, and
/// a positive vector x with A·x ≤ radius·x.
struct Perron {
  double radius;
  std::vector<double> vector;
};
Perron perron(std::size_t size, std::vector<double> entries);
struct PerronOfTwo {
  double radius;
  std::array<double, 2> vector;
};
PerronOfTwo perron_of_two(std::array<double, 4> entries);

/// What makes a matrix without negative entries as symmetric as can be: a_ij·s_j/s_i.
std::vector<double> symmetric_scale(std::size_t size, std::vector<double> const& entries);

}  // namespace gridstride::equations

#pragma once

#include "core/csr.hpp"

/// Rows and columns of a matrix in other units, by powers of two: exact, and taken back exactly.
namespace gridstride::sparse {

/// a_ij = a'_ij·2^(rows_i + columns_j).
struct Exponents {
  Csr<double>::Array<int> rows, columns;
};

/// The exponents with which the largest element of each row and each column that is not 0 is within
/// a few powers of two of 1; the same for rows and columns where `symmetric`. Of a symmetric positive
/// definite matrix they make the diagonal lie in [1, 4), which bounds all else. They do not depend
/// on threads.
/// Source: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices",
/// RAL-TR-2001-034; from where Curtis and Reid, "On the automatic scaling of matrices for Gaussian
/// elimination", J. Inst. Math. Appl. 10 (1972), come to, unless largest elements are near 1 already.
Exponents equilibrate(Csr<double> const& matrix, bool symmetric);

/// A', rounded to T, in the matrix's own memory as far as that goes. An element that is too small for T
/// beside the largest of its row and column becomes 0.
template <class T>
Csr<T> scaled(Csr<double> matrix, Exponents const& exponents);

}  // namespace gridstride::sparse

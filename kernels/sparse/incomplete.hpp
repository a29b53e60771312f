#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/stream.hpp"

/// Incomplete factors of sparse matrices, to precondition by:
///
///   A + α·S ≈ M = (1 + L)·D·(1 + U)      S = diag(Σ_j |a_ij|), with the sign of a_ii
///
/// L and U, strictly lower and upper, have elements where A has some, and M agrees with A + α·S there
/// and on the diagonal. Where elimination fills nothing in, as of a tridiagonal matrix, M is A.
///
/// Some matrices have no such factors: a pivot is 0 or, of a definite matrix, not positive, or so
/// small that M⁻¹ is beyond what T can hold. α is 0 where that does, else the first of
/// 2⁻¹⁰, 2⁻⁹, … 2 that does; a matrix whose diagonal exceeds the rest of each row always has factors.
/// Sources: Meijerink and van der Vorst, "An iterative solution method for linear systems of which the
/// coefficient matrix is a symmetric M-matrix", Math. Comp. 31 (1977); Manteuffel, "An incomplete
/// factorization technique for positive definite linear systems", Math. Comp. 34 (1980).
namespace gridstride::sparse {

enum class Incomplete {
  cholesky,  ///< IC(0): of a symmetric A; U = Lᵀ and D > 0, so that M is symmetric positive definite
  lu,        ///< ILU(0)
};

/// In float64, on the host. The bits do not depend on threads.
struct IncompleteFactors {
  Csr<double> lower, upper;      ///< L, U
  std::vector<double> diagonal;  ///< D
  double shift = 0;              ///< α
  std::int64_t failed = -1;      ///< the row that asked for it, −1 without any
};

/// For values of T. Throws `std::invalid_argument` for arrays that are no matrix, one that is not
/// square, one that is not symmetric of `cholesky`, and a row whose elements are all 0 or not finite.
template <class T>
IncompleteFactors factorize(Csr<T> const& matrix, Incomplete kind);

template <class T>
class Triangle;

/// M⁻¹ on a device: a forward and a backward solve. Rows that wait for nobody are the first level,
/// those that wait for rows of the first levels the next one (triangle.hpp); the rows of a level are
/// solved at the same time. Each row's sum has the order of its columns: the same bits for any number
/// of threads, and the host's and a GPU's differ by rounding alone.
template <class T>
class IncompleteSolver {
 public:
  /// Waits for the stream, so that the factors may go.
  IncompleteSolver(Stream& stream, IncompleteFactors const& factors);
  ~IncompleteSolver();
  IncompleteSolver(IncompleteSolver&&) noexcept;

  /// Queues z ← M⁻¹·r; r and z do not overlap. One at a time.
  void solve(Stream& stream, std::span<T const> r, std::span<T> z) const;
  /// How many levels the forward solve has, one after the other.
  std::int64_t levels() const;

 private:
  std::unique_ptr<Triangle<T>> lower_, upper_;
};

}  // namespace gridstride::sparse

#pragma once

#include <cstdint>
#include <string_view>

#include "core/stream.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/support/matrix.hpp"

namespace gridstride::factorize {

/// How a mixed-precision solve went.
struct MixedSolve {
  bool converged = false;
  int iterations = 0;           ///< refinement steps, and inner GMRES steps where it came to that
  bool exchanged_rows = false;  ///< always on the host; on a GPU where A as it stands did not do
  bool used_gmres = false;      ///< plain refinement stalled
  double backward_error = 0;    ///< the largest of any right-hand side
  std::string_view reason;      ///< why it did not converge, in words for a user; empty otherwise
};

/// Solves A·X = B to the backward error of float64, from an LU factorization of A in float32 whose
/// updates run in `variants.matmul` ("auto" here: `tf32` on a GPU that has it). X is refined in
/// float64 with those factors; where the refinement stalls, by GMRES preconditioned with them.
/// On a GPU, where the search for pivots takes most of the time, it first tries without: as long as
/// pivots are good, no element of L exceeds 10, and the refinement goes on, that is kept.
/// Converged means ‖b − A·x‖∞ ≤ √n·ε·(‖A‖∞·‖x‖∞ + ‖b‖∞) for every column. Where it is not reached,
/// X is of no use. Waits for its own work, as it decides by the residuals. A and B are not changed;
/// the matrices are row-major in the stream's device memory.
/// Source: Higham, Mary, "Mixed precision algorithms in numerical linear algebra", Acta Numerica 31
/// (2022), sections 5 and 6; Carson, Higham, SIAM J. Sci. Comput. 40 (2018) A817 (GMRES); the limit
/// is that of threshold pivoting, Duff, Erisman, Reid, "Direct Methods for Sparse Matrices", 2nd
/// ed., 5.2.
MixedSolve mixed_solve(Stream& stream, Matrix<double const> a, Matrix<double const> b,
                       Matrix<double> x, Variants const& variants = {});

/// Bytes of device memory that it takes beside its arguments, at most.
std::size_t mixed_solve_bytes(std::int64_t n);

}  // namespace gridstride::factorize

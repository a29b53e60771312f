#pragma once

#include <cstddef>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/amg/amg.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/poisson/poisson.hpp"

/// Algebraic multigrid of the equation's matrix, as a preconditioner of conjugate gradients: for
/// coefficients that jump from point to point, whose equations no coarser grid has.
namespace gridstride::poisson {

/// The matrix of `symmetric_operator`, with a row for each point of the grid, those of known ones empty,
/// and what u = 1 is in its unknowns.
struct SymmetricRows {
  amg::Rows<double> rows;
  Buffer<double> constants;
};

/// Throws `std::invalid_argument` for an equation that ranks share, and for more points than
/// `most_sparse_rows`. Waits for the stream.
template <class T>
SymmetricRows symmetric_rows(Stream& stream, Equation<T> const& equation, int exponent,
                             double const* roots);

/// A cycle for it; throws the same. `singular` is an equation that constants solve without a source.
template <class T>
krylov::Preconditioner<double> aggregation(Stream& stream, Equation<T> const& equation,
                                           bool singular, int exponent, double const* roots);

/// Device memory that such a preconditioner takes, at most.
std::size_t aggregation_bytes(Grid const& grid);

}  // namespace gridstride::poisson

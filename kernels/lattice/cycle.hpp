#pragma once

#include <cstddef>

#include "core/precision.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/lattice/lattice.hpp"

/// A preconditioner for the matrices of family `lattice`: one V-cycle of family `multigrid` for the
/// neighbours along the axes alone, whose matrix it inverts nearly (to about a twentieth).
///
/// With all neighbours too the sines of the grid are the eigenvectors, and eigenvalues are 7/3 to 9
/// times as large in 3D, 1 to 3 times in 2D: with c the cosines of an eigenvector along the axes both
/// 27 − Π(1 + 2c) and 6 − 2Σc are linear in each c, so that their quotient is largest and smallest at
/// c = ±1. The condition is at most 27/7, or 3, whatever the size of the grid.
namespace gridstride::lattice {

/// Whether a grid's axes are no longer than levels can have them.
bool has_cycle(GridPoints const& points);

/// z ← about M⁻¹·r, for r whose values are not much larger than 1. The cycle is linear, but not quite
/// symmetric: conjugate gradients take it with `Options::flexible`, MINRES does not. `dims` is that of
/// `sparse::stencil_matrix`. Makes the levels; waits for the stream. Throws `std::invalid_argument`
/// for a grid without a cycle.
template <class T>
krylov::Preconditioner<T> cycle(Stream& stream, GridPoints const& points, int dims = 0);

/// Device memory that it takes, at most.
std::size_t cycle_bytes(Backend backend, GridPoints const& points, Precision precision,
                        int dims = 0);

}  // namespace gridstride::lattice

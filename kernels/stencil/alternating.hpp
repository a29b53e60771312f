#pragma once

#include <array>

#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/stencil/stencil.hpp"

/// Half steps of the alternating-direction method of D. W. Peaceman and H. H. Rachford ("The
/// numerical solution of parabolic and elliptic differential equations", J. SIAM 3, 1955) in two
/// dimensions, each in one pass over memory.
namespace gridstride::stencil {

/// With L_a what diffusion of constant α along axis a makes of u, and what Neumann sides let in,
///
///   (1 − factor·L_along) out = (1 + factor·L_across) in
///
/// so that one along each axis, with factor = dt/2, are a Crank–Nicolson step to second order.
/// Arrays lie in the stream's device memory, `grid.size()` values each. A side's values are what
/// `in` and `out` are on a Dirichlet side and ∂u/∂n on a Neumann one; where Dirichlet sides meet the
/// first axis counts.
template <class T>
struct HalfStep {
  Grid grid;
  int along = 0;
  double diffusivity = 0;  ///< m²/s
  double factor = 0;       ///< s
  T const* in = nullptr;
  T* out = nullptr;  ///< not `in`
  std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> sides;
};

/// Whether a device makes such half steps with such a factor: grids of two dimensions, on a GPU of
/// compute capability 9.0, with 3 to 8192 points along an axis, Dirichlet, Neumann or periodic
/// sides, and factor·α of at most some 60 squared lengths of the lines: they are solved as parts of
/// infinite ones, which loses digits beyond.
template <class T>
bool makes_half_steps(Device const& device, HalfStep<T> const& step);

/// Queues one. Throws `std::invalid_argument` for what the device does not make, a missing array and
/// `out` equal to `in`. Never synchronises.
template <class T>
void half_step(Stream& stream, HalfStep<T> const& step);

}  // namespace gridstride::stencil

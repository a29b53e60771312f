#pragma once

#include <array>

#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/stencil/stencil.hpp"

/// Steps of the alternating-direction method of D. W. Peaceman and H. H. Rachford ("The numerical
/// solution of parabolic and elliptic differential equations", J. SIAM 3, 1955) in two dimensions, in
/// two passes over memory.
namespace gridstride::stencil {

/// With L_a what diffusion of constant α along axis a makes of u, and what Neumann sides let in,
///
///   (1 − dt/2·L_x) v = (1 + dt/2·L_y) u,   (1 − dt/2·L_y) u' = (1 + dt/2·L_x) v,
///
/// a Crank–Nicolson step to second order where sides do not change in time. Arrays lie in the
/// stream's device memory, `grid.size()` values each. A side's values are what u is on a Dirichlet
/// side, before the step too, and ∂u/∂n on a Neumann one; where Dirichlet sides meet the first axis
/// counts. Of r = dt/2·α/h² some √r roundings of u are lost.
template <class T>
struct AlternatingStep {
  Grid grid;
  double diffusivity = 0;  ///< α in m²/s
  double step = 0;         ///< dt in s
  T* u = nullptr;
  T* work = nullptr;  ///< of any values
  std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> sides;
};

/// Whether a device makes such a step: on a grid of two dimensions with 3 to 8192 points along each
/// axis, between Dirichlet, Neumann or periodic sides, on a GPU of compute capability 9.0 or higher
/// with 200 KiB of shared memory for a block, and dt·α of at most some 120 squared lengths of the
/// shorter axis: lines are solved as parts of infinite ones, which loses digits beyond.
template <class T>
bool takes_alternating(Device const& device, AlternatingStep<T> const& step);

/// Lines along an axis of a grid, (1 − reach·δ²) x = in with δ² the second difference, by the same
/// means: of an axis along which, or across all of which, lines lie in rows of memory. What `in` has
/// at a Dirichlet end is x there; Neumann ends have no slope. All values have to be finite.
template <class T>
struct LineSolve {
  Grid grid;
  int axis = 0;
  double reach = 0;
  std::array<SideKind, 2> ends;
  T const* in = nullptr;
  T* out = nullptr;  ///< x; may be `in`
};

/// Whether a device solves such lines: as `takes_alternating`, for one axis.
template <class T>
bool takes_lines(Device const& device, LineSolve<T> const& lines);

/// Queues it. Throws `std::invalid_argument` for what the device does not take.
template <class T>
void solve_lines(Stream& stream, LineSolve<T> const& lines);

/// Queues a step. Throws `std::invalid_argument` for what the device does not take, and for arrays
/// that are missing or the same. Never synchronises.
template <class T>
void step_alternating(Stream& stream, AlternatingStep<T> const& step);

}  // namespace gridstride::stencil

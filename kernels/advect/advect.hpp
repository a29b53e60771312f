#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "grid/grid.hpp"
#include "kernels/advect/advect_point.cuh"

/// Kernel family `advect`: explicit steps of u_t + ∇·(v u) = 0 on a uniform grid.
namespace gridstride::advect {

/// One step or Runge-Kutta stage:
///
///   out = base + in_weight·(in − base) − factor·Σ_a (F_{i+1/2} − F_{i−1/2})/h_a
///
/// u and v are values at the points, F the numerical flux at the faces between them.
///
/// `upwind`: F = ṽ·u of the side that the flow comes from, ṽ the mean of v on both. Of first order.
///
/// `lax_wendroff` (Lax and Wendroff, Comm. Pure Appl. Math. 13 (1960)): F = (f + f')/2 −
/// dt/(2h)·ṽ·(f' − f) − ½·min(|v' − v|, h/dt − dt/h·ṽ²)·(u' − u), f = v·u. In several dimensions the
/// axes follow each other within the step; alternating their order (`reversed`) makes two steps of
/// second order (Strang, SIAM J. Numer. Anal. 5 (1968)). A whole step: it takes no base.
///
/// `weno5`: Jiang and Shu's finite-difference WENO scheme of fifth order (J. Comput. Phys. 126
/// (1996)), with weights of the kind of Borges and others (J. Comput. Phys. 227 (2008)) made of
/// ratios of differences (`Shares`), to be combined with a Runge-Kutta method. All schemes give u
/// in another power of two the same digits; `weno5` needs |u| below a 64th of the largest number.
/// Where v is constant, u is reconstructed from the side that the flow comes from. Where it is a
/// field, v·u is split into (v ± α)·u/2, α the largest speed along that axis (Lax-Friedrichs).
///
/// All arrays are in the stream's device memory, `grid.size()` values each, x fastest. `out` may be
/// `base` but not `in`. Beyond an open side a line goes on as a polynomial through its last points
/// (of degree 0, 1 and 4 for the three schemes; of weno5 beside fields of velocity as far as these
/// are smooth, `careful_value`); `value_beside` and `courant_beside` say what is there beside fields
/// of velocity. A point on an open side where the flow comes in, by more than `along` of the largest
/// speed, in Courant numbers, has the side's value afterwards: that of its face's array
/// (`grid.face_size(axis)` values, the remaining axes in their order), or zero. Where several such
/// sides meet, the first axis counts.
///
/// The host's `threads` takes subnormal numbers for zero (`FlushSubnormals`): around edges, weno5
/// would spend most of its time on them. Each step may lose as much as the least normal number, and a
/// small u stands still: `threads_subnormal` keeps them.
template <class T>
struct AdvectionStep {
  struct Side {
    bool periodic = true;       ///< both sides of an axis, or none
    T const* inflow = nullptr;  ///< u where the flow comes in; null: zero
    /// The grid is a part of a larger one that goes on here: `out` is left as it is within the reach
    /// of the scheme. Of an axis that is not periodic.
    bool cut = false;
  };
  struct Velocity {
    double constant = 0;       ///< m/s, when `field` is null
    T const* field = nullptr;  ///< at the points
    double largest = 0;        ///< at least every |v| of the field
  };

  Grid grid;
  Scheme scheme = Scheme::upwind;
  T const* in = nullptr;
  T* out = nullptr;
  T const* base = nullptr;  ///< null: in
  double in_weight = 0;     ///< only with a base
  double factor = 0;        ///< s: the time step, or a share of it
  std::array<Velocity, 3> velocity;
  /// Of the largest speed: a flow through a side that is no faster goes along it. So do walls have it whose
  /// velocity is a rounding of 0, as sin(pi) is, and what comes in by less moves nothing in a million steps.
  double along = 0x1p-20;
  bool reversed = false;  ///< lax_wendroff: from the last axis to the first
  std::array<std::array<Side, 2>, 3> sides;
  bool beside = false;  ///< other kernels run meanwhile: this one need not fill the device
};

template <class T>
using AdvectionFunction = void(Stream&, int dims, Scheme, AdvectionArguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend. GPU rows of a build without
/// CUDA have no function.
template <class T>
std::span<Variant<AdvectionFunction<T>> const> variants();

/// The variant that `auto` means: the fastest measured.
std::string_view default_variant(Backend backend);

/// Queues one step. `variant` is a row's name or "auto".
/// Throws `std::invalid_argument` for a missing array, `out` equal to `in`, an axis with fewer than
/// three points, an axis that is periodic on one side only, or cut and periodic, a base for `lax_wendroff`, an
/// `in_weight` without a base, or a variant that this backend does not have. Never synchronises.
template <class T>
void advect(Stream& stream, AdvectionStep<T> const& step, std::string_view variant = "auto");

/// Queues u = the side's value at every point of an open side where the flow comes in, in
/// `step.out`; of the rest of the step, the grid, the velocities and the sides count.
template <class T>
void impose_inflow(Stream& stream, AdvectionStep<T> const& step);

/// Σ_a ν_a up to which waves are stable by `weno5`, see below.
inline constexpr double stable_courant_number = 1.4349;

/// The largest stable step (s) for the largest speeds (m/s) along the axes; infinite where all are
/// zero. With the Courant numbers ν_a = |v_a|·dt/h_a:
///
///   upwind        Σ_a ν_a ≤ 1: every new value is then a sum of old ones with positive weights
///   lax_wendroff  max_a ν_a ≤ 1 (von Neumann, axis by axis)
///   weno5         Σ_a ν_a ≤ 1.4349, with the third-order Runge-Kutta method and linear weights
///                 (von Neumann; the bound of Wang and Spiteri, SIAM J. Numer. Anal. 45 (2007))
double step_limit(Scheme scheme, Grid const& grid, std::array<double, 3> const& largest_speed);

}  // namespace gridstride::advect

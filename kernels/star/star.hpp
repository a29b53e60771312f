#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "grid/grid.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/star/star_point.cuh"

/// Kernel family `star`: waves by stencils in the shape of a star, of radius 1 to 4, in steps that
/// join three moments.
///
/// The Laplacian is a sum of 1D convolutions, one along each axis, of order 2·radius:
///
///   L(u)_p = Σ_axes Σ_k w_k·(u_{p−k} + u_{p+k} − 2·u_p)/h²,   k = 1 … radius
///
/// with the central weights w_k (B. Fornberg, "Generation of finite difference formulas on
/// arbitrarily spaced grids", Mathematics of Computation 51 (1988)). Beyond a side the array goes
/// on: around the axis (periodic), with the other sign about the point on the side (fixed: u = 0
/// there), or mirrored about it (free: ∂u/∂n = 0).
namespace gridstride::star {

/// One step of
///
///   out = in + [(1 − δ)·ratio·(in − previous) + factor·(c²·L(in) + s)]/(1 + δ)
///
/// with δ = damping_time·(σ_x + σ_y + σ_z), where each σ depends on the place along its axis alone.
/// For u_tt + 2σ·u_t = c²∇²u + s, with a step τ after one of τ', ratio = τ/τ', damping_time =
/// (τ + τ')/2 and factor = τ·(τ + τ')/2; with equal steps this is the leapfrog scheme.
///
/// All arrays are in the stream's device memory, `grid.size()` values each, x fastest; a σ has a
/// value for each point of its axis. `out` may be `previous`, and overlaps no other array. On fixed
/// sides out = 0.
template <class T>
struct LeapfrogStep {
  Grid grid;
  int order = 2;  ///< of the Laplacian: 2, 4, 6 or 8
  T const* in = nullptr;
  T const* previous = nullptr;
  T* out = nullptr;
  double ratio = 1;
  double factor = 0;                       ///< s²
  double speed_squared = 0;                ///< c² in m²/s², when the field is null
  T const* speed_squared_field = nullptr;  ///< c² at the points
  T const* source = nullptr;               ///< s at the points; null for none
  double damping_time = 0;                 ///< s
  std::array<T const*, 3> damping = {};    ///< σ along each axis in 1/s; null for none
  /// Periodic, fixed or free.
  std::array<std::array<SideKind, 2>, 3> sides = {};
  /// Planes of the slowest axis, [from, to), whose new values are wanted; {0, 0}: all. Of the others
  /// `out` holds anything, or what it did where `best_parts` has several.
  std::array<std::int64_t, 2> made = {};
  int beside = 0;  ///< so many other passes make other planes at the same time, and fill the device
};

/// Rows that make one step ignore `out_before`; one that makes several leaves there the moment
/// before that in `out`.
template <class T>
using LeapfrogFunction = void(Stream&, int dims, int radius, LeapfrogArguments<T> const&,
                              T* out_before);

/// Every variant, from the textbook's to the fastest of each backend. GPU rows of a build without
/// CUDA have no function.
template <class T>
std::span<Variant<LeapfrogFunction<T>> const> variants();

/// The variant that `auto` means for large grids: the fastest measured.
std::string_view default_variant(Backend backend);

/// Queues one step. `variant` is a row's name or "auto".
/// Throws `std::invalid_argument` for a missing array, `out` that overlaps `in` or a part of
/// `previous`, an order that there is not, an axis with fewer points than radius + 1, a side of
/// another kind, a variant that this device does not have, or one that makes several steps at once.
/// Never synchronises.
template <class T>
void leapfrog(Stream& stream, LeapfrogStep<T> const& step, std::string_view variant = "auto");

/// How several steps are wanted to be made.
struct Repetition {
  std::string_view variant = "auto";
  int fused_steps = 0;  ///< that `temporal` makes in one pass over memory; 0: the fastest number
};

/// The most steps that one pass over memory makes with differences of an order on a grid of `dims`
/// dimensions.
int most_fused_steps(int dims, int order);

/// What decides how steps that are all alike are made.
struct StepKind {
  Grid grid;
  int order = 2;
  bool variable = false;  ///< c² is a field
  bool plain = true;      ///< neither a source nor damping
};

/// How steps are made: by a row, and those that are left over alone by `single`, which is another
/// row where `row` makes several at once.
template <class T>
struct Chosen {
  Variant<LeapfrogFunction<T>> const* row = nullptr;
  Variant<LeapfrogFunction<T>> const* single = nullptr;
  int fused_steps = 1;  ///< of a pass over memory; only `temporal` has more than one
};

/// The way that is wanted, bound to its rows. `auto` means, for plain steps on large planes,
/// `temporal`, on small ones too where as many fused steps are wanted as a pass makes, and for all
/// else the fastest single steps. Throws `std::invalid_argument`, with the reason, for an order
/// that there is not, a number of fused steps that is out of range, a variant that this device does
/// not have, and one that does not make such steps.
template <class T>
Chosen<T> choose(Device const& device, StepKind const& kind, Repetition const& wanted);

/// The fused steps of what `choose` would bind on a device of a backend; 1 for what it refuses.
int fused_steps(Backend backend, StepKind const& kind, Repetition const& wanted);

/// The parts, one after the other along the slowest axis, that a pass is best made in where several
/// passes follow each other; 1: it does not leave planes of `out` alone that are not wanted.
template <class T>
int best_parts(Chosen<T> const& chosen) {
  return chosen.fused_steps > 1 ? 6 : 1;
}

/// Queues one step as was chosen.
template <class T>
void leapfrog(Stream& stream, LeapfrogStep<T> const& step, Chosen<T> const& chosen);

/// The arrays of a wave: u now, and a step before; and two more for what passes of several steps
/// write, null where there are none.
template <class T>
struct WaveArrays {
  T* now = nullptr;
  T* before = nullptr;
  std::array<T*, 2> spare = {};
};

/// Queues `steps` steps that are all alike, each from the results of the one before, and changes
/// `arrays` so that they name what each holds then. Source, damping and sides stay as they are;
/// u is 0 on fixed sides, now and before, as every step leaves it. Arrays `in`, `previous` and
/// `out` of `step` do not count. Single steps exchange `now` and `before`, a pass of several
/// exchanges both with the spare ones. The bits depend on neither the variant nor the number of
/// fused steps.
///
/// Fused steps are temporal blocking (Wonnacott, "Using time skewing to eliminate idle time due to
/// memory bandwidth and network limitations", IPDPS 2000): see docs/kernels/star.md.
///
/// Throws as `leapfrog` does, for a negative number of steps, for fused steps without two spare
/// arrays apart from all others, and, of rows that leave planes alone, for more than a pass where not
/// all planes are wanted.
template <class T>
void leapfrog_repeatedly(Stream& stream, LeapfrogStep<T> step, WaveArrays<T>& arrays,
                         std::int64_t steps, Chosen<T> const& chosen);

/// The same, chosen for these steps; throws as `choose` does, too.
template <class T>
void leapfrog_repeatedly(Stream& stream, LeapfrogStep<T> const& step, WaveArrays<T>& arrays,
                         std::int64_t steps, Repetition const& wanted = {});

/// What the leapfrog scheme with equal steps τ conserves without source and damping, in units of
/// u²·m^(dims−2):
///
///   energy = ½ Σ_p w_p·h_x·h_y·h_z·{[(in_p − previous_p)/(τ·c_p)]² − previous_p·L(in)_p}
///
/// where a free side that p lies on halves its weight w_p, and a point with c = 0 has no first
/// part. Of `step`, the grid, the order, `in`, `previous`, the speed and the sides count. Sums are
/// float64, in a fixed order. `result` is one value in device memory. Throws as `leapfrog` does,
/// and for τ = 0. Never synchronises.
template <class T>
void energy(Stream& stream, LeapfrogStep<T> const& step, double tau, std::span<double> result);

/// What it is made of where several processes have parts of the grid: the shares of points, of which each
/// `energy_piece` in the order of the whole grid are summed, in an order that is the backend's, and these sums by the
/// row of `reduce` that `variant_of_blocks` has.
inline constexpr std::int64_t energy_piece = 4096;

/// Queues the sums of the pieces of so many points of the step's grid, from number `first` on, into as many places
/// in the device's memory.
struct PointsInOrder {
  std::int64_t first, count;
};
template <class T>
void energy_pieces(Stream& stream, LeapfrogStep<T> const& step, double tau,
                   PointsInOrder const& points, std::span<double> sums);

/// Queues the shares of so many points along each axis, from one on, in their order, into pinned memory or the device's.
struct PointsOfGrid {
  std::array<std::int64_t, 3> first, count;
};
template <class T>
void energy_shares(Stream& stream, LeapfrogStep<T> const& step, double tau,
                   PointsOfGrid const& points, double* shares);
/// The sum of the shares of a piece, which have come to the host.
double sum_of_shares(Backend backend, std::span<double const> shares);

/// What point sources add to the step from `in` to `out`, for each term after the other
///
///   out[offset] += factor·weight·r(t)/(1 + damping_time·σ),
///   r(t) = (1 − 2a)·exp(−a), a = (π·frequency·(t − delay))²
///
/// with Ricker's wavelet r and the clock's present t. Terms of one offset stand together. `terms`
/// and `clock` lie in device memory. Never synchronises.
template <class T>
void add_ricker(Stream& stream, std::span<RickerTerm const> terms,
                evaluate::DeviceClock const* clock, double factor, double damping_time,
                std::span<T> out);

/// w_k, k = 1 … order/2, of the second derivative's central difference. Throws
/// `std::invalid_argument` for another order than 2, 4, 6 and 8.
std::span<double const> central_weights(int order);

/// The largest eigenvalue of −L (1/m²): that of the wave whose sign changes from point to point.
/// The leapfrog scheme is stable for steps up to 2/(c·√ρ) with the largest c (von Neumann).
double largest_eigenvalue(Grid const& grid, int order);

}  // namespace gridstride::star

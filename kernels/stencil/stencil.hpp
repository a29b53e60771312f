#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "grid/grid.hpp"
#include "kernels/stencil/diffusion_point.cuh"

/// Kernel family `stencil`: explicit steps of diffusion on a uniform grid.
namespace gridstride::stencil {

/// One step or Runge-Kutta stage:
///
///   out = base + factor·(∇·(α∇in) + s) + in_weight·(in − base) + Σ_j weight_j·(term_j − base)
///
/// in second order: fluxes at the faces between points, with α averaged there. All arrays are in
/// the stream's device memory, `grid.size()` values each, x fastest. `out` may be `base` or one of
/// the terms but not `in`. A side's values are those of its face (`grid.face_size(axis)`, the
/// remaining axes in their order): what u is on a Dirichlet side at the end of the step, and the
/// outward normal derivative on a Neumann side at its start. Where Dirichlet sides meet, the first
/// axis counts.
template <class T>
struct DiffusionStep {
  struct Term {
    T const* values = nullptr;
    double weight = 0;
  };
  struct Side {
    SideKind kind = SideKind::periodic;
    T const* values = nullptr;
  };

  Grid grid;
  T const* in = nullptr;
  T* out = nullptr;
  T const* base = nullptr;               ///< null: in
  double in_weight = 0;                  ///< only with a base
  double factor = 0;                     ///< s: the time step, or a share of it
  double diffusivity = 0;                ///< α in m²/s, when `diffusivity_field` is null
  T const* diffusivity_field = nullptr;  ///< α at the points
  T const* source = nullptr;             ///< s at the points; null for none
  std::array<Term, max_terms> terms;     ///< those with null values are left out
  std::array<std::array<Side, 2>, 3> sides;
  /// Planes of the slowest axis, [from, to), whose new values are wanted; {0, 0}: all. Of the others
  /// `out` holds anything, or what it did where `best_parts` has several.
  std::array<std::int64_t, 2> made = {};
  int beside = 0;  ///< so many other passes make other planes at the same time, and fill the device
};

/// How often a step is made: steps after the first one take the result of the one before, in two
/// arrays that alternate.
template <class T>
struct Repeat {
  std::int64_t steps = 1;
  int fused_steps = 1;  ///< for variants that take several in one pass over memory
  T* in = nullptr;      ///< DiffusionArguments::in, to write to; only for several steps
};

/// Returns the array that holds the result, of the two.
template <class T>
using DiffusionFunction = T*(Stream&, int dims, DiffusionArguments<T> const&, Repeat<T> const&);

/// Every variant, from the textbook's to the fastest of each backend. GPU rows of a build without
/// CUDA have no function. All variants of a backend give the same bits, the host and the GPU agree
/// but for rounding.
template <class T>
std::span<Variant<DiffusionFunction<T>> const> variants();

/// The variant that `auto` means for large grids: the fastest measured.
std::string_view default_variant(Backend backend);

/// Queues one step. `variant` is a row's name or "auto".
/// Throws `std::invalid_argument` for a missing array, `out` equal to `in`, an axis with fewer than
/// three points, a variant that this device does not have, or one that makes several steps at once.
/// Never synchronises.
template <class T>
void diffuse(Stream& stream, DiffusionStep<T> const& step, std::string_view variant = "auto");

/// How several steps are wanted to be made.
struct Repetition {
  std::string_view variant = "auto";
  int fused_steps = 0;  ///< that `temporal` makes in one pass over memory; 0: the fastest number
};

/// The most steps that one pass over memory makes on a grid of `dims` dimensions.
int most_fused_steps(int dims);

/// What decides how steps are made.
struct StepKind {
  Grid grid;
  std::array<std::array<SideKind, 2>, 3> sides;
  bool variable = false;  ///< α is a field
  bool source = false;
  bool alike = true;  ///< steps of forward Euler, and nothing changes from one to the next
  bool cut = false;   ///< the grid is a part of one, whose ends come from elsewhere after few steps
};

/// That of steps that are alike; of `step`, the arrays `in` and `out` do not count.
template <class T>
StepKind kind_of(DiffusionStep<T> const& step);

/// How steps are made: by a row, and those that are left over alone by `single`, which is another
/// row where `row` makes several at once.
template <class T>
struct Chosen {
  Variant<DiffusionFunction<T>> const* row = nullptr;
  Variant<DiffusionFunction<T>> const* single = nullptr;
  int fused_steps = 1;  ///< of a pass over memory; only `temporal` has more than one
};

/// How many steps the next pass over memory makes of so many that are left; it goes from one array
/// to the other.
template <class T>
int steps_of_pass(Chosen<T> const& chosen, int dims, std::int64_t left);

/// The way that is wanted, bound to its rows. `auto` means, for steps of forward Euler that are
/// alike, with constant diffusivity and no source, `temporal` where several fused steps are wanted,
/// else the fastest measured for the grid; for others the fastest single steps. Throws
/// `std::invalid_argument`, with the reason, for a variant that this device does not have, one that
/// does not make such steps, and a number of fused steps that is out of range.
template <class T>
Chosen<T> choose(Device const& device, StepKind const& kind, Repetition const& wanted);

/// What the steps of a grid take of the device's memory beside their arrays: what blocks exchange.
template <class T>
std::size_t chip_bytes(Device const& device, Chosen<T> const& chosen, Grid const& grid);

/// The parts, one after the other along the slowest axis, that a pass is best made in where several
/// passes follow each other; 1: it does not leave planes of `out` alone that are not wanted.
template <class T>
int best_parts(Chosen<T> const& chosen, int dims);

/// Queues one step as was chosen.
template <class T>
void diffuse(Stream& stream, DiffusionStep<T> const& step, Chosen<T> const& chosen);

/// Queues `steps` forward Euler steps from the values in `first`, and returns the array that holds
/// the result: `first` or `second`; the other holds anything. Source and sides stay as they are.
/// Arrays `in` and `out` of `step` do not count, a base and terms it has none. The bits depend on
/// neither the variant nor the number of fused steps.
///
/// Fused steps are temporal blocking (Wonnacott, "Using time skewing to eliminate idle time due to
/// memory bandwidth and network limitations", IPDPS 2000): see docs/kernels/stencil.md.
///
/// Throws for a negative number of steps, a base or terms, and, of rows that leave planes alone, for
/// more steps than a pass makes where not all planes are wanted.
template <class T>
T* diffuse_repeatedly(Stream& stream, DiffusionStep<T> step, T* first, T* second,
                      std::int64_t steps, Chosen<T> const& chosen);

/// The same, chosen for these steps; throws as `choose` does, too.
template <class T>
T* diffuse_repeatedly(Stream& stream, DiffusionStep<T> const& step, T* first, T* second,
                      std::int64_t steps, Repetition const& wanted = {});

/// Queues u = g at every point of the Dirichlet sides.
template <class T>
void impose_dirichlet(Stream& stream, Grid const& grid,
                      std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> const& sides,
                      T* values);

/// The largest stable factor of a forward Euler step (s): 1/(2·α·Σ_a 1/h_a²), for the largest α.
/// The operator's eigenvalues lie in [−2/limit, 0] (Gershgorin).
double euler_limit(Grid const& grid, double largest_diffusivity);
/// How many times as long as that implicit steps may be: 1 − θ·dt·L has less than 10 bits of its 1 then,
/// and would lose what does not change along an axis.
double most_multiple(Precision precision);

}  // namespace gridstride::stencil

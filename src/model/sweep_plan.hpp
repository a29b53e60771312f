#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/device.hpp"
#include "grid/grid.hpp"

/// How a grid is cut along its slowest axis: one that is too large for a device and goes through it
/// in slabs (model/sweep.hpp), or one that several processes share (model/rank_steps.hpp), of which
/// many also cut the others.
namespace gridstride {

/// Planes [lower, upper).
struct Planes {
  std::int64_t lower = 0, upper = 0;

  std::int64_t count() const { return upper > lower ? upper - lower : 0; }
  Planes within(Planes const& other) const {
    return {std::max(lower, other.lower), std::min(upper, other.upper)};
  }
};

/// Calls `use(at, some)` for each part of planes that lies together in a grid of so many, which they
/// may go around: `some` of them, the first of which is plane `at` of the grid.
template <class Use>
void for_each_stretch(Planes const& planes, std::int64_t all, Use const& use) {
  for (std::int64_t lower = planes.lower; lower < planes.upper;) {
    std::int64_t const at = (lower % all + all) % all;
    std::int64_t const upper = std::min(planes.upper, lower + all - at);
    use(at, Planes{lower, upper});
    lower = upper;
  }
}

/// The axes that may be cut beside the slowest one: the second slowest and the third one.
inline constexpr std::size_t strip_axes = 2;
template <class Value>
using OfStripAxes = std::array<Value, strip_axes>;
/// Which axis that is, of a grid with so many; negative: it has no such axis.
constexpr int axis_of_strips(int dims, std::size_t which) {
  return dims - 2 - static_cast<int>(which);
}
/// What `of_axis` says of each of these axes that a grid has.
template <class Value>
OfStripAxes<Value> of_strip_axes(int dims, auto const& of_axis) {
  OfStripAxes<Value> of = {};
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (int const axis = axis_of_strips(dims, which); axis >= 0)
      of[which] = of_axis(static_cast<std::size_t>(axis));
  return of;
}

/// Some planes of a grid, and of the other axes some points; none there stands for all.
struct Brick {
  Planes planes;
  OfStripAxes<Planes> strips = {};
};

/// What is to go through. A plane is all that lies at one place of the slowest axis; in 1D a point.
struct SweepShape {
  Grid grid;
  bool periodic = false;   ///< along the slowest axis
  std::int64_t reach = 1;  ///< planes to each side that a step looks at
  int fused_steps = 1;     ///< the most that a pass makes
  int arrays = 1;          ///< that the state consists of
  int made = 1;            ///< of these the first ones, which a pass makes anew
  /// Of these the first ones, which a step looks at beside the point that it makes; 0: all of them.
  int looked_beside = 0;
  bool in_place =
      false;          ///< of ranks: where the last of the arrays is, and not in ones of their own
  bool alike = true;  ///< steps; those that are not have a trip each
  int scratch = 0;    ///< more arrays, which the windows of a pass have in common: these go
                      ///< one after the other
  std::size_t value_bytes = 8;
  double values_per_update = 2;  ///< that a step in the device's memory reads and writes at a point
  bool looked_at = false;        ///< after trips: `WindowSteps::look`
  /// Parts that a pass of `fused_steps` is best made in; 1: it does not make the planes alone that are
  /// wanted.
  int parts = 1;
  /// Of stages that leave alone what lies within their reach of where the grid goes on: how many a step
  /// has; else 0.
  int stages = 0;
  /// Of a periodic axis, bit i: array i has the other sign on the other side of its ends.
  std::uint32_t turned = 0;
  /// Of ranks whose kernels keep their planes on the chip and exchange them by themselves: the steps for
  /// each exchange, else 0; and what that takes of a device's memory.
  int chip_steps = 0;
  std::size_t chip_bytes = 0;
  /// Planes that ranks do not cut: the grid is cut at multiples of so many, and no rank has one alone.
  std::int64_t together = 1;
  OfStripAxes<bool> periodic_across = {};  ///< along the other axes, of grids that have them

  /// Arrays that ranks keep.
  int kept() const { return arrays + (in_place ? 0 : made); }
  std::int64_t planes() const { return grid.points[grid.dims - 1]; }
  /// What ranks share, such planes together.
  std::int64_t pieces() const {
    return together == 1 ? planes()
                         : std::max<std::int64_t>((planes() + together - 2) / together, 1);
  }
  std::int64_t plane_values() const { return grid.size() / planes(); }
  std::size_t plane_bytes() const { return static_cast<std::size_t>(plane_values()) * value_bytes; }
  /// Of all arrays.
  std::size_t bytes() const {
    return static_cast<std::size_t>(arrays) * static_cast<std::size_t>(planes()) * plane_bytes();
  }
};

/// Of ranks that cut another axis, too: along the second slowest one into pencils, each a strip of the
/// planes of a slab, along the third one into bricks.
struct Strips {
  int count = 1;            ///< 1: that axis is not cut
  std::int64_t points = 0;  ///< of the axis
  Planes own = {},
         held = {};  ///< of a rank: those of its strip, and with halos, which may go around

  bool are_there() const { return count > 1; }
};

/// What bounds a plan.
struct SweepLimits {
  double device_bytes = 0;
  std::optional<double> slab_bytes = {};        ///< of one array, in whole planes and one at least
  std::optional<std::int64_t> trip_steps = {};  ///< at most
};

/// How it goes.
struct SweepPlan {
  SweepShape shape;
  std::int64_t trip_steps = 1;   ///< the most that a trip makes; of ranks, for each exchange
  std::int64_t slab_planes = 1;  ///< of a slab that is loaded, or that a rank owns, at most
  int ranks = 1;                 ///< that share the grid; 1: it goes through one device
  /// Of ranks whose trips are a pass each: the parts that one is made in, each once there is what it
  /// looks at; else 1.
  int parts = 1;
  bool by_stages = false;  ///< of ranks whose trips are a step: an exchange for each of its stages
  bool on_chip = false;    ///< of ranks whose kernels make all trips of a run by themselves
  std::int64_t link_planes = 0;  ///< of ranks: that wait on the device for the way to another one
  /// Of ranks: what `at_rank` was called for. `shape.grid` then has the points of the strip alone, with
  /// its halos: a grid of its own, whose ends are those of the whole one. What is wrong there moves
  /// inwards by the reach of each step, and is thrown away with the halos.
  OfStripAxes<Strips> strips = {};

  /// Steps that a pass makes of so many that are left in the trip, as far as this plan goes.
  std::int64_t pass_steps() const;
  /// Planes that a pass looks at beyond its own, to each side.
  std::int64_t halo() const { return pass_steps() * shape.reach; }
  /// Places of a buffer before the first plane of a slab: what comes from the slab before it, as
  /// far as the buffers of two passes lie apart, and one to make a window large enough.
  std::int64_t front() const { return 3 * halo() + 1; }
  /// Planes of a buffer.
  std::int64_t capacity() const { return slab_planes + front() + halo() + 1; }
  /// Of each array three are loaded, computed and stored at a time.
  int buffers() const { return 3 * shape.arrays + shape.made; }
  /// Planes that slabs leave to the next one, in all passes.
  std::int64_t kept_planes() const;
  /// Planes of the results that wait for the end of a trip.
  std::int64_t late_planes() const;
  std::size_t device_bytes() const;

  /// Parts that a slab is cut into.
  int parts_of_slab() const { return strips[0].count * strips[1].count; }
  bool has_strips() const { return parts_of_slab() > 1; }
  /// Ranks along the slowest axis.
  int slabs() const { return ranks / parts_of_slab(); }
  /// The ranks of a slab follow one another, and of these the ones of a strip along the second slowest axis.
  int slab_of(int rank) const { return rank / parts_of_slab(); }
  /// The planes that a rank owns.
  Planes owned_by(int rank) const;
  /// Of its planes the points along another axis; none where that is not cut.
  Planes strip_of(int rank, std::size_t which) const;
  Brick brick_of(int rank) const {
    return {owned_by(rank), {strip_of(rank, 0), strip_of(rank, 1)}};
  }
  /// Of a rank's own plan: the points that its arrays have along the other axes; none where these are not
  /// cut.
  OfStripAxes<Planes> held_strips() const { return {strips[0].held, strips[1].held}; }
  /// The ranks below and above one along the slowest axis, and along another one; −1: the grid ends there,
  /// or is not cut.
  std::array<int, 2> beside(int rank) const;
  std::array<int, 2> beside_across(int rank, std::size_t which) const;
  /// The same plan, of what a rank has.
  SweepPlan at_rank(int rank) const;
  /// That of a rank whose strips are as wide as any.
  SweepPlan widest() const;
  /// Where each rank's begin, and where the last one's end; of ranks that have whole planes.
  std::vector<std::int64_t> cuts() const;
  /// The fewest planes that a rank owns.
  std::int64_t least_planes() const;
  /// Those that it works on: its own, and its neighbours' halos, around a periodic axis beyond the
  /// ends of the grid.
  Planes held_by(int rank) const;
  /// Planes of its neighbours that a rank has on each side before a trip, or before a stage.
  std::int64_t rank_halo() const {
    return by_stages ? shape.reach / shape.stages : trip_steps * shape.reach;
  }

  /// Where windows may lie: planes from `first_plane()` on, so many. Around a periodic axis they go
  /// on beyond the ends of the grid.
  std::int64_t first_plane() const { return shape.periodic ? -2 * trip_steps * shape.reach : 0; }
  std::int64_t window_planes() const;
};

/// The plan that takes the least time by the rates of an H200 and its bus; empty where not even one
/// plane and one step fit the limit.
std::optional<SweepPlan> plan_sweep(SweepShape const& shape, SweepLimits const& limits);

/// The most ranks that can share such a grid in slabs, and the most strips that planes can be cut into.
int most_ranks(SweepShape const& shape);
int most_strips(SweepShape const& shape, std::size_t which);
/// How so many ranks share it, in so many strips along the other axes, with up to `most_ranks` slabs: with
/// the steps for each exchange that take the least time by the rates of an H200 or of a host, or with
/// `trip_steps`, as far as the planes of a rank go. Trips of one pass that takes a GPU long enough are made
/// in parts. Where nothing is wanted, kernels that keep planes on the chip make all.
SweepPlan plan_ranks(SweepShape const& shape, int ranks, Backend backend,
                     std::optional<std::int64_t> trip_steps,
                     OfStripAxes<int> const& strips = {1, 1});
/// The strips that many ranks are best arranged in, along axes that `may_cut`: none for up to 8 ranks,
/// where there are as many slabs, and where strips do not save a fifth of the time by the model of
/// docs/scaling.md; along the third axis where that saves a fifth again, or nothing else goes. 0: no
/// arrangement goes.
OfStripAxes<int> best_strips(SweepShape const& shape, int ranks, Backend backend,
                             std::optional<std::int64_t> trip_steps,
                             OfStripAxes<bool> const& may_cut = {true, true});

}  // namespace gridstride

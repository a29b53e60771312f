#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/device.hpp"
#include "grid/grid.hpp"

/// How a grid is cut along its slowest axis: one that is too large for a device and goes through it
/// in slabs (model/sweep.hpp), or one that several processes share (model/rank_steps.hpp).
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

/// What is to go through. A plane is all that lies at one place of the slowest axis; in 1D a point.
struct SweepShape {
  Grid grid;
  bool periodic = false;   ///< along the slowest axis
  std::int64_t reach = 1;  ///< planes to each side that a step looks at
  int fused_steps = 1;     ///< the most that a pass makes
  int arrays = 1;          ///< that the state consists of
  int made = 1;            ///< of these the first ones, which a pass makes anew
  bool alike = true;       ///< steps; those that are not have a trip each
  int scratch = 0;         ///< more arrays, which the windows of a pass have in common: these go
                           ///< one after the other
  std::size_t value_bytes = 8;
  double values_per_update = 2;  ///< that a step in the device's memory reads and writes at a point
  /// Parts that a pass of `fused_steps` is best made in; 1: it does not make the planes alone that are
  /// wanted.
  int parts = 1;
  /// Of stages that leave alone what lies within their reach of where the grid goes on: how many a step
  /// has; else 0.
  int stages = 0;
  /// Of a periodic axis, bit i: array i has the other sign on the other side of its ends.
  std::uint32_t turned = 0;
  /// Planes that ranks do not cut: the grid is cut at multiples of so many, and no rank has one alone.
  std::int64_t together = 1;

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
  std::int64_t link_planes = 0;  ///< of ranks: that wait on the device for the way to another one

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

  /// The planes that a rank owns.
  Planes owned_by(int rank) const;
  /// Where each rank's begin, and where the last one's end.
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

/// The most ranks that can share such a grid.
int most_ranks(SweepShape const& shape);
/// How so many ranks share it, up to `most_ranks`: with the steps for each exchange that take the
/// least time by the rates of an H200 or of a host, or with `trip_steps`, as far as the planes of a
/// rank go. Trips of one pass that takes a GPU long enough are made in parts.
SweepPlan plan_ranks(SweepShape const& shape, int ranks, Backend backend,
                     std::optional<std::int64_t> trip_steps);

}  // namespace gridstride

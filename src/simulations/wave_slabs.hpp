#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/star/star.hpp"
#include "model/out_of_core.hpp"
#include "model/window_steps.hpp"

/// Waves on grids that are cut into slabs.
namespace gridstride::wave {

SlabSteps slab_steps(config::RunConfig const& run, Device const& device);

/// How the grid goes by slabs; empty where it fits the device of one process.
std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device);

MemoryForecast memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

/// What a process makes steps for: some planes of the grid, or strips of them, in arrays over `grid`.
struct OwnPoints {
  Planes planes;
  OfStripAxes<Strips> strips;
  Grid grid;

  /// Where a point of the whole grid lies in its plane; none of others' points.
  std::optional<std::int64_t> place_of(std::array<std::int64_t, 3> const& at, int dims) const;
};

/// The point sources at a process' own points.
template <class T>
class PointSources {
 public:
  /// `terms` are those of the whole grid, ordered by their points.
  PointSources(Stream& stream, std::vector<star::RickerTerm> const& terms, Grid const& grid,
               OwnPoints const& own);

  /// Queues what they add to a step whose grid begins with plane `first` of the whole.
  void add(Stream& stream, star::LeapfrogStep<T> const& step, std::int64_t first,
           evaluate::DeviceClock const* clock) const;

 private:
  std::int64_t first_, plane_;
  std::vector<star::RickerTerm> terms_;  // their offsets count from the first plane
  Buffer<star::RickerTerm> on_device_;
};

/// What steps have at the points of the grid, beside the state.
template <class T>
struct AtPoints {
  Array<T> const* speed_squared = nullptr;
  Array<T> const* source = nullptr;
  PointSources<T> const* ricker = nullptr;  ///< null: none
  evaluate::DeviceClock const* clock = nullptr;
  OfStripAxes<std::int64_t> first_across = {};  ///< the first points of other axes that arrays have
};

/// Steps like `step`, but for its grid and arrays, on windows of that grid. In a pass of single
/// steps that makes both arrays of the state anew, what was is copied.
template <class T>
typename WindowSteps<T>::Pass pass_of(star::LeapfrogStep<T> const& step,
                                      star::Chosen<T> const& chosen, AtPoints<T> const& at_points);

/// In a look at all ranks' windows: the energy of the whole, as `star::energy` has it after
/// such a step of length `tau`, on the first one; 0 on others.
template <class T>
void find_energy(Stream& stream, SweepPlan const& plan, Window<T> const& window,
                 star::LeapfrogStep<T> const& step, double tau, AtPoints<T> const& at_points,
                 std::span<double> energy);

}  // namespace gridstride::wave

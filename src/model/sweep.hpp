#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "model/window_steps.hpp"

/// Steps of arrays that lie in the host's memory and are too large for the device's.
///
/// In a trip, every plane goes once to the device and once back, and makes k steps there. Planes
/// come in slabs, in their order. Of a slab that ends at plane b, step s can be made up to plane
/// b − s·r, r the reach of a step: what is beyond depends on the next slab. So each step of a slab
/// lies r planes lower than the one before, and begins where the slab before it ended:
///
///     step 2      ├── slab 0 ──┼── slab 1 ──┼──
///     step 1         ├── slab 0 ──┼── slab 1 ──┼──
///     loaded            ├── slab 0 ──┼── slab 1 ──┼──      planes →
///
/// It looks at the planes just below it, of the same step, which the slab before it keeps. No point
/// is computed twice, and the results go where planes have been loaded from already: into the same
/// array. Around a periodic axis, planes before the first one are loaded beside; what is computed
/// of them lacks its neighbours below, which spoils r planes a step, and is thrown away that far.
///
/// Copies in, steps and copies out of different slabs, and of different trips, go on at the same
/// time.
namespace gridstride {

/// What sweeps took.
struct SweepReport {
  std::int64_t trips = 0, steps = 0;
  double bytes = 0;  ///< that were copied in, and as many out
  /// In which copies in, kernels and copies out were under way.
  double seconds_in = 0, seconds_steps = 0, seconds_out = 0;
};

/// Takes the arrays of a state through the device. Instantiated for float and double.
template <class T>
class Sweep final : public WindowSteps<T> {
 public:
  using typename WindowSteps<T>::Pass;
  using typename WindowSteps<T>::NextPass;

  Sweep(Stream const& stream, SweepPlan const& plan, NextPass next);
  Sweep(Sweep const&) = delete;
  Sweep& operator=(Sweep const&) = delete;
  ~Sweep() override;

  /// The host waits where more than two trips would be under way.
  void run(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) override;
  using WindowSteps<T>::settle;
  void settle(std::function<void()> const& before_change) override;
  std::vector<NamedText> texts() override;

  /// Waits for all that is queued.
  SweepReport report();

 private:
  using WindowSteps<T>::plan_;
  using WindowSteps<T>::next_;

  /// An array of a slab on the device; plane `lowest` of the grid is the first behind the front.
  struct Slot {
    std::size_t buffer = 0;
    std::int64_t lowest = 0;
  };
  struct PassPlan {
    int steps;            // that it makes
    std::int64_t before;  // steps of the trip before it
    std::int64_t kept;    // where the planes that it keeps begin
    std::size_t arrays;   // of which it keeps some
  };
  /// When copies and kernels of a slab were under way, and which planes it stored.
  struct Mark {
    explicit Mark(Device const& device)
        : in{Event(device), Event(device)},
          steps{Event(device), Event(device)},
          out{Event(device), Event(device)} {}

    std::array<Event, 2> in, steps, out;
    Planes stored;
  };
  struct Trip {
    std::int64_t reach = 0;  // of all its steps
    std::vector<PassPlan> passes = {};
    Planes domain = {};    // that there is
    std::int64_t end = 0;  // of the last slab
    Planes results = {};   // that are right
    Planes late = {};      // of these, those that are stored when all is loaded
    std::vector<Mark> marks = {};
    std::size_t slabs = 0;  // that have marks
    std::vector<Event> late_stored = {};
  };

  void plan_trip(std::int64_t steps, Trip& trip);
  Planes slab_of(Trip const& trip, std::size_t slab) const;
  void make_trip(std::span<T* const> arrays, std::int64_t steps, Pass const& pass);
  void load(Trip& trip, std::size_t slab, std::span<T* const> arrays);
  void await_stored(Planes const& planes);
  void compute(Trip& trip, std::size_t slab, Pass const& pass);
  void keep(Trip const& trip, PassPlan const& pass, Planes const& slab);
  void make_pass(Trip const& trip, PassPlan const& pass, Planes const& slab, Pass const& queue);
  void store(Trip& trip, std::size_t slab, std::span<T* const> arrays);
  void store_late(Trip& trip, std::span<T* const> arrays);
  void take_times(Trip& trip);

  std::size_t values(std::int64_t planes) const {
    return static_cast<std::size_t>(planes * plan_.shape.plane_values());
  }
  std::span<T> planes_of(Slot const& slot, Planes const& planes);
  bool meet(Planes const& a, Planes const& b) const;

  Stream stream_, in_, out_;
  std::vector<Buffer<T>> buffers_;
  Buffer<T> kept_, late_;
  // Three slabs are on the device at a time, one loaded, one computed and one stored:
  std::array<std::vector<Slot>, 3> sets_;
  std::array<Event, 3> stored_;     // what each held
  std::vector<std::size_t> spare_;  // buffers for what the next pass makes
  std::vector<Slot> state_;         // of the slab that is computed
  std::array<Trip, 2> trips_;       // the last ones
  std::size_t slab_count_ = 0;      // of all trips before
  Event queued_;
  bool settled_ = true;
  SweepReport report_;
};

}  // namespace gridstride

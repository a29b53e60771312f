#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/named_value.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "model/sweep_plan.hpp"

/// Steps of a grid that is cut along its slowest axis into windows: parts with so many planes more
/// on each side as the steps look at. A plane is all that lies at one place of the slowest axis.
namespace gridstride {

/// Some planes of the grid on the device, as a grid of their own, and the steps to make of them.
template <class T>
struct Window {
  static constexpr int most_arrays = 24;

  Grid grid;           ///< its planes; its origin is that of the whole grid
  std::int64_t first;  ///< which plane of the whole the first one is, see SweepPlan::first_plane()
  /// Whether the grid goes on at the lower and upper end of the slowest axis. What is computed
  /// within the reach of the steps from there does not count, whatever holds at this side.
  std::array<bool, 2> cut;
  /// Of its planes, from which to which new values are wanted. Where the shape has several
  /// `parts`, passes of its fused steps leave the others as they are.
  std::array<std::int64_t, 2> made;
  int beside;  ///< so many other passes make other planes at the same time
  /// Of a plan `on_chip`: the planes are a rank's own, and the pass makes the steps in `in`, of what it
  /// exchanges by itself. `out` has as many values that do not count.
  bool on_chip = false;
  /// Queues some of the window's planes on a stream, beside others.
  using MakePlanes = std::function<void(Stream&, Planes const&)>;
  /// Of a plan with `stages`: how a pass makes each of its stages. `out`, of the window's planes, is what
  /// the stage makes of all of `made`, and what the next one looks at.
  std::function<void(MakePlanes const&, T* out)> stage = {};
  std::array<T*, most_arrays> in;   ///< the state
  std::array<T*, most_arrays> out;  ///< of the arrays that a pass makes anew
  int steps;
};

/// The planes that a look is at: a process's own, or those beside them, too.
enum class LooksAt { own, beside };

/// Makes the steps of a state whose arrays lie in the host's memory. The bits do not depend on how
/// it cuts the grid. Instantiated for float and double.
template <class T>
class WindowSteps {
 public:
  /// Queues the steps of a window, all in one pass; reads `in` and writes `out`.
  using Pass = std::function<void(Stream&, Window<T> const&)>;
  /// How many steps the next pass makes of so many that are left: no more than the one before.
  using NextPass = std::function<int(std::int64_t left)>;

  WindowSteps(SweepPlan const& plan, NextPass next) : plan_(plan), next_(std::move(next)) {}
  virtual ~WindowSteps() = default;

  SweepPlan const& plan() const { return plan_; }

  /// Queues so many steps of the state in `arrays`, in the host's memory, pinned where the device
  /// is a GPU, and with as many planes as the grid. After a pass that makes fewer arrays than there
  /// are, those that it read follow the new ones: the state is (new, …, read, …), cut to its size.
  /// Of several ranks all call it, with arrays on the first one.
  virtual void run(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) = 0;
  /// Queues a look at the state as it is after `run`: a pass that has nothing to make, at all planes that
  /// this process is to answer for and, unless it looks at these alone, those beside them that a trip looks
  /// at. What it leaves in `out`, which steps in place have none of, steps write over. Of several ranks all call it,
  /// with the arrays that `run` takes.
  virtual void look(std::span<T* const> arrays, LooksAt planes, Pass const& at);
  /// Queues the pass that the next steps begin with, in a look or after one, before it is known how many
  /// they are. The state is as it was until `run` makes steps, which begin with this pass where they are as
  /// many; nothing is left of it else. Returns how many steps it makes; 0: it is not queued.
  virtual int begin(Pass const&) { return 0; }
  /// The next steps are others than those that were begun.
  virtual void forget() {}
  /// Work queued on the stream after this finds in the arrays what `run` has queued done. Of several
  /// ranks the first one calls `before_change`, where there is one, when the steps are done and nothing
  /// has got other values yet: until then its arrays are as the settling before has left them.
  virtual void settle(std::function<void()> const& before_change) = 0;
  void settle() { settle(nullptr); }
  /// Of several ranks all call it, with the arrays that `run` takes: `use` has the planes that this one owns
  /// of each array of the state, once all steps are done.
  using UseOwn = std::function<void(std::vector<std::span<T const>> const&)>;
  virtual void with_own(std::span<T* const> arrays, UseOwn const& use);
  /// Of several ranks all call it: `fill` puts values into `in` of a window of the planes that this one has,
  /// into those at least that it owns (`made`), from which steps go on. Nobody needs to have the whole. Where a
  /// look came just before, `out` of the window is as that has left it.
  virtual void begin_with(std::span<T* const> arrays, Pass const& fill);
  /// Of several ranks all call it: the state's arrays take each other's places, the last one is the first.
  virtual void reverse();
  /// The arrays, once settled, have got other values than `run` has given them.
  virtual void renew() {}
  /// What there is to tell of it. Waits for all that is queued.
  virtual std::vector<NamedText> texts() = 0;

 protected:
  SweepPlan plan_;
  NextPass next_;
};

/// As the plan has it: through the device of this process, or by those of all ranks. Takes all
/// memory. Passes are queued on `stream`.
template <class T>
std::unique_ptr<WindowSteps<T>> make_window_steps(Stream const& stream, SweepPlan const& plan,
                                                  typename WindowSteps<T>::NextPass next);

}  // namespace gridstride

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ranks.hpp"
#include "kernels/system/extremes.hpp"
#include "kernels/system/system.hpp"
#include "model/out_of_core.hpp"
#include "model/scheme.hpp"
#include "model/state.hpp"
#include "model/step_clock.hpp"
#include "model/window_steps.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_lasting.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_stability.hpp"
#include "simulations/pde_step_choice.hpp"
#include "simulations/pde_stop.hpp"

/// Steps of a system on a part of the grid that a rank has (model/rank_steps.hpp).
///
/// A part is a grid of its own, whose ends have the sides of the whole: what is found within the reach
/// of a stage from an end where the grid goes on is wrong, and is not used.
namespace gridstride::pde {

/// What steps are made of that parts take as well; it outlives them.
template <class T>
struct PartsOf {
  Stream stream;
  config::RunConfig const& run;
  SweepPlan plan;
  Scheme const& scheme;  ///< with its state in buffer 0
  State<T>& state;
  StepClock& clock;
  std::vector<Array<T>*> const& evolved;
  equations::StencilProgram const& program;  ///< of all rates
  GlobalFinder<T>& globals;                  ///< that they look at
  int rank = ranks().rank();                 ///< whose parts they are, as the plan's
  bool is_alone = false;  ///< which looks at them by itself, for nothing of the whole grid
};

/// Makes the steps of a rank's parts. Instantiated for float and double.
template <class T>
class SystemParts {
 public:
  /// `inputs`: of components and names with sides, with their sides of the whole grid.
  SystemParts(PartsOf<T> const& of, std::vector<system::Input<T>> inputs,
              equations::Stencil const& stencil);

  /// Queues so many steps of the clock's, by passes where there are any.
  void run(WindowSteps<T>& steps, std::int64_t count, Passes<T>* passes, bool uses_clock);
  /// In a look, queues the pass that the next steps begin with if they are of this length.
  void begin(WindowSteps<T>& steps, double dt, Passes<T>& passes);
  /// What a finder finds on the rank's own planes of the present state.
  std::vector<system::Extremes> look(WindowSteps<T>& steps, StabilityFinder<T>& finder,
                                     Ahead const& ahead);
  /// The same in a window of the state, with what lies beside these planes.
  std::vector<system::Extremes> look(Window<T> const& window, StabilityFinder<T>& finder,
                                     Ahead const& ahead);
  /// Queues what these components of a window's state are on sides where that is given.
  void impose_sides(Window<T> const& window, std::span<std::size_t const> components);
  /// The same of all.
  void impose_sides(Window<T> const& window);
  /// Queues first values in a window whose other arrays have theirs, as far as these are right.
  void find(Window<T> const& window, FirstValues const& values, std::span<T* const> targets);
  /// Gives this rank's own planes these first values, from which steps go on. All ranks call it.
  void begin_with(WindowSteps<T>& steps, FirstValues const& values);
  /// As `StopTest::reason`, at this time.
  std::string reason_to_end(WindowSteps<T>& steps, StopTest<T>& stop,
                            equations::StencilProgram const& rates, double time,
                            evaluate::DeviceClock const* now);
  /// Does an event on this rank's own planes, from which steps go on. All ranks call it; throws as
  /// `Events::apply` does, on all of them.
  void set(WindowSteps<T>& steps, Events<T> const& events, std::size_t event, double time,
           evaluate::DeviceClock const* now);
  /// Has quantities found at the present time, on the planes that this rank owns.
  std::vector<std::span<T const>> find(WindowSteps<T>& steps, QuantityPlanes<T>& quantities,
                                       double time);
  /// Why another kernel than was meant makes the stages; or empty.
  std::string fallback() const;

 protected:
  /// A part from a plane of the grid on.
  struct Part {
    Grid grid;
    std::int64_t first;
  };
  /// What holds on the sides of an input, by axis and end.
  using Faces = std::array<std::array<WindowFace<T>, 2>, 3>;

  std::vector<T*> arrays() const;
  void refresh_sides(Stage const& stage);
  std::vector<system::Input<T>> inputs_at(Part const& part, std::span<T* const> state);
  system::Step<T> evaluation(Part const& part, std::span<T* const> state);
  /// The same of a stage: what it looks at is queued, values over the whole grid, too.
  system::Step<T> evaluation_of(Stage const& stage, Part const& part, std::span<T* const> state);
  OwnPlanes own_planes(Part const& part);
  MomentPlanes<T> moment_of(Window<T> const& window, double time, evaluate::DeviceClock const* now);
  /// From a plane of the grid on.
  T* scratch(int number, std::size_t component, std::int64_t first) {
    return scratch_[static_cast<std::size_t>(number - 1)][component].data() +
           (first - lower_) * of_.plan.shape.plane_values();
  }

 private:
  std::array<std::int64_t, 3> place_of(std::int64_t plane) const;
  std::vector<std::span<T>> take_made(Stream& stream, Window<T> const& window,
                                      std::span<std::size_t const> components);
  std::int64_t all_planes() const {
    return of_.plan.owned_by(of_.rank).count() + 2 * of_.plan.rank_halo();
  }
  void make_planes(std::size_t operands);
  void make_stages(Window<T> const& window);
  void march(Stream& stream, Window<T> const& window, Passes<T>& passes, double dt);

 protected:
  PartsOf<T> of_;
  std::string_view variant_;
  std::vector<system::Input<T>> inputs_;
  Planes held_;  // planes of what follows
  SidedNames<T> names_;
  std::vector<std::vector<Buffer<T>>> scratch_;  // by buffer, from 1 on
  std::int64_t
      lower_;  // their first plane: with halos also where the grid ends, as windows have them
  LastingArrays<T> lasting_;             // on all of these
  std::vector<Faces> slopes_, factors_;  // g and a, by input
  /// Where something is found over the whole grid, or equations are solved there.
  std::unique_ptr<RankPlanes> planes_;
  Buffer<T> operand_;  // for these
  std::map<Stage const*, system::Prepared> prepared_;
};

/// What ranks find, joined with what another one does.
void join(std::vector<system::Extremes>& found, std::span<system::Extremes const> other);

/// How ranks choose a step together: the first one chooses, and the others look at their planes when it
/// asks.
class SharedChoice {
 public:
  /// What a rank finds of the coefficients on its planes, at present or ahead. All ranks look at once.
  /// For one of several finders.
  using Look = std::function<std::vector<system::Extremes>(std::size_t finder, Ahead const&)>;

  SharedChoice(Ranks& ranks, Look look) : ranks_(ranks), look_(std::move(look)) {}

  /// The first rank, within `choose`: what all of them find.
  std::vector<system::Extremes> ask(std::size_t finder, Ahead const& ahead);
  /// What the first rank chooses, on all of them.
  StepPlan plan(std::function<StepPlan()> const& choose);

 private:
  struct Word {
    bool is_question = false;
    std::size_t finder = 0;
    Ahead ahead = {};
    StepPlan plan = {};
  };
  void share(Word& word);
  std::vector<system::Extremes> look(std::size_t finder, Ahead const& ahead);

  Ranks& ranks_;
  Look look_;
};

}  // namespace gridstride::pde

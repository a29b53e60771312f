#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph.hpp"
#include "model/out_of_core.hpp"
#include "model/rank_files.hpp"
#include "model/scheme.hpp"
#include "model/simulation.hpp"
#include "model/state.hpp"
#include "model/step_clock.hpp"
#include "model/window_steps.hpp"

namespace gridstride {

/// A simulation that makes steps in time. What it adds is how steps are queued; that many of them
/// go as CUDA graphs, where the clock is, what is written, saved and loaded stands here. So does
/// what is the same for all grids that are cut.
/// Instantiated for float and double, as `StagedStepping` is.
template <class T>
class TimeStepping : public Simulation {
 public:
  Clock clock() const override { return clock_.now(); }
  bool finished() const override { return clock_.at_end(); }
  void advance(std::int64_t max_steps, double until) override;
  void advance_whole_batches(std::int64_t max_steps, double until) override;
  std::int64_t steps_at_once() const override { return sweep_ ? sweep_->plan().trip_steps : 1; }
  std::vector<Field> fields() const override {
    settle();
    return state_.fields();
  }
  /// Those of ranks: steps go on in what each of them has of the arrays.
  bool keeps_fields(std::function<void()> before_change) override {
    before_change_ = std::move(before_change);
    return is_shared_;
  }
  std::vector<std::string> fallbacks() const override { return state_.fallbacks(); }
  bool has_parts() const override { return in_parts_; }
  std::vector<Field> fields_in_parts() const override;
  void share_files(OwnFiles files) override { own_files_ = std::move(files); }
  FoundByParts write_parts(std::vector<FieldTarget> const& targets, bool measured) override;
  void compare_parts(PartsFinder& finder) override;
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 protected:
  TimeStepping(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
               std::vector<Row> rows, StepRule rule);

  /// Queues steps of `step_size()`, one after the other or several in a pass.
  virtual void queue(std::int64_t steps) = 0;
  /// How many steps of those that are queued go at once; 0: a graph would not help.
  virtual std::int64_t steps_of_pass() const { return 1; }
  /// How many steps are a graph, where there are that many of one length.
  std::int64_t steps_of_graph() const { return passes_of_graph * steps_of_pass(); }
  /// How many steps bring the state nearer to where graphs begin; 0: it is there. A graph of an
  /// even number of passes brings it back.
  virtual std::int64_t steps_before_graph() const = 0;
  /// Numbers that a graph has in it beside the step's size.
  virtual std::vector<double> graph_numbers() const { return {}; }

  double step_size() const { return clock_.step(); }
  /// What is queued after this finds the arrays as all steps queued so far leave them.
  void settle() const {
    if (sweep_ && !without_whole_) sweep_->settle(before_change_);
  }
  /// Has the planes of this rank written to these places, by the numbers of fields that the arrays of the
  /// state are, and then those `beside` it.
  FoundByParts write_own(typename RankFiles<T>::Names names, std::vector<Written> targets,
                         bool measured, std::vector<std::span<T const>> const& beside = {}) const;
  /// The fields of `fields_in_parts`, with what their arrays hold, in the order of these.
  virtual std::vector<OwnField> own_fields() const { return own_arrays(); }
  /// All ranks call it: the planes that this one owns of arrays of such fields that are not of the state.
  virtual std::vector<std::span<T const>> find_beside() { return {}; }
  /// All ranks call it, with the planes that each owns of an array beside the state: into a checkpoint, and out of it.
  void put_own(CheckpointSink& sink, std::string const& name, std::span<T const> own) const;
  void get_own(CheckpointSource const& source, std::string const& name, std::span<T> own) const;
  /// Each array as a field.
  std::vector<OwnField> own_arrays() const;
  /// Whether this process has the arrays of the state: of several ranks the first one.
  bool has_state() const { return has_state_; }
  /// Adds what there is to tell of how a grid was cut.
  std::vector<NamedText> with_slabs(std::vector<NamedText> texts) const;

  /// Of ranks: `write_parts` finds the moments of fields whatever diagnostics there are.
  void want_moments() { wants_moments_ = true; }
  /// Of ranks: each gives its planes of the state their first values (`WindowSteps::begin_with`), and
  /// where they go on so the first one has no array of the whole.
  void begin_with(bool without_whole, typename WindowSteps<T>::Pass const& fill) {
    without_whole_ = without_whole;
    sweep_->begin_with(state_.swept(), fill);
  }

  mutable Stream stream_;
  Grid grid_;
  StepClock clock_;
  State<T> state_;
  /// Of a grid that is cut: `queue` uses it then, and makes no graphs.
  std::unique_ptr<WindowSteps<T>> sweep_;

 private:
  void queue_all(std::int64_t steps);
  RankFiles<T>& files() const;
  void load_own(CheckpointSource const& source);

  static constexpr std::int64_t passes_of_graph = 32;  // even

  Graph graph_;
  bool has_state_, is_shared_;
  bool in_parts_, wants_moments_;
  std::array<std::int64_t, 3> every_ = {1, 1, 1};  // points along each axis that are written
  bool without_whole_ = false;                     // of ranks
  OwnFiles own_files_;                             // of ranks
  mutable std::unique_ptr<RankFiles<T>> files_;    // once there is something to write
  std::function<void()> before_change_;            // of the state's arrays, of ranks
  std::vector<double> graph_kind_, kind_before_;
};

/// The same by a `Scheme` whose stages work on the buffers of all evolved rows at once.
template <class T>
class StagedStepping : public TimeStepping<T> {
 public:
  /// What each stage reads and writes: u, the base, the terms, and coefficients with an array.
  double values_per_update() const override;
  void load(CheckpointSource const& source) override;

 protected:
  /// Where there is one field, it is the first row.
  StagedStepping(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                 std::vector<Row> rows, Scheme const& scheme, StepRule rule);

  /// Queues a stage; what depends on time has its values for it.
  virtual void queue_stage(Stage const& stage) = 0;

  /// What a stage works on of a grid that is cut: a part of it, as a grid of its own.
  struct Part {
    Grid grid;
    std::int64_t first;       ///< which plane of the whole its first one is
    std::array<bool, 2> cut;  ///< as those of a `Window`
    std::vector<T*> arrays;   ///< that stages read, by their numbers
    T* out;
    bool beside = false;  ///< other planes are made at the same time
  };
  /// The same where the grid is cut; `faces_` have their values for it, too.
  virtual void queue_part(Stream& stream, Stage const& stage, Part const& part);
  /// Cuts the grid: from now on `queue` makes steps by parts, of which a pass makes as many as `next`
  /// says, for simulations that queue more than one. `sides` are the values on the sides.
  void cut(
      SweepPlan const& plan, std::array<std::array<T const*, 2>, 3> const& sides,
      typename WindowSteps<T>::NextPass next = [](std::int64_t) { return 1; });
  void queue(std::int64_t steps) override;
  /// Whether what is queued looks at the time.
  virtual bool uses_clock() const { return this->state_.changes(); }
  std::int64_t steps_before_graph() const override {
    return current_ == 0 ? 0 : this->steps_of_pass();
  }

  /// The arrays of a stage by their numbers; where two alternate, 0 is that of the present state.
  T* buffer(int number) { return buffer(number, u_); }
  /// The same of another evolved row.
  T* buffer(int number, Array<T>& array) {
    return array.buffer(scheme_.alternates ? (number + current_) % 2 : number);
  }
  /// What a stage gives to a kernel's step: its arrays, its weight, and its factor times the step.
  template <class Step>
  void set_stage(Step& step, Stage const& stage) {
    step.in = buffer(stage.in);
    step.out = buffer(stage.out);
    if (stage.base != stage.in) step.base = buffer(stage.base);
    step.in_weight = stage.in_weight;
    step.factor = stage.factor * this->step_size();
  }
  template <class Step>
  void set_stage(Step& step, Stage const& stage, Part const& part) {
    step.grid = part.grid;
    step.in = part.arrays[static_cast<std::size_t>(stage.in)];
    step.out = part.out;
    if (stage.base != stage.in) step.base = part.arrays[static_cast<std::size_t>(stage.base)];
    step.in_weight = stage.in_weight;
    step.factor = stage.factor * this->step_size();
  }
  /// Whether an odd number of steps was made, by a scheme whose states alternate.
  bool is_odd() const { return current_ == 1; }
  /// A pass has left the state in this array of the first row, and in those of the same number.
  void move_to(T const* array);
  /// Queues the field's first values.
  void fill_initial(config::RunConfig const& run, Inputs const& inputs);

  Scheme const& scheme_;
  Array<T>& u_;
  std::vector<Array<T>*> evolved_;                     ///< all of them, in the order of the rows
  std::array<std::array<WindowFace<T>, 2>, 3> faces_;  ///< of a grid that is cut

 private:
  void queue_parts(std::int64_t steps);
  void make_stages(Stream& stream, Window<T> const& window);
  Part part_of(Window<T> const& window, Planes const& planes, Stage const& stage);
  void refresh_parts(Stage const& stage);

  int current_ = 0;
  std::vector<Buffer<T>> scratch_;  // of a grid that is cut: what stages leave to later ones
  Planes held_;                     // the planes of these
};

/// What `auto` chose of a kernel family: a row's name, and the fused steps where there are several.
std::vector<NamedText> chosen_texts(std::string_view family, std::string_view row, int fused_steps);

}  // namespace gridstride

#include "driver/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/console.hpp"
#include "core/stream.hpp"
#include "core/timer.hpp"
#include "core/version.hpp"
#include "driver/diagnostics.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "driver/error_norms.hpp"
#include "driver/formulas.hpp"
#include "driver/output_files.hpp"
#include "driver/output_pipeline.hpp"
#include "driver/prepare.hpp"
#include "driver/progress.hpp"
#include "driver/restart.hpp"
#include "driver/run_log.hpp"
#include "driver/schedule.hpp"
#include "driver/shared_run.hpp"
#include "driver/signals.hpp"
#include "io/run_lock.hpp"
#include "model/out_of_core.hpp"
#include "model/step_clock.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace {

io::Provenance provenance_of(config::RunConfig const& config, Device const& device,
                             std::vector<std::string> const& fallbacks) {
  return {.config = config.text,
          .resolved_config = config::resolved_yaml(config),
          .version = std::string(version()),
          .git_hash = std::string(git_hash()),
          .device = fmt::format("{}: {}", name_of(device.backend()), device.name()),
          .precision = std::string(name_of(config.precision)),
          .created = "",
          .fallbacks = fallbacks};
}

/// The next moment that steps are shortened for. For a checkpoint those of leapfrog are not: lengths
/// that come in turn again and again, as two cadences make them, can have waves grow without bound.
Schedule::Moment next_stop(config::RunConfig const& config, Schedule::Moment const& output,
                           Schedule::Moment const& checkpoint) {
  double const time =
      keeps_steps_equal(config) ? output.time : std::min(output.time, checkpoint.time);
  return {std::min(output.step, checkpoint.step), time};
}

/// The time of a checkpoint on the way there, for which no step is shortened; else that of the stop.
double pause_before(Schedule::Moment const& stop, Schedule::Moment const& checkpoint) {
  bool const is_on_the_way = checkpoint.time < stop.time - time_rounding(stop.time);
  return is_on_the_way ? checkpoint.time - time_rounding(checkpoint.time) : stop.time;
}

/// One run under way: what the time loop works on.
class Run {
 public:
  Run(config::RunConfig const& config, RunOptions const& options)
      : config_(config), options_(options), paths_(config) {}

  RunSummary go();

 private:
  bool set_up();
  void warn_of_disk(Forecast const& expected);
  void begin_files(Device const& device, Forecast const& expected);
  void compute();
  void time_loop();
  void compute_at_once();
  Snapshot snapshot() const;
  void submit(Snapshot snapshot);
  void advance_to(Schedule::Moment const& moment, double pause);
  std::int64_t steps_to(double pause, double last_step) const;
  void stop_on_signal(int signal);
  std::vector<ErrorNorms> errors();
  void verify();
  void end_phase(std::string const& name);

  config::RunConfig const& config_;
  RunOptions const& options_;
  OutputPaths paths_;
  std::optional<io::RunLock> lock_;
  RunSummary summary_;
  Timer total_, phase_;
  std::optional<Stream> stream_;
  std::unique_ptr<Simulation> simulation_;
  std::optional<Clock> resumed_;
  std::optional<OutputFiles> files_;
  std::optional<OutputPipeline> pipeline_;
  std::optional<Progress> progress_;
  std::optional<SignalWatch> signals_;
  std::int64_t slice_ = 1;  // steps queued before the host looks up
};

RunSummary Run::go() {
  if (!set_up()) return summary_;
  try {
    compute();
  } catch (std::exception const& error) {
    pipeline_.reset();  // its thread may be writing
    files_->note_end(error.what());
    throw;
  }
  files_->note_end(summary_.shortfall.empty() ? run_is_done : summary_.shortfall);
  return summary_;
}

void Run::compute() {
  if (summary_.has_time)
    time_loop();
  else
    compute_at_once();
  pipeline_->drain();
  if (progress_) progress_->finish();
  end_phase("finish output");
  summary_.phases.push_back({"writing (in parallel)", pipeline_->seconds_writing()});
  if (!config_.verify.exact.empty()) verify();
  summary_.diagnostics = pipeline_->last_numbers();
  summary_.chosen = simulation_->chosen();
  summary_.ending = simulation_->ending();
  summary_.shortfall = simulation_->shortfall();
  auto fallbacks = simulation_->fallbacks();
  summary_.fallbacks.insert(summary_.fallbacks.end(), fallbacks.begin(), fallbacks.end());
  if (!summary_.shortfall.empty()) fallbacks.push_back(summary_.shortfall);
  files_->finish({summary_.phases, summary_.chosen, fallbacks});
  summary_.files = files_->count();
  summary_.bytes_written = files_->bytes();
  files_->log(format_summary(summary_));
  if (!summary_.ending.empty()) files_->log(logged_early_ending(summary_.ending));
}

void Run::end_phase(std::string const& name) {
  summary_.phases.push_back({name, phase_.seconds()});
  phase_.restart();
}

Snapshot Run::snapshot() const {
  if (simulation_->has_parts())
    return {.clock = simulation_->clock(),
            .fields = simulation_->fields_in_parts(),
            .diagnostics = simulation_->diagnostics(),
            .numbers = simulation_->measure(),
            .tables = simulation_->tables(),
            .measured = Measurement{}};
  return {simulation_->clock(),   simulation_->fields(), simulation_->diagnostics(),
          simulation_->measure(), simulation_->tables(), simulation_->quantities()};
}

/// Whether there is anything to compute.
bool Run::set_up() {
  summary_.config = config_.file;
  summary_.swept = config_.swept;
  summary_.has_time = config_.simulation->has_time;
  summary_.directory = paths_.directory;
  Device const device = choose_device(config_, summary_.fallbacks);
  summary_.device = device.name();
  stream_.emplace(device);
  stream_->synchronize();
  end_phase("device");
  auto checked = check_before_run(config_, *stream_);
  lock_.emplace(paths_.directory, paths_.name);
  if (!lock_->missing().empty())
    summary_.fallbacks.push_back(fmt::format("{} cannot be locked against other runs ({})",
                                             paths_.directory.string(), lock_->missing()));
  auto const beginning = choose_beginning(config_, options_, paths_);
  if (!beginning.remark.empty()) summary_.fallbacks.push_back(beginning.remark);
  summary_.done_before = beginning.done;
  summary_.ending = beginning.ending;
  if (beginning.done) return false;
  if (summary_.has_time) signals_.emplace();
  simulation_ = config_.ranks > 1 ? share_simulation(config_, *stream_, checked)
                                  : take_simulation(config_, *stream_, checked);
  summary_.read = *checked.inputs.reading;
  if (beginning.checkpoint) {
    resume(beginning, *simulation_);
    resumed_ = simulation_->clock();
  } else if (summary_.has_time) {
    require_finite_start(config_, *simulation_, *stream_);
  }
  begin_files(device, checked.expected);
  stream_->synchronize();
  end_phase("set-up");
  summary_.startup_seconds = total_.seconds() - summary_.phases[0].value;
  return true;
}

void Run::warn_of_disk(Forecast const& expected) {
  auto const warning = disk_warning(config_, expected);
  if (warning.empty()) return;
  files_->log("warning: " + warning);
  tell("warning: " + warning + "\n");
}

/// All memory is taken before the first file changes.
void Run::begin_files(Device const& device, Forecast const& expected) {
  auto room = expected.room;
  room.stays = room.stays && simulation_->keeps_fields([this] {
    if (pipeline_) pipeline_->await_copies();
  });
  auto const first = snapshot();
  auto const& fields = first.fields;
  summary_.grid_points = fields.empty() ? config_.grid.size() : fields[0].grid.size();
  summary_.bytes_per_update =
      simulation_->values_per_update() * static_cast<double>(size_of(config_.precision));

  std::optional<Resumed> resumed;
  if (resumed_) resumed = {*resumed_, options_.new_series};
  auto const provenance = provenance_of(config_, device, summary_.fallbacks);
  files_.emplace(config_, first, provenance, resumed);
  pipeline_.emplace(config_, *stream_, first, *files_, room);
  files_->begin();
  if (lock_->missing().empty()) paths_.remove_unfinished();
  files_->log(fmt::format("gridstride {} ({}) on {}", version(), git_hash(), device.name()));
  files_->log(lock_->holder());
  files_->log(logged_config(provenance.resolved_config));
  for (auto const& [file, state] : states_of_inputs(config_))
    files_->log(logged_input(file, state));
  for (auto const& fallback : summary_.fallbacks) files_->log(fallback);
  if (!expected.slabs.empty()) files_->log(expected.slabs);
  if (!room.lack.empty()) files_->log(room.lack);
  warn_of_disk(expected);
  if (!summary_.has_time) return;
  // What an earlier run wrote of the moment that it was stopped at may be missing: written anew.
  Schedule const outputs(config_.output.every, config_.time.end);
  if (!resumed_ || outputs.due(first.clock) || simulation_->finished()) submit(first);
  progress_.emplace(config_.time.end, config_.grid.size(), options_.quiet, options_.tell_share);
}

/// What ranks write themselves is there before the rest of it.
void Run::submit(Snapshot snapshot) {
  if (simulation_->has_parts()) {
    pipeline_->drain();
    auto const targets = files_->begin_snapshot(snapshot.clock, snapshot.fields);
    snapshot.measured = simulation_->write_parts(targets, true).measured;
    snapshot.numbers = simulation_->measure();
  }
  pipeline_->submit(std::move(snapshot));
}

void Run::time_loop() {
  Clock const start = simulation_->clock();
  Schedule const outputs(config_.output.every, config_.time.end);
  Schedule const checkpoints(config_.checkpoint.every, config_.time.end);
  progress_->update(start);
  while (!simulation_->finished()) {
    auto const output = outputs.next(simulation_->clock());
    auto const checkpoint = checkpoints.next(simulation_->clock());
    auto const moment = next_stop(config_, output, checkpoint);
    double const pause = pause_before(moment, checkpoint);
    advance_to(moment, pause);
    bool const finished = simulation_->finished();
    if (finished) {
      stream_->synchronize();
      summary_.stepping_seconds = phase_.seconds();
    }
    // A run that ends before its time leaves what it leaves at the end.
    Clock const now = {simulation_->clock().step,
                       finished ? config_.time.end : simulation_->clock().time};
    if (outputs.due(now) || finished) submit(snapshot());
    if (int const signal = signals_->pending()) stop_on_signal(signal);
    bool const asked_for = signals_->take_checkpoint_request();
    bool const is_passed = pause < moment.time && now.time >= pause;
    if (asked_for || is_passed || checkpoints.due(now)) pipeline_->submit_state(*simulation_);
  }
  summary_.clock = simulation_->clock();
  summary_.steps = summary_.clock.step - start.step;
  end_phase("time steps");
}

/// There is no state between the start and the end: a signal ends the program as it always does.
void Run::compute_at_once() {
  auto const fields = simulation_->fields();
  if (std::ranges::any_of(fields, [](Field const& field) { return field.data == nullptr; }))
    simulation_->write_to(files_->begin_snapshot({1, 0}, fields));
  progress_.emplace(1, 1, options_.quiet);
  simulation_->tell_headway([this](Headway const& now) { progress_->update(now); });
  simulation_->advance(1, 0);
  stream_->synchronize();
  summary_.stepping_seconds = phase_.seconds();
  pipeline_->submit(snapshot());
  summary_.clock = simulation_->clock();
  summary_.steps = summary_.clock.step;
  end_phase("computation");
}

/// How many steps come no further than the one that reaches `pause`; the last one tells how long they are.
std::int64_t Run::steps_to(double pause, double last_step) const {
  if (last_step <= 0) return 1;
  double const steps = std::floor((pause - simulation_->clock().time) / last_step * (1 - 1e-9));
  return static_cast<std::int64_t>(std::clamp(steps, 1.0, 0x1p62));
}

/// Ends before, with the first step that is at `pause` or beyond.
void Run::advance_to(Schedule::Moment const& moment, double pause) {
  // Slices of about a tenth of a second: the device always has one to work on while the host looks
  // at the clock, the progress and the signals.
  constexpr double slice_seconds = 0.1;
  std::int64_t const least = simulation_->steps_at_once();
  std::optional<Event> before;
  Timer timer;
  double last_step = 0;
  while (!simulation_->finished() && simulation_->clock().time < std::min(moment.time, pause) &&
         simulation_->clock().step < moment.step) {
    timer.restart();
    slice_ = std::max(slice_, least);
    Clock const from = simulation_->clock();
    std::int64_t most = std::min(slice_, moment.step - from.step);
    if (pause < moment.time) most = std::min(most, steps_to(pause, last_step));
    simulation_->advance_whole_batches(most, moment.time);
    Clock const now = simulation_->clock();
    last_step = (now.time - from.time) /
                static_cast<double>(std::max<std::int64_t>(now.step - from.step, 1));
    Event queued(stream_->device());
    stream_->record(queued);
    if (before) before->synchronize();
    if (double const seconds = timer.seconds(); seconds < slice_seconds / 2)
      slice_ = std::min<std::int64_t>(2 * slice_, std::int64_t{1} << 20);
    else if (seconds > 2 * slice_seconds)
      slice_ = std::max<std::int64_t>(slice_ / 2, 1);
    before.emplace(queued);
    progress_->update(simulation_->clock());
    pipeline_->check();
    if (signals_->pending() != 0 || signals_->checkpoint_requested()) return;
  }
}

void Run::stop_on_signal(int signal) {
  progress_->finish();
  pipeline_->submit_state(*simulation_);
  pipeline_->drain();
  auto const clock = simulation_->clock();
  throw Interrupted(signal,
                    fmt::format("stopped by {} at step {}, time {}; `--restart` goes on from {}",
                                signal_name(signal), clock.step, clock.time,
                                paths_.checkpoint(clock.step).string()));
}

std::vector<ErrorNorms> Run::errors() {
  double const time = summary_.clock.time;
  if (simulation_->has_parts() && compares_by_parts(config_)) {
    PartsComparison comparison(config_, simulation_->fields_in_parts(), time);
    simulation_->compare_parts(comparison);
    return comparison.errors();
  }
  std::vector<ErrorNorms> errors;
  auto const fields = simulation_->fields();
  for (auto const& [name, formula] : config_.verify.exact) {
    auto [field, component] = find_number(config_.fields, fields, name);
    field.grid = simulation_->formula_grid(field);
    errors.push_back(error_norms(field, formula.expression, time, *stream_, component));
  }
  return errors;
}

void Run::verify() {
  auto const& options = config_.verify;
  auto const found = errors();
  std::string failed;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const& name = options.exact[i].first;
    auto const& error = found[i];
    auto const judge = [&](char const* norm, double value, std::optional<double> tolerance) {
      summary_.verified.push_back({fmt::format("{} {} error", name, norm), value});
      if (!tolerance || value <= *tolerance) return;
      failed += fmt::format("{}{}: {} error {:.6g} is over the tolerance {:.6g}",
                            failed.empty() ? "" : "\n", name, norm, value, *tolerance);
    };
    judge("l2", error.l2, options.l2_tolerance);
    judge("max", error.maximum, options.max_tolerance);
  }
  end_phase("verification");
  if (!failed.empty()) throw SolutionMissed(failed, summary_.verified);
}

}  // namespace

RunSummary run(config::RunConfig const& config, RunOptions const& options) {
  if (!config.sweep.empty()) throw std::invalid_argument("run: a sweep is several runs");
  return Run(config, options).go();
}

}  // namespace gridstride

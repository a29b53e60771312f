#include "driver/output_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/timer.hpp"
#include "driver/output_paths.hpp"
#include "driver/reduction.hpp"
#include "io/checkpoint.hpp"

namespace gridstride {

namespace {

/// Of what goes to the host a slab at a time: written fields, and states where there are steps.
io::Slabs::Use use_of_slabs(config::RunConfig const& run, OutputFiles const& files,
                            std::span<Field const> fields) {
  io::Slabs::Use use;
  use.packs = run.output.compression > 0;
  for (Field const& field : fields) {
    if (field.data == nullptr) continue;
    Field const written = written_form(run, field);
    bool const is_made = written.values() != field.values() || written.precision != field.precision;
    if (run.simulation->has_time || (files.writes(field) && !is_made))
      use.largest_array = std::max(use.largest_array, field.bytes());
    if (files.writes(field) && is_made)
      use.largest_made = std::max(use.largest_made, written.bytes());
  }
  return use;
}

/// Those that the simulation does not write itself.
std::vector<Field> with_data(std::span<Field const> fields) {
  std::vector<Field> found;
  for (Field const& field : fields)
    if (field.data != nullptr) found.push_back(field);
  return found;
}

}  // namespace

OutputPipeline::OutputPipeline(config::RunConfig const& run, Stream const& stream,
                               Snapshot const& first, OutputFiles& files, OutputRoom const& room)
    : run_(run),
      files_(files),
      compute_(stream),
      way_(stream.device(), use_of_slabs(run, files, first.fields)),
      room_(room),
      aside_(compute_, MemorySpace::device, room.bytes),
      numbers_(compute_, MemorySpace::device, first.numbers.size()),
      ready_(stream.device()) {
  if (!first.measured)
    diagnostics_.emplace(run, with_data(first.fields), way_.copies, first.quantities);
  if (room.stays)
    way_of_host_.emplace(Device::open(Backend::cpu), use_of_slabs(run, files, first.fields));
  thread_ = std::thread([this, share = host_share()] {
    set_host_share(share);
    work();
  });
}

OutputPipeline::~OutputPipeline() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try {
    way_.copies.synchronize();  // what a failure left there may still read memory of ours
  } catch (Error const&) {      // that failure itself, which `check` has thrown
  }
}

void OutputPipeline::check() {
  std::lock_guard const lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::submit(Snapshot snapshot) {
  await_memory();
  std::size_t used = 0;
  for (Field& field : snapshot.fields)
    if (room_.snapshots && field.data != nullptr && files_.writes(field))
      field.data = copy_aside(field.data, field.bytes(), used);
  auto const& numbers = snapshot.numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    copy_async(numbers_.span().subspan(i, 1), std::span(numbers[i].data, 1), compute_);
  bool const all_stay =
      room_.stays && std::ranges::all_of(snapshot.fields, [this](Field const& field) {
        return !files_.writes(field) || stays(field.data);
      });
  hand_over({.snapshot = std::move(snapshot), .aside = room_.snapshots, .stays = all_stay});
}

void OutputPipeline::submit_state(Simulation const& simulation) {
  if (simulation.has_parts()) {
    drain();
    auto const clock = simulation.clock();
    return write_checkpoint(
        clock, [&](CheckpointSink& sink) { simulation.save(sink); }, way_);
  }
  await_memory();
  Job job{.snapshot = {simulation.clock(), {}},
          .state = StateRecord(),
          .aside = room_.states,
          .stays = room_.stays};
  simulation.save(*job.state);
  std::size_t used = 0;
  job.state->for_each_array([&](std::string const&, StateRecord::Array& array) {
    if (room_.states) array.data = copy_aside(array.data, array.bytes(), used);
    job.stays = job.stays && (array.values == 0 || stays(array.data));
  });
  hand_over(std::move(job));
}

/// Until what was submitted before needs neither the memory aside nor that of the numbers.
void OutputPipeline::await_memory() {
  await_copies();
  check();
}

void OutputPipeline::await_copies() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !memory_in_use_ || failure_; });
}

bool OutputPipeline::stays(void const* data) {
  return data != nullptr && is_on_host(data, compute_);
}

/// Queues the copy; `used` counts what is taken of the memory aside.
std::byte const* OutputPipeline::copy_aside(void const* data, std::size_t bytes,
                                            std::size_t& used) {
  auto const target = aside_.span().subspan(used, bytes);
  copy_async(target, std::span(static_cast<std::byte const*>(data), bytes), compute_);
  used += OutputRoom::of_array(bytes);
  return target.data();
}

/// Returns when the simulation may go on.
void OutputPipeline::hand_over(Job job) {
  compute_.record(ready_);
  bool const all_aside =
      job.aside && job.snapshot.quantities.empty() &&
      std::ranges::all_of(job.snapshot.fields, [&](auto const& f) { return files_.writes(f); });
  std::unique_lock lock(mutex_);
  waiting_ = std::move(job);
  memory_in_use_ = true;
  arrays_in_use_ = !all_aside;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !arrays_in_use_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (!waiting_ && !writing_) || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return waiting_ || stopping_; });
    if (!waiting_) return;
    Job job = std::move(*waiting_);
    waiting_.reset();
    writing_ = true;
    lock.unlock();
    std::exception_ptr failure;
    Timer timer;
    try {
      ready_.synchronize();
      timer.restart();
      if (job.state)
        write_state(job);
      else
        write_snapshot(job);
    } catch (...) {  // whatever it is, the thread that runs the simulation throws it on
      failure = std::current_exception();
    }
    double const seconds = timer.seconds();
    lock.lock();
    seconds_writing_ += seconds;
    failure_ = failure;
    writing_ = false;
    changed_.notify_all();
    if (failure_) return;
  }
}

void OutputPipeline::write_snapshot(Job& job) {
  Snapshot& snapshot = job.snapshot;
  auto const measured =
      snapshot.measured
          ? *snapshot.measured
          : diagnostics_->measure(with_data(snapshot.fields), snapshot.clock, snapshot.quantities);
  read_numbers(snapshot);
  if (job.aside || job.stays || !files_.has_fields()) release(arrays_in_use_);
  auto& [copies, slabs] = way_of(job);
  files_.write(snapshot, measured, slabs, copies, [this] {
    release(arrays_in_use_);
    release(memory_in_use_);
  });
}

/// No state that is not finite pushes out the good ones. What has whole vectors at the points of the
/// grid is told by component and cell, all else by its place in a line.
void OutputPipeline::write_state(Job& job) {
  auto const clock = job.snapshot.clock;
  job.state->for_each_array([&](std::string const& name, StateRecord::Array const& array) {
    auto const size = static_cast<std::int64_t>(array.values);
    Field field{name, "", run_.grid, array.precision, array.data};
    field.components = static_cast<int>(std::clamp<std::int64_t>(size / run_.grid.size(), 1, 3));
    if (field.values() != size) {
      field.grid = {.points = {size, 1, 1}};
      field.components = 1;
    }
    if (size > 0) require_finite(field, clock, way_.copies, run_.fields);
  });
  if (job.stays) release(arrays_in_use_);
  auto& way = way_of(job);
  write_checkpoint(
      clock,
      [&](CheckpointSink& sink) {
        job.state->give(sink, way.copies);
        release(arrays_in_use_);
        release(memory_in_use_);
      },
      way);
}

void OutputPipeline::write_checkpoint(Clock const& clock,
                                      std::function<void(CheckpointSink&)> const& save, Way& way) {
  OutputPaths const paths(run_);
  io::write_checkpoint(paths.checkpoint(clock.step),
                       {config::problem_yaml(run_), clock.step, clock.time}, save, way.slabs);
  auto const kept = paths.checkpoints();
  for (std::size_t i = static_cast<std::size_t>(run_.checkpoint.keep); i < kept.size(); ++i)
    removal_.remove(kept[i]);
}

/// What the simulation has found on the device becomes a part of the snapshot.
void OutputPipeline::read_numbers(Snapshot& snapshot) {
  std::vector<double> values(snapshot.numbers.size());
  copy_async(std::span(values), std::as_const(numbers_).span(), way_.copies);
  way_.copies.synchronize();
  for (std::size_t i = 0; i < values.size(); ++i)
    snapshot.diagnostics.push_back(
        {snapshot.numbers[i].name, snapshot.numbers[i].factor * values[i]});
  last_numbers_ = snapshot.diagnostics;
}

void OutputPipeline::release(bool& in_use) {
  {
    std::lock_guard const lock(mutex_);
    in_use = false;
  }
  changed_.notify_all();
}

}  // namespace gridstride

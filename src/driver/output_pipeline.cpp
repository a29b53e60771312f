#include "driver/output_pipeline.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/timer.hpp"

namespace gridstride {

OutputPipeline::OutputPipeline(config::RunConfig const& run, Stream const& stream,
                               std::vector<Field> const& fields, OutputFiles& files)
    : files_(files),
      compute_(stream),
      copies_(stream.device()),
      diagnostics_(run, fields, copies_),
      slab_(fields.size()),
      staged_event_(stream.device()) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    staging_.emplace_back(compute_, MemorySpace::device, fields[i].bytes());
    if (files.writes(fields[i])) slab_[i] = {compute_, MemorySpace::pinned, fields[i].bytes()};
  }
  thread_ = std::thread([this] { work(); });
}

OutputPipeline::~OutputPipeline() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try {
    copies_.synchronize();  // what a failure left there may still read the staging memory
  } catch (Error const&) {  // that failure itself, which `check` has thrown
  }
}

void OutputPipeline::check() {
  std::lock_guard const lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::submit(Snapshot const& snapshot) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !staging_in_use_ || failure_; });
    if (failure_) std::rethrow_exception(failure_);
  }
  staged_ = snapshot;
  for (std::size_t i = 0; i < snapshot.fields.size(); ++i) {
    auto const& field = snapshot.fields[i];
    auto const* const source = static_cast<std::byte const*>(field.data);
    copy_async(staging_[i].span(), {source, field.bytes()}, compute_);
    staged_.fields[i].data = staging_[i].data();
  }
  auto const& numbers = snapshot.numbers;
  if (numbers_.size() != numbers.size()) numbers_ = {compute_, MemorySpace::device, numbers.size()};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    copy_async(numbers_.span().subspan(i, 1), std::span(numbers[i].data, 1), compute_);
  compute_.record(staged_event_);
  {
    std::lock_guard const lock(mutex_);
    staging_in_use_ = true;
  }
  changed_.notify_all();
}

void OutputPipeline::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (!staging_in_use_ && !writing_) || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return staging_in_use_ || stopping_; });
    if (!staging_in_use_) return;
    writing_ = true;
    lock.unlock();
    std::exception_ptr failure;
    Timer timer;
    try {
      staged_event_.synchronize();
      timer.restart();
      process();
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

void OutputPipeline::process() {
  auto const measured = diagnostics_.measure(staged_.fields, staged_.clock);
  read_numbers();
  auto const snapshot = to_host([this](Field const& field) { return files_.writes(field); });
  {
    std::lock_guard const lock(mutex_);
    staging_in_use_ = false;
  }
  changed_.notify_all();
  files_.write(snapshot, measured);
}

/// What the simulation has found on the device becomes a part of the staged snapshot.
void OutputPipeline::read_numbers() {
  std::vector<double> values(staged_.numbers.size());
  copy_async(std::span(values), std::as_const(numbers_).span(), copies_);
  copies_.synchronize();
  for (std::size_t i = 0; i < values.size(); ++i)
    staged_.diagnostics.push_back({staged_.numbers[i].name, staged_.numbers[i].factor * values[i]});
}

/// The staged snapshot with the wanted fields copied to the slab.
Snapshot OutputPipeline::to_host(std::function<bool(Field const&)> const& wanted) {
  Snapshot snapshot = staged_;
  for (std::size_t i = 0; i < staging_.size(); ++i) {
    if (!wanted(snapshot.fields[i])) continue;
    if (slab_[i].size() == 0) slab_[i] = {compute_, MemorySpace::pinned, staging_[i].size()};
    copy_async(slab_[i].span(), std::as_const(staging_[i]).span(), copies_);
    snapshot.fields[i].data = slab_[i].data();
  }
  copies_.synchronize();
  return snapshot;
}

Snapshot OutputPipeline::last() {
  return to_host([](Field const&) { return true; });
}

}  // namespace gridstride

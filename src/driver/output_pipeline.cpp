#include "driver/output_pipeline.hpp"

#include <utility>

#include "core/timer.hpp"
#include "driver/diagnostics.hpp"

namespace gridstride {

OutputPipeline::OutputPipeline(config::RunConfig const& run, Stream const& stream,
                               std::vector<Field> const& fields, OutputFiles& files)
    : run_(run),
      files_(files),
      compute_(stream),
      copies_(stream.device()),
      staged_(stream.device()),
      staging_read_(stream.device()) {
  if (compute_.backend() == Backend::cuda)
    for (Field const& field : fields)
      staging_.emplace_back(compute_, MemorySpace::device, field.bytes());
  copies_.record(staging_read_);
  free_.push_back(&take_slab(fields));
  thread_ = std::thread([this] { work(); });
}

OutputPipeline::~OutputPipeline() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OutputPipeline::check() {
  std::lock_guard const lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

OutputPipeline::Slab& OutputPipeline::take_slab(std::vector<Field> const& fields) {
  constexpr std::size_t most_slabs = 2;
  std::unique_lock lock(mutex_);
  if (free_.empty() && slabs_.size() < most_slabs) {
    Slab& slab = slabs_.emplace_back(Slab{{}, Event(compute_.device()), {}});
    for (Field const& field : fields)
      slab.memory.emplace_back(compute_, MemorySpace::pinned, field.bytes());
    return slab;
  }
  changed_.wait(lock, [this] { return !free_.empty() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  Slab& slab = *free_.front();
  free_.pop_front();
  return slab;
}

void OutputPipeline::submit(Clock const& clock, std::vector<Field> const& fields) {
  check();
  Slab& slab = take_slab(fields);
  slab.snapshot = {clock, fields};
  copy_to(slab, fields);
  {
    std::lock_guard const lock(mutex_);
    queue_.push_back(&slab);
  }
  changed_.notify_all();
}

void OutputPipeline::copy_to(Slab& slab, std::vector<Field> const& fields) {
  auto const source = [](Field const& field) {
    return std::span(static_cast<std::byte const*>(field.data), field.bytes());
  };
  compute_.wait(staging_read_);
  for (std::size_t i = 0; i < staging_.size(); ++i)
    copy_async(staging_[i].span(), source(fields[i]), compute_);
  compute_.record(staged_);
  copies_.wait(staged_);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto const from = staging_.empty() ? source(fields[i]) : std::as_const(staging_[i]).span();
    copy_async(slab.memory[i].span(), from, copies_);
    slab.snapshot.fields[i].data = slab.memory[i].data();
  }
  copies_.record(staging_read_);
  copies_.record(slab.copied);
}

void OutputPipeline::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (queue_.empty() && in_work_ == nullptr) || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void OutputPipeline::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
    if (queue_.empty() || failure_) return;
    in_work_ = queue_.front();
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    Timer timer;
    try {
      in_work_->copied.synchronize();
      timer.restart();
      process(in_work_->snapshot);
    } catch (...) {  // whatever it is, the thread that runs the simulation throws it on
      failure = std::current_exception();
    }
    double const seconds = timer.seconds();
    lock.lock();
    seconds_writing_ += seconds;
    failure_ = failure;
    last_ = std::exchange(in_work_, nullptr);
    free_.push_back(last_);
    changed_.notify_all();
  }
}

void OutputPipeline::process(Snapshot const& snapshot) {
  for (Field const& field : snapshot.fields) require_finite(field, snapshot.clock);
  files_.write(snapshot, diagnose(run_.diagnostics, snapshot.fields));
}

}  // namespace gridstride

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "driver/output_files.hpp"
#include "simulations/simulation.hpp"

namespace gridstride {

/// The way of a run's results from the device to the disk. The device copies its fields aside and
/// goes on computing; a second stream brings the copy to pinned memory; a thread checks it, takes
/// the diagnostics and writes the files. Two snapshots can be under way; a third waits.
class OutputPipeline {
 public:
  OutputPipeline(config::RunConfig const& run, Stream const& stream,
                 std::vector<Field> const& fields, OutputFiles& files);
  ~OutputPipeline();

  /// Queues the fields, which lie in the stream's device memory. Throws what the thread met since
  /// the last call: `NumericalError` for a value that is not finite (that snapshot is not written,
  /// nor any after it), `IoError`.
  void submit(Clock const& clock, std::vector<Field> const& fields);
  /// Throws as `submit` does, without queueing anything.
  void check();
  /// Waits until everything is written; throws as `submit` does.
  void drain();

  /// Once drained: the last snapshot that was submitted (there must be one), and the time that the
  /// thread took.
  Snapshot const& last() const { return last_->snapshot; }
  double seconds_writing() const { return seconds_writing_; }

 private:
  struct Slab {
    std::vector<Buffer<std::byte>> memory;  // one per field
    Event copied;
    Snapshot snapshot;
  };

  Slab& take_slab(std::vector<Field> const& fields);
  void copy_to(Slab& slab, std::vector<Field> const& fields);
  void work();
  void process(Snapshot const& snapshot);

  config::RunConfig const& run_;
  OutputFiles& files_;
  Stream compute_;
  Stream copies_;
  std::vector<Buffer<std::byte>> staging_;  // on a GPU: where the fields are copied aside
  Event staged_;
  Event staging_read_;
  std::deque<Slab> slabs_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<Slab*> free_;
  std::deque<Slab*> queue_;
  Slab* in_work_ = nullptr;
  Slab* last_ = nullptr;
  bool stopping_ = false;
  std::exception_ptr failure_;
  double seconds_writing_ = 0;

  std::thread thread_;
};

}  // namespace gridstride

#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "driver/diagnostics.hpp"
#include "driver/output_files.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// The way of a run's results from the device to the disk. The device copies its fields aside and
/// goes on computing. A thread with a stream of its own takes the diagnostics where the copy lies,
/// brings the fields that files will hold to the host, gives the place aside free, and writes the
/// files. So two snapshots can be under way; a third waits.
class OutputPipeline {
 public:
  OutputPipeline(config::RunConfig const& run, Stream const& stream,
                 std::vector<Field> const& fields, OutputFiles& files);
  ~OutputPipeline();

  /// Queues a snapshot's fields, which lie in the stream's device memory. Throws what the thread
  /// met since the last call: `NumericalError` for a value that is not finite (that snapshot is not
  /// written, nor any after it), `IoError`.
  void submit(Snapshot const& snapshot);
  /// Throws as `submit` does, without queueing anything.
  void check();
  /// Waits until everything is written; throws as `submit` does.
  void drain();

  /// Once drained: the last snapshot that was submitted (there must be one), in host memory that
  /// the pipeline owns.
  Snapshot last();
  /// Once drained: the simulation's own numbers at that moment.
  std::vector<NamedValue> const& last_numbers() const { return staged_.diagnostics; }
  /// Once drained: the time that the thread took.
  double seconds_writing() const { return seconds_writing_; }

 private:
  void work();
  void process();
  void read_numbers();
  Snapshot to_host(std::function<bool(Field const&)> const& wanted);

  OutputFiles& files_;
  Stream compute_;
  Stream copies_;  // of the thread, while it runs
  Diagnostics diagnostics_;
  std::vector<Buffer<std::byte>> staging_;  // where the device copies its fields aside
  Buffer<double> numbers_;                  // beside it, the simulation's numbers
  std::vector<Buffer<std::byte>> slab_;     // where files read them; empty for other fields
  Snapshot staged_;                         // its fields view the staging memory
  Event staged_event_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  bool staging_in_use_ = false;
  bool writing_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  double seconds_writing_ = 0;

  std::thread thread_;
};

}  // namespace gridstride

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "driver/diagnostics.hpp"
#include "driver/forecast.hpp"
#include "driver/output_files.hpp"
#include "driver/state_record.hpp"
#include "io/removal.hpp"
#include "io/slabs.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// The way of a run's results and states from the device to the disk. A thread with a stream of its
/// own takes the diagnostics where the fields lie, moves what files will hold to them slab by slab,
/// and makes it visible; one thing after the other, in the order in which they were submitted, so
/// that a restart finds every output from before its checkpoint.
///
/// What has a place aside in the device's memory is copied there, and the device goes on computing
/// while files are written. What stays as it is in the host's memory goes from there to files, without
/// the device, once diagnostics have looked at it: a call of the driver that waits for all kernels could
/// keep this rank from what those of others wait for. For all else, whoever submits it waits until it is
/// copied out.
class OutputPipeline {
 public:
  /// Takes all memory. `first` is a snapshot like those to come.
  OutputPipeline(config::RunConfig const& run, Stream const& stream, Snapshot const& first,
                 OutputFiles& files, OutputRoom const& room);
  ~OutputPipeline();

  /// Queues a snapshot's fields, which lie in the stream's device memory and have what was queued
  /// on it. Throws what the thread met since the last call: `NumericalError` for a value that is
  /// not finite (that snapshot is not written, nor any after it), `IoError`.
  void submit(Snapshot snapshot);
  /// The same for the simulation's state, as a checkpoint of this run.
  void submit_state(Simulation const& simulation);
  /// Waits until all that was submitted is copied out, or has failed. What stays in the host's memory
  /// may change then.
  void await_copies();
  /// Throws as `submit` does, without queueing anything.
  void check();
  /// Waits until everything is written; throws as `submit` does.
  void drain();

  /// Once drained: the simulation's own numbers in the last snapshot.
  std::vector<NamedValue> const& last_numbers() const { return last_numbers_; }
  /// Once drained: the time that the thread took.
  double seconds_writing() const { return seconds_writing_; }

 private:
  /// How what files hold comes to them.
  struct Way {
    Way(Device const& device, io::Slabs::Use const& use) : copies(device), slabs(copies, use) {}

    Stream copies;  // of the thread, while it runs
    io::Slabs slabs;
  };
  /// On its way to the files: a snapshot, or a state with its clock.
  struct Job {
    Snapshot snapshot;
    std::optional<StateRecord> state = {};
    bool aside = false;  ///< what files will hold was copied aside
    bool stays = false;  ///< the same stays where it is
  };

  void await_memory();
  std::byte const* copy_aside(void const* data, std::size_t bytes, std::size_t& used);
  bool stays(void const* data);
  Way& way_of(Job const& job) { return job.stays ? *way_of_host_ : way_; }
  void hand_over(Job job);
  void work();
  void write_snapshot(Job& job);
  void write_state(Job& job);
  void write_checkpoint(Clock const& clock, std::function<void(CheckpointSink&)> const& save,
                        Way& way);
  void read_numbers(Snapshot& snapshot);
  void release(bool& in_use);

  config::RunConfig const& run_;
  OutputFiles& files_;
  Stream compute_;
  Way way_;
  std::optional<Way> way_of_host_;          // of what stays there
  std::optional<Diagnostics> diagnostics_;  // none where what they find comes with snapshots
  OutputRoom room_;
  io::Removal removal_;  // of checkpoints
  Buffer<std::byte> aside_;
  Buffer<double> numbers_;  // beside it, the simulation's own
  Event ready_;             // what was submitted last is there
  std::vector<NamedValue> last_numbers_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::optional<Job> waiting_;
  bool memory_in_use_ = false;  // that of the pipeline
  bool arrays_in_use_ = false;  // the simulation's own
  bool writing_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  double seconds_writing_ = 0;

  std::thread thread_;
};

}  // namespace gridstride

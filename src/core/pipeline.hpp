#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/slab.hpp"
#include "core/stream.hpp"

/// Data that goes through a device in chunks, so that reading, copying, computing and writing of
/// different chunks happen at the same time.
///
///     Pipeline pipeline(stream, Pipeline::lanes_for(LaneUse::files, chunks));
///     std::vector<Slab> slabs;
///     for (Lane& lane : pipeline.lanes()) slabs.emplace_back(lane.stream(), chunk_bytes);
///     auto const read = [&](Lane& lane, std::int64_t chunk) {
///       file.read(slabs[lane.index()].host<float>(size_of(chunk)), place_of(chunk));
///       lane.moved(size_of(chunk) * sizeof(float));
///     };
///     …
///     auto const report = pipeline.run(chunks, {{"read", StageKind::host, read},
///                                               {"copy in", StageKind::queued, copy_in},
///                                               {"add up", StageKind::queued, add_up, true}});
namespace gridstride {

/// What a chunk has on its way: a stream, and what its user keeps for `index()`, such as memory for
/// one chunk, which no other lane touches. A chunk waits where no lane is free: queues cannot grow.
class Lane {
 public:
  Lane(Stream const& stream, std::size_t index);
  Lane(Lane&&) noexcept;
  Lane& operator=(Lane&&) noexcept;
  ~Lane();

  std::size_t index() const { return index_; }
  /// What its stages of the kind `queued` queue on.
  Stream& stream() { return stream_; }
  /// Told by a stage: so many bytes more that it moves, for the report.
  void moved(std::size_t bytes);
  /// Told by a stage of the host before it queues something itself on `stream()`, as copies of what
  /// it has read so far: that is work of the stage after it, a queued one, which begins here.
  void feed();

 private:
  friend class PipelineRun;
  struct Marks;
  std::size_t index_;
  Stream stream_;
  std::unique_ptr<Marks> marks_;
};

enum class StageKind {
  /// Work of the thread that has the lane, such as reading a file. It begins when all that the lane
  /// has queued is done.
  host,
  /// Queues work on the lane's stream and returns. It begins on the device after what the lane has
  /// queued before, and waits for nothing else.
  queued,
};

struct PipelineStage {
  std::string name;  ///< for the report and for profilers, to which each call is a range
  StageKind kind;
  std::function<void(Lane&, std::int64_t chunk)> run;
  /// Chunk n's begins after chunk n − 1's has ended: for results that go on from chunk to chunk,
  /// sums in a fixed order, and appending.
  bool ordered = false;
};

/// A stage in the whole of a run.
struct StageReport {
  std::string name;
  /// In which at least one chunk was in this stage. Of stages that share a link it is the link's
  /// own time, since a copy that waits for another one is counted once.
  double busy_seconds = 0;
  double bytes = 0;  ///< as `Lane::moved` was told

  /// Bytes in a busy second; 0 where it was never busy.
  double rate() const { return busy_seconds > 0 ? bytes / busy_seconds : 0; }
};

/// A chunk in a stage, in seconds since the run began.
struct StageInterval {
  std::size_t stage;
  std::int64_t chunk;
  std::size_t lane;
  double start, end;
};

struct PipelineReport {
  double seconds = 0;
  std::vector<StageReport> stages;
  std::vector<StageInterval> timeline;  ///< by stage and chunk, where it was asked for

  /// Adds a later run; stages of the same name are one, and its timeline follows.
  PipelineReport& operator+=(PipelineReport const& later);
};

/// What bounds a pipeline.
enum class LaneUse {
  bus,    ///< copies to and from the device
  files,  ///< reading or writing by the host's threads
};

class Pipeline {
 public:
  /// Good sizes of chunks. Each copy takes some ten microseconds beside its bytes: a 20th of the
  /// time of 8 MiB on a fast bus, which is nothing beside files, and a 60th of that of 32 MiB.
  static constexpr std::size_t chunk_bytes = std::size_t{8} << 20;
  static constexpr std::size_t bus_chunk_bytes = std::size_t{32} << 20;

  /// A good number of lanes: 4 keep both directions of the bus and the device at work; files want
  /// as many as the host has threads, 4 to 16. No more than there are chunks, and at least 1.
  static int lanes_for(LaneUse use, std::int64_t chunks);

  static constexpr std::size_t most_each = 8;

  /// Makes lanes of the stream's device, `each` (1 to `most_each`) for each of `threads` ≥ 1 threads.
  /// They begin with what comes after all that is queued on `stream` when a run begins. Each has a
  /// stream of its own, or all share so many `streams`, where work of different lanes need not
  /// overlap on the device.
  ///
  /// A thread with several has chunks in all: it reads one while the device has the others, whose
  /// stages of the host that come after queued ones it takes when it needs their lane. It does not
  /// wait for the turn of a chunk that is queued in order either: whoever queues the chunk before
  /// goes on with that one.
  Pipeline(Stream const& stream, int threads, std::size_t each = 1, std::size_t streams = 0);

  std::span<Lane> lanes() { return lanes_; }

  /// Takes `chunks` ≥ 0 chunks through the stages, by the threads (the first is the caller's), and
  /// returns when all work is done. Thread i begins with chunk i, in the first of its lanes; then
  /// each takes the next chunk when it has a lane for it, so that none waits for a slower one.
  ///
  /// Where a stage throws, or the device fails, chunks after that one are given up, those before it
  /// go on to their end, and what the first failing chunk threw is thrown: the same for any number
  /// of lanes. Nothing is queued any more then.
  ///
  /// Takes 16 bytes of memory for each chunk and stage, and 8 for each chunk, before it begins, and
  /// none once it runs.
  PipelineReport run(std::int64_t chunks, std::vector<PipelineStage> const& stages,
                     bool timeline = false);

 private:
  Stream stream_;
  std::size_t each_;
  std::vector<Lane> lanes_;  ///< those of a thread side by side
};

}  // namespace gridstride

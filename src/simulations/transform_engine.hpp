#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/mark.hpp"
#include "core/own_places.hpp"
#include "core/pipeline.hpp"
#include "model/simulation.hpp"
#include "simulations/transform_cut.hpp"
#include "simulations/transform_worker.hpp"

namespace gridstride::transform {

/// Of each array that comes from a file, where it is stored; null for others.
using Files = std::vector<std::shared_ptr<NumberSource const>>;

/// What a chunk goes through, one after the other.
inline constexpr std::array<std::string_view, 6> stage_names = {"read",    "copy in",  "convert",
                                                                "compute", "copy out", "write"};

/// An array that is kept, in device memory: its rows from the `first` on.
template <class T>
struct Kept {
  int place;
  T* values;
  std::int64_t first = 0;
};

/// What one pass over the data is for.
template <class T>
struct PassWork {
  std::vector<int> places;            ///< arrays that are looked at
  std::vector<Kept<T>> kept = {};     ///< arrays that are kept, which are among those
  std::vector<Written> written = {};  ///< arrays that are written, which are, too
  bool picks = false;                 ///< whether `take` picks values out for tables
  /// Takes in what a chunk has, one after the other, on the worker's stream; may be null.
  std::function<void(Worker<T>&, Rows const& chunk)> take = {};
  /// Told now and then what share of the data has passed, in the caller's thread; may be null.
  std::function<void(double share)> tell = {};
};

/// Takes the data through the device in chunks. T is float or double.
template <class T>
class Engine {
 public:
  /// `refuse(place, index, numbers)` throws for a file's number that is not finite.
  using Refuse = std::function<void(int place, std::int64_t index, NumberSource const& numbers)>;

  Engine(Stream const& stream, Chain const& chain, Load const& load, Cut const& cut,
         Files const& files, Resident<T>& resident, Refuse refuse);

  /// One pass. What it reads of rows that may stay, stays.
  PipelineReport run(PassWork<T> const& work);
  /// What it does otherwise than asked, a line each.
  std::vector<std::string> fallbacks() const { return states_.front().worker.fallbacks(); }

 private:
  /// Rows of a file's array in the slab of a lane.
  struct Part {
    int place;
    Placed const* piece;
    std::int64_t first, count;  ///< numbers of the array
    std::size_t offset, bytes;  ///< in the slab
  };
  /// What a lane has for the chunk that it is at.
  struct LaneState {
    Worker<T> worker;
    Layout layout;
    std::vector<Part> parts;                ///< that are read
    Buffer<std::byte> stored;               ///< numbers as files have them
    Buffer<T> read;                         ///< the same as values
    Buffer<T> written;                      ///< in pinned memory, on their way to files
    Buffer<std::int64_t> first_non_finite;  ///< of each piece that is read
    Buffer<std::int64_t> found;             ///< the same, in pinned memory
  };
  /// What a pass has.
  struct Pass {
    PassWork<T> const& work;
    std::vector<Rows> chunks;
    std::vector<ScanState<T>> scans;
    std::atomic<std::int64_t> rows = 0;  ///< that have passed
  };

  std::vector<ScanState<T>> scans_for(PassWork<T> const& work) const;
  std::vector<Part> parts_of(Layout const& layout) const;
  void note_filled(PassWork<T> const& work);
  void lay_out(LaneState& state, Pass const& pass, std::size_t chunk);
  void bring(LaneState& state, Lane& lane, Part const& part);
  void read(LaneState& state, Lane& lane);
  void convert(LaneState& state);
  void keep(LaneState& state, Part const& part);
  void compute(LaneState& state, Pass& pass);
  void copy_out(LaneState& state, PassWork<T> const& work, Lane& lane);
  void write(LaneState& state, Pass& pass, Lane& lane);

  Stream stream_;
  Chain const* chain_;
  Load load_;
  Cut cut_;
  Files files_;
  Resident<T>* resident_;
  Refuse refuse_;
  Pipeline pipeline_;
  std::vector<LaneState> states_;
  // What a GPU's chunks are read into: slabs that a thread uses in turn.
  Buffer<std::byte> slabs_;
  std::vector<Mark> copied_;        ///< of each slab, the copy of what was in it last
  std::vector<std::size_t> turns_;  ///< of each thread, among its slabs
};

}  // namespace gridstride::transform

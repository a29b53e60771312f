#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/limits.hpp"
#include "core/field_sink.hpp"
#include "core/pipeline.hpp"
#include "core/slab.hpp"
#include "model/simulation.hpp"
#include "simulations/transform_worker.hpp"

namespace gridstride::transform {

/// What stretches of stored numbers in a slab begin at multiples of (bytes).
inline constexpr std::size_t slab_alignment = 256;

/// How a chain goes through a device.
struct Cut {
  std::int64_t rows = 0;  ///< of the data in a chunk
  int lanes = 1;
  // The most that a chunk takes in each lane:
  std::size_t values = 0;               ///< that it makes
  std::size_t read_values = 0;          ///< of files
  std::size_t read_bytes = 0;           ///< the same as they are stored
  std::size_t pieces = 0;               ///< stretches of rows that are read
  std::size_t written_values = 0;       ///< that go to files
  std::vector<std::int64_t> kept = {};  ///< rows of each array that its scan keeps

  std::vector<Rows> chunks(Chain const& chain) const { return chunks_of(chain, rows); }
  /// Bytes of all lanes.
  std::size_t device_bytes(std::size_t value_bytes) const;
  std::size_t host_bytes(std::size_t value_bytes) const;
};

/// What a cut is for.
struct Load {
  std::vector<int> places;             ///< that any pass looks at
  std::vector<int> written = {};       ///< those that go to files
  std::vector<int> stored_bytes = {};  ///< of a number of each array that comes from a file; else 0
  std::size_t value_bytes = 8;
  double device_bytes = 0, host_bytes = 0;  ///< that there are for the lanes
};

/// The cut for a load: within its bytes, as far as one row and one lane are.
Cut cut_for(Chain const& chain, config::Limits const& limits, Load const& load);

/// Of each array that comes from a file, where it is stored; null for others.
using Files = std::vector<std::shared_ptr<NumberSource const>>;

/// What a chunk goes through, one after the other.
inline constexpr std::array<std::string_view, 5> stage_names = {"read", "copy in", "compute",
                                                                "copy out", "write"};

/// An array that is kept as a whole, in device memory.
template <class T>
struct Kept {
  int place;
  T* values;
};

/// An array that is written.
struct Written {
  int place;
  FieldSink* sink;
};

/// What one pass over the data is for.
template <class T>
struct PassWork {
  std::vector<int> places;            ///< arrays that are looked at
  std::vector<Kept<T>> kept = {};     ///< arrays that are kept, which are among those
  std::vector<Written> written = {};  ///< arrays that are written, which are, too
  /// Takes in what a chunk has, one after the other, on the worker's stream; may be null.
  std::function<void(Worker<T>&, Rows const& chunk)> take = {};
};

/// Takes the data through the device in chunks. T is float or double.
template <class T>
class Engine {
 public:
  /// `refuse(place, index, numbers)` throws for a file's number that is not finite.
  using Refuse = std::function<void(int place, std::int64_t index, NumberSource const& numbers)>;

  Engine(Stream const& stream, Chain const& chain, Cut const& cut, Files const& files,
         Refuse refuse);

  PipelineReport run(PassWork<T> const& work);
  /// What it does otherwise than asked, a line each.
  std::vector<std::string> fallbacks() const { return states_.front().worker.fallbacks(); }

 private:
  /// What a lane has for the chunk that it is at.
  struct LaneState {
    Worker<T> worker;
    Layout layout;
    Slab stored;                            ///< numbers as files have them
    Buffer<T> read;                         ///< the same as values
    Buffer<T> written;                      ///< in pinned memory, on their way to files
    Buffer<std::int64_t> first_non_finite;  ///< of each piece that is read
    Buffer<std::int64_t> found;             ///< the same, in pinned memory
  };
  /// Rows of a file's array in the slab of a lane.
  struct Part {
    int place;
    Placed const* piece;
    std::int64_t first, count;  ///< numbers of the array
    std::size_t offset, bytes;  ///< in the slab
  };

  std::vector<ScanState<T>> scans_for(PassWork<T> const& work) const;
  std::vector<Part> parts_of(Layout const& layout) const;
  void lay_out(LaneState& state, PassWork<T> const& work, std::size_t chunk);
  void read(LaneState& state, Lane& lane);
  void copy_in(LaneState& state, Lane& lane);
  void convert(LaneState& state);
  void compute(LaneState& state, PassWork<T> const& work, std::vector<ScanState<T>>& scans);
  void copy_out(LaneState& state, PassWork<T> const& work, Lane& lane);
  void write(LaneState& state, PassWork<T> const& work, Lane& lane);

  Stream stream_;
  Chain const* chain_;
  std::vector<Rows> chunks_;
  std::vector<std::int64_t> kept_rows_;
  Files files_;
  Refuse refuse_;
  Pipeline pipeline_;
  std::vector<LaneState> states_;
};

}  // namespace gridstride::transform

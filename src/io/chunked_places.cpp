#include "io/chunked_places.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "io/chunk_filters.hpp"
#include "io/packing.hpp"

namespace gridstride::io {

namespace {

using hdf5::Object;
using hdf5::Shape;

/// Blocks of at most this size keep memory and the chunk index small and still fill a disk's pipe.
constexpr std::size_t largest_chunk_bytes = std::size_t{16} << 20;

/// The same of chunks that are packed.
std::size_t chunk_limit(int compression) {
  return compression > 0 ? packed_block : largest_chunk_bytes;
}

/// Nearly equal chunks of one step of a field. They cut one axis, have one index of the axes before
/// it and all of those after it: each is a piece of the field's memory.
struct ChunkLayout {
  ChunkLayout(Shape const& field, std::size_t value_bytes, std::size_t largest)
      : shape(field), chunk(field) {
    hsize_t const limit = largest / value_bytes;
    hsize_t inner = 1;
    for (hsize_t const extent : shape) inner *= extent;
    for (cut = 0;; ++cut) {
      inner /= shape[cut];
      hsize_t const rows = std::max<hsize_t>(1, limit / inner);
      hsize_t const pieces = (shape[cut] + rows - 1) / rows;
      chunk[cut] = (shape[cut] + pieces - 1) / pieces;
      if (inner <= limit) break;
      groups *= shape[cut];
    }
    of_group = (shape[cut] + chunk[cut] - 1) / chunk[cut];
    chunk_bytes = chunk[cut] * inner * value_bytes;
    group_bytes = shape[cut] * inner * value_bytes;
  }

  std::uint64_t bytes() const { return groups * group_bytes; }
  /// The first element of a chunk, at a step.
  Shape first_of(hsize_t number, hsize_t step) const {
    Shape first(1 + shape.size(), 0);
    first.front() = step;
    hsize_t group = number / of_group;
    for (std::size_t axis = cut; axis-- > 0; group /= shape[axis])
      first[1 + axis] = group % shape[axis];
    first[1 + cut] = number % of_group * chunk[cut];
    return first;
  }

  Shape shape;  ///< of the field
  Shape chunk;
  std::size_t cut = 0;        ///< the axis
  hsize_t groups = 1;         ///< indices of the axes before it
  hsize_t of_group = 1;       ///< chunks for each of them
  std::uint64_t chunk_bytes;  ///< the last one of a group may reach beyond the field
  std::uint64_t group_bytes;  ///< of the field
};

/// The chunks of one field at one step, in space that is reserved.
class ChunkedPlace final : public FieldSink {
 public:
  ChunkedPlace(hdf5::RawSpace const& space, Object const& dataset, hsize_t step,
               ChunkLayout const& layout)
      : FieldSink(layout.bytes()), space_(space), layout_(layout) {
    for (hsize_t number = 0; number < layout_.groups * layout_.of_group; ++number)
      places_.push_back(
          space.reserve_chunk(dataset, layout_.first_of(number, step), layout_.chunk_bytes));
  }

  FilePlaces share() override {
    std::vector<Stretch> stretches;
    for (std::size_t number = 0; number < places_.size(); ++number) {
      std::uint64_t const in_group = number % layout_.of_group * layout_.chunk_bytes;
      stretches.push_back({number / layout_.of_group * layout_.group_bytes + in_group,
                           std::min(layout_.chunk_bytes, layout_.group_bytes - in_group),
                           places_[number]});
    }
    return space_.share(std::move(stretches));
  }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    while (!bytes.empty()) {
      std::uint64_t const group = first_byte / layout_.group_bytes;
      std::uint64_t const in_group = first_byte % layout_.group_bytes;
      std::uint64_t const chunk = in_group / layout_.chunk_bytes;
      std::uint64_t const in_chunk = in_group % layout_.chunk_bytes;
      std::uint64_t const size =
          std::min({layout_.chunk_bytes - in_chunk, layout_.group_bytes - in_group, bytes.size()});
      space_.write(places_[group * layout_.of_group + chunk] + in_chunk, bytes.first(size));
      bytes = bytes.subspan(size);
      first_byte += size;
    }
  }
  void end_sharing(bool others_failed) override { space_.end_sharing(others_failed); }

  hdf5::RawSpace const& space_;
  ChunkLayout layout_;
  std::vector<haddr_t> places_;
};

/// The same for chunks that are packed, which get their space when their size is known, and that of all
/// before them: a file has the same bytes each time.
class PackedPlace final : public BlockSink {
 public:
  PackedPlace(hdf5::RawSpace const& space, Object const& dataset, hsize_t step, Precision precision,
              ChunkLayout const& layout, int level)
      : BlockSink(layout.bytes(), layout.chunk_bytes, layout.group_bytes),
        space_(space),
        dataset_(dataset),
        step_(step),
        precision_(precision),
        layout_(layout),
        level_(level) {}

 private:
  /// Filters take whole chunks: what lies beyond the field is zero.
  void take(std::uint64_t block, std::span<std::byte const> bytes) override {
    std::vector<std::byte> whole;
    if (bytes.size() < layout_.chunk_bytes) {
      whole.assign(bytes.begin(), bytes.end());
      whole.resize(layout_.chunk_bytes);
      bytes = whole;
    }
    auto packed = deflated(shuffled(bytes, precision_), level_);
    std::lock_guard const lock(mutex_);
    waiting_.emplace(block, std::move(packed));
    for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_)
      space_.add_chunk(dataset_, layout_.first_of(next_, step_),
                       waiting_.extract(waiting_.begin()).mapped());
  }

  hdf5::RawSpace const& space_;
  Object const& dataset_;
  hsize_t step_;
  Precision precision_;
  ChunkLayout layout_;
  int level_;
  std::mutex mutex_;  // of what follows
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> waiting_;
};

}  // namespace

Shape chunk_shape(Shape const& shape, Precision precision, int compression) {
  return ChunkLayout(shape, size_of(precision), chunk_limit(compression)).chunk;
}

std::unique_ptr<FieldSink> chunked_place(hdf5::RawSpace const& space, Object const& dataset,
                                         StepOfField const& field, int compression) {
  ChunkLayout const layout(field.shape, size_of(field.precision), chunk_limit(compression));
  if (compression == 0) return std::make_unique<ChunkedPlace>(space, dataset, field.step, layout);
  return std::make_unique<PackedPlace>(space, dataset, field.step, field.precision, layout,
                                       compression);
}

}  // namespace gridstride::io

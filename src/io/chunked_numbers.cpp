#include "io/chunked_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.hpp"

namespace gridstride::io {

namespace {

/// Packed chunks above this are unpacked once for all who need a part of them.
constexpr std::int64_t large_chunk = std::int64_t{16} << 20;

/// Whether the elements of tile after tile are those of the array in C order: tiles of whole lines
/// along all axes after the first that they are longer than 1 along, and nothing beyond the array
/// but at its end.
bool is_c_order(StoredOrder const& order) {
  auto const& [shape, tile, reversed] = order;
  std::size_t axis = 0;
  std::int64_t before = 1;
  for (; axis < 2 && tile[axis] == 1; ++axis) before *= shape[axis];
  for (std::size_t inner = axis + 1; inner < 3; ++inner)
    if (tile[inner] != shape[inner]) return false;
  return before == 1 || shape[axis] % tile[axis] == 0;
}

class ChunkedNumbers final : public NumberSource {
 public:
  ChunkedNumbers(InputFile file, ChunkedLayout layout)
      : file_(std::move(file)),
        layout_(std::move(layout)),
        chunk_bytes_(layout_.order.tile_size() * layout_.type.bytes),
        lies_in_c_order_(is_c_order(layout_.order)) {}

  NumberType type() const override { return layout_.type; }
  std::vector<std::int64_t> const& shape() const override { return layout_.shape; }
  std::optional<StoredOrder> order() const override {
    return lies_in_c_order_ ? std::nullopt : std::optional(layout_.order);
  }
  std::int64_t granule() const override {
    bool const whole = !layout_.filters.none() && chunk_bytes_ <= large_chunk;
    return whole ? layout_.order.tile_size() : 1;
  }
  /// A chunk before and after each filter; of large ones one is unpacked at a time, and two stay.
  std::size_t unpacking_bytes(int threads) const override {
    if (layout_.filters.none()) return 0;
    auto const chunk = static_cast<std::size_t>(chunk_bytes_);
    return chunk_bytes_ > large_chunk ? 4 * chunk : 2 * static_cast<std::size_t>(threads) * chunk;
  }
  void check_unchanged() const override { file_.check_unchanged(); }

  void read(std::int64_t first, std::int64_t count, void* target) const override {
    if (lies_in_c_order_) return read_stored(first, count, target);
    if (count > 0) gather(first, count, static_cast<std::byte*>(target));
  }

  void read_stored(std::int64_t first, std::int64_t count, void* target) const override {
    auto* bytes = static_cast<std::byte*>(target);
    std::int64_t const size = layout_.order.tile_size();
    while (count > 0) {
      std::int64_t const within = first % size, part = std::min(count, size - within);
      read_chunk(first / size, within, part, bytes);
      first += part;
      count -= part;
      bytes += part * layout_.type.bytes;
    }
  }

 private:
  /// A part of a chunk.
  void read_chunk(std::int64_t number, std::int64_t within, std::int64_t count,
                  std::byte* target) const {
    auto const& chunk = layout_.chunks[static_cast<std::size_t>(number)];
    auto const offset = static_cast<std::size_t>(within * layout_.type.bytes);
    auto const bytes = static_cast<std::size_t>(count * layout_.type.bytes);
    if (layout_.filters.none())
      return file_.read(chunk.address + static_cast<std::int64_t>(offset), {target, bytes});
    if (chunk_bytes_ > large_chunk)
      std::memcpy(target, kept(number)->data() + offset, bytes);
    else
      std::memcpy(target, unpacked(number).data() + offset, bytes);
  }

  std::vector<std::byte> unpacked(std::int64_t number) const {
    auto const& chunk = layout_.chunks[static_cast<std::size_t>(number)];
    std::vector<std::byte> packed(static_cast<std::size_t>(chunk.bytes));
    file_.read(chunk.address, packed);
    try {
      return layout_.filters.unpack(std::move(packed), chunk.left_out,
                                    static_cast<std::size_t>(chunk_bytes_));
    } catch (ChunkFilters::Damage const& damage) {
      throw IoError(file_.path(), fmt::format("'{}' is damaged: chunk {} of {}: {}", layout_.name,
                                              number + 1, layout_.chunks.size(), damage.why));
    }
  }

  /// One of the two large chunks that were last asked for: readers that go on together need no
  /// more.
  std::shared_ptr<std::vector<std::byte> const> kept(std::int64_t number) const {
    std::lock_guard const lock(mutex_);
    for (auto const& [kept_number, bytes] : kept_)
      if (kept_number == number) return bytes;
    std::swap(kept_[0], kept_[1]);
    kept_[0] = {-1, nullptr};  // its memory goes before there is more
    kept_[0] = {number, std::make_shared<std::vector<std::byte> const>(unpacked(number))};
    return kept_[0].second;
  }

  /// Elements in C order, out of all chunks that have some of them.
  void gather(std::int64_t first, std::int64_t count, std::byte* target) const {
    auto const& [shape, tile, reversed] = layout_.order;
    std::int64_t const last = first + count, width = layout_.type.bytes;
    std::int64_t const layer = shape[1] * shape[2];
    std::int64_t const in_band = layout_.order.tiles(1) * layout_.order.tiles(2);
    std::int64_t const first_chunk = first / layer / tile[0] * in_band;
    std::int64_t const end_chunk = ((last - 1) / layer / tile[0] + 1) * in_band;
    std::vector<std::byte> chunk(static_cast<std::size_t>(chunk_bytes_));
    for (std::int64_t number = first_chunk; number < end_chunk; ++number) {
      bool is_read = false;
      for (std::int64_t row = 0; row < tile[0] * tile[1]; ++row) {
        std::int64_t const place = layout_.order.place(number, row * tile[2]);
        if (place < 0) continue;
        std::int64_t const length = std::min(tile[2], shape[2] - place % shape[2]);
        std::int64_t const begin = std::max(first, place), end = std::min(last, place + length);
        if (begin >= end) continue;
        if (!std::exchange(is_read, true))
          read_chunk(number, 0, layout_.order.tile_size(), chunk.data());
        std::memcpy(target + (begin - first) * width,
                    chunk.data() + (row * tile[2] + begin - place) * width,
                    static_cast<std::size_t>((end - begin) * width));
      }
    }
  }

  InputFile file_;
  ChunkedLayout layout_;
  std::int64_t chunk_bytes_;
  bool lies_in_c_order_;
  mutable std::mutex mutex_;
  mutable std::array<std::pair<std::int64_t, std::shared_ptr<std::vector<std::byte> const>>, 2>
      kept_ = {{{-1, nullptr}, {-1, nullptr}}};
};

}  // namespace

std::unique_ptr<NumberSource> chunked_numbers(InputFile file, ChunkedLayout layout) {
  return std::make_unique<ChunkedNumbers>(std::move(file), std::move(layout));
}

}  // namespace gridstride::io

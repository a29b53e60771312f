#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/host_device.hpp"
#include "core/rank_memory.hpp"
#include "core/rank_sums.hpp"
#include "core/stream.hpp"
#include "kernels/support/rank_planes.hpp"

namespace gridstride {

/// Rows of arrays that lie apart, those of several planes if these lie apart, too.
struct CopiedRows {
  std::byte const* from;
  std::size_t from_pitch;
  std::byte* to;
  std::size_t to_pitch, width, rows;  ///< bytes of a row, and how many rows of a plane
  std::size_t planes = 1;
  std::size_t from_plane = 0, to_plane = 0;  ///< bytes from one to the next, whole pitches

  GRIDSTRIDE_HOST_DEVICE std::byte const* from_row(std::size_t plane, std::size_t row) const {
    return from + plane * from_plane + row * from_pitch;
  }
  GRIDSTRIDE_HOST_DEVICE std::byte* to_row(std::size_t plane, std::size_t row) const {
    return to + plane * to_plane + row * to_pitch;
  }
};

/// Queues the copy, between any memory that the stream's device and the host have. Throws
/// `std::invalid_argument` for rows that are wider than they lie apart.
void copy_rows(Stream& stream, CopiedRows const& copy);
/// The same within the memory of the stream's device, rows of whole values; by a kernel on a GPU.
void copy_own_rows(Stream& stream, CopiedRows const& copy);

/// Two arrays of each rank, of what all ranks share: its own planes of it (`RankPlanes`), [own
/// plane][column], and its own columns of all planes, [plane][own column], without gaps. Columns are
/// the values of a plane, cut like planes: rank r has those from columns[r] to columns[r + 1]. A rank
/// may have none.
///
/// What goes from one to the other may go in pieces, so that some are on their way while others are
/// made; all ranks call all functions in the same order, and `send_…` as often. Both ways take turns,
/// each of them whole: before planes are sent again, columns are sent back and awaited. Where GPUs
/// reach each other's memory, pieces are copied into the other GPU's array on streams of their own, and
/// flags there tell that they have come; else all goes by way of the host, once it is awaited. What a
/// rank has of its own is copied from one array to the other once it is awaited.
class RankTransposition {
 public:
  /// Or left to the caller, who has both arrays.
  enum class OwnPart { copied, left };

  /// What a rank takes of its device's memory at most, both arrays included.
  static std::size_t bytes(Backend backend, RankCuts const& planes, RankCuts const& columns,
                           std::size_t value_bytes);

  /// All ranks make one, which goes directly where kernels write into the other GPUs' memory.
  RankTransposition(RankPlanes const& planes, Stream const& stream, RankCuts columns,
                    std::size_t value_bytes)
      : RankTransposition(planes, stream, std::move(columns), value_bytes, planes.by_kernels()) {}
  RankTransposition(RankPlanes const& planes, Stream const& stream, RankCuts columns,
                    std::size_t value_bytes, bool directly);
  RankTransposition(RankTransposition const&) = delete;
  RankTransposition& operator=(RankTransposition const&) = delete;
  /// Waits for what is on its way to others.
  ~RankTransposition();

  template <class T>
  std::span<T> planes() {
    return typed<T>(of_planes);
  }
  template <class T>
  std::span<T> columns() {
    return typed<T>(of_columns);
  }
  std::int64_t first_column() const { return columns_[own_]; }
  std::int64_t own_columns() const { return columns_[own_ + 1] - columns_[own_]; }
  std::int64_t own_planes() const { return planes_[own_ + 1] - planes_[own_]; }
  RankCuts const& column_cuts() const { return columns_; }
  /// Whether pieces are on their way while kernels run.
  bool goes_in_pieces() const { return memory_ != nullptr; }

  /// Queues that own planes [first, end), counted from the first own one, go into all ranks' columns.
  void send_planes(Stream& stream, std::int64_t first, std::int64_t end) {
    send(stream, of_columns, first, end);
  }
  /// Queues that what all ranks have sent, which are all planes, is in the own columns.
  void await_columns(Stream& stream) {
    await(stream, of_columns, pieces_[of_columns], OwnPart::copied);
  }
  /// The way back: own columns [first, end), counted from the first own one.
  void send_columns(Stream& stream, std::int64_t first, std::int64_t end) {
    send(stream, of_planes, first, end);
  }
  /// The number of the last piece that was sent back, from 1 on.
  std::uint64_t last_piece() const { return pieces_[of_planes]; }
  /// Queues that pieces of all ranks up to this number are in the own planes. It is called when all
  /// own columns were sent.
  void await_planes(Stream& stream, std::uint64_t piece, OwnPart own = OwnPart::copied) {
    await(stream, of_planes, piece, own);
  }
  void await_planes(Stream& stream) { await_planes(stream, last_piece()); }

  /// How it goes, in words.
  std::string_view transport() const;

 private:
  /// Which of the two arrays.
  enum Array : std::size_t { of_planes, of_columns };
  static Array other(Array array) { return array == of_planes ? of_columns : of_planes; }
  /// Some columns of some planes, of all that ranks share.
  struct Block {
    std::int64_t first_plane, end_plane, first_column, end_column;
    std::size_t bytes(std::size_t value_bytes) const {
      return static_cast<std::size_t>((end_plane - first_plane) * (end_column - first_column)) *
             value_bytes;
    }
  };
  /// Where one begins in an array.
  struct Place {
    std::byte* data;
    std::size_t pitch;
  };

  template <class T>
  std::span<T> typed(Array array) const {
    auto const bytes = array_of(own_, array);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  std::size_t count() const { return planes_.size() - 1; }
  std::span<std::byte> array_of(std::size_t rank, Array array) const;
  std::uint64_t* flags_of(std::size_t rank, Array to) const;
  /// What of the planes of one rank is among the columns of another one.
  Block block(std::size_t planes_rank, std::size_t columns_rank) const;
  Place place(std::size_t rank, Array array, Block const& block) const;
  CopiedRows copy_of(Block const& block, Place const& from, Place const& to) const;
  void send(Stream& stream, Array to, std::int64_t first, std::int64_t end);
  void await(Stream& stream, Array to, std::uint64_t piece, OwnPart own);
  void copy_own(Stream& stream, Array to);
  void exchange(Stream& stream, Array to);

  Ranks& ranks_;
  std::size_t own_;
  RankCuts planes_, columns_;
  std::size_t value_bytes_;
  std::array<std::uint64_t, 2> pieces_ = {0, 0};  // so many were sent to each array
  std::array<std::uint64_t, 2> came_ = {0, 0};    // without flags
  std::unique_ptr<RankMemory> memory_;            // of GPUs that reach each other's
  std::vector<Stream> streams_;                   // to each rank then
  std::optional<Event> ready_;
  Buffer<std::byte> arrays_, staging_;  // without that
};

#ifdef GRIDSTRIDE_WITH_CUDA
/// The same on a GPU, also to the memory of others that it reaches.
void cuda_copy_rows(Stream& stream, CopiedRows const& copy);
/// The same within the memory of the stream's GPU.
void cuda_copy_own_rows(Stream& stream, CopiedRows const& copy);
/// Queues that a flag in any GPU's memory has a number, once all before is there.
void cuda_set_flag(Stream& stream, std::uint64_t* flag, std::uint64_t number);
/// Queues that `count` flags of this GPU's memory, but the one at `own`, have come to a number.
void cuda_await_flags(Stream& stream, std::uint64_t const* flags, int count, int own,
                      std::uint64_t number);
#endif

}  // namespace gridstride

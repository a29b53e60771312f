#include "kernels/support/rank_transposition.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride {

namespace {

constexpr int tag = 4;
constexpr std::size_t aligned = 256;
constexpr std::size_t most_ranks = 64;  // of one machine
constexpr std::size_t flag_bytes = 2 * most_ranks * sizeof(std::uint64_t);

std::size_t padded(std::size_t bytes) { return (bytes + aligned - 1) / aligned * aligned; }

std::int64_t part_of(RankCuts const& cuts, std::size_t rank) { return cuts[rank + 1] - cuts[rank]; }

std::int64_t largest_part(RankCuts const& cuts) {
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
    most = std::max(most, part_of(cuts, rank));
  return most;
}

/// Of both arrays of a rank.
std::array<std::size_t, 2> array_bytes(RankCuts const& planes, RankCuts const& columns,
                                       std::size_t value_bytes, std::size_t rank) {
  return {static_cast<std::size_t>(part_of(planes, rank) * columns.back()) * value_bytes,
          static_cast<std::size_t>(planes.back() * part_of(columns, rank)) * value_bytes};
}

/// What goes to one rank, or comes from it, by way of the host.
std::array<std::size_t, 2> staging_bytes(RankCuts const& planes, RankCuts const& columns,
                                         std::size_t value_bytes, std::size_t rank) {
  auto const bytes = [&](std::int64_t of_planes, std::int64_t of_columns) {
    return padded(static_cast<std::size_t>(of_planes * of_columns) * value_bytes);
  };
  return {bytes(part_of(planes, rank), largest_part(columns)),
          bytes(largest_part(planes), part_of(columns, rank))};
}

std::size_t sum_of(std::array<std::size_t, 2> const& bytes) {
  return padded(bytes[0]) + padded(bytes[1]);
}

}  // namespace

void copy_rows(Stream& stream, CopiedRows const& copy) {
  if (copy.width > copy.from_pitch || copy.width > copy.to_pitch)
    throw std::invalid_argument("rows that are wider than they lie apart");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_copy_rows(stream, copy);
#endif
  if (stream.backend() != Backend::cpu) throw std::logic_error("rows of a GPU without CUDA");
  parallel_for(static_cast<std::int64_t>(copy.rows * copy.planes),
               static_cast<std::int64_t>(copy.width / 8 + 4), [&](std::int64_t number) {
                 auto const at = static_cast<std::size_t>(number);
                 std::size_t const plane = at / copy.rows, row = at % copy.rows;
                 std::memcpy(copy.to_row(plane, row), copy.from_row(plane, row), copy.width);
               });
}

void copy_own_rows(Stream& stream, CopiedRows const& copy) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_copy_own_rows(stream, copy);
#endif
  copy_rows(stream, copy);
}

std::size_t RankTransposition::bytes(Backend backend, RankCuts const& planes,
                                     RankCuts const& columns, std::size_t value_bytes) {
  std::size_t most = 0;
  for (std::size_t rank = 0; rank + 1 < planes.size(); ++rank) {
    std::size_t bytes = sum_of(array_bytes(planes, columns, value_bytes, rank));
    bytes += backend == Backend::cpu ? sum_of(staging_bytes(planes, columns, value_bytes, rank))
                                     : flag_bytes;
    most = std::max(most, bytes);
  }
  return most;
}

RankTransposition::RankTransposition(RankPlanes const& planes, Stream const& stream,
                                     RankCuts columns, std::size_t value_bytes,
                                     [[maybe_unused]] bool directly)
    : ranks_(planes.ranks()),
      own_(static_cast<std::size_t>(ranks_.rank())),
      planes_(planes.cuts()),
      columns_(std::move(columns)),
      value_bytes_(value_bytes) {
  if (columns_.size() != planes_.size())
    throw std::invalid_argument("columns cut for another number of ranks");
  std::size_t const own_bytes = sum_of(array_bytes(planes_, columns_, value_bytes_, own_));
#ifdef GRIDSTRIDE_WITH_CUDA
  if (directly) {
    memory_ = std::make_unique<RankMemory>(ranks_, stream, flag_bytes + own_bytes);
    if (!memory_->failure().empty()) throw Error(memory_->failure());
    // Flags that tell others of what has come are not to wait for room beside kernels.
    for (std::size_t rank = 0; rank < count(); ++rank)
      streams_.push_back(Stream(stream.device()).urgent());
    ready_.emplace(stream.device());
    return;
  }
#endif
  arrays_ = Buffer<std::byte>(stream, MemorySpace::device, own_bytes);
  staging_ = Buffer<std::byte>(stream, MemorySpace::pinned,
                               sum_of(staging_bytes(planes_, columns_, value_bytes_, own_)));
}

RankTransposition::~RankTransposition() {
  for (Stream& stream : streams_) {
    try {
      stream.synchronize();
    } catch (Error const&) {  // of what was queued, which whoever looks at results has met
    }
  }
}

std::span<std::byte> RankTransposition::array_of(std::size_t rank, Array array) const {
  auto const bytes = array_bytes(planes_, columns_, value_bytes_, rank);
  std::byte* const first = memory_ ? memory_->of(static_cast<int>(rank)) + flag_bytes
                                   : const_cast<std::byte*>(arrays_.data());
  return {array == of_planes ? first : first + padded(bytes[0]), bytes[array]};
}

std::uint64_t* RankTransposition::flags_of(std::size_t rank, Array to) const {
  return reinterpret_cast<std::uint64_t*>(memory_->of(static_cast<int>(rank))) + to * most_ranks;
}

RankTransposition::Block RankTransposition::block(std::size_t planes_rank,
                                                  std::size_t columns_rank) const {
  return {planes_[planes_rank], planes_[planes_rank + 1], columns_[columns_rank],
          columns_[columns_rank + 1]};
}

RankTransposition::Place RankTransposition::place(std::size_t rank, Array array,
                                                  Block const& block) const {
  bool const has_planes = array == of_planes;
  auto const row = static_cast<std::size_t>(has_planes ? columns_.back() : part_of(columns_, rank)),
             plane = static_cast<std::size_t>(block.first_plane - (has_planes ? planes_[rank] : 0)),
             column =
                 static_cast<std::size_t>(block.first_column - (has_planes ? 0 : columns_[rank]));
  return {array_of(rank, array).data() + (plane * row + column) * value_bytes_, row * value_bytes_};
}

CopiedRows RankTransposition::copy_of(Block const& block, Place const& from,
                                      Place const& to) const {
  return {.from = from.data,
          .from_pitch = from.pitch,
          .to = to.data,
          .to_pitch = to.pitch,
          .width = static_cast<std::size_t>(block.end_column - block.first_column) * value_bytes_,
          .rows = static_cast<std::size_t>(block.end_plane - block.first_plane)};
}

void RankTransposition::send([[maybe_unused]] Stream& stream, Array to,
                             [[maybe_unused]] std::int64_t first,
                             [[maybe_unused]] std::int64_t end) {
  ++pieces_[to];
#ifdef GRIDSTRIDE_WITH_CUDA
  if (!memory_) return;
  stream.record(*ready_);
  for (std::size_t step = 1; step < count(); ++step) {
    std::size_t const rank = (own_ + step) % count();  // each begins with another one
    Block piece = to == of_columns ? block(own_, rank) : block(rank, own_);
    if (to == of_columns) {
      piece.end_plane = piece.first_plane + end;
      piece.first_plane += first;
    } else {
      piece.end_column = piece.first_column + end;
      piece.first_column += first;
    }
    Stream& way = streams_[rank];
    way.wait(*ready_);
    cuda_copy_rows(way, copy_of(piece, place(own_, other(to), piece), place(rank, to, piece)));
    cuda_set_flag(way, flags_of(rank, to) + own_, pieces_[to]);
  }
#endif
}

void RankTransposition::await(Stream& stream, Array to, [[maybe_unused]] std::uint64_t piece,
                              OwnPart own) {
  bool const is_first = came_[to] < pieces_[to];
  came_[to] = pieces_[to];
  if (is_first && own == OwnPart::copied) copy_own(stream, to);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (memory_)
    return cuda_await_flags(stream, flags_of(own_, to), static_cast<int>(count()),
                            static_cast<int>(own_), piece);
#endif
  if (is_first) exchange(stream, to);
}

/// What a rank has of its own, from one array to the other.
void RankTransposition::copy_own(Stream& stream, Array to) {
  Block const kept = block(own_, own_);
  copy_own_rows(stream, copy_of(kept, place(own_, other(to), kept), place(own_, to, kept)));
}

/// With one rank after the other, so that there has to be room for what goes to one of them.
void RankTransposition::exchange(Stream& stream, Array to) {
  Array const from = other(to);
  auto const rows = [&](std::size_t rank, Array array) {
    return array == of_planes ? block(own_, rank) : block(rank, own_);
  };
  auto const room = [&](Array array) {
    std::size_t const first = staging_bytes(planes_, columns_, value_bytes_, own_)[of_planes];
    return array == of_planes ? staging_.span().first(first) : staging_.span().subspan(first);
  };
  for (std::size_t step = 1; step < count(); ++step) {
    std::size_t const next = (own_ + step) % count(), before = (own_ + count() - step) % count();
    Block const sent = rows(next, from), received = rows(before, to);
    auto const out = room(from).first(sent.bytes(value_bytes_)),
               in = room(to).first(received.bytes(value_bytes_));
    auto const dense = [&](std::span<std::byte> bytes, Block const& of) {
      return Place{bytes.data(),
                   static_cast<std::size_t>(of.end_column - of.first_column) * value_bytes_};
    };
    copy_rows(stream, copy_of(sent, place(own_, from, sent), dense(out, sent)));
    stream.synchronize();
    RankMessage const going{static_cast<int>(next), tag, out},
        coming{static_cast<int>(before), tag, in};
    ranks_.exchange({&going, out.empty() ? 0u : 1u}, {&coming, in.empty() ? 0u : 1u});
    copy_rows(stream, copy_of(received, dense(in, received), place(own_, to, received)));
  }
}

std::string_view RankTransposition::transport() const {
  return memory_ ? "by copies into the other GPUs" : "by way of the host";
}

}  // namespace gridstride

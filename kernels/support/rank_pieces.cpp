#include "kernels/support/rank_pieces.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "kernels/support/gpu_links.hpp"

namespace gridstride {

namespace {

constexpr std::size_t line = 256;
std::size_t padded(std::size_t bytes) { return (bytes + line - 1) / line * line; }

std::size_t bytes_of(RankPieces::Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes += piece.size();
  return bytes;
}

/// Where the pieces of each rank begin in memory that has those of all, and where the last ones end.
std::vector<std::size_t> places_of(std::vector<RankPieces::Pieces> const& of_ranks) {
  std::vector<std::size_t> places = {0};
  for (auto const& pieces : of_ranks) places.push_back(places.back() + padded(bytes_of(pieces)));
  return places;
}

/// For what comes from both sides, or from all ranks.
std::size_t box_bytes_of(std::size_t beside_bytes, std::size_t all_bytes, int ranks) {
  return std::max(2 * padded(beside_bytes), all_bytes + line * static_cast<std::size_t>(ranks));
}

}  // namespace

std::size_t RankPieces::bytes(std::size_t beside_bytes, std::size_t all_bytes, int ranks) {
  return 2 * line + 2 * padded(box_bytes_of(beside_bytes, all_bytes, ranks));
}

RankPieces::RankPieces(RankPlanes const& planes, Stream const& stream, std::size_t beside_bytes,
                       std::size_t all_bytes)
    : ranks_(planes.ranks()),
      beside_(planes.beside()),
      beside_bytes_(padded(beside_bytes)),
      box_bytes_(box_bytes_of(beside_bytes, all_bytes, ranks_.count())) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (planes.by_kernels()) {
    boxes_ = std::make_unique<RankMemory>(ranks_, stream,
                                          PeerBoxes::bytes(0, 0) + 2 * padded(box_bytes_));
    if (!boxes_->failure().empty()) throw Error(boxes_->failure());
    return;
  }
#endif
  links_ = open_gpu_links(ranks_, stream, beside_, beside_bytes_, Meanwhile::kernels);
  if (stream.backend() == Backend::cuda)
    staging_ = Buffer<std::byte>(stream, MemorySpace::pinned, box_bytes_);
}

#ifdef GRIDSTRIDE_WITH_CUDA
namespace {

/// One message out of several pieces or into them.
enum class Way { out, in };
void add(std::vector<PlaneCopies::Copy>& copies, RankPieces::Pieces const& pieces, std::byte* box,
         Way way) {
  for (auto const& piece : pieces) {
    copies.push_back(way == Way::out ? PlaneCopies::Copy{piece.data(), box, piece.size()}
                                     : PlaneCopies::Copy{box, piece.data(), piece.size()});
    box += piece.size();
  }
}

void copy_all(Stream& stream, std::vector<PlaneCopies::Copy> const& copies) {
  PlaneCopies some;
  for (auto const& copy : copies) {
    if (some.count == PlaneCopies::most) {
      cuda_copy_planes(stream, some);
      some.count = 0;
    }
    some.add(copy);
  }
  cuda_copy_planes(stream, some);
}

/// Boxes of all ranks take turns: who writes the next but one has waited for all others since, who
/// had then taken what came before.
class Boxes {
 public:
  Boxes(RankMemory const& memory, Ranks const& ranks, std::size_t box_bytes, std::uint64_t turn)
      : turn_(turn), offset_(PeerBoxes::bytes(0, 0) + turn % 2 * padded(box_bytes)) {
    boxes_.rank = ranks.rank();
    boxes_.count = ranks.count();
    for (int rank = 0; rank < boxes_.count; ++rank) boxes_.of[rank] = memory.of(rank);
  }
  std::byte* of(int rank) const { return boxes_.of[rank] + offset_; }
  /// Queues that what all ranks have written is there.
  void wait(Stream& stream) const {
    RankCuts const nothing(static_cast<std::size_t>(boxes_.count) + 1);
    cuda_share(stream, boxes_, nullptr, 0, nothing, turn_, 0);
  }

 private:
  PeerBoxes boxes_{};
  std::uint64_t turn_;
  std::size_t offset_;
};

}  // namespace
#endif

void RankPieces::exchange(Stream& stream, std::array<Pieces, 2> const& own,
                          std::array<Pieces, 2> const& beside) {
  for (auto const* const pieces : {&own[0], &own[1], &beside[0], &beside[1]})
    if (bytes_of(*pieces) > beside_bytes_)
      throw std::logic_error("more for a rank beside than there is room for");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    Boxes const boxes(*boxes_, ranks_, box_bytes_, ++turn_);
    std::vector<PlaneCopies::Copy> out, in;
    for (std::size_t way = 0; way < 2; ++way) {
      if (beside_[way] < 0) continue;
      // Of a rank's box the first half has what comes from above.
      add(out, own[way], boxes.of(beside_[way]) + way * beside_bytes_, Way::out);
      add(in, beside[way], boxes.of(ranks_.rank()) + (1 - way) * beside_bytes_, Way::in);
    }
    copy_all(stream, out);
    boxes.wait(stream);
    return copy_all(stream, in);
  }
#endif
  exchange_by_links(stream, own, beside);
}

void RankPieces::exchange_by_links(Stream& stream, std::array<Pieces, 2> const& own,
                                   std::array<Pieces, 2> const& beside) {
  RankLinks& links = *links_.links;
  if (beside_[0] >= 0) links.start(RankLinks::down, own[0], stream);
  if (beside_[1] >= 0) links.start(RankLinks::up, own[1], stream);
  links.let_go(stream);
  links.finish(std::array{RankLinks::Arrival{RankLinks::down, beside[1], &stream},
                          RankLinks::Arrival{RankLinks::up, beside[0], &stream}});
}

void RankPieces::gather(Stream& stream, std::vector<Pieces> const& of_ranks) {
  if (places_of(of_ranks).back() > box_bytes_)
    throw std::logic_error("more of all ranks than there is room for");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (boxes_) {
    Boxes const boxes(*boxes_, ranks_, box_bytes_, ++turn_);
    auto const places = places_of(of_ranks);
    std::vector<PlaneCopies::Copy> out, in;
    int const own = ranks_.rank();
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      if (rank == own) continue;
      auto const theirs = static_cast<std::size_t>(rank), mine = static_cast<std::size_t>(own);
      add(out, of_ranks[mine], boxes.of(rank) + places[mine], Way::out);
      add(in, of_ranks[theirs], boxes.of(own) + places[theirs], Way::in);
    }
    copy_all(stream, out);
    boxes.wait(stream);
    return copy_all(stream, in);
  }
#endif
  if (stream.backend() == Backend::cpu) return gather_on_host(of_ranks);
  gather_through_host(stream, of_ranks);
}

void RankPieces::gather_on_host(std::vector<Pieces> const& of_ranks) {
  constexpr int tag = 3;
  std::vector<RankMessage> sent, received;
  int const own = ranks_.rank();
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    if (rank == own) continue;
    for (auto const& piece : of_ranks[static_cast<std::size_t>(own)])
      sent.push_back({rank, tag, piece});
    for (auto const& piece : of_ranks[static_cast<std::size_t>(rank)])
      received.push_back({rank, tag, piece});
  }
  ranks_.exchange(sent, received);
}

void RankPieces::gather_through_host(Stream& stream, std::vector<Pieces> const& of_ranks) {
  auto const places = places_of(of_ranks);
  std::vector<Pieces> on_host;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    std::size_t const bytes = bytes_of(of_ranks[rank]);
    on_host.push_back({staging_.span().subspan(places[rank], bytes)});
  }
  auto const for_pieces = [&](std::size_t rank, auto const& copy) {
    std::size_t at = 0;
    for (auto const& piece : of_ranks[rank]) {
      copy(piece, on_host[rank][0].subspan(at, piece.size()));
      at += piece.size();
    }
  };
  auto const own = static_cast<std::size_t>(ranks_.rank());
  for_pieces(own, [&](std::span<std::byte> piece, std::span<std::byte> host) {
    copy_async(host, std::span<std::byte const>(piece), stream);
  });
  stream.synchronize();
  gather_on_host(on_host);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    if (rank != own)
      for_pieces(rank, [&](std::span<std::byte> piece, std::span<std::byte> host) {
        copy_async(piece, std::span<std::byte const>(host), stream);
      });
}

}  // namespace gridstride

#include "kernels/support/gpu_links.hpp"

#ifdef GRIDSTRIDE_WITH_CUDA

#include <optional>
#include <stdexcept>
#include <vector>

#include "core/rank_memory.hpp"
#include "kernels/support/store_links.hpp"

namespace gridstride {

namespace {

constexpr std::size_t ways = 2, turns = 2, line = 256;
/// The first messages on each way are those by which links are proved, which may not come.
constexpr std::uint64_t proofs = 2, patience = 10'000'000'000;

/// Each rank has two boxes for what comes on a way, which take turns, and the number of the last
/// message that is there. A box is filled again two messages later: its last content has then been
/// taken out, since what is sent was computed from what came one message before.
class StoreLinks final : public RankLinks {
 public:
  StoreLinks(Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes)
      : own_(ranks.rank()),
        beside_(beside),
        box_bytes_((bytes + line - 1) / line * line),
        memory_(ranks, stream, ways * line + ways * turns * box_bytes_,
                RankMemory::Owners::of_machine),
        gone_(stream.device()) {}

  std::string const& failure() const { return memory_.failure(); }

  void start(int way, Pieces const& pieces, Stream& stream) override {
    std::size_t const to = index(way);
    std::uint64_t const number = ++started_[to];
    std::byte* box = box_of(beside_[to], way, number);
    StoredPieces stored;
    std::size_t bytes = 0;
    for (auto const& piece : pieces) {
      add(stored, {piece.data(), box + bytes, piece.size()});
      bytes += piece.size();
    }
    if (bytes > box_bytes_) throw std::logic_error("more for other ranks than links are for");
    cuda_put(stream, stored, flag_of(beside_[to], way), number);
    from_[to] = stream;
  }

  void let_go(Stream& stream) override {
    for (auto& from : from_) {
      if (!from || from->native() == stream.native()) continue;
      from->record(gone_);
      stream.wait(gone_);
    }
  }

  /// What one stream brings is one kernel's.
  void finish(std::span<Arrival const> arrivals) override {
    for (std::size_t i = 0; i < arrivals.size();) {
      Stream& stream = *arrivals[i].stream;
      StoredPieces stored;
      AwaitedFlags awaited;
      for (; i < arrivals.size() && arrivals[i].stream->native() == stream.native(); ++i)
        add_arrival(arrivals[i], stored, awaited);
      if (awaited.count > 0) cuda_take(stream, stored, awaited);
    }
  }

 private:
  static std::size_t index(int way) { return static_cast<std::size_t>(way); }
  static void add(StoredPieces& stored, StoredPiece const& piece) {
    if (stored.count == StoredPieces::most) throw std::logic_error("too many pieces of a message");
    stored.pieces[stored.count++] = piece;
  }

  void add_arrival(Arrival const& arrival, StoredPieces& stored, AwaitedFlags& awaited) {
    auto const& [way, pieces, stream] = arrival;
    if (beside_[index(1 - way)] < 0) return;
    std::uint64_t const number = ++received_[index(way)];
    std::byte const* box = box_of(own_, way, number);
    for (auto const& piece : pieces) {
      add(stored, {box, piece.data(), piece.size()});
      box += piece.size();
    }
    awaited.flags[awaited.count] = flag_of(own_, way);
    awaited.numbers[awaited.count++] = number;
    if (number <= proofs) awaited.patience = patience;
  }

  std::uint64_t* flag_of(int rank, int way) const {
    return reinterpret_cast<std::uint64_t*>(memory_.of(rank) + index(way) * line);
  }
  std::byte* box_of(int rank, int way, std::uint64_t number) const {
    return memory_.of(rank) + ways * line + (index(way) * turns + number % turns) * box_bytes_;
  }

  int own_;
  RanksBeside beside_;
  std::size_t box_bytes_;
  RankMemory memory_;
  Event gone_;
  std::array<std::optional<Stream>, ways> from_;
  std::array<std::uint64_t, ways> started_ = {}, received_ = {};
};

std::unique_ptr<RankLinks> make_store_links(Ranks& ranks, Stream const& stream,
                                            RanksBeside const& beside, std::size_t bytes,
                                            SideFaults& faults) {
  auto links = std::make_unique<StoreLinks>(ranks, stream, beside, bytes);
  faults.fill(links->failure());
  return links;
}

/// `stores` before the others, or after the first of them.
std::vector<Transport> all_transports(std::ptrdiff_t place) {
  auto const of_core = core_transports();
  std::vector<Transport> all(of_core.begin(), of_core.end());
  all.insert(all.begin() + place, {"stores", Transport::Reach::machine, make_store_links});
  return all;
}

}  // namespace

std::span<Transport const> gpu_transports(Meanwhile meanwhile, std::size_t bytes) {
  constexpr std::size_t most_soon = std::size_t{4} << 20;
  static std::vector<Transport> const soonest = all_transports(0), beside = all_transports(1);
  bool const is_soon = (meanwhile == Meanwhile::nothing && bytes <= most_soon) ||
                       (meanwhile == Meanwhile::look && bytes < most_soon);
  return is_soon ? soonest : beside;
}

}  // namespace gridstride

#else

namespace gridstride {

std::span<Transport const> gpu_transports(Meanwhile, std::size_t) { return core_transports(); }

}  // namespace gridstride

#endif

#include "core/staged_links.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/box_links.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/shared_memory.hpp"

namespace gridstride {

namespace {

/// The host waits until a box is filled before it tells of it.
class StagedLinks final : public EventLinks {
 public:
  StagedLinks(Ranks& ranks, Stream const& link, RanksBeside const& beside, std::size_t bytes)
      : EventLinks(ranks, link, beside, bytes) {
    if (is_alone()) return;
    make_own();
    auto const name = own_ ? own_->name() : SharedMemory::Name();
    auto const names = exchange_beside<SharedMemory::Name>({name, name});
    OfWays<std::byte> answers = {};
    for (std::size_t way = 0; way < ways; ++way) {
      if (beside[1 - way] < 0) continue;
      sees_[way] = open(way, names[way]);
      answers[1 - way] = std::byte{sees_[way]};  // goes back
    }
    auto const told = exchange_beside(answers);
    for (std::size_t way = 0; way < ways; ++way) is_seen_[way] = told[1 - way] != std::byte{0};
  }

 private:
  std::size_t way_bytes() const { return turns * bytes_; }

  void lay_out(std::array<std::byte*, turns>& boxes, std::byte* memory) const {
    for (std::byte*& box : boxes) {
      box = memory;
      memory += bytes_;
    }
  }

  /// What this rank fills, which others may see if the system has such memory.
  void make_own() {
    std::byte* memory = nullptr;
    try {
      own_.emplace(ways * way_bytes());
      memory = own_->data();
      pins_.push_back(gpu::pin(memory, ways * way_bytes()));
    } catch (Error const&) {
      own_.reset();
      memory = apart_.emplace_back(link_, MemorySpace::pinned, ways * way_bytes()).data();
    }
    for (std::size_t way = 0; way < ways; ++way) lay_out(out_[way], memory + way * way_bytes());
  }

  /// What comes on a way is in the other rank's memory if this one sees it.
  bool open(std::size_t way, SharedMemory::Name const& name) {
    if (ranks_.is_here(beside_[1 - way])) theirs_[way] = SharedMemory::open(name);
    bool const sees = theirs_[way] != nullptr;
    std::byte* memory = nullptr;
    if (sees) {
      pins_.push_back(gpu::pin(theirs_[way].get(), ways * way_bytes()));
      memory = theirs_[way].get() + way * way_bytes();
    } else {
      memory = apart_.emplace_back(link_, MemorySpace::pinned, way_bytes()).data();
    }
    lay_out(in_[way], memory);
    return sees;
  }

  void move(std::span<Box const> sent, std::span<Box const> received) override {
    std::vector<RankMessage> out, in;
    for (auto const& [rank, way, turn, bytes] : sent) {
      filled(way, turn).synchronize();
      std::span<std::byte> const content(out_[index(way)][turn], bytes);
      out.push_back({rank, first_tag + way, is_seen_[index(way)] ? std::span(&told_, 1) : content});
    }
    for (auto const& [rank, way, turn, bytes] : received) {
      std::span<std::byte> const content(in_[index(way)][turn], bytes);
      in.push_back(
          {rank, first_tag + way, sees_[index(way)] ? std::span(&heard_[index(way)], 1) : content});
    }
    ranks_.exchange(out, in);
  }
  void await(int, std::size_t, Stream&) override {}

  std::optional<SharedMemory> own_;
  OfWays<std::shared_ptr<std::byte>> theirs_;  // by the way on which it comes
  std::vector<std::shared_ptr<void>> pins_;
  std::vector<Buffer<std::byte>> apart_;
  OfWays<bool> sees_ = {}, is_seen_ = {};
  std::byte told_{};
  OfWays<std::byte> heard_ = {};
};

}  // namespace

std::unique_ptr<RankLinks> make_staged_links(Ranks& ranks, Stream const& link,
                                             RanksBeside const& beside, std::size_t bytes,
                                             SideFaults& /*faults*/) {
  return std::make_unique<StagedLinks>(ranks, link, beside, bytes);
}

}  // namespace gridstride

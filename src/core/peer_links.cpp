#include "core/peer_links.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/box_links.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/process_memory.hpp"

namespace gridstride {

namespace {

/// What another process may still have open: it goes when all ranks make links anew, after which
/// nobody has the links before.
std::vector<std::shared_ptr<void>>& left_behind() {
  thread_local std::vector<std::shared_ptr<void>> memory;
  return memory;
}

/// The boxes are in the memory of the rank that they come to. MPI has only to tell that events have
/// been recorded, for a wait is for the last time before it.
class PeerLinks final : public BoxLinks {
 public:
  PeerLinks(Ranks& ranks, Stream const& link, RanksBeside const& beside, std::size_t bytes,
            SideFaults& faults)
      : BoxLinks(ranks, link, beside, bytes) {
    std::string failure;
    Offer const own = offer(failure);
    auto const offers = exchange_beside<Offer>({own, own});
    left_behind().clear();
    faults.fill(failure);
    if (!failure.empty()) return;
    for (std::size_t way = 0; way < ways; ++way)
      if (beside[way] >= 0) faults[way] = fault_of(static_cast<int>(way), offers[1 - way]);
  }
  PeerLinks(PeerLinks const&) = delete;
  PeerLinks& operator=(PeerLinks const&) = delete;
  ~PeerLinks() override { left_behind().push_back(std::move(memory_)); }

 private:
  /// What a rank offers to those beside it.
  struct Offer {
    Token process = {};
    PeerLinks const* links = nullptr;  // in that process
    bool is_there = false;
    gpu::IpcHandle memory = {};
    OfTurns<gpu::IpcHandle> events = {};
  };

  /// What other ranks need of this one.
  Offer offer(std::string& failure) {
    Offer own{.process = own_process().token, .links = this};
    if (is_alone()) return own;
    int const ordinal = link_.device().ordinal();
    try {
      memory_ = gpu::allocate_shared(ordinal, ways * turns * bytes_);
      own.memory = gpu::handle_of_memory(memory_.get());
      for (std::size_t way = 0; way < ways; ++way)
        for (std::size_t turn = 0; turn < turns; ++turn) {
          auto& event = filled_[way][turn];
          event = gpu::make_shared_event(ordinal);
          own.events[way][turn] = gpu::handle_of_event(event.get());
          in_[way][turn] = box_in(memory_.get(), way, turn);
        }
      own.is_there = true;
    } catch (Error const& error) {
      failure = error.what();
    }
    return own;
  }

  /// Why what goes on a way cannot be taken, or nothing.
  std::string fault_of(int way, Offer const& theirs) {
    try {
      take(way, theirs);
    } catch (Error const& error) {
      return error.what();
    }
    return {};
  }

  std::byte* box_in(void* memory, std::size_t way, std::size_t turn) const {
    return static_cast<std::byte*>(memory) + (way * turns + turn) * bytes_;
  }

  /// The rank that this one sends to on a way, and has what comes on the other from.
  void take(int way, Offer const& theirs) {
    if (!theirs.is_there) return;  // which that rank tells
    std::size_t const to = index(way), from = 1 - to;
    bool const is_here = theirs.process == own_process().token;
    int const ordinal = link_.device().ordinal();
    // Two ranks around a periodic axis are beside each other twice; memory is opened once.
    bool const is_same = to == 1 && beside_[0] == beside_[1] && theirs_[0] != nullptr;
    theirs_[to] = is_here   ? theirs.links->memory_
                  : is_same ? theirs_[0]
                            : gpu::open_memory(ordinal, theirs.memory);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      out_[to][turn] = box_in(theirs_[to].get(), to, turn);
      coming_[from][turn] = is_here ? theirs.links->filled_[from][turn]
                                    : gpu::open_event(ordinal, theirs.events[from][turn]);
    }
  }

  void has_filled(int way, std::size_t turn) override {
    gpu::record(filled_[index(way)][turn].get(), link_.native());
  }
  void await_filled(int way, std::size_t turn, Stream& stream) override {
    gpu::wait(stream.native(), filled_[index(way)][turn].get());
  }
  void move(std::span<Box const> sent, std::span<Box const> received) override {
    std::vector<RankMessage> told, heard;
    for (Box const& box : sent) told.push_back({box.rank, first_tag + box.way, {&token_, 1}});
    for (Box const& box : received)
      heard.push_back({box.rank, first_tag + box.way, {&heard_[index(box.way)], 1}});
    ranks_.exchange(told, heard);
  }
  void await(int way, std::size_t turn, Stream& stream) override {
    gpu::wait(stream.native(), coming_[index(way)][turn].get());
  }

  std::shared_ptr<void> memory_;           // of the boxes that come
  OfWays<std::shared_ptr<void>> theirs_;   // memory of others
  OfTurns<std::shared_ptr<void>> filled_;  // own events
  OfTurns<std::shared_ptr<void>> coming_;  // those of others
  std::byte token_{};
  OfWays<std::byte> heard_ = {};
};

}  // namespace

std::unique_ptr<RankLinks> make_peer_links(Ranks& ranks, Stream const& link,
                                           RanksBeside const& beside, std::size_t bytes,
                                           SideFaults& faults) {
  return std::make_unique<PeerLinks>(ranks, link, beside, bytes, faults);
}

}  // namespace gridstride

#include "core/nccl_links.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/box_links.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/nccl.hpp"

namespace gridstride {

namespace {

/// What is sent and what is received of ways that are finished together is one group, which waits for
/// nothing but itself. A stream of its own has them, so that no box waits to be filled for what
/// another rank has not sent.
class NcclLinks final : public EventLinks {
 public:
  NcclLinks(Nccl nccl, Ranks& ranks, Stream const& link, RanksBeside const& beside,
            std::size_t bytes)
      : EventLinks(ranks, link, beside, bytes),
        nccl_(std::move(nccl)),
        travel_(link.device()),
        come_(link.device()),
        taken_(events_of(link.device())) {
    for (std::size_t side = 0; side < ways; ++side) {
      if (beside[side] < 0) continue;
      memory_[side] = Buffer<std::byte>(link, MemorySpace::device, 2 * turns * bytes);
      std::byte* box = memory_[side].data();
      for (auto* const boxes : {&out_[side], &in_[1 - side]})
        for (std::byte*& one : *boxes) {
          one = box;
          box += bytes;
        }
    }
  }

 private:
  /// In the order of the ways: two ranks may be beside each other twice.
  std::vector<RankMessage> messages_of(std::span<Box const> given,
                                       OfTurns<std::byte*> const& memory) const {
    std::vector<Box> boxes(given.begin(), given.end());
    std::ranges::sort(boxes, {}, &Box::way);
    std::vector<RankMessage> messages;
    for (auto const& [rank, way, turn, bytes] : boxes)
      messages.push_back({rank, 0, {memory[index(way)][turn], bytes}});
    return messages;
  }
  Event& taken(int way, std::size_t turn) { return *taken_[index(way)][turn]; }

  void move(std::span<Box const> sent, std::span<Box const> received) override {
    for (Box const& box : sent) travel_.wait(filled(box.way, box.turn));
    for (Box const& box : received) travel_.wait(taken(box.way, box.turn));
    nccl_.exchange(messages_of(sent, out_), messages_of(received, in_), travel_);
    travel_.record(come_);
  }
  void await(int, std::size_t, Stream& stream) override { stream.wait(come_); }
  void has_taken(int way, std::size_t turn, Stream& stream) override {
    stream.record(taken(way, turn));
  }

  Nccl nccl_;
  Stream travel_;
  Event come_;  // what was queued last
  Events taken_;
  OfWays<Buffer<std::byte>> memory_;  // of both ways between this rank and the one on a side
};

}  // namespace

std::unique_ptr<RankLinks> make_nccl_links(Ranks& ranks, Stream const& link,
                                           RanksBeside const& beside, std::size_t bytes,
                                           SideFaults& faults) {
  try {
    return std::make_unique<NcclLinks>(Nccl(ranks, link), ranks, link, beside, bytes);
  } catch (Error const& error) {
    faults.fill(error.what());
    return nullptr;
  }
}

}  // namespace gridstride

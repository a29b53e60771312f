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
  NcclLinks(Nccl nccl, Ranks& ranks, Stream const& stream, RanksBeside const& beside,
            std::size_t bytes)
      : EventLinks(ranks, stream, beside, bytes),
        nccl_(std::move(nccl)),
        travel_(stream.device()),
        come_(stream.device()),
        taken_(events_of(stream.device())),
        memory_(stream, MemorySpace::device, 2 * ways * turns * bytes) {
    std::byte* box = memory_.data();
    for (auto* const boxes : {&out_, &in_})
      for (auto& of_way : *boxes)
        for (std::byte*& one : of_way) {
          one = box;
          box += bytes;
        }
  }

  std::string name() const override { return "nccl"; }

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
  Buffer<std::byte> memory_;
};

}  // namespace

std::unique_ptr<RankLinks> make_nccl_links(Ranks& ranks, Stream const& stream,
                                           RanksBeside const& beside, std::size_t bytes,
                                           std::string& failure) {
  try {
    return std::make_unique<NcclLinks>(Nccl(ranks, stream), ranks, stream, beside, bytes);
  } catch (Error const& error) {
    failure = error.what();
    return nullptr;
  }
}

}  // namespace gridstride

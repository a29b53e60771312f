#include "core/box_links.hpp"

#include <stdexcept>

#include "core/buffer.hpp"

namespace gridstride {

namespace {

std::size_t size_of(RankLinks::Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes += piece.size();
  return bytes;
}

}  // namespace

BoxLinks::BoxLinks(Ranks& ranks, Stream const& link, RanksBeside const& beside, std::size_t bytes)
    : ranks_(ranks),
      beside_(beside),
      bytes_(bytes),
      link_(link),
      ready_(link.device()),
      gone_(link.device()) {}

void BoxLinks::start(int way, Pieces const& pieces, Stream& stream) {
  std::size_t const bytes = size_of(pieces);
  if (bytes > bytes_) throw std::logic_error("more for other ranks than links are for");
  std::size_t const turn = started_[index(way)]++ % turns;
  await_filled(way, 1 - turn, stream);
  stream.record(ready_);
  link_.wait(ready_);
  std::byte* box = out_[index(way)][turn];
  for (auto const& piece : pieces) {
    copy_async(std::span(box, piece.size()), piece, link_);
    box += piece.size();
  }
  filled_bytes_[index(way)][turn] = bytes;
  has_filled(way, turn);
}

void BoxLinks::let_go(Stream& stream) {
  link_.record(gone_);
  stream.wait(gone_);
}

void BoxLinks::finish(std::span<Arrival const> arrivals) {
  std::vector<Box> sent, received;
  for (auto const& [way, pieces, stream] : arrivals) {
    int const back = 1 - way, rank = beside_[index(back)];
    if (rank < 0) continue;
    std::size_t const turn = sent_[index(back)]++ % turns;
    sent.push_back({rank, back, turn, filled_bytes_[index(back)][turn]});
    received.push_back({rank, way, received_[index(way)] % turns, size_of(pieces)});
  }
  move(sent, received);
  for (auto const& [way, pieces, stream] : arrivals) {
    if (beside_[index(1 - way)] < 0) continue;
    std::size_t const turn = received_[index(way)]++ % turns;
    await(way, turn, *stream);
    std::byte const* box = in_[index(way)][turn];
    for (auto const& piece : pieces) {
      copy_async(piece, std::span(box, piece.size()), *stream);
      box += piece.size();
    }
    has_taken(way, turn, *stream);
  }
}

EventLinks::Events EventLinks::events_of(Device const& device) {
  Events events;
  for (auto& of_way : events)
    for (auto& event : of_way) event = std::make_unique<Event>(device);
  return events;
}

}  // namespace gridstride

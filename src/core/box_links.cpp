#include "core/box_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "core/buffer.hpp"

namespace gridstride {

namespace {

std::size_t size_of(RankLinks::Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes += piece.size();
  return bytes;
}

/// What a rank sends for proof.
void fill(std::span<std::byte> bytes, int rank, std::size_t way, unsigned round) {
  std::minstd_rand random(static_cast<unsigned>(rank) * 4 + static_cast<unsigned>(way) * 2 + round +
                          1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
}

}  // namespace

BoxLinks::BoxLinks(Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes)
    : ranks_(ranks),
      beside_(beside),
      bytes_(bytes),
      link_(stream.device()),
      ready_(stream.device()),
      gone_(stream.device()) {}

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
    if (int const to = beside_[index(way)]; to >= 0) {
      std::size_t const turn = sent_[index(way)]++ % turns;
      sent.push_back({to, way, turn, filled_bytes_[index(way)][turn]});
    }
    if (int const from = beside_[index(1 - way)]; from >= 0)
      received.push_back({from, way, received_[index(way)] % turns, size_of(pieces)});
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

std::string BoxLinks::prove(Stream& stream) {
  std::size_t const size = std::min<std::size_t>(bytes_, 4096);
  Buffer<std::byte> host(stream, MemorySpace::pinned, ways * size);
  Buffer<std::byte> device(stream, MemorySpace::device, 2 * ways * size);
  auto const place = [size](auto& buffer, std::size_t number) {
    return buffer.span().subspan(number * size, size);
  };
  std::string failure;
  for (unsigned round = 0; round < turns; ++round) {
    std::vector<Arrival> arrivals;
    for (std::size_t way = 0; way < ways; ++way) {
      fill(place(host, way), ranks_.rank(), way, round);
      copy_async(place(device, way), place(host, way), stream);
      if (beside_[way] >= 0) start(static_cast<int>(way), {place(device, way)}, stream);
      arrivals.push_back({static_cast<int>(way), {place(device, ways + way)}, &stream});
    }
    stream.synchronize();  // the host's memory is used again
    finish(arrivals);
    for (std::size_t way = 0; way < ways; ++way)
      copy_async(place(host, way), place(device, ways + way), stream);
    let_go(stream);
    stream.synchronize();
    std::vector<std::byte> expected(size);
    for (std::size_t way = 0; way < ways; ++way) {
      int const from = beside_[1 - way];
      fill(expected, from, way, round);
      if (from >= 0 && !std::ranges::equal(expected, place(host, way)))
        failure = fmt::format("what rank {} sends does not come", from);
    }
  }
  return failure;
}

EventLinks::Events EventLinks::events_of(Device const& device) {
  Events events;
  for (auto& of_way : events)
    for (auto& event : of_way) event = std::make_unique<Event>(device);
  return events;
}

}  // namespace gridstride

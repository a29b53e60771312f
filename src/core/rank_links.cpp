#include "core/rank_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <queue>
#include <random>
#include <string_view>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/nccl.hpp"
#include "core/nccl_links.hpp"
#include "core/peer_links.hpp"
#include "core/rank_sums.hpp"
#include "core/staged_links.hpp"

namespace gridstride {

namespace {

/// Of the host, whose work is done when it is queued.
class DirectLinks final : public RankLinks {
 public:
  DirectLinks(Ranks& ranks, RanksBeside const& beside) : ranks_(ranks), beside_(beside) {}

  std::string name() const override { return "mpi"; }
  void start(int way, Pieces const& pieces, Stream&) override { started_[place(way)].push(pieces); }
  void let_go(Stream&) override {}
  void finish(std::span<Arrival const> arrivals) override {
    std::vector<RankMessage> sent, received;
    for (auto const& [way, pieces, stream] : arrivals) {
      int const back = 1 - way, rank = beside_[place(back)];
      if (rank < 0) continue;
      auto& started = started_[place(back)];
      for (auto const& piece : started.front()) sent.push_back({rank, 1 + back, piece});
      started.pop();
      for (auto const& piece : pieces) received.push_back({rank, 1 + way, piece});
    }
    ranks_.exchange(sent, received);
  }

 private:
  static std::size_t place(int way) { return static_cast<std::size_t>(way); }

  Ranks& ranks_;
  RanksBeside beside_;
  std::array<std::queue<Pieces>, 2> started_;
};

/// What a rank sends for proof.
void fill(std::span<std::byte> bytes, int rank, std::size_t way, unsigned round) {
  std::minstd_rand random(static_cast<unsigned>(rank) * 4 + static_cast<unsigned>(way) * 2 + round +
                          1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
}

/// Sends a little on both ways, and waits: whether it comes. Returns why it does not, or nothing. All
/// ranks call it.
std::string prove(RankLinks& links, Ranks& ranks, RanksBeside const& beside, std::size_t bytes,
                  Stream& stream) {
  constexpr std::size_t ways = 2, rounds = 2;
  std::size_t const size = std::min<std::size_t>(bytes, 4096);
  Buffer<std::byte> host(stream, MemorySpace::pinned, ways * size);
  Buffer<std::byte> device(stream, MemorySpace::device, 2 * ways * size);
  auto const place = [size](auto& buffer, std::size_t number) {
    return buffer.span().subspan(number * size, size);
  };
  std::string failure;
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<RankLinks::Arrival> arrivals;
    for (std::size_t way = 0; way < ways; ++way) {
      fill(place(host, way), ranks.rank(), way, round);
      copy_async(place(device, way), place(host, way), stream);
      if (beside[way] >= 0) links.start(static_cast<int>(way), {place(device, way)}, stream);
      arrivals.push_back({static_cast<int>(way), {place(device, ways + way)}, &stream});
    }
    stream.synchronize();  // the host's memory is used again
    links.finish(arrivals);
    for (std::size_t way = 0; way < ways; ++way)
      copy_async(place(host, way), place(device, ways + way), stream);
    links.let_go(stream);
    stream.synchronize();
    std::vector<std::byte> expected(size);
    for (std::size_t way = 0; way < ways; ++way) {
      int const from = beside[1 - way];
      fill(expected, from, way, round);
      if (from >= 0 && !std::ranges::equal(expected, place(host, way)))
        failure = fmt::format("what rank {} sends does not come", from);
    }
  }
  return failure;
}

/// Those that a transport makes, if they bring what is sent; else none, and `failure` is why, on all
/// ranks. They wait for each other only where none of them lacks something.
std::unique_ptr<RankLinks> open(Transport const& transport, Ranks& ranks, Stream stream,
                                RanksBeside const& beside, std::size_t bytes,
                                std::string& failure) {
  failure = first_text(ranks, failure);
  if (!failure.empty()) return nullptr;
  auto links = transport.make(ranks, stream, beside, bytes, failure);
  failure = first_text(ranks, failure);
  if (failure.empty()) failure = first_text(ranks, prove(*links, ranks, beside, bytes, stream));
  return failure.empty() ? std::move(links) : nullptr;
}

std::string lack_of_peers(Ranks const& ranks) {
  return ranks.local_count() == ranks.count() ? "" : "the ranks are on several machines";
}

std::string lack_of_nccl(Ranks const&) try {
  Nccl::require();
  return {};
} catch (Error const& error) {
  return error.what();
}

constexpr std::string_view of_host[] = {"mpi"}, of_gpus[] = {"p2p", "nccl", "staged"};

constexpr Transport of_core[] = {{"p2p", lack_of_peers, make_peer_links},
                                 {"nccl", lack_of_nccl, make_nccl_links}};

bool is_among(std::span<Transport const> transports, std::string_view name) {
  return name == staged_transport ||
         std::ranges::find(transports, name, &Transport::name) != transports.end();
}

/// What the environment wants; empty for whatever is fastest.
std::string_view wanted_transport(std::span<Transport const> transports) {
  char const* const text = std::getenv("GRIDSTRIDE_TRANSPORT");
  std::string_view const name = text == nullptr || text == std::string_view("auto") ? "" : text;
  if (name.empty() || is_among(transports, name)) return name;
  std::string names = "auto, ";
  for (auto const& transport : transports) names += fmt::format("{}, ", transport.name);
  throw Error(fmt::format("GRIDSTRIDE_TRANSPORT is '{}' ({}and {} are possible)", name, names,
                          staged_transport));
}

}  // namespace

std::span<Transport const> core_transports() { return of_core; }

OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports,
                       std::string_view wanted) {
  if (stream.backend() == Backend::cpu) return {std::make_unique<DirectLinks>(ranks, beside), {}};
  bool const is_named = !wanted.empty();
  if (!is_named) wanted = wanted_transport(transports);
  std::string remark;
  for (auto const& transport : transports) {
    auto const name = transport.name;
    std::string failure = transport.lack(ranks);
    if (!wanted.empty() && name != wanted)
      failure = fmt::format("GRIDSTRIDE_TRANSPORT is {}", wanted);
    auto links = open(transport, ranks, stream, beside, bytes, failure);
    if (links != nullptr) return {std::move(links), remark};
    if (name == wanted)
      throw Error(is_named ? failure
                           : fmt::format("GRIDSTRIDE_TRANSPORT is {}, which cannot be ({})", name,
                                         failure));
    if (remark != failure) remark += fmt::format("{}{}", remark.empty() ? "" : "; ", failure);
  }
  return {make_staged_links(ranks, stream, beside, bytes), remark};
}

}  // namespace gridstride

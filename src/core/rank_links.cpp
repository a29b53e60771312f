#include "core/rank_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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
#include "core/side_links.hpp"
#include "core/staged_links.hpp"

namespace gridstride {

namespace {

/// Of the host, whose work is done when it is queued.
class DirectLinks final : public RankLinks {
 public:
  DirectLinks(Ranks& ranks, RanksBeside const& beside) : ranks_(ranks), beside_(beside) {}

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

/// Sends a little on both ways, and waits: whether it comes. Ranks beside each other call it together.
void prove(RankLinks& links, Ranks& ranks, RanksBeside const& beside, std::size_t bytes,
           Stream stream, SideFaults& faults) {
  constexpr std::size_t ways = 2, rounds = 2;
  std::size_t const size = std::min<std::size_t>(bytes, 4096);
  Buffer<std::byte> host(stream, MemorySpace::pinned, ways * size);
  Buffer<std::byte> device(stream, MemorySpace::device, 2 * ways * size);
  auto const place = [size](auto& buffer, std::size_t number) {
    return buffer.span().subspan(number * size, size);
  };
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<RankLinks::Arrival> arrivals;
    for (std::size_t way = 0; way < ways; ++way) {
      fill(place(host, way), ranks.rank(), way, round);
      copy_async(place(device, way), place(host, way), stream);
      if (beside[way] >= 0) links.start(static_cast<int>(way), {place(device, way)}, stream);
      if (beside[1 - way] >= 0)
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
        faults[1 - way] = fmt::format("what rank {} sends does not come", from);
    }
  }
}

/// Those beside this rank that a transport links it with, which both of a pair have to find. All ranks
/// call it.
RanksBeside agreed(Ranks& ranks, RanksBeside const& tried, SideFaults const& faults) {
  using Found = std::array<bool, 2>;
  Found own;
  for (std::size_t side = 0; side < 2; ++side) own[side] = faults[side].empty();
  auto const all = of_all_ranks(ranks, own);
  RanksBeside linked = {-1, -1};
  for (std::size_t side = 0; side < 2; ++side)
    if (tried[side] >= 0 && own[side] && all[static_cast<std::size_t>(tried[side])][1 - side])
      linked[side] = tried[side];
  return linked;
}

/// All ranks call it. Tells in the last one on all of them why it does not link all, or leaves it
/// empty.
SideLinks::Part link(Transport const& transport, Ranks& ranks, Stream const& stream,
                     Stream const& beside_stream, RanksBeside const& tried, std::size_t bytes,
                     std::string& failure) {
  failure = first_text(ranks, transport.lack == nullptr ? std::string() : transport.lack());
  if (!failure.empty()) return {};
  SideFaults faults;
  auto links = transport.make(ranks, beside_stream, tried, bytes, faults);
  auto linked = agreed(ranks, tried, faults);
  if (links != nullptr) prove(*links, ranks, linked, bytes, stream, faults);
  linked = agreed(ranks, linked, faults);
  failure = first_text(ranks, faults[faults[0].empty() ? 1 : 0]);
  return {std::move(links), linked};
}

/// Of all ranks, those beside them which are on their machine, and those which are on others.
struct Pairs {
  std::int64_t within = 0, between = 0;
  bool are_none() const { return within == 0 && between == 0; }
};

Pairs pairs_of(Ranks& ranks, RanksBeside const& beside) {
  std::array<std::int64_t, 2> counts = {};
  for (int const other : beside)
    if (other >= 0) ++counts[ranks.is_here(other) ? 0 : 1];
  add_counts(ranks, counts);
  return {counts[0], counts[1]};
}

RanksBeside beside_here(Ranks const& ranks, RanksBeside beside) {
  for (int& other : beside)
    if (other >= 0 && !ranks.is_here(other)) other = -1;
  return beside;
}

/// What each transport is for.
std::string text_of(std::vector<std::pair<std::string_view, Pairs>> const& taken) {
  std::vector<std::string_view> within, between;
  for (auto const& [name, pairs] : taken) {
    if (pairs.within > 0) within.push_back(name);
    if (pairs.between > 0) between.push_back(name);
  }
  auto const inside = fmt::format("{}", fmt::join(within, " and "));
  auto const outside = fmt::format("{}", fmt::join(between, " and "));
  if (outside.empty() || inside == outside) return inside;
  return inside.empty() ? outside + " between machines"
                        : fmt::format("{} within machines, {} between them", inside, outside);
}

/// The transport that is to be taken; empty: whichever is fastest.
struct Wanted {
  std::string_view name;
  bool is_of_environment = false;
};

/// What keeps a wish from being done is said to who has it.
void require(std::string const& failure, Wanted const& wanted) {
  if (failure.empty()) return;
  throw Error(
      wanted.is_of_environment
          ? fmt::format("GRIDSTRIDE_TRANSPORT is {}, which cannot be ({})", wanted.name, failure)
          : failure);
}

OpenedLinks open(Ranks& ranks, Stream const& stream, RanksBeside left, std::size_t bytes,
                 std::span<Transport const> transports, Wanted const& wanted) {
  Stream const beside(stream.device());
  std::vector<SideLinks::Part> parts;
  std::vector<std::pair<std::string_view, Pairs>> taken;
  std::string remark;
  auto pairs = pairs_of(ranks, left);
  for (auto const& transport : transports) {
    if (pairs.are_none()) break;
    bool const is_of_machine = transport.reach == Transport::Reach::machine;
    bool const is_wanted = transport.name == wanted.name;
    std::string failure;
    if (!wanted.name.empty() && !is_wanted) {
      failure = fmt::format("GRIDSTRIDE_TRANSPORT is {}", wanted.name);
    } else if (is_of_machine && is_wanted && pairs.between > 0) {
      failure = "the ranks are on several machines";
    } else if (!is_of_machine || pairs.within > 0) {
      auto part = link(transport, ranks, stream, beside,
                       is_of_machine ? beside_here(ranks, left) : left, bytes, failure);
      for (std::size_t side = 0; side < 2; ++side)
        if (part.beside[side] >= 0) left[side] = -1;
      if (auto const linked = pairs_of(ranks, part.beside); !linked.are_none()) {
        parts.push_back(std::move(part));
        taken.emplace_back(transport.name, linked);
        pairs = pairs_of(ranks, left);
      }
    }
    if (is_wanted) require(failure, wanted);
    if (!failure.empty() && remark != failure)
      remark += fmt::format("{}{}", remark.empty() ? "" : "; ", failure);
  }
  if (!pairs.are_none())
    throw Error(fmt::format("some ranks cannot reach each other ({})", remark));
  bool const is_one = parts.size() == 1 && parts[0].links != nullptr;
  auto links = is_one ? std::move(parts[0].links) : std::make_unique<SideLinks>(std::move(parts));
  return {std::move(links), text_of(taken), remark};
}

std::string lack_of_nccl() try {
  Nccl::require();
  return {};
} catch (Error const& error) {
  return error.what();
}

constexpr Transport of_core[] = {
    {"p2p", Transport::Reach::machine, make_peer_links},
    {"nccl", Transport::Reach::all, make_nccl_links, lack_of_nccl},
    {"staged", Transport::Reach::all, make_staged_links},
};

/// What the environment wants.
Wanted wanted_by_environment(std::span<Transport const> transports) {
  char const* const text = std::getenv("GRIDSTRIDE_TRANSPORT");
  std::string_view const name = text == nullptr ? "auto" : text;
  if (name.empty() || name == "auto") return {};
  std::vector<std::string_view> names = {"auto"};
  for (auto const& transport : transports) names.push_back(transport.name);
  if (std::ranges::find(names, name) != names.end()) return {name, true};
  auto const last = names.back();
  names.pop_back();
  throw Error(fmt::format("GRIDSTRIDE_TRANSPORT is '{}' ({} and {} are possible)", name,
                          fmt::join(names, ", "), last));
}

}  // namespace

std::span<Transport const> core_transports() { return of_core; }

OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports,
                       std::string_view wanted) {
  if (stream.backend() == Backend::cpu)
    return {std::make_unique<DirectLinks>(ranks, beside), "mpi", {}};
  return open(ranks, stream, beside, bytes, transports,
              wanted.empty() ? wanted_by_environment(transports) : Wanted{wanted});
}

OpenedLinks open_pairs(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports) {
  return open(ranks, stream, beside, bytes, transports, {});
}

}  // namespace gridstride

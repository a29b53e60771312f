#include "core/rank_links.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <queue>
#include <string_view>
#include <utility>

#include "core/box_links.hpp"
#include "core/error.hpp"
#include "core/nccl.hpp"
#include "core/nccl_links.hpp"
#include "core/peer_links.hpp"
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
      auto& started = started_[place(way)];
      if (int const to = beside_[place(way)]; to >= 0) {
        for (auto const& piece : started.front()) sent.push_back({to, 1 + way, piece});
        started.pop();
      }
      if (int const from = beside_[place(1 - way)]; from >= 0)
        for (auto const& piece : pieces) received.push_back({from, 1 + way, piece});
    }
    ranks_.exchange(sent, received);
  }

 private:
  static std::size_t place(int way) { return static_cast<std::size_t>(way); }

  Ranks& ranks_;
  RanksBeside beside_;
  std::array<std::queue<Pieces>, 2> started_;
};

/// The first of the texts that ranks have which is not empty, on all of them.
std::string agree(Ranks& ranks, std::string const& text) {
  using Words = std::array<char, 256>;
  Words own{};
  std::copy_n(text.begin(), std::min(text.size(), own.size() - 1), own.begin());
  auto const bytes = [](Words& words) { return std::as_writable_bytes(std::span(words)); };
  if (ranks.is_first()) {
    std::vector<Words> others(static_cast<std::size_t>(ranks.count()));
    std::vector<RankMessage> received;
    for (int rank = 1; rank < ranks.count(); ++rank)
      received.push_back({rank, 0, bytes(others[static_cast<std::size_t>(rank)])});
    ranks.exchange({}, received);
    for (Words const& words : others)
      if (own[0] == '\0') own = words;
  } else {
    RankMessage const message{0, 0, bytes(own)};
    ranks.exchange(std::span(&message, 1), {});
  }
  ranks.broadcast(bytes(own));
  return own.data();
}

/// Those that a transport makes, if they bring what is sent; else none, and `failure` is why, on all
/// ranks. They wait for each other only where none of them lacks something.
using Make = std::unique_ptr<BoxLinks> (*)(Ranks&, Stream const&, RanksBeside const&, std::size_t,
                                           std::string&);
std::unique_ptr<RankLinks> open(Make make, Ranks& ranks, Stream stream, RanksBeside const& beside,
                                std::size_t bytes, std::string& failure) {
  failure = agree(ranks, failure);
  if (!failure.empty()) return nullptr;
  auto links = make(ranks, stream, beside, bytes, failure);
  failure = agree(ranks, failure);
  if (failure.empty()) failure = agree(ranks, links->prove(stream));
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

/// The ways between GPUs but for `staged`, which lacks nothing.
struct Transport {
  std::string_view name;
  std::string (*lack)(Ranks const&);  ///< of this rank by itself
  Make make;
};
constexpr Transport transports[] = {{of_gpus[0], lack_of_peers, make_peer_links},
                                    {of_gpus[1], lack_of_nccl, make_nccl_links}};

/// What the environment wants; empty for whatever is fastest.
std::string_view wanted_transport() {
  char const* const text = std::getenv("GRIDSTRIDE_TRANSPORT");
  std::string_view const name = text == nullptr || text == std::string_view("auto") ? "" : text;
  if (name.empty() || std::ranges::find(of_gpus, name) != std::end(of_gpus)) return name;
  throw Error(fmt::format("GRIDSTRIDE_TRANSPORT is '{}' (auto, {} are possible)", name,
                          fmt::join(of_gpus, ", ")));
}

}  // namespace

std::span<std::string_view const> transports_of(Backend backend) {
  return backend == Backend::cpu ? std::span<std::string_view const>(of_host) : of_gpus;
}

OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::string_view wanted) {
  if (stream.backend() == Backend::cpu) return {std::make_unique<DirectLinks>(ranks, beside), {}};
  bool const is_named = !wanted.empty();
  if (!is_named) wanted = wanted_transport();
  std::string remark;
  for (auto const& [name, lack, make] : transports) {
    std::string failure = lack(ranks);
    if (!wanted.empty() && name != wanted)
      failure = fmt::format("GRIDSTRIDE_TRANSPORT is {}", wanted);
    auto links = open(make, ranks, stream, beside, bytes, failure);
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

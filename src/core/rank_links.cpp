#include "core/rank_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <queue>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"

namespace gridstride {

namespace {

constexpr std::size_t ways = 2, turns = 2;  // what is on a way at a time takes turns
constexpr int first_tag = 1;                // of the ways

template <class T>
using OfWays = std::array<T, ways>;
template <class T>
using OfTurns = OfWays<std::array<T, turns>>;

std::size_t index(int way) { return static_cast<std::size_t>(way); }

std::size_t size_of(RankLinks::Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes += piece.size();
  return bytes;
}

/// Of the host, whose work is done when it is queued.
class DirectLinks final : public RankLinks {
 public:
  DirectLinks(Ranks& ranks, RanksBeside const& beside) : ranks_(ranks), beside_(beside) {}

  std::string name() const override { return "mpi"; }
  void start(int way, Pieces const& pieces, Stream&) override { started_[index(way)].push(pieces); }
  void let_go(Stream&) override {}
  void finish(std::span<Arrival const> arrivals) override {
    std::vector<RankMessage> sent, received;
    for (auto const& [way, pieces, stream] : arrivals) {
      auto& started = started_[index(way)];
      if (int const to = beside_[index(way)]; to >= 0) {
        for (auto const& piece : started.front()) sent.push_back({to, first_tag + way, piece});
        started.pop();
      }
      if (int const from = beside_[index(1 - way)]; from >= 0)
        for (auto const& piece : pieces) received.push_back({from, first_tag + way, piece});
    }
    ranks_.exchange(sent, received);
  }

 private:
  Ranks& ranks_;
  RanksBeside beside_;
  OfWays<std::queue<Pieces>> started_;
};

/// Of GPUs: what is sent is copied into a box, on a stream beside those that compute, and what comes
/// out of one. A box is filled again two messages later: its last content has then been taken out,
/// since what is sent was computed from what came one message before.
class BoxLinks : public RankLinks {
 public:
  BoxLinks(Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes)
      : ranks_(ranks),
        beside_(beside),
        bytes_(bytes),
        link_(stream.device()),
        ready_(stream.device()),
        gone_(stream.device()) {}

  void start(int way, Pieces const& pieces, Stream& stream) override {
    if (size_of(pieces) > bytes_) throw std::logic_error("more for other ranks than links are for");
    std::size_t const turn = started_[index(way)]++ % turns;
    await_filled(way, 1 - turn, stream);
    stream.record(ready_);
    link_.wait(ready_);
    std::byte* box = out_[index(way)][turn];
    for (auto const& piece : pieces) {
      copy_async(std::span(box, piece.size()), piece, link_);
      box += piece.size();
    }
    has_filled(way, turn, size_of(pieces));
  }

  void let_go(Stream& stream) override {
    link_.record(gone_);
    stream.wait(gone_);
  }

  void finish(std::span<Arrival const> arrivals) override {
    std::vector<RankMessage> sent, received;
    for (auto const& [way, pieces, stream] : arrivals) {
      if (int const to = beside_[index(way)]; to >= 0)
        sent.push_back({to, first_tag + way, told(way, sent_[index(way)]++ % turns)});
      if (int const from = beside_[index(1 - way)]; from >= 0)
        received.push_back(
            {from, first_tag + way, heard(way, received_[index(way)] % turns, size_of(pieces))});
    }
    ranks_.exchange(sent, received);
    for (auto const& [way, pieces, stream] : arrivals) {
      if (beside_[index(1 - way)] < 0) continue;
      std::size_t const turn = received_[index(way)]++ % turns;
      await(way, turn, *stream);
      std::byte const* box = in_[index(way)][turn];
      for (auto const& piece : pieces) {
        copy_async(piece, std::span(box, piece.size()), *stream);
        box += piece.size();
      }
    }
  }

 protected:
  /// A box is filled once what `link_` has queued is done.
  virtual void has_filled(int way, std::size_t turn, std::size_t bytes) = 0;
  /// Work queued on `stream` after this finds the box filled, if it was to be.
  virtual void await_filled(int way, std::size_t turn, Stream& stream) = 0;
  /// What MPI sends of a box, and where it puts what comes.
  virtual std::span<std::byte> told(int way, std::size_t turn) = 0;
  virtual std::span<std::byte> heard(int way, std::size_t turn, std::size_t bytes) = 0;
  /// Work queued on `stream` after this finds a box that comes filled.
  virtual void await(int way, std::size_t turn, Stream& stream) = 0;

  Ranks& ranks_;
  RanksBeside beside_;
  std::size_t bytes_;  // of a box
  Stream link_;
  OfTurns<std::byte*> out_ = {}, in_ = {};

 private:
  Event ready_, gone_;
  OfWays<std::size_t> started_ = {}, sent_ = {}, received_ = {};
};

/// The boxes are in the memory of the host, which waits for them to be filled.
class StagedLinks final : public BoxLinks {
 public:
  StagedLinks(Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes)
      : BoxLinks(ranks, stream, beside, bytes),
        memory_(stream, MemorySpace::pinned, 2 * ways * turns * bytes) {
    std::byte* box = memory_.data();
    for (auto* const boxes : {&out_, &in_})
      for (auto& of_way : *boxes)
        for (std::byte*& one : of_way) {
          one = box;
          box += bytes;
        }
    for (auto& of_way : filled_)
      for (auto& one : of_way) one.event = std::make_unique<Event>(stream.device());
  }

  std::string name() const override { return "staged"; }

 private:
  struct Filled {
    std::unique_ptr<Event> event;
    std::size_t bytes = 0;
  };

  void has_filled(int way, std::size_t turn, std::size_t bytes) override {
    auto& filled = filled_[index(way)][turn];
    link_.record(*filled.event);
    filled.bytes = bytes;
  }
  void await_filled(int way, std::size_t turn, Stream& stream) override {
    stream.wait(*filled_[index(way)][turn].event);
  }
  std::span<std::byte> told(int way, std::size_t turn) override {
    auto const& filled = filled_[index(way)][turn];
    filled.event->synchronize();
    return {out_[index(way)][turn], filled.bytes};
  }
  std::span<std::byte> heard(int way, std::size_t turn, std::size_t bytes) override {
    return {in_[index(way)][turn], bytes};
  }
  void await(int, std::size_t, Stream&) override {}

  Buffer<std::byte> memory_;
  OfTurns<Filled> filled_;
};

/// A process among all there are: other machines and containers count theirs as this one does.
std::array<std::uint64_t, 2> this_process() {
  static auto const drawn = [] {
    std::random_device random;
    auto const draw = [&] { return std::uint64_t{random()} << 32 | random(); };
    return std::array{draw(), draw()};
  }();
  return drawn;
}

class PeerLinks;

/// What a rank offers to those beside it.
struct Offer {
  std::array<std::uint64_t, 2> process = {};
  PeerLinks const* links = nullptr;  // in that process
  bool is_there = false;
  gpu::IpcHandle memory = {};
  OfTurns<gpu::IpcHandle> events = {};
};

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
  /// All ranks make one; `failure` tells why what it has is of no use.
  PeerLinks(Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes,
            std::string& failure)
      : BoxLinks(ranks, stream, beside, bytes), stream_(stream) {
    Offer const own = offer(failure);
    auto const offers = exchange(own);
    left_behind().clear();
    if (!failure.empty()) return;
    try {
      for (std::size_t way = 0; way < ways; ++way)
        if (beside[way] >= 0) take(static_cast<int>(way), offers[1 - way]);
    } catch (Error const& error) {
      failure = error.what();
    }
  }
  PeerLinks(PeerLinks const&) = delete;
  PeerLinks& operator=(PeerLinks const&) = delete;
  ~PeerLinks() override { left_behind().push_back(std::move(memory_)); }

  std::string name() const override { return "p2p"; }

  /// Sends a little on both ways: whether it comes. `failure` as above; the ranks have agreed before
  /// that there is none.
  void prove(std::string& failure) {
    std::size_t const size = std::min<std::size_t>(bytes_, 4096);
    Buffer<std::byte> host(stream_, MemorySpace::pinned, ways * size);
    Buffer<std::byte> device(stream_, MemorySpace::device, 2 * ways * size);
    auto const place = [size](auto& buffer, std::size_t number) {
      return buffer.span().subspan(number * size, size);
    };
    for (unsigned round = 0; round < turns; ++round) {
      std::vector<Arrival> arrivals;
      for (std::size_t way = 0; way < ways; ++way) {
        fill(place(host, way), ranks_.rank(), way, round);
        copy_async(place(device, way), place(host, way), stream_);
        if (beside_[way] >= 0) start(static_cast<int>(way), {place(device, way)}, stream_);
        arrivals.push_back({static_cast<int>(way), {place(device, ways + way)}, &stream_});
      }
      stream_.synchronize();  // the host's memory is used again
      finish(arrivals);
      for (std::size_t way = 0; way < ways; ++way)
        copy_async(place(host, way), place(device, ways + way), stream_);
      let_go(stream_);
      stream_.synchronize();
      std::vector<std::byte> expected(size);
      for (std::size_t way = 0; way < ways; ++way) {
        int const from = beside_[1 - way];
        fill(expected, from, way, round);
        if (from >= 0 && !std::ranges::equal(expected, place(host, way)))
          failure = fmt::format("what rank {} writes does not come", from);
      }
    }
  }

 private:
  static void fill(std::span<std::byte> bytes, int rank, std::size_t way, unsigned round) {
    std::minstd_rand random(static_cast<unsigned>(rank) * 4 + static_cast<unsigned>(way) * 2 +
                            round + 1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  }

  /// What other ranks need of this one.
  Offer offer(std::string& failure) {
    Offer own{.process = this_process(), .links = this};
    int const ordinal = stream_.device().ordinal();
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

  std::byte* box_in(void* memory, std::size_t way, std::size_t turn) const {
    return static_cast<std::byte*>(memory) + (way * turns + turn) * bytes_;
  }

  /// Those that come on each way.
  OfWays<Offer> exchange(Offer own) {
    OfWays<Offer> offers;
    std::vector<RankMessage> sent, received;
    for (std::size_t way = 0; way < ways; ++way) {
      int const tag = first_tag + static_cast<int>(way);
      if (beside_[way] >= 0)
        sent.push_back({beside_[way], tag, std::as_writable_bytes(std::span(&own, 1))});
      if (beside_[1 - way] >= 0)
        received.push_back(
            {beside_[1 - way], tag, std::as_writable_bytes(std::span(&offers[way], 1))});
    }
    ranks_.exchange(sent, received);
    return offers;
  }

  /// The rank that this one sends to on a way, and has what comes on the other from.
  void take(int way, Offer const& theirs) {
    if (!theirs.is_there) return;  // which that rank tells
    std::size_t const to = index(way), from = 1 - to;
    bool const is_here = theirs.process == this_process();
    int const ordinal = stream_.device().ordinal();
    // Two ranks around a periodic axis are beside each other twice; memory is opened once.
    bool const is_same = to == 1 && beside_[0] == beside_[1];
    theirs_[to] = is_here   ? theirs.links->memory_
                  : is_same ? theirs_[0]
                            : gpu::open_memory(ordinal, theirs.memory);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      out_[to][turn] = box_in(theirs_[to].get(), to, turn);
      coming_[from][turn] = is_here ? theirs.links->filled_[from][turn]
                                    : gpu::open_event(ordinal, theirs.events[from][turn]);
    }
  }

  void has_filled(int way, std::size_t turn, std::size_t) override {
    gpu::record(filled_[index(way)][turn].get(), link_.native());
  }
  void await_filled(int way, std::size_t turn, Stream& stream) override {
    gpu::wait(stream.native(), filled_[index(way)][turn].get());
  }
  std::span<std::byte> told(int, std::size_t) override { return {&token_, 1}; }
  std::span<std::byte> heard(int way, std::size_t, std::size_t) override {
    return {&heard_[index(way)], 1};
  }
  void await(int way, std::size_t turn, Stream& stream) override {
    gpu::wait(stream.native(), coming_[index(way)][turn].get());
  }

  Stream stream_;
  std::shared_ptr<void> memory_;           // of the boxes that come
  OfWays<std::shared_ptr<void>> theirs_;   // memory of others
  OfTurns<std::shared_ptr<void>> filled_;  // own events
  OfTurns<std::shared_ptr<void>> coming_;  // those of others
  std::byte token_{};
  OfWays<std::byte> heard_ = {};
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

enum class Wanted { any, p2p, staged };

Wanted wanted_transport() {
  char const* const text = std::getenv("GRIDSTRIDE_TRANSPORT");
  std::string_view const name = text == nullptr ? "" : text;
  if (name.empty() || name == "auto") return Wanted::any;
  if (name == "p2p") return Wanted::p2p;
  if (name == "staged") return Wanted::staged;
  throw Error(
      fmt::format("GRIDSTRIDE_TRANSPORT is '{}' (auto, p2p and staged are possible)", name));
}

/// Empty, with `failure`, where one of the ranks cannot.
std::unique_ptr<RankLinks> open_peers(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                                      std::size_t bytes, std::string& failure) {
  if (ranks.local_count() != ranks.count()) failure = "the ranks are on several machines";
  failure = agree(ranks, failure);
  if (!failure.empty()) return nullptr;
  auto links = std::make_unique<PeerLinks>(ranks, stream, beside, bytes, failure);
  failure = agree(ranks, failure);
  if (failure.empty()) {
    links->prove(failure);
    failure = agree(ranks, failure);
  }
  return failure.empty() ? std::move(links) : nullptr;
}

}  // namespace

OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes) {
  if (stream.backend() == Backend::cpu) return {std::make_unique<DirectLinks>(ranks, beside), {}};
  Wanted const wanted = wanted_transport();
  std::string failure;
  if (wanted == Wanted::staged) failure = "GRIDSTRIDE_TRANSPORT is staged";
  if (auto peers = open_peers(ranks, stream, beside, bytes, failure)) return {std::move(peers), {}};
  if (wanted == Wanted::p2p)
    throw Error(fmt::format("GRIDSTRIDE_TRANSPORT is p2p, which cannot be ({})", failure));
  return {std::make_unique<StagedLinks>(ranks, stream, beside, bytes), failure};
}

}  // namespace gridstride

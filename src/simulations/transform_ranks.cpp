#include "simulations/transform_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/file_stamp.hpp"
#include "core/gpu.hpp"
#include "core/processors.hpp"
#include "core/rank_failures.hpp"
#include "model/hand_out.hpp"

namespace gridstride::transform {

// ------------------------------------------------------------------------------------ the files

namespace {

std::vector<config::FieldSource> sources_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  std::vector<config::FieldSource> sources;
  for (auto const& [name, source] : parameters.inputs) sources.push_back(source);
  for (auto const& step : parameters.steps)
    for (auto const& [name, filters] : step.filters)
      for (auto const& filter : filters) sources.push_back(filter.source);
  std::erase_if(sources, [](auto const& source) { return source.file.empty(); });
  return sources;
}

/// What tells a file from another on whatever machine it is looked at; no bytes where there is none.
FileStamp stamp_anywhere(config::FieldSource const& source) {
  FileStamp stamp;
  try {
    stamp = stamp_of(source.file);
  } catch (IoError const&) {
    stamp.bytes = -1;
  }
  stamp.device = stamp.inode = 0;
  return stamp;
}

}  // namespace

void require_same_files(Ranks& ranks, config::RunConfig const& run) {
  if (ranks.count() == 1) return;
  auto const sources = sources_of(run);
  std::vector<FileStamp> own, first;
  for (auto const& source : sources) own.push_back(stamp_anywhere(source));
  first = own;
  ranks.broadcast(std::as_writable_bytes(std::span(first)));
  fail_together(ranks, [&] {
    std::vector<Problem> problems;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (own[s] == first[s]) continue;
      auto const what =
          own[s].bytes < 0 ? std::string("has no such file")
          : own[s].bytes != first[s].bytes
              ? fmt::format("sees one of {} bytes, the first rank of {}", own[s].bytes,
                            first[s].bytes)
              : std::string("sees one that was written to at another time than the first rank's");
      problems.push_back(run.problem(
          sources[s].location,
          fmt::format("{}: rank {} {} (all ranks read the same files, in a folder that all "
                      "machines share)",
                      sources[s].file.string(), ranks.rank(), what)));
    }
    if (!problems.empty()) throw ConfigError(problems);
  });
}

// ------------------------------------------------------------------------------ what is written

namespace {

enum Tag : int { parcel_tag = 1, bytes_tag };

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

/// What other ranks write to.
class HandOver::Sink final : public FieldSink {
 public:
  Sink(HandOver& hand_over, int place)
      : FieldSink(std::numeric_limits<std::uint64_t>::max()),
        hand_over_(hand_over),
        place_(place) {}
  int place() const { return place_; }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    hand_over_.hand(place_, first_byte, bytes);
  }

  HandOver& hand_over_;
  int place_;
};

HandOver::HandOver(Ranks& ranks, Device const& device, std::vector<int> places,
                   std::vector<Written> targets)
    : ranks_(ranks), device_(device), targets_(std::move(targets)) {
  std::ranges::stable_sort(targets_, {}, &Written::place);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (ranks_.is_first()) return;
  for (int const place : places) sinks_.push_back(std::make_unique<Sink>(*this, place));
}

HandOver::~HandOver() = default;

std::vector<Written> HandOver::written() const {
  std::vector<Written> written = targets_;
  for (auto const& sink : sinks_) written.push_back({sink->place(), sink.get()});
  return written;
}

void HandOver::during(std::function<void()> const& pass) {
  std::exception_ptr failure;
  failure_ = nullptr;
  is_over_ = false;
  {
    std::jthread const passing([&, share = host_share()] {
      set_host_share(share);
      try {
        if (device_.backend() == Backend::cuda) gpu::use_device(device_.ordinal());
        pass();
      } catch (...) {
        failure = std::current_exception();
      }
      std::lock_guard const lock(mutex_);
      is_over_ = true;
      came_.notify_one();
    });
    if (ranks_.is_first())
      receive_all();
    else
      send_all();
  }
  if (failure) std::rethrow_exception(failure);
  if (failure_) std::rethrow_exception(failure_);
}

/// A lane's thread waits here, so that its chunk's memory stays what it is.
void HandOver::hand(int place, std::uint64_t first_byte, std::span<std::byte const> bytes) {
  Waiting own{place, first_byte, bytes};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  came_.notify_one();
  gone_.wait(lock, [&] { return own.is_gone; });
}

/// Null when the pass is over, and with it everybody who waits.
HandOver::Waiting* HandOver::take() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [&] { return !waiting_.empty() || is_over_; });
  if (waiting_.empty()) return nullptr;
  Waiting* const next = waiting_.front();
  waiting_.pop_front();
  return next;
}

void HandOver::send_all() {
  for (Waiting* next = take(); next != nullptr; next = take()) {
    send(*next);
    std::lock_guard const lock(mutex_);
    next->is_gone = true;
    gone_.notify_all();
  }
  Parcel last{ranks_.rank(), -1, 0, 0};
  RankMessage const message{0, parcel_tag, bytes_of(last)};
  ranks_.exchange({&message, 1}, {});
}

void HandOver::send(Waiting const& waiting) {
  auto const& all = waiting.bytes;
  for (std::size_t done = 0; done < all.size(); done += parcel_bytes) {
    auto const some = all.subspan(done, std::min(parcel_bytes, all.size() - done));
    Parcel parcel{ranks_.rank(), waiting.place, waiting.first_byte + done, std::ssize(some)};
    RankMessage const messages[] = {
        {0, parcel_tag, bytes_of(parcel)},
        {0, bytes_tag, {const_cast<std::byte*>(some.data()), some.size()}}};
    ranks_.exchange(messages, {});
  }
}

void HandOver::receive_all() {
  std::vector<std::byte> memory(parcel_bytes);
  for (int others = ranks_.count() - 1; others > 0;) {
    Parcel parcel;
    RankMessage const head{any_rank, parcel_tag, bytes_of(parcel)};
    ranks_.exchange({}, {&head, 1});
    if (parcel.place < 0) {
      --others;
      continue;
    }
    auto const bytes = std::span(memory).first(static_cast<std::size_t>(parcel.bytes));
    RankMessage const body{static_cast<int>(parcel.rank), bytes_tag, bytes};
    ranks_.exchange({}, {&body, 1});
    put(parcel, bytes);
  }
}

/// After a failure what comes is left, until all others have come to their end.
void HandOver::put(Parcel const& parcel, std::span<std::byte const> bytes) {
  if (failure_) return;
  try {
    for (auto const& [place, sink] : targets_)
      if (place == parcel.place) sink->write(parcel.first_byte, bytes);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

// --------------------------------------------------------------------------------- what is kept

template <class T>
void gather(Stream& stream, Ranks& ranks, RankCuts const& cuts, std::span<T> values) {
  bool const is_staged = ranks.is_first() && stream.backend() == Backend::cuda;
  auto const own = static_cast<std::size_t>(ranks.rank());
  auto const here = values.first(static_cast<std::size_t>(cuts[own + 1] - cuts[own]));
  Buffer<T> staging(stream, MemorySpace::pinned, is_staged ? values.size() : 0);
  gather_planes<T>(stream, ranks, cuts, 1, here, is_staged ? staging.span() : values);
  if (is_staged) copy_async(values, std::as_const(staging).span(), stream);
  stream.synchronize();
}

template void gather(Stream&, Ranks&, RankCuts const&, std::span<float>);
template void gather(Stream&, Ranks&, RankCuts const&, std::span<double>);

}  // namespace gridstride::transform

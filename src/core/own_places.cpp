#include "core/own_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/rank_sums.hpp"

namespace gridstride {

namespace {

/// The first rank's, at all.
template <class Values>
void share_values(Ranks& ranks, Values& values) {
  auto size = static_cast<std::uint64_t>(values.size());
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  values.resize(size);
  ranks.broadcast(std::as_writable_bytes(std::span(values)));
}

/// What is told of a target, beside its stretches and the names of its file.
struct Told {
  int place;
  std::uint64_t device, inode, stretches, file_size, shown_size, checked;
};

}  // namespace

OwnPlaces::OwnPlaces(Ranks& ranks, std::vector<Written> targets, Open const& open, Seen seen)
    : ranks_(ranks), targets_(std::move(targets)) {
  std::string own;
  bool const is_one_machine = ranks_.local_count() == ranks_.count();
  if (!is_one_machine && seen == Seen::here) own = "ranks are on several machines";
  std::vector<FilePlaces> places;
  try {
    if (own.empty()) places = share();
  } catch (IoError const& error) {
    own = error.what();
  }
  if (own.empty() && std::ranges::any_of(places, [](auto const& one) { return one.file.empty(); }))
    own = "what is packed or rounded goes through it";
  tell(places);
  try {
    if (!ranks_.is_first() && own.empty())
      for (FilePlaces& one : places) {
        if (!is_one_machine) one.device = 0;  // each has a number of its own for it
        sinks_.push_back(open(one));
      }
  } catch (IoError const& error) {
    own = fmt::format("rank {}: {}", ranks_.rank(), error.what());
  }
  lacking_ = first_text(ranks_, own);
  if (lacking_.empty() || !ranks_.is_first()) return;
  for (auto const& target : targets_) target.sink->settle(0, false);
}

/// Of each target, where the first rank has it.
std::vector<FilePlaces> OwnPlaces::share() {
  std::vector<FilePlaces> places;
  if (ranks_.is_first())
    for (auto const& [place, sink] : targets_) places.push_back(sink->share());
  return places;
}

/// The others get their targets with it.
void OwnPlaces::tell(std::vector<FilePlaces>& places) {
  std::vector<Told> told;
  std::vector<Stretch> stretches;
  std::string names;
  for (std::size_t t = 0; t < places.size(); ++t) {
    auto const& [file, shown, device, inode, parts, checked] = places[t];
    told.push_back({targets_[t].place, device, inode, parts.size(), file.native().size(),
                    shown.native().size(), checked});
    stretches.insert(stretches.end(), parts.begin(), parts.end());
    (names += file.native()) += shown.native();
  }
  share_values(ranks_, told);
  share_values(ranks_, stretches);
  share_values(ranks_, names);
  has_checksums_ = std::ranges::any_of(told, [](Told const& one) { return one.checked > 0; });
  if (ranks_.is_first()) return;
  auto next = stretches.begin();
  std::string_view rest = names;
  auto const take = [&](std::uint64_t size) {
    std::string_view const name = rest.substr(0, size);
    rest.remove_prefix(size);
    return std::filesystem::path(name);
  };
  for (Told const& one : told) {
    auto const end = next + static_cast<std::ptrdiff_t>(one.stretches);
    targets_.push_back({one.place, nullptr});
    auto const file = take(one.file_size);
    places.push_back({file, take(one.shown_size), one.device, one.inode, {next, end}, one.checked});
    next = end;
  }
}

std::vector<Written> OwnPlaces::written() const {
  auto written = targets_;
  for (std::size_t t = 0; t < sinks_.size(); ++t) written[t].sink = sinks_[t].get();
  return written;
}

void OwnPlaces::during(std::function<void()> const& pass) {
  std::exception_ptr failure;
  try {
    pass();
  } catch (...) {
    failure = std::current_exception();
  }
  settle();
  if (failure) std::rethrow_exception(failure);
}

/// Of each target, what the others have put there, and how many of them have failed in it.
void OwnPlaces::settle() {
  std::vector<std::int64_t> counts(2 * targets_.size());
  for (std::size_t t = 0; t < sinks_.size(); ++t) {
    counts[2 * t] = static_cast<std::int64_t>(sinks_[t]->written());
    counts[2 * t + 1] = sinks_[t]->has_failed() ? 1 : 0;
  }
  add_counts(ranks_, counts);
  auto const checksums = checksums_of_others();
  if (!ranks_.is_first()) return;
  for (std::size_t t = 0; t < targets_.size(); ++t)
    targets_[t].sink->settle(static_cast<std::uint64_t>(counts[2 * t]), counts[2 * t + 1] > 0,
                             checksums[t]);
}

/// Of each target.
std::vector<std::vector<SlabChecksum>> OwnPlaces::checksums_of_others() {
  std::vector<std::vector<SlabChecksum>> of_targets(targets_.size());
  if (!has_checksums_) return of_targets;
  struct Found {
    std::uint64_t target;
    SlabChecksum of_slab;
  };
  std::vector<Found> own;
  for (std::size_t t = 0; t < sinks_.size(); ++t)
    for (SlabChecksum const& one : sinks_[t]->checksums()) own.push_back({t, one});
  RankCuts cuts = {0};
  for (auto const size : of_all_ranks(ranks_, std::ssize(own))) cuts.push_back(cuts.back() + size);
  std::vector<Found> all(static_cast<std::size_t>(cuts.back()));
  std::ranges::copy(own, all.begin() + cuts[static_cast<std::size_t>(ranks_.rank())]);
  share_parts(ranks_, std::span(all), cuts);
  for (auto const& [target, of_slab] : all) of_targets[target].push_back(of_slab);
  return of_targets;
}

}  // namespace gridstride

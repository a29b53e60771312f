#include "model/rank_slabs.hpp"

#include <algorithm>
#include <array>

namespace gridstride {

template <class T>
RankSlabs<T>::RankSlabs(Stream const& stream, SweepPlan const& plan, Ranks& ranks)
    : stream_(stream), plan_(plan), ranks_(ranks) {
  find_reached();
  if (stream.device().backend() == Backend::cpu) return;
  constexpr std::size_t least_bytes = 16 << 20;  // of what goes at once where all is moved
  auto const worth = static_cast<std::int64_t>(least_bytes / plan.shape.plane_bytes());
  staging_ = Buffer<T>(stream_, MemorySpace::pinned, values(std::max<std::int64_t>(worth, 1)));
}

/// Which ranks reach the memory of the first one.
template <class T>
void RankSlabs<T>::find_reached() {
  if (ranks_.local_count() != ranks_.count()) return;
  first_ = own_process();
  ranks_.broadcast(std::as_writable_bytes(std::span(&first_, 1)));
  if (!ranks_.is_first()) {
    reaches_first_ = reaches(first_);
    RankMessage const message{0, 0, std::as_writable_bytes(std::span(&reaches_first_, 1))};
    ranks_.exchange(std::span(&message, 1), {});
    return;
  }
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    bool is_reached = false;
    RankMessage const message{rank, 0, std::as_writable_bytes(std::span(&is_reached, 1))};
    ranks_.exchange({}, std::span(&message, 1));
    if (is_reached) reached_by_.push_back(rank);
  }
}

template <class T>
void RankSlabs<T>::move(std::span<Array const> arrays, bool out) {
  stream_.synchronize();
  std::vector<std::byte> tokens(reached_by_.size() + 1);
  std::vector<RankMessage> reached;
  for (int const rank : reached_by_) reached.push_back({rank, 0, {&tokens[reached.size()], 1}});
  if (reaches_first_) {
    std::size_t const before = values(plan_.owned_by(ranks_.rank()).lower) * sizeof(T);
    RankMessage const first{0, 0, tokens};
    ranks_.exchange({}, std::span(&first, 1));  // its arrays may be looked at
    for (Array const& array : arrays) take_from_first(array.own, array.place + before, out);
    ranks_.exchange(std::span(&first, 1), {});
  } else {
    ranks_.exchange(reached, {});
    for (Array const& array : arrays) move_own(array, out);
    stream_.synchronize();
    ranks_.exchange({}, reached);
  }
}

/// What the first rank has, and sends those who do not reach it, or what one of these is sent.
template <class T>
void RankSlabs<T>::move_own(Array const& array, bool out) {
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (!ranks_.is_first() && rank != ranks_.rank()) continue;
    if (std::ranges::find(reached_by_, rank) != reached_by_.end()) continue;
    Planes const planes = plan_.owned_by(rank);
    std::span<T> const here = rank == ranks_.rank() ? array.own : std::span<T>();
    std::span<T> const whole =
        ranks_.is_first() ? std::span<T>(array.whole + values(planes.lower), values(planes.count()))
                          : std::span<T>();
    if (rank != 0)
      send_slab(here, whole, rank, out);
    else if (out)
      copy_async(here, std::span<T const>(whole), stream_);
    else
      copy_async(whole, std::span<T const>(here), stream_);
  }
}

/// Between `here` and the memory of rank 0, of a GPU by way of pinned memory, half of which is copied
/// while threads move the other one.
template <class T>
void RankSlabs<T>::take_from_first(std::span<T> here, std::uint64_t there, bool out) {
  auto const move = [&](std::span<T> host, std::size_t at) {
    std::uint64_t const place = there + at * sizeof(T);
    if (out)
      read_memory(first_, place, std::as_writable_bytes(host));
    else
      write_memory(first_, place, std::as_writable_bytes(host));
  };
  if (!is_staged()) return move(here, 0);
  std::size_t const half = staging_.size() / 2, parts = (here.size() + half - 1) / half;
  std::array copied{Event(stream_.device()), Event(stream_.device())};
  auto const device = [&](std::size_t part) {
    return here.subspan(part * half, std::min(half, here.size() - part * half));
  };
  auto const host = [&](std::size_t part) {
    return staging_.span().subspan(part % 2 * half, device(part).size());
  };
  auto const copy = [&](std::size_t part) {
    if (out)
      copy_async(device(part), std::span<T const>(host(part)), stream_);
    else
      copy_async(host(part), std::span<T const>(device(part)), stream_);
    stream_.record(copied[part % 2]);
  };
  if (!out) copy(0);
  for (std::size_t part = 0; part < parts; ++part) {
    if (!out && part + 1 < parts) copy(part + 1);
    if (!out || part > 1) copied[part % 2].synchronize();
    move(host(part), part * half);
    if (out) copy(part);
  }
  stream_.synchronize();
}

/// Between `whole` of rank 0 and `here` of another one, each of which has its own alone. In parts
/// that fit the pinned memory, of which all have as much.
template <class T>
void RankSlabs<T>::send_slab(std::span<T> here, std::span<T> whole, int rank, bool out) {
  bool const is_first = ranks_.is_first();
  std::size_t const size = is_first ? whole.size() : here.size();
  std::size_t const part = is_staged() ? staging_.size() : size;
  for (std::size_t at = 0; at < size; at += part) {
    std::size_t const some = std::min(part, size - at);
    if (is_first) {
      RankMessage const message{rank, 0, std::as_writable_bytes(whole.subspan(at, some))};
      ranks_.exchange(std::span(&message, out ? 1 : 0), std::span(&message, out ? 0 : 1));
      continue;
    }
    auto const device = here.subspan(at, some);
    auto const host = is_staged() ? staging_.span().first(some) : device;
    RankMessage const message{0, 0, std::as_writable_bytes(host)};
    if (is_staged() && !out) copy_async(host, std::span<T const>(device), stream_);
    stream_.synchronize();
    ranks_.exchange(std::span(&message, out ? 0 : 1), std::span(&message, out ? 1 : 0));
    if (is_staged() && out) copy_async(device, std::span<T const>(host), stream_);
    stream_.synchronize();
  }
}

template class RankSlabs<float>;
template class RankSlabs<double>;

}  // namespace gridstride

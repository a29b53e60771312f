#include "model/rank_slabs.hpp"

#include <algorithm>
#include <array>

#include "model/bricks.hpp"

namespace gridstride {

namespace {

constexpr std::size_t least_bytes = 16 << 20;  // of what goes at once where all is moved

Grid whole_grid(SweepPlan const& plan) {
  Grid grid = plan.shape.grid;
  if (plan.strips.count > 1)
    grid.points[static_cast<std::size_t>(grid.dims - 2)] = plan.strips.points;
  return grid;
}

}  // namespace

template <class T>
RankSlabs<T>::RankSlabs(Stream const& stream, SweepPlan const& plan, Ranks& ranks)
    : stream_(stream),
      plan_(plan),
      ranks_(ranks),
      whole_(whole_grid(plan)),
      line_(plan.strips.count > 1 ? plan.shape.plane_values() / plan.strips.held.count() : 0) {
  find_reached();
  if (stream.device().backend() == Backend::cpu) return;
  auto const worth = static_cast<std::int64_t>(least_bytes / plan.shape.plane_bytes());
  staging_ = Buffer<T>(stream_, MemorySpace::pinned, values(std::max<std::int64_t>(worth, 1)));
}

/// Which ranks reach the memory of the first one.
template <class T>
void RankSlabs<T>::find_reached() {
  first_ = own_process();
  ranks_.broadcast(std::as_writable_bytes(std::span(&first_, 1)));
  if (!ranks_.is_first()) {
    reaches_first_ = ranks_.is_here(0) && reaches(first_);
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
    for (Array const& array : arrays)
      if (plan_.strips.count > 1)
        take_strip_from_first(array, out);
      else
        take_from_first(array.own, array.place + before, out);
    ranks_.exchange(std::span(&first, 1), {});
  } else {
    ranks_.exchange(reached, {});
    for (Array const& array : arrays)
      if (plan_.strips.count > 1)
        move_own_strip(array, out);
      else
        move_own(array, out);
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

template <class T>
void RankSlabs<T>::move_own_strip(Array const& array, bool out) {
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (!ranks_.is_first() && rank != ranks_.rank()) continue;
    if (std::ranges::find(reached_by_, rank) != reached_by_.end()) continue;
    if (rank == 0)
      copy_brick(stream_, whole_, array.whole, brick_of(0), strip_in(array.own),
                 plan_.shape.plane_values(), out);
    else
      send_strip(array, rank, out);
  }
}

/// Between some of the rank's own planes and memory of the host where its strip of them lies together:
/// `out` of the device.
template <class T>
void RankSlabs<T>::copy_strip(T* own, T* host, Planes const& planes, std::int64_t width, bool out) {
  std::size_t const pitch = plan_.shape.plane_bytes();
  std::size_t const bytes = static_cast<std::size_t>(width) * sizeof(T);
  auto const rows = static_cast<std::size_t>(planes.count());
  auto* const here = reinterpret_cast<std::byte*>(own + planes.lower * plan_.shape.plane_values());
  auto* const there = reinterpret_cast<std::byte*>(host);
  copy_rows(stream_, out ? CopiedRows{here, pitch, there, bytes, bytes, rows}
                         : CopiedRows{there, bytes, here, pitch, bytes, rows});
  stream_.synchronize();
}

/// As `take_from_first`: plane by plane, on the host to where they belong.
template <class T>
void RankSlabs<T>::take_strip_from_first(Array const& array, bool out) {
  auto const [planes, across] = brick_of(ranks_.rank());
  std::int64_t const width = across.count() * line_;
  std::int64_t const some = is_staged() ? static_cast<std::int64_t>(staging_.size()) / width
                                        : std::max<std::int64_t>(planes.count(), 1);
  T* const own = strip_in(array.own);
  for (std::int64_t at = 0; at < planes.count(); at += some) {
    Planes const part{at, std::min(at + some, planes.count())};
    if (is_staged() && !out) copy_strip(own, staging_.data(), part, width, true);
    for (std::int64_t plane = part.lower; plane < part.upper; ++plane) {
      std::int64_t const value =
          (planes.lower + plane) * whole_.face_size(whole_.dims - 1) + across.lower * line_;
      std::uint64_t const place = array.place + static_cast<std::uint64_t>(value) * sizeof(T);
      T* const host = is_staged() ? staging_.data() + (plane - at) * width
                                  : own + plane * plan_.shape.plane_values();
      auto const bytes = std::as_writable_bytes(std::span(host, static_cast<std::size_t>(width)));
      if (out)
        read_memory(first_, place, bytes);
      else
        write_memory(first_, place, bytes);
    }
    if (is_staged() && out) copy_strip(own, staging_.data(), part, width, false);
  }
}

/// As `send_slab`: both put some planes of the strip side by side.
template <class T>
void RankSlabs<T>::send_strip(Array const& array, int rank, bool out) {
  bool const is_first = ranks_.is_first();
  auto const [planes, across] = brick_of(rank);
  std::int64_t const width = across.count() * line_;
  std::int64_t const some = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(least_bytes / sizeof(T)) / width, 1, planes.count());
  Buffer<T> box(stream_, MemorySpace::pinned, static_cast<std::size_t>(some * width));
  for (std::int64_t at = 0; at < planes.count(); at += some) {
    Planes const part{at, std::min(at + some, planes.count())};
    auto const bytes =
        std::as_writable_bytes(box.span().first(static_cast<std::size_t>(part.count() * width)));
    RankMessage const message{is_first ? rank : 0, 0, bytes};
    Brick const there{{planes.lower + part.lower, planes.lower + part.upper}, across};
    auto const copy = [&](bool from_arrays) {
      if (!is_first) return copy_strip(strip_in(array.own), box.data(), part, width, from_arrays);
      copy_brick(stream_, whole_, array.whole, there, box.data(), width, from_arrays);
      stream_.synchronize();
    };
    if (is_first == out) {
      copy(true);
      ranks_.exchange(std::span(&message, 1), {});
    } else {
      ranks_.exchange({}, std::span(&message, 1));
      copy(false);
    }
  }
}

template class RankSlabs<float>;
template class RankSlabs<double>;

}  // namespace gridstride

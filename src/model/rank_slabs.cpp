#include "model/rank_slabs.hpp"

#include <algorithm>
#include <array>

#include "model/bricks.hpp"

namespace gridstride {

namespace {

constexpr std::size_t least_bytes = 16 << 20;  // of what goes at once where all is moved

/// Some planes of a brick.
Brick planes_of(Brick brick, Planes const& some) {
  std::int64_t const first = brick.planes.lower;
  brick.planes = {first + some.lower, first + some.upper};
  return brick;
}

}  // namespace

template <class T>
RankSlabs<T>::RankSlabs(Stream const& stream, SweepPlan const& plan, Ranks& ranks)
    : stream_(stream), plan_(plan), ranks_(ranks), whole_(whole_grid(plan)) {
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
      if (plan_.has_strips())
        take_brick_from_first(array, out);
      else
        take_from_first(array.own, array.place + before, out);
    ranks_.exchange(std::span(&first, 1), {});
  } else {
    ranks_.exchange(reached, {});
    for (Array const& array : arrays)
      if (plan_.has_strips())
        move_own_brick(array, out);
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
T* RankSlabs<T>::brick_in(std::span<T> own) const {
  return own.data() + place_of_brick(plan_);
}

template <class T>
void RankSlabs<T>::move_own_brick(Array const& array, bool out) {
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (!ranks_.is_first() && rank != ranks_.rank()) continue;
    if (std::ranges::find(reached_by_, rank) != reached_by_.end()) continue;
    if (rank == 0)
      copy_brick(stream_, whole_, array.whole, plan_.brick_of(0), brick_in(array.own),
                 plan_.shape.grid.points, out);
    else
      send_brick(array, rank, out);
  }
}

/// Between so many points of the rank's own and memory of the host where they lie together: `out` of the
/// device.
template <class T>
void RankSlabs<T>::copy_own(T* own, T* host, std::array<std::int64_t, 3> const& points, bool out) {
  auto const rows = block_rows(points, plan_.shape.grid.points, points);
  copy_rows(stream_, copied_rows(rows, own, host, !out));
  stream_.synchronize();
}

/// As `take_from_first`: row by row, on the host to where they belong.
template <class T>
void RankSlabs<T>::take_brick_from_first(Array const& array, bool out) {
  Brick const brick = plan_.brick_of(ranks_.rank());
  std::int64_t const planes = brick.planes.count();
  std::int64_t const some =
      is_staged() ? static_cast<std::int64_t>(staging_.size()) / plane_values(whole_, brick.strips)
                  : std::max<std::int64_t>(planes, 1);
  for (std::int64_t at = 0; at < planes; at += some) {
    Brick const part = planes_of(brick, {at, std::min(at + some, planes)});
    T* const own = brick_in(array.own) + at * plan_.shape.plane_values();
    if (!is_staged()) {
      move_rows(own, plan_.shape.grid.points, part, array.place, out);
      continue;
    }
    auto const points = points_of(whole_, part);
    if (!out) copy_own(own, staging_.data(), points, true);
    move_rows(staging_.data(), points, part, array.place, out);
    if (out) copy_own(own, staging_.data(), points, false);
  }
}

/// Between a brick of the array at `place` of the first rank, and an array of so many points on the host.
template <class T>
void RankSlabs<T>::move_rows(T* here, std::array<std::int64_t, 3> const& points, Brick const& brick,
                             std::uint64_t place, bool out) {
  auto const extents = extents_of(whole_, brick);
  std::int64_t const first =
      place_in(whole_.points, {extents[0].lower, extents[1].lower, extents[2].lower});
  auto const rows = block_rows(points_of(whole_, brick), whole_.points, points);
  auto const bytes = [](std::int64_t values) {
    return static_cast<std::size_t>(values) * sizeof(T);
  };
  for (std::int64_t plane = 0; plane < rows.planes; ++plane) {
    MemoryRows const some{place + bytes(first + plane * rows.plane[0]),
                          bytes(rows.row[0]),
                          reinterpret_cast<std::byte*>(here + plane * rows.plane[1]),
                          bytes(rows.row[1]),
                          bytes(rows.width),
                          static_cast<std::size_t>(rows.rows)};
    if (out)
      read_rows(first_, some);
    else
      write_rows(first_, some);
  }
}

/// As `send_slab`: both put some planes of the brick side by side.
template <class T>
void RankSlabs<T>::send_brick(Array const& array, int rank, bool out) {
  bool const is_first = ranks_.is_first();
  Brick const brick = plan_.brick_of(rank);
  std::int64_t const planes = brick.planes.count(), plane = plane_values(whole_, brick.strips);
  std::int64_t const some = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(least_bytes / sizeof(T)) / plane, 1, planes);
  Buffer<T> box(stream_, MemorySpace::pinned, static_cast<std::size_t>(some * plane));
  for (std::int64_t at = 0; at < planes; at += some) {
    Brick const part = planes_of(brick, {at, std::min(at + some, planes)});
    auto const points = points_of(whole_, part);
    auto const size = static_cast<std::size_t>(part.planes.count() * plane);
    RankMessage const message{is_first ? rank : 0, 0,
                              std::as_writable_bytes(box.span().first(size))};
    auto const copy = [&](bool from_arrays) {
      if (!is_first)
        return copy_own(brick_in(array.own) + at * plan_.shape.plane_values(), box.data(), points,
                        from_arrays);
      copy_brick(stream_, whole_, array.whole, part, box.data(), points, from_arrays);
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

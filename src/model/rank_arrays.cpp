#include "model/rank_arrays.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "core/pipeline.hpp"
#include "model/bricks.hpp"

namespace gridstride {

template <class T>
RankArrays<T>::RankArrays(Stream const& stream, SweepPlan const& plan, Ranks& ranks)
    : stream_(stream),
      host_(Device::open(Backend::cpu)),
      plan_(plan),
      ranks_(ranks),
      whole_(whole_grid(plan)) {}

template <class T>
void RankArrays<T>::look_at(Source const& source, Owners owners, Use const& use) {
  std::vector<Mixed> alone, mixed;
  for (std::size_t number = 0; number < source.count; ++number) {
    std::size_t const together = source.together(number);
    auto const cuts = cuts_of(source, together);
    for (std::size_t slab = 0; slab + 1 < cuts.size(); ++slab) {
      std::int64_t const first = cuts[slab], last = cuts[slab + 1];
      auto parts = parts_of(first, last);
      int const owner = owners == Owners::first ? 0 : parts[(slab + number) % parts.size()];
      if (parts.size() > 1 || parts.front() != owner || plan_.has_strips())
        mixed.push_back({number, together, first, last, std::move(parts), owner});
      else if (owner == ranks_.rank() && !(source.skips && source.skips(number)))
        alone.push_back({number, together, first, last, std::move(parts), owner});
    }
  }
  std::mutex mutex;
  std::exception_ptr failure;
  Use const attempt = [&](Slab const& slab) {
    try {
      if (std::scoped_lock const lock(mutex); failure) return;
      use(slab);
    } catch (...) {
      std::scoped_lock const lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  stream_.synchronize();
  look_at_alone(source, alone, attempt);
  for (auto const& round : in_rounds(mixed, owners)) look_at_mixed(source, round, attempt);
  if (failure) std::rethrow_exception(failure);
}

template <class T>
std::vector<std::int64_t> RankArrays<T>::cuts_of(Source const& source, std::size_t together) const {
  if (!source.cuts.empty()) return {source.cuts.begin(), source.cuts.end()};
  std::vector<std::int64_t> cuts;
  for (std::int64_t first = 0; first < size(); first += slab_points(together))
    cuts.push_back(first);
  cuts.push_back(size());
  return cuts;
}

/// The ranks that have some of these values.
template <class T>
std::vector<int> RankArrays<T>::parts_of(std::int64_t first, std::int64_t last) const {
  std::vector<int> parts;
  auto const boxes = boxes_of(whole_, first, last);
  std::int64_t const plane =
      whole_.size() / whole_.points[static_cast<std::size_t>(whole_.dims - 1)];
  Planes const planes{first / plane, (last + plane - 1) / plane};
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    Brick const brick = plan_.brick_of(rank);
    if (brick.planes.within(planes).count() == 0) continue;
    if (!boxes_within(boxes, whole_, brick).empty()) parts.push_back(rank);
  }
  return parts;
}

template <class T>
auto RankArrays<T>::alone(std::size_t together) const -> Points {
  auto const slabs = alone(cuts_of({}, together));
  return slabs.empty() ? Points{0, 0} : Points{slabs.front().first, slabs.back().last};
}

template <class T>
auto RankArrays<T>::alone(std::span<std::int64_t const> cuts) const -> std::vector<Points> {
  std::vector<Points> slabs;
  for (std::size_t slab = 0; slab + 1 < cuts.size() && !plan_.has_strips(); ++slab)
    if (parts_of(cuts[slab], cuts[slab + 1]) == std::vector{ranks_.rank()})
      slabs.push_back({cuts[slab], cuts[slab + 1]});
  return slabs;
}

template <class T>
std::span<T const> RankArrays<T>::own_values(std::span<T const> own, Points const& points) const {
  std::int64_t const before = plan_.owned_by(ranks_.rank()).lower * plan_.shape.plane_values();
  return own.subspan(static_cast<std::size_t>(points.first - before),
                     static_cast<std::size_t>(points.last - points.first));
}

template <class T>
std::vector<PointBox> RankArrays<T>::boxes_of_rank(Mixed const& slab, int rank) const {
  return boxes_within(boxes_of(whole_, slab.first, slab.last), whole_, plan_.brick_of(rank));
}

template <class T>
std::int64_t RankArrays<T>::values_of_rank(Mixed const& slab, int rank) const {
  std::int64_t points = 0;
  for (PointBox const& box : boxes_of_rank(slab, rank)) points += gridstride::size_of(box);
  return slab.values(points);
}

namespace {

/// Arrays of so many values each, that lie one behind the other.
template <class T>
std::vector<std::span<T>> one_by_one(std::span<T> all, std::int64_t each) {
  std::vector<std::span<T>> arrays;
  auto const size = static_cast<std::size_t>(each);
  for (; !all.empty(); all = all.subspan(size)) arrays.push_back(all.first(size));
  return arrays;
}

}  // namespace

/// On the host where they lie.
template <class T>
void RankArrays<T>::look_at_alone(Source const& source, std::span<Mixed const> slabs,
                                  Use const& use) {
  bool const is_there = stream_.backend() == Backend::cpu && source.make == nullptr;
  auto const count = std::ssize(slabs);
  // What makes values shares that among all threads.
  int const lanes = source.make != nullptr ? 1 : Pipeline::lanes_for(LaneUse::files, count);
  Pipeline pipeline(stream_, std::min(most_lanes, lanes));
  std::int64_t slab_room = 0;
  for (Mixed const& one : slabs) slab_room = std::max(slab_room, one.values(one.last - one.first));
  std::vector<Buffer<T>> pinned;
  for (Lane& lane : pipeline.lanes())
    pinned.emplace_back(lane.stream(), MemorySpace::pinned,
                        is_there || count == 0 ? 0 : static_cast<std::size_t>(slab_room));
  auto const slab = [&](std::int64_t n) -> Mixed const& {
    return slabs[static_cast<std::size_t>(n)];
  };
  auto const own = [&](Mixed const& of) {
    Together values;
    for (auto const& array : source.own[of.number])
      values.push_back(own_values(array, {of.first, of.last}));
    return values;
  };
  auto const copied = [&](Lane& lane, std::int64_t n) {
    auto const points = slab(n).last - slab(n).first;
    auto const values = static_cast<std::size_t>(slab(n).values(points));
    return one_by_one(pinned[lane.index()].span().first(values), points);
  };
  auto const copy_out = [&](Lane& lane, std::int64_t n) {
    auto const targets = copied(lane, n);
    auto const values = own(slab(n));
    for (std::size_t i = 0; i < values.size(); ++i)
      copy_async(targets[i], values[i], lane.stream());
  };
  auto const look = [&](Lane& lane, std::int64_t n) {
    if (is_there) return use({slab(n).number, slab(n).first, own(slab(n))});
    auto const values = copied(lane, n);
    if (source.make != nullptr) {
      make(source, slab(n), values[0].data());
      stream_.synchronize();
    }
    use({slab(n).number, slab(n).first, {values.begin(), values.end()}});
  };
  std::vector<PipelineStage> stages;
  if (!is_there && source.make == nullptr)
    stages.push_back({"copy out", StageKind::queued, copy_out});
  stages.push_back({"write", StageKind::host, look});
  pipeline.run(count, stages);
}

/// Of strips what lies in a slab comes together.
template <class T>
void RankArrays<T>::look_at_own(Together const& own,
                                std::function<void(Together const&)> const& use) {
  if (!plan_.has_strips()) return use(own);
  auto const cuts = cuts_of({}, own.size());
  for (std::size_t slab = 0; slab + 1 < cuts.size(); ++slab) {
    Mixed const some{0, own.size(), cuts[slab], cuts[slab + 1], {}, ranks_.rank()};
    std::int64_t const values = values_of_rank(some, ranks_.rank());
    if (values == 0) continue;
    auto const packed = room(sent_, values);
    T* end = packed.data();
    for (auto const& array : own)
      end = move_own(const_cast<T*>(array.data()), boxes_of_rank(some, ranks_.rank()), end, false);
    stream_.synchronize();
    auto const arrays = one_by_one(packed, values / std::ssize(own));
    use({arrays.begin(), arrays.end()});
    stream_.synchronize();  // what is queued of it
  }
}

/// What this rank has of a slab comes together.
template <class T>
void RankArrays<T>::make(Source const& source, Mixed const& slab, T* packed) {
  auto const boxes = boxes_of_rank(slab, ranks_.rank());
  if (source.make == nullptr) {
    for (auto const& array : source.own[slab.number])
      packed = move_own(const_cast<T*>(array.data()), boxes, packed, false);
    return;
  }
  for (PointBox const& box : boxes) {
    (*source.make)(slab.number, box, packed);
    packed += gridstride::size_of(box);
  }
}

/// Of ranks that have strips of the same planes each round takes as many slabs.
template <class T>
auto RankArrays<T>::in_rounds(std::vector<Mixed> const& all, Owners owners) const
    -> std::vector<std::vector<Mixed>> {
  std::map<std::pair<std::size_t, int>, std::int64_t> so_far;  // by number and those ranks
  std::vector<std::vector<Mixed>> rounds;
  for (Mixed const& slab : all) {
    bool const by_all = owners == Owners::all;
    auto& number = so_far[{by_all ? slab.number : 0, by_all ? slab.parts.front() : 0}];
    std::int64_t const ranks = by_all ? std::max(plan_.parts_of_slab(), 1) : 1;
    auto const round = static_cast<std::size_t>(number++ / (slabs_at_once * ranks));
    if (round >= rounds.size()) rounds.resize(round + 1);
    rounds[round].push_back(slab);
  }
  return rounds;
}

/// What each has goes to who has the whole, in the same order on both sides.
template <class T>
void RankArrays<T>::look_at_mixed(Source const& source, std::span<Mixed const> round,
                                  Use const& use) {
  int const me = ranks_.rank();
  std::int64_t to_send = 0, to_come = 0, to_have = 0;
  for (Mixed const& slab : round) {
    to_send += values_of_rank(slab, me);
    if (slab.owner != me) continue;
    std::int64_t const all = slab.values(slab.last - slab.first);
    to_come += all - values_of_rank(slab, me);
    to_have += all;
  }
  auto sent = room(sent_, to_send), came = room(came_, to_come), have = room(slabs_, to_have);
  std::vector<RankMessage> sends, receipts;
  struct Piece {
    Mixed const* slab;
    int rank;
    T* values;
    std::vector<std::span<T>> whole;
  };
  std::vector<Piece> pieces;
  std::vector<Slab> slabs;
  auto const take = [](std::span<T>& from, std::int64_t values) {
    auto const part = from.first(static_cast<std::size_t>(values));
    from = from.subspan(part.size());
    return part;
  };
  for (Mixed const& slab : round) {
    bool const is_mine = slab.owner == me;
    std::int64_t const points = slab.last - slab.first;
    auto const whole = one_by_one(take(have, is_mine ? slab.values(points) : 0), points);
    if (is_mine) slabs.push_back({slab.number, slab.first, {whole.begin(), whole.end()}});
    for (int const rank : slab.parts) {
      auto const part = rank == me ? take(sent, values_of_rank(slab, me))
                        : is_mine  ? take(came, values_of_rank(slab, rank))
                                   : std::span<T>();
      if (rank == me) make(source, slab, part.data());
      if (is_mine) pieces.push_back({&slab, rank, part.data(), whole});
      if (rank == me && !is_mine) sends.push_back({slab.owner, 0, std::as_writable_bytes(part)});
      if (rank != me && is_mine) receipts.push_back({rank, 0, std::as_writable_bytes(part)});
    }
  }
  stream_.synchronize();
  ranks_.exchange(sends, receipts);
  for (auto const& [slab, rank, values, whole] : pieces)
    move_slabs(whole, slab->first, boxes_of_rank(*slab, rank), values, true);
  Pipeline pipeline(host_,
                    std::min(most_lanes, Pipeline::lanes_for(LaneUse::files, std::ssize(slabs))));
  pipeline.run(std::ssize(slabs), {{"write", StageKind::host, [&](Lane&, std::int64_t n) {
                                      use(slabs[static_cast<std::size_t>(n)]);
                                    }}});
}

template <class T>
void RankArrays<T>::hand_out(Slabs own, Get const& get) {
  int const me = ranks_.rank();
  std::int64_t const points = slab_points(own.size());
  for (std::int64_t first = 0; first < size(); first += points) {
    std::int64_t const last = std::min(first + points, size());
    Mixed const slab{0, own.size(), first, last, parts_of(first, last), 0};
    std::vector<RankMessage> sent, received;
    std::span<T> here = room(came_, values_of_rank(slab, me));
    if (ranks_.is_first()) {
      std::int64_t const all = slab.values(last - first);
      auto const whole = one_by_one(room(slabs_, all), last - first);
      get(first, whole);
      std::span<T> rest = room(sent_, all - std::ssize(here));
      for (int const rank : slab.parts) {
        auto const size = static_cast<std::size_t>(values_of_rank(slab, rank));
        auto const part = rank == me ? here : rest.first(size);
        move_slabs(whole, first, boxes_of_rank(slab, rank), part.data(), false);
        if (rank == me) continue;
        sent.push_back({rank, 0, std::as_writable_bytes(part)});
        rest = rest.subspan(size);
      }
    } else if (!here.empty()) {
      received.push_back({0, 0, std::as_writable_bytes(here)});
    }
    ranks_.exchange(sent, received);
    T* packed = here.data();
    for (auto const& array : own)
      packed = move_own(array.data(), boxes_of_rank(slab, me), packed, true);
    stream_.synchronize();
  }
}

/// Queues that the values of some of the rank's points come together, or `back`. Returns what follows.
template <class T>
T* RankArrays<T>::move_own(T* own, std::vector<PointBox> const& boxes, T* packed, bool back) {
  for (PointBox const& box : boxes) {
    auto const rows = block_rows(points_of(box), plan_.shape.grid.points, points_of(box));
    T* const there = own + place_of_box(plan_, ranks_.rank(), box);
    copy_rows(stream_, copied_rows(rows, there, packed, back));
    packed += gridstride::size_of(box);
  }
  return packed;
}

/// The same of values of slabs that begin with the same point.
template <class T>
void RankArrays<T>::move_slabs(Slabs slabs, std::int64_t first, std::vector<PointBox> const& boxes,
                               T* packed, bool back) {
  for (auto const& values : slabs)
    for (PointBox const& box : boxes) {
      auto const rows = block_rows(points_of(box), whole_.points, points_of(box));
      T* const there = values.data() + (place_in(whole_.points, begin_of(box)) - first);
      copy_rows(host_, copied_rows(rows, there, packed, back));
      packed += gridstride::size_of(box);
    }
}

/// It grows where more is needed.
template <class T>
std::span<T> RankArrays<T>::room(Buffer<T>& buffer, std::int64_t values) {
  auto const size = static_cast<std::size_t>(values);
  if (size > buffer.size()) {
    buffer = {};
    buffer = {stream_, MemorySpace::pinned, size};
  }
  return buffer.span().first(size);
}

template class RankArrays<float>;
template class RankArrays<double>;

}  // namespace gridstride

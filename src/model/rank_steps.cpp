#include "model/rank_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/timer.hpp"

namespace gridstride {

namespace {

template <class T>
std::span<std::byte> bytes_of(std::span<T> values) {
  return std::as_writable_bytes(values);
}

}  // namespace

template <class T>
RankSteps<T>::RankSteps(Stream const& stream, SweepPlan const& plan, NextPass next, Ranks& ranks)
    : WindowSteps<T>(plan, std::move(next)),
      stream_(stream),
      ranks_(ranks),
      own_(plan.owned_by(ranks.rank())) {
  if (plan.ranks != ranks.count())
    throw std::invalid_argument("a plan for another number of ranks than there are");
  if (plan.shape.planes() / plan.ranks < plan.rank_halo())
    throw std::invalid_argument("halos wider than a rank's own");
  bool const is_last = ranks.rank() + 1 == plan.ranks, wraps = plan.shape.periodic;
  int const last = plan.ranks - 1;
  beside_ = {ranks.is_first() ? (wraps ? last : -1) : ranks.rank() - 1,
             is_last ? (wraps ? 0 : -1) : ranks.rank() + 1};
  std::int64_t const planes = own_.count() + 2 * plan.rank_halo();
  for (int i = 0; i < plan.shape.arrays + plan.shape.made; ++i) {
    buffers_.emplace_back(stream_, MemorySpace::device, values(planes));
    (i < plan.shape.arrays ? state_ : spare_).push_back(static_cast<std::size_t>(i));
  }
  arrays_.resize(static_cast<std::size_t>(plan.shape.arrays));
  if (stream.device().backend() == Backend::cpu) return;
  constexpr std::size_t least_bytes = 8 << 20;  // of what goes at once where all is moved
  std::int64_t const halos = 4 * plan.shape.arrays * plan.rank_halo();
  auto const worth = static_cast<std::int64_t>(least_bytes / plan.shape.plane_bytes());
  staging_ = Buffer<T>(stream_, MemorySpace::pinned, values(std::max(halos, worth)));
}

template <class T>
std::span<T> RankSteps<T>::planes_of(std::size_t buffer, Planes const& planes) {
  std::int64_t const place = planes.lower - own_.lower + plan_.rank_halo();
  return buffers_[buffer].span().subspan(values(place), values(planes.count()));
}

template <class T>
auto RankSteps<T>::order_for(std::span<T* const> arrays, std::int64_t steps) -> Order {
  Order order{steps};
  if (!ranks_.is_first()) return order;
  bool const same = std::ranges::equal(arrays, arrays_);
  bool const swapped =
      !same && std::equal(arrays.rbegin(), arrays.rend(), arrays_.begin(), arrays_.end());
  order.renewed = renewed_ || (!same && !swapped);
  order.swapped = swapped && !order.renewed;
  if (order.renewed && !settled_)
    throw std::logic_error("arrays with other values before they have settled");
  return order;
}

template <class T>
void RankSteps<T>::run(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) {
  if (std::ssize(arrays) != plan_.shape.arrays || arrays.size() > Window<T>::most_arrays)
    throw std::invalid_argument("steps of another number of arrays than the plan's");
  auto order = order_for(arrays, steps);
  ranks_.broadcast(bytes_of(std::span(&order, 1)));
  if (order.steps != steps)
    throw std::runtime_error(fmt::format("rank {} is to make {} steps where the first one makes {}",
                                         ranks_.rank(), steps, order.steps));
  std::ranges::copy(arrays, arrays_.begin());
  if (order.swapped != 0) std::ranges::reverse(state_);
  if (order.renewed != 0) move_slabs(true);
  renewed_ = false;
  while (steps > 0) {
    std::int64_t const trips = (steps + plan_.trip_steps - 1) / plan_.trip_steps;
    std::int64_t const most = plan_.pass_steps() * ((steps + trips * plan_.pass_steps() - 1) /
                                                    (trips * plan_.pass_steps()));
    std::int64_t const now = std::min({steps, most, plan_.trip_steps});
    make_trip(now, pass);
    steps -= now;
    settled_ = false;
  }
}

template <class T>
void RankSteps<T>::make_trip(std::int64_t steps, Pass const& pass) {
  Timer timer;
  exchange_halos(steps * plan_.shape.reach);
  report_.seconds_exchange += timer.seconds();
  timer.restart();
  for (std::int64_t left = steps; left > 0;) {
    int const some = next_(left);
    make_pass(left * plan_.shape.reach, some, pass);
    left -= some;
  }
  report_.seconds_steps += timer.seconds();
  ++report_.trips;
  report_.steps += steps;
}

/// `halo` planes on each side are right before it.
template <class T>
void RankSteps<T>::make_pass(std::int64_t halo, int steps, Pass const& queue) {
  auto const& shape = plan_.shape;
  Planes const planes{own_.lower - (beside_[0] < 0 ? 0 : halo),
                      own_.upper + (beside_[1] < 0 ? 0 : halo)};
  Window<T> window{};
  window.grid = shape.grid;
  window.grid.points[static_cast<std::size_t>(shape.grid.dims - 1)] = planes.count();
  window.first = planes.lower;
  window.cut = {beside_[0] >= 0, beside_[1] >= 0};
  window.steps = steps;
  for (std::size_t i = 0; i < state_.size(); ++i)
    window.in[i] = planes_of(state_[i], planes).data();
  for (std::size_t i = 0; i < spare_.size(); ++i)
    window.out[i] = planes_of(spare_[i], planes).data();
  queue(stream_, window);
  // What was made comes first, then what was read, as far as the state goes.
  auto all = spare_;
  all.insert(all.end(), state_.begin(), state_.end());
  auto const end = all.begin() + std::ssize(state_);
  state_.assign(all.begin(), end);
  spare_.assign(end, all.end());
}

/// Each rank's outermost planes become its neighbours' halos. The tags tell the ways apart, since
/// two ranks around a periodic axis are neighbours on both sides.
template <class T>
void RankSteps<T>::exchange_halos(std::int64_t halo) {
  std::vector<RankMessage> sent, received;
  std::vector<std::pair<std::span<T>, std::span<T>>> staged_out, staged_in;  // device, host
  std::size_t used = 0;
  auto const add = [&](bool out, int other, int tag, std::span<T> planes) {
    auto here = planes;
    if (is_staged()) {
      here = staging_.span().subspan(used, planes.size());
      used += planes.size();
      (out ? staged_out : staged_in).emplace_back(planes, here);
    }
    (out ? sent : received).push_back({other, tag, bytes_of(here)});
  };
  for (std::size_t i = 0; i < state_.size(); ++i) {
    int const down = 2 * static_cast<int>(i), up = down + 1;
    if (beside_[0] >= 0) {
      add(true, beside_[0], down, planes_of(state_[i], {own_.lower, own_.lower + halo}));
      add(false, beside_[0], up, planes_of(state_[i], {own_.lower - halo, own_.lower}));
    }
    if (beside_[1] >= 0) {
      add(true, beside_[1], up, planes_of(state_[i], {own_.upper - halo, own_.upper}));
      add(false, beside_[1], down, planes_of(state_[i], {own_.upper, own_.upper + halo}));
    }
  }
  for (auto const& [device, host] : staged_out)
    copy_async(host, std::span<T const>(device), stream_);
  stream_.synchronize();
  ranks_.exchange(sent, received);
  for (auto const& [device, host] : staged_in)
    copy_async(device, std::span<T const>(host), stream_);
}

/// From the arrays of the whole grid to the ranks, or the other way.
template <class T>
void RankSteps<T>::move_slabs(bool out) {
  stream_.synchronize();
  for (std::size_t i = 0; i < state_.size(); ++i)
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (!ranks_.is_first() && rank != ranks_.rank()) continue;
      Planes const planes = plan_.owned_by(rank);
      std::span<T> const here =
          rank == ranks_.rank() ? planes_of(state_[i], planes) : std::span<T>();
      std::span<T> const whole = ranks_.is_first() ? std::span<T>(arrays_[i] + values(planes.lower),
                                                                  values(planes.count()))
                                                   : std::span<T>();
      if (rank != 0)
        send_slab(here, whole, rank, out);
      else if (out)
        copy_async(here, std::span<T const>(whole), stream_);
      else
        copy_async(whole, std::span<T const>(here), stream_);
    }
  stream_.synchronize();
}

/// Between `whole` of rank 0 and `here` of another one, each of which has its own alone. In parts
/// that fit the pinned memory, of which all have as much.
template <class T>
void RankSteps<T>::send_slab(std::span<T> here, std::span<T> whole, int rank, bool out) {
  bool const is_first = ranks_.is_first();
  std::size_t const size = is_first ? whole.size() : here.size();
  std::size_t const part = is_staged() ? staging_.size() : size;
  for (std::size_t at = 0; at < size; at += part) {
    std::size_t const some = std::min(part, size - at);
    if (is_first) {
      RankMessage const message{rank, 0, bytes_of(whole.subspan(at, some))};
      ranks_.exchange(std::span(&message, out ? 1 : 0), std::span(&message, out ? 0 : 1));
      continue;
    }
    auto const device = here.subspan(at, some);
    auto const host = is_staged() ? staging_.span().first(some) : device;
    RankMessage const message{0, 0, bytes_of(host)};
    if (is_staged() && !out) copy_async(host, std::span<T const>(device), stream_);
    stream_.synchronize();
    ranks_.exchange(std::span(&message, out ? 0 : 1), std::span(&message, out ? 1 : 0));
    if (is_staged() && out) copy_async(device, std::span<T const>(host), stream_);
    stream_.synchronize();
  }
}

template <class T>
void RankSteps<T>::settle() {
  if (settled_) return;
  stream_.synchronize();
  Timer const timer;
  move_slabs(false);
  settled_ = true;
  report_.seconds_gather += timer.seconds();
}

template <class T>
std::vector<NamedText> RankSteps<T>::texts() {
  return {{"ranks", fmt::format("{}, of {} planes up to {} each, {}", plan_.ranks,
                                plan_.shape.planes(), plan_.slab_planes, ranks_.transport())},
          {"exchanges", fmt::format("{} of {} planes a side, for up to {} steps each",
                                    report_.trips, plan_.rank_halo(), plan_.trip_steps)},
          {"rank 0",
           fmt::format("{:.3g} s of exchanges, {:.3g} s of steps, {:.3g} s of gathering",
                       report_.seconds_exchange, report_.seconds_steps, report_.seconds_gather)}};
}

template class RankSteps<float>;
template class RankSteps<double>;

}  // namespace gridstride

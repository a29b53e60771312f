#include "model/rank_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/support/gpu_links.hpp"

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
      queued_(stream.device()),
      ranks_(ranks),
      own_(plan.owned_by(ranks.rank())),
      lane_of_halos_(stream, plan.shape.looked_at) {
  if (plan.ranks != ranks.count())
    throw std::invalid_argument("a plan for another number of ranks than there are");
  if (plan.slabs() > 1 && plan.least_planes() < plan.rank_halo())
    throw std::invalid_argument("halos wider than a rank's own");
  beside_ = plan.beside(ranks.rank());
  std::int64_t const planes = own_.count() + 2 * plan.rank_halo();
  for (int i = 0; i < plan.shape.kept(); ++i) {
    buffers_.emplace_back(stream_, MemorySpace::device, values(planes));
    if (i < plan.shape.arrays) state_.push_back(static_cast<std::size_t>(i));
  }
  spare_ = others_than(state_);
  arrays_.resize(static_cast<std::size_t>(plan.shape.arrays));
  auto const halo_bytes = static_cast<std::size_t>(plan.shape.arrays * plan.rank_halo());
  opened_ = open_gpu_links(ranks, stream, beside_, halo_bytes * plan.widest().shape.plane_bytes(),
                           plan.parts > 1 || plan.by_stages ? Meanwhile::kernels
                           : plan.shape.looked_at           ? Meanwhile::look
                                                            : Meanwhile::nothing);
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (plan.strips[which].are_there()) strips_.emplace_back(stream, plan, which, ranks);
  slabs_.emplace(stream, plan, ranks);
  if (plan.parts > 1) {
    for (int i = 0; i < plan.parts; ++i)
      parts_.emplace_back(stream.device(),
                          Planes{own_.lower + own_.count() * i / plan.parts,
                                 own_.lower + own_.count() * (i + 1) / plan.parts});
    for (std::size_t i = 0; i < lanes; ++i) lanes_.emplace_back(stream.device());
    gate_.emplace(stream.device());
  }
  if (plan.by_stages)
    for (int side = 0; side < 2; ++side) edges_.emplace_back(stream.device());
}

template <class T>
auto RankSteps<T>::order_for(std::span<T* const> arrays, std::int64_t steps) -> Order {
  Order order{steps};
  if (!ranks_.is_first()) return order;
  order.renewed = renewed_ || !std::ranges::equal(arrays, arrays_);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    order.places[i] = std::bit_cast<std::uint64_t>(arrays[i]);
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
  places_ = order.places;
  if (order.renewed != 0) {
    take_halos();
    halos_there_ = false;
    forget();
    move_slabs(true);
  }
  renewed_ = false;
  stepped_ = stepped_ && order.renewed == 0;
  if (settled_) since_settled_.restart();
  if (plan_.on_chip && steps > 0) {
    if (!stepped_) make_trip(1, pass);
    make_on_chip(steps - (stepped_ ? 0 : 1), pass);
    stepped_ = true;
    settled_ = false;
    return;
  }
  while (steps > 0) {
    std::int64_t const trips = (steps + plan_.trip_steps - 1) / plan_.trip_steps;
    std::int64_t const most = plan_.pass_steps() * ((steps + trips * plan_.pass_steps() - 1) /
                                                    (trips * plan_.pass_steps()));
    std::int64_t const now = std::min({steps, most, plan_.trip_steps});
    make_trip(now, pass);
    steps -= now;
    settled_ = false;
  }
  end_parts();
  if (!edges_.empty()) opened_.links->let_go(stream_);
}

/// The halos of the next trip are those that are looked at, or exchanged meanwhile.
template <class T>
void RankSteps<T>::look(std::span<T* const> arrays, LooksAt planes, Pass const& at) {
  run(arrays, 0, at);
  if (planes == LooksAt::own && can_exchange_beside()) lane_of_halos_.go_beside();
  if (!halos_there_ && !halos_started_) start_halos();
  bring_halos();
  if (planes == LooksAt::beside) take_halos();
  halos_there_ = true;
  auto window = window_of(held(), own_);
  set_arrays(window, held());
  if (plan_.shape.in_place) window.out = {};
  at(stream_, window);
}

/// As a trip of the most steps begins: shorter ones need fewer of these planes.
template <class T>
int RankSteps<T>::begin(Pass const& pass) {
  if (!makes_whole() || plan_.shape.in_place || !halos_there_) return 0;
  take_halos();
  begun_ = next_(plan_.trip_steps);
  make_planes(stream_, own_for(plan_.trip_steps - begun_), plan_.rank_halo(), begun_, pass);
  return begun_;
}

template <class T>
void RankSteps<T>::make_trip(std::int64_t steps, Pass const& pass) {
  if (!halos_started_ && !halos_there_) start_halos();
  if (plan_.by_stages)
    make_by_stages(pass);
  else if (parts_.empty() || steps != plan_.trip_steps)
    make_whole(steps, pass);
  else
    make_in_parts(pass);
  ++report_.trips;
  report_.steps += steps;
}

template <class T>
void RankSteps<T>::make_whole(std::int64_t steps, Pass const& pass) {
  end_parts();
  take_halos();
  halos_there_ = false;
  for (std::int64_t left = steps; left > 0;) {
    std::int64_t const halo = left * plan_.shape.reach;
    int const some = next_(left);
    left -= some;
    if (std::exchange(begun_, 0) != some) make_planes(stream_, own_for(left), halo, some, pass);
    move_to(made_anew());
  }
  start_halos();
}

template <class T>
void RankSteps<T>::make_on_chip(std::int64_t steps, Pass const& pass) {
  take_halos();
  halos_there_ = false;
  auto window = window_of(own_, own_);
  window.on_chip = true;
  set_arrays(window, own_);
  constexpr std::int64_t most_steps = std::int64_t{1} << 30;
  for (std::int64_t left = steps; left > 0; left -= most_steps) {
    window.steps = static_cast<int>(std::min(left, most_steps));
    pass(stream_, window);
  }
  report_.trips += (steps + plan_.trip_steps - 1) / plan_.trip_steps;
  report_.steps += steps;
}

/// A pass without stages looks at nothing beyond the rank's own planes.
template <class T>
void RankSteps<T>::make_by_stages(Pass const& pass) {
  Planes const planes = held();
  auto window = window_of(planes, own_);
  window.steps = 1;
  set_arrays(window, planes);
  bool has_stages = false;
  T* in = window.in[0];
  window.stage = [&](auto const& make, T* out) {
    make_stage(planes, in, out, make);
    has_stages = true;
    in = out;
  };
  pass(stream_, window);
  if (!has_stages) take_halos();
  halos_there_ = false;
  move_to(made_anew());
  if (!has_stages) start_halos();
}

/// What comes is what the stage before has made of `in`.
template <class T>
void RankSteps<T>::make_stage(Planes const& planes, T* in, T* out,
                              typename Window<T>::MakePlanes const& make) {
  std::int64_t const reach = plan_.rank_halo();
  auto const bytes = [&](T* array, std::int64_t lower) {
    return bytes_of(std::span(array + values(lower), values(reach)));
  };
  Planes inner{own_.lower - planes.lower, own_.upper - planes.lower};
  stream_.record(queued_);
  for (Edge& edge : edges_) edge.stream.wait(queued_);
  std::array<RankLinks::Arrival, 2> arrivals = {
      {{RankLinks::up, {}, &edges_[0].stream}, {RankLinks::down, {}, &edges_[1].stream}}};
  if (is_beside(0)) arrivals[0].pieces = {bytes(in, inner.lower - reach)};
  if (is_beside(1)) arrivals[1].pieces = {bytes(in, inner.upper)};
  if (!halos_there_) finish_halos(arrivals);
  halos_there_ = false;
  auto const make_edge = [&](std::size_t side, std::int64_t lower) {
    Edge& edge = edges_[side];
    make(edge.stream, {lower, lower + reach});
    edge.stream.record(edge.made);
    opened_.links->start(side == 0 ? RankLinks::down : RankLinks::up, {bytes(out, lower)},
                         edge.stream);
  };
  if (is_beside(0)) {
    make_edge(0, inner.lower);
    inner.lower += reach;
  }
  if (is_beside(1)) {
    inner.upper -= reach;
    make_edge(1, inner.upper);
  }
  halos_started_ = true;
  make(stream_, inner);
  // Coefficients and sides of the next stage take the place of those that edges look at, too.
  for (Edge& edge : edges_) stream_.wait(edge.made);
}

/// The part that comes at a place of a pass. Ranks beside each other begin with what they have in
/// common, or end with it; the last one of an odd ring begins with both ends.
template <class T>
std::size_t RankSteps<T>::part_in_order(std::size_t place) const {
  std::size_t const last = parts_.size() - 1;
  bool const is_even = ranks_.rank() % 2 == 0;
  bool const closes_ring = plan_.shape.periodic && is_even && ranks_.rank() + 1 == plan_.ranks;
  if (closes_ring) return place % 2 == 0 ? place / 2 : last - place / 2;
  return is_even ? place : last - place;
}

template <class T>
void RankSteps<T>::make_in_parts(Pass const& pass) {
  begin_parts();
  auto const next = made_anew();
  for (std::size_t place = 0; place < parts_.size(); ++place)
    make_part(part_in_order(place), next, pass);
  halos_there_ = false;
  halos_started_ = true;
  move_to(next);
  turn_ = 1 - turn_;
}

/// After those that it looks at in the pass before, which have looked at what it writes over.
template <class T>
void RankSteps<T>::make_part(std::size_t number, std::vector<std::size_t> const& next,
                             Pass const& pass) {
  Part& part = parts_[number];
  Stream& stream = lanes_[lane_++ % lanes];
  bool const is_lowest = number == 0, is_uppermost = number + 1 == parts_.size();
  if (is_lowest) open_gate(0, part, stream);
  if (is_uppermost) open_gate(1, part, stream);
  stream.wait(part.made[1 - turn_]);
  if (!is_lowest) stream.wait(parts_[number - 1].made[1 - turn_]);
  if (!is_uppermost) stream.wait(parts_[number + 1].made[1 - turn_]);
  make_planes(stream, part.planes, plan_.rank_halo(), static_cast<int>(plan_.trip_steps), pass);
  if (is_lowest) start_halo(0, next, stream);
  if (is_uppermost) start_halo(1, next, stream);
  stream.record(part.made[turn_]);
}

/// What comes is put in its place while the pass before is made: the part has looked at that in the
/// one before it.
template <class T>
void RankSteps<T>::open_gate(int side, Part const& part, Stream& stream) {
  if (halos_there_ || !is_beside(side)) return;
  gate_->stream.wait(part.made[turn_]);
  finish_halos(std::array{arrival_of(side, gate_->stream)});
  turn_halo(side, gate_->stream);
  gate_->stream.record(gate_->open);
  stream.wait(gate_->open);
}

/// What is queued in parts after this comes after all that `stream_` has; `end_parts` is the reverse.
template <class T>
void RankSteps<T>::begin_parts() {
  if (in_parts_) return;
  for (Part& part : parts_)
    for (Event& made : part.made) stream_.record(made);
  in_parts_ = true;
}

template <class T>
void RankSteps<T>::end_parts() {
  if (!in_parts_) return;
  for (Part const& part : parts_) stream_.wait(part.made[1 - turn_]);
  opened_.links->let_go(stream_);
  in_parts_ = false;
}

/// Of what it needs, `halo` planes beyond the rank's own are right.
template <class T>
void RankSteps<T>::make_planes(Stream& stream, Planes const& made, std::int64_t halo, int steps,
                               Pass const& pass) {
  std::int64_t const reach = steps * plan_.shape.reach;
  Planes const there{own_.lower - (is_beside(0) ? halo : 0),
                     own_.upper + (is_beside(1) ? halo : 0)};
  Planes const planes = Planes{made.lower - reach, made.upper + reach}.within(there);
  auto window = window_of(planes, made);
  window.beside = in_parts_ ? static_cast<int>(lanes) - 1 : 0;
  window.steps = steps;
  set_arrays(window, planes);
  pass(stream, window);
}

template <class T>
void RankSteps<T>::set_arrays(Window<T>& window, Planes const& planes) {
  for (std::size_t i = 0; i < state_.size(); ++i)
    window.in[i] = planes_of(state_[i], planes).data();
  for (std::size_t i = 0; i < spare_.size(); ++i)
    window.out[i] = planes_of(spare_[i], planes).data();
}

template <class T>
Window<T> RankSteps<T>::window_of(Planes const& planes, Planes const& made) const {
  auto const& grid = plan_.shape.grid;
  Window<T> window{};
  window.grid = grid;
  window.grid.points[static_cast<std::size_t>(grid.dims - 1)] = planes.count();
  window.first = planes.lower;
  window.cut = {is_beside(0) || planes.lower > own_.lower,
                is_beside(1) || planes.upper < own_.upper};
  window.made = {made.lower - planes.lower, made.upper - planes.lower};
  return window;
}

/// Where a pass leaves the state: what was made comes first, then what was read, as far as it goes.
template <class T>
std::vector<std::size_t> RankSteps<T>::made_anew() const {
  auto all = spare_;
  all.insert(all.end(), state_.begin(), state_.end());
  all.resize(state_.size());
  return all;
}

/// The other buffers, in the order of those that a pass writes to, or that which it writes over.
template <class T>
std::vector<std::size_t> RankSteps<T>::others_than(std::vector<std::size_t> const& state) const {
  if (plan_.shape.in_place) return {state.back()};
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (std::ranges::find(state, i) == state.end()) others.push_back(i);
  return others;
}

/// Sends the outermost planes of a side to the rank beside it.
template <class T>
void RankSteps<T>::start_halo(int side, std::vector<std::size_t> const& buffers, Stream& stream) {
  if (!is_beside(side)) return;
  std::int64_t const halo = plan_.rank_halo();
  Planes const planes =
      side == 0 ? Planes{own_.lower, own_.lower + halo} : Planes{own_.upper - halo, own_.upper};
  RankLinks::Pieces pieces;
  for (auto const buffer : with_halos(buffers))
    pieces.push_back(bytes_of(planes_of(buffer, planes)));
  opened_.links->start(side == 0 ? RankLinks::down : RankLinks::up, pieces, stream);
}

template <class T>
void RankSteps<T>::start_halos() {
  lane_of_halos_.follow();
  for (int const side : {0, 1}) start_halo(side, state_, lane_of_halos_.stream());
  if (!lane_of_halos_.is_beside()) opened_.links->let_go(stream_);
  halos_started_ = true;
}

/// What comes to a side comes on the way to the other one.
template <class T>
RankLinks::Arrival RankSteps<T>::arrival_of(int side, Stream& stream) {
  std::int64_t const halo = plan_.rank_halo();
  Planes const planes =
      side == 0 ? Planes{own_.lower - halo, own_.lower} : Planes{own_.upper, own_.upper + halo};
  RankLinks::Arrival arrival{side == 0 ? RankLinks::up : RankLinks::down, {}, &stream};
  if (!is_beside(side)) return arrival;
  for (auto const buffer : with_halos(state_))
    arrival.pieces.push_back(bytes_of(planes_of(buffer, planes)));
  return arrival;
}

/// Before something else than the next steps changes the state or looks at it.
template <class T>
void RankSteps<T>::take_halos() {
  bring_halos();
  if (!lane_of_halos_.is_beside()) return;
  lane_of_halos_.lead();
  opened_.links->let_go(stream_);
}

/// Queues what brings halos that were started.
template <class T>
void RankSteps<T>::bring_halos() {
  if (!halos_started_) return;
  Stream& stream = lane_of_halos_.stream();
  finish_halos(std::array{arrival_of(0, stream), arrival_of(1, stream)});
  for (int const side : {0, 1}) turn_halo(side, stream);
  if (!strips_.empty()) exchange_strips();
  halos_started_ = false;
}

/// Of all planes that are there, once their halos are.
template <class T>
void RankSteps<T>::exchange_strips() {
  Timer const timer;
  std::vector<T*> arrays;
  for (auto const buffer : with_halos(state_)) arrays.push_back(planes_of(buffer, held()).data());
  for (auto& halos : strips_) halos.exchange(stream_, arrays, held().count());
  report_.seconds_exchange += timer.seconds();
}

/// What has come from the other end of the axis, of arrays that have the other sign there. Steps of it are
/// those of the planes that it stands for, with this sign.
template <class T>
void RankSteps<T>::turn_halo(int side, Stream& stream) {
  int const slab = plan_.slab_of(ranks_.rank());
  bool const is_end = side == 0 ? slab == 0 : slab + 1 == plan_.slabs();
  if (!is_end || !is_beside(side)) return;
  std::int64_t const halo = plan_.rank_halo();
  Planes const planes =
      side == 0 ? Planes{own_.lower - halo, own_.lower} : Planes{own_.upper, own_.upper + halo};
  for (std::size_t i = 0; i < with_halos(state_).size(); ++i)
    if ((plan_.shape.turned >> i & 1U) != 0)
      elementwise::scale<T>(stream, -1, planes_of(state_[i], planes));
}

/// From the arrays of the whole grid to the ranks, or the other way.
template <class T>
void RankSteps<T>::move_slabs(bool out) {
  std::vector<typename RankSlabs<T>::Array> arrays;
  for (std::size_t i = 0; i < state_.size(); ++i)
    arrays.push_back({planes_of(state_[i], own_), arrays_[i], places_[i]});
  stream_.synchronize();
  Timer const timer;
  slabs_->move(arrays, out);
  report_.seconds_move += timer.seconds();
}

template <class T>
void RankSteps<T>::settle(std::function<void()> const& before_change) {
  if (settled_) return;
  take_halos();
  stream_.synchronize();
  report_.seconds_steps += since_settled_.seconds();
  if (before_change && ranks_.is_first()) before_change();
  move_slabs(false);
  settled_ = true;
}

template <class T>
std::vector<NamedText> RankSteps<T>::texts() {
  std::vector<LinksAlong> links = {{plan_.shape.grid.dims - 1, &opened_}};
  if (plan_.slabs() == 1 && !strips_.empty()) links.clear();
  for (auto const& halos : strips_)
    links.push_back({axis_of_strips(plan_.shape.grid.dims, halos.which()), &halos.links()});
  auto const way = stream_.backend() == Backend::cpu
                       ? ranks_.transport()
                       : fmt::format("{}, beside {}", links_text(links), ranks_.transport());
  return {{"ranks", parts_text(plan_)},
          {"transport", way},
          {"exchanges", exchanges_text(plan_, report_)},
          {"rank 0", seconds_text(report_)}};
}

template class RankSteps<float>;
template class RankSteps<double>;

}  // namespace gridstride

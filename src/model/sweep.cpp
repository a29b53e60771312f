#include "model/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride {

namespace {

std::int64_t ceil_of(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

}  // namespace

template <class T>
Sweep<T>::Sweep(Stream const& stream, SweepPlan const& plan, NextPass next)
    : WindowSteps<T>(plan, std::move(next)),
      stream_(stream),
      in_(stream.device()),
      out_(stream.device()),
      kept_(stream_, MemorySpace::device, values(plan.kept_planes())),
      late_(stream_, MemorySpace::device, values(plan.late_planes())),
      stored_{Event(stream.device()), Event(stream.device()), Event(stream.device())},
      queued_(stream.device()) {
  for (int i = 0; i < plan.buffers(); ++i)
    buffers_.emplace_back(stream_, MemorySpace::device, values(plan.capacity()));
  std::size_t next_buffer = 0;
  for (auto& set : sets_)
    for (int i = 0; i < plan.shape.arrays; ++i) set.push_back({next_buffer++, 0});
  while (next_buffer < buffers_.size()) spare_.push_back(next_buffer++);
}

template <class T>
Sweep<T>::~Sweep() {
  try {  // what is queued may still use memory of ours
    in_.synchronize();
    out_.synchronize();
  } catch (Error const&) {  // the failure of that work, which whoever waits for it meets
  }
}

/// Trips of about as many steps each, of whole passes.
template <class T>
void Sweep<T>::run(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) {
  if (std::ssize(arrays) != plan_.shape.arrays || arrays.size() > Window<T>::most_arrays)
    throw std::invalid_argument("a sweep of another number of arrays than its plan's");
  if (steps > 0 && settled_) {
    stream_.record(queued_);
    in_.wait(queued_);
    out_.wait(queued_);
    settled_ = false;
  }
  while (steps > 0) {
    std::int64_t const trips = ceil_of(steps, plan_.trip_steps);
    std::int64_t const whole =
        plan_.pass_steps() * ceil_of(ceil_of(steps, trips), plan_.pass_steps());
    std::int64_t const now = std::min({steps, whole, plan_.trip_steps});
    make_trip(arrays, now, pass);
    steps -= now;
  }
}

template <class T>
void Sweep<T>::settle(std::function<void()> const&) {
  if (settled_) return;
  out_.record(queued_);
  stream_.wait(queued_);
  settled_ = true;
}

template <class T>
SweepReport Sweep<T>::report() {
  for (Trip& trip : trips_) take_times(trip);
  return report_;
}

template <class T>
std::vector<NamedText> Sweep<T>::texts() {
  auto const took = report();
  auto const rate = [&](double seconds) { return seconds > 0 ? took.bytes / seconds * 1e-9 : 0; };
  double const on_bus = std::max(took.seconds_in, took.seconds_out);
  return {{"trips", fmt::format("{} of up to {} steps", took.trips, plan_.trip_steps)},
          {"slabs",
           fmt::format("{} of {} planes, {} on the device", plan_.slab_planes, plan_.shape.planes(),
                       format_bytes(static_cast<double>(plan_.device_bytes())))},
          {"bus", fmt::format("in {:.3g} GB/s for {:.3g} s, out {:.3g} GB/s for {:.3g} s",
                              rate(took.seconds_in), took.seconds_in, rate(took.seconds_out),
                              took.seconds_out)},
          {"steps on the device", fmt::format("{:.3g} s", took.seconds_steps)},
          {"bound by", on_bus > took.seconds_steps ? "the bus" : "the device"}};
}

/// Adds up what a trip took, when it is over.
template <class T>
void Sweep<T>::take_times(Trip& trip) {
  for (std::size_t i = 0; i < trip.slabs; ++i) {
    Mark const& mark = trip.marks[i];
    report_.seconds_in += elapsed_seconds(mark.in[0], mark.in[1]);
    report_.seconds_steps += elapsed_seconds(mark.steps[0], mark.steps[1]);
    report_.seconds_out += elapsed_seconds(mark.out[0], mark.out[1]);
  }
  trip.slabs = 0;
}

template <class T>
void Sweep<T>::make_trip(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) {
  Trip& trip = trips_[static_cast<std::size_t>(report_.trips % 2)];
  take_times(trip);
  plan_trip(steps, trip);
  load(trip, 0, arrays);
  for (std::size_t slab = 0; slab < trip.slabs; ++slab) {
    // First, since queueing many passes may wait for the device.
    if (slab + 1 < trip.slabs) load(trip, slab + 1, arrays);
    compute(trip, slab, pass);
    store(trip, slab, arrays);
  }
  store_late(trip, arrays);
  slab_count_ += trip.slabs;
  ++report_.trips;
  report_.steps += steps;
}

/// Around a periodic axis, a trip begins as far as can be from where the one before it ended, so
/// that it can begin before that has stored its last slab.
template <class T>
void Sweep<T>::plan_trip(std::int64_t steps, Trip& trip) {
  auto const& shape = plan_.shape;
  std::int64_t const planes = shape.planes();
  std::int64_t const reach = trip.reach = steps * shape.reach;
  if (shape.periodic) {
    std::int64_t const origin = report_.trips % 2 * (planes / 2);
    trip.domain = {origin - 2 * reach, origin + planes};
    trip.end = trip.domain.upper;
    trip.late = {origin - reach, origin};
    trip.results = {trip.late.lower, trip.late.lower + planes};
  } else {
    trip.domain = trip.results = {0, planes};
    trip.end = planes + reach;
    trip.late = {};
  }
  trip.passes.clear();
  std::int64_t kept = 0;
  for (std::int64_t done = 0; done < steps;) {
    int const some = next_(steps - done);
    auto const arrays = static_cast<std::size_t>(done == 0 ? shape.arrays : shape.made);
    trip.passes.push_back({some, done, kept, arrays});
    kept += static_cast<std::int64_t>(arrays) * 2 * some * shape.reach;
    done += some;
  }
  trip.slabs = static_cast<std::size_t>(ceil_of(trip.end - trip.domain.lower, plan_.slab_planes));
  while (trip.marks.size() < trip.slabs) trip.marks.emplace_back(stream_.device());
  if (trip.late_stored.empty()) trip.late_stored.emplace_back(stream_.device());
}

template <class T>
Planes Sweep<T>::slab_of(Trip const& trip, std::size_t slab) const {
  std::int64_t const lower =
      trip.domain.lower + static_cast<std::int64_t>(slab) * plan_.slab_planes;
  return {lower, std::min(lower + plan_.slab_planes, trip.end)};
}

template <class T>
void Sweep<T>::load(Trip& trip, std::size_t slab, std::span<T* const> arrays) {
  auto const number = (slab_count_ + slab) % 3;
  Planes const all = slab_of(trip, slab), planes = all.within(trip.domain);
  in_.wait(stored_[number]);
  await_stored(planes);
  in_.record(trip.marks[slab].in[0]);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Slot& slot = sets_[number][i];
    slot.lowest = all.lower;
    for_each_stretch(planes, plan_.shape.planes(), [&](std::int64_t at, Planes const& some) {
      auto const target = planes_of(slot, some);
      copy_async(target, std::span<T const>(arrays[i] + values(at), target.size()), in_);
      report_.bytes += static_cast<double>(target.size_bytes());
    });
  }
  in_.record(trip.marks[slab].in[1]);
}

/// Until the trip before has stored these planes. It stores in the order of its slabs.
template <class T>
void Sweep<T>::await_stored(Planes const& planes) {
  if (report_.trips == 0 || planes.count() == 0) return;
  Trip const& before = trips_[static_cast<std::size_t>((report_.trips + 1) % 2)];
  if (meet(planes, before.late)) return in_.wait(before.late_stored[0]);
  for (std::size_t slab = before.slabs; slab > 0; --slab)
    if (Mark const& mark = before.marks[slab - 1]; meet(planes, mark.stored))
      return in_.wait(mark.out[1]);
}

template <class T>
void Sweep<T>::compute(Trip& trip, std::size_t slab, Pass const& pass) {
  Mark const& mark = trip.marks[slab];
  stream_.wait(mark.in[1]);
  stream_.record(trip.marks[slab].steps[0]);
  auto& set = sets_[(slab_count_ + slab) % 3];
  state_ = set;
  Planes const planes = slab_of(trip, slab);
  for (PassPlan const& one : trip.passes) {
    keep(trip, one, planes);
    make_pass(trip, one, planes, pass);
  }
  set = state_;
  stream_.record(trip.marks[slab].steps[1]);
}

/// Copies the planes below the slab from those that the slab before it kept, and keeps the highest
/// ones for the next slab.
template <class T>
void Sweep<T>::keep(Trip const& trip, PassPlan const& pass, Planes const& slab) {
  std::int64_t const below = 2 * pass.steps * plan_.shape.reach;
  std::int64_t const shift = pass.before * plan_.shape.reach;
  std::int64_t const lower = std::min(slab.lower - shift, trip.domain.upper);
  std::int64_t const upper = std::min(slab.upper - shift, trip.domain.upper);
  std::int64_t const lowest = std::max(slab.lower - shift - below, trip.domain.lower);
  for (std::size_t i = 0; i < pass.arrays; ++i) {
    auto const kept = kept_.span().subspan(values(pass.kept + static_cast<std::int64_t>(i) * below),
                                           values(below));
    auto const copy = [&](Planes const& planes, std::int64_t end, bool out) {
      if (planes.count() == 0) return;
      auto const here = planes_of(state_[i], planes);
      auto const there = kept.subspan(values(planes.lower - (end - below)), here.size());
      if (out)
        copy_async(there, here, stream_);
      else
        copy_async(here, there, stream_);
    };
    if (slab.lower > trip.domain.lower) copy({lowest, lower}, lower, false);
    if (slab.upper < trip.end) copy({std::max(upper - below, lowest), upper}, upper, true);
  }
}

template <class T>
void Sweep<T>::make_pass(Trip const& trip, PassPlan const& pass, Planes const& slab,
                         Pass const& queue) {
  auto const& shape = plan_.shape;
  std::int64_t const reach = pass.steps * shape.reach;
  std::int64_t const shift = pass.before * shape.reach + reach;
  Planes const made = Planes{slab.lower - shift, slab.upper - shift}.within(trip.domain);
  std::vector<Slot> state;
  for (int i = 0; i < shape.made; ++i)
    state.push_back({spare_[static_cast<std::size_t>(i)], slab.lower - shift});
  if (made.count() > 0) {
    Planes planes = Planes{made.lower - reach, made.upper + reach}.within(trip.domain);
    Window<T> window{};
    window.cut = {shape.periodic || planes.lower > 0,
                  shape.periodic || planes.upper < shape.planes()};
    // What kernels need of an axis; the planes more may hold anything.
    std::int64_t const least = std::max<std::int64_t>(3, shape.reach + 1);
    if (planes.count() < least && window.cut[1]) planes.upper = planes.lower + least;
    if (planes.count() < least) planes.lower = planes.upper - least;
    window.grid = shape.grid;
    window.grid.points[static_cast<std::size_t>(shape.grid.dims - 1)] = planes.count();
    window.made = {0, planes.count()};
    window.first = planes.lower;
    window.steps = pass.steps;
    for (std::size_t i = 0; i < state_.size(); ++i)
      window.in[i] = planes_of(state_[i], planes).data();
    for (std::size_t i = 0; i < state.size(); ++i)
      window.out[i] = planes_of(state[i], planes).data();
    queue(stream_, window);
  }
  spare_.clear();
  for (Slot const& old : state_) {
    if (std::ssize(state) < shape.arrays)
      state.push_back(old);
    else
      spare_.push_back(old.buffer);
  }
  state_ = std::move(state);
}

template <class T>
void Sweep<T>::store(Trip& trip, std::size_t slab, std::span<T* const> arrays) {
  auto const number = (slab_count_ + slab) % 3;
  Mark& mark = trip.marks[slab];
  Planes planes = slab_of(trip, slab);
  planes = Planes{planes.lower - trip.reach, planes.upper - trip.reach}.within(trip.results);
  Planes const late = planes.within(trip.late);
  mark.stored = {std::max(planes.lower, trip.late.upper), planes.upper};
  out_.wait(mark.steps[1]);
  out_.record(mark.out[0]);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Slot const& slot = sets_[number][i];
    if (late.count() > 0) {
      auto const values_late = planes_of(slot, late);
      std::int64_t const place =
          static_cast<std::int64_t>(i) * trip.late.count() + late.lower - trip.late.lower;
      copy_async(late_.span().subspan(values(place), values_late.size()), values_late, out_);
    }
    for_each_stretch(mark.stored, plan_.shape.planes(), [&](std::int64_t at, Planes const& some) {
      auto const source = planes_of(slot, some);
      copy_async(std::span(arrays[i] + values(at), source.size()), source, out_);
    });
  }
  out_.record(mark.out[1]);
  out_.record(stored_[number]);
}

/// What lies where planes were still to be loaded from.
template <class T>
void Sweep<T>::store_late(Trip& trip, std::span<T* const> arrays) {
  if (trip.late.count() == 0) return;
  out_.wait(trip.marks[trip.slabs - 1].in[1]);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    for_each_stretch(trip.late, plan_.shape.planes(), [&](std::int64_t at, Planes const& some) {
      std::int64_t const place =
          static_cast<std::int64_t>(i) * trip.late.count() + some.lower - trip.late.lower;
      auto const source = late_.span().subspan(values(place), values(some.count()));
      copy_async(std::span(arrays[i] + values(at), source.size()), source, out_);
    });
  out_.record(trip.late_stored[0]);
}

template <class T>
std::span<T> Sweep<T>::planes_of(Slot const& slot, Planes const& planes) {
  std::int64_t const place = planes.lower - slot.lowest + plan_.front();
  if (place < 0 || place + planes.count() > plan_.capacity())
    throw std::out_of_range("planes beyond the buffer of a slab");
  return buffers_[slot.buffer].span().subspan(values(place), values(planes.count()));
}

/// Whether some plane of the grid is in both.
template <class T>
bool Sweep<T>::meet(Planes const& a, Planes const& b) const {
  std::int64_t const planes = plan_.shape.planes();
  std::int64_t const most = plan_.shape.periodic ? 4 : 0;  // turns that two stretches are apart
  for (std::int64_t turn = -most; turn <= most; ++turn)
    if (a.within({b.lower + turn * planes, b.upper + turn * planes}).count() > 0) return true;
  return false;
}

template class Sweep<float>;
template class Sweep<double>;

}  // namespace gridstride

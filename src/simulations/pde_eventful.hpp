#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "model/simulation.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_moment.hpp"
#include "simulations/pde_stop.hpp"

namespace gridstride::pde {

/// What `Stepping` makes, `TimeStepping` or one that derives from it, with events, and with the
/// condition that ends a run. Steps end at events, which are done at once: what is written or saved
/// at their time comes after them.
template <class T, class Stepping>
class EventfulStepping : public Stepping {
 public:
  bool finished() const override { return !ending_.empty() || Stepping::finished(); }
  std::string ending() const override { return ending_; }
  void advance(std::int64_t max_steps, double until) override;

 protected:
  template <class... Arguments>
  EventfulStepping(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                   Arguments&&... arguments)
      : Stepping(run, stream, inputs, std::forward<Arguments>(arguments)...),
        run_(run),
        events_(stream, run),
        stop_(stream, run),
        now_(stream, MemorySpace::device, 1) {}

  /// The present state between two steps.
  virtual Moment<T> moment() = 0;
  /// The same where an event is due.
  virtual Moment<T> moment_of_event() { return moment(); }
  /// Where events put the state, an array for each component.
  virtual std::vector<T*> state_arrays() = 0;
  /// Goes on with what they put there.
  virtual void take_given() = 0;
  /// Does those of two moments (`Events::apply`).
  virtual void do_events(double before, double now);
  /// Why the run ends, as `StopTest::reason` has it, on all ranks.
  virtual std::string reason_to_end(StopTest<T>& stop) = 0;

  /// That of these inputs, with room that is spare.
  Moment<T> moment_of(std::vector<system::Input<T>> inputs, std::vector<T*> spare) {
    return {this->clock().time, clock_of_now(), std::move(inputs), std::move(spare)};
  }
  /// In device memory, where the present is the beginning.
  evaluate::DeviceClock const* clock_of_now() {
    evaluate::set_clock(this->stream_, now_.data(), {this->clock().time, 0, 0});
    return now_.data();
  }
  /// Ends the run where a condition holds, also one that was loaded. When that is tested follows from
  /// the steps and the moments that they end at alone, however the run is cut into pieces.
  void test_stop();

  config::RunConfig const& run_;
  Events<T> events_;

 private:
  StopTest<T> stop_;
  Buffer<evaluate::DeviceClock> now_;  // of what happens between steps
  std::string ending_;                 // why, where the run ended before its time
};

template <class T, class Stepping>
void EventfulStepping<T, Stepping>::advance(std::int64_t max_steps, double until) {
  until = std::min(until, run_.time.end);
  while (max_steps > 0 && !finished() && this->clock().time < until) {
    Clock const before = this->clock();
    std::int64_t steps = max_steps;
    if (stop_.is_asked_for())
      steps = std::min(steps, steps_between_tests - before.step % steps_between_tests);
    double const moment = std::min(until, events_.next(before.time));
    Stepping::advance(steps, moment);
    Clock const now = this->clock();
    std::int64_t const made = now.step - before.step;
    max_steps = made < steps && now.time < moment ? 0 : max_steps - made;  // it ends with a batch
    if (events_.due(before.time, now.time)) do_events(before.time, now.time);
    test_stop();
  }
}

/// Of several ranks the first one, where none is said to do its own part.
template <class T, class Stepping>
void EventfulStepping<T, Stepping>::do_events(double before, double now) {
  this->settle();
  if (this->has_state())
    events_.apply(
        before, now, [this] { return moment_of_event(); }, state_arrays());
  take_given();
}

template <class T, class Stepping>
void EventfulStepping<T, Stepping>::test_stop() {
  Clock const now = this->clock();
  bool const is_time = now.step % steps_between_tests == 0 || this->clock_.at_moment();
  if (!stop_.is_asked_for() || now.step == 0 || !is_time) return;
  std::string const reason = reason_to_end(stop_);
  if (!reason.empty()) ending_ = fmt::format("ended at t = {} s: {}", now.time, reason);
}

}  // namespace gridstride::pde

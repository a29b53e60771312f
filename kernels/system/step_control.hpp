#pragma once

#include <cmath>
#include <limits>

#include "core/host_device.hpp"
#include "kernels/evaluate/points.hpp"

/// How steps follow their error. All of it lies in device memory, so that many attempts are queued
/// without the host; the host has the same functions.
namespace gridstride::system {

/// The largest of scaled errors, and where it is: of equal ones the first. An error that is not
/// finite is infinite.
struct WorstError {
  double value = -1;  ///< 1: as large as the tolerance lets it be; −1: of no point
  long long point = 0;
  int component = 0;

  GRIDSTRIDE_HOST_DEVICE bool operator<(WorstError const& other) const {
    if (value != other.value) return value < other.value;
    if (component != other.component) return component > other.component;
    return point > other.point;
  }
};

/// Where a run with such steps is, and what its next attempt will be.
struct StepControl {
  // What holds for the whole run.
  double safety = 0.9;
  int order = 1;       ///< the estimate of a step's error goes with dt^order
  double longest = 0;  ///< s

  // How far to go: to a moment, and no more steps than these in all.
  double target = 0;
  long long most_steps = 0;

  // Where it is.
  double time = 0;
  double step = 0;            ///< s, the next one to try, where nothing shortens it
  double previous_error = 1;  ///< of the last step that nothing shortened
  long long accepted = 0;
  long long rejected = 0;
  bool after_rejection = false;

  // The attempt under way.
  bool lands = false;      ///< it ends at the target
  bool shortened = false;  ///< it is shorter than `step`, to meet the target
  bool commits = false;    ///< its values are the new state
  bool failed = false;     ///< steps are too short to go on: `worst` tells where
  WorstError worst;
};

/// Two times so near to each other are the same (s).
GRIDSTRIDE_HOST_DEVICE inline double rounding_of(double time) { return 4 * 0x1p-52 * fabs(time); }

/// Begins an attempt: gives the clock the present time and the step to try; a step of 0 where there
/// is nothing to do. What is left to the target is never a tiny step: one that would leave less than
/// another one is cut into two halves.
GRIDSTRIDE_HOST_DEVICE inline void begin_attempt(StepControl& control,
                                                 evaluate::DeviceClock& clock) {
  double const left = control.target - control.time;
  control.commits = control.lands = control.shortened = false;
  clock = {control.time, 0, 0};
  if (control.failed || left <= 0 || control.accepted >= control.most_steps) return;
  if (left <= rounding_of(control.target)) {
    clock.origin = control.time = control.target;
    return;
  }
  clock.step_size = control.step;
  if (left <= control.step * (1 + 1e-9)) {
    control.lands = true;
    control.shortened = left < control.step;
    clock.step_size = left;
  } else if (left < 2 * control.step) {
    control.shortened = true;
    clock.step_size = 0.5 * left;
  }
}

/// Ends it: accepts the step where its error is at most 1, and finds the next one. Steps follow the
/// errors of the last two (a PI controller: Hairer, Nørsett and Wanner, Solving Ordinary
/// Differential Equations II, IV.2; Gustafsson, ACM Trans. Math. Softw. 17 (1991)), so that they do
/// not swing where stability bounds them.
GRIDSTRIDE_HOST_DEVICE inline void end_attempt(StepControl& control,
                                               evaluate::DeviceClock const& clock,
                                               WorstError const& worst) {
  constexpr double most = 5, least = 0.2, proportional = 0.4, integral = 0.3;
  double const tried = clock.step_size, error = worst.value;
  if (tried == 0) return;
  control.worst = worst;
  if (error <= 1) {
    double factor = control.safety * pow(error, -(integral + proportional) / control.order) *
                    pow(control.previous_error, proportional / control.order);
    factor = fmax(fmin(factor, control.after_rejection ? 1 : most), least);
    double next = fmin(tried * factor, control.longest);
    if (control.shortened)
      next = fmax(next, control.step);
    else
      control.previous_error = fmax(error, 1e-4);
    control.step = next;
    control.time = control.lands ? control.target : clock.time(1);
    ++control.accepted;
  } else {
    control.step =
        tried * fmax(fmin(control.safety * pow(error, -1.0 / control.order), 0.9), least);
    ++control.rejected;
  }
  control.commits = error <= 1;
  control.after_rejection = !control.commits;
  // Below it the time does not go on; at time 0 it goes on with any step.
  constexpr double rounding = 0x1p-52;
  double const shortest = fmax(16 * fabs(control.time), rounding * fabs(control.target)) * rounding;
  control.failed = control.step < shortest;
}

/// An error over its tolerance; `value` is the new one at the point, `before` the old one.
GRIDSTRIDE_HOST_DEVICE inline double scaled_error(double error, double before, double value,
                                                  double relative, double absolute) {
  double const scaled = fabs(error) / (absolute + relative * fmax(fabs(before), fabs(value)));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return scaled < infinity && fabs(value) < infinity ? scaled : infinity;
}

}  // namespace gridstride::system

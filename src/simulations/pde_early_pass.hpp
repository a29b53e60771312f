#pragma once

#include <cstdint>
#include <utility>

#include "model/step_clock.hpp"

namespace gridstride::pde {

/// The pass that the next steps begin with, of which the device has work while the host finds how long they
/// may be. It is begun where steps have had one length for two plans of a pass or more. After one that was
/// in vain it takes eight such plans, so that what is begun in vain from then on, up to eight steps in nine
/// plans, is a seventieth of the work at most where these have 64 steps.
class EarlyPass {
 public:
  /// Before a plan. The pass makes so many steps; 0: there is none. What was begun before is forgotten.
  void expect(double time, double until, std::int64_t steps) {
    expected_ = 0;
    begun_ = 0;
    steps_ = steps;
    if (alike_ < enough_ || steps == 0) return;
    auto const plan = whole_steps(step_)(time, until);
    if (plan.step == step_ && plan.steps >= steps) expected_ = steps;
  }
  /// In a plan: the length that the steps of the pass are to have. 0: it is not begun.
  double begin() {
    begun_ = expected_ > 0 ? step_ : 0;
    return begun_;
  }
  /// What was planned.
  void add(StepPlan const& plan) {
    bool const meets_moment = expected_ == 0 && plan.steps == 1 && plan.step < step_;
    bool const is_alike = plan.step == step_ && plan.steps >= expected_;
    expected_ = 0;
    if (meets_moment) return;
    if (begun_ > 0 && !is_alike) enough_ = enough_after_vain;
    if (!is_alike)
      alike_ = 0;
    else if (plan.steps >= steps_)  // else they end at a moment, or runs begin with few
      ++alike_;
    step_ = plan.step;
  }
  /// Whether the pass that was begun, which is asked for once, is one of this length.
  bool take(double step) { return std::exchange(begun_, 0) == step; }

 private:
  static constexpr std::int64_t enough_after_vain = 8;

  double step_ = 0, begun_ = 0;
  std::int64_t steps_ = 0;               // of a pass
  std::int64_t alike_ = 0, enough_ = 2;  // plans one after the other
  std::int64_t expected_ = 0;
};

}  // namespace gridstride::pde

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "config/run_config.hpp"
#include "equations/stability.hpp"
#include "model/step_clock.hpp"

namespace gridstride::pde {

/// Steps to come: so many of a length from a time on.
struct Ahead {
  double time = 0, step = 0;  ///< s
  std::int64_t steps = 0;
};

/// What the limit of a step follows from.
struct LimitFollows {
  bool state = false;   ///< it has to be found again and again
  bool fields = false;  ///< not from the place and the time alone
  bool time = false;    ///< also for steps to come
  /// How many steps a limit holds for, at most.
  std::int64_t steps_between = 64;
  bool equations_have_time = false;
};

/// Chooses steps by limits that are found as the fields change. What it chooses follows from the
/// limits of then and now, the clock, the last event and the last choice alone, so that a restart
/// chooses the same.
class StepChoice {
 public:
  using FindLimit = std::function<equations::StepLimit(Ahead const&)>;
  /// `find` gives the limit of the present state in steps to come, where there are any.
  StepChoice(config::RunConfig const& run, StepClock const& clock, LimitFollows follows,
             FindLimit find);

  /// Whether the limit changes as the run goes on.
  bool varies() const { return follows_.state; }
  /// Then, steps that are planned at most.
  std::int64_t steps_between() const { return follows_.steps_between; }
  /// The limit of the present state. Throws `NumericalError` where it is beyond numbers.
  equations::StepLimit limit(Ahead const& ahead = {}) const;
  /// The step that a run begins with, or soon comes to where the limit says nothing of its first fields.
  /// Throws `ConfigError` where there is none.
  double first() { return begin().comes_to.value_or(begin().step); }
  /// Steps of one length where the limit is the same for every state. Else some, after which the
  /// limit is found again.
  StepPlan plan(double time, double until, std::optional<double> last_event);

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  /// A step, and the limit that it keeps to.
  struct Choice {
    double step, limit;
    std::optional<double> comes_to = {};  ///< where it begins with shorter ones
    double unbound = 0;                   ///< what `auto` would take, were there no outputs
  };
  Choice const& begin();
  Choice find_first() const;
  Choice next(double time) const;
  equations::StepLimit limit_at(double time, Ahead const& ahead = {}) const;
  double unbound(equations::StepLimit const& limit) const;
  double longest(double unbound) const;
  double given(double time, equations::StepLimit const& limit) const;
  double kept(double step) const;
  std::int64_t steps_between(double time, Choice const& choice,
                             std::optional<double> last_event) const;
  double steps_until_met(Choice const& choice) const;
  void look_ahead(double time, double& step, std::int64_t& steps) const;
  std::string describe(equations::StepLimit const& limit) const;
  std::string hopeless() const;
  std::string too_long(double step, equations::StepLimit const& limit) const;

  config::RunConfig const& run_;
  StepClock const& clock_;
  LimitFollows follows_;
  FindLimit find_;
  bool is_implicit_;  // by multigrid: limits are those of what is explicit
  double share_;      // that a scheme takes of a limit
  double step_ = 0;   // the last one that was chosen; those before a moment may be shorter
  double limit_ = 0;  // then
  double unbound_ = 0;
  std::optional<Choice> first_;
};

}  // namespace gridstride::pde

#include "simulations/pde_step_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "model/step_clock.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {

namespace {
/// Of a step over the one before: 2^(1/4), and what rounding may take of it.
constexpr double most_rise = 1.18921;

/// The longest step that is stable and keeps edges sharp.
double sharp(equations::StepLimit const& limit) { return std::min(limit.step, limit.sharp); }
}  // namespace

StepChoice::StepChoice(config::RunConfig const& run, StepClock const& clock, LimitFollows follows,
                       FindLimit find)
    : run_(run),
      clock_(clock),
      follows_(follows),
      find_(std::move(find)),
      is_implicit_(goes_by_multigrid(run)),
      share_(explicit_region(run).share) {}

/// Of leapfrog from the eigenvalues −ω² of the accelerations, for which forward Euler would have
/// 2/ω²: 2/ω. Others than these, as those of waves that are carried along, it does not take.
equations::StepLimit StepChoice::limit(Ahead const& ahead) const {
  auto limit = find_(ahead);
  if (!std::isfinite(limit.fastest))
    throw NumericalError(
        "what the equations make of small changes is beyond all numbers, so that no step is "
        "stable");
  limit.step *= share_;
  if (!is_leapfrog(run_)) return limit;
  limit.hopeless = limit.step * limit.fastest < 1.9;
  limit.step = std::sqrt(2 * limit.step);
  limit.fastest = std::sqrt(limit.fastest);
  limit.imaginary = std::sqrt(std::abs(limit.real));
  limit.real = 0;
  limit.growth = std::sqrt(limit.growth);
  return limit;
}

StepChoice::Choice const& StepChoice::begin() {
  if (!first_) first_ = find_first();
  return *first_;
}

StepChoice::Choice StepChoice::find_first() const {
  try {
    auto const present = limit();
    if (present.hopeless)
      throw ConfigError({run_.problem(run_.location("time.scheme"), hopeless())});
    bool const has_time = follows_.equations_have_time;
    if (is_implicit_ && is_over(*run_.time.step, present.step))
      throw ConfigError(
          {run_.problem(run_.time.step_location, too_long(*run_.time.step, present))});
    if (run_.time.step)
      return {stable_step(run_, present.step, has_time, describe(present)), present.step};
    double const most = unbound(present), step = longest(most);
    if (is_leapfrog(run_)) return {dividing_step(run_, step), present.step, {}, most};
    // Of fields that are not there yet a limit says nothing.
    bool const says_nothing = follows_.fields && run_.time.safety * sharp(present) > 4 * step;
    return {kept(says_nothing ? std::exp2(-20) * step : step), present.step, kept(step), most};
  } catch (NumericalError const& error) {
    throw ConfigError({run_.problem(run_.location("equations"), error.what())});
  }
}

StepPlan StepChoice::plan(double time, double until, std::optional<double> last_event) {
  std::int64_t steps = 0;
  if (step_ == 0 || follows_.state) {
    auto [step, limit, comes_to, unbound] = time == 0 ? begin() : next(time);
    steps = steps_between(time, {step, limit}, last_event);
    if (follows_.time) look_ahead(time, step, steps);
    step_ = step;
    limit_ = limit;
    unbound_ = unbound;
  }
  bool const alike = is_leapfrog(run_) || is_implicit_;
  auto plan = alike ? equal_steps(step_)(time, until) : whole_steps(step_)(time, until);
  if (follows_.state) plan.steps = std::min(plan.steps, steps);
  return plan;
}

void StepChoice::save(CheckpointSink& sink) const {
  sink.put_real("limit/step", step_);
  sink.put_real("limit/limit", limit_);
  sink.put_real("limit/unbound", unbound_);
  sink.put_real("limit/interval", output_interval(run_));
}

void StepChoice::load(CheckpointSource const& source) {
  step_ = source.get_real("limit/step");
  limit_ = source.get_real("limit/limit");
  first_.reset();
  if (!source.contains("limit/interval")) return;  // of an earlier version
  unbound_ = source.get_real("limit/unbound");
  bool const is_found_again = step_ == 0 || follows_.state || follows_.time;
  if (is_found_again || source.get_real("limit/interval") == output_interval(run_)) return;
  if (run_.time.step)
    step_ = std::min(*run_.time.step, output_interval(run_));
  else
    step_ = is_leapfrog(run_) ? dividing_step(run_, longest(unbound_)) : longest(unbound_);
}

StepChoice::Choice StepChoice::next(double time) const {
  auto const present = limit_at(time);
  if (present.hopeless) throw NumericalError(fmt::format("at t = {} s: {}", time, hopeless()));
  if (run_.time.step) return {given(time, present), present.step};
  // What the fields turn into in a step may have another limit by far.
  double const most = unbound(present), step = longest(most);
  if (!(time + step > time))
    throw NumericalError(
        fmt::format("at t = {} s: no step that is stable moves time on: {:.3g} s is the longest "
                    "({}); fields may have left what the equations are for, as a depth below 0 "
                    "inside or beyond a side",
                    time, step, describe(present)));
  return {kept(step_ > 0 ? std::min(step, most_rise * step_) : step), present.step, {}, most};
}

/// Of what is found in the course of a run it is told when.
equations::StepLimit StepChoice::limit_at(double time, Ahead const& ahead) const {
  try {
    return limit(ahead);
  } catch (NumericalError const& error) {
    throw NumericalError(fmt::format("at t = {} s: {}", time, error.what()));
  }
}

/// What `auto` takes at most, whatever the outputs: in a step that is longer than 1/growth schemes
/// hardly follow what grows by itself, however stable they are.
double StepChoice::unbound(equations::StepLimit const& limit) const {
  double const stable = run_.time.safety * sharp(limit);
  return limit.growth > 0 ? std::min(stable, run_.time.safety / limit.growth) : stable;
}

double StepChoice::longest(double unbound) const {
  return std::min(unbound, longest_step(run_, follows_.equations_have_time));
}

/// The step that the file gives, held to a limit.
double StepChoice::given(double time, equations::StepLimit const& limit) const {
  double const step = std::min(*run_.time.step, output_interval(run_));
  if (is_over(step, limit.step) && is_implicit_)
    throw NumericalError(fmt::format("at t = {} s: {}", time, too_long(step, limit)));
  if (is_over(step, limit.step))
    throw NumericalError(
        fmt::format("at t = {} s the step of {} s is over the stability limit of {:.6g} s ({}); "
                    "'auto' follows the fields",
                    time, step, limit.step, describe(limit)));
  return step;
}

/// Of limits that change, powers of 2^(1/8), so that steps stay the same for a while.
double StepChoice::kept(double step) const {
  return follows_.state ? std::exp2(std::floor(8 * std::log2(step)) / 8) : step;
}

/// How many steps until the limit is found again. A jump, at the start or by an event, makes faster
/// waves than any that were there, within a few steps; where it is carried from upwind, nothing but
/// the limit holds them. So it is with what follows from fields on sides, which may be far from
/// where it tends to. Where the limit fell in the last steps it may fall on: for each eighth of a
/// power of 2 that `kept` let it fall by, half as many; and from however far above the step it
/// falls, no more than until it meets that.
std::int64_t StepChoice::steps_between(double time, Choice const& choice,
                                       std::optional<double> last_event) const {
  double const step = choice.step;
  std::int64_t most = follows_.steps_between;
  if (space_of(run_).convection != equations::Convection::central || !system_of(run_).sides.empty())
    most = std::min<std::int64_t>(most, 8);
  std::int64_t since = clock_.now().step;
  if (last_event) since = std::min<std::int64_t>(since, std::llround((time - *last_event) / step));
  most = std::min(most, since);
  if (step_ == 0) return 1;
  std::int64_t const before = clock_.steps_of_leg();
  double const ratio = step / step_;
  if (ratio < 1)
    most = std::min<std::int64_t>(most,
                                  std::llround(static_cast<double>(before) * std::pow(ratio, 8)));
  else if (ratio > 1.1)  // by more than one such part
    most = 1;
  else if (!clock_.at_moment())
    most = std::min(most, 2 * before);
  most = static_cast<std::int64_t>(std::min(static_cast<double>(most), steps_until_met(choice)));
  return std::max<std::int64_t>(most, 1);
}

/// How many steps until the limit is no longer than they are, if it falls on at the rate of the last
/// ones.
double StepChoice::steps_until_met(Choice const& choice) const {
  double const step = choice.step, limit = choice.limit;
  if (!(limit < limit_)) return std::numeric_limits<double>::infinity();
  double const time = static_cast<double>(clock_.steps_of_leg()) * clock_.step();
  double const rate = std::log(limit_ / limit) / time;  // infinite from an infinite one
  return std::log(limit / step) / rate / step;
}

/// Makes steps fewer, and then shorter, until they are stable for all that the time makes of the
/// equations in them.
void StepChoice::look_ahead(double time, double& step, std::int64_t& steps) const {
  while (true) {
    auto const ahead = limit_at(time, {time, step, steps});
    if (ahead.hopeless) throw NumericalError(fmt::format("at t = {} s: {}", time, hopeless()));
    double const stable = run_.time.step ? given(time, ahead) : kept(longest(unbound(ahead)));
    if (stable >= step) return;
    if (steps == 1) step = stable;
    steps = 1;
  }
}

std::string StepChoice::describe(equations::StepLimit const& limit) const {
  if (is_implicit_)
    return fmt::format("{}, for what is explicit, with rates of up to {:.4g} 1/s", run_.time.scheme,
                       limit.fastest);
  return fmt::format("{}, with rates of up to {:.4g} 1/s", run_.time.scheme, limit.fastest);
}

std::string StepChoice::too_long(double step, equations::StepLimit const& limit) const {
  return fmt::format(
      "the step of {} s is over the stability limit of {:.6g} s ({}; implicit are the diffusion "
      "and "
      "the decay of each field by itself)",
      step, limit.step, describe(limit));
}

std::string StepChoice::hopeless() const {
  if (is_leapfrog(run_))
    return "leapfrog is not stable for what these equations do: what they make of waves is not "
           "real and negative (rk4 takes them)";
  if (is_implicit_)
    return fmt::format(
        "{} is not stable for what is explicit in these equations, whatever the step (it has waves "
        "that are hardly damped, as central differences make of what is carried along, and as "
        "fields "
        "that diffuse by each other's gradients have; 'space: {{convection: upwind}}' damps the "
        "former, and rk4 takes all explicitly)",
        run_.time.scheme);
  return fmt::format(
      "{} is not stable for what these equations do, whatever the step (they have waves that are "
      "hardly damped); ssprk3 and rk4 take them",
      run_.time.scheme);
}

}  // namespace gridstride::pde

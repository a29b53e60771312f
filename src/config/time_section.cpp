#include "config/time_section.hpp"

#include <string_view>
#include <vector>

namespace gridstride::config {
namespace {

/// A number of seconds, `auto`, or `adaptive` where the simulation can.
void declare_step(Visitor& visitor, TimeOptions& time, bool adapts) {
  Spec spec = {.name = "step",
               .unit = "s",
               .documentation =
                   "Time step; `auto` is `safety` times the stability limit, or times a shorter "
                   "one that the scheme needs to be accurate, at most the time between outputs, a "
                   "tenth of it where formulas depend on time.",
               .minimum = 0,
               .exclusive_minimum = true};
  if (!adapts) return visitor.visit(spec, time.step, "auto");
  double step = time.step.value_or(required_number);
  Form const forms[] = {
      {.word = "auto",
       .documentation =
           "`safety` times the stability limit, or times a shorter one that the "
           "scheme needs to be accurate, at most the time between outputs, a tenth of it "
           "where formulas depend on time."},
      {.word = "adaptive",
       .documentation = "As long as the error that a step makes stays within `tolerance`; at most "
                        "as `auto` without a stability limit."},
      {.kind = Form::Kind::scalar, .body = [&](Visitor& v) {
         spec.documentation = "Of this length, but for those that are shortened to meet an output.";
         v.visit(spec, step);
       }}};
  enum { automatic, adaptive, number };
  int chosen = time.step ? number : time.adaptive ? adaptive : automatic;
  visitor.forms({.name = "step", .unit = "s", .documentation = "Time step."}, Presence::optional,
                forms, chosen);
  time.adaptive = chosen == adaptive;
  time.step.reset();
  if (chosen == number) time.step = step;
}

/// One number for both parts, or each by its name.
void declare_step_tolerance(Visitor& visitor, TimeOptions& time) {
  StepTolerance const before = time.tolerance.value_or(StepTolerance{});
  double both = required_number, relative = required_number, absolute = required_number;
  if (time.tolerance) both = relative = before.relative, absolute = before.absolute;
  auto const part = [](Visitor& v, std::string_view name, std::string_view documentation,
                       double& value) {
    Spec spec = {
        .name = name, .documentation = documentation, .minimum = 0, .exclusive_minimum = true};
    if (name != "absolute") spec.maximum = 1;
    v.visit(spec, value);
  };
  Form const forms[] = {
      {.kind = Form::Kind::scalar,
       .body = [&](Visitor& v) { part(v, "tolerance", "Both, in the fields' units.", both); }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) {
         part(v, "relative", "The part that goes with |u|.", relative);
         part(v, "absolute", "The part that does not, in the fields' units.", absolute);
       }}};
  enum { none = -1, one, each };
  int chosen = !time.tolerance ? none : before.relative == before.absolute ? one : each;
  visitor.forms({.name = "tolerance",
                 .documentation = "The largest error that an `adaptive` step may make at a point: "
                                  "absolute + relative |u|; 1e-6 for both when left out."},
                Presence::optional, forms, chosen);
  time.tolerance.reset();
  if (chosen == one) time.tolerance = StepTolerance{both, both};
  if (chosen == each) time.tolerance = StepTolerance{relative, absolute};
  if (chosen != none && !time.adaptive)
    visitor.fault("tolerance", "is that of steps that follow their error (`step: adaptive`)");
}

}  // namespace

void declare_time(Visitor& visitor, TimeOptions& time, SimulationInfo const& simulation) {
  std::vector<Choice> schemes;
  for (std::string_view const name : simulation.schemes) schemes.push_back({name});
  visitor.section(
      {.name = "time", .documentation = "How the run goes through time."}, [&](Visitor& v) {
        if (!schemes.empty())
          v.choice({.name = "scheme", .documentation = "Time integration scheme."}, schemes,
                   time.scheme);
        v.visit({.name = "end",
                 .unit = "s",
                 .documentation = "The time at which the run ends; it begins at 0.",
                 .minimum = 0,
                 .exclusive_minimum = true},
                time.end);
        declare_step(v, time, simulation.adapts_steps);
        time.step_location = v.locate("step");
        if (simulation.adapts_steps) declare_step_tolerance(v, time);
        v.visit(
            {.name = "safety",
             .documentation = simulation.adapts_steps
                                  ? "What part of its limit an `auto` step is, and of the longest "
                                    "one with an error of `tolerance` an `adaptive` step."
                                  : "What part of its limit an `auto` step is.",
             .minimum = 0,
             .maximum = 1,
             .exclusive_minimum = true},
            time.safety);
      });
}

}  // namespace gridstride::config

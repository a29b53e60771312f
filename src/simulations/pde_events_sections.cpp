#include "simulations/pde_events_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "expression/lexer.hpp"
#include "model/step_clock.hpp"

namespace gridstride::pde {
namespace {

using config::SourceText;
using config::Spec;
using config::Visitor;
using equations::Ranked;
using equations::System;
using equations::Unknown;

constexpr std::int64_t most_times = 1000;

void declare_stop(Visitor& visitor, StopOptions& stop) {
  bool const given = visitor.given("stop");
  visitor.section(
      {.name = "stop",
       .documentation = "What ends the run before `time.end`, the first of both that holds. Tested "
                        "after every 32nd step, and where steps end "
                        "at a moment of outputs, checkpoints or events."},
      [&](Visitor& v) {
        v.visit({.name = "steady",
                 .documentation = "The largest |du/dt| of all fields at all points, but for those "
                                  "that sides hold, is below it.",
                 .minimum = 0,
                 .exclusive_minimum = true},
                stop.steady, "");
        v.text({.name = "when",
                .documentation = "A condition on the time and on `min`, `max`, `mean` and "
                                 "`integral` of formulas of the fields, as `min(h) < 1e-6`: a "
                                 "formula that is not 0 where it holds."},
               {.meaning = "a condition"}, stop.when);
        if (given && !v.given("steady") && !v.given("when"))
          v.fault("", "says nothing that ends the run ('steady' or 'when')");
      });
}

void declare_event(Visitor& visitor, EventOptions& event) {
  visitor.list({.name = "at",
                .unit = "s",
                .documentation = "When: a time after 0, at the end at the latest, or a list.",
                .minimum = 0,
                .exclusive_minimum = true},
               {.minimum = 1, .maximum = most_times}, event.at);
  for (std::size_t i = 0; i < event.at.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (auto const [first, last] = std::minmax(event.at[i], event.at[j]);
          last <= first + time_rounding(first))
        visitor.fault(fmt::format("at.{}", i), fmt::format("{} s is given twice", event.at[i]));
  visitor.named<SourceText>(
      {.name = "set",
       .documentation = "New values of fields, by their names: formulas as those of equations, in "
                        "which all fields have the values of before."},
      config::Presence::required, event.set, [&](Spec const& spec, SourceText& text) {
        visitor.source({.name = spec.name, .documentation = "The field's new values."}, text);
      });
}

/// Throws `ParseError` for what is no value of a field.
void check_rank(Unknown const& field, Ranked const& value) {
  int const rank = field.is_vector ? 1 : 0;
  if (value.rank != rank)
    expression::fail_at(
        value.begin,
        fmt::format("'{}' is {}, but it is set to {}", field.name, equations::noun_of_rank(rank),
                    equations::noun_of_rank(value.rank)),
        rank == 1 ? "a vector of components is written [a, b]" : "");
}

/// Throws `ParseError` for what is no condition.
void check_condition(System const& system, Ranked const& value) {
  if (value.rank > 0)
    expression::fail_at(value.begin, fmt::format("a condition is a scalar, here is {}",
                                                 equations::noun_of_rank(value.rank)));
  if (!system.terms.is_uniform(value.terms[0]))
    expression::fail_at(value.begin, "the condition differs from point to point",
                        "it is made of min, max, mean and integral of formulas, and of t");
}

}  // namespace

void EventSections::declare(Visitor& visitor) {
  declare_stop(visitor, stop);
  listed_ = visitor.given("events.0");
  visitor.items<EventOptions>(
      {.name = "events", .documentation = "Fields that are set anew at some moments, in order."},
      events, [&](Spec const& spec, EventOptions& event) {
        visitor.section(spec, [&](Visitor& v) { declare_event(v, event); });
      });
}

std::vector<EventSections::Place> EventSections::places() const {
  std::vector<Place> places;
  for (std::size_t i = 0; i < events.size(); ++i)
    for (auto const& [field, text] : events[i].set)
      places.push_back({fmt::format("{}.set.{}", key_of_event(i), field), i, field, text});
  if (!stop.when.empty()) places.push_back({"stop.when", {}, "when", {{stop.when}, false}});
  return places;
}

bool EventSections::check(Visitor& visitor,
                          std::function<bool(std::string const&)> const& is_field) const {
  bool right = true;
  for (Place const& place : places()) {
    if (place.event && !is_field(place.field)) {
      visitor.fault(place.key, fmt::format("there is no field '{}'", place.field));
      right = false;
    }
    right &= !place.text.texts.empty();
  }
  return right;
}

void EventSections::understand(
    Visitor& visitor, System const& system,
    std::function<std::optional<Ranked>(std::string const& key,
                                        equations::Definition const& text)> const& read) {
  for (Place const& place : places()) {
    auto const value = read(place.key, {place.field, place.text.texts, place.text.listed});
    if (!value) continue;
    auto const field = std::ranges::find(system.unknowns, place.field, &Unknown::name);
    try {
      if (place.event)
        check_rank(*field, *value);
      else
        check_condition(system, *value);
    } catch (expression::ParseError const& error) {
      visitor.fault(place.key, error);
      continue;
    }
    if (!place.event) {
      stop.condition = value->terms[0];
      continue;
    }
    for (int c = 0; c < field->components; ++c)
      events[*place.event].values.emplace_back(field->first + c,
                                               value->terms[static_cast<std::size_t>(c)]);
  }
}

}  // namespace gridstride::pde

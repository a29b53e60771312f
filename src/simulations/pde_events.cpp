#include "simulations/pde_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "model/step_clock.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_values.hpp"

namespace gridstride::pde {

equations::Stencil event_stencil(config::RunConfig const& run, std::size_t event) {
  std::vector<equations::Term> terms;
  for (auto const& assignment : parameters_of(run).sections.events[event].values)
    terms.push_back(assignment.second);
  return value_stencil(run, std::move(terms));
}

template <class T>
Events<T>::Events(Stream const& stream, config::RunConfig const& run)
    : stream_(stream), run_(run), events_(parameters_of(run).sections.events) {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    auto const stencil = event_stencil(run, i);
    programs_.push_back(
        {equations::program_of(stencil.terms, stencil.rates, run.grid.dims),
         GlobalFinder<T>(stream, run.grid, wraps_of(run), stencil.terms, stencil.operands)});
  }
  if (!events_.empty())
    moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, equations::max_components);
}

template <class T>
double Events<T>::latest(double time) {
  return time + time_rounding(time);
}

template <class T>
double Events<T>::next(double time) const {
  double first = std::numeric_limits<double>::infinity();
  for (EventOptions const& event : events_)
    for (double const at : event.at)
      if (at > latest(time)) first = std::min(first, at);
  return first;
}

template <class T>
std::optional<double> Events<T>::last(double time) const {
  std::optional<double> last;
  for (EventOptions const& event : events_)
    for (double const at : event.at)
      if (at <= latest(time)) last = std::max(at, last.value_or(at));
  return last;
}

template <class T>
void Events<T>::apply(double before, double now, std::function<Moment<T>()> const& moment,
                      std::span<T* const> state) {
  for (std::size_t const event : due_events(before, now)) set(event, moment(), state);
}

template <class T>
std::vector<std::size_t> Events<T>::due_events(double before, double now) const {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < events_.size(); ++i)
    if (std::ranges::any_of(events_[i].at,
                            [&](double at) { return at > latest(before) && at <= latest(now); }))
      due.push_back(i);
  return due;
}

template <class T>
std::vector<std::size_t> Events<T>::components(std::size_t event) const {
  std::vector<std::size_t> components;
  for (auto const& value : events_[event].values)
    components.push_back(static_cast<std::size_t>(value.first));
  return components;
}

template <class T>
void Events<T>::refuse(std::size_t event, double time, std::int64_t point) const {
  throw NumericalError(fmt::format("at t = {} s: what {} gives is not finite at {}", time,
                                   parameters_of(run_).sections.key_of_event(event),
                                   format_place(run_.grid, point)));
}

template <class T>
void Events<T>::set(std::size_t event, Moment<T> const& moment, std::span<T* const> state) {
  auto const& values_set = events_[event].values;
  auto& [program, globals] = programs_[event];
  auto const size = static_cast<std::size_t>(run_.grid.size());
  auto const variant = evaluating_variant(run_);
  globals.find(moment.inputs, moment.clock, 0, std::span(moment.spare.front(), size), variant);
  system::advance(stream_, moment.evaluation(program, run_.grid, globals.values()), variant);
  for (std::size_t r = 0; r < values_set.size(); ++r) {
    auto const component = static_cast<std::size_t>(values_set[r].first);
    std::span<T> const values(state[component], size);
    copy_async(values, std::span<T const>(moment.spare[r], size), stream_);
    system::impose_sides<T>(stream_, run_.grid, moment.inputs[component].sides, values.data());
    reduce::moments<T>(stream_, std::span<T const>(values), moments_.span().subspan(r, 1));
  }
  std::vector<reduce::Moments<T>> found(values_set.size());
  copy_async(std::span(found), std::as_const(moments_).span().first(found.size()), stream_);
  stream_.synchronize();
  for (auto const& one : found)
    if (one.first_non_finite >= 0) refuse(event, moment.time, one.first_non_finite);
}

template class Events<float>;
template class Events<double>;

}  // namespace gridstride::pde

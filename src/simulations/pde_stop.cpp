#include "simulations/pde_stop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/rank_sums.hpp"
#include "core/ranks.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_values.hpp"

namespace gridstride::pde {

equations::Stencil condition_stencil(config::RunConfig const& run) {
  return value_stencil(run, {parameters_of(run).sections.stop.condition});
}

template <class T>
StopTest<T>::StopTest(Stream const& stream, config::RunConfig const& run)
    : stream_(stream), run_(run), options_(parameters_of(run).sections.stop) {
  if (options_.steady)
    moments_ = Buffer<reduce::Moments<T>>(stream_, MemorySpace::device, equations::max_components);
  if (options_.condition < 0) return;
  condition_ = condition_stencil(run);
  globals_.emplace(stream, run.grid, wraps_of(run), condition_->terms, condition_->operands);
}

/// Of the evaluation's planes some are the own ones, whose moments are found.
template <class T>
void StopTest<T>::queue_rates(system::Step<T> step, Planes const& own, std::int64_t first) {
  step.prepared = &prepared_;
  system::advance(stream_, step, evaluating_variant(run_));
  std::int64_t const line = run_.grid.face_size(run_.grid.dims - 1);
  for (std::size_t c = 0; c < step.outputs.size(); ++c) {
    T* const rates = step.outputs[c].values;
    auto held = step.inputs[c];  // at zero
    for (auto& sides : held.sides)
      for (auto& side : sides) side.g = nullptr;
    system::impose_sides<T>(stream_, step.grid, held.sides, rates);
    reduce::moments<T>(stream_,
                       std::span<T const>(rates + (own.lower - first) * line,
                                          static_cast<std::size_t>(own.count() * line)),
                       moments_.span().subspan(c, 1));
  }
}

namespace {

/// What ranks have found of the fields of a state, of which each has values from `first` on, and knows
/// the numbers of those that are not finite among its own.
template <class T>
void join_moments(std::span<reduce::Moments<T>> found, std::int64_t first) {
  auto const count = std::ssize(found);
  std::vector<reduce::Moments<T>> all(found.size() * static_cast<std::size_t>(ranks().count()));
  for (auto& one : found)
    if (one.first_non_finite >= 0) one.first_non_finite += first;
  std::ranges::copy(found, all.begin() + ranks().rank() * count);
  RankCuts cuts;
  for (int rank = 0; rank <= ranks().count(); ++rank) cuts.push_back(rank * count);
  share_parts(ranks(), std::span(all), cuts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& joined = found[i % found.size()];
    joined.minimum = std::min(joined.minimum, all[i].minimum);
    joined.maximum = std::max(joined.maximum, all[i].maximum);
    auto const place = all[i].first_non_finite;
    if (place >= 0 && (joined.first_non_finite < 0 || place < joined.first_non_finite))
      joined.first_non_finite = place;
  }
}

}  // namespace

template <class T>
double StopTest<T>::largest_rate(std::size_t components, double time, std::int64_t before,
                                 bool by_ranks) {
  std::vector<reduce::Moments<T>> found(components);
  copy_async(std::span(found), std::as_const(moments_).span().first(found.size()), stream_);
  stream_.synchronize();
  if (by_ranks) join_moments(std::span(found), before);
  double largest = 0;
  for (auto const& one : found) {
    if (one.first_non_finite >= 0)
      throw NumericalError(fmt::format("at t = {} s: a rate of change is not finite at {}", time,
                                       format_place(run_.grid, one.first_non_finite)));
    largest = std::max({largest, std::abs(static_cast<double>(one.minimum)),
                        std::abs(static_cast<double>(one.maximum))});
  }
  return largest;
}

/// By the values that were found.
template <class T>
bool StopTest<T>::holds(double time) {
  auto const found = globals_->on_host();
  if (!std::ranges::all_of(found, [](double value) { return std::isfinite(value); }))
    throw NumericalError(
        fmt::format("at t = {} s: a value in stop.when is not finite somewhere", time));
  return value_of(condition_->terms, condition_->rates.front(), time, found) != 0;
}

template <class T>
std::string StopTest<T>::reason_of(double time, std::function<double()> const& largest_rate,
                                   std::function<void()> const& find_values) {
  if (options_.steady) {
    double const largest = largest_rate();
    if (largest < *options_.steady)
      return fmt::format("the largest |du/dt| of {:.4g} is below {}", largest, *options_.steady);
  }
  if (!condition_) return {};
  find_values();
  return holds(time) ? fmt::format("{} holds", options_.when) : std::string();
}

template <class T>
std::string StopTest<T>::reason(equations::StencilProgram const& rates, double const* found,
                                Moment<T> const& moment) {
  auto const largest = [&] {
    auto const step = moment.evaluation(rates, run_.grid, found);
    queue_rates(step, {0, run_.grid.points[static_cast<std::size_t>(run_.grid.dims - 1)]}, 0);
    return largest_rate(step.outputs.size(), moment.time, 0, false);
  };
  return reason_of(moment.time, largest, [&] {
    std::span<T> const scratch(moment.spare.front(), static_cast<std::size_t>(run_.grid.size()));
    globals_->find(moment.inputs, moment.clock, 0, scratch, evaluating_variant(run_));
  });
}

template <class T>
std::string StopTest<T>::reason(equations::StencilProgram const& rates, double const* found,
                                MomentPlanes<T> const& moment) {
  auto const largest = [&] {
    auto const step = moment.evaluation(rates, found);
    queue_rates(step, moment.own.own, moment.own.first);
    return largest_rate(step.outputs.size(), moment.time,
                        moment.own.own.lower * run_.grid.face_size(run_.grid.dims - 1), true);
  };
  return reason_of(moment.time, largest, [&] {
    std::span<T> const scratch(moment.spare.front(),
                               static_cast<std::size_t>(moment.step.grid.size()));
    globals_->find(moment.step, moment.own, scratch, evaluating_variant(run_));
  });
}

template class StopTest<float>;
template class StopTest<double>;

}  // namespace gridstride::pde

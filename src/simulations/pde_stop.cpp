#include "simulations/pde_stop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
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

template <class T>
void StopTest<T>::queue_rates(equations::StencilProgram const& rates, double const* found,
                              Moment<T> const& moment) {
  auto step = moment.evaluation(rates, run_.grid, found);
  step.prepared = &prepared_;
  system::advance(stream_, step, evaluating_variant(run_));
  auto const size = static_cast<std::size_t>(run_.grid.size());
  for (std::size_t c = 0; c < moment.spare.size(); ++c) {
    auto held = moment.inputs[c];  // at zero
    for (auto& sides : held.sides)
      for (auto& side : sides) side.g = nullptr;
    system::impose_sides<T>(stream_, run_.grid, held.sides, moment.spare[c]);
    reduce::moments<T>(stream_, std::span<T const>(moment.spare[c], size),
                       moments_.span().subspan(c, 1));
  }
}

template <class T>
double StopTest<T>::largest_rate(Moment<T> const& moment) {
  std::vector<reduce::Moments<T>> found(moment.spare.size());
  copy_async(std::span(found), std::as_const(moments_).span().first(found.size()), stream_);
  stream_.synchronize();
  double largest = 0;
  for (auto const& one : found) {
    if (one.first_non_finite >= 0)
      throw NumericalError(fmt::format("at t = {} s: a rate of change is not finite at {}",
                                       moment.time, format_place(run_.grid, one.first_non_finite)));
    largest = std::max({largest, std::abs(static_cast<double>(one.minimum)),
                        std::abs(static_cast<double>(one.maximum))});
  }
  return largest;
}

template <class T>
bool StopTest<T>::holds(Moment<T> const& moment) {
  std::span<T> const scratch(moment.spare.front(), static_cast<std::size_t>(run_.grid.size()));
  globals_->find(moment.inputs, moment.clock, 0, scratch, evaluating_variant(run_));
  auto const found = globals_->on_host();
  if (!std::ranges::all_of(found, [](double value) { return std::isfinite(value); }))
    throw NumericalError(
        fmt::format("at t = {} s: a value in stop.when is not finite somewhere", moment.time));
  return value_of(condition_->terms, condition_->rates.front(), moment.time, found) != 0;
}

template <class T>
std::string StopTest<T>::reason(equations::StencilProgram const& rates, double const* found,
                                Moment<T> const& moment) {
  if (options_.steady) {
    queue_rates(rates, found, moment);
    double const largest = largest_rate(moment);
    if (largest < *options_.steady)
      return fmt::format("the largest |du/dt| of {:.4g} is below {}", largest, *options_.steady);
  }
  if (condition_ && holds(moment)) return fmt::format("{} holds", options_.when);
  return {};
}

template class StopTest<float>;
template class StopTest<double>;

}  // namespace gridstride::pde

#include "simulations/advection_look_ahead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/ranks.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/bricks.hpp"
#include "model/out_of_core.hpp"
#include "model/step_clock.hpp"
#include "model/values.hpp"

namespace gridstride::advection {

namespace {

constexpr std::int64_t most_steps = 32;
constexpr int times_between = 16;  // that `auto` looks at beside those of the stages
constexpr std::size_t most_samples = 2 * most_steps + 1 + times_between;

/// The times of the stages of so many steps, in steps.
std::vector<double> stage_times(Scheme const& scheme, std::int64_t steps) {
  std::vector<double> times;
  for (std::int64_t step = 0; step < steps; ++step)
    for (Stage const& stage : scheme.stages)
      times.push_back(static_cast<double>(step) + stage.time);
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  return times;
}

/// Times spread over so many steps that have nothing in common with them: parts of the golden
/// ratio.
void add_times_between(std::vector<double>& times, std::int64_t steps) {
  constexpr double golden = 0.6180339887498949;
  for (int i = 1; i <= times_between; ++i)
    times.push_back(static_cast<double>(steps) * (i * golden - std::floor(i * golden)));
}

/// The next of a row of speeds that differ by factors of 2^(1/8), at least as large. Numbers that
/// are likely lie between two of them, where the last bit decides nothing.
double round_up(double speed) {
  if (speed == 0) return 0;
  constexpr double shift = 1.0 / 3;
  double const place = std::ceil(std::log2(speed) * 8 - shift) + shift;
  double const rounded = std::exp2(place / 8);
  return rounded >= speed ? rounded : std::exp2((place + 1) / 8);
}

template <class T>
double largest_magnitude(reduce::Moments<T> const& moments) {
  return std::max(std::abs(static_cast<double>(moments.minimum)),
                  std::abs(static_cast<double>(moments.maximum)));
}

/// Each becomes what is known of all ranks' values: the least and the greatest, which have no
/// rounding, and whether all are finite.
template <class T>
void join(Ranks& ranks, std::vector<reduce::Moments<T>>& found) {
  auto const bytes = std::as_writable_bytes(std::span(found));
  if (!ranks.is_first()) {
    RankMessage const message{0, 0, bytes};
    ranks.exchange({&message, 1}, {});
  }
  std::vector<reduce::Moments<T>> other(found.size());
  for (int rank = 1; ranks.is_first() && rank < ranks.count(); ++rank) {
    RankMessage const message{rank, 0, std::as_writable_bytes(std::span(other))};
    ranks.exchange({}, {&message, 1});
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].minimum = std::min(found[i].minimum, other[i].minimum);
      found[i].maximum = std::max(found[i].maximum, other[i].maximum);
      found[i].first_non_finite = std::max(found[i].first_non_finite, other[i].first_non_finite);
    }
  }
  ranks.broadcast(bytes);
}

}  // namespace

template <class T>
LookAhead<T>::LookAhead(config::RunConfig const& run, Inputs const& inputs, Device const& device,
                        std::optional<Brick> const& own)
    : stream_(device),
      grid_(run.grid),
      own_(own),
      part_(own ? part_of(extents_of(grid_, *own)) : grid_),
      scheme_(scheme_of(run)),
      reduce_variant_(run.kernels.at("reduce")),
      safety_(run.time.safety),
      longest_(longest_step(run, true)),
      clock_(stream_, MemorySpace::device, 1),
      values_(stream_, MemorySpace::device, static_cast<std::size_t>(part_.size())),
      moments_(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.dims) * most_samples) {
  if (run.time.step) step_ = found_by_first(run, [&] { return time_step(run, inputs); });
  auto const& velocities = parameters_of(run).velocity;
  bool const has_files = std::ranges::any_of(
      velocities, [](auto const& component) { return !component.file.empty(); });
  if (has_files) steady_speeds_ = shared_speeds(run, inputs);
  for (int axis = 0; axis < grid_.dims; ++axis) {
    auto const& source = velocities[static_cast<std::size_t>(axis)];
    if (!source.file.empty()) continue;
    auto const& velocity = source.formula.expression;
    auto formula = velocity;
    for (int cut = grid_.dims - 1; cut >= 0; --cut)
      if (is_cut(cut)) formula = evaluate::by_index(formula, grid_, cut);
    Component component{axis, evaluate::Program(stream_, formula, run.kernels.at("evaluate"))};
    if (velocity.depends_on(expression::time_variable)) {
      components_.push_back(std::move(component));
      continue;
    }
    evaluate::set_clock(stream_, clock_.data(), samples_clock_);
    queue(component, 0, 0);
    fetch(1);
    steady_speeds_[axis] = largest_magnitude(found_[0]);
  }
  begin(std::min(step_.value_or(longest_), run.time.end));
}

/// Speeds of time 0 alone would be 0, or a rounding, where the flow is about to begin.
template <class T>
void LookAhead<T>::begin(double step) {
  times_ = stage_times(*scheme_.in_time, 1);
  add_times_between(times_, 1);
  sample(0, {step, 1});
  first_speeds_ = largest_speeds();
}

template <class T>
StepPlan LookAhead<T>::plan(double time, double until) {
  return step_ ? keep(time, until) : follow(time, until);
}

/// Steps that the velocity allows: as long as those before would be, or shorter, until they are
/// short enough for what they meet.
template <class T>
StepPlan LookAhead<T>::follow(double time, double until) {
  auto const allowed = [this] {
    return std::min(longest_, safety_ * limit_of_auto(scheme_, grid_, speeds_));
  };
  for (double step = allowed();; step = allowed()) {
    StepPlan plan = equal_steps(step)(time, until);
    if (plan.steps > most_steps) plan = {step, most_steps};
    times_ = stage_times(*scheme_.in_time, plan.steps);
    add_times_between(times_, plan.steps);
    sample(time, plan);
    require_finite();
    speeds_ = largest_speeds();
    if (step <= allowed()) return plan;
  }
}

/// Steps of the given length, if all of their stages are stable.
template <class T>
StepPlan LookAhead<T>::keep(double time, double until) {
  StepPlan plan = whole_steps(*step_)(time, until);
  plan.steps = std::min(plan.steps, most_steps);
  times_ = stage_times(*scheme_.in_time, plan.steps);
  sample(time, plan);
  require_finite();
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (is_over(plan.step, advect::step_limit(scheme_.flux, grid_, speeds_at(i)))) refuse(i);
  speeds_ = largest_speeds();
  return plan;
}

/// The components at `times_`, in `found_`.
template <class T>
void LookAhead<T>::sample(double time, StepPlan const& plan) {
  samples_clock_ = {time, plan.step, 0};
  evaluate::set_clock(stream_, clock_.data(), samples_clock_);
  if (plan.steps < most_steps) {
    queue_samples();
  } else {
    if (!graph_) graph_ = Graph::capture(stream_, [this] { queue_samples(); });
    graph_.launch(stream_);
  }
  fetch(times_.size() * components_.size());
}

template <class T>
void LookAhead<T>::require_finite() {
  for (std::size_t i = 0; i < found_.size(); ++i)
    if (found_[i].first_non_finite >= 0)
      throw NumericalError(
          describe(components_[i % components_.size()], times_[i / components_.size()]) +
          " (a velocity is finite)");
}

template <class T>
void LookAhead<T>::queue_samples() {
  std::size_t place = 0;
  for (double const time : times_)
    for (Component const& component : components_) queue(component, time, place++);
}

/// A component's moments at a time, to a place of `moments_`.
template <class T>
void LookAhead<T>::queue(Component const& component, double time, std::size_t place) {
  evaluate::evaluate(stream_, component.program, part_, clock_.data(), time, values_.span());
  reduce::moments<T>(stream_, std::as_const(values_).span(), moments_.span().subspan(place, 1),
                     reduce_variant_);
}

template <class T>
void LookAhead<T>::fetch(std::size_t count) {
  found_.resize(count);
  copy_async(std::span(found_), moments_.span().first(count), stream_);
  stream_.synchronize();
  if (own_) join(ranks(), found_);
}

template <class T>
bool LookAhead<T>::is_cut(int axis) const {
  if (!own_ || axis >= grid_.dims) return false;
  if (axis == grid_.dims - 1) return true;
  return own_->strips[static_cast<std::size_t>(grid_.dims - 2 - axis)].count() > 0;
}

/// Some points of the grid, for programs of a grid that is shared.
template <class T>
Grid LookAhead<T>::part_of(std::array<Planes, 3> const& extents) const {
  Grid part = grid_;
  for (int axis = 0; axis < grid_.dims; ++axis) {
    if (!is_cut(axis)) continue;
    auto const a = static_cast<std::size_t>(axis);
    part.points[a] = extents[a].count();
    part.origin[a] = static_cast<double>(extents[a].lower);
    part.spacing[a] = 1;
  }
  return part;
}

/// The grid in parts no larger than that which this process looks at, whose values lie together.
template <class T>
std::vector<Grid> LookAhead<T>::all_parts() const {
  auto some = part_.points;
  for (std::size_t axis = 1; axis < 3; ++axis)
    if (is_cut(static_cast<int>(axis) - 1) || some[axis - 1] < grid_.points[axis - 1])
      some[axis] = 1;
  std::vector<Grid> parts;
  auto const& all = grid_.points;
  auto const planes = [&](std::size_t axis, std::int64_t first) {
    return Planes{first, std::min(first + some[axis], all[axis])};
  };
  for (std::int64_t k = 0; k < all[2]; k += some[2])
    for (std::int64_t j = 0; j < all[1]; j += some[1])
      for (std::int64_t i = 0; i < all[0]; i += some[0])
        parts.push_back(part_of({planes(0, i), planes(1, j), planes(2, k)}));
  return parts;
}

template <class T>
std::array<double, 3> LookAhead<T>::speeds_at(std::size_t sample) const {
  auto speeds = steady_speeds_;
  for (std::size_t i = 0; i < components_.size(); ++i)
    speeds[components_[i].axis] = largest_magnitude(found_[sample * components_.size() + i]);
  return speeds;
}

/// Of all samples, rounded up. What is not finite ends the run where a step is to take it.
template <class T>
std::array<double, 3> LookAhead<T>::largest_speeds() const {
  std::array<double, 3> largest{};
  for (std::size_t i = 0; i < times_.size(); ++i) {
    auto const speeds = speeds_at(i);
    for (int axis = 0; axis < grid_.dims; ++axis)
      if (std::isfinite(speeds[axis]))
        largest[axis] = std::max(largest[axis], round_up(speeds[axis]));
  }
  return largest;
}

template <class T>
void LookAhead<T>::refuse(std::size_t sample) {
  auto const speeds = speeds_at(sample);
  // Of the components that depend on time, the one that takes most of the limit.
  auto const& fastest = *std::ranges::max_element(components_, {}, [&](Component const& one) {
    return speeds[one.axis] / grid_.spacing[one.axis];
  });
  throw NumericalError(
      fmt::format("{}, where the step of {} s is over the stability limit of {:.6g} s ({} is "
                  "stable {}); 'auto' "
                  "follows the velocity",
                  describe(fastest, times_[sample]), samples_clock_.step_size,
                  advect::step_limit(scheme_.flux, grid_, speeds), scheme_.name, scheme_.limit));
}

/// What a component is at a time where it is fastest, or at the first point where it is no number.
template <class T>
std::string LookAhead<T>::describe(Component const& component, double time) {
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  std::size_t place = 0;
  for (Grid const& part : all_parts()) {
    auto const size = static_cast<std::size_t>(part.size());
    evaluate::evaluate(stream_, component.program, part, clock_.data(), time, values_.span());
    copy_async(std::span(values).subspan(place, size), std::as_const(values_).span().first(size),
               stream_);
    stream_.synchronize();
    place += size;
  }
  auto at = std::ranges::find_if_not(values, [](T value) { return std::isfinite(value); });
  if (at == values.end())
    at = std::ranges::max_element(values, {}, [](T value) { return std::abs(value); });
  return fmt::format("parameters.velocity.{} is {} m/s at t = {}, {}", axis_names[component.axis],
                     *at, samples_clock_.time(time), format_place(grid_, at - values.begin()));
}

template <class T>
void LookAhead<T>::save(CheckpointSink& sink) const {
  for (int axis = 0; axis < grid_.dims; ++axis)
    sink.put_real(fmt::format("speed/{}", axis_names[axis]), speeds_[axis]);
}

template <class T>
void LookAhead<T>::load(CheckpointSource const& source) {
  for (int axis = 0; axis < grid_.dims; ++axis)
    speeds_[axis] = source.get_real(fmt::format("speed/{}", axis_names[axis]));
}

template class LookAhead<float>;
template class LookAhead<double>;

}  // namespace gridstride::advection

#include "simulations/pde_slopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace gridstride::pde {

namespace {

constexpr std::int64_t most_attempts = 16;  // queued before the host looks

std::int64_t count_of(std::vector<double> const& weights) {
  return std::ranges::count_if(weights, [](double weight) { return weight != 0; });
}

template <class T>
void copy_sides(system::Sides<T> const& from, system::Sides<T>& to) {
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) to[axis][side] = from[axis][side];
}

}  // namespace

std::size_t error_control_bytes(Grid const& grid, std::size_t components) {
  return sizeof(system::StepControl) +
         static_cast<std::size_t>(system::error_parts(grid, components)) *
             sizeof(system::WorstError);
}

template <class T>
SlopeStepping<T>::SlopeStepping(config::RunConfig const& run, Stream const& stream,
                                Inputs const& inputs, std::vector<Row> rows, Scheme const& scheme,
                                SlopeScheme const* slopes,
                                std::optional<ErrorControl> const& control, StepRule rule)
    : Base(run, stream, inputs, std::move(rows), scheme, std::move(rule)),
      slopes_(slopes),
      errors_(control),
      end_(run.time.end) {
  if (!errors_) return;
  control_.safety = errors_->safety;
  control_.longest = errors_->longest;
  control_.order = slopes_->error_order;
  device_control_ = Buffer<system::StepControl>(this->stream_, MemorySpace::device, 1);
  parts_ = Buffer<system::WorstError>(
      this->stream_, MemorySpace::device,
      static_cast<std::size_t>(system::error_parts(this->grid_, this->evolved_.size())));
}

template <class T>
Clock SlopeStepping<T>::clock() const {
  Clock clock = Base::clock();
  clock.rejected = control_.rejected;
  return clock;
}

template <class T>
std::vector<NamedValue> SlopeStepping<T>::diagnostics() const {
  if (!errors_) return {};
  return {
      {"time_step", control_.step > 0 ? control_.step : std::numeric_limits<double>::quiet_NaN()}};
}

template <class T>
void SlopeStepping<T>::advance(std::int64_t max_steps, double until) {
  if (!errors_) return Base::advance(max_steps, until);
  until = std::min(until, end_);
  if (max_steps <= 0 || !(control_.time < until)) return;
  if (control_.step == 0) control_.step = first_step();
  control_.target = until;
  control_.most_steps = control_.accepted + std::min(max_steps, std::int64_t{1} << 60);
  system::set_control(this->stream_, device_control_.data(), control_);
  while (control_.time < until && control_.accepted < control_.most_steps) {
    double const left = std::ceil((until - control_.time) / control_.step);
    auto const attempts =
        static_cast<std::int64_t>(std::clamp(left, 1.0, static_cast<double>(most_attempts)));
    queue_attempts(std::min<std::int64_t>(attempts, control_.most_steps - control_.accepted));
    copy_async(std::span(&control_, 1), std::as_const(device_control_).span(), this->stream_);
    this->stream_.synchronize();
    if (control_.failed) throw NumericalError(failure());
  }
  this->clock_.place(control_.accepted, control_.time, until);
}

template <class T>
void SlopeStepping<T>::queue_attempts(std::int64_t attempts) {
  auto const all = [this](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      system::begin_attempt(this->stream_, device_control_.data(), this->clock_.device());
      queue_stages(i > 0);
      find_error(slopes_->error, false);
      system::end_attempt(this->stream_, device_control_.data(), this->clock_.device(),
                          std::as_const(parts_).span());
      commit(device_control_.data());
    }
  };
  if (attempts == most_attempts && warm_) {
    if (!batch_) batch_ = Graph::capture(this->stream_, [all] { all(most_attempts); });
    batch_.launch(this->stream_);
  } else {
    all(attempts);
  }
  warm_ = true;
}

template <class T>
void SlopeStepping<T>::queue(std::int64_t steps) {
  if (slopes_ == nullptr) return Base::queue(steps);
  for (std::int64_t i = 0; i < steps; ++i) {
    queue_stages(i > 0);
    commit(nullptr);
    this->clock_.tick();
  }
}

/// All stages of a step, after which buffer 1 has the new state. The last slope of the step before
/// is the first one where the scheme has it so: the same bits, since it is that of the same state at
/// the same time.
template <class T>
void SlopeStepping<T>::queue_stages(bool has_first_slope) {
  if (is_leapfrog()) return queue_leapfrog(has_first_slope);
  bool const changes = this->state_.changes();
  bool first = true;
  for (SlopeStage const& stage : slopes_->stages) {
    bool const is_known = first && has_first_slope && slopes_->first_is_last();
    if (changes && !is_known) this->state_.refresh(stage.moment);
    if (!first) combine(stage.weights, stage.moment.time);
    if (!is_known) queue_rates(stage.moment, first ? 0 : 1, 2 + stage.slope);
    first = false;
  }
  if (slopes_->first_is_last()) return;
  if (changes) this->state_.refresh({.time = 1, .sides_at_time = true});
  combine(slopes_->weights, 1);
}

/// Velocity Verlet: the rates in buffer 1 go half a step ahead of the fields, then the other half.
template <class T>
void SlopeStepping<T>::queue_leapfrog(bool has_first_slope) {
  bool const changes = this->state_.changes();
  auto const half = first_rate();
  std::vector<system::Slopes<T>> fields(half), rates(half);
  for (std::size_t c = 0; c < half; ++c) {
    Array<T>&field = *this->evolved_[c], &rate = *this->evolved_[half + c];
    fields[c] = {.state = field.buffer(0), .value = field.buffer(1)};
    fields[c].slopes[0] = rate.buffer(1);
    rates[c] = {.state = rate.buffer(0), .value = rate.buffer(1)};
    rates[c].slopes[0] = rate.buffer(2);
    copy_sides<T>(sides_of(c), fields[c].sides);
    copy_sides<T>(sides_of(half + c), rates[c].sides);
  }
  auto const combine = [&](std::vector<system::Slopes<T>> const& components, double weight) {
    system::combine<T>(this->stream_, this->grid_, components, std::span<double const>(&weight, 1),
                       this->clock_.device());
  };
  auto const& moments = slopes_->stages;
  if (!has_first_slope) {
    if (changes) this->state_.refresh(moments.front().moment);
    queue_rates(moments.front().moment, 0, 2);
  }
  combine(rates, 0.5);
  if (changes) this->state_.refresh(moments.back().moment);
  combine(fields, 1);
  queue_rates(moments.back().moment, 1, 2);
  for (auto& one : rates) one.state = one.value;
  combine(rates, 0.5);
}

/// The components with the slopes that have a weight, which are `given`.
template <class T>
std::vector<system::Slopes<T>> SlopeStepping<T>::slopes_of(std::vector<double> const& weights,
                                                           std::vector<double>& given) {
  std::vector<system::Slopes<T>> components;
  for (std::size_t c = 0; c < this->evolved_.size(); ++c) {
    Array<T>& array = *this->evolved_[c];
    system::Slopes<T> one = {.state = array.buffer(0), .value = array.buffer(1)};
    copy_sides<T>(sides_of(c), one.sides);
    given.clear();
    for (std::size_t s = 0; s < weights.size(); ++s) {
      if (weights[s] == 0) continue;
      one.slopes[given.size()] = array.buffer(2 + slopes_->stages[s].slope);
      given.push_back(weights[s]);
    }
    components.push_back(one);
  }
  return components;
}

template <class T>
void SlopeStepping<T>::combine(std::vector<double> const& weights, double fraction) {
  std::vector<double> given;
  auto const components = slopes_of(weights, given);
  system::combine<T>(this->stream_, this->grid_, components, given, this->clock_.device());
  hold_sides(1, fraction);
}

template <class T>
void SlopeStepping<T>::find_error(std::vector<double> const& weights, bool of_state) {
  std::vector<double> given;
  auto components = slopes_of(weights, given);
  if (of_state)
    for (auto& one : components) one.value = one.state;
  system::worst_error<T>(this->stream_, this->grid_, components, given,
                         {errors_->tolerance.relative, errors_->tolerance.absolute},
                         this->clock_.device(), parts_.span());
}

template <class T>
void SlopeStepping<T>::commit(system::StepControl const* control) {
  std::vector<system::Taken<T>> taken;
  for (Array<T>* const array : this->evolved_) {
    taken.push_back({array->buffer(0), array->buffer(1)});
    if (int const last = slopes_->stages.back().slope; slopes_->first_is_last() && last != 0)
      taken.push_back({array->buffer(2), array->buffer(2 + last)});
  }
  system::commit<T>(this->stream_, taken, this->grid_.size(), control);
}

/// A hundredth of the time in which some value changes by as much as it is (Hairer, Nørsett and
/// Wanner, Solving Ordinary Differential Equations I, II.4), at most a tenth of the longest: the
/// attempts find the right one.
template <class T>
double SlopeStepping<T>::first_step() {
  Stage const& now = slopes_->stages.front().moment;
  evaluate::set_clock(this->stream_, this->clock_.device(), {control_.time, 1, 0});
  if (this->state_.changes()) this->state_.refresh(now);
  queue_rates(now, 0, 2);
  find_error({1}, true);
  std::vector<system::WorstError> parts(parts_.size());
  copy_async(std::span(parts), std::as_const(parts_).span(), this->stream_);
  this->stream_.synchronize();
  auto const worst = *std::ranges::max_element(parts, std::less<>());
  if (!std::isfinite(worst.value))
    throw NumericalError(
        fmt::format("at t = {} s the rate of {} is not finite at {}", control_.time,
                    this->evolved_[static_cast<std::size_t>(worst.component)]->row().name,
                    format_place(this->grid_, worst.point)));
  return std::min(0.01 / (errors_->tolerance.relative * std::max(worst.value, 0.0)),
                  0.1 * errors_->longest);
}

template <class T>
std::string SlopeStepping<T>::failure() const {
  auto const& worst = control_.worst;
  auto const& name = this->evolved_[static_cast<std::size_t>(worst.component)]->row().name;
  return fmt::format("at t = {} s steps of {:.3g} s are too short to go on: {} {} at {}",
                     control_.time, control_.step, name,
                     std::isfinite(worst.value) ? "changes too fast" : "is not finite",
                     format_place(this->grid_, worst.point));
}

template <class T>
double SlopeStepping<T>::values_per_update() const {
  if (slopes_ == nullptr) return Base::values_per_update();
  // Three combinations, the rates from the fields, and what is taken over.
  if (is_leapfrog()) return static_cast<double>(9 + 2 + 4) * static_cast<double>(first_rate());
  bool const keeps = slopes_->first_is_last();
  std::int64_t values = 0;
  for (std::size_t s = 0; s < slopes_->stages.size(); ++s) {
    values += s == 0 && keeps ? 0 : 2;
    values += s == 0 ? 0 : 2 + count_of(slopes_->stages[s].weights);
  }
  if (!keeps) values += 2 + count_of(slopes_->weights);
  if (errors_) values += 2 + count_of(slopes_->error);
  values += keeps ? 4 : 2;
  return static_cast<double>(values) * static_cast<double>(this->evolved_.size());
}

template <class T>
void SlopeStepping<T>::save(CheckpointSink& sink) const {
  Base::save(sink);
  if (!errors_) return;
  sink.put_real("adaptive/step", control_.step);
  sink.put_real("adaptive/error", control_.previous_error);
  sink.put_integer("adaptive/rejected", control_.rejected);
  sink.put_integer("adaptive/after_rejection", control_.after_rejection ? 1 : 0);
}

template <class T>
void SlopeStepping<T>::load(CheckpointSource const& source) {
  Base::load(source);
  if (!errors_) return;
  Clock const now = Base::clock();
  control_.time = now.time;
  control_.accepted = now.step;
  control_.step = source.get_real("adaptive/step");
  control_.previous_error = source.get_real("adaptive/error");
  control_.rejected = source.get_integer("adaptive/rejected");
  control_.after_rejection = source.get_integer("adaptive/after_rejection") != 0;
}

template class SlopeStepping<float>;
template class SlopeStepping<double>;

}  // namespace gridstride::pde

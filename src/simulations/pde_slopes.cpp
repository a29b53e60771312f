#include "simulations/pde_slopes.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace gridstride::pde {

namespace {

std::int64_t count_of(std::vector<double> const& weights) {
  return std::ranges::count_if(weights, [](double weight) { return weight != 0; });
}

}  // namespace

template <class T>
class SlopeStepping<T>::WholeGrid final : public StepPlace<T> {
 public:
  explicit WholeGrid(SlopeStepping& of) : of_(of) {}

  void within(bool, std::function<void()> const& work) override { work(); }
  Grid const& grid() const override { return of_.grid_; }
  T* buffer(int number, std::size_t component) override {
    return of_.evolved_[component]->buffer(number);
  }
  void copy_sides(std::size_t component, system::Sides<T>& to) override {
    auto const& from = of_.sides_of(component);
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) to[axis][side] = from[axis][side];
  }
  void refresh(Stage const& moment) override {
    if (of_.state_.changes()) of_.state_.refresh(moment);
  }
  void queue_rates(Stage const& moment, int in, int out, std::size_t) override {
    of_.queue_rates(moment, in, out);
  }
  void hold_sides(int number, double fraction) override { of_.hold_sides(number, fraction); }
  bool keeps_slopes() const override { return true; }
  void find_worst(std::vector<system::Slopes<T>> components, std::span<double const> weights,
                  system::ErrorScale scale, evaluate::DeviceClock const* clock,
                  std::span<system::WorstError> parts) override {
    system::worst_error<T>(of_.stream_, of_.grid_, components, weights, scale, clock, parts);
  }
  void take(system::StepControl const* control) override {
    auto const* const slopes = of_.slopes_;
    int const last = slopes && slopes->first_is_last() ? slopes->stages.back().slope : 0;
    std::vector<system::Taken<T>> taken;
    for (std::size_t c = 0; c < of_.evolved_.size(); ++c) {
      taken.push_back({buffer(0, c), buffer(1, c)});
      if (last != 0) taken.push_back({buffer(2, c), buffer(2 + last, c)});
    }
    system::commit<T>(of_.stream_, taken, of_.grid_.size(), control);
  }
  T* begin_next(std::size_t component) override { return buffer(0, component); }
  void complete(int) override {}
  RankPlanes* ranks() override { return nullptr; }
  std::span<T> to_solve(T* values) override {
    return {values, static_cast<std::size_t>(of_.grid_.size())};
  }
  std::span<T> kept(int number, std::size_t component) override {
    return to_solve(buffer(number, component));
  }

 private:
  SlopeStepping& of_;
};

template <class T>
SlopeStepping<T>::SlopeStepping(config::RunConfig const& run, Stream const& stream,
                                Inputs const& inputs, std::vector<Row> rows, Scheme const& scheme,
                                SlopeScheme const* slopes,
                                std::optional<ErrorControl> const& control, int error_order,
                                StepRule rule)
    : Base(run, stream, inputs, std::move(rows), scheme, std::move(rule)),
      slopes_(slopes),
      whole_(std::make_unique<WholeGrid>(*this)),
      place_(whole_.get()) {
  if (!control) return;
  std::vector<std::string> names;
  for (Array<T>* const array : this->evolved_) names.push_back(array->row().name);
  adaptive_.emplace(this->stream_, this->grid_, std::move(names), *control,
                    slopes_ ? slopes_->error_order : error_order, run.time.end, method(run.ranks));
}

template <class T>
AdaptiveSteps::Method SlopeStepping<T>::method(int ranks) {
  AdaptiveSteps::Method method = {
      .attempt = [this](bool is_next) { attempt(is_next); },
      .commit = [this](system::StepControl const* control) { place_->take(control); },
      .rate = [this] { find_rate(); },
      .looks = slopes_ == nullptr};
  if (ranks == 1) return method;
  method.within = [this](std::function<void()> const& attempt) { place_->within(true, attempt); };
  method.look = [](system::StepControl const& control) {
    require_agreement(gridstride::ranks(), control);
  };
  method.parts = ranks;
  return method;
}

template <class T>
void SlopeStepping<T>::attempt(bool has_first_slope) {
  if (implicit_)
    return implicit_->attempt(this->clock_.device(), error_scale(), adaptive_->parts());
  queue_stages(has_first_slope);
  find_error(slopes_->error, false);
}

template <class T>
void SlopeStepping<T>::find_rate() {
  place_->within(false, [this] {
    if (implicit_)
      return implicit_->find_rate(this->clock_.device(), error_scale(), adaptive_->parts());
    Stage const& now = slopes_->stages.front().moment;
    place_->refresh(now);
    place_->queue_rates(now, 0, 2, first_rate());
    find_error({1}, true);
  });
}

template <class T>
Clock SlopeStepping<T>::clock() const {
  Clock clock = Base::clock();
  clock.rejected = adaptive_ ? adaptive_->rejected() : 0;
  return clock;
}

template <class T>
std::vector<NamedValue> SlopeStepping<T>::diagnostics() const {
  if (!adaptive_) return {};
  return adaptive_->diagnostics();
}

template <class T>
void SlopeStepping<T>::advance(std::int64_t max_steps, double until) {
  if (!adaptive_) return Base::advance(max_steps, until);
  adaptive_->advance(this->clock_, max_steps, until);
}

template <class T>
void SlopeStepping<T>::queue(std::int64_t steps) {
  if (slopes_ == nullptr && !implicit_) return Base::queue(steps);
  double const dt = this->step_size(), begin = this->clock_.now().time;
  for (std::int64_t i = 0; i < steps; ++i) {
    place_->within(true, [&] {
      if (implicit_) return implicit_->advance(dt, begin + static_cast<double>(i) * dt);
      queue_stages(i > 0);
      place_->take(nullptr);
    });
    this->clock_.tick();
  }
}

/// All stages of a step, after which buffer 1 has the new state. The last slope of the step before
/// is the first one where the scheme has it so: the same bits, since it is that of the same state at
/// the same time. Of a part of the grid it is found anew: the last one is wrong near ends.
template <class T>
void SlopeStepping<T>::queue_stages(bool has_first_slope) {
  if (!place_->keeps_slopes()) has_first_slope = false;
  if (is_leapfrog()) return queue_leapfrog(has_first_slope);
  bool first = true;
  for (SlopeStage const& stage : slopes_->stages) {
    bool const is_known = first && has_first_slope && slopes_->first_is_last();
    if (!is_known) place_->refresh(stage.moment);
    if (!first) combine(stage.weights, stage.moment.time);
    if (!is_known) place_->queue_rates(stage.moment, first ? 0 : 1, 2 + stage.slope, first_rate());
    first = false;
  }
  if (slopes_->first_is_last()) return;
  place_->refresh({.time = 1, .sides_at_time = true});
  combine(slopes_->weights, 1);
}

/// Velocity Verlet: the rates in buffer 1 go half a step ahead of the fields, then the other half.
template <class T>
void SlopeStepping<T>::queue_leapfrog(bool has_first_slope) {
  auto const half = first_rate();
  std::vector<system::Slopes<T>> fields(half), rates(half);
  for (std::size_t c = 0; c < half; ++c) {
    std::size_t const rate = half + c;
    fields[c] = {.state = place_->buffer(0, c), .value = place_->buffer(1, c)};
    fields[c].slopes[0] = place_->buffer(1, rate);
    rates[c] = {.state = place_->buffer(0, rate), .value = place_->buffer(1, rate)};
    rates[c].slopes[0] = place_->buffer(2, rate);
    place_->copy_sides(c, fields[c].sides);
    place_->copy_sides(rate, rates[c].sides);
  }
  auto const combine = [&](std::vector<system::Slopes<T>> const& components, double weight) {
    system::combine<T>(this->stream_, place_->grid(), components,
                       std::span<double const>(&weight, 1), this->clock_.device());
  };
  auto const& moments = slopes_->stages;
  if (!has_first_slope) {
    place_->refresh(moments.front().moment);
    place_->queue_rates(moments.front().moment, 0, 2, first_rate());
  }
  combine(rates, 0.5);
  place_->refresh(moments.back().moment);
  combine(fields, 1);
  place_->queue_rates(moments.back().moment, 1, 2, first_rate());
  for (auto& one : rates) one.state = one.value;
  combine(rates, 0.5);
}

/// The components with the slopes that have a weight, which are `given`.
template <class T>
std::vector<system::Slopes<T>> SlopeStepping<T>::slopes_of(std::vector<double> const& weights,
                                                           std::vector<double>& given) {
  std::vector<system::Slopes<T>> components;
  for (std::size_t c = 0; c < this->evolved_.size(); ++c) {
    system::Slopes<T> one = {.state = place_->buffer(0, c), .value = place_->buffer(1, c)};
    place_->copy_sides(c, one.sides);
    given.clear();
    for (std::size_t s = 0; s < weights.size(); ++s) {
      if (weights[s] == 0) continue;
      one.slopes[given.size()] = place_->buffer(2 + slopes_->stages[s].slope, c);
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
  system::combine<T>(this->stream_, place_->grid(), components, given, this->clock_.device());
  place_->hold_sides(1, fraction);
}

template <class T>
system::ErrorScale SlopeStepping<T>::error_scale() const {
  return {adaptive_->tolerance().relative, adaptive_->tolerance().absolute};
}

template <class T>
void SlopeStepping<T>::find_error(std::vector<double> const& weights, bool of_state) {
  std::vector<double> given;
  auto components = slopes_of(weights, given);
  if (of_state)
    for (auto& one : components) one.value = one.state;
  place_->find_worst(std::move(components), given, error_scale(), this->clock_.device(),
                     adaptive_->parts());
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
  if (adaptive_) values += 2 + count_of(slopes_->error);
  values += keeps ? 4 : 2;
  return static_cast<double>(values) * static_cast<double>(this->evolved_.size());
}

template <class T>
void SlopeStepping<T>::save(CheckpointSink& sink) const {
  Base::save(sink);
  if (adaptive_) adaptive_->save(sink);
}

template <class T>
void SlopeStepping<T>::load(CheckpointSource const& source) {
  Base::load(source);
  if (adaptive_) adaptive_->load(source, Base::clock());
}

template class SlopeStepping<float>;
template class SlopeStepping<double>;

}  // namespace gridstride::pde

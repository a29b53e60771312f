// Waves, with a speed c that may depend on space:
//
//   u_tt = c²∇²u + s(x, t)      on a uniform grid in 1 to 3 dimensions,
//
// with fixed (u = 0), free (∂u/∂n = 0), absorbing or periodic sides. In space: central differences
// of order 2 to 8. In time: the leapfrog scheme, of order 2, which conserves a discrete energy. An
// absorbing side is a fixed one behind a layer where u_tt + 2σ·u_t stands for u_tt.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/families.hpp"
#include "kernels/star/star.hpp"
#include "simulations/registry.hpp"
#include "simulations/wave_parameters.hpp"
#include "simulations/wave_sources.hpp"

namespace gridstride {

namespace {

using config::FieldSource;
using expression::Expression;
using expression::Operation;
using wave::parameters_of;

template <class T>
class Wave final : public Simulation {
 public:
  Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  Clock clock() const override { return {step_, leg_.time()}; }
  bool finished() const override { return leg_.time() >= end_; }
  void advance(std::int64_t max_steps, double until) override;
  std::vector<Field> fields() const override {
    return {{"u", "1", grid_, precision_of<T>(), buffers_[current_].data()}};
  }
  std::vector<NamedValue> diagnostics() const override { return {{"energy", energy()}}; }
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 private:
  /// Equal steps from one moment that the run has to meet to the next.
  struct Leg {
    double origin = 0;
    double end = 0;
    double step = 0;
    std::int64_t steps = 0;
    std::int64_t done = 0;

    evaluate::DeviceClock clock() const { return {origin, step, done}; }
    double time() const { return done == steps ? end : clock().time(0); }
  };

  void make_speed(config::RunConfig const& run, Inputs const& inputs);
  void make_source(config::RunConfig const& run);
  void make_ricker(config::RunConfig const& run);
  void make_sides(config::RunConfig const& run);
  void make_initial(config::RunConfig const& run, Inputs const& inputs);
  void fill(FieldSource const& source, Inputs const& inputs, std::span<T> target);
  void begin_leg(double until);
  star::LeapfrogStep<T> leapfrog_step() const;
  void apply(star::LeapfrogStep<T> const& step);
  void queue_step();
  void queue_steps(std::int64_t count);
  double energy() const;

  static constexpr std::int64_t steps_per_graph = 32;  // even: the two buffers come back

  mutable Stream stream_;
  Grid grid_;
  std::string variant_;
  int order_;
  double largest_speed_;
  double dt_;
  double end_;
  mutable std::array<Buffer<T>, 2> buffers_;  // u now, and a step before
  std::size_t current_ = 0;
  double step_before_ = 0;    // the time between the two
  double speed_squared_ = 0;  // when constant
  Buffer<T> speed_squared_field_;
  std::optional<evaluate::Program> source_program_;
  Buffer<T> source_;
  Buffer<star::RickerTerm> ricker_;
  std::array<Buffer<T>, 3> damping_;
  std::array<std::array<SideKind, 2>, 3> sides_ = {};
  bool needs_clock_ = false;
  Buffer<evaluate::DeviceClock> device_clock_;
  Graph graph_;
  double graph_step_ = 0;  // of the steps that it holds
  std::int64_t step_ = 0;
  Leg leg_;
};

template <class T>
Wave<T>::Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : stream_(stream),
      grid_(run.grid),
      variant_(run.kernels.at("star")),
      order_(static_cast<int>(parameters_of(run).order)),
      largest_speed_(wave::largest_speed(run, inputs)),
      dt_(wave::time_step(run, largest_speed_)),
      end_(run.time.end) {
  for (auto& buffer : buffers_)
    buffer = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
  device_clock_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
  evaluate::set_clock(stream_, device_clock_.data(), {0, dt_, 0});
  make_speed(run, inputs);
  make_source(run);
  make_sides(run);
  make_ricker(run);
  make_initial(run, inputs);
}

/// The values of a formula of space or a dataset, in device memory.
template <class T>
void Wave<T>::fill(FieldSource const& source, Inputs const& inputs, std::span<T> target) {
  if (source.file.empty()) {
    evaluate::Program const program(stream_, source.formula.expression);
    evaluate::evaluate(stream_, program, grid_, nullptr, 0, target);
    return;
  }
  std::vector<double> values(target.size());
  inputs.read(source, values);
  std::vector<T> const rounded(values.begin(), values.end());
  copy_async(target, std::span(rounded), stream_);
  stream_.synchronize();
}

/// c², from float64 values of c.
template <class T>
void Wave<T>::make_speed(config::RunConfig const& run, Inputs const& inputs) {
  FieldSource speed = parameters_of(run).speed;
  Expression& formula = speed.formula.expression;
  if (speed.file.empty() && formula.is_constant()) {
    speed_squared_ = std::pow(formula.evaluate(0), 2);
    return;
  }
  auto const size = static_cast<std::size_t>(grid_.size());
  speed_squared_field_ = Buffer<T>(stream_, MemorySpace::device, size);
  formula = Expression::parse(fmt::format("({})^2", formula.to_string()));
  Inputs squares;
  squares.read = [&](FieldSource const& source, std::span<double> values) {
    inputs.read(source, values);
    for (double& value : values) value *= value;
  };
  fill(speed, squares, speed_squared_field_.span());
}

template <class T>
void Wave<T>::make_source(config::RunConfig const& run) {
  Expression const& formula = parameters_of(run).source.expression;
  if (formula == Expression(0.0)) return;
  source_program_.emplace(stream_, formula);
  source_ = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
  evaluate::evaluate(stream_, *source_program_, grid_, device_clock_.data(), 0, source_.span());
  if (source_program_->depends_on_time()) needs_clock_ = true;
}

template <class T>
void Wave<T>::make_sides(config::RunConfig const& run) {
  for (int axis = 0; axis < grid_.dims; ++axis) {
    for (int side = 0; side < 2; ++side) {
      SideKind const kind = run.boundary[axis][side].kind;
      sides_[axis][side] = kind == SideKind::absorbing ? SideKind::fixed : kind;
    }
    auto const sigma = wave::damping_of(run, axis, largest_speed_);
    if (sigma.empty()) continue;
    std::vector<T> const rounded(sigma.begin(), sigma.end());
    damping_[axis] = Buffer<T>(stream_, MemorySpace::device, rounded.size());
    copy_async(damping_[axis].span(), std::span(rounded), stream_);
    stream_.synchronize();
  }
}

template <class T>
void Wave<T>::make_ricker(config::RunConfig const& run) {
  std::array<std::vector<double>, 3> sigma;
  for (int axis = 0; axis < grid_.dims; ++axis)
    sigma[axis] = wave::damping_of(run, axis, largest_speed_);
  auto const terms = wave::ricker_terms(parameters_of(run).ricker, grid_, sides_, sigma);
  if (terms.empty()) return;
  ricker_ = Buffer<star::RickerTerm>(stream_, MemorySpace::device, terms.size());
  copy_async(ricker_.span(), std::span(terms), stream_);
  stream_.synchronize();
  needs_clock_ = true;
}

/// u at time 0, and as the step before what a step of −dt from there makes: exact to order 2 as the
/// scheme itself, so that the first step is one like all others.
template <class T>
void Wave<T>::make_initial(config::RunConfig const& run, Inputs const& inputs) {
  auto const now = buffers_[0].span(), before = buffers_[1].span();
  fill(run.initial.at("u"), inputs, before);
  star::LeapfrogStep<T> step = leapfrog_step();
  step.in = step.previous = before.data();
  step.out = now.data();
  step.ratio = 0;  // a copy with zeros on fixed sides
  star::leapfrog(stream_, step, variant_);

  fill(parameters_of(run).initial_velocity, inputs, before);
  elementwise::scale(stream_, static_cast<T>(dt_), before);
  elementwise::add<T>(stream_, now, before, before);
  step = leapfrog_step();  // back in time, from u + dt·v as the moment behind
  step.factor = dt_ * dt_ / 2;
  step.damping_time = -dt_ / 2;
  apply(step);
  step_before_ = dt_;
}

/// A step of no time from the present state, in the place of the state before.
template <class T>
star::LeapfrogStep<T> Wave<T>::leapfrog_step() const {
  star::LeapfrogStep<T> step;
  step.grid = grid_;
  step.order = order_;
  step.in = buffers_[current_].data();
  step.out = buffers_[1 - current_].data();
  step.previous = step.out;
  step.speed_squared = speed_squared_;
  step.speed_squared_field = speed_squared_field_.data();
  step.source = source_.data();
  for (std::size_t axis = 0; axis < 3; ++axis) step.damping[axis] = damping_[axis].data();
  step.sides = sides_;
  return step;
}

template <class T>
void Wave<T>::apply(star::LeapfrogStep<T> const& step) {
  star::leapfrog(stream_, step, variant_);
  if (ricker_.size() > 0)
    star::add_ricker<T>(stream_, std::as_const(ricker_).span(), device_clock_.data(), step.factor,
                        step.damping_time, {step.out, static_cast<std::size_t>(grid_.size())});
}

template <class T>
void Wave<T>::queue_step() {
  if (source_program_ && source_program_->depends_on_time())
    evaluate::evaluate(stream_, *source_program_, grid_, device_clock_.data(), 0, source_.span());
  star::LeapfrogStep<T> step = leapfrog_step();
  step.ratio = leg_.step / step_before_;
  step.damping_time = (leg_.step + step_before_) / 2;
  step.factor = leg_.step * step.damping_time;
  apply(step);
  current_ = 1 - current_;
  step_before_ = leg_.step;
  if (needs_clock_) evaluate::advance_clock(stream_, device_clock_.data());
}

template <class T>
void Wave<T>::queue_steps(std::int64_t count) {
  // A graph holds steps of one length, from one buffer to the other and back.
  for (; count > 0 && (current_ == 1 || step_before_ != leg_.step); --count) queue_step();
  if (count >= steps_per_graph && graph_step_ != leg_.step) {
    graph_ = Graph::capture(stream_, [this] {
      for (std::int64_t i = 0; i < steps_per_graph; ++i) queue_step();
    });
    graph_step_ = leg_.step;
  }
  for (; count >= steps_per_graph; count -= steps_per_graph) graph_.launch(stream_);
  for (; count > 0; --count) queue_step();
}

/// As few equal steps as reach `until`, none of them over dt.
template <class T>
void Wave<T>::begin_leg(double until) {
  // Within a millionth of a step of a whole number counts as one: rounding, not physics.
  constexpr double tolerance = 1e-6;
  double const now = leg_.time();
  double const ahead = (until - now) / dt_, whole = std::round(ahead);
  leg_ = {now, until, dt_, static_cast<std::int64_t>(whole), 0};
  if (std::abs(ahead - whole) > tolerance) {
    leg_.steps = static_cast<std::int64_t>(std::ceil(ahead));
    leg_.step = (until - now) / static_cast<double>(leg_.steps);
  }
  if (needs_clock_) evaluate::set_clock(stream_, device_clock_.data(), leg_.clock());
}

template <class T>
void Wave<T>::advance(std::int64_t max_steps, double until) {
  until = std::min(until, end_);
  if (leg_.time() >= until || max_steps <= 0) return;
  if (leg_.end != until || leg_.done == leg_.steps) begin_leg(until);
  std::int64_t const steps = std::min(leg_.steps - leg_.done, max_steps);
  queue_steps(steps);
  leg_.done += steps;
  step_ += steps;
}

template <class T>
double Wave<T>::energy() const {
  Buffer<double> result(stream_, MemorySpace::device, 1);
  star::energy(stream_, leapfrog_step(), step_before_, result.span());
  double value = 0;
  copy_async(std::span(&value, 1), std::as_const(result).span(), stream_);
  stream_.synchronize();
  return value;
}

template <class T>
void Wave<T>::save(CheckpointSink& sink) const {
  sink.put_integer("step", step_);
  sink.put_real("step_before", step_before_);
  sink.put_real("leg/origin", leg_.origin);
  sink.put_real("leg/end", leg_.end);
  sink.put_real("leg/step", leg_.step);
  sink.put_integer("leg/steps", leg_.steps);
  sink.put_integer("leg/done", leg_.done);
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  for (auto const& [name, place] :
       {std::pair("u", current_), std::pair("u_before", 1 - current_)}) {
    copy_async(std::span(values), std::as_const(buffers_[place]).span(), stream_);
    stream_.synchronize();
    sink.put_array(name, values);
  }
}

template <class T>
void Wave<T>::load(CheckpointSource const& source) {
  step_ = source.get_integer("step");
  step_before_ = source.get_real("step_before");
  leg_ = {source.get_real("leg/origin"), source.get_real("leg/end"), source.get_real("leg/step"),
          source.get_integer("leg/steps"), source.get_integer("leg/done")};
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  current_ = 0;
  for (auto const& [name, place] : {std::pair("u", 0), std::pair("u_before", 1)}) {
    source.get_array(name, values);
    copy_async(buffers_[static_cast<std::size_t>(place)].span(), std::span<T const>(values),
               stream_);
    stream_.synchronize();
  }
  evaluate::set_clock(stream_, device_clock_.data(), leg_.clock());
}

MemoryForecast wave_memory(config::RunConfig const& run, Inputs const&, Backend) {
  auto const& parameters = parameters_of(run);
  auto const& speed = parameters.speed;
  std::int64_t arrays = 2;
  if (!speed.file.empty() || !speed.formula.expression.is_constant()) ++arrays;
  if (parameters.source.expression != Expression(0.0)) ++arrays;
  std::size_t const bytes = static_cast<std::size_t>(run.grid.size()) * size_of(run.precision);
  return {bytes, arrays, "u", "grid.points", bytes};
}

double wave_time_step(config::RunConfig const& run) {
  return wave::time_step(run, wave::largest_speed(run, {}));
}

std::unique_ptr<Simulation> make_wave(config::RunConfig const& run, Stream const& stream,
                                      Inputs const& inputs) {
  if (run.precision == Precision::float32)
    return std::make_unique<Wave<float>>(run, stream, inputs);
  return std::make_unique<Wave<double>>(run, stream, inputs);
}

}  // namespace

SimulationEntry wave_entry() {
  config::SimulationInfo info;
  info.name = "wave";
  info.summary = "waves with a speed that may vary: u_tt = speed^2 div grad u + source";
  info.fields = {{"u", "1", "displacement, pressure, or any quantity that travels in waves"}};
  info.schemes = {"leapfrog"};
  info.kernels = {{"star", variant_names("star")}};
  info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
    return std::make_unique<wave::Parameters>();
  };
  info.sides = {SideKind::fixed, SideKind::free, SideKind::absorbing, SideKind::periodic};
  return {info, wave::problems, wave_memory, wave_time_step, make_wave};
}

}  // namespace gridstride

// Waves, with a speed c that may depend on space:
//
//   u_tt = c²∇²u + s(x, t)      on a uniform grid in 1 to 3 dimensions,
//
// with fixed (u = 0), free (∂u/∂n = 0), absorbing or periodic sides. In space: central differences
// of order 2 to 8. In time: the leapfrog scheme, of order 2, which conserves a discrete energy. An
// absorbing side is a fixed one behind a layer where u_tt + 2σ·u_t stands for u_tt.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/graph.hpp"
#include "expression/transform.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/families.hpp"
#include "kernels/star/star.hpp"
#include "simulations/arrays.hpp"
#include "simulations/registry.hpp"
#include "simulations/step_clock.hpp"
#include "simulations/wave_parameters.hpp"
#include "simulations/wave_sources.hpp"

namespace gridstride {

namespace {

using config::FieldSource;
using expression::Expression;
using wave::parameters_of;

/// What the steps of a run are. What differs from step to step, sources and absorbing layers keep
/// them single.
star::StepKind kind_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  bool plain = parameters.source.expression == Expression(0.0) && parameters.ricker.empty();
  for (auto const& sides : run.boundary)
    for (auto const& side : sides) plain = plain && side.kind != SideKind::absorbing;
  auto const& speed = parameters.speed;
  bool const variable = !speed.file.empty() || !speed.formula.expression.is_constant();
  return {run.grid, static_cast<int>(parameters.order), variable, plain};
}

star::Repetition wanted_by(config::RunConfig const& run) {
  return {run.kernels.at("star"), static_cast<int>(run.fused_steps.value_or(0))};
}

template <class T>
class Wave final : public Simulation {
 public:
  Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  Clock clock() const override { return clock_.now(); }
  bool finished() const override { return clock_.at_end(); }
  void advance(std::int64_t max_steps, double until) override;
  std::vector<Field> fields() const override {
    return {{"u", "1", grid_, precision_of<T>(), arrays_.now}};
  }
  std::vector<DeviceNumber> measure() override;
  double values_per_update() const override;
  std::vector<NamedText> chosen() const override;
  std::vector<std::string> fallbacks() const override {
    bool const none = !source_program_ || source_program_->fallback().empty();
    return none ? std::vector<std::string>() : std::vector{source_program_->fallback()};
  }
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 private:
  void make_speed(config::RunConfig const& run, Inputs const& inputs);
  void make_source(config::RunConfig const& run);
  void make_ricker(config::RunConfig const& run);
  void make_sides(config::RunConfig const& run);
  void make_initial(config::RunConfig const& run, Inputs const& inputs);
  /// The values of a formula of space or a dataset, in device memory.
  void fill_from(FieldSource const& source, Inputs const& inputs, std::span<T> target) {
    fill(stream_, source, grid_, inputs, target, nullptr, evaluate_variant_);
  }
  star::LeapfrogStep<T> leapfrog_step() const;
  void apply(star::LeapfrogStep<T> const& step);
  star::LeapfrogStep<T> next_step() const;
  void queue_step();
  void queue(std::int64_t count);
  void queue_steps(std::int64_t count);

  static constexpr std::int64_t passes_per_graph = 32;  // even: the arrays come back

  mutable Stream stream_;
  Grid grid_;
  int order_;
  double largest_speed_;
  double dt_;
  star::Chosen<T> chosen_;
  std::array<Buffer<T>, 4> buffers_;
  star::WaveArrays<T> arrays_;
  double step_before_ = 0;    // the time between u now and before
  double speed_squared_ = 0;  // when constant
  Buffer<T> speed_squared_field_;
  std::string evaluate_variant_;
  std::optional<evaluate::Program> source_program_;
  Buffer<T> source_;
  Buffer<star::RickerTerm> ricker_;
  std::array<Buffer<T>, 3> damping_;
  std::array<std::array<SideKind, 2>, 3> sides_ = {};
  bool needs_clock_ = false;  // steps differ
  StepClock clock_;
  Buffer<double> energy_;
  Graph graph_;
  double graph_step_ = 0;  // of the steps that it holds
};

template <class T>
Wave<T>::Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : stream_(stream),
      grid_(run.grid),
      order_(static_cast<int>(parameters_of(run).order)),
      largest_speed_(wave::largest_speed(run, inputs)),
      dt_(wave::time_step(run, largest_speed_)),
      chosen_(star::choose<T>(stream.device(), kind_of(run), wanted_by(run))),
      evaluate_variant_(run.kernels.at("evaluate")),
      clock_(stream_, equal_steps(dt_), run.time.end),
      energy_(stream_, MemorySpace::device, 1) {
  auto const take = [this](int number) {
    buffers_[number] =
        Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
    return buffers_[number].data();
  };
  arrays_ = {take(0), take(1), {}};
  make_speed(run, inputs);
  make_source(run);
  make_sides(run);
  make_ricker(run);
  if (chosen_.fused_steps > 1) arrays_.spare = {take(2), take(3)};
  make_initial(run, inputs);
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
  formula = expression::apply(expression::Operation::power, formula, Expression(2));
  Inputs squares;
  squares.read = [&](FieldSource const& source, std::span<double> values) {
    inputs.read(source, values);
    for (double& value : values) value *= value;
  };
  fill_from(speed, squares, speed_squared_field_.span());
}

template <class T>
void Wave<T>::make_source(config::RunConfig const& run) {
  Expression const& formula = parameters_of(run).source.expression;
  if (formula == Expression(0.0)) return;
  source_program_.emplace(stream_, formula, evaluate_variant_);
  source_ = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
  evaluate::evaluate(stream_, *source_program_, grid_, clock_.device(), 0, source_.span());
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
  fill_from(run.initial.at("u"), inputs, before);
  star::LeapfrogStep<T> step = leapfrog_step();
  step.in = step.previous = before.data();
  step.out = now.data();
  step.ratio = 0;  // a copy with zeros on fixed sides
  star::leapfrog(stream_, step, chosen_);

  fill_from(parameters_of(run).initial_velocity, inputs, before);
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
  step.in = arrays_.now;
  step.previous = step.out = arrays_.before;
  step.speed_squared = speed_squared_;
  step.speed_squared_field = speed_squared_field_.data();
  step.source = source_.data();
  for (std::size_t axis = 0; axis < 3; ++axis) step.damping[axis] = damping_[axis].data();
  step.sides = sides_;
  return step;
}

template <class T>
void Wave<T>::apply(star::LeapfrogStep<T> const& step) {
  star::leapfrog(stream_, step, chosen_);
  if (ricker_.size() > 0)
    star::add_ricker<T>(stream_, std::as_const(ricker_).span(), clock_.device(), step.factor,
                        step.damping_time, {step.out, static_cast<std::size_t>(grid_.size())});
}

/// A step of the leg after one of `step_before_`.
template <class T>
star::LeapfrogStep<T> Wave<T>::next_step() const {
  star::LeapfrogStep<T> step = leapfrog_step();
  step.ratio = clock_.step() / step_before_;
  step.damping_time = (clock_.step() + step_before_) / 2;
  step.factor = clock_.step() * step.damping_time;
  return step;
}

template <class T>
void Wave<T>::queue_step() {
  if (source_program_ && source_program_->depends_on_time())
    evaluate::evaluate(stream_, *source_program_, grid_, clock_.device(), 0, source_.span());
  apply(next_step());
  std::swap(arrays_.now, arrays_.before);
  step_before_ = clock_.step();
  if (needs_clock_) clock_.tick();
}

/// Steps of one length.
template <class T>
void Wave<T>::queue(std::int64_t count) {
  if (!needs_clock_)
    star::leapfrog_repeatedly(stream_, next_step(), arrays_, count, chosen_);
  else
    for (; count > 0; --count) queue_step();
}

template <class T>
void Wave<T>::queue_steps(std::int64_t count) {
  std::int64_t const pass = chosen_.fused_steps, of_graph = passes_per_graph * pass;
  if (count > 0 && step_before_ != clock_.step()) {
    queue_step();
    --count;
  }
  // A graph holds steps of one length, between the arrays that the first state was in, and back.
  while (count >= of_graph + pass && arrays_.now != buffers_[0].data()) {
    std::int64_t const some = arrays_.now == buffers_[1].data() ? 1 : pass;
    queue(some);
    count -= some;
  }
  if (count >= of_graph && arrays_.now == buffers_[0].data()) {
    if (graph_step_ != clock_.step())
      graph_ = Graph::capture(stream_, [this, of_graph] { queue(of_graph); });
    graph_step_ = clock_.step();
    for (; count >= of_graph; count -= of_graph) graph_.launch(stream_);
  }
  queue(count);
}

template <class T>
void Wave<T>::advance(std::int64_t max_steps, double until) {
  clock_.advance(max_steps, until, [this](std::int64_t count, double) { queue_steps(count); });
}

template <class T>
std::vector<DeviceNumber> Wave<T>::measure() {
  star::energy(stream_, leapfrog_step(), step_before_, energy_.span());
  return {{"energy", energy_.data()}};
}

template <class T>
double Wave<T>::values_per_update() const {
  double const fields = (speed_squared_field_.size() > 0) + (source_.size() > 0);
  int const fused = chosen_.fused_steps;
  return (fused > 1 ? 4 + fields : 3 + fields) / fused;
}

template <class T>
std::vector<NamedText> Wave<T>::chosen() const {
  std::vector<NamedText> result = {{"star", std::string(chosen_.row->name)}};
  if (chosen_.fused_steps > 1)
    result.push_back({"fused steps", std::to_string(chosen_.fused_steps)});
  return result;
}

template <class T>
void Wave<T>::save(CheckpointSink& sink) const {
  clock_.save(sink);
  sink.put_real("step_before", step_before_);
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  for (auto const& [name, array] :
       {std::pair("u", arrays_.now), std::pair("u_before", arrays_.before)}) {
    copy_async(std::span(values), std::span<T const>(array, values.size()), stream_);
    stream_.synchronize();
    sink.put_array(name, values);
  }
}

template <class T>
void Wave<T>::load(CheckpointSource const& source) {
  clock_.load(source);
  step_before_ = source.get_real("step_before");
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  for (auto const& [name, array] :
       {std::pair("u", arrays_.now), std::pair("u_before", arrays_.before)}) {
    source.get_array(name, values);
    copy_async(std::span(array, values.size()), std::span<T const>(values), stream_);
    stream_.synchronize();
  }
}

MemoryForecast wave_memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  auto const& parameters = parameters_of(run);
  auto const& speed = parameters.speed;
  std::int64_t arrays = star::fused_steps(backend, kind_of(run), wanted_by(run)) > 1 ? 4 : 2;
  if (!speed.file.empty() || !speed.formula.expression.is_constant()) ++arrays;
  if (parameters.source.expression != Expression(0.0)) ++arrays;
  auto const points = static_cast<std::size_t>(run.grid.size());
  std::size_t const bytes = points * size_of(run.precision);
  MemoryForecast forecast{bytes, arrays, "u", "grid.points", bytes};
  forecast.saved_bytes = 2 * bytes;
  for (auto const* source : {&speed, &run.initial.at("u"), &parameters.initial_velocity})
    forecast.reading_bytes =
        std::max(forecast.reading_bytes, reading_bytes(*source, points, run.precision));
  return forecast;
}

/// A row of `star` that does not make the run's steps on a device.
std::vector<Problem> wave_variant_problems(config::RunConfig const& run, Inputs const&,
                                           Device const& device) {
  return refused_variant(run, "star",
                         [&] { star::choose<double>(device, kind_of(run), wanted_by(run)); });
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
  info.kernels = {{"star", variant_names("star")}, {"evaluate", variant_names("evaluate")}};
  for (int order = 2; order <= 8; order += 2)
    info.most_fused_steps = std::max(info.most_fused_steps, star::most_fused_steps(2, order));
  info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
    return std::make_unique<wave::Parameters>();
  };
  info.sides = {SideKind::fixed, SideKind::free, SideKind::absorbing, SideKind::periodic};
  return {info, wave::problems, wave_memory, wave_time_step, make_wave, wave_variant_problems};
}

}  // namespace gridstride

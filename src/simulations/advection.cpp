// What a flow carries along:
//
//   ∂u/∂t + ∇·(v u) = 0      on a uniform grid in 1 to 3 dimensions,
//
// with a velocity v of space and time, and sides that are periodic or open; where the flow enters
// through an open side, u is given (dirichlet) or zero (outflow). All schemes are differences of
// fluxes: `upwind` of order 1, `lax_wendroff` of order 2 (axis after axis, in alternating order),
// and `weno5`, of order 5 in space and 3 in time. kernels/advect/advect.hpp has their formulas.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/graph.hpp"
#include "kernels/advect/advect.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/reduce/reduce.hpp"
#include "simulations/advection_look_ahead.hpp"
#include "simulations/advection_parameters.hpp"
#include "simulations/arrays.hpp"
#include "simulations/registry.hpp"
#include "simulations/step_clock.hpp"

namespace gridstride {

namespace {

using advection::parameters_of;
using advection::scheme_of;
using advection::Stage;
using expression::Expression;

template <class T>
class Advection final : public Simulation {
 public:
  Advection(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  Clock clock() const override { return clock_.now(); }
  bool finished() const override { return clock_.at_end(); }
  void advance(std::int64_t max_steps, double until) override;
  std::vector<Field> fields() const override {
    return {{"u", "1", grid_, precision_of<T>(), buffers_[current_].data()}};
  }
  double values_per_update() const override;
  std::vector<DeviceNumber> measure() override;
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 private:
  struct Face {
    FormulaArray<T> values;
    Buffer<T> at_other_time;  // where the formula depends on time
  };

  StepRule step_rule(config::RunConfig const& run);
  FormulaArray<T> prepare(Expression const& formula, Grid const& grid);
  void refresh_face(Face& face, std::array<double, 3> const& weights);
  void make_flow(config::RunConfig const& run);
  void queue_step(double step_size);
  void queue_steps(std::int64_t count, double step_size);
  T* buffer(int number) {
    return buffers_[scheme_.alternates ? (number + current_) % 2 : number].data();
  }

  /// What the steps of a graph have in common.
  struct StepKind {
    double step_size;
    std::array<double, 3> speeds;
    int first;  // buffer
    bool operator==(StepKind const&) const = default;
  };
  StepKind kind_of(double step_size) const {
    return {step_size,
            {flow_.velocity[0].largest, flow_.velocity[1].largest, flow_.velocity[2].largest},
            current_};
  }

  static constexpr std::int64_t steps_per_graph = 32;  // even: alternating buffers come back

  mutable Stream stream_;
  advection::Scheme const& scheme_;
  Grid grid_;
  std::string variant_;
  std::string evaluate_variant_;
  std::vector<std::string> fallbacks_;
  std::string reduce_variant_;
  std::array<Buffer<T>, 3> buffers_;
  int current_ = 0;  // of alternating buffers: odd after an odd number of steps
  std::array<FormulaArray<T>, 3> velocity_;
  std::array<std::array<Face, 2>, 3> faces_;
  advect::AdvectionStep<T> flow_;  // what all steps have in common
  bool anything_changes_ = false;
  std::optional<advection::LookAhead<T>> look_ahead_;  // where the velocity depends on time
  StepClock clock_;
  Buffer<double> mass_;
  Graph graph_;
  std::optional<StepKind> graph_kind_, kind_before_;
};

template <class T>
Advection<T>::Advection(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : stream_(stream),
      scheme_(scheme_of(run)),
      grid_(run.grid),
      variant_(run.kernels.at("advect")),
      evaluate_variant_(run.kernels.at("evaluate")),
      reduce_variant_(run.kernels.at("reduce")),
      clock_(stream_, step_rule(run), run.time.end) {
  auto const size = static_cast<std::size_t>(grid_.size());
  for (int i = 0; i < scheme_.buffers; ++i)
    buffers_[i] = Buffer<T>(stream_, MemorySpace::device, size);
  mass_ = Buffer<double>(stream_, MemorySpace::device, 1);
  make_flow(run);
  fill(stream_, run.initial.at("u"), grid_, inputs, buffers_[0].span(), nullptr, evaluate_variant_);
  auto start = flow_;
  start.out = buffers_[0].data();
  advect::impose_inflow(stream_, start);
}

template <class T>
StepRule Advection<T>::step_rule(config::RunConfig const& run) {
  if (!advection::velocity_changes(run)) return whole_steps(advection::time_step(run));
  look_ahead_.emplace(run, stream_.device());
  return [this](double time, double until) { return look_ahead_->plan(time, until); };
}

template <class T>
FormulaArray<T> Advection<T>::prepare(Expression const& formula, Grid const& grid) {
  FormulaArray<T> array(stream_, formula, grid, clock_.device(), evaluate_variant_);
  if (!array.fallback().empty()) fallbacks_ = {array.fallback()};
  anything_changes_ = anything_changes_ || array.changes();
  return array;
}

/// The face's values become the weighted sum of those at the start, the middle and the end of the
/// step.
template <class T>
void Advection<T>::refresh_face(Face& face, std::array<double, 3> const& weights) {
  bool empty = true;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const weight = static_cast<T>(weights[i]);
    if (weight == 0) continue;
    face.values.evaluate(stream_, clock_.device(), 0.5 * static_cast<double>(i),
                         empty ? face.values.span() : face.at_other_time.span());
    if (!empty)
      elementwise::axpy(stream_, weight, std::as_const(face.at_other_time).span(),
                        face.values.span());
    else if (weight != 1)
      elementwise::scale(stream_, weight, face.values.span());
    empty = false;
  }
}

/// Velocities and sides.
template <class T>
void Advection<T>::make_flow(config::RunConfig const& run) {
  // α of weno5 is as large as the Courant numbers with their roundings.
  constexpr double roundings = 1 + 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  auto const speeds = look_ahead_ ? look_ahead_->speeds() : advection::largest_speeds(run);
  flow_.grid = grid_;
  flow_.scheme = scheme_.flux;
  for (int axis = 0; axis < grid_.dims; ++axis) {
    Expression const& velocity = parameters_of(run).velocity[axis].expression;
    if (velocity.is_constant()) {
      flow_.velocity[axis].constant = velocity.evaluate(0);
    } else {
      velocity_[axis] = prepare(velocity, grid_);
      flow_.velocity[axis] = {0, velocity_[axis].data(), speeds[axis] * roundings};
    }
    for (int side = 0; side < 2; ++side) {
      auto const& condition = run.boundary[axis][side];
      flow_.sides[axis][side].periodic = condition.kind == SideKind::periodic;
      if (condition.kind != SideKind::dirichlet) continue;
      auto& [values, at_other_time] = faces_[axis][side];
      values = prepare(condition.value.expression, face_of(grid_, axis, side));
      if (values.changes())
        at_other_time = Buffer<T>(stream_, MemorySpace::device, values.span().size());
      flow_.sides[axis][side].inflow = values.data();
    }
  }
}

template <class T>
void Advection<T>::queue_step(double step_size) {
  for (Stage const& stage : scheme_.stages) {
    for (auto& velocity : velocity_)
      if (velocity.changes()) velocity.refresh(stream_, clock_.device(), stage.velocity_time);
    for (auto& axis : faces_)
      for (auto& face : axis)
        if (face.values.changes()) refresh_face(face, stage.inflow);
    auto step = flow_;
    step.in = buffer(stage.in);
    step.out = buffer(stage.out);
    if (stage.base != stage.in) step.base = buffer(stage.base);
    step.in_weight = stage.in_weight;
    step.factor = stage.factor * step_size;
    step.reversed = current_ == 1;
    advect::advect(stream_, step, variant_);
  }
  if (scheme_.alternates) current_ = 1 - current_;
  if (anything_changes_) clock_.tick();
}

template <class T>
void Advection<T>::queue_steps(std::int64_t count, double step_size) {
  // Where there are many steps, a graph that begins from the other buffer serves them too.
  if (count > steps_per_graph && graph_kind_ && graph_kind_->first != current_) {
    queue_step(step_size);
    --count;
  }
  auto const kind = kind_of(step_size);
  bool const again = kind == kind_before_ || count >= 2 * steps_per_graph;
  kind_before_ = kind;
  if (count >= steps_per_graph && again && graph_kind_ != kind) {
    graph_ = Graph::capture(stream_, [this, step_size] {
      for (std::int64_t i = 0; i < steps_per_graph; ++i) queue_step(step_size);
    });
    graph_kind_ = kind;
  }
  if (graph_kind_ == kind)
    for (; count >= steps_per_graph; count -= steps_per_graph) graph_.launch(stream_);
  for (; count > 0; --count) queue_step(step_size);
}

template <class T>
void Advection<T>::advance(std::int64_t max_steps, double until) {
  clock_.advance(max_steps, until, [this](std::int64_t count, double step_size) {
    if (look_ahead_)
      for (int axis = 0; axis < grid_.dims; ++axis)
        flow_.velocity[axis].largest = look_ahead_->speeds()[axis];
    queue_steps(count, step_size);
  });
}

template <class T>
double Advection<T>::values_per_update() const {
  double values = 0;
  for (Stage const& stage : scheme_.stages) {
    values += 2 + (stage.base != stage.in);
    for (auto const& velocity : velocity_) values += velocity.data() != nullptr;
  }
  return values;
}

template <class T>
std::vector<DeviceNumber> Advection<T>::measure() {
  reduce::sum(stream_, std::as_const(buffers_[current_]).span(), mass_.span(), reduce_variant_);
  double volume = 1;
  for (int axis = 0; axis < grid_.dims; ++axis) volume *= grid_.spacing[axis];
  return {{"mass", mass_.data(), volume}};
}

template <class T>
void Advection<T>::save(CheckpointSink& sink) const {
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  copy_async(std::span(values), buffers_[current_].span(), stream_);
  stream_.synchronize();
  clock_.save(sink);
  if (look_ahead_) look_ahead_->save(sink);
  sink.put_array("u", values);
}

template <class T>
void Advection<T>::load(CheckpointSource const& source) {
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  clock_.load(source);
  if (look_ahead_) look_ahead_->load(source);
  source.get_array("u", values);
  // The order of lax_wendroff's axes goes with the buffer.
  current_ = scheme_.alternates ? static_cast<int>(clock_.now().step % 2) : 0;
  copy_async(buffers_[current_].span(), std::span(std::as_const(values)), stream_);
  stream_.synchronize();
}

MemoryForecast advection_memory(config::RunConfig const& run, Inputs const&, Backend) {
  std::int64_t arrays = scheme_of(run).buffers + advection::velocity_changes(run);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    if (!parameters_of(run).velocity[axis].expression.is_constant()) ++arrays;
  auto const points = static_cast<std::size_t>(run.grid.size());
  std::size_t const bytes = points * size_of(run.precision);
  MemoryForecast forecast{bytes, arrays, "u", "grid.points", bytes};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (auto const& side : run.boundary[axis]) {
      if (side.kind != SideKind::dirichlet) continue;
      bool const changes = side.value.expression.depends_on(expression::time_variable);
      forecast.other_bytes += (changes ? 2 : 1) *
                              static_cast<std::size_t>(run.grid.face_size(axis)) *
                              size_of(run.precision);
    }
  forecast.saved_bytes = bytes;
  forecast.reading_bytes = reading_bytes(run.initial.at("u"), points, run.precision);
  return forecast;
}

std::unique_ptr<Simulation> make_advection(config::RunConfig const& run, Stream const& stream,
                                           Inputs const& inputs) {
  if (run.precision == Precision::float32)
    return std::make_unique<Advection<float>>(run, stream, inputs);
  return std::make_unique<Advection<double>>(run, stream, inputs);
}

}  // namespace

SimulationEntry advection_entry() {
  config::SimulationInfo info;
  info.name = "advection";
  info.summary = "what a flow carries along: u_t + div(velocity u) = 0";
  info.fields = {{"u", "1", "concentration, or any quantity that is carried along"}};
  for (auto const& scheme : advection::schemes()) info.schemes.push_back(scheme.name);
  info.kernels = {{"advect", variant_names("advect")}, {"evaluate", variant_names("evaluate")}};
  info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
    return std::make_unique<advection::Parameters>();
  };
  info.sides = {SideKind::outflow, SideKind::dirichlet, SideKind::periodic};
  return {info, nullptr, advection_memory, advection::time_step, make_advection};
}

}  // namespace gridstride

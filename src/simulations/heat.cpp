// Heat conduction, or any diffusion:
//
//   ∂u/∂t = ∇·(α∇u) + s(x, t)      on a uniform grid in 1 to 3 dimensions,
//
// with u = g (dirichlet), ∂u/∂n = g (neumann, n outward) or periodic sides. In space: second-order
// central differences in conservative form, α averaged at the faces between points. In time:
// `ftcs` (forward Euler, order 1) or `rk4` (the classical Runge-Kutta method, order 4), both stable
// only below a step that shrinks with the square of the spacing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "core/graph.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "kernels/families.hpp"
#include "kernels/stencil/stencil.hpp"
#include "simulations/arrays.hpp"
#include "simulations/registry.hpp"
#include "simulations/step_clock.hpp"

namespace gridstride {

namespace {

using config::Formula;
using expression::Expression;

class HeatParameters final : public config::ParameterSet {
 public:
  Formula diffusivity;
  Formula source{.text = "0", .expression = Expression(0.0), .location = {}};

  void fields(config::Visitor& visitor, config::RunOptions const&) override {
    visitor.visit({.name = "diffusivity",
                   .unit = "m^2/s",
                   .documentation = "how fast u spreads: a number, or a formula of space that is "
                                    "positive everywhere",
                   .minimum = 0,
                   .exclusive_minimum = true,
                   .variables = "xyz"},
                  diffusivity);
    visitor.visit({.name = "source",
                   .unit = "1/s",
                   .documentation = "what is added to u per second: a number, or a formula of "
                                    "space and time",
                   .variables = "xyzt"},
                  source);
  }
};

/// One stage of a scheme over buffers numbered from the state's:
/// out = base + factor·dt·(L(in) + s) + in_weight·(in − base) + Σ weight·(buffer − base).
struct Stage {
  int in;
  int base;
  int out;
  double factor;
  double in_weight;
  std::vector<std::pair<int, double>> terms;  // buffer, weight
  double start;                               // the time that `in` stands for, as a share of dt
  double end;                                 // the same of `out`
};

struct Scheme {
  std::string_view name;
  int buffers;
  bool alternates;          // the new state is in the other buffer
  double stability_extent;  // stable for dt·λ in [−extent, 0]
  std::vector<Stage> stages;
};

/// rk4 needs no array of slopes: with y2, y3, y4 its stage values,
/// u' = u + ((y2 − u) + 2·(y3 − u) + (y4 − u))/3 + dt/6·L(y4).
std::vector<Scheme> const& schemes() {
  static std::vector<Scheme> const table = {
      {"ftcs", 2, true, 2.0, {{0, 0, 1, 1, 0, {}, 0, 1}}},
      {"rk4",
       4,
       false,
       2.785293563405282,
       {{0, 0, 1, 0.5, 0, {}, 0, 0.5},
        {1, 0, 2, 0.5, 0, {}, 0.5, 0.5},
        {2, 0, 3, 1, 0, {}, 0.5, 1},
        {3, 0, 0, 1.0 / 6, 1.0 / 3, {{1, 1.0 / 3}, {2, 2.0 / 3}}, 1, 1}}},
  };
  return table;
}

Scheme const& scheme_of(config::RunConfig const& run) {
  return *std::find_if(schemes().begin(), schemes().end(),
                       [&](Scheme const& scheme) { return scheme.name == run.time.scheme; });
}

HeatParameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<HeatParameters const&>(*run.parameters);
}

/// The largest value of a diffusivity; a `ConfigError` where it is not a positive number.
double largest_diffusivity(config::RunConfig const& run) {
  Formula const& formula = parameters_of(run).diffusivity;
  if (formula.expression.is_constant()) return formula.expression.evaluate(0);
  double largest = 0;
  evaluate::for_each_slab(formula.expression, run.grid, 0, [&](evaluate::Slab const& slab) {
    for (std::size_t i = 0; i < slab.values.size(); ++i) {
      largest = std::max(largest, slab.values[i]);
      if (slab.values[i] > 0 && std::isfinite(slab.values[i])) continue;
      throw ConfigError({run.problem(
          formula.location,
          fmt::format("is {} at {} (a diffusivity is positive everywhere)", slab.values[i],
                      format_place(slab.grid, static_cast<std::int64_t>(i))))});
    }
  });
  return largest;
}

bool depends_on_time(config::RunConfig const& run) {
  auto const changes = [](Formula const& formula) {
    return formula.expression.depends_on(expression::time_variable);
  };
  bool result = changes(parameters_of(run).source);
  for (auto const& sides : run.boundary)
    for (auto const& side : sides) result = result || changes(side.value);
  return result;
}

/// The step to take; a `ConfigError` when the one asked for is unstable.
double heat_time_step(config::RunConfig const& run) {
  Scheme const& scheme = scheme_of(run);
  double const alpha = largest_diffusivity(run);
  double const limit = stencil::euler_limit(run.grid, alpha) * scheme.stability_extent / 2;
  if (!run.time.step)
    return std::min(run.time.safety * limit, longest_step(run, depends_on_time(run)));
  if (*run.time.step <= limit) return std::min(*run.time.step, output_interval(run));
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("{} s is over the stability limit of {:.6g} s ({} is stable up to {:.4g}/(4·α·Σ "
                  "1/h²), here with α = {:.6g} m²/s); 'auto' takes {} of the limit",
                  *run.time.step, limit, scheme.name, scheme.stability_extent, alpha,
                  run.time.safety))});
}

/// How a device makes the steps. Those that differ are queued one by one.
template <class T>
stencil::Chosen<T> chosen_for(config::RunConfig const& run, Device const& device) {
  auto const& parameters = parameters_of(run);
  auto const changes = [](Expression const& formula) {
    return formula.depends_on(expression::time_variable);
  };
  stencil::StepKind kind{run.grid, {}};
  kind.variable = !parameters.diffusivity.expression.is_constant();
  kind.source = parameters.source.expression != Expression(0.0);
  kind.alike = scheme_of(run).stages.size() == 1 && !changes(parameters.source.expression);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto const& condition = run.boundary[axis][side];
      kind.sides[axis][side] = condition.kind;
      if (condition.kind != SideKind::periodic && changes(condition.value.expression))
        kind.alike = false;
    }
  return stencil::choose<T>(
      device, kind, {run.kernels.at("stencil"), static_cast<int>(run.fused_steps.value_or(0))});
}

template <class T>
class Heat final : public Simulation {
 public:
  Heat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  Clock clock() const override { return clock_.now(); }
  bool finished() const override { return clock_.at_end(); }
  void advance(std::int64_t max_steps, double until) override;
  std::vector<Field> fields() const override {
    return {{"u", "1", grid_, precision_of<T>(), buffers_[current_].data()}};
  }
  double values_per_update() const override;
  std::vector<NamedText> chosen() const override;
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 private:
  FormulaArray<T> prepare(Expression const& formula, Grid const& grid);
  void make_sides(config::RunConfig const& run);
  void plan_steps(config::RunConfig const& run);
  stencil::DiffusionStep<T> step_of(Stage const& stage, double step_size);
  void queue_step(double step_size);
  void queue(std::int64_t count);
  void queue_steps(std::int64_t count);
  T* buffer(int number) {
    return buffers_[scheme_.alternates ? (number + current_) % 2 : number].data();
  }

  static constexpr std::int64_t passes_per_graph = 32;  // even: alternating buffers come back

  mutable Stream stream_;
  Scheme const& scheme_;
  Grid grid_;
  std::string evaluate_variant_;
  std::vector<std::string> fallbacks_;
  double diffusivity_ = 0;  // when constant
  std::array<Buffer<T>, 4> buffers_;
  std::size_t current_ = 0;
  FormulaArray<T> diffusivity_field_;
  FormulaArray<T> source_;
  std::array<std::array<FormulaArray<T>, 2>, 3> faces_;
  std::array<std::array<typename stencil::DiffusionStep<T>::Side, 2>, 3> sides_;
  bool anything_changes_ = false;
  double step_;           // s, of all steps but those that are shortened
  bool repeats_ = false;  // steps are alike, and of one stage
  stencil::Chosen<T> chosen_;
  std::int64_t steps_per_graph_ = 0;  // 0: no graphs
  StepClock clock_;
  Graph graph_;
};

template <class T>
Heat<T>::Heat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : stream_(stream),
      scheme_(scheme_of(run)),
      grid_(run.grid),
      evaluate_variant_(run.kernels.at("evaluate")),
      step_(heat_time_step(run)),
      clock_(stream_, whole_steps(step_), run.time.end) {
  auto const size = static_cast<std::size_t>(grid_.size());
  for (int i = 0; i < scheme_.buffers; ++i)
    buffers_[i] = Buffer<T>(stream_, MemorySpace::device, size);

  auto const& parameters = parameters_of(run);
  Expression const& alpha = parameters.diffusivity.expression;
  if (alpha.is_constant())
    diffusivity_ = alpha.evaluate(0);
  else
    diffusivity_field_ = prepare(alpha, grid_);
  if (parameters.source.expression != Expression(0.0))
    source_ = prepare(parameters.source.expression, grid_);
  make_sides(run);
  plan_steps(run);
  fill(stream_, run.initial.at("u"), grid_, inputs, buffers_[0].span(), nullptr, evaluate_variant_);
  stencil::impose_dirichlet(stream_, grid_, sides_, buffers_[0].data());
}

template <class T>
FormulaArray<T> Heat<T>::prepare(Expression const& formula, Grid const& grid) {
  FormulaArray<T> array(stream_, formula, grid, clock_.device(), evaluate_variant_);
  if (!array.fallback().empty()) fallbacks_ = {array.fallback()};
  anything_changes_ = anything_changes_ || array.changes();
  return array;
}

template <class T>
void Heat<T>::make_sides(config::RunConfig const& run) {
  for (int axis = 0; axis < grid_.dims; ++axis) {
    for (int side = 0; side < 2; ++side) {
      auto const& condition = run.boundary[axis][side];
      sides_[axis][side].kind = condition.kind;
      if (condition.kind == SideKind::periodic) continue;
      faces_[axis][side] = prepare(condition.value.expression, face_of(grid_, axis, side));
      sides_[axis][side].values = faces_[axis][side].data();
    }
  }
}

template <class T>
void Heat<T>::plan_steps(config::RunConfig const& run) {
  repeats_ = scheme_.stages.size() == 1 && !anything_changes_;
  chosen_ = chosen_for<T>(run, stream_.device());
  bool const in_one_launch = repeats_ && chosen_.row->name == "resident";
  int const steps_of_pass = repeats_ ? chosen_.fused_steps : 1;
  steps_per_graph_ = in_one_launch ? 0 : passes_per_graph * steps_of_pass;
}

template <class T>
stencil::DiffusionStep<T> Heat<T>::step_of(Stage const& stage, double step_size) {
  stencil::DiffusionStep<T> step;
  step.grid = grid_;
  step.in = buffer(stage.in);
  step.out = buffer(stage.out);
  if (stage.base != stage.in) step.base = buffer(stage.base);
  step.in_weight = stage.in_weight;
  step.factor = stage.factor * step_size;
  step.diffusivity = diffusivity_;
  step.diffusivity_field = diffusivity_field_.data();
  step.source = source_.data();
  for (std::size_t i = 0; i < stage.terms.size(); ++i)
    step.terms[i] = {buffer(stage.terms[i].first), stage.terms[i].second};
  step.sides = sides_;
  return step;
}

template <class T>
void Heat<T>::queue_step(double step_size) {
  for (Stage const& stage : scheme_.stages) {
    for (auto& axis : faces_)
      for (auto& face : axis)
        if (face.changes()) {
          auto const kind = sides_[&axis - faces_.data()][&face - axis.data()].kind;
          face.refresh(stream_, clock_.device(),
                       kind == SideKind::dirichlet ? stage.end : stage.start);
        }
    if (source_.changes()) source_.refresh(stream_, clock_.device(), stage.start);
    stencil::diffuse(stream_, step_of(stage, step_size), chosen_);
  }
  if (scheme_.alternates) current_ = 1 - current_;
  if (anything_changes_) clock_.tick();
}

template <class T>
void Heat<T>::queue(std::int64_t count) {
  if (repeats_) {
    T const* const result = stencil::diffuse_repeatedly(stream_, step_of(scheme_.stages[0], step_),
                                                        buffer(0), buffer(1), count, chosen_);
    if (result == buffer(1)) current_ = 1 - current_;
    return;
  }
  for (; count > 0; --count) queue_step(step_);
}

template <class T>
void Heat<T>::queue_steps(std::int64_t count) {
  if (steps_per_graph_ == 0) return queue(count);
  // The graph was captured from an even state, and an even number of passes keeps the state even.
  if (current_ == 1) {
    std::int64_t const pass = std::min(count, steps_per_graph_ / passes_per_graph);
    queue(pass);
    count -= pass;
  }
  if (count >= steps_per_graph_ && !graph_)
    graph_ = Graph::capture(stream_, [this] { queue(steps_per_graph_); });
  for (; count >= steps_per_graph_; count -= steps_per_graph_) graph_.launch(stream_);
  queue(count);
}

template <class T>
void Heat<T>::advance(std::int64_t max_steps, double until) {
  clock_.advance(max_steps, until, [this](std::int64_t count, double step) {
    if (step == step_) return queue_steps(count);
    for (; count > 0; --count) queue_step(step);
  });
}

template <class T>
double Heat<T>::values_per_update() const {
  if (repeats_ && steps_per_graph_ == 0) return 0;  // u stays on the chip
  double values = 0;
  for (Stage const& stage : scheme_.stages)
    values += 2 + (stage.base != stage.in) + static_cast<double>(stage.terms.size()) +
              (diffusivity_field_.data() != nullptr) + (source_.data() != nullptr);
  return repeats_ ? values / chosen_.fused_steps : values;
}

template <class T>
std::vector<NamedText> Heat<T>::chosen() const {
  std::vector<NamedText> result = {{"stencil", std::string(chosen_.row->name)}};
  if (chosen_.fused_steps > 1)
    result.push_back({"fused steps", std::to_string(chosen_.fused_steps)});
  return result;
}

template <class T>
void Heat<T>::save(CheckpointSink& sink) const {
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  copy_async(std::span(values), buffers_[current_].span(), stream_);
  stream_.synchronize();
  clock_.save(sink);
  sink.put_array("u", values);
}

template <class T>
void Heat<T>::load(CheckpointSource const& source) {
  std::vector<T> values(static_cast<std::size_t>(grid_.size()));
  clock_.load(source);
  source.get_array("u", values);
  current_ = 0;
  copy_async(buffers_[0].span(), std::span(std::as_const(values)), stream_);
  stream_.synchronize();
}

/// What the number of dimensions says of the number of fused steps.
std::vector<Problem> heat_problems(config::RunConfig const& run, Inputs const&) {
  int const most = stencil::most_fused_steps(run.grid.dims);
  if (run.fused_steps.value_or(1) <= most) return {};
  return {run.problem(run.location("kernels.fused_steps"),
                      fmt::format("'{}' is out of range (must be <= {} in {}D)", *run.fused_steps,
                                  most, run.grid.dims))};
}

/// A row of `stencil` that does not make the run's steps on a device.
std::vector<Problem> heat_variant_problems(config::RunConfig const& run, Inputs const&,
                                           Device const& device) {
  return refused_variant(run, "stencil", [&] {
    if (run.precision == Precision::float32)
      chosen_for<float>(run, device);
    else
      chosen_for<double>(run, device);
  });
}

MemoryForecast heat_memory(config::RunConfig const& run, Inputs const&, Backend) {
  auto const& parameters = parameters_of(run);
  std::int64_t arrays = scheme_of(run).buffers;
  if (!parameters.diffusivity.expression.is_constant()) ++arrays;
  if (parameters.source.expression != Expression(0.0)) ++arrays;
  auto const points = static_cast<std::size_t>(run.grid.size());
  std::size_t const bytes = points * size_of(run.precision);
  MemoryForecast forecast{bytes, arrays, "u", "grid.points", bytes};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (auto const& side : run.boundary[axis])
      if (side.kind != SideKind::periodic)
        forecast.other_bytes +=
            static_cast<std::size_t>(run.grid.face_size(axis)) * size_of(run.precision);
  forecast.saved_bytes = bytes;
  forecast.reading_bytes = reading_bytes(run.initial.at("u"), points, run.precision);
  return forecast;
}

std::unique_ptr<Simulation> make_heat(config::RunConfig const& run, Stream const& stream,
                                      Inputs const& inputs) {
  if (run.precision == Precision::float32)
    return std::make_unique<Heat<float>>(run, stream, inputs);
  return std::make_unique<Heat<double>>(run, stream, inputs);
}

}  // namespace

SimulationEntry heat_entry() {
  config::SimulationInfo info;
  info.name = "heat";
  info.summary = "heat conduction or diffusion: u_t = div(diffusivity grad u) + source";
  info.fields = {{"u", "1", "temperature, concentration, or any quantity that spreads"}};
  for (auto const& scheme : schemes()) info.schemes.push_back(scheme.name);
  info.kernels = {{"stencil", variant_names("stencil")}, {"evaluate", variant_names("evaluate")}};
  info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
    return std::make_unique<HeatParameters>();
  };
  for (int dims = 1; dims <= 3; ++dims)
    info.most_fused_steps = std::max(info.most_fused_steps, stencil::most_fused_steps(dims));
  return {info, heat_problems, heat_memory, heat_time_step, make_heat, heat_variant_problems};
}

}  // namespace gridstride

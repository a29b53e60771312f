// A system of partial differential equations that the file states:
//
//   ∂u_a/∂t = f_a(u, ∂u, ∂²u, …, x, t)      on a uniform grid in 1 to 3 dimensions,
//
// by differences of points nearby (equations/discretise.hpp) and explicit Runge-Kutta schemes
// whose stages are one kernel for all components. The step follows from the symbol of the
// linearised differences (equations/stability.hpp), found again as the fields change.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/run_fields.hpp"
#include "core/error.hpp"
#include "kernels/families.hpp"
#include "kernels/system/system.hpp"
#include "model/entry.hpp"
#include "model/reading.hpp"
#include "model/time_stepping.hpp"
#include "model/values.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_problems.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_report.hpp"
#include "simulations/pde_stability.hpp"
#include "simulations/pde_stop.hpp"

namespace gridstride {

namespace {

using equations::System;
using equations::Unknown;

/// The names of schemes in files, the default first.
struct SchemeName {
  std::string_view name;
  std::string_view scheme;
};
constexpr SchemeName scheme_names[] = {
    {"rk4", "rk4"}, {"ssprk3", "ssp_rk3"}, {"ssprk2", "ssp_rk2"}, {"euler", "euler"}};

Scheme const& scheme_of(config::RunConfig const& run) {
  return find_scheme(std::ranges::find(scheme_names, run.time.scheme, &SchemeName::name)->scheme);
}

System const& system_of(config::RunConfig const& run) {
  return parameters_as<pde::Parameters>(run).system.value();
}

equations::Space const& space_of(config::RunConfig const& run) {
  return parameters_as<pde::Parameters>(run).space;
}

equations::Stencil stencil_of(config::RunConfig const& run) {
  return equations::discretise(system_of(run), run.grid, space_of(run));
}

equations::Stencil stability_of(config::RunConfig const& run) {
  return equations::discretise_for_stability(system_of(run), run.grid, space_of(run));
}

std::string_view variant_of(config::RunConfig const& run, Backend backend) {
  std::string_view const wanted = run.kernels.at("system");
  return wanted == "auto" ? system::default_variant(backend) : wanted;
}

/// Whether steps go by passes that have all their stages.
bool goes_by_passes(config::RunConfig const& run, Backend backend) {
  return backend == Backend::cuda && variant_of(run, backend) == "march";
}

/// The scheme, with the buffers that it needs where the steps are made.
Scheme const& scheme_of(config::RunConfig const& run, Backend backend) {
  static std::map<std::string_view, Scheme> const in_passes = [] {
    std::map<std::string_view, Scheme> all;
    for (Scheme const& scheme : schemes()) all.emplace(scheme.name, pde::in_one_pass(scheme));
    return all;
  }();
  Scheme const& scheme = scheme_of(run);
  return goes_by_passes(run, backend) ? in_passes.at(scheme.name) : scheme;
}

/// What the components of an unknown or a name are called: as it is, those of a vector `q_x`, `q_y`.
std::vector<std::string> names_of(config::RunConfig const& run, Unknown const& unknown) {
  bool const evolves = std::ranges::count(run.fields, unknown.name, &config::FieldInfo::name) > 0;
  auto const& info =
      *std::ranges::find(evolves ? run.fields : run.names, unknown.name, &config::FieldInfo::name);
  if (info.components.empty()) return {unknown.name};
  std::vector<std::string> names;
  for (auto const& component : info.components)
    names.push_back(config::component_variable(unknown.name, component));
  return names;
}

/// The components with their sides; of vectors the array that is written; what stability looks at.
std::vector<Row> pde_rows(config::RunConfig const& run, Backend backend) {
  Scheme const& scheme = scheme_of(run, backend);
  std::vector<Row> rows;
  for (Unknown const& unknown : system_of(run).unknowns)
    for (auto const& name : names_of(run, unknown))
      rows.push_back(evolved(run, name, scheme.buffers));
  auto const add_all_sides = [&](Unknown const& unknown) {
    if (!unknown.is_vector) return add_sides(rows, run, unknown.name, scheme);
    for (std::size_t c = 0; c < static_cast<std::size_t>(unknown.components); ++c)
      add_sides(rows, run, unknown.name, scheme, c);
  };
  for (Unknown const& unknown : system_of(run).unknowns) {
    add_all_sides(unknown);
    if (unknown.components > 1) rows.push_back(scratch(run, unknown.name, unknown.components));
  }
  for (auto const& [name, terms] : system_of(run).names) {
    add_all_sides(name);
    rows.push_back(scratch(run, name.name, name.components));
  }
  auto const stencil = stencil_of(run);
  if (pde::GlobalFinder<float>::needs_scratch(stencil.terms, stencil.operands))
    rows.push_back(scratch(run, "operand", 1));
  if (!equations::Linearisation(stability_of(run)).coefficients().empty())
    rows.push_back(scratch(run, "coefficient", 1));
  pde::add_quantities(rows, run);
  return rows;
}

std::vector<Problem> pde_problems(config::RunConfig const& run, Inputs const&) {
  return pde::problems_of(run);
}

/// Whether a of some side with ∂u/∂n + a·u = g depends on time.
bool factors_change(config::RunConfig const& run) {
  for (config::Sides const& sides : run.boundary)
    for (auto const& ends : sides)
      for (config::SideCondition const& side : ends)
        if (std::ranges::any_of(side.factors, [](config::Formula const& factor) {
              return factor.expression.depends_on(expression::time_variable);
            }))
          return true;
  return false;
}

void choose_pde_kernels(config::RunConfig const& run, Inputs const&, Device const& device) {
  with_zero_of(run.precision, [&](auto zero) {
    find_variant("system", system::variants<decltype(zero)>(), device,
                 variant_of(run, device.backend()));
  });
  if (!goes_by_passes(run, device.backend())) return;
  auto const stencil = stencil_of(run);
  auto const program = equations::program_of(stencil.terms, stencil.rates, run.grid.dims);
  auto const why = system::march_refusal(pde::marched(run, program, scheme_of(run)));
  if (!why.empty()) throw std::invalid_argument("system: " + why);
}

template <class T>
class Pde final : public StagedStepping<T> {
  using Base = StagedStepping<T>;
  using Base::state_, Base::stream_, Base::grid_, Base::scheme_, Base::evolved_;

 public:
  Pde(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Base(run, stream, inputs, pde_rows(run, stream.backend()), scheme_of(run, stream.backend()),
             [this](double time, double until) { return plan(time, until); }),
        run_(run),
        finder_(stream, run.grid, pde::wraps_of(run), stability_of(run), scheme_of(run),
                factors_change(run)),
        events_(stream, run),
        stop_(stream, run),
        now_(stream_, MemorySpace::device, 1),
        names_(stream, run.grid, pde::name_programs(stencil_of(run), run.grid.dims)),
        quantities_(run, stream) {
    auto const stencil = stencil_of(run);
    globals_.emplace(stream, run.grid, pde::wraps_of(run), stencil.terms, stencil.operands);
    if (pde::GlobalFinder<T>::needs_scratch(stencil.terms, stencil.operands))
      operand_ = Buffer<T>(stream, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
    program_ = equations::program_of(stencil.terms, stencil.rates, run.grid.dims);
    for (Unknown const& unknown : system_of(run).unknowns) make_field(unknown, inputs);
    for (auto const& [name, terms] : system_of(run).names) add_name(name);
    if (auto const& initial = pde::parameters_of(run).initial)
      for (Unknown const& unknown : pde::in_order(run, *initial)) fill_read(*initial, unknown);
    auto const whole = equations::whole_program(stencil, run.grid.dims);
    depends_on_time_ = whole.depends_on_time() || state_.changes();
    uses_clock_ = depends_on_time_ || whole.has_noise();
    goes_by_passes_ = goes_by_passes(run, stream.backend());
  }

  /// The step that a run begins with. Throws `ConfigError` where there is none.
  double first_step() {
    try {
      auto const limit = finder_.find(present(), this->clock_.device());
      if (limit.hopeless)
        throw ConfigError({run_.problem(run_.location("time.scheme"), hopeless())});
      double const step = stable_step(run_, limit.step, depends_on_time_, describe(limit));
      return run_.time.step ? step : kept(step);
    } catch (NumericalError const& error) {
      throw ConfigError({run_.problem(run_.location("equations"), error.what())});
    }
  }

  /// How the system was understood.
  std::vector<std::string> report() {
    return pde::report(run_, system_of(run_), names_.programs(), program_, scheme_,
                       finder_.find(present(), this->clock_.device()), finder_.varies());
  }

  bool finished() const override { return !ending_.empty() || Base::finished(); }
  std::string ending() const override { return ending_; }

  /// Steps end at events, which are done at once: what is written or saved at their time comes
  /// after them.
  void advance(std::int64_t max_steps, double until) override {
    until = std::min(until, run_.time.end);
    while (max_steps > 0 && !finished() && this->clock().time < until) {
      Clock const before = this->clock();
      std::int64_t steps = max_steps;
      if (stop_.is_asked_for())
        steps = std::min(steps, pde::steps_between_tests - before.step % pde::steps_between_tests);
      Base::advance(steps, std::min(until, events_.next(before.time)));
      Clock const now = this->clock();
      max_steps -= now.step - before.step;
      if (events_.due(before.time, now.time))
        events_.apply(
            before.time, now.time, [this] { return moment(); }, state_arrays());
      test_stop();
    }
  }
  /// What ended a run ends it again.
  void load(CheckpointSource const& source) override {
    Base::load(source);
    test_stop();
  }

  std::vector<Field> fields() const override {
    std::vector<Field> fields;
    for (auto const& field : fields_) {
      if (field.components.size() == 1) {
        fields.push_back(described(field, std::as_const(*field.components.front()).data(), 1));
        continue;
      }
      std::vector<T const*> arrays;
      for (Array<T> const* component : field.components) arrays.push_back(component->data());
      system::interleave<T>(stream_, arrays, field.written.span());
      fields.push_back(
          described(field, field.written.data(), static_cast<int>(field.components.size())));
    }
    for (Field const& derived : found_quantities(true)) fields.push_back(derived);
    return fields;
  }
  std::vector<Field> quantities() const override { return found_quantities(false); }
  std::vector<NamedText> chosen() const override {
    return chosen_texts("system", variant_of(run_, stream_.backend()),
                        static_cast<int>(steps_of_pass()));
  }
  double values_per_update() const override {
    if (!goes_by_passes_) return Base::values_per_update();
    return 2.0 * static_cast<double>(evolved_.size()) / passes().longest();
  }

 private:
  /// A field with its components, and the array in which they lie side by side.
  struct Written {
    std::string name;
    std::string unit;
    std::vector<Array<T>*> components = {};
    mutable Buffer<T> written = {};  // in `fields`
  };

  Field described(Written const& field, T const* data, int components) const {
    return {field.name, field.unit, grid_, precision_of<T>(), data, components};
  }

  static constexpr int no_component = -1;  // of a scalar

  /// The arrays of an unknown, its sides, and its first values.
  void make_field(Unknown const& unknown, Inputs const& inputs) {
    auto const& info = *std::ranges::find(run_.fields, unknown.name, &config::FieldInfo::name);
    Written field = {unknown.name, info.unit};
    auto const& source = run_.initial.find(unknown.name)->second;
    auto const size = static_cast<std::size_t>(grid_.size());
    for (auto const& name : names_of(run_, unknown)) {
      int const component =
          unknown.is_vector ? static_cast<int>(field.components.size()) : no_component;
      field.components.push_back(&state_[name]);
      set_sides(inputs_.emplace_back(), run_.sides_of(unknown.name), name, component);
    }
    if (field.components.size() > 1)
      field.written = Buffer<T>(stream_, MemorySpace::device, size * field.components.size());
    if (!pde::is_read(run_, unknown.name)) {
      fill_components(source, inputs, field);
      impose_sides(unknown);
    }
    fields_.push_back(std::move(field));
  }

  void impose_sides(Unknown const& unknown) {
    for (int c = unknown.first; c < unknown.first + unknown.components; ++c)
      system::impose_sides<T>(stream_, grid_, inputs_[static_cast<std::size_t>(c)].sides,
                              evolved_[static_cast<std::size_t>(c)]->data());
  }

  /// First values that are made of those of other fields, by way of arrays that are free yet.
  void fill_read(System const& initial, Unknown const& unknown) {
    std::vector<T*> free;
    for (int c = unknown.first; c < unknown.first + unknown.components; ++c)
      free.push_back(evolved_[static_cast<std::size_t>(c)]->buffer(1));
    pde::fill_initial<T>(stream_, grid_, pde::space_of_values(run_), pde::wraps_of(run_), initial,
                         unknown, inputs_of(0), this->clock_.device(), free,
                         variant_of(run_, stream_.backend()));
    for (std::size_t c = 0; c < free.size(); ++c) {
      auto const target = evolved_[static_cast<std::size_t>(unknown.first) + c]->span();
      copy_async(target, std::span<T const>(free[c], target.size()), stream_);
    }
    impose_sides(unknown);
  }

  /// The arrays of a name with sides among what stages read.
  void add_name(Unknown const& name) {
    auto const components = names_of(run_, name);
    for (int c = 0; c < name.components; ++c) {
      inputs_.emplace_back().values = names_.values(name.first + c);
      set_sides(inputs_.back(), run_.sides_of(name.name), components[static_cast<std::size_t>(c)],
                name.is_vector ? c : no_component);
    }
  }

  /// What holds on the sides for an array; of a vector for this one of its components.
  void set_sides(system::Input<T>& input, config::Sides const& sides, std::string_view name,
                 int component) {
    for (int axis = 0; axis < grid_.dims; ++axis)
      for (int side = 0; side < 2; ++side)
        input.sides[axis][side] = system::side_of<T>(
            sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)].kind,
            grid_.spacing[static_cast<std::size_t>(axis)], state_.side(name, axis, side),
            state_.side_factor(name, axis, side), component == axis);
  }

  /// The first values of a field: formulas of its components, or a file's with the components side
  /// by side.
  void fill_components(config::FieldSource const& source, Inputs const& inputs,
                       Written const& field) {
    auto const take = [&](config::FieldSource const& from, std::span<T> target) {
      fill(stream_, from, grid_, inputs, target, nullptr, run_.kernels.at("evaluate"));
    };
    if (source.file.empty() && !source.components.empty()) {
      for (std::size_t c = 0; c < field.components.size(); ++c)
        take(source_of(source.components[c]), field.components[c]->span());
    } else if (field.components.size() == 1) {
      take(source, field.components.front()->span());
    } else {
      take(source, field.written.span());
      std::vector<T*> arrays;
      for (Array<T>* component : field.components) arrays.push_back(component->data());
      system::separate<T>(stream_, std::as_const(field.written).span(), arrays);
    }
  }

  /// The inputs of a stage that takes these buffers.
  std::vector<system::Input<T>> inputs_of(int number) {
    auto inputs = inputs_;
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      inputs[c].values = this->buffer(number, *evolved_[c]);
    return inputs;
  }
  /// Those of the present state, whatever moment the sides were last filled for.
  std::vector<system::Input<T>> present() {
    if (state_.changes()) state_.refresh({.sides = {1, 0, 0}});
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs_of(0);
    step.clock = this->clock_.device();
    names_.fill(step, variant_of(run_, stream_.backend()));
    return step.inputs;
  }
  std::vector<Field> found_quantities(bool written) const {
    if (!quantities_.has(written)) return {};
    return quantities_.find(written, present_(), this->clock().time);
  }

  /// The present state for what happens between steps.
  pde::Moment<T> moment() {
    pde::Moment<T> moment;
    moment.time = this->clock().time;
    moment.clock = now_.data();
    moment.inputs = present();
    for (Array<T>* const component : evolved_) moment.spare.push_back(this->buffer(1, *component));
    evaluate::set_clock(stream_, now_.data(), {moment.time, 0, 0});
    return moment;
  }
  std::vector<T*> state_arrays() {
    std::vector<T*> arrays;
    for (Array<T>* const component : evolved_) arrays.push_back(this->buffer(0, *component));
    return arrays;
  }
  /// Ends the run where a condition holds. When that is tested follows from the steps and the
  /// moments that they end at alone, however the run is cut into pieces.
  void test_stop() {
    auto const [step, time] = this->clock();
    bool const is_time = step % pde::steps_between_tests == 0 || this->clock_.at_moment();
    if (!stop_.is_asked_for() || step == 0 || !is_time) return;
    auto const now = moment();
    globals_->find(now.inputs, now.clock, 0, operand_.span());
    std::string const reason = stop_.reason(program_, globals_->values(), now);
    if (!reason.empty()) ending_ = fmt::format("ended at t = {} s: {}", time, reason);
  }

  void queue_stage(Stage const& stage) override {
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs_of(stage.in);
    step.clock = this->clock_.device();
    step.fraction = stage.time;
    names_.fill(step, variant_of(run_, stream_.backend()));
    step.program = &program_;
    step.factor = stage.factor * this->step_size();
    step.in_weight = stage.base == stage.in ? 0 : stage.in_weight;
    for (auto const& [buffer, weight] : stage.terms) step.addend_weights.push_back(weight);
    for (Array<T>* const component : evolved_) {
      system::Output<T> output = {.values = this->buffer(stage.out, *component),
                                  .base = this->buffer(stage.base, *component)};
      for (std::size_t i = 0; i < stage.terms.size(); ++i)
        output.addends[i] = this->buffer(stage.terms[i].first, *component);
      step.outputs.push_back(output);
    }
    globals_->find(step.inputs, step.clock, step.fraction, operand_.span(),
                   variant_of(run_, stream_.backend()));
    step.found = globals_->values();
    if (!module_) module_ = system::module_of(stream_.device(), step);
    step.module = module_;
    system::advance(stream_, step, variant_of(run_, stream_.backend()));
  }
  void queue(std::int64_t steps) override {
    if (!goes_by_passes_) return Base::queue(steps);
    while (steps > 0) {
      auto const& pass = passes().within(steps);
      system::PassArrays<T> arrays;
      for (Array<T>* const component : evolved_) {
        arrays.in.push_back(this->buffer(0, *component));
        arrays.out.push_back(this->buffer(1, *component));
      }
      pass.queue(stream_, arrays, this->step_size(), this->clock_.device());
      this->move_to(this->buffer(1));
      for (int step = 0; step < pass.steps() && uses_clock(); ++step) this->clock_.tick();
      steps -= pass.steps();
    }
  }
  std::int64_t steps_of_pass() const override { return goes_by_passes_ ? passes().longest() : 1; }
  /// Compiled when a step is first made: who asks for the first step's size makes none.
  pde::Passes<T>& passes() const {
    if (!passes_) passes_.emplace(stream_.device(), pde::marched(run_, program_, scheme_));
    return *passes_;
  }
  bool uses_clock() const override { return uses_clock_; }

  /// Steps of one length where the limit is the same for every state. Else some, after which the
  /// limit is found again.
  StepPlan plan(double time, double until) {
    if (!step_ || finder_.varies()) step_ = time == 0 ? first_step() : next_step(time);
    auto plan = whole_steps(*step_)(time, until);
    if (finder_.varies()) plan.steps = std::min(plan.steps, steps_between());
    return plan;
  }

  /// A jump makes faster waves than any that were there, within a few steps; where it is carried
  /// from upwind, nothing but the limit holds them.
  std::int64_t steps_between() const {
    std::int64_t const most = finder_.steps_between();
    if (space_of(run_).convection == equations::Convection::central) return most;
    return std::min(most, std::clamp<std::int64_t>(this->clock_.now().step, 1, 8));
  }

  double next_step(double time) {
    auto const limit = finder_.find(present(), this->clock_.device());
    if (limit.hopeless) throw NumericalError(fmt::format("at t = {} s: {}", time, hopeless()));
    if (!run_.time.step)
      return kept(std::min(run_.time.safety * limit.step, longest_step(run_, depends_on_time_)));
    double const step = std::min(*run_.time.step, output_interval(run_));
    if (step > limit.step)
      throw NumericalError(
          fmt::format("at t = {} s the step of {} s is over the stability limit of {:.6g} s ({}); "
                      "'auto' follows the fields",
                      time, step, limit.step, describe(limit)));
    return step;
  }

  /// Of limits that change, powers of 2^(1/8), so that steps stay the same for a while.
  double kept(double step) const {
    return finder_.varies() ? std::exp2(std::floor(8 * std::log2(step)) / 8) : step;
  }

  std::string describe(equations::StepLimit const& limit) const {
    return fmt::format("{}, with rates of up to {:.4g} 1/s", run_.time.scheme, limit.fastest);
  }
  std::string hopeless() const {
    return fmt::format(
        "{} is not stable for what these equations do, whatever the step (they have "
        "waves that are hardly damped); ssprk3 and rk4 take them",
        run_.time.scheme);
  }

  config::RunConfig const& run_;
  pde::StabilityFinder<T> finder_;
  pde::Events<T> events_;
  pde::StopTest<T> stop_;
  Buffer<evaluate::DeviceClock> now_;  // of what happens between steps
  std::string ending_;                 // why, where the run ended before its time
  pde::SidedNames<T> names_;
  mutable pde::QuantityFinder<T> quantities_;
  /// For views of the state: that of the sides may have to be found anew.
  std::function<std::vector<system::Input<T>>()> present_ = [this] { return present(); };
  equations::StencilProgram program_;
  std::optional<pde::GlobalFinder<T>> globals_;
  Buffer<T> operand_;                            // for these
  std::shared_ptr<RuntimeModule const> module_;  // of a GPU
  mutable std::optional<pde::Passes<T>> passes_;
  std::vector<system::Input<T>> inputs_;  // of fields without their values, then of names
  std::vector<Written> fields_;
  std::optional<double> step_;
  bool depends_on_time_ = false, uses_clock_ = false, goes_by_passes_ = false;
};

/// What a simulation finds from the first values.
template <class Find>
auto found_at_start(config::RunConfig const& run, Inputs const& inputs, Device const& device,
                    Find const& find) {
  Stream const stream(device);
  if (run.precision == Precision::float32) {
    Pde<float> simulation(run, stream, inputs);
    return find(simulation);
  }
  Pde<double> simulation(run, stream, inputs);
  return find(simulation);
}

double pde_time_step(config::RunConfig const& run, Inputs const& inputs, Device const& device) {
  return found_at_start(run, inputs, device,
                        [](auto& simulation) { return simulation.first_step(); });
}

std::vector<std::string> pde_report(config::RunConfig const& run, Inputs const& inputs,
                                    Device const& device) {
  return found_at_start(run, inputs, device, [](auto& simulation) { return simulation.report(); });
}

}  // namespace

SimulationEntry pde_entry() {
  config::SimulationInfo info;
  info.name = "pde";
  info.summary = "your own equations: u_t = f(u, grad u, laplace u, ..., x, t) for any fields";
  info.fields = {{.name = "NAME", .documentation = "a field of the equations", .any_name = true}};
  for (auto const& [name, scheme] : scheme_names) info.schemes.push_back(name);
  info.kernels = {{"system", variant_names("system")}, {"evaluate", variant_names("evaluate")}};
  info.sides = {SideKind::periodic, SideKind::antiperiodic, SideKind::dirichlet, SideKind::neumann,
                SideKind::robin,    SideKind::wall,         SideKind::outflow};
  info.has_own_sections = true;
  return entry<Pde, pde::Parameters>({.info = info,
                                      .rows = pde_rows,
                                      .problems = pde_problems,
                                      .time_step = pde_time_step,
                                      .report = pde_report,
                                      .choose_kernels = choose_pde_kernels});
}

}  // namespace gridstride

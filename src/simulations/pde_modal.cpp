// A system of partial differential equations in the modes of its grid,
//
//   ∂u/∂t = L·u + N(u, t),   0 = A·ψ + B·u + M(u, t)
//
// with L, A and B by mode (equations/modal_split.hpp): fields that constraints hold are eliminated,
// N is made at the points, and the schemes (model/modal_scheme.hpp) take L by itself where they can.
// The state are modes; values at points are made of them where somebody looks.

#include "simulations/pde_modal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/system/system.hpp"
#include "model/modal_stepper.hpp"
#include "model/time_stepping.hpp"
#include "simulations/pde_balance.hpp"
#include "simulations/pde_eventful.hpp"
#include "simulations/pde_fields.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_values.hpp"

namespace gridstride::pde {
namespace {

template <class T>
class PdeModal final : public EventfulStepping<T, TimeStepping<T>> {
  using Base = EventfulStepping<T, TimeStepping<T>>;
  using Base::state_, Base::stream_, Base::grid_, Base::run_;

 public:
  PdeModal(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Base(run, stream, inputs, modal_rows_of(run), whole_steps(modal_step(run))),
        split_(modal_split_with_values(run)),
        components_(components_of(run, state_)),
        fields_(stream, run, state_, components_),
        stepper_(stream, run.grid, split_.system, modal_scheme_of(run), modal_variants_of(run)),
        quantities_(run, stream),
        balances_(run, split_, stream) {
    for (auto const& [name, terms] : system_of(run).names) {
      held_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
      T* const values = held_.back().data();
      fields_.add_name(name, std::span(&values, 1));
    }
    for (std::size_t i = held_.size(); i < split_.system.held.size(); ++i)
      values_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size()));
    fields_.fill_given(inputs);
    fields_.fill_read(this->clock_.device());
    take_state();
    bring_to_points(true);
    for (auto const& level : split_.system.levels)
      uses_clock_ = uses_clock_ || level.program.depends_on_time();
    prepare_stop();
    stepper_.wait_for_programs();
  }

  double first_step() override { return *run_.time.step; }
  void advance(std::int64_t max_steps, double until) override {
    Base::advance(max_steps, until);
    if (this->finished()) show();
  }
  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    stepper_.save(sink);
    balances_.save(sink);
  }
  /// What ended a run ends it again.
  void load(CheckpointSource const& source) override {
    Base::load(source);
    stepper_.load(source);
    balances_.load(source);
    at_points_ = false;
    this->test_stop();
  }

  std::vector<Field> fields() const override {
    bring_();
    std::vector<Field> fields = fields_.written();
    for (std::size_t k = 0; k < held_.size(); ++k)
      fields.push_back(
          {system_of(run_).names[k].name.name, "1", grid_, precision_of<T>(), held_[k].data(), 1});
    for (Field const& derived : found_quantities(true)) fields.push_back(derived);
    return fields;
  }
  std::vector<Field> quantities() const override {
    bring_();
    return found_quantities(false);
  }
  std::vector<NamedText> chosen() const override {
    auto const& backend = stream_.backend();
    auto const row = [&](char const* family, std::string_view standard) {
      std::string const& wanted = run_.kernels.at(family);
      return NamedText{family, wanted == "auto" ? std::string(standard) : wanted};
    };
    return {row("fft", fft::default_variant(backend)),
            row("modes", modes::default_variant(backend)),
            row("system", system::default_variant(backend, grid_.dims))};
  }
  std::vector<std::string> fallbacks() const override {
    auto lines = Base::fallbacks();
    for (std::string& line : stepper_.fallbacks()) lines.push_back(std::move(line));
    return lines;
  }
  /// Each transform reads and writes an array, as each evaluation does with the state.
  double values_per_update() const override {
    return 2.0 * modal_evaluations(run_) *
           (equations::transforms_of(split_.system) + stepper_.components());
  }

 private:
  static std::vector<Array<T>*> components_of(config::RunConfig const& run, State<T>& state) {
    std::vector<Array<T>*> components;
    for (auto const& unknown : system_of(run).unknowns)
      for (auto const& name : names_of(run, unknown)) components.push_back(&state[name]);
    return components;
  }
  std::vector<T*> arrays(int number) {
    std::vector<T*> all;
    for (Array<T>* const component : components_) all.push_back(component->buffer(number));
    return all;
  }

  /// Queues the state in modes from the values at the points.
  void take_state() {
    for (std::size_t c = 0; c < components_.size(); ++c)
      stepper_.to_modes(static_cast<int>(c), std::as_const(*components_[c]).span());
    at_points_ = false;
  }
  /// Queues the values at the points, where steps were made since or new ones were given.
  void bring_to_points(bool are_given) {
    if (at_points_) return;
    for (std::size_t c = 0; c < components_.size(); ++c)
      stepper_.to_points(static_cast<int>(c), components_[c]->span());
    for (std::size_t k = 0; k < held_.size(); ++k)
      stepper_.held_to_points(static_cast<int>(k), this->clock_.device(), held_[k].span());
    at_points_ = true;
    has_values_ = false;
    double const time = this->clock().time;
    if (are_given)
      balances_.check_given(time, present_inputs());
    else
      balances_.check(time, present_inputs());
  }
  void show() { bring_to_points(false); }
  /// Queues what formulas at the points take of modes beside fields.
  void find_values() {
    if (has_values_) return;
    for (std::size_t i = 0; i < values_.size(); ++i)
      stepper_.held_to_points(static_cast<int>(held_.size() + i), this->clock_.device(),
                              values_[i].span());
    has_values_ = true;
  }

  std::vector<system::Input<T>> present_inputs() {
    auto inputs = fields_.inputs();
    for (std::size_t c = 0; c < components_.size(); ++c) inputs[c].values = components_[c]->data();
    // Programs look at these where they are alone, so that their sides only have to be of the grid.
    for (Buffer<T> const& values : values_) {
      inputs.push_back(system::Input<T>(inputs.front()));
      inputs.back().values = values.data();
    }
    return inputs;
  }
  std::vector<Field> found_quantities(bool written) const {
    if (!quantities_.has(written)) return {};
    return quantities_.find(written, inputs_(), this->clock().time);
  }

  Moment<T> moment() override {
    show();
    find_values();
    return this->moment_of(present_inputs(), arrays(1));
  }
  std::vector<T*> state_arrays() override { return arrays(0); }
  void take_given() override {
    take_state();
    bring_to_points(true);
  }
  std::string reason_to_end(StopTest<T>& stop) override {
    return stop.reason(rates_, nullptr, moment());
  }

  /// Rates are arrays, or those of the differences that the symbols are of.
  void prepare_stop() {
    if (!parameters_of(run_).sections.stop.steady) return;
    auto const stencil = rate_stencil(run_);
    rates_ = equations::program_of(stencil.terms, stencil.rates, grid_.dims);
  }
  void queue(std::int64_t steps) override {
    double const step = this->step_size();
    stepper_.prepare(step);
    for (; steps > 0; --steps) {
      stepper_.step(step, this->clock_.device());
      if (uses_clock_) this->clock_.tick();
    }
    at_points_ = false;
  }
  /// What steps are made of has to be there before they go into a graph.
  std::int64_t steps_before_graph() const override {
    return stepper_.is_steady(this->step_size()) ? 0 : 1;
  }

  equations::ModalSplit split_;
  std::vector<Array<T>*> components_;
  SystemFields<T> fields_;
  ModalStepper<T> stepper_;
  mutable QuantityFinder<T> quantities_;
  Balances<T> balances_;
  std::vector<Buffer<T>> held_;    // fields that constraints hold, at the points
  std::vector<Buffer<T>> values_;  // what formulas take beside fields
  equations::StencilProgram rates_;
  bool at_points_ = false, has_values_ = false, uses_clock_ = false;
  /// For views of the state, which may have to be brought to the points.
  std::function<void()> bring_ = [this] { show(); };
  std::function<std::vector<system::Input<T>>()> inputs_ = [this] {
    find_values();
    return present_inputs();
  };
};

}  // namespace

std::unique_ptr<Simulation> make_modal(config::RunConfig const& run, Stream const& stream,
                                       Inputs const& inputs) {
  if (run.precision == Precision::float32)
    return std::make_unique<PdeModal<float>>(run, stream, inputs);
  return std::make_unique<PdeModal<double>>(run, stream, inputs);
}

}  // namespace gridstride::pde

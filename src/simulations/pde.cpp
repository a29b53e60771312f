// A system of partial differential equations that the file states:
//
//   ∂u_a/∂t = f_a(u, ∂u, ∂²u, …, x, t)      on a uniform grid in 1 to 3 dimensions,
//
// by differences of points nearby (equations/discretise.hpp) and explicit Runge-Kutta schemes
// whose stages are one kernel for all components. The step follows from the symbol of the
// linearised differences (equations/stability.hpp), found again as the fields change.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/families.hpp"
#include "kernels/system/system.hpp"
#include "model/entry.hpp"
#include "model/own_values.hpp"
#include "model/reading.hpp"
#include "model/time_stepping.hpp"
#include "simulations/pde_early_pass.hpp"
#include "simulations/pde_evaluations.hpp"
#include "simulations/pde_eventful.hpp"
#include "simulations/pde_fields.hpp"
#include "simulations/pde_first_look.hpp"
#include "simulations/pde_implicit_steps.hpp"
#include "simulations/pde_lasting.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_modal.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_names.hpp"
#include "simulations/pde_problems.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_ranks.hpp"
#include "simulations/pde_report.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_slope_parts.hpp"
#include "simulations/pde_step_choice.hpp"
#include "simulations/pde_step_limits.hpp"

namespace gridstride {

namespace {

using pde::scheme_of, pde::slopes_of, pde::stencil_of, pde::system_of;

template <class T>
class Pde final : public pde::EventfulStepping<T, pde::SlopeStepping<T>> {
  using Base = pde::EventfulStepping<T, pde::SlopeStepping<T>>;
  using Base::state_, Base::stream_, Base::grid_, Base::scheme_, Base::evolved_, Base::run_,
      Base::events_, Base::implicit_;

 public:
  Pde(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Pde(run, stream, inputs, pde::rank_plan(run, stream.device())) {}
  /// `plan`: how several ranks share it.
  Pde(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
      std::optional<SweepPlan> const& plan)
      : Base(run, stream, inputs, pde::rank_rows(run, stream.device(), plan),
             pde::scheme_of(run, stream.backend()), slopes_of(run), pde::errors_of(run),
             pde::multigrid_error_order(run.time.scheme),
             [this](double time, double until) { return plan_steps(time, until); }),
        plan_(plan),
        in_parts_(pde::begins_with_parts(run, stream.backend())),
        inputs_(inputs),
        fields_(stream, run, state_, evolved_) {
    if (pde::is_written_by_all(run, stream.backend())) quantity_planes_.emplace(run, stream);
    auto const stencil = stencil_of(run);
    equations_.emplace(stream, run, stencil, state_, has_whole());
    if (has_whole()) quantities_.emplace(run, stream);
    if (!plan_ || (has_whole() && pde::names_read_lasting(run, stencil)))
      lasting_.emplace(stream, run, stencil, run.grid);
    for (auto const& [name, terms] : system_of(run).names)
      fields_.add_name(name, equations_->arrays_of(name));
    if (has_whole()) fill_fields(inputs);
    auto const whole = equations::whole_program(stencil, run.grid.dims);
    depends_on_time_ =
        whole.depends_on_time() || state_.changes() || pde::field_sides_depend_on_time(run);
    uses_clock_ = depends_on_time_ || whole.has_noise();
    goes_by_passes_ = pde::goes_by_passes(run, stream.backend());
    if (pde::goes_by_multigrid(run) && this->has_state()) pde::check_implicit_values(run, inputs);
    if (!plan_) make_implicit_steps();
    if (!run.time.adaptive) choose_steps();
    if (!has_whole() && goes_by_passes_) passes();
  }

  void advance(std::int64_t max_steps, double until) override {
    begin_sharing();
    Base::advance(max_steps, until);
  }

  /// Of steps that follow their error the longest.
  double first_step() override {
    return choice_ ? choice_->first() : pde::errors_of(run_)->longest;
  }

  /// How the system was understood.
  std::vector<std::string> report() {
    std::optional<equations::StepLimit> limit;
    if (choice_) limit = choice_->limit();
    std::optional<pde::SlopeCost> cost;
    if (auto const* slopes = slopes_of(run_))
      cost = {evaluations(), static_cast<std::size_t>(this->values_per_update())};
    return pde::report(run_, system_of(run_), stencil_of(run_),
                       pde::name_programs(stencil_of(run_), run_.grid.dims), equations_->program(),
                       scheme_, limit, choice_ && choice_->varies(), cost);
  }

  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    if (choice_) choice_->save(sink);
    if (implicit_) implicit_->save(sink, own_arrays_of_steps());
  }
  /// What ended a run ends it again.
  void load(CheckpointSource const& source) override {
    begin_sharing();
    Base::load(source);
    if (choice_) choice_->load(source);
    if (implicit_) implicit_->load(source, own_arrays_of_steps());
    this->test_stop();
  }

  bool has_parts() const override { return quantity_planes_.has_value(); }
  std::vector<Field> fields_in_parts() const override {
    auto fields = fields_.described();
    for (Field const& derived : quantity_planes_->described(true)) fields.push_back(derived);
    return fields;
  }
  FoundByParts write_parts(std::vector<FieldTarget> const& targets, bool measured) override {
    begin_sharing();
    return Base::write_parts(targets, measured);
  }
  std::vector<Field> fields() const override {
    this->settle();
    if (implicit_) implicit_->settle();
    if (!has_whole()) return {};
    std::vector<Field> fields = fields_.written();
    for (Field const& derived : found_quantities(true)) fields.push_back(derived);
    return fields;
  }
  std::vector<Field> quantities() const override { return found_quantities(false); }
  std::vector<NamedText> chosen() const override {
    auto const* const kernel = equations_->prepared();
    auto const row = kernel ? kernel->variant : pde::variant_of(run_, stream_.backend());
    auto texts = chosen_texts("system", row, static_cast<int>(steps_of_pass()));
    if (implicit_) texts.push_back({"implicit steps", "multigrid"});
    return this->with_slabs(std::move(texts));
  }
  std::vector<std::string> fallbacks() const override {
    auto lines = Base::fallbacks();
    auto const* const kernel = equations_->prepared();
    if (kernel && !kernel->fallback.empty()) lines.push_back(kernel->fallback);
    if (parts_ && !parts_->fallback().empty()) lines.push_back(parts_->fallback());
    return lines;
  }
  double values_per_update() const override {
    auto const lasting = static_cast<double>(pde::lasting_read(run_, equations_->program()));
    if (!goes_by_passes_)
      return Base::values_per_update() + lasting * static_cast<double>(evaluations());
    auto const components = static_cast<double>(evolved_.size());
    return (passes().reads() * (components + lasting) + components) / passes().longest();
  }

 private:
  std::vector<OwnField> own_fields() const override {
    auto own = fields_.own();
    for (Field const& derived : quantity_planes_->described(true))
      own.push_back(
          own_field(*std::ranges::find(run_.fields, derived.name, &config::FieldInfo::name)));
    for (Field const& quantity : quantity_planes_->described(false))
      own.push_back({.name = quantity.name, .numbers = {quantity.name}, .is_seen = false});
    return own;
  }
  std::vector<std::span<T const>> find_beside() override {
    if (!quantity_planes_->has_any()) return {};
    return parts_->find(*this->sweep_, *quantity_planes_, this->clock().time);
  }
  /// Of several ranks the first one, where it has the arrays of all of the grid.
  bool has_whole() const { return this->has_state() && !in_parts_; }
  void fill_fields(Inputs const& inputs) {
    fields_.fill_given(inputs);
    hold_sides(0, 0);
    fields_.fill_read(this->clock_.device());
    hold_sides(0, 0);
  }

  /// From now on ranks make steps together. Who tells the first step alone has not come so far.
  void begin_sharing() {
    if (!plan_ || this->sweep_) return;
    auto const stencil = stencil_of(run_);
    this->sweep_ = make_window_steps<T>(stream_, *plan_, [this](std::int64_t left) {
      return goes_by_passes_ ? passes().within(uses_clock() ? 1 : left) : 1;
    });
    parts_.emplace(parts_of(), fields_.inputs(), stencil, *this->sweep_);
    first_look_.reset();
    if (in_parts_)
      this->begin_with(true, [this](Stream& stream, Window<T> const& window) {
        pde::for_each_given(run_, window, [&](auto const& source, Targets<T> targets) {
          fill_own(stream, source, *plan_, inputs_, window, targets, run_.kernels.at("evaluate"));
        });
        parts_->impose_sides(window);
      });
    if (in_parts_)
      for (auto const& values : pde::first_values(run_)) parts_->begin_with(*this->sweep_, values);
    this->make_in(*parts_);
    make_implicit_steps();
    shared_.emplace(ranks(), [this](std::size_t finder, pde::Ahead const& ahead) {
      return parts_->look(*this->sweep_, limits_->finder(finder), ahead);
    });
  }
  pde::PartsOf<T> parts_of() {
    return {stream_,
            run_,
            *plan_,
            scheme_,
            state_,
            this->clock_,
            evolved_,
            equations_->program(),
            equations_->globals()};
  }
  void make_implicit_steps() {
    if (pde::goes_by_multigrid(run_))
      implicit_ =
          pde::make_implicit_steps(stream_, run_, state_, evolved_, this->place(), !has_parts());
  }
  pde::OwnArrays<T> own_arrays_of_steps() const {
    if (!has_parts()) return {};
    return {.put = [this](auto&&... what) { this->put_own(what...); },
            .get = [this](auto&&... what) { this->get_own(what...); }};
  }
  StepPlan plan_steps(double time, double until) {
    auto const choose = [&] { return choice_->plan(time, until, events_.last(time)); };
    early_.expect(time, until, begins_early() ? passes().longest() : 0);
    auto const plan = shared_ ? shared_->plan(choose) : choose();
    early_.add(plan);
    return plan;
  }
  /// Whether steps can be begun while the state is looked at: not those of a graph, which is whole.
  bool begins_early() const {
    return stream_.backend() == Backend::cuda && goes_by_passes_ && !uses_clock_ &&
           passes().longest() > 1 && this->steps_of_graph() > choice_->steps_between();
  }
  /// In a look. Nothing else is queued between it and the steps.
  void begin_steps() {
    double const dt = early_.begin();
    if (dt != 0 && parts_) parts_->begin(*this->sweep_, dt, passes());
    if (dt != 0 && !parts_) queue_pass(passes().longest(), dt);
  }
  void queue_pass(std::int64_t steps, double dt) {
    passes().queue(stream_, {.in = inputs_of(0), .out = arrays_of(1)}, steps, dt,
                   this->clock_.device(), {grid_, 0, {0, grid_.points[1]}});
  }
  /// Of the rates, for a step.
  std::size_t evaluations() const {
    if (auto const* slopes = slopes_of(run_))
      return slopes->stages.size() - (slopes->first_is_last() ? 1 : 0);
    return scheme_.stages.size();
  }
  void choose_steps() {
    limits_.emplace(stream_, run_);
    // Of several ranks the first one looks at once, the others in its steps.
    if (in_parts_ && this->has_state())
      first_look_.emplace(parts_of(), fields_.inputs(), stencil_of(run_), inputs_);
    if (this->has_state()) refuse_ill_posed();
    if (!has_whole()) limits_->prepare(fields_.inputs());
    limits_->while_waiting([this] { begin_steps(); });
    pde::LimitFollows follows = limits_->follows();
    follows.equations_have_time = depends_on_time_;
    choice_.emplace(run_, this->clock_, follows,
                    [this](pde::Ahead const& ahead) { return find_limit(ahead); });
  }
  void refuse_ill_posed() try {
    auto const state = has_whole() ? present() : fields_.inputs();
    limits_->refuse_ill_posed([&](auto& finder) {
      return first_look_ ? first_look_->of(finder) : finder.look_at(state, this->clock_.device());
    });
  } catch (NumericalError const& error) {
    throw ConfigError({run_.problem(run_.location("equations"), error.what())});
  }
  equations::StepLimit find_limit(pde::Ahead const& ahead) {
    if (shared_ && state_.changes()) state_.refresh({.sides = {1, 0, 0}});
    bool const has_present = !shared_ && !first_look_;
    auto const inputs = has_present ? present() : fields_.inputs();
    auto const set_factors = [&](double part) { set_sides(inputs, ahead, part); };
    return limits_->least([&](pde::StabilityFinder<T>& finder, std::size_t number) {
      auto const ask = [&](pde::Ahead const& of) { return shared_->ask(number, of); };
      auto const look = has_present   ? finder.look_at(inputs, this->clock_.device())
                        : first_look_ ? first_look_->of(finder)
                                      : typename pde::StabilityFinder<T>::Look(ask);
      return finder.find(inputs, ahead, set_factors, look);
    });
  }
  /// Fills sides, with what fields are at present, for a part of a step to come.
  void set_sides(std::vector<system::Input<T>> const& inputs, pde::Ahead const& ahead,
                 double part) {
    auto const before = this->clock_.now_on_device();
    evaluate::set_clock(stream_, this->clock_.device(), {ahead.time, ahead.step, 0});
    state_.refresh(part, part);
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs;
    step.clock = this->clock_.device();
    step.fraction = part;
    if (!shared_ && !first_look_) equations_->fill_sides(step);
    evaluate::set_clock(stream_, this->clock_.device(), before);
  }

  /// The inputs of a stage that takes these buffers.
  std::vector<system::Input<T>> inputs_of(int number) {
    auto inputs = fields_.inputs();
    for (std::size_t c = 0; c < evolved_.size(); ++c)
      inputs[c].values = this->buffer(number, *evolved_[c]);
    if (lasting_) inputs.insert(inputs.end(), lasting_->inputs().begin(), lasting_->inputs().end());
    return inputs;
  }
  /// Those of the present state, whatever moment the sides were last filled for.
  std::vector<system::Input<T>> present() {
    if (state_.changes()) state_.refresh({.sides = {1, 0, 0}});
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs_of(0);
    step.clock = this->clock_.device();
    equations_->fill_sides_and_names(step);
    return step.inputs;
  }
  std::vector<Field> found_quantities(bool written) const {
    if (!quantities_ || !quantities_->has(written)) return {};
    return quantities_->find(written, present_(), this->clock().time);
  }

  pde::Moment<T> moment() override { return this->moment_of(present(), arrays_of(1)); }
  pde::Moment<T> moment_of_event() override {
    hold_sides(0, 0);
    return moment();
  }
  void do_events(double before, double now) override {
    if (!in_parts_) return Base::do_events(before, now);
    if (implicit_) implicit_->forget();
    for (std::size_t const event : this->events_.due_events(before, now))
      parts_->set(*this->sweep_, this->events_, event, this->clock().time, this->clock_of_now());
  }
  void take_given() override {
    if (this->sweep_) this->sweep_->renew();
    if (implicit_) implicit_->forget();
    if (has_whole()) hold_sides(0, 0);
  }
  std::vector<T*> arrays_of(int number) {
    std::vector<T*> arrays;
    for (Array<T>* const component : evolved_) arrays.push_back(this->buffer(number, *component));
    return arrays;
  }
  std::vector<T*> state_arrays() override { return arrays_of(0); }
  std::string reason_to_end(pde::StopTest<T>& stop) override {
    if (parts_)
      return parts_->reason_to_end(*this->sweep_, stop, equations_->all_rates(), this->clock().time,
                                   this->clock_of_now());
    auto const state = moment();
    system::Step<T> step;
    step.inputs = state.inputs;
    step.clock = state.clock;
    equations_->find_globals(step);
    return stop.reason(equations_->all_rates(), equations_->globals().values(), state);
  }

  /// An evaluation of the equations for these buffers at a part of the step: queues what has to be
  /// known before, names with sides and values over the whole grid. Where it `needs_step`, what
  /// comes of it counts only if the clock has one.
  system::Step<T> evaluation(int in, double fraction, bool needs_step) {
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs_of(in);
    step.clock = this->clock_.device();
    step.fraction = fraction;
    step.needs_step = needs_step;
    equations_->complete(step);
    return step;
  }
  /// Queues what buffers of this number hold on Dirichlet sides that follow from fields, at a part
  /// of the step.
  void hold_sides(int number, double fraction) override {
    if (!equations_->holds_sides()) return;
    system::Step<T> step;
    step.grid = grid_;
    step.inputs = inputs_of(number);
    step.clock = this->clock_.device();
    step.fraction = fraction;
    equations_->hold_sides(step, arrays_of(number));
  }
  /// The part of the step that a stage leads to: where the next one looks at the time.
  double end_of(Stage const& stage) const {
    Stage const* const next = &stage + 1;
    return next == scheme_.stages.data() + scheme_.stages.size() ? 1 : next->time;
  }

  void queue_stage(Stage const& stage) override {
    auto step = evaluation(stage.in, stage.time, false);
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
    equations_->queue(step, &stage);
    hold_sides(stage.out, end_of(stage));
  }
  void queue_rates(Stage const& moment, int in, int out) override {
    auto step = evaluation(in, moment.time, true);
    step.is_stage = false;
    for (std::size_t c = this->first_rate(); c < evolved_.size(); ++c)
      step.outputs.push_back({.values = this->buffer(out, *evolved_[c])});
    equations_->queue(step, nullptr);
  }
  system::Sides<T> const& sides_of(std::size_t component) const override {
    return fields_.inputs()[component].sides;
  }
  /// Cycles are looked at by the host, and are in no graph.
  std::int64_t steps_before_graph() const override {
    return implicit_ ? 1 : Base::steps_before_graph();
  }
  void queue(std::int64_t steps) override {
    if (this->sweep_ && !early_.take(this->step_size())) this->sweep_->forget();
    if (this->sweep_ && !slopes_of(run_) && !implicit_)
      return parts_->run(*this->sweep_, steps, goes_by_passes_ ? &passes() : nullptr, uses_clock());
    if (!goes_by_passes_) return Base::queue(steps);
    for (passes().begin(); steps > 0;) {
      int const made = passes().within(steps);
      bool const is_begun = early_.take(this->step_size()) && made == passes().longest();
      if (!is_begun) queue_pass(steps, this->step_size());
      this->move_to(this->buffer(1));
      for (int step = 0; step < made && uses_clock(); ++step) this->clock_.tick();
      steps -= made;
    }
  }
  std::int64_t steps_of_pass() const override { return goes_by_passes_ ? passes().longest() : 1; }
  /// Compiled when they are first asked for: who asks for the first step's size makes none. Where limits
  /// change, runs begin with few steps between two looks.
  pde::Passes<T>& passes() const {
    bool const begins_with_few = choice_ && choice_->varies();
    if (!passes_)
      passes_.emplace(
          stream_, pde::pass_system(run_, equations_->program(), scheme_),
          begins_with_few ? pde::ShorterPasses::from_beginning : pde::ShorterPasses::when_needed);
    return *passes_;
  }
  bool uses_clock() const override { return uses_clock_; }

  std::optional<SweepPlan> plan_;  // of several ranks
  bool in_parts_;                  // of these, where nobody has the whole
  Inputs inputs_;
  pde::SystemFields<T> fields_;
  std::optional<pde::StepLimits<T>>
      limits_;  // of what is explicit; none where steps follow their error
  std::optional<pde::LastingArrays<T>> lasting_;
  mutable std::optional<pde::QuantityFinder<T>> quantities_;  // where the state is
  std::optional<pde::QuantityPlanes<T>> quantity_planes_;     // of ranks that write their parts
  /// For views of the state: that of the sides may have to be found anew.
  std::function<std::vector<system::Input<T>>()> present_ = [this] { return present(); };
  std::optional<pde::Evaluations<T>> equations_;
  mutable std::optional<pde::Passes<T>> passes_;
  std::optional<pde::StepChoice> choice_;        // none where steps follow their error
  std::optional<pde::SlopeParts<T>> parts_;      // of ranks that have begun
  std::optional<pde::SharedChoice> shared_;      // the same
  std::optional<pde::FirstLook<T>> first_look_;  // before that, of the first one
  pde::EarlyPass early_;
  bool depends_on_time_ = false, uses_clock_ = false, goes_by_passes_ = false;
};

std::unique_ptr<Simulation> make_pde(config::RunConfig const& run, Stream const& stream,
                                     Inputs const& inputs) {
  return pde::goes_by_modes(run) ? pde::make_modal(run, stream, inputs)
                                 : make_simulation<Pde>(run, stream, inputs);
}

std::vector<std::string> pde_report(config::RunConfig const& run, Inputs const& inputs,
                                    Device const& device) {
  if (pde::goes_by_modes(run)) return pde::modal_report(run);
  Stream const stream(device);
  if (run.precision == Precision::float32) return Pde<float>(run, stream, inputs).report();
  return Pde<double>(run, stream, inputs).report();
}

}  // namespace

SimulationEntry pde_entry() {
  auto row = entry<Pde, pde::Parameters>(
      {.info = pde::info(),
       .memory = pde::memory_of,
       .problems = [](auto const& run, Inputs const&) { return pde::problems_of(run); },
       .report = pde_report,
       .choose_kernels = pde::choose_kernels});
  row.make = make_pde;
  return row;
}

}  // namespace gridstride

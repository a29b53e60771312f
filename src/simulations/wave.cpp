// Waves, with a speed c that may depend on space:
//
//   u_tt = c²∇²u + s(x, t)      on a uniform grid in 1 to 3 dimensions,
//
// with fixed (u = 0), free (∂u/∂n = 0), absorbing or periodic sides. In space: central differences
// of order 2 to 8. In time: the leapfrog scheme, of order 2, which conserves a discrete energy. An
// absorbing side is a fixed one behind a layer where u_tt + 2σ·u_t stands for u_tt. Where steps are
// all alike, a grid that does not fit the device stays on the host, and several ranks may share one.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/ranks.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/star/star.hpp"
#include "model/entry.hpp"
#include "model/own_values.hpp"
#include "model/time_stepping.hpp"
#include "model/values.hpp"
#include "simulations/wave_parameters.hpp"
#include "simulations/wave_slabs.hpp"
#include "simulations/wave_sources.hpp"

namespace gridstride {

namespace {

template <class T>
class Wave final : public TimeStepping<T> {
  using Base = TimeStepping<T>;
  using Base::state_, Base::stream_, Base::grid_, Base::clock_, Base::sweep_;

 public:
  Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Wave(run, stream, inputs, wave::plan(run, stream.device())) {}

  FoundByParts write_parts(std::vector<FieldTarget> const& targets, bool measured) override {
    auto found = Base::write_parts(targets, measured);
    if (!measured) return found;
    T* const state[] = {arrays_.now, arrays_.before};
    sweep_->look(state, LooksAt::beside, [this](Stream&, Window<T> const& window) {
      wave::find_energy<T>(stream_, sweep_->plan(), window, step_, step_before_, at_points(nullptr),
                           energy_.span());
    });
    return found;
  }
  std::vector<DeviceNumber> measure() override {
    if (!this->has_parts()) {
      this->settle();
      star::energy(stream_, leapfrog_step(), step_before_, energy_.span());
    }
    return {{"energy", energy_.data()}};
  }
  double values_per_update() const override {
    double const fused = chosen_.fused_steps;
    return ((fused > 1 ? 4 : 3) + state_.coefficient_arrays()) / fused;
  }
  std::vector<NamedText> chosen() const override {
    return this->with_slabs(chosen_texts("star", chosen_.row->name, chosen_.fused_steps));
  }
  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    sink.put_real("step_before", step_before_);
    wave::parameters_of(run_).surveyed_speed.save("speed", sink);
  }
  void load(CheckpointSource const& source) override {
    Base::load(source);
    auto const& parameters = wave::parameters_of(run_);
    parameters.surveyed_speed.require_same(run_, parameters.speed, "speed", source);
    step_before_ = source.get_real("step_before");
  }

 private:
  Wave(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
       std::optional<SweepPlan> const& plan)
      : Base(run, stream, inputs, rows_of(run, stream.device(), plan),
             equal_steps(wave::shared_time_step(run, inputs))),
        run_(run),
        chosen_(wave::chosen_for<T>(run, stream.device())),
        ricker_(stream_, wave::ricker_terms(run, inputs), grid_, own_points(run, plan)),
        changes_(state_.changes() || !wave::parameters_of(run).ricker.empty()),
        energy_(stream_, MemorySpace::device, 1),
        now_(state_["u"]),
        before_(state_["u_before"]) {
    auto& spare = state_["spare"];
    arrays_ = {now_.data(), before_.data(), {}};
    if (spare.data() != nullptr) arrays_.spare = {spare.buffer(0), spare.buffer(1)};
    step_.grid = grid_;
    step_.order = static_cast<int>(wave::parameters_of(run).order);
    step_.speed_squared = state_["speed squared"].constant();
    step_.speed_squared_field = state_["speed squared"].whole();
    step_.source = state_["source"].data();
    for (int axis = 0; axis < grid_.dims; ++axis) {
      step_.sides[axis] = wave::sides_of(run, axis);
      damping_[axis] = on_device<T>(stream_, wave::damping_of(run, inputs, axis));
      step_.damping[axis] = damping_[axis].data();
    }
    if (plan)
      sweep_ = make_window_steps<T>(stream_, *plan, [fused = chosen_.fused_steps](auto left) {
        return left >= fused ? fused : 1;
      });
    auto const first = equal_steps(wave::time_step(run, inputs))(0, output_interval(run));
    make_initial(run, inputs, first.step);
  }

  static wave::OwnPoints own_points(config::RunConfig const& run,
                                    std::optional<SweepPlan> const& plan) {
    SweepShape const& shape = plan ? plan->shape : SweepShape{.grid = run.grid};
    if (plan && plan->ranks > 1) return {plan->owned_by(ranks().rank()), plan->strips, shape.grid};
    return {{0, shape.planes()}, {}, shape.grid};
  }

  static std::vector<Row> rows_of(config::RunConfig const& run, Device const& device,
                                  std::optional<SweepPlan> const& plan) {
    auto rows = wave::rows(run, device.backend());
    return plan ? rows_of_slabs(run, std::move(rows), wave::slab_steps(run, device), *plan) : rows;
  }

  /// u at time 0, and as the step before what a step of −dt from there makes: exact to order 2 as
  /// the scheme itself, so that the first step is one like all others.
  void make_initial(config::RunConfig const& run, Inputs const& inputs, double dt) {
    star::LeapfrogStep<T> step = leapfrog_step();
    step.ratio = 0;  // a copy with zeros on fixed sides
    give(run, inputs, [&](std::span<T> now, std::span<T> before, Fill const& fill) {
      fill(run.initial.at("u"), sweep_ ? now : before);
      if (sweep_) zero_async(before, stream_);
    });
    if (sweep_) {
      sweep(step, 1, nullptr);
    } else {
      step.in = step.previous = before_.data();
      step.out = now_.data();
      star::leapfrog(stream_, step, chosen_);
    }
    give(run, inputs, [&](std::span<T> now, std::span<T> before, Fill const& fill) {
      fill(wave::parameters_of(run).initial_velocity, before);
      elementwise::scale(stream_, static_cast<T>(dt), before);
      elementwise::add<T>(stream_, now, before, before);
    });
    step = leapfrog_step();  // back in time, from u + dt·v as the moment behind
    step.factor = dt * dt / 2;
    step.damping_time = -dt / 2;
    step_before_ = dt;
    if (!sweep_) return apply(step);
    sweep(step, 1, &ricker_);  // which leaves u at time 0 in the place of the moment behind
    if (run.ranks > 1) return sweep_->reverse();
    std::swap(arrays_.now, arrays_.before);
    place_arrays();
  }

  using Fill = std::function<void(config::FieldSource const&, std::span<T>)>;
  /// Changes the arrays of the state, of ranks what each has of them.
  void give(config::RunConfig const& run, Inputs const& inputs,
            std::function<void(std::span<T> now, std::span<T> before, Fill const&)> const& change) {
    auto const& variant = run.kernels.at("evaluate");
    if (run.ranks == 1) {
      this->settle();
      change(now_.span(), before_.span(),
             [&](config::FieldSource const& source, std::span<T> target) {
               fill(stream_, source, grid_, inputs, target, nullptr, variant);
             });
      if (sweep_) sweep_->renew();
      return;
    }
    bool const without_whole = goes_without_whole(run, stream_.backend());
    this->begin_with(without_whole, [&](Stream&, Window<T> const& window) {
      auto const size = static_cast<std::size_t>(window.grid.size());
      change({window.in[0], size}, {window.in[1], size},
             [&](config::FieldSource const& source, std::span<T> target) {
               fill_own(stream_, source, sweep_->plan(), inputs, window, target.data(), variant);
             });
    });
  }

  /// Queues steps of a grid that is cut.
  void sweep(star::LeapfrogStep<T> const& step, std::int64_t steps,
             wave::PointSources<T> const* ricker) {
    T* const state[] = {arrays_.now, arrays_.before};
    sweep_->run(state, steps, wave::pass_of<T>(step, chosen_, at_points(ricker)));
  }

  wave::AtPoints<T> at_points(wave::PointSources<T> const* ricker) {
    auto const held = sweep_->plan().held_strips();
    return {.speed_squared = &state_["speed squared"],
            .source = &state_["source"],
            .ricker = ricker,
            .clock = clock_.device(),
            .first_across = {held[0].lower, held[1].lower}};
  }

  void place_arrays() {
    now_.place(arrays_.now);
    before_.place(arrays_.before);
  }

  /// A step of no time from the present state, in the place of the state before.
  star::LeapfrogStep<T> leapfrog_step() const {
    star::LeapfrogStep<T> step = step_;
    step.in = arrays_.now;
    step.previous = step.out = arrays_.before;
    return step;
  }

  void apply(star::LeapfrogStep<T> const& step) {
    star::leapfrog(stream_, step, chosen_);
    ricker_.add(stream_, step, 0, clock_.device());
  }

  /// A step of the leg after one of `step_before_`.
  star::LeapfrogStep<T> next_step() const {
    star::LeapfrogStep<T> step = leapfrog_step();
    step.ratio = this->step_size() / step_before_;
    step.damping_time = (this->step_size() + step_before_) / 2;
    step.factor = this->step_size() * step.damping_time;
    return step;
  }

  void queue(std::int64_t steps) override {
    if (sweep_) return queue_trips(steps);
    for (; steps > 0 && (changes_ || step_before_ != this->step_size()); --steps) {
      state_.refresh({});
      apply(next_step());
      std::swap(arrays_.now, arrays_.before);
      step_before_ = this->step_size();
      if (changes_) clock_.tick();
    }
    if (steps > 0) star::leapfrog_repeatedly(stream_, next_step(), arrays_, steps, chosen_);
    place_arrays();
  }

  void queue_trips(std::int64_t steps) {
    for (; steps > 0 && (changes_ || step_before_ != this->step_size()); --steps) {
      state_.refresh({});
      sweep(next_step(), 1, &ricker_);
      step_before_ = this->step_size();
      if (changes_) clock_.tick();
    }
    sweep(next_step(), steps, nullptr);
  }

  std::int64_t steps_of_pass() const override { return chosen_.fused_steps; }
  std::int64_t steps_before_graph() const override {
    if (step_before_ != this->step_size()) return 1;
    if (arrays_.now == now_.buffer(0)) return 0;
    return arrays_.now == before_.buffer(0) ? 1 : chosen_.fused_steps;
  }

  config::RunConfig const& run_;
  star::Chosen<T> chosen_;
  wave::PointSources<T> ricker_;
  bool changes_;  // something from step to step
  std::array<Buffer<T>, 3> damping_;
  Buffer<double> energy_;
  Array<T>& now_;
  Array<T>& before_;
  star::WaveArrays<T> arrays_;
  star::LeapfrogStep<T> step_;  // what all have in common
  double step_before_ = 0;      // the time between u now and before
};

}  // namespace

SimulationEntry wave_entry() {
  config::SimulationInfo info;
  info.name = "wave";
  info.takes_ranks = true;
  info.summary = "waves with a speed that may vary: u_tt = speed^2 div grad u + source";
  info.fields = {{"u", "1", "displacement, pressure, or any quantity that travels in waves"}};
  info.schemes = {"leapfrog"};
  info.limits = config::SimulationInfo::LimitsOf::grid;
  info.kernels = {{"star", variant_names("star")}, {"evaluate", variant_names("evaluate")}};
  for (int order = 2; order <= 8; order += 2)
    info.most_fused_steps = std::max(info.most_fused_steps, star::most_fused_steps(2, order));
  info.sides = {SideKind::fixed, SideKind::free, SideKind::absorbing, SideKind::periodic};
  return entry<Wave, wave::Parameters>(
      {.info = info,
       .memory = wave::memory,
       .problems = wave::problems,
       .time_step = [](config::RunConfig const& run, Inputs const& inputs,
                       Device const&) { return wave::time_step(run, inputs); },
       .choose_kernels = wave::choose_kernels});
}

}  // namespace gridstride

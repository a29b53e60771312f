// What a flow carries along:
//
//   ∂u/∂t + ∇·(v u) = 0      on a uniform grid in 1 to 3 dimensions,
//
// with a velocity v of space and time, and sides that are periodic or open; where the flow enters
// through an open side, u is given (dirichlet) or zero (outflow). All schemes are differences of
// fluxes: `upwind` of order 1, `lax_wendroff` of order 2 (axis after axis, in alternating order),
// and `weno5`, of order 5 in space and 3 in time. kernels/advect/advect.hpp has their formulas.

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/ranks.hpp"
#include "kernels/advect/advect.hpp"
#include "kernels/families.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/entry.hpp"
#include "model/own_values.hpp"
#include "model/time_stepping.hpp"
#include "simulations/advection_look_ahead.hpp"
#include "simulations/advection_parameters.hpp"

namespace gridstride {

namespace {

/// The look-ahead of a velocity that depends on time; else none.
template <class T>
std::shared_ptr<advection::LookAhead<T>> look_ahead_of(config::RunConfig const& run,
                                                       Inputs const& inputs, Device const& device,
                                                       std::optional<SweepPlan> const& plan) {
  if (!advection::velocity_changes(run)) return nullptr;
  std::optional<Brick> own;
  if (plan) own = plan->brick_of(ranks().rank());
  return std::make_shared<advection::LookAhead<T>>(run, inputs, device, own);
}

template <class T>
StepRule step_rule(config::RunConfig const& run, Inputs const& inputs,
                   std::shared_ptr<advection::LookAhead<T>> const& look_ahead) {
  if (!look_ahead)
    return whole_steps(found_by_first(run, [&] { return advection::time_step(run, inputs); }));
  return [look_ahead](double time, double until) { return look_ahead->plan(time, until); };
}

template <class T>
class Advection final : public StagedStepping<T> {
  using Base = StagedStepping<T>;
  using Base::state_, Base::stream_, Base::grid_;

 public:
  Advection(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Advection(run, stream, inputs, advection::plan(run, stream.device())) {}

  std::vector<NamedText> chosen() const override { return this->with_slabs({}); }
  FoundByParts write_parts(std::vector<FieldTarget> const& targets, bool measured) override {
    auto found = Base::write_parts(targets, measured);
    if (found.moments.empty()) return found;
    reduce::Moments<T> known{};
    known.sum = found.moments[0].plain_sum;
    copy_async(moments_.span(), std::span<reduce::Moments<T> const>(&known, 1), stream_);
    stream_.synchronize();
    return found;
  }
  std::vector<DeviceNumber> measure() override {
    if (!this->has_parts()) {
      this->settle();
      reduce::moments(stream_, std::as_const(this->u_).span(), moments_.span(), reduce_variant_);
    }
    double volume = 1;
    for (int axis = 0; axis < grid_.dims; ++axis) volume *= grid_.spacing[axis];
    return {{"mass", &moments_.data()->sum, volume}};
  }
  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    advection::save_files(run_, sink);
    if (look_ahead_) look_ahead_->save(sink);
  }
  void load(CheckpointSource const& source) override {
    Base::load(source);
    advection::require_same_files(run_, source);
    if (look_ahead_) look_ahead_->load(source);
  }

 private:
  Advection(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
            std::optional<SweepPlan> const& plan)
      : Advection(run, stream, inputs, plan, look_ahead_of<T>(run, inputs, stream.device(), plan)) {
  }

  Advection(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
            std::optional<SweepPlan> const& plan,
            std::shared_ptr<advection::LookAhead<T>> look_ahead)
      : Base(run, stream, inputs, advection::rows_of(run, stream.backend(), plan),
             *advection::scheme_of(run).in_time, step_rule<T>(run, inputs, look_ahead)),
        run_(run),
        look_ahead_(std::move(look_ahead)),
        variant_(advection::variant_of(run, inputs, stream.backend())),
        reduce_variant_(reduce::variant_of_blocks(run.kernels.at("reduce"), stream.backend())),
        moments_(stream_, MemorySpace::device, 1) {
    this->want_moments();
    make_flow(run, inputs);
    if (plan) {
      cut(*plan);
      begin_with_own(run, *plan, inputs);
    } else {
      this->fill_initial(run, inputs);
      impose_inflow(stream_, flow_, this->u_.data());
    }
  }

  void begin_with_own(config::RunConfig const& run, SweepPlan const& plan, Inputs const& inputs) {
    bool const without_whole = goes_without_whole(run, stream_.backend());
    this->begin_with(without_whole, [&](Stream& stream, Window<T> const& window) {
      fill_own(stream, run.initial.find("u")->second, plan, inputs, window, window.in[0],
               run.kernels.at("evaluate"));
      auto part = flow_;
      part.grid = window.grid;
      place(part, window.first, window.cut);
      impose_inflow(stream, part, window.in[0]);
    });
  }

  static void impose_inflow(Stream& stream, advect::AdvectionStep<T> step, T* values) {
    step.out = values;
    advect::impose_inflow(stream, step);
  }

  void cut(SweepPlan const& plan) {
    std::array<std::array<T const*, 2>, 3> sides{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t side = 0; side < 2; ++side)
        sides[axis][side] = flow_.sides[axis][side].inflow;
    Base::cut(plan, sides);
  }

  /// Velocities and sides.
  void make_flow(config::RunConfig const& run, Inputs const& inputs) {
    // α of weno5 is as large as the Courant numbers with their roundings.
    constexpr double roundings = 1 + 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    auto const speeds =
        look_ahead_ ? look_ahead_->first_speeds() : advection::shared_speeds(run, inputs);
    flow_.grid = grid_;
    flow_.scheme = advection::scheme_of(run).flux;
    flow_.along = advection::along_sides(run, inputs);
    for (int axis = 0; axis < grid_.dims; ++axis) {
      auto const& velocity = state_[advection::velocity_names[axis]];
      if (velocity.data() == nullptr)
        flow_.velocity[axis].constant = velocity.constant();
      else
        flow_.velocity[axis] = {0, velocity.data(), speeds[axis] * roundings};
      for (int side = 0; side < 2; ++side)
        flow_.sides[axis][side] = {run.sides_of("u")[axis][side].kind == SideKind::periodic,
                                   state_.side("u", axis, side)};
    }
  }

  /// A step with what is to be told of each.
  advect::AdvectionStep<T> present_flow() const {
    auto step = flow_;
    if (look_ahead_)
      for (int axis = 0; axis < grid_.dims; ++axis)
        step.velocity[axis].largest = look_ahead_->speeds()[axis];
    step.reversed = this->is_odd();
    return step;
  }

  void queue_stage(Stage const& stage) override {
    auto step = present_flow();
    this->set_stage(step, stage);
    advect::advect(stream_, step, variant_);
  }

  void queue_part(Stream& stream, Stage const& stage, typename Base::Part const& part) override {
    auto step = present_flow();
    this->set_stage(step, stage, part);
    step.beside = part.beside;
    place(step, part.first, part.cut);
    advect::advect(stream, step, variant_);
  }

  /// Gives a step its velocities and sides, from a plane on.
  void place(advect::AdvectionStep<T>& step, std::int64_t first, std::array<bool, 2> const& cut) {
    int const slowest = grid_.dims - 1;
    for (int axis = 0; axis < grid_.dims; ++axis) {
      if (step.velocity[axis].field != nullptr)
        step.velocity[axis].field = state_[advection::velocity_names[axis]].at(first);
      for (int side = 0; side < 2; ++side)
        step.sides[axis][side].inflow = this->faces_[axis][side].at(first);
    }
    place_ends(step, slowest, cut);
    auto const& plan = this->sweep_->plan();
    for (std::size_t which = 0; which < strip_axes; ++which) {
      auto const& [count, points, own, held] = plan.strips[which];
      if (count == 1) continue;
      bool const around = plan.shape.periodic_across[which];
      place_ends(step, axis_of_strips(grid_.dims, which),
                 {around || held.lower > 0, around || held.upper < points});
    }
  }

  /// Where the grid goes on along an axis.
  static void place_ends(advect::AdvectionStep<T>& step, int axis, std::array<bool, 2> const& cut) {
    for (int side = 0; side < 2; ++side) {
      auto& of_side = step.sides[axis][side];
      of_side.cut = cut[side];
      of_side.periodic = of_side.periodic && !cut[0] && !cut[1];
    }
  }

  std::vector<double> graph_numbers() const override {
    if (!look_ahead_) return {};
    auto const& speeds = look_ahead_->speeds();
    return {speeds.begin(), speeds.end()};
  }

  config::RunConfig const& run_;
  std::shared_ptr<advection::LookAhead<T>> look_ahead_;  // the clock's rule shares it
  std::string variant_;
  std::string reduce_variant_;
  advect::AdvectionStep<T> flow_;       // what all steps have in common
  Buffer<reduce::Moments<T>> moments_;  // of u, of which the mass is the sum
};

}  // namespace

SimulationEntry advection_entry() {
  config::SimulationInfo info;
  info.name = "advection";
  info.takes_ranks = true;
  info.summary = "what a flow carries along: u_t + div(velocity u) = 0";
  info.fields = {{"u", "1", "concentration, or any quantity that is carried along"}};
  for (auto const& scheme : advection::schemes()) info.schemes.push_back(scheme.name);
  info.kernels = {{"advect", variant_names("advect")}, {"evaluate", variant_names("evaluate")}};
  info.sides = {SideKind::outflow, SideKind::dirichlet, SideKind::periodic};
  return entry<Advection, advection::Parameters>(
      {.info = info,
       .memory = advection::memory,
       .problems = advection::problems,
       .time_step = [](config::RunConfig const& run, Inputs const& inputs,
                       Device const&) { return advection::time_step(run, inputs); },
       .report = advection::report});
}

}  // namespace gridstride

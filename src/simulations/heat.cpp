// Heat conduction, or any diffusion:
//
//   ∂u/∂t = ∇·(α∇u) + s(x, t)      on a uniform grid in 1 to 3 dimensions,
//
// with u = g (dirichlet), ∂u/∂n = g (neumann, n outward) or periodic sides. In space: second-order
// central differences in conservative form, α averaged at the faces between points. In time:
// `ftcs` (forward Euler, order 1) or `rk4` (the classical Runge-Kutta method, order 4), both stable
// only below a step that shrinks with the square of the spacing. Where steps are all alike, a grid
// that does not fit the device stays on the host, and several ranks may share one. Implicit steps
// are in heat_implicit.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/rank_sums.hpp"
#include "kernels/families.hpp"
#include "kernels/stencil/shared_plane.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/entry.hpp"
#include "model/out_of_core.hpp"
#include "model/own_values.hpp"
#include "model/time_stepping.hpp"
#include "simulations/heat_implicit.hpp"
#include "simulations/heat_multigrid.hpp"
#include "simulations/heat_parameters.hpp"

namespace gridstride {

namespace {

Scheme const& scheme_of(config::RunConfig const& run) {
  return find_scheme(run.time.scheme == "ftcs" ? "euler" : run.time.scheme);
}

std::vector<Row> heat_rows(config::RunConfig const& run) {
  return heat::rows_of(run, scheme_of(run).buffers, scheme_of(run));
}

double heat_time_step(config::RunConfig const& run, Inputs const& inputs) {
  if (heat::is_implicit(run)) return heat::implicit_step(run, inputs);
  Scheme const& scheme = scheme_of(run);
  double const alpha = heat::largest_diffusivity(run, inputs);
  double const limit = stencil::euler_limit(run.grid, alpha) * scheme.stability_extent / 2;
  return stable_step(
      run, limit, depends_on_time(heat_rows(run)),
      fmt::format("{} is stable up to {:.4g}/(4·α·Σ 1/h²), here with α = {:.6g} m²/s",
                  run.time.scheme, scheme.stability_extent, alpha));
}

/// The part of the grid that a process makes the steps of, of several the most of one.
Grid part_of(config::RunConfig const& run) {
  Grid grid = run.grid;
  auto& planes = grid.points[static_cast<std::size_t>(grid.dims - 1)];
  planes = (planes + run.ranks - 1) / run.ranks;
  return grid;
}

/// What decides how steps are made on a grid, the run's own or a part of it.
stencil::StepKind kind_on(config::RunConfig const& run, Grid const& grid) {
  auto const rows = heat_rows(run);
  auto const& sides = run.sides_of("u");
  stencil::StepKind kind{grid, {}};
  kind.variable = has_array(rows, "diffusivity");
  kind.source = has_array(rows, "source");
  kind.alike = scheme_of(run).stages.size() == 1 && !depends_on_time(rows);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) kind.sides[axis][side] = sides[axis][side].kind;
  return kind;
}

stencil::Repetition wanted_by(config::RunConfig const& run) {
  return {run.kernels.at("stencil"), static_cast<int>(run.fused_steps.value_or(0))};
}

/// How ranks keep a plane on the chips of their GPUs, if those are all like this one's.
template <class T>
std::optional<stencil::SharedPlan> shared_plan(config::RunConfig const& run, Device const& device) {
  bool const has_gpus = device.backend() == Backend::cuda && ranks_here(run) == run.ranks &&
                        ranks_together(run, device) == 1;
  if (run.ranks == 1 || !has_gpus || run.limits.trip_steps || wants_strips(run)) return {};
  SweepPlan cut;
  cut.shape.grid = run.grid;
  cut.ranks = run.ranks;
  return stencil::plan_shared<T>(device, kind_on(run, run.grid), cut.cuts(), wanted_by(run));
}

/// How a device makes the steps, of all of the grid or of parts that are cut out of it. Those that
/// differ are queued one by one.
template <class T>
stencil::Chosen<T> chosen_for(config::RunConfig const& run, Device const& device, bool cut) {
  auto kind = kind_on(run, part_of(run));
  kind.cut = cut;
  auto wanted = wanted_by(run);
  // Then this is for what goes by passes still.
  if (wanted.variant == "resident" && shared_plan<T>(run, device)) wanted.variant = "auto";
  return stencil::choose<T>(device, kind, wanted);
}

void choose_heat_kernels(config::RunConfig const& run, Inputs const&, Device const& device) {
  if (heat::is_implicit(run)) return;
  with_zero_of(run.precision,
               [&](auto zero) { chosen_for<decltype(zero)>(run, device, run.ranks > 1); });
}

/// How steps go by slabs; of ranks on the chips of their GPUs where they can, or not `on_chip`.
SlabSteps slab_steps(config::RunConfig const& run, Device const& device, bool on_chip = true) {
  auto const rows = heat_rows(run);
  Obstacle const obstacles[] = {
      {scheme_of(run).stages.size() > 1, "of the scheme ftcs"},
      {has_array(rows, "diffusivity"), "with a diffusivity that is a number"},
      {has_array(rows, "source"), "without a source"},
      {depends_on_time(rows), "with sides that do not depend on time"}};
  Obstacle const of_ranks[] = {{!goes_by_planes(run, rows), "with simpler formulas"}};
  SlabSteps steps{.shape = {},
                  .evolved = {"u"},
                  .needed = needed_for(obstacles),
                  .needed_of_ranks = needed_for(of_ranks),
                  .needed_of_strips = needed_of_formulas(run, rows),
                  .without_whole = goes_without_whole(run, device.backend())};
  auto& shape = steps.shape;
  int const slowest = run.grid.dims - 1;
  shape.grid = run.grid;
  shape.periodic = run.sides_of("u")[slowest][0].kind == SideKind::periodic;
  shape.periodic_across = of_strip_axes<bool>(run.grid.dims, [&](std::size_t axis) {
    return run.sides_of("u")[axis][0].kind == SideKind::periodic;
  });
  shape.value_bytes = size_of(run.precision);
  shape.alike = !depends_on_time(rows);
  shape.reach = std::ssize(scheme_of(run).stages);
  shape.scratch = scheme_of(run).scratch();
  if (steps.takes_none()) return steps;
  with_zero_of(run.precision, [&](auto zero) {
    auto const chosen = chosen_for<decltype(zero)>(run, device, true);
    shape.fused_steps = chosen.fused_steps;
    shape.parts = stencil::best_parts(chosen, run.grid.dims);
    auto const shared = on_chip ? shared_plan<decltype(zero)>(run, device) : std::nullopt;
    if (shared) {
      shape.chip_steps = shared->steps;
      shape.chip_bytes = shared->bytes;
    }
  });
  int const coefficients = has_array(rows, "diffusivity") + has_array(rows, "source");
  shape.values_per_update =
      static_cast<double>(shape.reach) * (2.0 + coefficients) / shape.fused_steps;
  return steps;
}

std::optional<SweepPlan> heat_plan(config::RunConfig const& run, Device const& device,
                                   bool on_chip = true) {
  return plan_slabs(run, device, heat_rows(run), slab_steps(run, device, on_chip));
}

/// How a grid is cut, and what ranks have that keep it on the chips of their GPUs.
template <class T>
struct HeatCut {
  std::optional<SweepPlan> plan;
  std::unique_ptr<stencil::SharedPlane<T>> shared = nullptr;
  std::string lack = {};  // why they do not, where they would
};

/// All ranks of a run call it, and have it in the same way.
template <class T>
HeatCut<T> cut_of(config::RunConfig const& run, Stream const& stream) {
  Device const& device = stream.device();
  HeatCut<T> cut{heat_plan(run, device)};
  if (run.ranks == 1 || device.backend() == Backend::cpu) return cut;
  constexpr std::string_view none = "not all ranks have a plan";
  cut.lack = first_text(ranks(), std::string(cut.plan->on_chip ? "" : none));
  if (cut.lack.empty()) {
    cut.shared = std::make_unique<stencil::SharedPlane<T>>(ranks(), stream, kind_on(run, run.grid),
                                                           cut.plan->cuts());
    cut.lack = cut.shared->failure();
  }
  if (cut.lack.empty()) return cut;
  if (cut.lack == none) cut.lack = {};
  cut.shared = nullptr;
  cut.plan = heat_plan(run, device, false);
  return cut;
}

MemoryForecast heat_memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  if (heat::is_implicit(run)) return heat::implicit_memory(run, backend);
  Device const device = Device::open(backend, run.device.ordinal);
  auto const plan = heat_plan(run, device);
  auto memory = forecast_slabs(run, device, heat_rows(run), slab_steps(run, device), plan);
  if (!plan)
    with_zero_of(run.precision, [&](auto zero) {
      using T = decltype(zero);
      memory.other_bytes +=
          stencil::chip_bytes(device, chosen_for<T>(run, device, false), run.grid);
    });
  return memory;
}

std::vector<Problem> heat_problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const of_files = heat::file_problems(run, inputs);
  if (!of_files.empty()) return of_files;
  if (run.time.adaptive && !heat::has_error(run))
    return {run.problem(run.time.step_location,
                        fmt::format("'adaptive' is for tr_bdf2 ({} has no estimate of its error)",
                                    run.time.scheme))};
  if (!heat::takes_multigrid(run) && run.kernels.at("multigrid") != "auto")
    return {run.problem(run.location("kernels.multigrid"), "is for solver: multigrid")};
  if (heat::is_implicit(run)) return heat::implicit_problems(run);
  auto const refuse = [&](std::string const& key, std::string_view what) {
    return std::vector<Problem>{run.problem(
        run.location("parameters." + key),
        fmt::format("{} is for implicit steps (the scheme is {})", what, run.time.scheme))};
  };
  if (heat::takes_multigrid(run)) return refuse("solver", "multigrid");
  if (parameters_as<heat::Parameters>(run).tolerance) return refuse("tolerance", "it");
  int const dims = run.grid.dims;
  return fused_steps_problems(run, stencil::most_fused_steps(dims), fmt::format("in {}D", dims));
}

template <class T>
class Heat final : public StagedStepping<T> {
  using Base = StagedStepping<T>;
  using Base::state_, Base::stream_, Base::grid_, Base::scheme_, Base::u_, Base::sweep_;

 public:
  Heat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Heat(run, stream, inputs, cut_of<T>(run, stream)) {}

  double values_per_update() const override {
    if (shared_ || (!sweep_ && this->steps_of_pass() == 0)) return 0;  // u stays on the chip
    return Base::values_per_update() / (repeats_ ? chosen_.fused_steps : 1);
  }
  std::vector<NamedText> chosen() const override {
    if (shared_) return this->with_slabs(chosen_texts("stencil", "resident", 1));
    // In slabs nothing else is resident.
    auto const& row = sweep_ && chosen_.fused_steps == 1 ? *chosen_.single : *chosen_.row;
    auto texts = this->with_slabs(chosen_texts("stencil", row.name, chosen_.fused_steps));
    if (!lack_.empty()) texts.push_back({"not resident", lack_});
    return texts;
  }
  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    heat::save_files(run_, sink);
  }
  void load(CheckpointSource const& source) override {
    Base::load(source);
    heat::require_same_files(run_, source);
  }

 private:
  Heat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs, HeatCut<T> cut)
      : Base(run, stream, inputs,
             cut.plan
                 ? rows_of_slabs(run, heat_rows(run), slab_steps(run, stream.device()), *cut.plan)
                 : heat_rows(run),
             scheme_of(run),
             whole_steps(found_by_first(run, [&] { return heat_time_step(run, inputs); }))),
        run_(run),
        repeats_(scheme_.stages.size() == 1 && !state_.changes()),
        chosen_(chosen_for<T>(run, stream.device(), cut.plan.has_value())),
        shared_(std::move(cut.shared)),
        lack_(std::move(cut.lack)) {
    step_.grid = grid_;
    step_.diffusivity = state_["diffusivity"].constant();
    step_.diffusivity_field = state_["diffusivity"].data();
    step_.source = state_["source"].data();
    step_.sides = heat::sides_of(run, state_);
    if (cut.plan) make_sweep(*cut.plan);
    if (run.ranks > 1) {
      begin_with_own(run, *cut.plan, inputs);
    } else {
      this->fill_initial(run, inputs);
      stencil::impose_dirichlet(stream_, grid_, step_.sides, u_.data());
    }
  }

  /// The first values of this rank's planes.
  void begin_with_own(config::RunConfig const& run, SweepPlan const& plan, Inputs const& inputs) {
    bool const without_whole = goes_without_whole(run, stream_.backend());
    this->begin_with(without_whole, [&](Stream& stream, Window<T> const& window) {
      fill_own(stream, run.initial.find("u")->second, plan, inputs, window, window.in[0],
               run.kernels.at("evaluate"));
      auto step = step_;
      place(step, window.first, window.cut, window.in[0]);
      stencil::impose_dirichlet(stream, window.grid, step.sides, window.in[0]);
    });
  }

  void make_sweep(SweepPlan const& plan) {
    std::array<std::array<T const*, 2>, 3> sides{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t side = 0; side < 2; ++side)
        sides[axis][side] = step_.sides[axis][side].values;
    this->cut(plan, sides, [chosen = chosen_, dims = grid_.dims](std::int64_t left) {
      return stencil::steps_of_pass(chosen, dims, left);
    });
  }

  void queue_stage(Stage const& stage) override {
    auto step = step_;
    this->set_stage(step, stage);
    for (std::size_t i = 0; i < stage.terms.size(); ++i)
      step.terms[i] = {this->buffer(stage.terms[i].first), stage.terms[i].second};
    stencil::diffuse(stream_, step, chosen_);
  }

  void queue_part(Stream& stream, Stage const& stage, typename Base::Part const& part) override {
    auto step = step_;
    this->set_stage(step, stage, part);
    for (std::size_t i = 0; i < stage.terms.size(); ++i) {
      auto const& [array, weight] = stage.terms[i];
      step.terms[i] = {part.arrays[static_cast<std::size_t>(array)], weight};
    }
    place(step, part.first, part.cut, step.in);
    // What comes out beyond, next to where the grid goes on, is wrong.
    auto const planes = part.grid.points[static_cast<std::size_t>(grid_.dims - 1)];
    step.made = {part.cut[0] ? 1 : 0, planes - (part.cut[1] ? 1 : 0)};
    stencil::diffuse(stream, step, chosen_);
  }

  void queue(std::int64_t steps) override {
    if (!repeats_) return Base::queue(steps);
    auto step = step_;
    step.factor = this->step_size();
    if (sweep_) {
      T* const arrays[] = {u_.data()};
      return sweep_->run(arrays, steps, [this, step](Stream& stream, Window<T> const& window) {
        queue_window(stream, step, window);
      });
    }
    this->move_to(stencil::diffuse_repeatedly(stream_, step, this->buffer(0), this->buffer(1),
                                              steps, chosen_));
  }

  void queue_window(Stream& stream, stencil::DiffusionStep<T> step, Window<T> const& window) {
    step.grid = window.grid;
    step.made = window.made;
    step.beside = window.beside;
    place(step, window.first, window.cut, window.in[0]);
    if (window.on_chip)
      return shared_->make(stream, step, window.in[0], window.out[0], window.steps);
    stencil::diffuse_repeatedly(stream, step, window.in[0], window.out[0], window.steps, chosen_);
  }

  /// Gives a step its coefficients and sides, from a plane on. Where the grid goes on it is taken to
  /// be periodic, which kernels have least to do for, or, where it ends on the other side, to have
  /// any derivative.
  void place(stencil::DiffusionStep<T>& step, std::int64_t first, std::array<bool, 2> const& cut,
             T const* anything) {
    int const slowest = grid_.dims - 1;
    step.diffusivity_field = state_["diffusivity"].at(first);
    step.source = state_["source"].at(first);
    for (int axis = 0; axis < grid_.dims; ++axis)
      for (int side = 0; side < 2; ++side)
        step.sides[axis][side].values = this->faces_[axis][side].at(first);
    for (int side = 0; side < 2; ++side)
      if (cut[0] && cut[1])
        step.sides[slowest][side] = {};
      else if (cut[side])
        step.sides[slowest][side] = {SideKind::neumann, anything};
  }

  /// `resident` makes all steps in one launch.
  std::int64_t steps_of_pass() const override {
    return !repeats_ ? 1 : chosen_.row->name == "resident" ? 0 : chosen_.fused_steps;
  }

  config::RunConfig const& run_;
  stencil::DiffusionStep<T> step_;  // what all have in common
  bool repeats_;                    // steps are alike, and of one stage
  stencil::Chosen<T> chosen_;
  std::unique_ptr<stencil::SharedPlane<T>> shared_;  // of ranks that keep the plane on the chip
  std::string lack_;                                 // why they do not, where they would
};

std::vector<std::string> heat_report(config::RunConfig const& run, Inputs const& inputs,
                                     Device const&) {
  if (heat::is_implicit(run)) return heat::implicit_report(run, inputs);
  return {};
}

std::unique_ptr<Simulation> make_heat(config::RunConfig const& run, Stream const& stream,
                                      Inputs const& inputs) {
  if (heat::is_implicit(run)) return heat::make_implicit(run, stream, inputs);
  return make_simulation<Heat>(run, stream, inputs);
}

}  // namespace

SimulationEntry heat_entry() {
  config::SimulationInfo info;
  info.name = "heat";
  info.takes_ranks = true;
  info.summary = "heat conduction or diffusion: u_t = div(diffusivity grad u) + source";
  info.fields = {{"u", "1", "temperature, concentration, or any quantity that spreads"}};
  info.schemes = {"ftcs", "rk4"};
  for (auto const name : heat::implicit_schemes()) info.schemes.push_back(name);
  info.adapts_steps = true;
  info.limits = config::SimulationInfo::LimitsOf::grid;
  info.kernels = {{"stencil", variant_names("stencil")},
                  {"evaluate", variant_names("evaluate")},
                  {"multigrid", variant_names("multigrid")}};
  for (int const dims : {1, 2, 3})
    info.most_fused_steps = std::max(info.most_fused_steps, stencil::most_fused_steps(dims));
  auto row = entry<Heat, heat::Parameters>(
      {.info = info,
       .memory = heat_memory,
       .problems = heat_problems,
       .time_step = [](config::RunConfig const& run, Inputs const& inputs,
                       Device const&) { return heat_time_step(run, inputs); },
       .report = heat_report,
       .choose_kernels = choose_heat_kernels});
  row.make = make_heat;
  return row;
}

}  // namespace gridstride

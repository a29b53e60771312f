#include "simulations/pde_march.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/gpu.hpp"
#include "model/out_of_core.hpp"
#include "model/state.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {

std::vector<system::PassStage> pass_stages(Scheme const& scheme) {
  std::map<int, int> state_in = {{0, 0}};  // of each buffer, as it is when a stage begins
  std::vector<system::PassStage> stages;
  for (Stage const& stage : scheme.stages) {
    int const state = static_cast<int>(stages.size());
    if (state_in.at(stage.in) != state)
      throw std::invalid_argument("a pass takes stages that go on from the one before");
    system::PassStage one = {.base = state_in.at(stage.base),
                             .factor = stage.factor,
                             .in_weight = stage.base == stage.in ? 0 : stage.in_weight,
                             .fraction = stage.time};
    for (auto const& [buffer, weight] : stage.terms)
      one.addends.emplace_back(state_in.at(buffer), weight);
    stages.push_back(std::move(one));
    state_in[stage.out] = state + 1;
  }
  return stages;
}

Scheme in_one_pass(Scheme const& scheme) {
  Scheme result = scheme;
  result.buffers = 2;
  result.alternates = true;
  return result;
}

namespace {

/// The rules of the sides of a field; of a vector for this one of its components.
system::SideRules side_rules(config::RunConfig const& run, std::string_view field,
                             std::optional<std::size_t> component) {
  constexpr double there = 0;
  std::array<system::Input<double>, 1> input;
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      SideKind const kind = run.sides_of(field)[axis][end].kind;
      input[0].sides[axis][end] =
          system::side_of<double>(kind, run.grid.spacing[axis], has_values(kind) ? &there : nullptr,
                                  kind == SideKind::robin ? &there : nullptr, component == axis);
    }
  return system::side_rules<double>(input).front();
}

/// Of lines that ranks may cut the fewest columns that one has; 0: all have whole lines.
std::int64_t least_columns(config::RunConfig const& run) {
  std::int64_t const points = run.grid.points[0];
  if (run.ranks == 1) return 0;
  auto const wanted = wanted_strips(run);
  if (run.grid.dims == 1 || !wanted) return std::max<std::int64_t>(points / run.ranks, 1);
  int const parts = (*wanted)[0];
  return parts > 1 ? points / parts : 0;
}

}  // namespace

system::Marched marched(config::RunConfig const& run, equations::StencilProgram const& program,
                        Scheme const& scheme) {
  system::Marched what = {
      .program = &program, .grid = run.grid, .sides = {}, .stages = pass_stages(scheme)};
  std::vector<Row> arrays;
  for (equations::Unknown const& unknown : system_of(run).unknowns)
    for (std::size_t c = 0; c < static_cast<std::size_t>(unknown.components); ++c) {
      auto const component = unknown.is_vector ? std::optional(c) : std::nullopt;
      what.sides.push_back(side_rules(run, unknown.name, component));
      add_sides(arrays, run, unknown.name, scheme, component);
    }
  what.sides_change = depends_on_time(arrays);
  what.least_columns = least_columns(run);
  // Names with sides come before what lasts, and are made for each stage.
  if (system_of(run).names.empty()) what.lasting = system::lasting_of(what);
  return what;
}

std::vector<equations::StencilProgram> operand_programs(equations::Stencil const& stencil,
                                                        int dims) {
  std::vector<equations::StencilProgram> programs;
  for (equations::Term const& operand : stencil.operands)
    programs.push_back(equations::program_of(stencil.terms, std::span(&operand, 1), dims));
  return programs;
}

PassSystem pass_system(config::RunConfig const& run, equations::StencilProgram const& program,
                       Scheme const& scheme) {
  return {marched(run, program, scheme), operand_programs(stencil_of(run), run.grid.dims),
          wraps_of(run)};
}

template <class T>
Passes<T>::Passes(Stream const& stream, PassSystem const& system, ShorterPasses shorter)
    : device_(stream.device()), what_(system.what) {
  if (!system.operands.empty()) {
    numbers_.emplace(stream, system.wraps, GlobalPassPlan(what_, system.operands));
    return;
  }
  auto const shapes = system::march_shapes(what_, sizeof(T), system::most_march_steps);
  if (shorter == ShorterPasses::from_beginning && !shapes.empty())
    for (int steps = 1; steps < shapes.front().steps; steps *= 2)
      compile_within(steps, std::launch::async);
  longest_.emplace(device_, what_, shapes);
}

/// By another thread, or by whoever asks for it first.
template <class T>
void Passes<T>::compile_within(int steps, std::launch when) {
  auto const compile = [device = device_, what = what_, steps] {
    if (device.backend() == Backend::cuda) gpu::use_device(device.ordinal());
    return system::March<T>(device, what, system::march_shapes(what, sizeof(T), steps));
  };
  shorter_.emplace(steps, std::async(when, compile).share());
}

/// Shapes have powers of 2 of steps.
template <class T>
system::March<T> const& Passes<T>::march_within(std::int64_t steps) {
  if (steps >= longest_->steps()) return *longest_;
  auto const most = static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(steps)));
  if (!shorter_.contains(most)) compile_within(most, std::launch::deferred);
  return shorter_.at(most).get();
}

template <class T>
void Passes<T>::queue(Stream& stream, system::PassArrays<T> const& arrays, std::int64_t steps,
                      double dt, evaluate::DeviceClock const* clock, system::MarchPart const& part,
                      std::optional<OwnPlanes> const& own) {
  if (!numbers_) return march_within(steps).queue(stream, arrays, dt, clock, part);
  numbers_->step(stream, arrays, dt, clock, part, own, is_first_);
  is_first_ = false;
}

template class Passes<float>;
template class Passes<double>;

}  // namespace gridstride::pde

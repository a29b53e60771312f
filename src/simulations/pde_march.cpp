#include "simulations/pde_march.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

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

system::Marched marched(config::RunConfig const& run, equations::StencilProgram const& program,
                        Scheme const& scheme) {
  system::Marched what = {
      .program = &program, .grid = run.grid, .wraps = {}, .stages = pass_stages(scheme)};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    what.wraps[static_cast<std::size_t>(axis)] =
        std::ranges::all_of(run.boundary, [&](auto const& sides) {
          auto const& pair = sides[static_cast<std::size_t>(axis)];
          return std::ranges::all_of(
              pair, [](auto const& side) { return side.kind == SideKind::periodic; });
        });
  return what;
}

template <class T>
Passes<T>::Passes(Device const& device, system::Marched const& what)
    : device_(device), what_(what) {
  system::March<T> march(device_, what_,
                         system::march_shapes(what_, sizeof(T), system::most_march_steps));
  int const steps = march.steps();
  lengths_.emplace(-steps, std::move(march));  // the longest first
}

template <class T>
system::March<T> const& Passes<T>::within(std::int64_t steps) {
  auto const limit = static_cast<int>(std::min<std::int64_t>(steps, longest()));
  auto const found = lengths_.lower_bound(-limit);
  if (found != lengths_.end() && 2 * -found->first > limit) return found->second;
  system::March<T> march(device_, what_, system::march_shapes(what_, sizeof(T), limit));
  return lengths_.insert_or_assign(-march.steps(), std::move(march)).first->second;
}

template class Passes<float>;
template class Passes<double>;

}  // namespace gridstride::pde

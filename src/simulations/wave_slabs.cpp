#include "simulations/wave_slabs.hpp"

#include <utility>

#include "simulations/wave_parameters.hpp"

namespace gridstride::wave {

SlabSteps slab_steps(config::RunConfig const& run, Device const& device) {
  auto const all = rows(run, device.backend());
  std::pair<bool, std::string_view> const obstacles[] = {
      {has_array(all, "speed squared"), "with a speed that is a number"},
      {has_array(all, "source"), "without a source"},
      {!parameters_of(run).ricker.empty(), "without point sources"}};
  SlabSteps steps;
  steps.evolved = {"u", "u_before"};
  for (auto const& [is_there, needed] : obstacles)
    if (is_there && steps.needed.empty()) steps.needed = needed;
  if (!steps.needed.empty()) return steps;
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  auto const chosen = chosen_for<double>(run, device);
  int const fused = chosen.fused_steps;
  steps.shape = {.grid = run.grid,
                 .periodic = run.sides_of("u")[slowest][0].kind == SideKind::periodic,
                 .reach = parameters_of(run).order / 2,
                 .fused_steps = fused,
                 .arrays = 2,
                 .made = fused > 1 ? 2 : 1,
                 .value_bytes = size_of(run.precision),
                 .values_per_update = (fused > 1 ? 4.0 : 3.0) / fused,
                 .in_parts = star::makes_parts(chosen)};
  steps.shape.march_planes = with_zero_of(run.precision, [&](auto zero) {
    star::StepKind kind{run.grid, static_cast<int>(parameters_of(run).order)};
    auto& planes = kind.grid.points[slowest];
    planes = (planes + run.ranks - 1) / run.ranks;
    return star::march_planes(device, chosen_for<decltype(zero)>(run, device), kind);
  });
  return steps;
}

std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device) {
  return plan_slabs(run, device, rows(run, device.backend()), slab_steps(run, device));
}

MemoryForecast memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  Device const device = Device::open(backend, run.device.ordinal);
  return forecast_slabs(run, rows(run, backend), slab_steps(run, device), plan(run, device));
}

template <class T>
typename WindowSteps<T>::Pass pass_of(star::LeapfrogStep<T> const& step,
                                      star::Chosen<T> const& chosen) {
  return [step, chosen](Stream& stream, Window<T> const& window) {
    auto part = step;
    part.grid = window.grid;
    part.made = window.made;
    part.march_planes = window.march_planes;
    auto const slowest = static_cast<std::size_t>(part.grid.dims - 1);
    if (part.damping[slowest] != nullptr) part.damping[slowest] += window.first;
    for (std::size_t side = 0; side < 2; ++side)
      if (window.cut[0] && window.cut[1])
        part.sides[slowest][side] = SideKind::periodic;
      else if (window.cut[side])
        part.sides[slowest][side] = SideKind::free;
    if (window.steps > 1) {
      star::WaveArrays<T> arrays{window.in[0], window.in[1], {window.out[0], window.out[1]}};
      return star::leapfrog_repeatedly(stream, part, arrays, window.steps, chosen);
    }
    part.in = window.in[0];
    part.previous = window.in[1];
    part.out = window.out[0];
    star::leapfrog(stream, part, chosen);
    if (window.out[1] == nullptr) return;
    auto const size = static_cast<std::size_t>(part.grid.size());
    copy_async(std::span(window.out[1], size), std::span<T const>(window.in[0], size), stream);
  };
}

template WindowSteps<float>::Pass pass_of(star::LeapfrogStep<float> const&,
                                          star::Chosen<float> const&);
template WindowSteps<double>::Pass pass_of(star::LeapfrogStep<double> const&,
                                           star::Chosen<double> const&);

}  // namespace gridstride::wave

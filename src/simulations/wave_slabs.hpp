#pragma once

#include "kernels/star/star.hpp"
#include "model/out_of_core.hpp"

/// Waves on grids that are larger than the device.
namespace gridstride::wave {

SlabSteps slab_steps(config::RunConfig const& run, Device const& device);

/// How the grid goes through the device; empty where it fits there.
std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device);

MemoryForecast memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

/// Steps like `step`, but for its grid and arrays, on windows of that grid. In a pass of single
/// steps that makes both arrays of the state anew, what was is copied.
template <class T>
typename Sweep<T>::Pass pass_of(star::LeapfrogStep<T> const& step, star::Chosen<T> const& chosen);

}  // namespace gridstride::wave

#pragma once

#include "kernels/star/star.hpp"
#include "model/out_of_core.hpp"
#include "model/window_steps.hpp"

/// Waves on grids that are cut into slabs.
namespace gridstride::wave {

SlabSteps slab_steps(config::RunConfig const& run, Device const& device);

/// How the grid goes by slabs; empty where it fits the device of one process.
std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device);

MemoryForecast memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

/// Steps like `step`, but for its grid and arrays, on windows of that grid. In a pass of single
/// steps that makes both arrays of the state anew, what was is copied.
template <class T>
typename WindowSteps<T>::Pass pass_of(star::LeapfrogStep<T> const& step,
                                      star::Chosen<T> const& chosen);

}  // namespace gridstride::wave

#pragma once

#include "kernels/multigrid/cycle.hpp"
#include "kernels/multigrid/outer.hpp"

/// The functions behind the rows of the family's table, and steps outside cycles; for the family's
/// own files only.
namespace gridstride::multigrid {

template <class S>
void host_reference(Stream&, CycleWork<S> const&);
template <class S>
void host_threads(Stream&, CycleWork<S> const&);
template <class S>
void cuda_steps(Stream&, CycleWork<S> const&);
template <class S>
void cuda_fused(Stream&, CycleWork<S> const&);

/// Queues a step for all its points.
template <class Step>
void host_each(Stream&, Step const&);
template <class Step>
void cuda_each(Stream&, Step const&);
/// The same for steps that find something: `largest` is raised to it, in device memory.
template <class Step>
void host_find(Stream&, Step const&, Found* largest);
template <class Step>
void cuda_find(Stream&, Step const&, Found* largest);

/// On the stream's device.
template <class Step>
void each(Stream& stream, Step const& step) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_each(stream, step);
#endif
  host_each(stream, step);
}

template <class Step>
void find(Stream& stream, Step const& step, Found* largest) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_find(stream, step, largest);
#endif
  host_find(stream, step, largest);
}

#define GRIDSTRIDE_MULTIGRID_PAIR(MAKE, STEP) \
  MAKE(STEP<float, float>)                    \
  MAKE(STEP<float, double>)                   \
  MAKE(STEP<double, float>)                   \
  MAKE(STEP<double, double>)
/// Whose instances are made with a backend's functions.
#define GRIDSTRIDE_MULTIGRID_STEPS(EACH, FIND)    \
  EACH(StoreWeights<float>)                       \
  EACH(StoreWeights<double>)                      \
  EACH(Eliminate<float>)                          \
  EACH(Eliminate<double>)                         \
  EACH(Round<float>)                              \
  EACH(Round<double>)                             \
  FIND(Begin<float>)                              \
  FIND(Begin<double>)                             \
  FIND(FindDiagonal<float>)                       \
  FIND(FindDiagonal<double>)                      \
  FIND(AddCorrection<float>)                      \
  FIND(AddCorrection<double>)                     \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, StoreEquations) \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, TakeResidual)

}  // namespace gridstride::multigrid

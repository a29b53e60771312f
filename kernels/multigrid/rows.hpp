#pragma once

#include <vector>

#include "kernels/multigrid/cycle.hpp"
#include "kernels/multigrid/nonlinear_steps.hpp"
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
/// The same for steps that find something: `largest` is raised to it, in device memory, or so many in a row
/// where a step finds several.
template <class Step>
void host_find(Stream&, Step const&, Found* largest);
template <class Step>
void cuda_find(Stream&, Step const&, Found* largest);

/// A correction and the residual of what u is then, of a level of tables, in one pass; finds what
/// `TakeResidual` does and behind it what `AddCorrection` does.
template <class T, class S>
void cuda_renew(Stream&, TakeResidual<T, S> const&, Correction const&, Found* largest);

/// Sums of what a step finds, of parts that depend on nothing but the points of the grid: as many for
/// each plane, and a line is one; on a GPU those of `ApplyToDirection` where equations are stored and
/// levels go by columns, as many for each `piece_of_columns` planes. Waits for the stream.
template <class Step>
std::vector<Summed> host_sums(Stream&, Step const&, Planes const&);
template <class Step>
std::vector<Summed> cuda_sums(Stream&, Step const&, Planes const&);

template <class Step>
std::vector<Summed> sums(Stream& stream, Step const& step, Planes const& planes) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_sums(stream, step, planes);
#endif
  return host_sums(stream, step, planes);
}

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
/// The steps of cycles that a GPU may be asked for one by one.
#define GRIDSTRIDE_MULTIGRID_CYCLE(EACH, S) \
  EACH(Relax<S>)                            \
  EACH(RelaxPhase<S>)                       \
  EACH(Clear<S>)                            \
  EACH(KeepResidual<S>)                     \
  EACH(Gather<S>)                           \
  EACH(Correct<S>)                          \
  EACH(SolveDirectly<S>)                    \
  EACH(Transform<S>)                        \
  EACH(DivideModes<S>)
/// Whose instances are made with a backend's functions.
#define GRIDSTRIDE_MULTIGRID_STEPS(EACH, FIND, SUM) \
  EACH(StoreWeights<float>)                         \
  EACH(StoreWeights<double>)                        \
  EACH(Eliminate<float>)                            \
  EACH(Eliminate<double>)                           \
  EACH(KeepEquations<float>)                        \
  EACH(KeepEquations<double>)                       \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, TakeDirection)    \
  FIND(Advance)                                     \
  FIND(AdvanceWithResidual<float>)                  \
  FIND(AdvanceWithResidual<double>)                 \
  GRIDSTRIDE_MULTIGRID_PAIR(SUM, SumAlongBefore)    \
  GRIDSTRIDE_MULTIGRID_PAIR(SUM, ApplyToDirection)  \
  EACH(Sweep<double>)                               \
  EACH(ApplyLinearised)                             \
  FIND(TakeDefect)                                  \
  EACH(Round<float>)                                \
  EACH(Round<double>)                               \
  FIND(Begin<float>)                                \
  FIND(Begin<double>)                               \
  FIND(FindRange<float>)                            \
  FIND(FindRange<double>)                           \
  FIND(FindDiagonal<float>)                         \
  FIND(FindDiagonal<double>)                        \
  FIND(AddCorrection<float>)                        \
  FIND(AddCorrection<double>)                       \
  EACH(GiveSolution<float>)                         \
  EACH(GiveSolution<double>)                        \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, BeginResidual)    \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, StoreEquations)   \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, TakeRight)        \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, TakeResidual)

}  // namespace gridstride::multigrid

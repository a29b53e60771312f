#pragma once

#include <vector>

#include "kernels/multigrid/cycle.hpp"
#include "kernels/multigrid/directions.hpp"
#include "kernels/multigrid/nonlinear_steps.hpp"
#include "kernels/multigrid/outer.hpp"
#include "kernels/multigrid/stored.hpp"

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

/// A correction and the residual of what u is then, of a level of tables, in one pass; finds what
/// `TakeResidual` does and behind it what `AddCorrection` does.
template <class T, class S>
void cuda_renew(Stream&, TakeResidual<T, S> const&, Correction const&, Found* largest);
/// The residual of what u comes to by `Advance` along a direction that stays where a cycle has found it, of
/// equations that go by tiles; finds what `TakeResidual` does, and leaves u as it is.
template <class T, class S>
void cuda_residual_ahead(Stream&, TakeResidual<T, S> const&, Advance<T, S> const&, Found* largest);

/// Queues sums of what a step finds, to device memory, of parts that depend on nothing but the points of
/// the grid, of which there are so many: as many for each plane, and a line is one; on a GPU those of sums
/// along directions where equations are stored and levels go by columns, as many for each
/// `piece_of_columns` planes.
template <class Step>
std::size_t host_parts(Step const&, Planes const&);
template <class Step>
std::size_t cuda_parts(Step const&, Planes const&);
template <class Step>
void host_sums(Stream&, Step const&, Planes const&, Summed* sums);
template <class Step>
void cuda_sums(Stream&, Step const&, Planes const&, Summed* sums);
/// Queues what all parts come to, in an order that is the same each time.
void host_take_sum(Stream&, std::span<Summed const> parts, Finds, Along*);
void cuda_take_sum(Stream&, std::span<Summed const> parts, Finds, Along*);

template <class Step>
std::size_t parts(Stream& stream, Step const& step, Planes const& planes) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_parts(step, planes);
#endif
  (void)stream;
  return host_parts(step, planes);
}
template <class Step>
void sums(Stream& stream, Step const& step, Planes const& planes, Summed* sums) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_sums(stream, step, planes, sums);
#endif
  host_sums(stream, step, planes, sums);
}
inline void take_sum(Stream& stream, std::span<Summed const> parts, Finds what, Along* along) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_take_sum(stream, parts, what, along);
#endif
  host_take_sum(stream, parts, what, along);
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
  EACH(KeepWeights)                                 \
  EACH(KeepReciprocals<float>)                      \
  EACH(KeepReciprocals<double>)                     \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, TakeDirection)    \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, Advance)          \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, AdvanceResidual)  \
  GRIDSTRIDE_MULTIGRID_PAIR(SUM, SumAlongBefore)    \
  GRIDSTRIDE_MULTIGRID_PAIR(SUM, ApplyToDirection)  \
  EACH(Sweep<double>)                               \
  EACH(ApplyLinearised)                             \
  FIND(GoAlong)                                     \
  FIND(TakeDefect)                                  \
  EACH(Round<float>)                                \
  EACH(Round<double>)                               \
  FIND(Begin<float>)                                \
  FIND(Begin<double>)                               \
  FIND(FindRange<float>)                            \
  FIND(FindRange<double>)                           \
  FIND(FindJump<float>)                             \
  FIND(FindJump<double>)                            \
  FIND(FindDiagonal<float>)                         \
  FIND(FindDiagonal<double>)                        \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, AddCorrection)    \
  EACH(GiveSolution<float>)                         \
  EACH(GiveSolution<double>)                        \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, BeginResidual)    \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, KeepField)        \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, ScaleField)       \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, StoreEquations)   \
  GRIDSTRIDE_MULTIGRID_PAIR(EACH, TakeRight)        \
  GRIDSTRIDE_MULTIGRID_PAIR(FIND, TakeResidual)

}  // namespace gridstride::multigrid

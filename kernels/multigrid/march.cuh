#pragma once

#include <cstddef>

#include "core/stream.hpp"
#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/directions.hpp"
#include "kernels/multigrid/separable.hpp"

/// The steps of large levels by columns of points. For the family's own files only.
namespace gridstride::multigrid {

template <class S>
void march(Stream&, Descend<S> const&);
template <class S>
void march(Stream&, Ascend<S> const&);
template <class S>
void march(Stream&, Gather<S> const&);
template <class S>
void march(Stream&, Correct<S> const&);
template <class S>
void march(Stream&, SolveByModes<S> const&);
/// The same where equations are stored.
template <class S>
void march_stored(Stream&, Descend<S> const&);
template <class S>
void march_stored(Stream&, Ascend<S> const&);
template <class S>
void march_stored(Stream&, Gather<S> const&);
/// Of both colours, whatever the step has.
template <class S>
void march_stored(Stream&, Correct<S> const&);
/// f of the coarser level from what is left at points of the first colour, where the second one has
/// nothing left.
template <class S>
void gather_stored(Stream&, Level<S> const& fine, Level<S> const& coarse);
/// By many blocks, of a level with some hundred unknowns.
template <class S>
void march_stored(Stream&, SolveDirectly<S> const&);
template <class T, class S>
void march_stored(Stream&, TakeResidual<T, S> const&, Found* largest);
/// A sum for each block, of which there are so many.
template <class T, class S>
std::size_t blocks_of(ApplyToDirection<T, S> const&, Planes const&);
template <class T, class S>
void march_stored(Stream&, ApplyToDirection<T, S> const&, Planes const&, Summed* sums);
/// Of equations that go by tiles.
template <class T, class S>
Columns product_columns(ApplyToDirection<T, S> const& step);
template <class T, class S>
void march_product(Stream&, ApplyToDirection<T, S> const&, Columns const&, int before,
                   Summed* sums);
template <class T, class S>
std::size_t blocks_of(SumAlongBefore<T, S> const&, Planes const&);
template <class T, class S>
void march_stored(Stream&, SumAlongBefore<T, S> const&, Planes const&, Summed* sums);
template <class T, class S>
void march_stored(Stream&, TakeDirection<T, S> const&);
template <class T, class S>
void march_stored(Stream&, BeginResidual<T, S> const&);
template <class T, class S>
void march_stored(Stream&, AddCorrection<T, S> const&, Found* largest);
template <class T, class S>
void march_stored(Stream&, Advance<T, S> const&, Found* largest);
template <class T, class S>
void march_stored(Stream&, AdvanceResidual<T, S> const&, Found* largest);
template <class T, class S>
void march(Stream&, BeginResidual<T, S> const&);
template <class T, class S>
void march(Stream&, TakeResidual<T, S> const&, Found* largest);

/// What u leaves of f at points of the first colour, gathered to the coarser level's f; where that
/// is not done at once, from what the level has as r.
template <class S>
bool gathers_at_once(Level<S> const& fine, Level<S> const& coarse);
template <class S>
void march_gather_residual(Stream&, Level<S> const& fine, Level<S> const& coarse);
template <class S>
void march_gather(Stream&, Level<S> const& fine, Level<S> const& coarse);

}  // namespace gridstride::multigrid

#pragma once

#include "core/stream.hpp"
#include "kernels/multigrid/outer.hpp"

/// The steps of large levels by columns of points: of tables, without seams, with more than one
/// axis. For the family's own files only.
namespace gridstride::multigrid {

template <class S>
bool can_march(Level<S> const& level) {
  return !level.is_stored() && !level.has_seam() && level.count[1] * level.count[2] > 1;
}

template <class S>
void march(Stream&, Relax<S> const&);
template <class S>
void march(Stream&, GatherResidual<S> const&);
template <class S>
void march(Stream&, Correct<S> const&);
template <class T, class S>
void march(Stream&, TakeResidual<T, S> const&, Found* largest);
template <class S>
void march(Stream&, AddCorrection<S> const&, Found* largest);

}  // namespace gridstride::multigrid

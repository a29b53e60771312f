#pragma once

#include <span>

#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// The planes of a grid that each of several ranks asks for, which may go around the grid, come to
/// `here`, in its device's memory, from `whole`, which the first rank has on its host, pinned for a
/// GPU. All ranks call it; done when it returns. Instantiated for float and double.
template <class T>
void hand_out(Stream& stream, Ranks& ranks, Grid const& grid, std::span<T const> whole,
              Planes const& planes, std::span<T> here);

}  // namespace gridstride

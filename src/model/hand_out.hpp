#pragma once

#include <cstdint>
#include <span>

#include "core/rank_sums.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// The part of a grid that each of several ranks asks for, which may go around the grid, comes to
/// `here`, in its device's memory, from `whole`, which the first rank has on its host, pinned for a
/// GPU. All ranks call it; done when it returns. Instantiated for float and double.
template <class T>
void hand_out(Stream& stream, Ranks& ranks, Grid const& grid, std::span<T const> whole,
              Brick const& brick, std::span<T> here);

/// The other way round: what each rank has of a grid in its device's memory, planes of so many values
/// from its cut to the next one, comes to `whole`, which the first rank has on its host. All ranks call
/// it; done when it returns. Instantiated for float and double.
template <class T>
void gather_planes(Stream& stream, Ranks& ranks, RankCuts const& cuts, std::int64_t plane,
                   std::span<T const> here, std::span<T> whole);

}  // namespace gridstride

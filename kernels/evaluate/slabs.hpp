#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "expression/expression.hpp"
#include "grid/grid.hpp"

namespace gridstride::evaluate {

/// Values of a formula on a piece of a grid: whole lines along the slowest axis.
struct Slab {
  Grid grid;
  std::int64_t first;  ///< place of the slab's first value in the whole grid
  std::span<double const> values;
};

/// How many values the largest slab of a grid has.
std::size_t slab_size(Grid const& grid);

/// Evaluates a formula on the host at every point of a grid at time t, a slab of about a million
/// points at a time, so that memory stays small beside the fields. `use` gets the slabs in order.
void for_each_slab(expression::Expression const& formula, Grid const& grid, double time,
                   std::function<void(Slab const&)> const& use);

/// The formula that, on pieces of a grid whose coordinates along `axis` are the indices in the whole
/// grid, has the very values that the given one has there.
expression::Expression by_index(expression::Expression const& formula, Grid const& grid, int axis);
/// The same along all axes.
expression::Expression by_indices(expression::Expression const& formula, Grid const& grid);

}  // namespace gridstride::evaluate

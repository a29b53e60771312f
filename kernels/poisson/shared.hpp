#pragma once

#include <cstdint>

#include "kernels/poisson/point.hpp"
#include "kernels/support/rank_planes.hpp"

/// Grids that several ranks share. For the family's own files only.
namespace gridstride::poisson {

/// How many values arrays of the grid have in this process.
template <class T>
std::int64_t points_held(Equation<T> const& equation) {
  Grid const& grid = equation.grid;
  if (equation.ranks == nullptr) return grid.size();
  return equation.ranks->held() * grid.face_size(grid.dims - 1);
}

/// An array such that its values lie at their places on the whole grid.
template <class T, class U>
U* at_places(Equation<T> const& equation, U* values) {
  if (equation.ranks == nullptr || values == nullptr) return values;
  Grid const& grid = equation.grid;
  return values - (equation.ranks->lower() - 1) * grid.face_size(grid.dims - 1);
}

template <class T>
Largest of_all_ranks(Equation<T> const& equation, Largest const& own) {
  if (equation.ranks == nullptr) return own;
  Largest all;
  for (Largest const& one : gridstride::of_all_ranks(equation.ranks->ranks(), own)) raise(all, one);
  return all;
}

}  // namespace gridstride::poisson

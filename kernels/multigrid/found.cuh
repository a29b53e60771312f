#pragma once

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/directions.hpp"
#include "kernels/support/collectives.cuh"

/// What blocks find of what their threads have found. For the family's own files only.
namespace gridstride::multigrid {

/// What the threads of a block have, put together in the order of their numbers by the first one,
/// which `take`s it.
template <class Value, class Join, class Take>
__device__ void join_block(Value own, Join const& join, Take const& take) {
  constexpr int most_warps = threads_of_columns / warp_size;
  __shared__ Value shared[most_warps];
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    own = join(own, shuffle_down(own, distance));
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < static_cast<int>(blockDim.x * blockDim.y) / warp_size; ++warp)
    own = join(own, shared[warp]);
  take(own);
}

/// Raises `largest` to what the threads of a block have found.
__device__ inline void raise_by_block(Found const& own, Found* largest) {
  auto const larger = [](Found a, Found const& b) {
    raise(a, b);
    return a;
  };
  join_block(own, larger, [&](Found const& all) {
    using Word = unsigned long long;
    atomicMax(reinterpret_cast<Word*>(&largest->first), static_cast<Word>(all.first));
    if (all.second > 0)
      atomicMax(reinterpret_cast<Word*>(&largest->second), static_cast<Word>(all.second));
  });
}

/// Their sum.
__device__ inline void sum_by_block(Summed const& own, Summed* sum) {
  join_block(
      own, [](Summed const& a, Summed const& b) { return a + b; },
      [&](Summed const& all) { *sum = all; });
}

/// Whether points have parts of cells.
template <class T>
bool halves_cells(poisson::Operator<T> const& a) {
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      if (a.side[axis][side] == poisson::Rule::neumann) return true;
  return false;
}

/// How many times the cell of a point is halved along an axis; and what is left of it.
template <class T>
__device__ int halvings(poisson::Operator<T> const& a, int axis, std::int64_t at) {
  int count = 0;
#pragma unroll
  for (int side = 0; side < 2; ++side)
    count += a.side[axis][side] == poisson::Rule::neumann && a.is_side(axis, side, at) ? 1 : 0;
  return count;
}
__device__ inline double half_to_the(int times) {
  return __hiloint2double((1023 - times) << 20, 0);
}

/// The shares of cells of a row's points: halves where the row lies on sides without a given value, and again at
/// such ends of it.
struct RowShares {
  double inner = 1;
  bool halves_first = false, halves_last = false;

  template <class T>
  __device__ RowShares(poisson::Operator<T> const& a, std::int64_t const (&at)[3]) {
    for (int axis = 1; axis < a.dims; ++axis)
      for (int side = 0; side < 2; ++side)
        if (a.side[axis][side] == poisson::Rule::neumann && a.is_side(axis, side, at[axis]))
          inner /= 2;
    halves_first = a.side[0][0] == poisson::Rule::neumann;
    halves_last = a.side[0][1] == poisson::Rule::neumann;
  }
  __device__ double of(int i, int count) const {
    double const share = halves_first && i == 0 ? inner / 2 : inner;
    return halves_last && i == count - 1 ? share / 2 : share;
  }
};

}  // namespace gridstride::multigrid

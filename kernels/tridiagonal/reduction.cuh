#pragma once

#include <cstdint>

#include "kernels/tridiagonal/relation.hpp"

/// What rungs on a GPU have in common.
namespace gridstride::tridiagonal {

/// Relations in shared memory, as three arrays.
template <class T>
struct SharedRelations {
  T* at;
  int size;

  __device__ void put(int i, Relation<T> const& r) const {
    at[i] = r.constant;
    at[size + i] = r.left;
    at[2 * size + i] = r.right;
  }
  __device__ Relation<T> get(int i) const { return {at[i], at[size + i], at[2 * size + i]}; }
};

/// A step of parallel cyclic reduction: x_i by what the unknowns i ± distance are related to. Where
/// there is none, the unknown beyond the end stays.
template <class T>
__device__ Relation<T> reach_further(Relation<T> const& x, SharedRelations<T> const& all, int at,
                                     bool has_lower, bool has_upper, int distance, bool& good) {
  auto const lower = all.get(has_lower ? at - distance : at);
  auto const upper = all.get(has_upper ? at + distance : at);
  T const left = has_lower ? x.left : T{0}, right = has_upper ? x.right : T{0};
  Row<T> const row{has_lower ? -x.left * lower.left : x.left,
                   1 - left * lower.right - right * upper.left,
                   has_upper ? -x.right * upper.right : x.right,
                   x.constant - left * lower.constant - right * upper.constant};
  return solved(row, good);
}

}  // namespace gridstride::tridiagonal

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

/// A step of parallel cyclic reduction: x by what its neighbours are related to.
template <class T>
__device__ Relation<T> reach_further(Relation<T> const& x, Relation<T> const& lower,
                                     Relation<T> const& upper, bool& good) {
  return solved(Row<T>{-x.left * lower.left, 1 - x.left * lower.right - x.right * upper.left,
                       -x.right * upper.right,
                       x.constant - x.left * lower.constant - x.right * upper.constant},
                good);
}

/// The same for x_i, from the relations of x_(i ± distance). Where there is none, the unknown beyond
/// the end stays.
template <class T>
__device__ Relation<T> reach_further(Relation<T> const& x, SharedRelations<T> const& all, int at,
                                     bool has_lower, bool has_upper, int distance, bool& good) {
  return reach_further(x, has_lower ? all.get(at - distance) : before_piece<T>(),
                       has_upper ? all.get(at + distance) : separator<T>(), good);
}

}  // namespace gridstride::tridiagonal

#pragma once

#include <cstdint>

#include "kernels/tridiagonal/relation.hpp"

/// What rungs on a GPU have in common.
namespace gridstride::tridiagonal {

/// Raises a word of the findings; the result does not depend on who comes first.
__device__ inline void raise(std::uint64_t& word, std::uint64_t value) {
  if (word < value) atomicMax(reinterpret_cast<unsigned long long*>(&word), value);
}

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
  Row<T> row{x.left, 1, x.right, x.constant};
  if (has_lower) {
    auto const lower = all.get(at - distance);
    row.b -= row.a * lower.right;
    row.d -= row.a * lower.constant;
    row.a = -row.a * lower.left;
  }
  if (has_upper) {
    auto const upper = all.get(at + distance);
    row.b -= row.c * upper.left;
    row.d -= row.c * upper.constant;
    row.c = -row.c * upper.right;
  }
  return solved(row, good);
}

}  // namespace gridstride::tridiagonal

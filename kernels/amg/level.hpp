#pragma once

#include "kernels/amg/amg.hpp"

namespace gridstride::amg {

/// One level, and how it goes to the next; the last one has no interpolation.
template <class T>
struct Level {
  Rows<T> a;
  Buffer<T> inverse;      ///< 1/a_ii
  Buffer<T> weights;      ///< ω/a_ii of relaxation
  Buffer<T> near_kernel;  ///< what interpolation is to have
  Rows<T> p, r;           ///< interpolation and its transpose
  Rows<T> solve;  ///< A⁻¹ of the last level, all of its elements; none where it is only relaxed
  Buffer<T> x, left, b;  ///< of a cycle: before the last relaxation, b − A·x, the right side here
  Buffer<T> solution;    ///< what the level above takes; the finest has its caller's

  std::int64_t unknowns() const { return a.rows; }
};

}  // namespace gridstride::amg

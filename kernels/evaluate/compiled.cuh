// Formulas at every point of a grid, compiled into the kernel. Before this file stand
// `constexpr int formula_count` and
//
//   template <class T, class Values>
//   void formulas(double x, double y, double z, double t, Values const& a, T* results)
//
// where a[i] is the value of array i, and a formula may use the results before its own.
//
// One thread per point, grid-stride, so that a warp writes neighbouring values. A thread finds the
// indices of its first point by division and those of the next by adding with carries. Formulas are
// straight code on registers, in float64 and without fused operations, so that every value has the
// bits that the interpreter gives it. Bytes moved: those of the results and of the arrays that the
// formulas name, each once; no code is read, and no result is read again.

#include "kernels/evaluate/points.hpp"

namespace gridstride::evaluate {

template <class T>
__device__ __forceinline__ void at_points(Points const& points, DeviceClock const* clock,
                                          double fraction, Results const& results,
                                          Arrays const& arrays) {
  double const t = clock == nullptr ? 0 : clock->time(fraction);
  long long const stride = static_cast<long long>(gridDim.x) * blockDim.x;
  long long const first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  Walk walk(points, first, stride);
  for (long long k = first; k < points.size; k += stride, walk.next()) {
    T values[formula_count];
    formulas<T>(walk.coordinate(0), walk.coordinate(1), walk.coordinate(2), t, ArraysAt{arrays, k},
                values);
#pragma unroll
    for (int i = 0; i < formula_count; ++i) static_cast<T*>(results.data[i])[k] = values[i];
  }
}

}  // namespace gridstride::evaluate

extern "C" __global__ void compiled_float32(gridstride::evaluate::Points points,
                                            gridstride::evaluate::DeviceClock const* clock,
                                            double fraction, gridstride::evaluate::Results results,
                                            gridstride::evaluate::Arrays arrays) {
  gridstride::evaluate::at_points<float>(points, clock, fraction, results, arrays);
}

extern "C" __global__ void compiled_float64(gridstride::evaluate::Points points,
                                            gridstride::evaluate::DeviceClock const* clock,
                                            double fraction, gridstride::evaluate::Results results,
                                            gridstride::evaluate::Arrays arrays) {
  gridstride::evaluate::at_points<double>(points, clock, fraction, results, arrays);
}

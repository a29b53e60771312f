// A formula at every point of a grid, with the formula compiled into the kernel. Before this file
// stands `double formula(double x, double y, double z, double t, Values const& a)`, where a[i] is
// the value of array i.
//
// One thread per point, grid-stride, so that a warp writes neighbouring values. A thread finds the
// indices of its first point by division and those of the next by adding with carries. The formula
// is straight code on registers, in float64 and without fused operations, so that every value has
// the bits that the interpreter gives it. Bytes moved: those of the result and of the arrays that
// the formula names; no code is read.

#include "kernels/evaluate/points.hpp"

namespace gridstride::evaluate {

template <class T>
__device__ __forceinline__ void at_points(Points const& points, DeviceClock const* clock,
                                          double fraction, T* result, Arrays const& arrays) {
  double const t = clock == nullptr ? 0 : clock->time(fraction);
  long long const stride = static_cast<long long>(gridDim.x) * blockDim.x;
  long long const first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  Walk walk(points, first, stride);
  for (long long k = first; k < points.size; k += stride, walk.next())
    result[k] = static_cast<T>(formula(walk.coordinate(0), walk.coordinate(1), walk.coordinate(2),
                                       t, ArraysAt{arrays, k}));
}

}  // namespace gridstride::evaluate

extern "C" __global__ void compiled_float32(gridstride::evaluate::Points points,
                                            gridstride::evaluate::DeviceClock const* clock,
                                            double fraction, float* result,
                                            gridstride::evaluate::Arrays arrays) {
  gridstride::evaluate::at_points(points, clock, fraction, result, arrays);
}

extern "C" __global__ void compiled_float64(gridstride::evaluate::Points points,
                                            gridstride::evaluate::DeviceClock const* clock,
                                            double fraction, double* result,
                                            gridstride::evaluate::Arrays arrays) {
  gridstride::evaluate::at_points(points, clock, fraction, result, arrays);
}

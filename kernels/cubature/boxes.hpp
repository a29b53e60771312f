#pragma once

#ifndef __CUDACC_RTC__
#include <string.h>
#endif

#include "core/host_device.hpp"
#include "kernels/cubature/genz_malik.hpp"
#include "kernels/integrand/integral_result.hpp"

/// What the boxes of an adaptive cubature are made of, for its host code, its kernels and those
/// that are compiled with the integrand.
namespace gridstride::quadrature {

/// Threads of a block that evaluates boxes.
inline constexpr int box_block = 256;

/// Threads that share the samples of a box: about as many as leave few of them idle in the last
/// round, a warp from 6 dimensions on, and a block once a box has thousands of samples.
GRIDSTRIDE_HOST_DEVICE constexpr int threads_of_box(int dimensions) {
  if (dimensions <= 2) return 4;
  if (dimensions <= 4) return 8;
  if (dimensions == 5) return 16;
  return dimensions <= 12 ? 32 : box_block;
}

/// Arguments of a kernel that are arrays, passed by value.
struct BoxExtents {
  double of[genz_malik::max_dimensions];  ///< the domain's
};
template <class Real>
struct ParameterValues {
  Real at[4];
};

/// A box is 2·d numbers, d coordinates of its centre and then d half widths; beside it stand its
/// integral, its error and the axis that it would be cut across, or why it is not cut.
struct BoxArrays {
  double* boxes;
  double* values;
  double* errors;
  signed char* axes;
};

/// In place of an axis: a box is too small, or its error is that of rounding.
inline constexpr int too_small = -1, only_rounding = -2;

/// Errors are counted in bins, two for each power of two. A bin's number rises with the error, so
/// that comparing numbers compares errors; the sign that a NaN may have does not count.
inline constexpr int error_bins = 4096;
GRIDSTRIDE_HOST_DEVICE inline int error_bin(double error) {
  unsigned long long bits;
  ::memcpy(&bits, &error, sizeof bits);
  return static_cast<int>(bits >> 51) & (error_bins - 1);
}

/// The error that those of a bin stay below.
GRIDSTRIDE_HOST_DEVICE inline double upper_error(int bin) {
  unsigned long long const bits = (static_cast<unsigned long long>(bin) + 1) << 51;
  double error;
  ::memcpy(&error, &bits, sizeof error);
  return error;
}

/// Whether a box can be cut and has an error of that bin or a higher one.
GRIDSTRIDE_HOST_DEVICE inline bool is_cut(double error, int axis, int bin) {
  return axis >= 0 && error_bin(error) >= bin;
}

}  // namespace gridstride::quadrature

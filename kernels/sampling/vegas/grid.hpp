#pragma once

#include "core/host_device.hpp"
#include "kernels/sampling/sample.hpp"

/// The map of importance sampling, once for host and device: each axis is cut into intervals of
/// different widths, which are sampled equally often (G. P. Lepage, "A new algorithm for adaptive
/// multidimensional integration", J. Comput. Phys. 27 (1978)).
namespace gridstride::quadrature {

/// Intervals of an axis. The kernel keeps the sums of all of them in shared memory.
GRIDSTRIDE_HOST_DEVICE constexpr int vegas_intervals(int dimensions) {
  return dimensions <= 8 ? 128 : 48;
}

/// The bits of an interval's number.
GRIDSTRIDE_HOST_DEVICE constexpr int vegas_interval_bits(int dimensions) {
  return dimensions <= 8 ? 7 : 6;
}

/// Of the samples of a tile, the first ones go into the sums of its intervals, from which the next
/// grid is made. In all these are up to four million, enough for any grid.
inline constexpr int vegas_grid_samples = 2048;

/// A coordinate of a sample.
template <class Real>
struct VegasPoint {
  int interval;
  Real y;        ///< the part of the axis of the box, in (0, 1)
  Real density;  ///< dy/du: the width of the interval times their number
};

/// Where the uniform number of the words lies in an axis whose intervals end at
/// edges[0] = 0, …, edges[intervals] = 1. The product of the first word and the number of intervals
/// has the interval in its upper half, and the place in it in its lower.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline VegasPoint<Real> vegas_point(unsigned const* words, Real const* edges,
                                                           int intervals) {
  unsigned long long const product =
      static_cast<unsigned long long>(words[0]) * static_cast<unsigned>(intervals);
  int const interval = static_cast<int>(product >> 32);
  unsigned place[words_per_uniform<Real>];
  place[0] = static_cast<unsigned>(product);
  if constexpr (words_per_uniform<Real> == 2) place[1] = words[1];
  Real const lower = edges[interval], width = edges[interval + 1] - lower;
  Real const y = multiply_add(width, uniform_of<Real>(place), lower);
  return {interval, y < greatest_uniform<Real> ? y : greatest_uniform<Real>,
          width * static_cast<Real>(intervals)};
}

}  // namespace gridstride::quadrature

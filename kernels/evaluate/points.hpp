#pragma once

#include "core/host_device.hpp"

/// Where and when a formula is evaluated. Free of other headers, so that kernels that are compiled
/// at run time use it too.
namespace gridstride::evaluate {

/// a + b·c with both roundings, on host and device alike.
GRIDSTRIDE_HOST_DEVICE inline double add_product(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, __dmul_rn(b, c));
#else
  return a + b * c;
#endif
}

/// Where a run is in time, kept in the memory of its device so that queued steps can read and
/// advance it without the host: t = origin + (steps + fraction)·step_size, with the fraction
/// chosen by each reader (0 the present, 1 the end of the step, 1/2 a middle stage).
struct DeviceClock {
  double origin = 0;
  double step_size = 0;
  long long steps = 0;
  long long steps_before = 0;  ///< of the run, until the origin

  /// How many steps the run has made.
  GRIDSTRIDE_HOST_DEVICE long long number() const { return steps_before + steps; }
  GRIDSTRIDE_HOST_DEVICE double time(double fraction) const {
    return add_product(origin, static_cast<double>(steps) + fraction, step_size);
  }
};

/// Arrays with a value at each point, which a formula may read at its own.
struct Arrays {
  static constexpr int most = 20;
  void const* data[most];
  unsigned singles;  ///< bit i: array i holds floats, else doubles

  GRIDSTRIDE_HOST_DEVICE double at(int i, long long point) const {
    return (singles >> i & 1U) != 0 ? static_cast<double>(static_cast<float const*>(data[i])[point])
                                    : static_cast<double const*>(data[i])[point];
  }
};

/// Their values at one point.
struct ArraysAt {
  Arrays const& arrays;
  long long point;

  GRIDSTRIDE_HOST_DEVICE double operator[](int i) const { return arrays.at(i, point); }
};

/// Where the values of formulas go.
struct Results {
  void* data[Arrays::most];
};

/// A grid in plain arrays, which device code can index.
struct Points {
  long long size;
  long long count[3];
  double origin[3];
  double spacing[3];
};

/// The indices of every `stride`-th point along the grid's order, from point `first` on: divisions
/// at the start only, since the indices of the stride are added with carries.
class Walk {
 public:
  GRIDSTRIDE_HOST_DEVICE Walk(Points const& points, long long first, long long stride)
      : points_(points) {
    split(first, at_);
    split(stride, ahead_);
  }

  GRIDSTRIDE_HOST_DEVICE void next() {
    bool carry = false;
    for (int axis = 0; axis < 3; ++axis) {
      at_[axis] += ahead_[axis] + (carry ? 1 : 0);
      carry = axis < 2 && at_[axis] >= points_.count[axis];
      if (carry) at_[axis] -= points_.count[axis];
    }
  }

  GRIDSTRIDE_HOST_DEVICE double coordinate(int axis) const {
    return add_product(points_.origin[axis], static_cast<double>(at_[axis]), points_.spacing[axis]);
  }

 private:
  GRIDSTRIDE_HOST_DEVICE void split(long long offset, long long* indices) const {
    for (int axis = 0; axis < 2; ++axis) {
      long long const above = offset / points_.count[axis];
      indices[axis] = offset - above * points_.count[axis];
      offset = above;
    }
    indices[2] = offset;
  }

  Points const& points_;
  long long at_[3];
  long long ahead_[3];
};

}  // namespace gridstride::evaluate

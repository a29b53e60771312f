#pragma once

#include "core/host_device.hpp"

namespace gridstride::quadrature {

/// A sum as two numbers, the second what the first has lost by rounding (the exact addition of
/// D. E. Knuth, The Art of Computer Programming 2, section 4.2.2): n terms have an error of about
/// ε·|Σx| + n·ε²·Σ|x|.
struct TwoTermSum {
  double high = 0, low = 0;

  GRIDSTRIDE_HOST_DEVICE void add(double x) {
    double const sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  GRIDSTRIDE_HOST_DEVICE void add(TwoTermSum const& other) {
    add(other.high);
    low += other.low;
  }
  GRIDSTRIDE_HOST_DEVICE double result() const { return high + low; }
};

}  // namespace gridstride::quadrature

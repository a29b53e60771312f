#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "kernels/convert/decode.hpp"
#include "kernels/convert/thin.hpp"

/// From one value that stays to the next, for host and GPU.
namespace gridstride::convert {

/// A place among the values that stay and in the field. Divisions are needed once for each line.
class Walk {
 public:
  GRIDSTRIDE_HOST_DEVICE Walk(Thinning const& thinning, std::int64_t first)
      : thinning_(thinning), index_(first) {
    find();
  }
  /// In the field.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place() const { return place_; }
  GRIDSTRIDE_HOST_DEVICE void next() {
    ++index_;
    if (--left_of_line_ == 0) return find();
    if (--left_of_point_ > 0) {
      ++place_;
    } else {
      left_of_point_ = thinning_.components;
      place_ += (thinning_.every[0] - 1) * thinning_.components + 1;
    }
  }

 private:
  GRIDSTRIDE_HOST_DEVICE void find() {
    std::int64_t const line = thinning_.kept(0) * thinning_.components;
    left_of_line_ = line - index_ % line;
    left_of_point_ = thinning_.components - index_ % line % thinning_.components;
    place_ = thinning_.place(index_);
  }

  Thinning const& thinning_;
  std::int64_t index_, place_, left_of_line_, left_of_point_;
};

/// Whether rounding has made an infinity of the value.
template <class T, class F>
GRIDSTRIDE_HOST_DEVICE bool is_beyond(T value, F rounded) {
  return sizeof(F) < sizeof(T) && is_finite(static_cast<double>(value)) &&
         !is_finite(static_cast<double>(rounded));
}

}  // namespace gridstride::convert

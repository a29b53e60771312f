#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gridstride {

/// sqrt(mean of x²) of values that come one by one. The squares are summed in units of a power of
/// two above the largest value so far, so that none overflows and only those vanish that do not
/// count; where plain squares are in range the digits are theirs.
class RootMeanSquare {
 public:
  void add(double x) {
    double const magnitude = std::abs(x);
    if (magnitude > unit_ && std::isfinite(magnitude)) raise(magnitude);
    double const share = magnitude * per_unit_;
    sum_ += share * share;
    ++count_;
  }

  /// All that another one has: of values in blocks the same comes of it whoever sums each of these.
  void add(RootMeanSquare const& other) {
    if (other.unit_ > unit_) raise_to(other.exponent_);
    sum_ += std::scalbn(other.sum_, 2 * (other.exponent_ - exponent_));
    count_ += other.count_;
  }

  /// NaN of no values.
  double value() const {
    return std::scalbn(std::sqrt(sum_ / static_cast<double>(count_)), exponent_);
  }

 private:
  void raise(double magnitude) { raise_to(std::max(std::ilogb(magnitude) + 1, -1000)); }

  void raise_to(int exponent) {
    if (sum_ > 0) sum_ = std::scalbn(sum_, 2 * (exponent_ - exponent));
    exponent_ = exponent;
    unit_ = std::scalbn(1.0, exponent);
    per_unit_ = std::scalbn(1.0, -exponent);
  }

  int exponent_ = 0;
  double unit_ = 0, per_unit_ = 1;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace gridstride

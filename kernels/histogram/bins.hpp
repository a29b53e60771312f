#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/host_device.hpp"
#include "kernels/histogram/histogram.hpp"

/// From a value to its bin, the same on the host, on the GPU and in CUB; −1 stands for none.
namespace gridstride::histogram {

/// Each of the 256 values of a byte is a bin of its own.
struct ByteBins {
  static constexpr bool weighable = false;
  GRIDSTRIDE_HOST_DEVICE int count() const { return 256; }
  GRIDSTRIDE_HOST_DEVICE int operator()(std::uint8_t x) const { return x; }
};

/// Bins of one width: ⌊(x − lower)·scale⌋, but the last for what rounds up to the upper end. A
/// difference times a factor cannot be fused, so every compiler rounds the same way.
template <class T>
class EvenBins {
 public:
  static constexpr bool weighable = true;
  EvenBins(T lower, T upper, int count)
      : lower_(lower),
        upper_(upper),
        scale_(static_cast<T>(count) / (upper - lower)),
        count_(count) {}

  GRIDSTRIDE_HOST_DEVICE int count() const { return count_; }
  GRIDSTRIDE_HOST_DEVICE int operator()(T x) const {
    if (!(x >= lower_ && x < upper_)) return -1;
    int const bin = static_cast<int>((x - lower_) * scale_);
    return bin < count_ ? bin : count_ - 1;
  }

 private:
  T lower_, upper_, scale_;
  int count_;
};

/// The bins between neighbouring edges, found by bisection.
template <class T>
class EdgeBins {
 public:
  static constexpr bool weighable = true;
  /// `edges` points to count + 1 of them.
  GRIDSTRIDE_HOST_DEVICE EdgeBins(T const* edges, int count) : edges_(edges), count_(count) {}

  GRIDSTRIDE_HOST_DEVICE int count() const { return count_; }
  GRIDSTRIDE_HOST_DEVICE T const* edges() const { return edges_; }
  GRIDSTRIDE_HOST_DEVICE int operator()(T x) const {
    if (!(x >= edges_[0] && x < edges_[count_])) return -1;
    // The bin is one of `length` from `first` on. Either half may be taken to be the larger one, so
    // that every value makes the same steps, without branches.
    int first = 0;
    for (int length = count_; length > 1;) {
      int const half = length / 2;
      first += x < edges_[first + half] ? 0 : half;
      length -= half;
    }
    return first;
  }

 private:
  T const* edges_;
  int count_;
};

/// The bins between neighbouring edges that are even. The place of a value among even edges that are
/// not rounded, and those that are, are known to some ulps: where a value is farther than that from
/// both ends of a bin, the bin is its own.
template <class T>
class EvenEdgeBins {
 public:
  static constexpr bool weighable = false;
  EvenEdgeBins(T const* edges, T first, T last, int count)
      : edges_(edges),
        first_(first),
        last_(last),
        scale_(static_cast<T>(count) / (last - first)),
        tolerance_(
            8 * std::numeric_limits<T>::epsilon() *
            (static_cast<T>(count) +
             (std::abs(first) > std::abs(last) ? std::abs(first) : std::abs(last)) * scale_)),
        count_(count) {}

  /// Whether a multiplication tells anything.
  bool serves() const { return scale_ > 0 && std::isfinite(scale_) && tolerance_ < T(0.25); }

  GRIDSTRIDE_HOST_DEVICE int count() const { return count_; }
  GRIDSTRIDE_HOST_DEVICE int operator()(T x) const {
    if (!(x >= first_ && x < last_)) return -1;
    T const place = (x - first_) * scale_;
    int bin = static_cast<int>(place);
    if (bin >= count_) bin = count_ - 1;
    T const within = place - static_cast<T>(bin);
    if (within > tolerance_ && within < 1 - tolerance_) return bin;
    while (bin > 0 && x < edges_[bin]) --bin;
    while (bin + 1 < count_ && x >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  T const* edges_;
  T first_, last_, scale_, tolerance_;
  int count_;
};

/// The bins of stretches of numbers.
template <class T>
class NumberBins {
 public:
  static constexpr bool weighable = false;
  explicit NumberBins(Arguments<T> const& a) : range_count_(a.range_count), count_(a.bins) {
    int bin = 0;
    for (int r = 0; r < range_count_; ++r) {
      auto const& [low, count, log2] = a.ranges[static_cast<std::size_t>(r)];
      ranges_[r] = {static_cast<Number>(low), static_cast<Number>(count), log2, bin};
      bin += static_cast<int>(count);
    }
  }

  GRIDSTRIDE_HOST_DEVICE int count() const { return count_; }
  GRIDSTRIDE_HOST_DEVICE int operator()(T x) const {
    if (x != x) return -1;
    Number const bits = __builtin_bit_cast(Number, x), magnitude = bits & ~sign;
    Number const number = (bits & sign) != 0 ? Number{0} - magnitude : magnitude;
    for (int r = 0; r < range_count_; ++r) {
      // Numbers below a range wrap around to large ones.
      Number const stretch = (number - ranges_[r].low) >> ranges_[r].log2;
      if (stretch < ranges_[r].count) return ranges_[r].bin + static_cast<int>(stretch);
    }
    return -1;
  }

 private:
  using Number = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Number sign = Number{1} << (8 * sizeof(T) - 1);
  struct Range {
    Number low, count;
    int log2, bin;
  };

  Range ranges_[most_number_ranges] = {};
  int range_count_, count_;
};

/// Calls `body` with the bins that the arguments describe.
template <class T, class Body>
void with_bins(Arguments<T> const& arguments, Body const& body) {
  if constexpr (sizeof(T) == 1) {
    body(ByteBins{});
  } else if (arguments.range_count > 0) {
    body(NumberBins<T>(arguments));
  } else if (EvenEdgeBins<T> const even(arguments.edges, arguments.lower, arguments.upper,
                                        arguments.bins);
             arguments.even_edges && even.serves()) {
    body(even);
  } else if (arguments.edges != nullptr) {
    body(EdgeBins<T>(arguments.edges, arguments.bins));
  } else {
    body(EvenBins<T>(arguments.lower, arguments.upper, arguments.bins));
  }
}

}  // namespace gridstride::histogram

#pragma once

#include "core/host_device.hpp"
#include "kernels/histogram/histogram.hpp"

/// From a value to its bin, the same on the host, on the GPU and in CUB; −1 stands for none.
namespace gridstride::histogram {

/// Each of the 256 values of a byte is a bin of its own.
struct ByteBins {
  GRIDSTRIDE_HOST_DEVICE int count() const { return 256; }
  GRIDSTRIDE_HOST_DEVICE int operator()(std::uint8_t x) const { return x; }
};

/// Bins of one width: ⌊(x − lower)·scale⌋, but the last for what rounds up to the upper end. A
/// difference times a factor cannot be fused, so every compiler rounds the same way.
template <class T>
class EvenBins {
 public:
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

/// Calls `body` with the bins that the arguments describe.
template <class T, class Body>
void with_bins(Arguments<T> const& arguments, Body const& body) {
  if constexpr (sizeof(T) == 1) {
    body(ByteBins{});
  } else if (arguments.edges != nullptr) {
    body(EdgeBins<T>(arguments.edges, arguments.bins));
  } else {
    body(EvenBins<T>(arguments.lower, arguments.upper, arguments.bins));
  }
}

}  // namespace gridstride::histogram

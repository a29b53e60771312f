#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "kernels/reduce/operations.hpp"
#include "kernels/support/length.hpp"

/// The order in which moments are found: of pieces of blocks (`host_block`), each in lanes. For the
/// family's own files only.
namespace gridstride::reduce {

constexpr int lanes = 32;
constexpr std::int64_t piece_elements = 8192;

/// An array, as lanes go through it.
template <class T>
struct Elements {
  static constexpr int under_way = 16;  ///< elements that a lane reads before it uses any
  T const* x;

  GRIDSTRIDE_HOST_DEVICE T operator[](std::int64_t i) const { return x[i]; }
};

/// The lengths of vectors whose components are arrays: `known` of them, or `count`.
template <class T, int known = 0>
struct Lengths {
  static constexpr int under_way = known > 0 ? 4 : 1, most_components = 24;
  T const* components[most_components];
  int count;

  GRIDSTRIDE_HOST_DEVICE T operator[](std::int64_t i) const {
    return length_of<T>([&](std::int64_t k) { return components[k][i]; },
                        known > 0 ? known : count);
  }
};

/// What a lane knows of its elements. Minimum and maximum leave out NaN.
template <class T>
struct LaneMoments {
  T minimum = greatest<T>();
  T maximum = least<T>();
  Sum<T> sum = 0;
  double sum_of_squares = 0;

  GRIDSTRIDE_HOST_DEVICE void add(T x) {
    if (x < minimum) minimum = x;
    if (maximum < x) maximum = x;
    SumOperation<T>{}.add(sum, x, T{}, 0);
    SquaresOperation<T>{nullptr}.add(sum_of_squares, x, T{}, 0);
  }
  GRIDSTRIDE_HOST_DEVICE void combine(LaneMoments const& other) {
    if (other.minimum < minimum) minimum = other.minimum;
    if (maximum < other.maximum) maximum = other.maximum;
    SumOperation<T>::combine(sum, other.sum);
    SquaresOperation<T>::combine(sum_of_squares, other.sum_of_squares);
  }
};

/// Of elements `lane`, `lane` + 32, … of `size` ones from `begin` on. `Source` is Elements or Lengths.
template <class T, class Source>
GRIDSTRIDE_HOST_DEVICE LaneMoments<T> lane_moments(Source const& x, std::int64_t begin, int size,
                                                   int lane) {
  constexpr int some = Source::under_way;
  LaneMoments<T> found;
  int i = lane;
  for (; i + (some - 1) * lanes < size; i += some * lanes) {
    T values[some];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < some; ++k) values[k] = x[begin + i + k * lanes];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < some; ++k) found.add(values[k]);
  }
  for (; i < size; i += lanes) found.add(x[begin + i]);
  return found;
}

/// The first of a lane's elements that is not finite, counted from `begin`.
template <class T, class Source>
GRIDSTRIDE_HOST_DEVICE std::int64_t first_bad_of_lane(Source const& x, std::int64_t begin, int size,
                                                      int lane) {
  for (int i = lane; i < size; i += lanes)
    if (!is_finite<T>(x[begin + i])) return i;
  return no_index;
}

}  // namespace gridstride::reduce

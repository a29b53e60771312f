#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "kernels/evaluate/points.hpp"
#include "kernels/sampling/sample.hpp"

/// Random numbers at the points of a grid, by counting (sampling/philox.hpp): the counter is the
/// place of a point in the order of memory, the key is the seed, so that they are alike on every
/// device and however a grid is cut. Free of other headers.
namespace gridstride::system {

/// The place of the point that a number belongs to: beyond an axis that wraps that around it, else
/// its mirror image inside. `at` is no further than the axis has points.
GRIDSTRIDE_HOST_DEVICE inline long long random_place(bool const (&wraps)[3],
                                                     long long const (&points)[3],
                                                     long long const (&at)[3]) {
  long long place = 0;
  for (int axis = 2; axis >= 0; --axis) {
    long long const n = points[axis];
    long long i = at[axis];
    if (i < 0) i = wraps[axis] ? i + n : -i;
    if (i >= n) i = wraps[axis] ? i - n : 2 * (n - 1) - i;
    place = place * n + i;
  }
  return place;
}

GRIDSTRIDE_HOST_DEVICE inline quadrature::PhiloxKey seed_key(int seed) {
  return {static_cast<unsigned>(seed), 0};
}

/// In (0, 1), of the upper 52 bits of two words, or 23 of the first one in float32.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T uniform_at(int seed, long long place) {
  auto const words = quadrature::philox_block(static_cast<unsigned long long>(place), 0,
                                              seed_key(seed), quadrature::PhiloxTag::uniform_field);
  return quadrature::uniform_of<T>(words.word);
}

/// Of a block's words, by Box and Muller's transform in float64.
GRIDSTRIDE_HOST_DEVICE inline double normal_of(quadrature::PhiloxBlock const& words) {
  double const u = quadrature::uniform(words.word[0], words.word[1]);
  double const v = quadrature::uniform(words.word[2], words.word[3]);
  return ::sqrt(-2 * ::log(u)) * ::cos(6.283185307179586 * v);
}

/// Of mean 0 and variance 1.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T normal_at(int seed, long long place) {
  return static_cast<T>(
      normal_of(quadrature::philox_block(static_cast<unsigned long long>(place), 0, seed_key(seed),
                                         quadrature::PhiloxTag::normal_field)));
}

/// The same over √dt, anew for each step since the beginning.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T noise_at(int seed, long long place,
                                         evaluate::DeviceClock const& clock) {
  auto const step = static_cast<unsigned long long>(clock.number());
  quadrature::PhiloxKey const key = {static_cast<unsigned>(seed),
                                     static_cast<unsigned>(step >> 32)};
  return static_cast<T>(normal_of(quadrature::philox_block(static_cast<unsigned long long>(place),
                                                           static_cast<unsigned>(step), key,
                                                           quadrature::PhiloxTag::noise)) /
                        ::sqrt(clock.step_size));
}

}  // namespace gridstride::system

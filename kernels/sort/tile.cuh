#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/sort/order.hpp"
#include "kernels/support/collectives.cuh"

/// Bitonic networks: what they compare, and those that a block works in shared memory.
///
/// All comparisons put the smaller key at the lower place. So keys can be thought of behind the
/// last one that are larger than any, up to a power of two: they would never move, and comparisons
/// with them are left out.
namespace gridstride::sort {

/// Keys and their values; no values: null.
template <class T>
struct Arrays {
  T* keys;
  std::uint32_t* values;
};

/// Two places that are compared.
template <class Index>
struct Comparison {
  Index low, high;
};

/// Comparison number `number` of a step that compares within every `span` places, a power of two:
/// those half a span apart, or `mirrored`, the first with the last and so on inwards.
///
/// Two sorted halves of a span are merged by a mirrored step of this span and further steps of half
/// the span, a quarter, ... down to 2.
template <class Index>
__device__ Comparison<Index> comparison(Index number, Index span, bool mirrored) {
  Index const offset = number & (span / 2 - 1);
  Index const start = 2 * (number - offset);
  return {start + offset, mirrored ? start + span - 1 - offset : start + offset + span / 2};
}

constexpr int tile_size = 2048;

/// The part of the keys that a block holds in shared memory.
template <class T, bool with_values>
struct Tile {
  T keys[tile_size];
  std::uint32_t values[with_values ? tile_size : 1];

  /// Exchanges the items at the two places if their order demands it.
  __device__ void compare(int low, int high) {
    T const a = keys[low], b = keys[high];
    if (!precedes(b, a)) return;
    keys[low] = b;
    keys[high] = a;
    if constexpr (with_values) {
      std::uint32_t const value = values[low];
      values[low] = values[high];
      values[high] = value;
    }
  }

  template <int threads>
  __device__ void load(Arrays<T> source, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
      keys[i] = source.keys[i];
      if constexpr (with_values) values[i] = source.values[i];
    }
    __syncthreads();
  }

  template <int threads>
  __device__ void store(Arrays<T> target, int count) const {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
      target.keys[i] = keys[i];
      if constexpr (with_values) target.values[i] = values[i];
    }
  }

  /// One step, among the first `count` items. The barrier behind it is one of the warp alone when
  /// this step and the next one have spans of up to 64, for a warp's 32 comparisons are then within
  /// the same 64 places.
  template <int threads>
  __device__ void step(int span, bool mirrored, int next_span, int count) {
    static_assert(tile_size / 2 % threads == 0 && threads % warp_size == 0);
    for (int c = static_cast<int>(threadIdx.x); c < tile_size / 2; c += threads) {
      auto const [low, high] = comparison(c, span, mirrored);
      if (high < count) compare(low, high);
    }
    constexpr int warp_span = 2 * warp_size;
    if (span <= warp_span && next_span <= warp_span)
      __syncwarp();
    else
      __syncthreads();
  }

  /// Steps of `span` places, then half of it, down to 2, before one of `next_span`.
  template <int threads>
  __device__ void halve(int span, int next_span, int count) {
    for (; span >= 2; span /= 2) step<threads>(span, false, span > 2 ? span / 2 : next_span, count);
  }

  /// Sorts the first `count` items. A barrier at the end.
  template <int threads>
  __device__ void sort(int count) {
    for (int span = 2; span < 2 * count; span *= 2) {
      step<threads>(span, true, span > 2 ? span / 2 : 2 * span, count);
      halve<threads>(span / 2, 2 * span, count);
    }
    __syncthreads();
  }
};

/// Calls `body` with whether there are values as a compile-time constant.
template <class Body>
void with_values(bool values, Body const& body) {
  if (values)
    body(std::true_type{});
  else
    body(std::false_type{});
}

}  // namespace gridstride::sort

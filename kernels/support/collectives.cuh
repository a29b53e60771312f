#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

/// What the threads of a warp or a block do together, for blocks of one dimension whose size is a
/// multiple of 32. Every thread of the warp, or of the block, has to make the call. Values are of
/// any trivially copyable type of a multiple of 4 bytes. `combine(a, b)` returns the combination of
/// two neighbouring values; it has to be associative, but for rounding, and need not be
/// commutative: `a` always comes from lower threads than `b`. The order of combining is fixed, so
/// that the same values give the same bits.
///
/// Functions that take a `shared` array use it between two barriers of their own: on entry nobody
/// may still read it, on return it is free for any use. A barrier orders shared and global memory
/// among the block's threads.
namespace gridstride {

constexpr int warp_size = 32;
constexpr unsigned whole_warp = 0xffffffffu;

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % warp_size; }
__device__ inline int warp_index() { return static_cast<int>(threadIdx.x) / warp_size; }

namespace detail {
/// The value made of `exchange(word)` of every 4-byte word of `value`.
template <class T, class Exchange>
__device__ T exchange_words(T const& value, Exchange const& exchange) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(unsigned) == 0);
  unsigned words[sizeof(T) / sizeof(unsigned)];
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = exchange(word);
  T result = value;
  memcpy(&result, words, sizeof(T));
  return result;
}
}  // namespace detail

// --------------------------------------------------------------------------------------- shuffles

/// The value of lane `source`.
template <class T>
__device__ T shuffle(T const& value, int source) {
  return detail::exchange_words(
      value, [=](unsigned word) { return __shfl_sync(whole_warp, word, source); });
}

/// The value of the lane `distance` lanes lower; the own one where there is none.
template <class T>
__device__ T shuffle_up(T const& value, int distance) {
  return detail::exchange_words(
      value, [=](unsigned word) { return __shfl_up_sync(whole_warp, word, distance); });
}

/// The value of the lane `distance` lanes higher; the own one where there is none.
template <class T>
__device__ T shuffle_down(T const& value, int distance) {
  return detail::exchange_words(
      value, [=](unsigned word) { return __shfl_down_sync(whole_warp, word, distance); });
}

// ----------------------------------------------------------------------------------- of one warp

/// The combination of the values of the first `count` lanes, in every lane.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine const& combine, int count = warp_size) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    T const higher = shuffle_down(value, distance);
    if (lane_index() + distance < count) value = combine(value, higher);
  }
  return shuffle(value, 0);
}

/// The combination of the values of all lanes up to the own one.
template <class T, class Combine>
__device__ T warp_inclusive_scan(T value, Combine const& combine) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    T const lower = shuffle_up(value, distance);
    if (lane_index() >= distance) value = combine(lower, value);
  }
  return value;
}

/// The lanes of a warp that hold the same value.
struct Peers {
  unsigned lanes;  ///< bit i: lane i holds it

  /// The lowest of them.
  __device__ int leader() const { return __ffs(static_cast<int>(lanes)) - 1; }
  __device__ bool is_leader() const { return lane_index() == leader(); }
  __device__ int count() const { return __popc(lanes); }
  /// How many of them are lower than this one.
  __device__ int rank() const { return __popc(lanes & ((1u << lane_index()) - 1)); }
};

/// The lanes whose value has the same bits as the own one, among those in `lanes`, which all have
/// to make the call. T is an integer or floating-point type of 4 or 8 bytes.
template <class T>
__device__ Peers warp_match(T value, unsigned lanes = whole_warp) {
  return {__match_any_sync(lanes, value)};
}

// ---------------------------------------------------------------------------------- of one block

/// The combination of the values of all threads, in every thread. Two barriers.
template <int threads, class T, class Combine>
__device__ T block_reduce(T value, Combine const& combine, T (&shared)[threads / warp_size]) {
  constexpr int warps = threads / warp_size;
  static_assert(threads % warp_size == 0 && warps >= 1 && warps <= warp_size);
  value = warp_reduce(value, combine);
  if (lane_index() == 0) shared[warp_index()] = value;
  __syncthreads();
  value = warp_reduce(shared[lane_index() < warps ? lane_index() : 0], combine, warps);
  __syncthreads();
  return value;
}

/// The combination of the values of all lower threads, `identity` in the first one; `total` becomes
/// that of all threads, in every thread. Two barriers.
template <int threads, class T, class Combine>
__device__ T block_exclusive_scan(T value, std::type_identity_t<T> const& identity,
                                  Combine const& combine, T (&shared)[threads / warp_size],
                                  T& total) {
  constexpr int warps = threads / warp_size;
  static_assert(threads % warp_size == 0 && warps >= 1 && warps <= warp_size);
  int const lane = lane_index(), warp = warp_index();
  T const inclusive = warp_inclusive_scan(value, combine);
  if (lane == warp_size - 1) shared[warp] = inclusive;
  __syncthreads();
  T const warps_inclusive = warp_inclusive_scan(shared[lane < warps ? lane : 0], combine);
  __syncthreads();
  total = shuffle(warps_inclusive, warps - 1);
  T const lower_warps = shuffle(warps_inclusive, warp > 0 ? warp - 1 : 0);
  T const lower_lanes = shuffle_up(inclusive, 1);
  if (lane == 0) return warp == 0 ? identity : lower_warps;
  return warp == 0 ? lower_lanes : combine(lower_warps, lower_lanes);
}

/// Whether the condition holds in any thread of the block, in all, and in how many. Each is a
/// barrier.
__device__ inline bool block_any(bool condition) { return __syncthreads_or(condition) != 0; }
__device__ inline bool block_all(bool condition) { return __syncthreads_and(condition) != 0; }
__device__ inline int block_count(bool condition) { return __syncthreads_count(condition); }

}  // namespace gridstride

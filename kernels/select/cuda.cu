// Selecting on the GPU, as a ladder. What is selected has to keep its order, so a thread must know
// how many flags are set before its own: within its block, and in all blocks before. Flags are n
// values of T to read; of the n values themselves only those selected are needed, and written.
//
//   atomic              Two passes. First a thread with a set flag adds one to its block's count in
//                       global memory, and a scan of the counts tells where each block's results
//                       begin. Then a block reads its flags again and marks them as bits in shared
//                       memory; a thread's rank is how many bits are set before its own.
//   ballot              The same without an atomic operation: a warp's vote is the word of bits,
//                       and its population count the count. A warp has 8 rows of 32 flags, one
//                       block 2048, so that there are fewer counts to scan.
//   decoupled_lookback  One pass, in a file of its own: cuda_lookback.cu.
//   cub                 cub::DeviceSelect, in cuda_cub.cu.
//
// Bytes of the first two: 2n·sizeof(T) of flags, and for each selected value sizeof(T) read and
// sizeof(T) + 8 written.

#include <cuda_runtime_api.h>

#include "core/buffer.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/select/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::select {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;

/// The lanes below the own one, as bits.
__device__ unsigned lower_lanes() { return (1u << lane_index()) - 1; }

/// Calls `count(counts)` to have each of `blocks` blocks count its flags, and `place(places)` with
/// how many are set before each block. The last of those is how many are set at all.
template <class T, class Count, class Place>
void in_two_passes(Stream& stream, Arguments<T> const& a, unsigned blocks, Count const& count,
                   Place const& place) {
  Buffer<std::int64_t> counts(stream, MemorySpace::device, std::size_t{blocks} + 1);
  zero_async(counts.span(), stream);
  count(counts.data());
  scan::exclusive_sum<std::int64_t>(stream, counts.span(), counts.span());
  place(counts.data());
  copy_async(std::span(a.count, 1), counts.span().last(1), stream);
}

// --------------------------------------------------------------------------------------- atomic

template <class T>
__global__ void __launch_bounds__(threads)
    atomic_count_kernel(Arguments<T> a, std::int64_t* counts) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < a.size && a.flags[i] != 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + blockIdx.x), 1ull);
}

template <class T>
__global__ void __launch_bounds__(threads)
    atomic_place_kernel(Arguments<T> a, std::int64_t const* places) {
  __shared__ unsigned bits[warps];
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (threadIdx.x < warps) bits[threadIdx.x] = 0;
  __syncthreads();
  bool const is_set = i < a.size && a.flags[i] != 0;
  if (is_set) atomicOr(&bits[warp_index()], 1u << lane_index());
  __syncthreads();
  if (!is_set) return;
  int rank = __popc(bits[warp_index()] & lower_lanes());
  for (int w = 0; w < warp_index(); ++w) rank += __popc(bits[w]);
  take(a, i, places[blockIdx.x] + rank);
}

// --------------------------------------------------------------------------------------- ballot

constexpr int rows = 8;
constexpr int warp_part = rows * warp_size;
constexpr int block_part = warps * warp_part;

/// The votes of the rows of this warp's part.
template <class T>
__device__ void vote(Arguments<T> const& a, std::int64_t first, unsigned (&votes)[rows]) {
  bool is_set[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    std::int64_t const i = first + r * warp_size + lane_index();
    is_set[r] = i < a.size && a.flags[i] != 0;
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) votes[r] = __ballot_sync(whole_warp, is_set[r]);
}

__device__ int count_of(unsigned const (&votes)[rows]) {
  int count = 0;
#pragma unroll
  for (unsigned const word : votes) count += __popc(word);
  return count;
}

__device__ std::int64_t first_of_warp() {
  return std::int64_t{blockIdx.x} * block_part + warp_index() * warp_part;
}

template <class T>
__global__ void __launch_bounds__(threads)
    ballot_count_kernel(Arguments<T> a, std::int64_t* counts) {
  __shared__ int parts[warps];
  unsigned votes[rows];
  vote(a, first_of_warp(), votes);
  if (lane_index() == 0) parts[warp_index()] = count_of(votes);
  __syncthreads();
  if (threadIdx.x != 0) return;
  int total = 0;
  for (int const part : parts) total += part;
  counts[blockIdx.x] = total;
}

template <class T>
__global__ void __launch_bounds__(threads)
    ballot_place_kernel(Arguments<T> a, std::int64_t const* places) {
  __shared__ int parts[warps];
  unsigned votes[rows];
  std::int64_t const first = first_of_warp();
  vote(a, first, votes);
  if (lane_index() == 0) parts[warp_index()] = count_of(votes);
  __syncthreads();
  std::int64_t place = places[blockIdx.x];
  for (int w = 0; w < warp_index(); ++w) place += parts[w];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if ((votes[r] >> lane_index() & 1) != 0)
      take(a, first + r * warp_size + lane_index(), place + __popc(votes[r] & lower_lanes()));
    place += __popc(votes[r]);
  }
}

}  // namespace

template <class T>
void cuda_atomic(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = blocks_for(a.size, threads);
  in_two_passes(
      stream, a, blocks,
      [&](std::int64_t* counts) {
        atomic_count_kernel<<<blocks, threads, 0, native(stream)>>>(a, counts);
        GRIDSTRIDE_CHECK_LAUNCH(stream, "select atomic: counts");
      },
      [&](std::int64_t const* places) {
        atomic_place_kernel<<<blocks, threads, 0, native(stream)>>>(a, places);
        GRIDSTRIDE_CHECK_LAUNCH(stream, "select atomic");
      });
}

template <class T>
void cuda_ballot(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = blocks_for(a.size, block_part);
  in_two_passes(
      stream, a, blocks,
      [&](std::int64_t* counts) {
        ballot_count_kernel<<<blocks, threads, 0, native(stream)>>>(a, counts);
        GRIDSTRIDE_CHECK_LAUNCH(stream, "select ballot: counts");
      },
      [&](std::int64_t const* places) {
        ballot_place_kernel<<<blocks, threads, 0, native(stream)>>>(a, places);
        GRIDSTRIDE_CHECK_LAUNCH(stream, "select ballot");
      });
}

#define GRIDSTRIDE_INSTANTIATE(T)                          \
  template void cuda_atomic(Stream&, Arguments<T> const&); \
  template void cuda_ballot(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::select

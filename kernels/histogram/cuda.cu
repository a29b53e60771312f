// Histograms on the GPU, as a ladder. Every rung reads each value once, in coalesced loads: n times
// its size, the copy bandwidth's half. What separates the rungs is where the additions meet: those
// to one bin are made one after the other, so that the time follows the fullest bin.
//
//   global_atomic  A thread takes every so-many-th value and adds one to its bin in global memory.
//                  The additions are made in L2, a few at a time for all multiprocessors; on data
//                  with few distinct values they wait in line for the same address.
//   shared_atomic  A block counts its values in a table of its own in shared memory, 4 bytes a bin,
//                  and adds it to the global table at its end: bins·blocks global additions in
//                  place of n. Equal values within a block still wait for each other.
//   privatized     Copies of the block's table for the lanes of a warp, so that lanes hardly ever
//                  meet in a bank. In a file of its own: cuda_privatized.cu.
//   cub            cub::DeviceHistogram, in cuda_cub.cu.
//
// With weights an addition is one of 128 bits, made of two atomic ones of 64 bits with a carry
// between them (tables.cuh), so that the sums do not depend on the order. A pass before finds the
// largest exponent, and a pass over the bins turns the integers into numbers.

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/histogram/tables.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::histogram {

namespace {

constexpr int threads = 512;

/// Blocks that fill the GPU, or fewer where each thread has a value even so.
unsigned filling_blocks(Stream const& stream, std::int64_t size) {
  constexpr std::int64_t per_multiprocessor = 2048 / threads;
  return static_cast<unsigned>(
      std::min((size + threads - 1) / threads, stream.device().processors() * per_multiprocessor));
}

/// Calls `body(i)` for the values of this thread.
template <class Body>
__device__ void for_own_values(std::int64_t size, Body const& body) {
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < size;
       i += stride)
    body(i);
}

__device__ void add_to(std::int64_t& count, unsigned long long addend) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&count), addend);
}

// ------------------------------------------------------------------------------- sums of weights

template <class T>
__global__ void exponent_kernel(T const* weights, std::int64_t size, int* exponent) {
  int largest = 0;
  for_own_values(size, [&](std::int64_t i) {
    int const field = exponent_field(weights[i]);
    if (field != not_finite && field > largest) largest = field;
  });
  largest = warp_reduce(largest, [](int a, int b) { return a > b ? a : b; });
  if (lane_index() == 0) atomicMax(exponent, largest);
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

__global__ void finish_kernel(SumTable table, int bins, double* sums) {
  int const bin = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (bin >= bins) return;
  sums[bin] = table.spoilt[bin] != 0 ? nan : table.scale().join(table.sums[bin]);
}

}  // namespace

template <class T>
DeviceSums<T>::DeviceSums(Stream& stream, Arguments<T> const& a)
    : sums_(stream, MemorySpace::device, static_cast<std::size_t>(a.bins)),
      spoilt_(stream, MemorySpace::device, static_cast<std::size_t>(a.bins)),
      exponent_(stream, MemorySpace::device, 1),
      weights_(a.size) {
  zero_async(sums_.span(), stream);
  zero_async(spoilt_.span(), stream);
  zero_async(exponent_.span(), stream);
  exponent_kernel<<<filling_blocks(stream, a.size), threads, 0, native(stream)>>>(a.weights, a.size,
                                                                                  exponent_.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram largest exponent");
}

template <class T>
SumTable DeviceSums<T>::table() {
  return {sums_.data(), spoilt_.data(), exponent_.data(), weights_};
}

template <class T>
void DeviceSums<T>::finish(Stream& stream, double* sums) {
  auto const bins = static_cast<int>(sums_.size());
  finish_kernel<<<blocks_for(bins, threads), threads, 0, native(stream)>>>(table(), bins, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram sums");
}

// --------------------------------------------------------------------------------- global_atomic

namespace {

template <class T, class Bins>
__global__ void global_count_kernel(T const* input, std::int64_t size, Bins bin_of,
                                    std::int64_t* counts) {
  for_own_values(size, [&](std::int64_t i) {
    int const bin = bin_of(input[i]);
    if (bin >= 0) add_to(counts[bin], 1);
  });
}

template <class T, class Bins>
__global__ void global_weigh_kernel(T const* input, T const* weights, std::int64_t size,
                                    Bins bin_of, SumTable table) {
  WeightScale const scale = table.scale();
  for_own_values(size, [&](std::int64_t i) {
    int const bin = bin_of(input[i]);
    if (bin >= 0) add_weight(table, scale, table.sums[bin], bin, weights[i]);
  });
}

}  // namespace

template <class T>
void cuda_global_atomic(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = filling_blocks(stream, a.size);
  with_bins(a, [&](auto const& bin_of) {
    if (a.weights == nullptr) {
      global_count_kernel<<<blocks, threads, 0, native(stream)>>>(a.input, a.size, bin_of,
                                                                  a.counts);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram global_atomic");
      return;
    }
    if constexpr (std::remove_cvref_t<decltype(bin_of)>::weighable) {
      DeviceSums<T> sums(stream, a);
      global_weigh_kernel<<<blocks, threads, 0, native(stream)>>>(a.input, a.weights, a.size,
                                                                  bin_of, sums.table());
      GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram global_atomic weights");
      sums.finish(stream, a.sums);
    }
  });
}

// --------------------------------------------------------------------------------- shared_atomic

namespace {

/// Counts of 32 bits are enough for a block's values: see `enough_blocks`.
template <class T, class Bins>
__global__ void shared_count_kernel(T const* input, std::int64_t size, Bins bin_of,
                                    std::int64_t* counts) {
  extern __shared__ unsigned own_counts[];
  for (int b = static_cast<int>(threadIdx.x); b < bin_of.count(); b += threads) own_counts[b] = 0;
  __syncthreads();
  for_own_values(size, [&](std::int64_t i) {
    int const bin = bin_of(input[i]);
    if (bin >= 0) atomicAdd(&own_counts[bin], 1u);
  });
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < bin_of.count(); b += threads)
    if (own_counts[b] != 0) add_to(counts[b], own_counts[b]);
}

template <class T, class Bins>
__global__ void shared_weigh_kernel(T const* input, T const* weights, std::int64_t size,
                                    Bins bin_of, SumTable table) {
  extern __shared__ unsigned long long own_words[];
  Fixed* const own_sums = reinterpret_cast<Fixed*>(own_words);
  for (int b = static_cast<int>(threadIdx.x); b < bin_of.count(); b += threads) own_sums[b] = {};
  __syncthreads();
  WeightScale const scale = table.scale();
  for_own_values(size, [&](std::int64_t i) {
    int const bin = bin_of(input[i]);
    if (bin >= 0) add_weight(table, scale, own_sums[bin], bin, weights[i]);
  });
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < bin_of.count(); b += threads)
    add_atomically(table.sums[b], own_sums[b]);
}

/// As many blocks as fill the GPU, and so many that none has more than 2^31 values and a few.
unsigned enough_blocks(Stream const& stream, std::int64_t size) {
  return std::max(filling_blocks(stream, size), static_cast<unsigned>((size >> 31) + 1));
}

template <class T, class Bins>
void weigh_in_shared(Stream& stream, Arguments<T> const& a, Bins const& bin_of) {
  std::size_t const bytes = static_cast<std::size_t>(a.bins) * sizeof(Fixed);
  auto const kernel = shared_weigh_kernel<T, Bins>;
  allow_shared_bytes(kernel, bytes);
  DeviceSums<T> sums(stream, a);
  kernel<<<filling_blocks(stream, a.size), threads, bytes, native(stream)>>>(
      a.input, a.weights, a.size, bin_of, sums.table());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram shared_atomic weights");
  sums.finish(stream, a.sums);
}

}  // namespace

template <class T>
void cuda_shared_atomic(Stream& stream, Arguments<T> const& a) {
  std::size_t const most = stream.device().capabilities().shared_bytes / sizeof(Fixed);
  if (a.weights != nullptr && static_cast<std::size_t>(a.bins) > most)
    throw std::invalid_argument("histogram: shared_atomic takes up to " + std::to_string(most) +
                                " bins with weights on this GPU (privatized takes more)");
  with_bins(a, [&](auto const& bin_of) {
    if (a.weights == nullptr) {
      std::size_t const bytes = static_cast<std::size_t>(a.bins) * sizeof(unsigned);
      static_assert(max_bins * sizeof(unsigned) <= 48 * 1024, "what a block has without asking");
      shared_count_kernel<<<enough_blocks(stream, a.size), threads, bytes, native(stream)>>>(
          a.input, a.size, bin_of, a.counts);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram shared_atomic");
      return;
    }
    if constexpr (std::remove_cvref_t<decltype(bin_of)>::weighable)
      weigh_in_shared(stream, a, bin_of);
  });
}

template class DeviceSums<float>;
template class DeviceSums<double>;
#define GRIDSTRIDE_INSTANTIATE(T)                                 \
  template void cuda_global_atomic(Stream&, Arguments<T> const&); \
  template void cuda_shared_atomic(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::histogram

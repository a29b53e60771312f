// The rung `cub` of the ladder in cuda.cu: cub::DeviceHistogram, which counts in 32 bits.
//
// The values are given to it in pieces whose counts fit, and each piece's counts are added to the
// 64-bit ones. Three of its ways are used: a table look-up for bytes, our formula for even bins
// (EvenBins computes what CUB does), and bisection for edges. It keeps tables of up to 256 bins in
// shared memory, larger ones in global memory.
//
// CUB leaves out the last step of our formula: where x < upper and (x − lower)·scale yet rounds to
// the number of bins, it counts beyond the table. Where a range has such values, the input passes
// through an iterator that puts one from the last bin in their place, at the price of vector loads.

#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cmath>
#include <cub/device/device_histogram.cuh>
#include <numeric>

#include "core/buffer.hpp"
#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::histogram {

namespace {

constexpr std::int64_t piece = std::int64_t{1} << 30;

__global__ void widen_kernel(unsigned const* piece_counts, int bins, std::int64_t* counts) {
  int const bin = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (bin < bins) counts[bin] += piece_counts[bin];
}

/// Counts with `count(memory, bytes, input, size, piece_counts)`, which is one of CUB's functions:
/// called without memory it tells how many bytes it needs.
template <class T, class Input, class Count>
void count_pieces(Stream& stream, Arguments<T> const& a, Input input, Count const& count) {
  Buffer<unsigned> piece_counts(stream, MemorySpace::device, static_cast<std::size_t>(a.bins));
  std::size_t bytes = 0;
  auto const size_of = [&](std::int64_t first) {
    return static_cast<int>(std::min(piece, a.size - first));
  };
  GRIDSTRIDE_CUDA(count(nullptr, bytes, input, size_of(0), piece_counts.data()));
  Buffer<unsigned char> memory(stream, MemorySpace::device, bytes);
  for (std::int64_t first = 0; first < a.size; first += piece) {
    GRIDSTRIDE_CUDA(
        count(memory.data(), bytes, input + first, size_of(first), piece_counts.data()));
    constexpr int threads = 256;
    widen_kernel<<<blocks_for(a.bins, threads), threads, 0, native(stream)>>>(piece_counts.data(),
                                                                              a.bins, a.counts);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram cub");
  }
}

/// Puts `inside`, a value of the last bin, in the place of larger ones in that bin.
template <class T>
struct KeepInside {
  T inside, upper;
  __host__ __device__ T operator()(T x) const { return x > inside && x < upper ? inside : x; }
};

template <class T>
void count_even_bins(Stream& stream, Arguments<T> const& a) {
  auto const bins = static_cast<T>(a.bins);
  T const scale = bins / (a.upper - a.lower);
  auto const place = [&](T x) { return (x - a.lower) * scale; };
  auto const count = [&](void* memory, std::size_t& bytes, auto input, int size,
                         unsigned* piece_counts) {
    return cub::DeviceHistogram::HistogramEven(memory, bytes, input, piece_counts, a.bins + 1,
                                               a.lower, a.upper, size, native(stream));
  };
  // The largest value below upper tells whether any is counted beyond the table.
  T beyond = std::nextafter(a.upper, a.lower);
  if (place(beyond) < bins) return count_pieces(stream, a, a.input, count);
  T inside = a.lower;
  while (place(inside) < bins - 1) {
    T const middle = std::midpoint(inside, beyond);
    (place(middle) < bins ? inside : beyond) = middle;
  }
  count_pieces(stream, a, thrust::make_transform_iterator(a.input, KeepInside<T>{inside, a.upper}),
               count);
}

template <class T>
void count_between_edges(Stream& stream, Arguments<T> const& a) {
  count_pieces(
      stream, a, a.input,
      [&](void* memory, std::size_t& bytes, T const* input, int size, unsigned* piece_counts) {
        return cub::DeviceHistogram::HistogramRange(memory, bytes, input, piece_counts, a.bins + 1,
                                                    a.edges, size, native(stream));
      });
}

void count_byte_values(Stream& stream, Arguments<std::uint8_t> const& a) {
  count_pieces(stream, a, a.input,
               [&](void* memory, std::size_t& bytes, std::uint8_t const* input, int size,
                   unsigned* piece_counts) {
                 return cub::DeviceHistogram::HistogramEven(memory, bytes, input, piece_counts, 257,
                                                            0, 256, size, native(stream));
               });
}

}  // namespace

template <class T>
void cuda_cub(Stream& stream, Arguments<T> const& a) {
  if constexpr (sizeof(T) == 1)
    count_byte_values(stream, a);
  else if (a.edges != nullptr)
    count_between_edges(stream, a);
  else
    count_even_bins(stream, a);
}

template void cuda_cub(Stream&, Arguments<std::uint8_t> const&);
template void cuda_cub(Stream&, Arguments<float> const&);
template void cuda_cub(Stream&, Arguments<double> const&);

}  // namespace gridstride::histogram

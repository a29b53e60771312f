// The rung `privatized` of the ladder in cuda.cu: tables in shared memory that the lanes of a warp
// hardly ever contend for.
//
// Thread-to-data: tiles of 1024 threads x 8 vectors of 16 bytes are dealt out in turn to as many
// blocks as run at the same time (support/tiles.cuh). A block has 8192 counters in shared
// memory, which hold as many copies of the table, up to 32, as they can: lane l counts in copy l
// mod copies, and the copies of a bin lie side by side. With 256 bins each lane has its own copy in
// its own memory bank: two lanes never meet in a bank, whatever the data, so that uniform, skewed
// and constant data take the same time. With one table for all, the random banks of uniform data
// cost twice the time. At the end a block adds up the copies and adds the sums to the table in
// global memory.
//
// Weights are summed in the same way, as integers of 128 bits in 2048 slots; beyond 2048 bins they
// go straight to global memory.
//
// Bytes: n·sizeof(T) read, and as much for weights. One shared atomic per value; a multiprocessor
// of an H200 does 17 of them per clock, which just keeps up with memory for data of one byte.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/histogram/tables.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/tiles.cuh"

namespace gridstride::histogram {

namespace {

constexpr int privatized_threads = 1024;
constexpr int group = 8;  // vectors that a thread loads at once
constexpr int counters = 8192;
constexpr int slots = 2048;  // of weights

/// log2 of the copies of a table that fit into `places`, at most 32.
constexpr int copies_log2(int bins, int places) {
  int log2 = 5;
  while (log2 > 0 && bins << log2 > places) --log2;
  return log2;
}

/// Where a lane counts bin `bin`.
__device__ int place_of(int bin, int log2) {
  return bin << log2 | (lane_index() & ((1 << log2) - 1));
}

/// Counts the values of a vector.
template <class Bins, class T, int width>
__device__ void count_vector(unsigned* table, Bins const& bins, int log2,
                             Vector<T, width> const& vector) {
#pragma unroll
  for (int j = 0; j < width; ++j)
    if (int const bin = bins(vector.at[j]); bin >= 0) atomicAdd(&table[place_of(bin, log2)], 1u);
}

/// Sixteen bytes, with a copy for each lane. A byte's place, (bin·32 + lane)·4 bytes into the
/// table, takes two instructions: a shift, and a logical operation that masks and adds.
__device__ void count_vector(unsigned* table, ByteBins const&, int,
                             Vector<std::uint8_t, 16> const& vector) {
  static_assert(copies_log2(256, counters) == 5);
  unsigned const lane_offset = 4 * lane_index();
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    unsigned const word = vector.at.words[j / 4];
    unsigned const shifted = j % 4 == 0 ? word << 7 : word >> (8 * (j % 4) - 7);
    unsigned const offset = (shifted & 0xff << 7) | lane_offset;
    atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(table) + offset), 1u);
  }
}

template <class Bins, class T>
__global__ void __launch_bounds__(privatized_threads)
    count_kernel(T const* input, VectorCut cut, __grid_constant__ Bins const bins, int log2,
                 std::int64_t* counts) {
  __shared__ unsigned table[counters];
  for (int place = threadIdx.x; place < counters; place += privatized_threads) table[place] = 0;
  __syncthreads();
  T const* const inputs[1] = {input};
  for_each_vector<privatized_threads, group, vector_width<T>>(
      inputs, cut, [&]<int width>(Vector<T, width> const(&v)[1], std::int64_t) {
        count_vector(table, bins, log2, v[0]);
      });
  __syncthreads();
  int const copies = 1 << log2;
  for (int bin = threadIdx.x; bin < bins.count(); bin += privatized_threads) {
    unsigned long long count = 0;
    // Each lane begins at another copy, and so in another bank.
    for (int copy = 0; copy < copies; ++copy)
      count += table[bin << log2 | ((copy + bin) & (copies - 1))];
    if (count > 0) atomicAdd(reinterpret_cast<unsigned long long*>(&counts[bin]), count);
  }
}

template <int width, class Bins, class T>
__global__ void __launch_bounds__(privatized_threads)
    weigh_kernel(T const* input, T const* weights, VectorCut cut, Bins bins, int log2,
                 SumTable result) {
  __shared__ unsigned long long words[2 * slots];
  Fixed* const table = reinterpret_cast<Fixed*>(words);
  bool const shared = bins.count() <= slots;
  WeightScale const scale = result.scale();
  for (int place = threadIdx.x; place < slots; place += privatized_threads) table[place] = {};
  __syncthreads();
  T const* const inputs[2] = {input, weights};
  for_each_vector<privatized_threads, 1, width>(
      inputs, cut, [&]<int count>(Vector<T, count> const(&v)[2], std::int64_t) {
#pragma unroll
        for (int j = 0; j < count; ++j) {
          int const bin = bins(v[0].at[j]);
          if (bin < 0) continue;
          Fixed& sum = shared ? table[place_of(bin, log2)] : result.sums[bin];
          add_weight(result, scale, sum, bin, static_cast<double>(v[1].at[j]));
        }
      });
  __syncthreads();
  if (!shared) return;
  for (int bin = threadIdx.x; bin < bins.count(); bin += privatized_threads) {
    Fixed sum;
    for (int copy = 0; copy < 1 << log2; ++copy) sum = sum + table[bin << log2 | copy];
    add_atomically(result.sums[bin], sum);
  }
}

template <class Bins, class T>
void count(Stream& stream, Arguments<T> const& arguments, Bins const& bins) {
  auto const cut = VectorCut::make(arguments.input, arguments.size, vector_width<T>);
  auto const kernel = count_kernel<Bins, T>;
  kernel<<<blocks_of_pass<privatized_threads, group>(stream, kernel, cut), privatized_threads, 0,
           native(stream)>>>(arguments.input, cut, bins, copies_log2(arguments.bins, counters),
                             arguments.counts);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram privatized");
}

template <int width, class Bins, class T>
void weigh(Stream& stream, Arguments<T> const& arguments, Bins const& bins) {
  auto const cut = VectorCut::make(arguments.input, arguments.size, width);
  auto const kernel = weigh_kernel<width, Bins, T>;
  DeviceSums<T> sums(stream, arguments);
  kernel<<<blocks_of_pass<privatized_threads, 1>(stream, kernel, cut), privatized_threads, 0,
           native(stream)>>>(arguments.input, arguments.weights, cut, bins,
                             copies_log2(arguments.bins, slots), sums.table());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "histogram privatized, weights");
  sums.finish(stream, arguments.sums);
}

}  // namespace

template <class T>
void cuda_privatized(Stream& stream, Arguments<T> const& arguments) {
  with_bins(arguments, [&]<class Bins>(Bins const& bins) {
    if (arguments.weights == nullptr) return count(stream, arguments, bins);
    if constexpr (Bins::weighable) {
      // Input and weights that are not aligned alike leave no common cut into vectors.
      if (misalignment(arguments.input) == misalignment(arguments.weights))
        weigh<vector_width<T>>(stream, arguments, bins);
      else
        weigh<1>(stream, arguments, bins);
    }
  });
}

template void cuda_privatized(Stream&, Arguments<std::uint8_t> const&);
template void cuda_privatized(Stream&, Arguments<float> const&);
template void cuda_privatized(Stream&, Arguments<double> const&);

}  // namespace gridstride::histogram

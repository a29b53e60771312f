// The rung `decoupled_lookback` of the ladder in cuda.cu: the scan in one pass, each element read
// once and written once (D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA 2016), here with an order that depends only on the size and the
// alignment, so that sums of floating point are the same in every run.
//
// Thread-to-data: a block draws the number of its tile, so that every tile before it is under way
// or done, and brings the tile to shared memory, on Hopper by one bulk copy that needs no
// registers. Each warp owns a contiguous part of the tile, in rows of 32 vectors of 16 bytes. The
// block finds its tile's aggregate and publishes it at once. Its prefix then comes from two levels:
//
//   prefix = (prefix of all earlier groups of 256 tiles) ∘ (earlier aggregates of its own group)
//
// The aggregates of a group are combined in a fixed tree, whichever of them came first; the last
// tile of a group publishes the prefix for the next group. The classical look-back stops at the
// nearest tile that happens to be done, so that the order of its sums is a matter of timing. The
// data of a group keep memory busy for about 10 µs, which is time enough for a step of the chain
// from group to group.
//
// A status is a value and a flag in one 64-bit word, or two such words for 8-byte values: it is
// valid when its own flag is set, so that no fence is needed. At last every row is scanned by
// shuffles, starting from the prefix, and written.
//
// Bytes: 2·n·sizeof(T). The roof is the copy bandwidth. What counts is bytes in flight while a
// block waits for its prefix: on an H200 three tiles of 72 KiB in each multiprocessor.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/scan/operations.hpp"
#include "kernels/scan/rows.hpp"
#include "kernels/support/bulk_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::scan {

namespace {

constexpr int threads = 384;
constexpr int warps = threads / warp_size;
/// Tiles of a group; of a piece with a carry fewer, so that pieces need not be long.
constexpr int most_group_log2 = 8, carried_group_log2 = 5;

/// How a tile comes to shared memory.
enum class Loading {
  elements,  // one by one: input and output of any alignment
  vectors,
  bulk,  // by one asynchronous copy (compute capability 9.0)
};

template <Loading loading>
constexpr int tile_bytes = (loading == Loading::bulk ? 72 : 48) * 1024;

/// Blocks that share a multiprocessor. Those with bulk copies run from compute capability 9.0 on;
/// a multiprocessor of older GPUs may not even have the threads for three.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <Loading loading>
constexpr int least_blocks = loading == Loading::bulk ? 3 : 1;
#else
template <Loading loading>
constexpr int least_blocks = 1;
#endif

// ---------------------------------------------------------------------------------------- status

/// Words of a status.
template <class T>
constexpr int status_words = sizeof(T) / 4;

/// The statuses of a scan in device memory, all zero before it begins.
struct Status {
  unsigned long long* tiles;   // aggregates
  unsigned long long* groups;  // inclusive prefixes
  unsigned* drawn;             // tile numbers given out
  int group_log2;              // of the tiles of a group
};

template <class T>
__device__ void publish(unsigned long long* statuses, std::int64_t index, T value) {
  constexpr int words = status_words<T>;
  unsigned halves[words];
  memcpy(halves, &value, sizeof value);
  for (int w = 0; w < words; ++w) {
    unsigned long long const word = 1ull << 32 | halves[w];
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(statuses + index * words + w),
                 "l"(word)
                 : "memory");
  }
}

/// Waits until the status is published.
template <class T>
__device__ T await(unsigned long long const* statuses, std::int64_t index) {
  constexpr int words = status_words<T>;
  unsigned halves[words];
  bool published = false;
  while (!published) {
    published = true;
    for (int w = 0; w < words; ++w) {
      unsigned long long word;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                   : "=l"(word)
                   : "l"(statuses + index * words + w)
                   : "memory");
      halves[w] = static_cast<unsigned>(word);
      published = published && word >> 32 != 0;
    }
  }
  T value;
  memcpy(&value, halves, sizeof value);
  return value;
}

/// For the first warp of a block: publishes the tile's aggregate and returns the prefix before it.
template <class Operation, class T>
__device__ T exchange_prefix(Status const& status, std::int64_t tile, T aggregate,
                             Carry<T> const& carry) {
  constexpr int rounds = (1 << most_group_log2) / warp_size;
  int const lane = lane_index();
  std::int64_t const group = tile >> status.group_log2, first = group << status.group_log2;
  int const before = static_cast<int>(tile - first);
  if (lane == 0) publish(status.tiles, tile, aggregate);
  T prefix = Operation::identity();
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    if (round * warp_size >= before) continue;
    if (int const other = round * warp_size + lane; other < before)
      prefix = Operation::combine(prefix, await<T>(status.tiles, first + other));
  }
  prefix = warp_reduce(prefix, Operation::combine);
  if (group > 0)
    prefix = Operation::combine(await<T>(status.groups, group - 1), prefix);
  else if (carry.before != nullptr)
    prefix = Operation::combine(*carry.before, prefix);
  if (before == (1 << status.group_log2) - 1 && lane == 0)
    publish(status.groups, group, Operation::combine(prefix, aggregate));
  if (carry.with != nullptr && tile == gridDim.x - 1 && lane == 0)
    *carry.with = Operation::combine(prefix, aggregate);
  return prefix;
}

// ------------------------------------------------------------------------------------- bulk copy

/// Begins to copy a tile to shared memory; `barrier` is new, and its first phase ends with the copy.
__device__ void begin_tile([[maybe_unused]] void* target, [[maybe_unused]] void const* source,
                           [[maybe_unused]] int bytes,
                           [[maybe_unused]] unsigned long long* barrier) {
#if __CUDA_ARCH__ >= 900
  unsigned const address = shared_address(barrier);
  barrier_init(address, 1);
  publish_to_copies();
  barrier_arrive_expecting(address, bytes);
  begin_bulk_copy(target, source, bytes, address);
#endif
}

__device__ void await_tile([[maybe_unused]] unsigned long long* barrier) {
#if __CUDA_ARCH__ >= 900
  barrier_wait(shared_address(barrier), 0);
#endif
}

// ------------------------------------------------------------------------------------------ scan

/// The elements of a vector combined in order.
template <class Operation, class T, int width>
__device__ T combined(Vector<T, width> const& vector) {
  T value = vector.at[0];
#pragma unroll
  for (int j = 1; j < width; ++j) value = Operation::combine(value, vector.at[j]);
  return value;
}

/// Brings a warp's rows to shared memory. `rest` is how many of their elements exist; the others
/// become the identity.
template <class Operation, bool whole, int width, int rows, class T>
__device__ void bring_rows(T* shared, T const* input, std::int64_t rest) {
#pragma unroll(width == 1 ? 8 : rows)
  for (int row = 0; row < rows; ++row) {
    int const at = (row * warp_size + lane_index()) * width;
    Vector<T, width> vector;
    if (whole || at + width <= rest) {
      vector = load_once<width>(input + at);
    } else {
      for (int j = 0; j < width; ++j)
        vector.at[j] = at + j < rest ? input[at + j] : Operation::identity();
    }
    *reinterpret_cast<Vector<T, width>*>(shared + at) = vector;
  }
}

/// Scans a warp's rows of shared memory from `prefix` on and writes those of their elements that
/// exist.
template <class Operation, bool inclusive, bool whole, int width, int rows, class T>
__device__ void scan_rows(T const* shared, T* output, std::int64_t rest, T prefix) {
  int const lane = lane_index();
#pragma unroll(width == 1 ? 4 : rows)
  for (int row = 0; row < rows; ++row) {
    int const at = (row * warp_size + lane) * width;
    auto const vector = *reinterpret_cast<Vector<T, width> const*>(shared + at);
    T const upto = warp_inclusive_scan(combined<Operation>(vector), Operation::combine);
    T running = shuffle_up(upto, 1);
    running = lane == 0 ? prefix : Operation::combine(prefix, running);
    Vector<T, width> result;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      T const next = Operation::combine(running, vector.at[j]);
      result.at[j] = inclusive ? next : running;
      running = next;
    }
    prefix = Operation::combine(prefix, shuffle(upto, warp_size - 1));
    if (whole || at + width <= rest) {
      store_once(output + at, result);
    } else {
      for (int j = 0; at + j < rest; ++j) output[at + j] = result.at[j];
    }
  }
}

template <Loading loading, class Operation, bool inclusive, class T>
__global__ void __launch_bounds__(threads, least_blocks<loading>)
    lookback_kernel(T const* input, T* output, std::int64_t size, Status status, Carry<T> carry) {
  constexpr int tile_size = tile_bytes<loading> / static_cast<int>(sizeof(T));
  constexpr int width = loading == Loading::elements ? 1 : vector_width<T>;
  constexpr int rows = tile_size / (threads * width);
  constexpr int warp_part = tile_size / warps;
  static_assert(rows * threads * width == tile_size);
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ unsigned drawn;
  __shared__ unsigned long long barrier;
  __shared__ T parts[warps];  // the aggregates of the warps, then their prefixes
  T* const tile_values = reinterpret_cast<T*>(memory);

  if (threadIdx.x == 0) {
    drawn = atomicAdd(status.drawn, 1u);
    std::int64_t const first = std::int64_t{drawn} * tile_size;
    if (loading == Loading::bulk && first + tile_size <= size)
      begin_tile(tile_values, input + first, tile_bytes<loading>, &barrier);
  }
  __syncthreads();
  // Each warp works on its own part of the tile.
  std::int64_t const tile = drawn, first = tile * tile_size + warp_index() * warp_part;
  std::int64_t const rest = size - first;
  T* const part = tile_values + warp_index() * warp_part;
  bool const whole = (tile + 1) * tile_size <= size;
  if (loading == Loading::bulk && whole) {
    await_tile(&barrier);
  } else {
    if (loading != Loading::bulk && whole)
      bring_rows<Operation, true, width, rows>(part, input + first, rest);
    else
      bring_rows<Operation, false, width, rows>(part, input + first, rest);
    __syncwarp();
  }

  T aggregate = Operation::identity();
#pragma unroll(width == 1 ? 8 : rows)
  for (int row = 0; row < rows; ++row)
    aggregate = Operation::combine(aggregate,
                                   combined<Operation>(*reinterpret_cast<Vector<T, width> const*>(
                                       part + (row * warp_size + lane_index()) * width)));
  aggregate = warp_reduce(aggregate, Operation::combine);
  if (lane_index() == 0) parts[warp_index()] = aggregate;
  __syncthreads();
  if (warp_index() == 0) {
    int const lane = lane_index();
    T const upto =
        warp_inclusive_scan(lane < warps ? parts[lane] : Operation::identity(), Operation::combine);
    T const prefix = exchange_prefix<Operation>(status, tile, shuffle(upto, warps - 1), carry);
    T const lower = shuffle_up(upto, 1);
    if (lane < warps) parts[lane] = lane == 0 ? prefix : Operation::combine(prefix, lower);
  }
  __syncthreads();
  if (whole)
    scan_rows<Operation, inclusive, true, width, rows>(part, output + first, rest,
                                                       parts[warp_index()]);
  else
    scan_rows<Operation, inclusive, false, width, rows>(part, output + first, rest,
                                                        parts[warp_index()]);
}

template <Loading loading, class T>
void launch(Stream& stream, Arguments<T> const& arguments) {
  constexpr int tile_size = tile_bytes<loading> / static_cast<int>(sizeof(T));
  unsigned const tiles = blocks_for(arguments.size, tile_size);
  std::size_t const tile_words = std::size_t{tiles} * status_words<T>;
  bool const carries = arguments.carry.with != nullptr;
  int const group_log2 = carries ? carried_group_log2 : most_group_log2;
  std::size_t const group_words = blocks_for(tiles, 1 << group_log2) * std::size_t{status_words<T>};
  Buffer<unsigned long long> memory(stream, MemorySpace::device, tile_words + group_words + 1);
  zero_async(memory.span(), stream);
  auto* const words = memory.data();
  Status const status{words, words + tile_words,
                      reinterpret_cast<unsigned*>(words + tile_words + group_words), group_log2};
  with_operation(arguments, [&]<class Operation, class Inclusive>(Operation, Inclusive) {
    auto const kernel = lookback_kernel<loading, Operation, Inclusive::value, T>;
    GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         tile_bytes<loading>));
    kernel<<<tiles, threads, tile_bytes<loading>, native(stream)>>>(
        arguments.input, arguments.output, arguments.size, status, arguments.carry);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "scan decoupled_lookback");
  });
}

}  // namespace

template <class T>
void cuda_decoupled_lookback(Stream& stream, Arguments<T> const& arguments) {
  if (misalignment(arguments.input) != 0 || misalignment(arguments.output) != 0)
    launch<Loading::elements>(stream, arguments);
  else if (stream.device().capabilities().bulk_copies)
    launch<Loading::bulk>(stream, arguments);
  else
    launch<Loading::vectors>(stream, arguments);
}

template <class T>
std::int64_t cuda_carried_multiple(Device const& device) {
  int const bytes =
      device.capabilities().bulk_copies ? tile_bytes<Loading::bulk> : tile_bytes<Loading::vectors>;
  return (std::int64_t{bytes} << carried_group_log2) / std::int64_t{sizeof(T)};
}

template std::int64_t cuda_carried_multiple<std::int32_t>(Device const&);
template std::int64_t cuda_carried_multiple<std::int64_t>(Device const&);
template std::int64_t cuda_carried_multiple<float>(Device const&);
template std::int64_t cuda_carried_multiple<double>(Device const&);
template void cuda_decoupled_lookback(Stream&, Arguments<std::int32_t> const&);
template void cuda_decoupled_lookback(Stream&, Arguments<std::int64_t> const&);
template void cuda_decoupled_lookback(Stream&, Arguments<float> const&);
template void cuda_decoupled_lookback(Stream&, Arguments<double> const&);

}  // namespace gridstride::scan

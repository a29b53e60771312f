// The rung `quicksort_dynamic` of the ladder in cuda.cu: quicksort by dynamic parallelism.
//
// Thread-to-data: a block has a range. It partitions it into keys below, equal to and above a
// pivot, and launches a kernel of one block for the lower and one for the upper part, into the
// stream of launches that nobody waits for; the kernel that the host launched ends when all have.
// So one block works on all keys, then two on halves of them, and so on. The equal keys are done,
// which makes constant input linear. A range of up to 2048 is sorted in shared memory.
//
// Partitioning reads the range twice, first to count, and writes it once, to a second array: what
// comes from there goes back to the first. A thread takes four keys at a time; ballots within its
// warp and a scan over the warps tell where they belong, so that neighbouring threads mostly write
// to neighbouring places. The pivot is the median of 32 keys, at places that a hash scatters.
//
// A block that may not or cannot launch a kernel for a part keeps the part on a stack and
// partitions it itself: where parts are small; at a depth of 20 launches, as the device runtime
// nests at most 24; and when a launch is refused, as those beyond 2048 under way at a time are. So
// no input exhausts it; input made to defeat the hash can only slow it down. The sequence of
// partitions depends on the keys alone, not on which block makes them: the same input gives the
// same bits.

#include <cuda_runtime.h>

#include <stdexcept>

#include "core/buffer.hpp"
#include "kernels/sort/rows.hpp"
#include "kernels/sort/tile.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sort {

namespace {

constexpr int threads = 1024;
constexpr int warps = threads / warp_size;
constexpr int keys_per_thread = 4;
constexpr int greatest_depth = 20;
/// Parts up to this size stay with their block.
constexpr std::int64_t smallest_launch = 4 * tile_size;
/// Of two parts the smaller one is sorted first, so the k-th on the stack from above has at least
/// 2^k keys.
constexpr int stack_size = 64;

/// Keys that are to be sorted, in the second array or where they have to end.
struct Range {
  std::int64_t first, size;
  bool in_scratch;
};

template <class T>
struct Work {
  Arrays<T> result, scratch;
};

template <class T>
__device__ Arrays<T> part(Arrays<T> const& arrays, std::int64_t first) {
  return {arrays.keys + first, arrays.values == nullptr ? nullptr : arrays.values + first};
}

/// The median of 32 keys, the same in every warp: one from each of 32 equal parts of the range, at
/// a place in it that a hash of the range gives.
template <class T>
__device__ Ordered<T> choose_pivot(T const* keys, std::int64_t size) {
  std::int64_t const stratum = size / warp_size;
  unsigned long long hash = static_cast<unsigned long long>(size) * warp_size + lane_index();
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;  // the finalizer of MurmurHash3
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
  hash ^= hash >> 33;
  auto const offset = static_cast<std::int64_t>(hash % static_cast<unsigned long long>(stratum));
  Ordered<T> const sample = to_ordered(keys[lane_index() * stratum + offset]);
  int rank = 0;
  for (int lane = 0; lane < warp_size; ++lane) {
    Ordered<T> const other = shuffle(sample, lane);
    if (other < sample || (other == sample && lane < lane_index())) ++rank;
  }
  unsigned const median = __ballot_sync(whole_warp, rank == warp_size / 2);
  return shuffle(sample, __ffs(static_cast<int>(median)) - 1);
}

/// How many keys come before, with and after a pivot; or where the next of each goes.
struct Split {
  std::int64_t below, equal, above;
};

struct AddSplits {
  __device__ Split operator()(Split const& a, Split const& b) const {
    return {a.below + b.below, a.equal + b.equal, a.above + b.above};
  }
};

template <class T>
__device__ Split count_sides(T const* keys, std::int64_t size, Ordered<T> pivot,
                             Split (&shared)[warps]) {
  Split own = {0, 0, 0};
  for (std::int64_t i = threadIdx.x; i < size; i += threads) {
    Ordered<T> const key = to_ordered(keys[i]);
    if (key < pivot)
      ++own.below;
    else if (key == pivot)
      ++own.equal;
    else
      ++own.above;
  }
  return block_reduce<threads>(own, AddSplits{}, shared);
}

/// Copies the keys to `target`: those below the pivot, those equal to it, those above it.
template <class T, bool with_values>
__device__ void scatter(Arrays<T> source, Arrays<T> target, std::int64_t size, Ordered<T> pivot,
                        Split const& sides, Split (&shared)[warps]) {
  Split next = {0, sides.below, sides.below + sides.equal};
  for (std::int64_t start = 0; start < size; start += threads * keys_per_thread) {
    T keys[keys_per_thread];
    std::uint32_t values[keys_per_thread];
    unsigned below[keys_per_thread], equal[keys_per_thread], above[keys_per_thread];
    Split own = {0, 0, 0};  // of the warp
    for (int k = 0; k < keys_per_thread; ++k) {
      std::int64_t const i = start + k * threads + static_cast<int>(threadIdx.x);
      bool const exists = i < size;
      keys[k] = exists ? source.keys[i] : T{0};
      if constexpr (with_values) values[k] = exists ? source.values[i] : 0;
      Ordered<T> const key = to_ordered(keys[k]);
      below[k] = __ballot_sync(whole_warp, exists && key < pivot);
      equal[k] = __ballot_sync(whole_warp, exists && key == pivot);
      above[k] = __ballot_sync(whole_warp, exists && key > pivot);
      own.below += __popc(below[k]);
      own.equal += __popc(equal[k]);
      own.above += __popc(above[k]);
    }
    // Only the first lane's counts go into the scan, so that its result is that of the warps
    // before.
    Split total;
    Split const mine = lane_index() == 0 ? own : Split{0, 0, 0};
    Split place = block_exclusive_scan<threads>(mine, Split{0, 0, 0}, AddSplits{}, shared, total);
    place = AddSplits{}(next, shuffle(place, 0));
    next = AddSplits{}(next, total);
    unsigned const lower_lanes = (1u << lane_index()) - 1;
    for (int k = 0; k < keys_per_thread; ++k) {
      auto const put = [&](unsigned lanes, std::int64_t& first) {
        if ((lanes >> lane_index() & 1) != 0) {
          std::int64_t const at = first + __popc(lanes & lower_lanes);
          target.keys[at] = keys[k];
          if constexpr (with_values) target.values[at] = values[k];
        }
        first += __popc(lanes);
      };
      put(below[k], place.below);
      put(equal[k], place.equal);
      put(above[k], place.above);
    }
  }
}

template <class T, bool with_values>
__global__ void __launch_bounds__(threads) quicksort_kernel(Work<T> work, Range whole, int depth) {
  __shared__ Tile<T, with_values> tile;
  __shared__ Split shared[warps];
  __shared__ Range stack[stack_size];
  __shared__ int height;
  if (threadIdx.x == 0) {
    stack[0] = whole;
    height = 1;
  }
  __syncthreads();
  while (height > 0) {
    Range const range = stack[height - 1];
    Arrays<T> const result = part(work.result, range.first);
    Arrays<T> const scratch = part(work.scratch, range.first);
    Arrays<T> const source = range.in_scratch ? scratch : result;
    if (range.size <= tile_size) {
      int const count = static_cast<int>(range.size);
      tile.template load<threads>(source, count);
      tile.template sort<threads>(count);
      tile.template store<threads>(result, count);
      if (threadIdx.x == 0) --height;
      __syncthreads();
      continue;
    }

    Arrays<T> const target = range.in_scratch ? result : scratch;
    Ordered<T> const pivot = choose_pivot(source.keys, range.size);
    Split const sides = count_sides(source.keys, range.size, pivot, shared);
    scatter<T, with_values>(source, target, range.size, pivot, sides, shared);
    __syncthreads();
    if (!range.in_scratch)
      for (std::int64_t i = sides.below + threadIdx.x; i < sides.below + sides.equal;
           i += threads) {
        result.keys[i] = target.keys[i];
        if constexpr (with_values) result.values[i] = target.values[i];
      }
    __syncthreads();

    if (threadIdx.x == 0) {
      --height;
      Range const lower = {range.first, sides.below, !range.in_scratch};
      Range const upper = {range.first + range.size - sides.above, sides.above, !range.in_scratch};
      bool const lower_last = lower.size < upper.size;
      for (Range const& next : {lower_last ? upper : lower, lower_last ? lower : upper}) {
        if (next.size == 0) continue;
        bool launched = false;
        if (next.size > smallest_launch && depth < greatest_depth) {
          quicksort_kernel<T, with_values>
              <<<1, threads, 0, cudaStreamFireAndForget>>>(work, next, depth + 1);
          launched = cudaGetLastError() == cudaSuccess;
        }
        if (!launched) stack[height++] = next;
      }
    }
    __syncthreads();
  }
}

}  // namespace

template <class T>
void cuda_quicksort_dynamic(Stream& stream, Arguments<T> const& a) {
  // A graph does not wait for the kernels that its own launch.
  if (is_capturing(stream))
    throw std::invalid_argument("sort: quicksort_dynamic cannot be captured in a graph");
  auto const size = static_cast<std::size_t>(a.size);
  Buffer<T> keys(stream, MemorySpace::device, size);
  Buffer<std::uint32_t> values(stream, MemorySpace::device, a.values == nullptr ? 0 : size);
  Work<T> const work = {{a.keys, a.values}, {keys.data(), values.data()}};
  with_values(a.values != nullptr, [&](auto has_values) {
    quicksort_kernel<T, has_values()>
        <<<1, threads, 0, native(stream)>>>(work, Range{0, a.size, false}, 0);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "sort quicksort_dynamic");
  });
}

template void cuda_quicksort_dynamic(Stream&, Arguments<std::int32_t> const&);
template void cuda_quicksort_dynamic(Stream&, Arguments<std::int64_t> const&);
template void cuda_quicksort_dynamic(Stream&, Arguments<float> const&);
template void cuda_quicksort_dynamic(Stream&, Arguments<double> const&);

}  // namespace gridstride::sort

// Scans on the GPU, as a ladder: hillis_steele_global, hillis_steele, blelloch and blelloch_padded
// in this file, reduce_then_scan, decoupled_lookback and cub in files of their own.
//
// A scan has to read every element and write every result, so its roof is the copy bandwidth: 2s
// bytes an element, where s is sizeof(T). What separates the rungs is how often the elements cross
// the memory bus, and how many additions they take.
//
// hillis_steele_global: a thread an element, log2 n launches. Launch k adds the element 2^k places
// back, so that each then holds the combination of 2^(k+1). Two arrays take turns, for others still
// read what a thread would overwrite. 2s·log2 n bytes an element (the second read is a cache hit),
// 20 times a copy's for a million elements; n·log2 n additions. W. D. Hillis and G. L. Steele,
// "Data parallel algorithms", Communications of the ACM 29 (1986).
//
// hillis_steele: the passes of a tile of 512 elements take place in shared memory, still a thread
// an element. A tile's total goes to an array, which is scanned in the same way, its own totals in
// turn, and what comes before a tile is added to each of its results. 4s bytes an element: the tile
// in and out, and all results once more for the addition.
//
// blelloch: two elements a thread, and a binary tree over the tile in shared memory. Sums go up to
// the root; then the root becomes the identity, and on the way down a left child gets what its
// parent has, a right child that with the left one's sum. 2n additions in place of n·log2 n; 4s
// bytes. G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190 (1990).
//
// blelloch_padded: at level k of the tree neighbouring threads are 2^(k+1) elements apart, so that
// up to 32 of them meet in one bank of shared memory and take turns. Gaps put them in different
// banks. M. Harris, S. Sengupta and J. D. Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3
// (2007).
//
// reduce_then_scan: a fixed number of blocks, each with a long piece. The pieces' totals are found
// by reading alone, then each piece is scanned with what is before it: 3s bytes. Shuffles in place
// of trees in shared memory, vectors of 16 bytes. In cuda_reduce_then_scan.cu.
//
// decoupled_lookback: one pass, 2s bytes. In cuda_lookback.cu.
//
// cub: NVIDIA's library, to compare with. In cuda_cub.cu.
//
// Every rung combines neighbours in their order, and works in place: a thread writes only the
// elements that it has read itself, or to another array.

#include <cuda_runtime_api.h>

#include "core/buffer.hpp"
#include "kernels/scan/operations.hpp"
#include "kernels/scan/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::scan {

namespace {

// ------------------------------------------------------------------------- hillis_steele_global

constexpr int pass_threads = 256;

/// `shifted`: the elements are the identity, x_0, x_1, …, whose inclusive scan is the exclusive one
/// of x.
template <class Op, bool shifted, class T>
__global__ void pass_kernel(T const* input, T* output, std::int64_t size, std::int64_t distance) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * pass_threads + threadIdx.x;
  if (i >= size) return;
  auto const element = [&](std::int64_t j) {
    if constexpr (shifted)
      return j > 0 ? input[j - 1] : Op::identity();
    else
      return input[j];
  };
  T value = element(i);
  if (i >= distance) value = Op::combine(element(i - distance), value);
  output[i] = value;
}

// --------------------------------------------------------- tiles, their totals, and the addition

/// Scans each tile of the input by itself, a block a tile; with `totals`, stores what the tiles'
/// elements combine to.
template <class T>
using TileKernel = void (*)(T const* input, T* output, T* totals, std::int64_t size);

/// A rung's kernel for the scan asked for, and for the exclusive one of the totals.
template <class T>
struct TileScan {
  char const* name;
  TileKernel<T> scan, scan_exclusive;
  int threads, tile;
};

/// Puts what comes before a tile before each of its results.
template <class Op, class T>
__global__ void add_kernel(T const* before, T* output, std::int64_t size, int tile) {
  T const offset = before[blockIdx.x];
  std::int64_t const begin = static_cast<std::int64_t>(blockIdx.x) * tile;
  for (int k = threadIdx.x; k < tile && begin + k < size; k += blockDim.x)
    output[begin + k] = Op::combine(offset, output[begin + k]);
}

template <class Op, class T>
void scan_tiles(Stream& stream, TileScan<T> const& rung, T const* input, T* output,
                std::int64_t size) {
  unsigned const tiles = blocks_for(size, rung.tile);
  Buffer<T> totals(stream, MemorySpace::device, tiles > 1 ? tiles : 0);
  rung.scan<<<tiles, rung.threads, 0, native(stream)>>>(input, output, totals.data(), size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, rung.name);
  if (tiles == 1) return;
  TileScan<T> of_totals = rung;
  of_totals.scan = rung.scan_exclusive;
  scan_tiles<Op>(stream, of_totals, totals.data(), totals.data(), tiles);
  add_kernel<Op>
      <<<tiles, rung.threads, 0, native(stream)>>>(totals.data(), output, size, rung.tile);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "scan: what comes before a tile");
}

// -------------------------------------------------------------------------------- hillis_steele

constexpr int steele_threads = 512;

template <class Op, bool inclusive, class T>
__global__ void hillis_steele_kernel(T const* input, T* output, T* totals, std::int64_t size) {
  __shared__ T values[2][steele_threads];
  int const t = threadIdx.x;
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * steele_threads + t;
  int now = 0;
  values[now][t] = i < size ? input[i] : Op::identity();
  for (int distance = 1; distance < steele_threads; distance *= 2) {
    __syncthreads();
    T value = values[now][t];
    if (t >= distance) value = Op::combine(values[now][t - distance], value);
    now = 1 - now;
    values[now][t] = value;
  }
  __syncthreads();
  T const before = t > 0 ? values[now][t - 1] : Op::identity();
  if (i < size) output[i] = inclusive ? values[now][t] : before;
  if (totals != nullptr && t == steele_threads - 1) totals[blockIdx.x] = values[now][t];
}

// ------------------------------------------------------------------- blelloch, blelloch_padded

constexpr int tree_threads = 512, tree_tile = 2 * tree_threads;

/// Where element i of the tree lies. A bank is 4 bytes wide and there are 32; elements of 8 bytes
/// are fetched by half a warp at a time, as from 16 banks of 8 bytes. Gaps after every row of
/// banks, and after every row of rows for the levels near the root.
template <bool padded, class T>
GRIDSTRIDE_HOST_DEVICE constexpr int place(int i) {
  constexpr int banks = 128 / sizeof(T);
  return padded ? i + i / banks + i / (banks * banks) : i;
}

template <class Op, bool inclusive, bool padded, class T>
__global__ void blelloch_kernel(T const* input, T* output, T* totals, std::int64_t size) {
  __shared__ T tree[place<padded, T>(tree_tile - 1) + 1];
  auto const node = [&](int i) -> T& { return tree[place<padded, T>(i)]; };
  int const t = threadIdx.x;
  std::int64_t const begin = static_cast<std::int64_t>(blockIdx.x) * tree_tile;
  T own[2];
  for (int k = 0; k < 2; ++k) {
    int const e = t + k * tree_threads;
    own[k] = begin + e < size ? input[begin + e] : Op::identity();
    node(e) = own[k];
  }

  // A node lies where its rightmost element was; `stride` elements are below each child.
  int stride = 1;
  for (int active = tree_threads; active > 0; active /= 2, stride *= 2) {
    __syncthreads();
    if (t >= active) continue;
    int const left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
    node(right) = Op::combine(node(left), node(right));
  }
  if (t == 0) {
    if (totals != nullptr) totals[blockIdx.x] = node(tree_tile - 1);
    node(tree_tile - 1) = Op::identity();
  }
  for (int active = 1; active <= tree_threads; active *= 2) {
    stride /= 2;
    __syncthreads();
    if (t >= active) continue;
    int const left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
    T const before = node(right);
    node(right) = Op::combine(before, node(left));
    node(left) = before;
  }
  __syncthreads();

  for (int k = 0; k < 2; ++k) {
    int const e = t + k * tree_threads;
    if (begin + e >= size) continue;
    output[begin + e] = inclusive ? Op::combine(node(e), own[k]) : node(e);
  }
}

template <bool padded, class T>
void scan_trees(Stream& stream, Arguments<T> const& arguments, char const* name) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    using Op = decltype(operation);
    TileScan<T> const rung{name, blelloch_kernel<Op, inclusive(), padded, T>,
                           blelloch_kernel<Op, false, padded, T>, tree_threads, tree_tile};
    scan_tiles<Op>(stream, rung, arguments.input, arguments.output, arguments.size);
  });
}

}  // namespace

template <class T>
void cuda_hillis_steele_global(Stream& stream, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    using Op = decltype(operation);
    auto const [_, kind, input, output, size, none] = arguments;
    int passes = 1;
    while ((std::int64_t{1} << passes) < size) ++passes;
    auto const elements = static_cast<std::size_t>(size);
    Buffer<T> scratch(stream, MemorySpace::device, elements);
    // The passes write to scratch and output in turns, the last one to output, and none to the
    // array that it reads.
    T const* source = input;
    if (passes % 2 == 1 && input == output) {
      copy_async(scratch.span(), std::span(input, elements), stream);
      source = scratch.data();
    }
    for (int pass = 0; pass < passes; ++pass) {
      T* const target = (passes - pass) % 2 == 1 ? output : scratch.data();
      auto const kernel =
          pass == 0 && !inclusive() ? pass_kernel<Op, true, T> : pass_kernel<Op, false, T>;
      kernel<<<blocks_for(size, pass_threads), pass_threads, 0, native(stream)>>>(
          source, target, size, std::int64_t{1} << pass);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "scan hillis_steele_global");
      source = target;
    }
  });
}

template <class T>
void cuda_hillis_steele(Stream& stream, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    using Op = decltype(operation);
    TileScan<T> const rung{"scan hillis_steele", hillis_steele_kernel<Op, inclusive(), T>,
                           hillis_steele_kernel<Op, false, T>, steele_threads, steele_threads};
    scan_tiles<Op>(stream, rung, arguments.input, arguments.output, arguments.size);
  });
}

template <class T>
void cuda_blelloch(Stream& stream, Arguments<T> const& arguments) {
  scan_trees<false>(stream, arguments, "scan blelloch");
}

template <class T>
void cuda_blelloch_padded(Stream& stream, Arguments<T> const& arguments) {
  scan_trees<true>(stream, arguments, "scan blelloch_padded");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                        \
  template void cuda_hillis_steele_global(Stream&, Arguments<T> const&); \
  template void cuda_hillis_steele(Stream&, Arguments<T> const&);        \
  template void cuda_blelloch(Stream&, Arguments<T> const&);             \
  template void cuda_blelloch_padded(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::scan

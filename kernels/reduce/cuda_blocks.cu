// The rung `blocks` of the ladder in cuda.cu: sums in the order of the host's `threads`, with its bits. They
// are those of any GPU, and of any part of an array that begins with a block of 65,536 elements, so that
// processes that have parts find what one finds that has all. Compiled without fused operations, since the
// host has none.
//
// Thread-to-data: of moments a block of threads takes a block of elements, each of its warps a piece of 8192,
// whose element i is lane i mod 32's: a warp reads 32 neighbours at a time, and 16 times 32 are under way
// (pieces.hpp). Of other operations, which have no pieces, a warp takes a block of elements. Lanes are
// combined as a tree, pieces and then blocks one after the other: of moments a block of threads has many
// blocks in shared memory, and a warp for each of the numbers goes through them.
//
// Bytes: n·sizeof(T), and two times a result for each 65,536 elements.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/buffer.hpp"
#include "kernels/reduce/operations.hpp"
#include "kernels/reduce/pieces.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::reduce {

namespace {

constexpr int threads = 256, warps = threads / warp_size;
static_assert(lanes == warp_size && warps * piece_elements == host_block);

/// The host's tree: the upper half of the lanes onto the lower.
template <class V, class Combine>
__device__ V combine_lanes(V value, Combine const& combine) {
#pragma unroll
  for (int half = lanes / 2; half > 0; half /= 2) combine(value, shuffle_down(value, half));
  return value;
}

// -------------------------------------------------------------------------------------- moments

/// Of a warp's piece, in lane 0.
template <class T, class Source>
__device__ Moments<T> piece_moments(Source const& x, std::int64_t begin, int size,
                                    std::int64_t offset) {
  auto const found = combine_lanes(lane_moments<T>(x, begin, size, lane_index()),
                                   [](auto& v, auto const& w) { v.combine(w); });
  Moments<T> piece{found.minimum, found.maximum, found.sum, found.sum_of_squares, no_index};
  bool const looks = shuffle(is_finite(found.sum_of_squares) ? 0 : 1, 0) != 0;
  if (!looks) return piece;
  auto const first = combine_lanes(first_bad_of_lane<T>(x, begin, size, lane_index()),
                                   [](std::int64_t& v, std::int64_t w) { v = w < v ? w : v; });
  if (first != no_index) piece.first_non_finite = offset + begin + first;
  return piece;
}

template <class T, class Source>
__global__ void __launch_bounds__(threads)
    moments_kernel(__grid_constant__ Source const x, std::int64_t size, std::int64_t offset,
                   Moments<T>* blocks) {
  __shared__ Moments<T> pieces[warps];
  std::int64_t const first = blockIdx.x * host_block, begin = first + warp_index() * piece_elements;
  std::int64_t const left = size - begin;
  if (left > 0) {
    auto const piece = piece_moments<T>(
        x, begin, static_cast<int>(left < piece_elements ? left : piece_elements), offset);
    if (lane_index() == 0) pieces[warp_index()] = piece;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  auto result = MomentsOperation<T>::identity();
  for (int piece = 0; piece < warps && first + piece * piece_elements < size; ++piece)
    MomentsOperation<T>::combine(result, pieces[piece]);
  blocks[blockIdx.x] = result;
}

constexpr int at_once = 1024;  // blocks in shared memory

/// The numbers that blocks are combined for, each by a warp of its own.
enum Member { of_sum, of_squares, of_extremes, of_first, members };

template <int member, class T>
__device__ void take_member(Moments<T>& v, Moments<T> const* blocks, int count) {
#pragma unroll 8
  for (int k = 0; k < count; ++k) {
    Moments<T> const& w = blocks[k];
    if constexpr (member == of_sum) SumOperation<T>::combine(v.sum, w.sum);
    if constexpr (member == of_squares)
      SquaresOperation<T>::combine(v.sum_of_squares, w.sum_of_squares);
    if constexpr (member == of_extremes) {
      if (w.minimum < v.minimum) v.minimum = w.minimum;
      if (v.maximum < w.maximum) v.maximum = w.maximum;
    }
    if constexpr (member == of_first)
      if (w.first_non_finite < v.first_non_finite) v.first_non_finite = w.first_non_finite;
  }
}

/// By the first lane of each warp.
template <class T>
__device__ void take_members(Moments<T>& v, Moments<T> const* blocks, int count) {
  if (lane_index() != 0) return;
  switch (warp_index()) {
    case of_sum:
      return take_member<of_sum>(v, blocks, count);
    case of_squares:
      return take_member<of_squares>(v, blocks, count);
    case of_extremes:
      return take_member<of_extremes>(v, blocks, count);
    case of_first:
      return take_member<of_first>(v, blocks, count);
    default:
      return;
  }
}

template <class T>
__global__ void __launch_bounds__(threads)
    combine_moments_kernel(Moments<T> const* blocks, std::int64_t count, Moments<T>* result) {
  __shared__ Moments<T> shared[at_once];
  auto value = MomentsOperation<T>::identity();
  for (std::int64_t first = 0; first < count; first += at_once) {
    int const some = static_cast<int>(count - first < at_once ? count - first : at_once);
    for (int k = static_cast<int>(threadIdx.x); k < some; k += threads)
      shared[k] = blocks[first + k];
    __syncthreads();
    take_members(value, shared, some);
    __syncthreads();
  }
  if (lane_index() == 0 && warp_index() < members) shared[warp_index()] = value;
  __syncthreads();
  if (threadIdx.x != 0) return;
  value.sum_of_squares = shared[of_squares].sum_of_squares;
  value.minimum = shared[of_extremes].minimum;
  value.maximum = shared[of_extremes].maximum;
  value.first_non_finite = shared[of_first].first_non_finite;
  *result = MomentsOperation<T>::finish(value);
}

template <class T, class Source>
void queue_moments(Stream& stream, Source const& x, std::int64_t size, std::int64_t offset,
                   Moments<T>* blocks) {
  if (size == 0) return;
  moments_kernel<T>
      <<<static_cast<unsigned>((size + host_block - 1) / host_block), threads, 0, native(stream)>>>(
          x, size, offset, blocks);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce blocks: moments");
}

template <int known, class T>
Lengths<T, known> with_known(Lengths<T> const& lengths) {
  Lengths<T, known> with{{}, known};
  std::copy_n(lengths.components, known, with.components);
  return with;
}

// ----------------------------------------------------------------------------- other operations

template <class Op>
__global__ void __launch_bounds__(threads)
    lanes_kernel(Op const operation, typename Op::Element const* x, typename Op::Element const* y,
                 std::int64_t size, typename Op::Value* blocks) {
  std::int64_t const block = std::int64_t{blockIdx.x} * warps + warp_index();
  std::int64_t const first = block * host_block, next = first + host_block;
  std::int64_t const last = next < size ? next : size;
  auto value = Op::identity();
#pragma unroll 8
  for (std::int64_t i = first + lane_index(); i < last; i += lanes)
    operation.add(value, x[i], Op::two_inputs ? y[i] : typename Op::Element{}, i);
  value = combine_lanes(value, [](auto& v, auto const& w) { Op::combine(v, w); });
  if (lane_index() == 0 && first < size) blocks[block] = value;
}

template <class Op>
__global__ void combine_blocks_kernel(typename Op::Value const* blocks, std::int64_t count,
                                      typename Op::Value* result) {
  auto value = Op::identity();
#pragma unroll 8
  for (std::int64_t k = 0; k < count; ++k) Op::combine(value, blocks[k]);
  *result = Op::finish(value);
}

}  // namespace

template <class T>
void cuda_block_moments(Stream& stream, T const* x, std::int64_t size, std::int64_t offset,
                        Moments<T>* blocks) {
  queue_moments<T>(stream, Elements<T>{x}, size, offset, blocks);
}

template <class T>
void cuda_block_moments(Stream& stream, Lengths<T> const& lengths, std::int64_t size,
                        std::int64_t offset, Moments<T>* blocks) {
  if (lengths.count == 2)
    queue_moments<T>(stream, with_known<2>(lengths), size, offset, blocks);
  else if (lengths.count == 3)
    queue_moments<T>(stream, with_known<3>(lengths), size, offset, blocks);
  else
    queue_moments<T>(stream, lengths, size, offset, blocks);
}

template <class T>
void cuda_blocks(Stream& stream, Arguments<T> const& a) {
  with_operation(a, [&]<class Op>(Op const& operation) {
    using Value = typename Op::Value;
    std::int64_t const count = (a.size + host_block - 1) / host_block;
    Buffer<Value> blocks(stream, MemorySpace::device, static_cast<std::size_t>(count));
    auto* const result = static_cast<Value*>(a.result);
    if constexpr (std::is_same_v<Op, MomentsOperation<T>>) {
      queue_moments<T>(stream, Elements<T>{a.input}, a.size, 0, blocks.data());
      combine_moments_kernel<T><<<1, threads, 0, native(stream)>>>(blocks.data(), count, result);
    } else {
      if (count > 0)
        lanes_kernel<<<blocks_for(count, warps), threads, 0, native(stream)>>>(
            operation, a.input, a.second, a.size, blocks.data());
      combine_blocks_kernel<Op><<<1, 1, 0, native(stream)>>>(blocks.data(), count, result);
    }
    GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce blocks");
  });
}

template void cuda_blocks(Stream&, Arguments<std::int32_t> const&);
template void cuda_blocks(Stream&, Arguments<std::int64_t> const&);
template void cuda_blocks(Stream&, Arguments<float> const&);
template void cuda_blocks(Stream&, Arguments<double> const&);

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template void cuda_block_moments(Stream&, T const*, std::int64_t, std::int64_t, Moments<T>*); \
  template void cuda_block_moments(Stream&, Lengths<T> const&, std::int64_t, std::int64_t,      \
                                   Moments<T>*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce

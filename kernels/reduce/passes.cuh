#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/buffer.hpp"
#include "kernels/reduce/operations.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/launch.cuh"

/// What the rungs of cuda.cu and cuda_shuffle.cu have in common: a first pass, in which every block
/// leaves one partial result of its elements, and the passes that make one of them.
namespace gridstride::reduce {

constexpr int block_threads = 256;
constexpr int warp_threads = 32;

template <class Op>
using Element = typename Op::Element;
template <class Op>
using Value = typename Op::Value;

/// What a first pass reads.
template <class Op>
struct Input {
  Op operation;
  Element<Op> const* x;
  Element<Op> const* y;
  std::int64_t size;

  /// `v` with element i taken in; beyond the end there is none.
  __device__ void take(Value<Op>& v, std::int64_t i) const {
    if (i < size) operation.add(v, x[i], Op::two_inputs ? y[i] : Element<Op>{}, i);
  }
};

/// The first element of this block, when each has `elements` of its own.
inline __device__ std::int64_t first_of_block(int elements) {
  return std::int64_t{blockIdx.x} * elements;
}

/// The elements at a thread's place in the grid, and a grid further, and so on.
template <class Op>
__device__ Value<Op> accumulate(Input<Op> const& in) {
  std::int64_t const stride = std::int64_t{gridDim.x} * block_threads;
  Value<Op> v = Op::identity();
  for (std::int64_t i = first_of_block(block_threads) + threadIdx.x; i < in.size; i += stride)
    in.take(v, i);
  return v;
}

/// The blocks that the GPU holds at once, at 2048 threads per multiprocessor, and not more than
/// there is work for.
inline unsigned resident_blocks(Stream& stream, std::int64_t size) {
  auto const blocks = static_cast<unsigned>(stream.device().processors() * 2048 / block_threads);
  return std::min(blocks, blocks_for(size, block_threads));
}

/// Combines partial results, pass by pass, until the last pass stores the result; of none, it
/// stores the identity. The passes write to two arrays in turn, of which one is `partials`.
template <class Op>
void combine_partials(Stream& stream, Value<Op>* partials, std::int64_t count, void* result);

/// A first pass of `blocks` blocks that leave one partial result each, then the passes over those.
/// `launch(input, partials, blocks)` queues the first pass.
template <class T, class Launch>
void reduce_blocks(Stream& stream, Arguments<T> const& a, unsigned blocks, Launch const& launch) {
  with_operation(a, [&](auto operation) {
    using Op = decltype(operation);
    Buffer<Value<Op>> partials(stream, MemorySpace::device, blocks);
    if (blocks > 0)
      launch(Input<Op>{operation, a.input, a.second, a.size}, partials.data(), blocks);
    combine_partials<Op>(stream, partials.data(), blocks, a.result);
  });
}

}  // namespace gridstride::reduce

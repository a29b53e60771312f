// Reductions on the GPU, as a ladder (after M. Harris, "Optimizing parallel reduction in CUDA",
// NVIDIA, 2007, with the barriers that independently scheduled threads need). A reduction must read
// its n elements of T once, so its roof is the read bandwidth: n·sizeof(T) bytes. V is a partial
// result: 4 or 8 bytes, 32 or 40 for moments.
//
//   global               One thread per pair (i, i + half). Each launch halves an array of V in
//                        global memory: n·sizeof(T) + 2n·sizeof(V) bytes, log2 n launches.
//   atomic               One thread per element updates the one result in L2. n·sizeof(T) bytes,
//                        but the updates of one address queue up.
//   interleaved          One thread per element, a block of 256 combines its elements as a tree in
//                        shared memory and writes one V: n·(sizeof(T) + sizeof(V)/128) bytes; no
//                        rung below moves more. In step s the threads that 2·s divides work: every
//                        warp stays busy with ever fewer of its lanes.
//   interleaved_strided  The same pairs, worked by threads 0, 1, 2…: warps drop out whole. Thread t
//                        is at word 2·s·t, so up to 32 lanes meet in one bank.
//   sequential           The upper half is folded onto the lower: thread t takes words t and t + s.
//                        Neighbouring lanes are in neighbouring banks.
//   first_add_on_load    A thread combines elements t and t + 256 of 512 while it loads them: half
//                        the blocks, and no thread that only loads.
//   unroll_last_warp     The steps from 32 to 1 are the first warp's alone, which __syncwarp orders
//                        without stopping the block.
//   unrolled             The block's size is a template parameter: all steps are straight code.
//   grid_stride          As many blocks as the GPU holds at once, each thread accumulates elements
//                        a grid apart in a register. The tree runs once per block, not once per 512
//                        elements, and there are few partials.
//   warp_shuffle         Lanes hand each other their values from register to register: shared
//                        memory and a barrier only for the 8 results of a block's warps.
//   cooperative_groups   The same on group objects, which know their ranks and masks. The results
//                        of the 8 warps are combined by a tile of 8 threads, in 3 steps.
//   vectorized           In a file of its own: cuda_vectorized.cu.
//   cub                  NVIDIA's library as the peer: cuda_cub.cu.
//
// Every rung but `atomic` leaves partial results in a fixed order, and `combine_partials` makes one
// of them in a fixed order, whatever the rung: the same bits every time. It runs also where there
// is nothing to combine, so that empty input gives the identity.

#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/reduce/passes.cuh"

namespace gridstride::reduce {

namespace {

/// Folds the upper half of a block's values onto the lower until one is left, in values[0].
template <class Op>
__device__ void fold(Value<Op>* values) {
  unsigned const t = threadIdx.x;
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) Op::combine(values[t], values[t + s]);
    __syncthreads();
  }
}

// ------------------------------------------------------------------- from partial results to one

constexpr int partials_per_thread = 8;

/// One value of up to 2048 partial results: a thread takes every 256th, then the block folds.
template <class Op>
__global__ void combine_kernel(Value<Op> const* partials, std::int64_t count, Value<Op>* combined) {
  __shared__ Value<Op> values[block_threads];
  std::int64_t const first = first_of_block(block_threads * partials_per_thread) + threadIdx.x;
  Value<Op> v = Op::identity();
  for (int k = 0; k < partials_per_thread; ++k) {
    std::int64_t const i = first + k * block_threads;
    if (i < count) Op::combine(v, partials[i]);
  }
  values[threadIdx.x] = v;
  __syncthreads();
  fold<Op>(values);
  if (threadIdx.x == 0) combined[blockIdx.x] = gridDim.x == 1 ? Op::finish(values[0]) : values[0];
}

}  // namespace

template <class Op>
void combine_partials(Stream& stream, Value<Op>* partials, std::int64_t count, void* result) {
  constexpr int per_block = block_threads * partials_per_thread;
  Buffer<Value<Op>> other(stream, MemorySpace::device,
                          count > per_block ? blocks_for(count, per_block) : 0);
  Value<Op>* from = partials;
  Value<Op>* to = other.data();
  for (bool last = false; !last;) {
    unsigned const blocks = std::max(1u, blocks_for(count, per_block));
    last = blocks == 1;
    combine_kernel<Op><<<blocks, block_threads, 0, native(stream)>>>(
        from, count, last ? static_cast<Value<Op>*>(result) : to);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce combine");
    count = blocks;
    std::swap(from, to);
  }
}

// --------------------------------------------------------------------------------------- global

namespace {

template <class Op>
__global__ void pair_elements_kernel(Input<Op> const in, std::int64_t half, Value<Op>* partials) {
  std::int64_t const i = first_of_block(block_threads) + threadIdx.x;
  if (i >= half) return;
  Value<Op> v = Op::identity();
  in.take(v, i);
  in.take(v, i + half);
  partials[i] = v;
}

template <class Op>
__global__ void pair_partials_kernel(Value<Op>* partials, std::int64_t half, std::int64_t count) {
  std::int64_t const i = first_of_block(block_threads) + threadIdx.x;
  if (i + half < count) Op::combine(partials[i], partials[i + half]);
}

}  // namespace

template <class T>
void cuda_global(Stream& stream, Arguments<T> const& a) {
  with_operation(a, [&](auto operation) {
    using Op = decltype(operation);
    std::int64_t count = (a.size + 1) / 2;
    Buffer<Value<Op>> partials(stream, MemorySpace::device, static_cast<std::size_t>(count));
    if (count > 0) {
      pair_elements_kernel<Op>
          <<<blocks_for(count, block_threads), block_threads, 0, native(stream)>>>(
              {operation, a.input, a.second, a.size}, count, partials.data());
      GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce global");
    }
    while (count > 1) {
      std::int64_t const half = (count + 1) / 2;
      pair_partials_kernel<Op>
          <<<blocks_for(half, block_threads), block_threads, 0, native(stream)>>>(partials.data(),
                                                                                  half, count);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce global");
      count = half;
    }
    combine_partials<Op>(stream, partials.data(), count, a.result);
  });
}

// --------------------------------------------------------------------------------------- atomic

namespace {

template <class Op>
constexpr bool is_minimum = std::is_same_v<Op, MinimumOperation<Element<Op>>>;
template <class Op>
constexpr bool is_maximum = std::is_same_v<Op, MaximumOperation<Element<Op>>>;

/// The type that atomic instructions know for a word of this size.
template <class T>
using AtomicWord = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;

/// Minimum and maximum of floating point: hardware has none that keeps NaN. An exchange that finds
/// another value than it saw takes that one and tries again; a value that changes nothing stops.
template <class Op>
__device__ void exchange(Value<Op>* result, Value<Op> v) {
  using Word = AtomicWord<Value<Op>>;
  auto* const word = reinterpret_cast<Word*>(result);
  for (Word seen = *word;;) {
    Value<Op> combined;
    memcpy(&combined, &seen, sizeof(Word));
    Op::combine(combined, v);
    Word wanted;
    memcpy(&wanted, &combined, sizeof(Word));
    if (wanted == seen) return;
    Word const found = atomicCAS(word, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

template <class Op>
__device__ void combine_atomically(Value<Op>* result, Value<Op> v) {
  using V = Value<Op>;
  // CUDA's atomics know `long long`, which is not std::int64_t everywhere.
  using Integer = std::conditional_t<sizeof(V) == 4, int, long long>;
  constexpr bool is_extreme = is_minimum<Op> || is_maximum<Op>;
  if constexpr (is_extreme && std::is_floating_point_v<V>)
    exchange<Op>(result, v);
  else if constexpr (is_minimum<Op>)
    atomicMin(reinterpret_cast<Integer*>(result), static_cast<Integer>(v));
  else if constexpr (is_maximum<Op>)
    atomicMax(reinterpret_cast<Integer*>(result), static_cast<Integer>(v));
  else if constexpr (std::is_floating_point_v<V>)
    atomicAdd(result, v);
  else
    atomicAdd(reinterpret_cast<AtomicWord<V>*>(result), static_cast<AtomicWord<V>>(v));
}

template <class Op>
__global__ void atomic_kernel(Input<Op> const in, Value<Op>* result) {
  std::int64_t const i = first_of_block(block_threads) + threadIdx.x;
  if (i >= in.size) return;
  Value<Op> v = Op::identity();
  in.take(v, i);
  combine_atomically<Op>(result, v);
}

}  // namespace

template <class T>
void cuda_atomic(Stream& stream, Arguments<T> const& a) {
  if (a.operation == Operation::moments) refuse("atomic", a.operation);
  with_operation(a, [&](auto operation) {
    using Op = decltype(operation);
    if constexpr (!std::is_same_v<Op, MomentsOperation<T>>) {
      combine_partials<Op>(stream, nullptr, 0, a.result);
      if (a.size == 0) return;
      atomic_kernel<Op><<<blocks_for(a.size, block_threads), block_threads, 0, native(stream)>>>(
          {operation, a.input, a.second, a.size}, static_cast<Value<Op>*>(a.result));
      GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce atomic");
    }
  });
}

// ---------------------------------------------------------------------------------- interleaved

namespace {

/// One element per thread, in shared memory.
template <class Op>
__device__ void stage(Input<Op> const& in, Value<Op>* values) {
  Value<Op> v = Op::identity();
  in.take(v, first_of_block(block_threads) + threadIdx.x);
  values[threadIdx.x] = v;
  __syncthreads();
}

template <class Op>
__global__ void interleaved_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  stage(in, values);
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (threadIdx.x % (2 * s) == 0) Op::combine(values[threadIdx.x], values[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

template <class Op>
__global__ void interleaved_strided_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  stage(in, values);
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    unsigned const i = 2 * s * threadIdx.x;
    if (i < blockDim.x) Op::combine(values[i], values[i + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

// ----------------------------------------------------------------------------------- sequential

template <class Op>
__global__ void sequential_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  stage(in, values);
  fold<Op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

// ---------------------------------------------------------------------------- first_add_on_load

/// Two elements per thread, combined on their way to shared memory.
template <class Op>
__device__ void stage_pairs(Input<Op> const& in, Value<Op>* values) {
  std::int64_t const i = first_of_block(2 * block_threads) + threadIdx.x;
  Value<Op> v = Op::identity();
  in.take(v, i);
  in.take(v, i + block_threads);
  values[threadIdx.x] = v;
  __syncthreads();
}

template <class Op>
__global__ void first_add_on_load_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  stage_pairs(in, values);
  fold<Op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

// ----------------------------------------------------------------------------- unroll_last_warp

/// Folds 64 values onto the first. The lanes of a warp need not run in step, so every step waits
/// for the warp.
template <class Op>
__device__ void fold_last_warp(Value<Op>* values) {
  unsigned const t = threadIdx.x;
  if (t >= warp_threads) return;
#pragma unroll
  for (unsigned s = warp_threads; s > 0; s /= 2) {
    if (t < s) Op::combine(values[t], values[t + s]);
    __syncwarp();
  }
}

template <class Op>
__global__ void unroll_last_warp_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  stage_pairs(in, values);
  for (unsigned s = blockDim.x / 2; s > warp_threads; s /= 2) {
    if (threadIdx.x < s) Op::combine(values[threadIdx.x], values[threadIdx.x + s]);
    __syncthreads();
  }
  fold_last_warp<Op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

// ------------------------------------------------------------------------------------- unrolled

template <int threads, class Op>
__device__ void fold_unrolled(Value<Op>* values) {
#pragma unroll
  for (unsigned s = threads / 2; s > warp_threads; s /= 2) {
    if (threadIdx.x < s) Op::combine(values[threadIdx.x], values[threadIdx.x + s]);
    __syncthreads();
  }
  fold_last_warp<Op>(values);
}

template <int threads, class Op>
__global__ void unrolled_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[threads];
  stage_pairs(in, values);
  fold_unrolled<threads, Op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

// ---------------------------------------------------------------------------------- grid_stride

template <class Op>
__global__ void grid_stride_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> values[block_threads];
  values[threadIdx.x] = accumulate(in);
  __syncthreads();
  fold_unrolled<block_threads, Op>(values);
  if (threadIdx.x == 0) partials[blockIdx.x] = values[0];
}

}  // namespace

// ------------------------------------------------------------------------------ launching rungs

template <class T>
void cuda_interleaved(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  interleaved_kernel<<<blocks, block_threads, 0, native(stream)>>>(input, partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce interleaved");
                });
}

template <class T>
void cuda_interleaved_strided(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  interleaved_strided_kernel<<<blocks, block_threads, 0, native(stream)>>>(
                      input, partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce interleaved_strided");
                });
}

template <class T>
void cuda_sequential(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  sequential_kernel<<<blocks, block_threads, 0, native(stream)>>>(input, partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce sequential");
                });
}

template <class T>
void cuda_first_add_on_load(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, 2 * block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  first_add_on_load_kernel<<<blocks, block_threads, 0, native(stream)>>>(input,
                                                                                         partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce first_add_on_load");
                });
}

template <class T>
void cuda_unroll_last_warp(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, 2 * block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  unroll_last_warp_kernel<<<blocks, block_threads, 0, native(stream)>>>(input,
                                                                                        partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce unroll_last_warp");
                });
}

template <class T>
void cuda_unrolled(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, blocks_for(a.size, 2 * block_threads),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  unrolled_kernel<block_threads>
                      <<<blocks, block_threads, 0, native(stream)>>>(input, partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce unrolled");
                });
}

template <class T>
void cuda_grid_stride(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, resident_blocks(stream, a.size),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  grid_stride_kernel<<<blocks, block_threads, 0, native(stream)>>>(input, partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce grid_stride");
                });
}

// --------------------------------------------------------------------------------------- derive

namespace {

template <class S>
__global__ void derive_kernel(Derived what, S const* sum, std::int64_t size, double* result) {
  *result = derive(what, *sum, size);
}

}  // namespace

template <class S>
void cuda_derive(Stream& stream, Derived what, S const* sum, std::int64_t size, double* result) {
  derive_kernel<<<1, 1, 0, native(stream)>>>(what, sum, size, result);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce derive");
}
template void cuda_derive(Stream&, Derived, std::int64_t const*, std::int64_t, double*);
template void cuda_derive(Stream&, Derived, double const*, std::int64_t, double*);

#define GRIDSTRIDE_INSTANTIATE_COMBINE(Op) \
  template void combine_partials<Op>(Stream&, Value<Op>*, std::int64_t, void*);
#define GRIDSTRIDE_INSTANTIATE(T)                                       \
  template void cuda_global(Stream&, Arguments<T> const&);              \
  template void cuda_atomic(Stream&, Arguments<T> const&);              \
  template void cuda_interleaved(Stream&, Arguments<T> const&);         \
  template void cuda_interleaved_strided(Stream&, Arguments<T> const&); \
  template void cuda_sequential(Stream&, Arguments<T> const&);          \
  template void cuda_first_add_on_load(Stream&, Arguments<T> const&);   \
  template void cuda_unroll_last_warp(Stream&, Arguments<T> const&);    \
  template void cuda_unrolled(Stream&, Arguments<T> const&);            \
  template void cuda_grid_stride(Stream&, Arguments<T> const&);         \
  GRIDSTRIDE_INSTANTIATE_COMBINE(SumOperation<T>)                       \
  GRIDSTRIDE_INSTANTIATE_COMBINE(DotOperation<T>)                       \
  GRIDSTRIDE_INSTANTIATE_COMBINE(SquaresOperation<T>)                   \
  GRIDSTRIDE_INSTANTIATE_COMBINE(MinimumOperation<T>)                   \
  GRIDSTRIDE_INSTANTIATE_COMBINE(MaximumOperation<T>)                   \
  GRIDSTRIDE_INSTANTIATE_COMBINE(MomentsOperation<T>)
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce

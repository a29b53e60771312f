// Passes on the GPU. A block takes tiles of a vector, a grid of blocks apart; its threads take
// neighbouring elements, 256 apart, so that every load and store is coalesced and each array is
// read or written once. A tile's sums are put together in the block, in an order that depends on the
// tile alone. The block that is last adds the tiles' sums, in their order, and finishes the pass with
// one thread: what follows of them, a dozen scalars, never leaves the device.
//
// Of several right-hand sides each has blocks of its own, the second index of the grid, a state, sums and
// a last block: what it does with a vector does not depend on the others.
//
// The number of tiles is bounded by 8192, so that the last block has at most 32 numbers a thread. Of
// several ranks each has some of the tiles; a block by itself finishes what all have made.

#include <algorithm>

#include "kernels/krylov/passes.hpp"
#include "kernels/krylov/run.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::krylov {

namespace {

constexpr int threads = 256;

__device__ double add(double a, double b) { return a + b; }

/// The sum of `count` numbers in memory, in an order that depends on `count` alone; in every thread.
__device__ double sum_of(double const* values, std::int64_t count,
                         double (&shared)[threads / warp_size]) {
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += threads) own += __ldcg(values + i);
  return block_reduce<threads>(own, add, shared);
}

/// Whether this is the last block to come here; then all others' stores are there to see.
__device__ bool is_last(unsigned* ticket) {
  __shared__ bool last;
  __syncthreads();  // all threads have read the state, which the last block changes
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(ticket, 1) == gridDim.x - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// `states`: how many there are from one right-hand side to the next, 1, or 0 where they share one.
template <class Pass>
__global__ void __launch_bounds__(threads)
    pass_kernel(Pass pass, Tiles tiles, int states, State* state, double* tile_sums,
                unsigned* ticket, bool is_shared) {
  __shared__ double shared[threads / warp_size];
  std::int64_t const column = blockIdx.y, vector = column * tiles.size;
  state += states * column;
  tile_sums += column * most_sums * tiles.count;
  ticket += column;
  if (state->stop != Stop::running) return;
  auto const factors = pass.begin(*state);
  for (std::int64_t number = blockIdx.x; number < tiles.own; number += gridDim.x) {
    std::int64_t const tile = tiles.first + number, last = tiles.end(tile);
    double own[Pass::sums + 1] = {};
    for (std::int64_t i = tiles.begin(tile) + threadIdx.x; i < last; i += threads)
      do_element(pass, factors, vector, i, own);
#pragma unroll
    for (int s = 0; s < Pass::sums; ++s) {
      double const total = block_reduce<threads>(own[s], add, shared);
      if (threadIdx.x == 0) tile_sums[s * tiles.count + tile] = total;
    }
  }
  if constexpr (requires { pass.finish(tile_sums, *state); }) {
    if (is_shared || !is_last(ticket)) return;
    double totals[Pass::sums + 1] = {};
#pragma unroll
    for (int s = 0; s < Pass::sums; ++s)
      totals[s] = sum_of(tile_sums + s * tiles.count, tiles.count, shared);
    if (threadIdx.x == 0) pass.finish(totals, *state);
  }
}

/// What follows of the sums that all ranks have made.
template <class Pass>
__global__ void __launch_bounds__(threads)
    totals_kernel(Pass pass, Tiles tiles, State* state, double const* tile_sums) {
  __shared__ double shared[threads / warp_size];
  if (state->stop != Stop::running) return;
  double totals[Pass::sums + 1] = {};
#pragma unroll
  for (int s = 0; s < Pass::sums; ++s)
    totals[s] = sum_of(tile_sums + s * tiles.count, tiles.count, shared);
  if (threadIdx.x == 0) pass.finish(totals, *state);
}

template <class Finish>
__global__ void __launch_bounds__(threads)
    finish_kernel(Finish finish, State* state, double const* sums, std::int64_t count) {
  __shared__ double shared[threads / warp_size];
  state += blockIdx.x;
  if (state->stop != Stop::running) return;
  double const total = sum_of(sums, count, shared);
  if (threadIdx.x == 0) finish.finish(&total, *state);
}

}  // namespace

template <class Pass>
void cuda_run(Scratch& scratch, Pass const& pass, std::int64_t columns) {
  Stream& stream = scratch.stream();
  auto const most = std::int64_t{stream.device().processors()} * (2048 / threads);
  auto const blocks = static_cast<unsigned>(std::min(scratch.tiles().own, most));
  bool const is_shared = scratch.ranks() != nullptr;
  dim3 const grid(blocks, static_cast<unsigned>(columns));
  pass_kernel<<<grid, threads, 0, native(stream)>>>(pass, scratch.tiles(),
                                                    scratch.columns() > 1 ? 1 : 0, scratch.state(),
                                                    scratch.sums(), scratch.tickets(), is_shared);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "pass_kernel");
  if constexpr (requires(double const* sums, State state) { pass.finish(sums, state); }) {
    if (!is_shared) return;
    scratch.share(Pass::sums);
    totals_kernel<<<1, threads, 0, native(stream)>>>(pass, scratch.tiles(), scratch.state(),
                                                     scratch.sums());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "totals_kernel");
  }
}

template <class Finish>
void cuda_finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count) {
  Stream& stream = scratch.stream();
  auto const columns = static_cast<unsigned>(scratch.columns());
  finish_kernel<<<columns, threads, 0, native(stream)>>>(finish, scratch.state(), sums, count);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "finish_kernel");
}

#define GRIDSTRIDE_INSTANTIATE(...) \
  template void cuda_run(Scratch&, __VA_ARGS__ const&, std::int64_t);
GRIDSTRIDE_KRYLOV_PASSES(GRIDSTRIDE_INSTANTIATE, float)
GRIDSTRIDE_KRYLOV_PASSES(GRIDSTRIDE_INSTANTIATE, double)
GRIDSTRIDE_INSTANTIATE(TakeChange)
GRIDSTRIDE_INSTANTIATE(RoundResidual)
template void cuda_finish(Scratch&, BicgBegin const&, double const*, std::int64_t);
template void cuda_finish(Scratch&, FusedBegin const&, double const*, std::int64_t);
template void cuda_finish(Scratch&, FusedAlpha const&, double const*, std::int64_t);
template void cuda_finish(Scratch&, FusedBeta const&, double const*, std::int64_t);

}  // namespace gridstride::krylov

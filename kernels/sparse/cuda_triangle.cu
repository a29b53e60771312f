// Triangular systems by levels, in one kernel (triangle.hpp). Blocks take tasks by a ticket, in their
// order, and wait until all tasks of the levels before are done. That cannot come to a deadlock: a
// task is only taken by a block that runs, so that all tasks before it are done or in blocks that
// run, and the first one that is not done waits for nobody. It does not matter how many blocks there
// are at a time.
//
// `needs` is the number of tasks in the levels before. Tasks of its own level, and later ones, cannot
// be among those that are done until it is reached: they wait for the same.
//
// A thread has a row. What does not depend on others (its first elements and their columns, its right
// side) is on its way before the wait, and for levels in one task before the barrier between them.
// x comes from the L2 cache, where other blocks' stores are. A row's sum has the order of its columns.
// Each element is read once: 12 bytes in float64, and 24 and x a row. What binds is the number of levels:
// each waits for a store, a count and a load to go through L2.

#include <algorithm>

#include "kernels/sparse/triangle.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int early = 4;  ///< elements of a row that are loaded before the wait

template <class T>
struct TriangleRow {
  std::int32_t row = -1, length = 0;
  std::int64_t next = 0;  ///< the first element that is not loaded early
  std::int32_t columns[early];
  T values[early];
  T sum = 0;
};

/// Where the next element of each row of a warp lies: beside those of the rows that have one.
__device__ std::int64_t stride_after(int element, int length) {
  return __popc(__ballot_sync(whole_warp, length > element));
}

template <class T>
__device__ TriangleRow<T> load_row(TriangleView<T> const& a, std::int64_t step, T const* b) {
  TriangleRow<T> own;
  std::int64_t const place = a.steps[step] + threadIdx.x;
  if (place < a.steps[step + 1]) {
    own.row = a.rows[place];
    own.length = a.lengths[place];
    own.next = a.begins[place];
    own.sum = a.factors == nullptr ? b[own.row] : a.factors[place] * b[own.row];
  }
#pragma unroll
  for (int e = 0; e < early; ++e) {
    if (e < own.length) {
      own.columns[e] = a.columns[own.next];
      own.values[e] = a.values[own.next];
    }
    own.next += stride_after(e, own.length);
  }
  return own;
}

template <class T>
__device__ void solve_row(TriangleView<T> const& a, TriangleRow<T> own, T* x) {
  T others[early];
#pragma unroll
  for (int e = 0; e < early; ++e) others[e] = e < own.length ? __ldcg(x + own.columns[e]) : T{0};
#pragma unroll
  for (int e = 0; e < early; ++e)
    if (e < own.length) own.sum -= own.values[e] * others[e];
  for (int e = early; __any_sync(whole_warp, e < own.length); ++e) {
    if (e < own.length) own.sum -= a.values[own.next] * __ldcg(x + a.columns[own.next]);
    own.next += stride_after(e, own.length);
  }
  if (own.row >= 0) x[own.row] = own.sum;
}

/// Until so many tasks are done; their stores are there to see then.
__device__ void wait_for(unsigned long long const* done, std::int64_t needs) {
  if (threadIdx.x == 0) {
    auto const* const count = const_cast<unsigned long long const volatile*>(done);
    while (*count < static_cast<unsigned long long>(needs)) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}

template <class T>
__global__ void __launch_bounds__(rows_of_step)
    triangle_kernel(TriangleView<T> a, T const* b, T* x) {
  __shared__ unsigned long long taken;
  auto* const tickets = a.counters;
  auto* const done = a.counters + 1;
  while (true) {
    if (threadIdx.x == 0) taken = atomicAdd(tickets, 1ull);
    __syncthreads();
    auto const task = static_cast<std::int64_t>(taken);
    __syncthreads();
    if (task >= a.count) {
      // The last block to come here: all tasks are done, and nobody looks at the counters any more.
      if (threadIdx.x == 0 && task == a.count + gridDim.x - 1) {
        __threadfence();
        *tickets = *done = 0;
      }
      return;
    }
    std::int64_t const last = a.tasks[task + 1];
    std::int64_t step = a.tasks[task];
    auto next = load_row(a, step, b);
    wait_for(done, a.needs[task]);
    for (; step < last; ++step) {
      auto const own = next;
      if (step + 1 < last) next = load_row(a, step + 1, b);
      solve_row(a, own, x);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(done, 1ull);
      __threadfence();  // counted before the block takes another ticket
    }
  }
}

}  // namespace

/// Twice as many blocks as a level keeps busy: the others load what comes next.
template <class T>
void cuda_solve(Stream& stream, TriangleView<T> const& triangle, std::int64_t widest, T const* b,
                T* x) {
  auto const resident = std::int64_t{stream.device().processors()} * (2048 / rows_of_step);
  auto const blocks = static_cast<unsigned>(std::min({triangle.count, 2 * widest, resident}));
  triangle_kernel<<<blocks, rows_of_step, 0, native(stream)>>>(triangle, b, x);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "triangle_kernel");
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void cuda_solve(Stream&, TriangleView<T> const&, std::int64_t, T const*, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

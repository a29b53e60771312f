// The coarsest level of fields that may jump, of some hundred unknowns: by its inverse, a row for each warp. What
// a lane has of its row never changes, and is loaded while the kernel before ends.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/follow.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int of_lane = (most_inverted_of_volumes + warp_size - 1) / warp_size;
constexpr int rows_of_block = threads_of_columns / warp_size;

template <class S>
__global__ void __launch_bounds__(threads_of_columns)
    solve_kernel(__grid_constant__ Level<S> const level, double const* inverse) {
  __shared__ S right[most_inverted_of_volumes];
  int const n = level.count[0], m = level.count[1], size = n * m * level.count[2];
  int const thread = static_cast<int>(threadIdx.x), lane = thread % warp_size;
  int const row = static_cast<int>(blockIdx.x) * rows_of_block + thread / warp_size;
  auto const place = [&](int point) {
    int const line = point / n;
    return level.place(point - line * n, line % m, line / m);
  };
  double own[of_lane];
#pragma unroll
  for (int one = 0; one < of_lane; ++one) {
    int const column = one * warp_size + lane;
    own[one] = row < size && column < size ? __ldg(inverse + row * size + column) : 0.0;
  }
  wait_for_kernel_before();
  for (int point = thread; point < size; point += threads_of_columns)
    right[point] = level.f[place(point)];
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int one = 0; one < of_lane; ++one) {
    int const column = one * warp_size + lane;
    if (column < size) sum += own[one] * right[column];
  }
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(~0u, sum, distance);
  if (lane == 0 && row < size) level.u[place(row)] = static_cast<S>(sum);
}

}  // namespace

template <class S>
void march_stored(Stream& stream, SolveDirectly<S> const& step) {
  auto const size = static_cast<int>(step.level.size());
  follow(stream, solve_kernel<S>, blocks_for(size, rows_of_block), threads_of_columns, 0,
         step.level, step.inverse);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid coarsest level");
}

template void march_stored(Stream&, SolveDirectly<float> const&);
template void march_stored(Stream&, SolveDirectly<double> const&);

}  // namespace gridstride::multigrid

// Steps on the GPU: a thread for each row; of products 1 to 32 threads side by side, as rows are long, and
// each element is read once for up to eight vectors.

#include "kernels/amg/work.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::amg {

namespace {

constexpr int threads = 256;

template <class Step>
__global__ void __launch_bounds__(threads) each_kernel(std::int64_t count, Step step) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) do_step(step, count, blockIdx.y, i);
}

/// Neighbouring threads take neighbouring elements of a row; their sums meet in a tree. `columns` is the
/// distance between vectors, `first` the number of the first one.
template <class T, int group, int vectors, class Finish>
__global__ void __launch_bounds__(threads)
    products_kernel(View<T> a, std::int64_t columns, std::int64_t first, T const* __restrict__ x,
                    Finish finish) {
  std::int64_t const row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / group;
  int const lane = static_cast<int>(threadIdx.x) % group;
  T sum[vectors] = {};
  x += first * columns;
  if (row < a.rows)
    for (std::int64_t k = a.offsets[row] + lane; k < a.offsets[row + 1]; k += group) {
      T const value = a.values[k];
      T const* const from = x + a.columns[k];
#pragma unroll
      for (int v = 0; v < vectors; ++v) sum[v] += value * from[v * columns];
    }
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int distance = group / 2; distance > 0; distance /= 2)
      sum[v] += __shfl_down_sync(whole_warp, sum[v], distance, group);
    if (lane == 0 && row < a.rows) finish.finish((first + v) * a.rows + row, row, sum[v]);
  }
}

}  // namespace

template <class Step>
void cuda_each(Stream& stream, std::int64_t count, std::int64_t vectors, Step const& step) {
  if (count == 0) return;
  dim3 const blocks(blocks_for(count, threads), static_cast<unsigned>(vectors));
  each_kernel<<<blocks, threads, 0, native(stream)>>>(count, step);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "each_kernel");
}

template <class T, class Finish>
void cuda_products(Stream& stream, Rows<T> const& a, std::int64_t vectors, T const* x,
                   Finish const& finish) {
  if (a.rows == 0) return;
  auto const launch = [&]<int group>(std::integral_constant<int, group>) {
    auto const blocks = blocks_for(a.rows * group, threads);
    for_groups(vectors, [&]<int count>(std::integral_constant<int, count>, std::int64_t first) {
      products_kernel<T, group, count>
          <<<blocks, threads, 0, native(stream)>>>(view(a), a.columns, first, x, finish);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "products_kernel");
    });
  };
  std::int64_t const mean = a.nonzeros() / a.rows;
  if (mean < 10) return launch(std::integral_constant<int, 1>{});
  if (mean < 24) return launch(std::integral_constant<int, 4>{});
  if (mean < 96) return launch(std::integral_constant<int, 8>{});
  launch(std::integral_constant<int, 32>{});
}

#define GRIDSTRIDE_EACH(...) \
  template void cuda_each(Stream&, std::int64_t, std::int64_t, __VA_ARGS__ const&);
#define GRIDSTRIDE_PRODUCTS(T, ...) \
  template void cuda_products(Stream&, Rows<T> const&, std::int64_t, T const*, __VA_ARGS__ const&);
GRIDSTRIDE_EACH(BeginRoots)
GRIDSTRIDE_EACH(LargestKey)
GRIDSTRIDE_EACH(DecideRoots)
GRIDSTRIDE_EACH(MarkRoots)
GRIDSTRIDE_EACH(JoinRoot)
#define GRIDSTRIDE_INSTANTIATE(T)     \
  GRIDSTRIDE_EACH(Diagonal<T>)        \
  GRIDSTRIDE_EACH(SetOnes<T>)         \
  GRIDSTRIDE_EACH(Scale<T>)           \
  GRIDSTRIDE_EACH(CouplingScale<T>)   \
  GRIDSTRIDE_EACH(Strong<T>)          \
  GRIDSTRIDE_EACH(Follow<T>)          \
  GRIDSTRIDE_EACH(JoinNeighbour<T>)   \
  GRIDSTRIDE_EACH(Filter<T>)          \
  GRIDSTRIDE_EACH(CountSmoothed<T>)   \
  GRIDSTRIDE_EACH(FillSmoothed<T>)    \
  GRIDSTRIDE_EACH(Relax<T>)           \
  GRIDSTRIDE_PRODUCTS(T, Set<T>)      \
  GRIDSTRIDE_PRODUCTS(T, Add<T>)      \
  GRIDSTRIDE_PRODUCTS(T, Subtract<T>) \
  GRIDSTRIDE_PRODUCTS(T, RelaxFrom<T>)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::amg

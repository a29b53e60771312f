// Sparse matrix times vector on the GPU, from rows as they are. Each element of A is read once (its
// value and its column, 12 bytes in float64) for two operations: memory is what binds, and x, which
// is read where the columns say, comes from the caches as far as neighbouring rows share it.
//
// `scalar`: a thread for each row. Neighbouring threads read places that are a row's length apart:
//   each load of a warp touches up to 32 lines, which the L1 cache has to keep until the row's next
//   elements are wanted.
// `vector`: a group of 2 to 32 threads for each row, as many as rows are long on average, side by
//   side along the row: loads are coalesced. The sums of the group's threads are put together by
//   shuffles. Rows of very different length leave threads without work.
// Source: Bell and Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented
// processors", SC 2009.

#include <algorithm>
#include <memory>

#include "kernels/sparse/products.cuh"
#include "kernels/sparse/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

template <class T>
__global__ void __launch_bounds__(threads)
    scalar_kernel(std::int64_t rows, std::int64_t const* __restrict__ offsets,
                  std::int32_t const* __restrict__ columns, T const* __restrict__ values,
                  T const* __restrict__ x, T* __restrict__ y) {
  std::int64_t const row = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (row >= rows) return;
  T sum = 0;
  for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

template <class T, int group>
__global__ void __launch_bounds__(threads)
    vector_kernel(std::int64_t rows, std::int64_t const* __restrict__ offsets,
                  std::int32_t const* __restrict__ columns, T const* __restrict__ values,
                  T const* __restrict__ x, T* __restrict__ y) {
  std::int64_t const row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / group;
  int const lane = static_cast<int>(threadIdx.x) % group;
  T sum = 0;
  if (row < rows)
    for (std::int64_t k = offsets[row] + lane; k < offsets[row + 1]; k += group)
      sum += __ldcs(values + k) * x[__ldcs(columns + k)];
  for (int distance = group / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(whole_warp, sum, distance, group);
  if (lane == 0 && row < rows) y[row] = sum;
}

template <class T>
class Scalar final : public SingleProduct<T> {
 public:
  Scalar(Stream& stream, Csr<T> const& matrix)
      : SingleProduct<T>(matrix.rows, matrix.columns), a_(stream, matrix) {}
  void multiply_one(Stream& stream, T const* x, T* y) const override {
    scalar_kernel<<<blocks_for(a_.rows, threads), threads, 0, native(stream)>>>(
        a_.rows, a_.offsets.data(), a_.column_indices.data(), a_.values.data(), x, y);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "scalar_kernel");
  }
  std::size_t bytes() const override { return a_.bytes(); }

 private:
  DeviceRows<T> a_;
};

template <class T>
class Groups final : public SingleProduct<T> {
 public:
  Groups(Stream& stream, Csr<T> const& matrix)
      : SingleProduct<T>(matrix.rows, matrix.columns), a_(stream, matrix) {
    while (group_ < warp_size && 2 * group_ * matrix.rows <= matrix.nonzeros()) group_ *= 2;
  }
  void multiply_one(Stream& stream, T const* x, T* y) const override {
    auto const launch = [&](auto kernel) {
      kernel<<<blocks_for(a_.rows * group_, threads), threads, 0, native(stream)>>>(
          a_.rows, a_.offsets.data(), a_.column_indices.data(), a_.values.data(), x, y);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "vector_kernel");
    };
    if (group_ == 2) return launch(vector_kernel<T, 2>);
    if (group_ == 4) return launch(vector_kernel<T, 4>);
    if (group_ == 8) return launch(vector_kernel<T, 8>);
    if (group_ == 16) return launch(vector_kernel<T, 16>);
    launch(vector_kernel<T, 32>);
  }
  std::size_t bytes() const override { return a_.bytes(); }

 private:
  DeviceRows<T> a_;
  int group_ = 2;
};

}  // namespace

template <class T>
Form<T> cuda_scalar(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<Scalar<T>>(stream, matrix);
}

template <class T>
Form<T> cuda_vector(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<Groups<T>>(stream, matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T)                       \
  template Form<T> cuda_scalar(Stream&, Csr<T> const&); \
  template Form<T> cuda_vector(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

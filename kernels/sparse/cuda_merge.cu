// `merge`: the same number of steps for each thread, whatever the rows are like, empty ones too.
// A product over all rows takes a step for each element (add it) and one for the end of each row
// (store the sum): it merges the ends of the rows with the numbers 0, 1, 2 … of the elements. Where
// that merge stands after any number of steps is found by bisection, so that a block begins anywhere
// and takes 2048 steps, a thread of it 8. The sum of a row that began in lower threads comes by a
// scan over the block; what a block has of a row that goes on beyond it is kept for a second kernel.
// Source: Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.

#include <algorithm>
#include <memory>
#include <vector>

#include "core/host_device.hpp"
#include "kernels/sparse/products.cuh"
#include "kernels/sparse/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int tile = piece_elements;  ///< steps of a block, `each` of a thread

/// What lower threads, or blocks, have of a row.
template <class T>
struct Carry {
  std::int64_t row;
  T sum;
};

/// How many of the first `steps` steps are ends of rows; `ends` are those of `rows` rows.
template <class Index>
GRIDSTRIDE_HOST_DEVICE Index rows_passed(Index steps, Index rows, Index elements,
                                         Index const* ends) {
  Index low = steps > elements ? steps - elements : 0;
  Index high = steps < rows ? steps : rows;
  while (low < high) {
    Index const middle = (low + high) / 2;
    if (ends[middle] <= steps - middle - 1)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class T>
__global__ void __launch_bounds__(threads)
    merge_kernel(std::int64_t rows, std::int64_t elements, std::int64_t const* __restrict__ firsts,
                 std::int64_t const* __restrict__ offsets, std::int32_t const* __restrict__ columns,
                 T const* __restrict__ values, T const* __restrict__ x, T* __restrict__ y,
                 Carry<T>* __restrict__ carries) {
  __shared__ T products[skewed<T>(tile)];
  __shared__ int ends[tile + 1];
  __shared__ Carry<T> scanned[threads / warp_size];
  std::int64_t const first = std::int64_t{blockIdx.x} * tile;
  std::int64_t const last = min(first + tile, rows + elements);
  std::int64_t const first_row = firsts[blockIdx.x];
  std::int64_t const begin = first - first_row;
  int const tile_rows = static_cast<int>(firsts[blockIdx.x + 1] - first_row);
  int const tile_elements = static_cast<int>(last - first) - tile_rows;
  int const thread = static_cast<int>(threadIdx.x);
  Elements<T>(begin, tile_elements, columns, values).multiply(x, products);
  for (int r = thread; r < tile_rows; r += threads)
    ends[r] = static_cast<int>(offsets[first_row + r + 1] - begin);
  __syncthreads();

  int const steps = static_cast<int>(last - first);
  int const start = min(thread * each, steps), stop = min(start + each, steps);
  int row = rows_passed(start, tile_rows, tile_elements, ends);
  int k = start - row;
  int const started = row;
  T sum = 0, first_sum = 0;
  for (int step = start; step < stop; ++step) {
    if (row == tile_rows || k < ends[row]) {
      sum += products[skewed<T>(k)];
      ++k;
    } else {
      // The first row may have begun in lower threads.
      if (row == started)
        first_sum = sum;
      else
        y[first_row + row] = sum;
      sum = 0;
      ++row;
    }
  }
  auto const join = [](Carry<T> const& a, Carry<T> const& b) {
    return a.row == b.row ? Carry<T>{b.row, a.sum + b.sum} : b;
  };
  Carry<T> total;
  auto const before =
      block_exclusive_scan<threads>(Carry<T>{row, sum}, Carry<T>{-1, 0}, join, scanned, total);
  if (row > started)
    y[first_row + started] = before.row == started ? before.sum + first_sum : first_sum;
  if (thread == 0) carries[blockIdx.x] = {first_row + total.row, total.sum};
}

/// Adds to each row what blocks before the one of its end have of it: the warp at the first of
/// these blocks does, so that a row's sums have one order.
template <class T>
__global__ void __launch_bounds__(threads)
    add_carries_kernel(std::int64_t rows, std::int64_t count, Carry<T> const* __restrict__ carries,
                       T* __restrict__ y) {
  std::int64_t const i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (i >= count) return;
  std::int64_t const row = carries[i].row;
  if (row >= rows || (i > 0 && carries[i - 1].row == row)) return;
  T sum = 0;
  for (std::int64_t k = i + lane_index(); k < count && carries[k].row == row; k += warp_size)
    sum += carries[k].sum;
  sum = warp_reduce(sum, [](T a, T b) { return a + b; });
  if (lane_index() == 0) y[row] += sum;
}

template <class T>
class Merge final : public SingleProduct<T> {
 public:
  Merge(Stream& stream, Csr<T> const& matrix)
      : SingleProduct<T>(matrix.rows, matrix.columns),
        a_(stream, matrix),
        elements_(matrix.nonzeros()) {
    std::int64_t const steps = matrix.rows + elements_;
    std::vector<std::int64_t> firsts;
    for (std::int64_t step = 0; step < steps + tile; step += tile)
      firsts.push_back(
          rows_passed(std::min(step, steps), matrix.rows, elements_, matrix.offsets.data() + 1));
    firsts_ = {stream, MemorySpace::device, firsts.size()};
    carries_ = {stream, MemorySpace::device, firsts.size() - 1};
    copy_async(firsts_.span(), std::span(firsts), stream);
    stream.synchronize();
  }
  void multiply_one(Stream& stream, T const* x, T* y) const override {
    auto* const carries = const_cast<Carry<T>*>(carries_.data());
    auto const count = static_cast<std::int64_t>(carries_.size());
    merge_kernel<<<static_cast<unsigned>(count), threads, 0, native(stream)>>>(
        a_.rows, elements_, firsts_.data(), a_.offsets.data(), a_.column_indices.data(),
        a_.values.data(), x, y, carries);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "merge_kernel");
    add_carries_kernel<<<blocks_for(count * warp_size, threads), threads, 0, native(stream)>>>(
        a_.rows, count, carries, y);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "add_carries_kernel");
  }
  std::size_t bytes() const override {
    return a_.bytes() + firsts_.span().size_bytes() + carries_.span().size_bytes();
  }

 private:
  DeviceRows<T> a_;
  std::int64_t elements_;
  Buffer<std::int64_t> firsts_;  // rows passed where each block begins, and at the end
  Buffer<Carry<T>> carries_;     // of one product at a time
};

}  // namespace

template <class T>
Form<T> cuda_merge(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<Merge<T>>(stream, matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T) template Form<T> cuda_merge(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

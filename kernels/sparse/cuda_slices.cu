// `slices`: rows on shared diagonals, as those of stencils and bands are. 32 rows are cut along
// diagonals (slices.hpp): a warp has a thread for each row and takes one diagonal after the other.
// Its threads then read neighbouring values and neighbouring x, and what tells the columns of 32
// elements takes 8 bytes instead of 128: 8.25 bytes for each element in float64 where rows have 12.
// What rows near each other read of x comes from the L1 cache; values pass it
// by. Rows are summed in the order of their columns: the bits are those of `scalar`. Of up to eight
// vectors at once each value is read once.
// Sources: SELL-C-σ (Kreutzer, Hager, Wellein, Fehske and Bishop, SIAM J. Sci. Comput. 36 (2014)) for
// slices; Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed., section 3.4, for diagonals.

#include <memory>

#include "kernels/sparse/rows.hpp"
#include "kernels/sparse/slices.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int threads_of_slices = 128;
/// Diagonals whose loads are under way at once.
constexpr int ahead_of(int vectors) { return vectors == 1 ? 9 : vectors == 2 ? 5 : 3; }

/// `columns` is the distance between vectors of x, `rows` that of y.
template <class T, int vectors>
__global__ void __launch_bounds__(threads_of_slices)
    slices_kernel(std::int64_t rows, std::int64_t columns,
                  typename Slices<T>::Begin const* __restrict__ begins,
                  Diagonal const* __restrict__ diagonals, T const* __restrict__ values,
                  T const* __restrict__ x, T* __restrict__ y) {
  std::int64_t const row = std::int64_t{blockIdx.x} * threads_of_slices + threadIdx.x;
  std::int64_t const slice = row / warp_size;
  if (slice * warp_size >= rows) return;
  unsigned const lower = (1u << lane_index()) - 1;
  auto const begin = begins[slice];
  int const count = static_cast<int>(begins[slice + 1].diagonal - begin.diagonal);
  T const* next = values + begin.value;
  T const* const own_x = x + row;
  constexpr int ahead = ahead_of(vectors);
  T sum[vectors] = {};
  for (int first = 0; first < count; first += warp_size) {
    Diagonal mine{0, 0};
    if (first + lane_index() < count) mine = diagonals[begin.diagonal + first + lane_index()];
    int const here = min(warp_size, count - first);
    for (int base = 0; base < here; base += ahead) {
      T value[ahead], other[ahead][vectors];
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        // Beyond the last diagonal a lane's `mine` has no rows.
        int const source = (base + k) % warp_size;
        std::int32_t const offset = __shfl_sync(whole_warp, mine.offset, source);
        unsigned const has = base + k < here ? __shfl_sync(whole_warp, mine.rows, source) : 0;
        bool const own = (has >> lane_index() & 1) != 0;
        value[k] = own ? __ldcs(next + __popc(has & lower)) : T{0};
#pragma unroll
        for (int v = 0; v < vectors; ++v) other[k][v] = own ? own_x[v * columns + offset] : T{0};
        next += __popc(has);
      }
#pragma unroll
      for (int k = 0; k < ahead; ++k)
#pragma unroll
        for (int v = 0; v < vectors; ++v) sum[v] += value[k] * other[k][v];
    }
  }
  if (row >= rows) return;
#pragma unroll
  for (int v = 0; v < vectors; ++v) y[v * rows + row] = sum[v];
}

template <class T>
class SlicedProduct final : public Product<T> {
 public:
  SlicedProduct(Stream& stream, Csr<T> const& matrix) {
    Slices<T> const slices(matrix);
    rows_ = slices.rows;
    columns_ = matrix.columns;
    begins_ = {stream, MemorySpace::device, slices.begins.size()};
    diagonals_ = {stream, MemorySpace::device, slices.diagonals.size()};
    values_ = {stream, MemorySpace::device, slices.values.size()};
    upload(begins_.span(), std::span(slices.begins), stream);
    upload(diagonals_.span(), std::span(slices.diagonals), stream);
    upload(values_.span(), std::span(slices.values), stream);
  }
  void multiply(Stream& stream, T const* x, T* y, std::int64_t vectors) const override {
    auto const blocks = blocks_for(rows_, threads_of_slices);
    for_groups(vectors, [&]<int count>(std::integral_constant<int, count>, std::int64_t first) {
      slices_kernel<T, count><<<blocks, threads_of_slices, 0, native(stream)>>>(
          rows_, columns_, begins_.data(), diagonals_.data(), values_.data(), x + first * columns_,
          y + first * rows_);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "slices_kernel");
    });
  }
  std::size_t bytes() const override {
    return begins_.span().size_bytes() + diagonals_.span().size_bytes() +
           values_.span().size_bytes();
  }

 private:
  std::int64_t rows_ = 0, columns_ = 0;
  Buffer<typename Slices<T>::Begin> begins_;
  Buffer<Diagonal> diagonals_;
  Buffer<T> values_;
};

}  // namespace

template <class T>
Form<T> cuda_slices(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<SlicedProduct<T>>(stream, matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T) template Form<T> cuda_slices(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

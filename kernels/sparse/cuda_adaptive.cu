// `adaptive`: the same number of elements for each block, however long rows are. Rows are packed,
// in their order, into pieces of at most 2048 elements, once, on the host. A block multiplies the
// elements of its piece, side by side, into shared memory: coalesced, with eight loads of x under
// way in each thread whatever the rows are like. The rows' sums are then taken from there: a thread
// for each short row, a warp for each long one. A row of more elements than a piece has pieces of
// its own; a second kernel puts their sums together.
// Of several vectors a block takes one after the other, with the elements in its registers; as many as
// the L2 cache holds what is read of at a time, since what is saved of the matrix is less than reads of x
// all over memory cost.
// Source: Greathouse and Daga, "Efficient sparse matrix-vector multiplication on GPUs using the CSR
// storage format", SC 2014.

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/sparse/locality.hpp"
#include "kernels/sparse/products.cuh"
#include "kernels/sparse/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int piece_rows = 2048;
/// Rows of more elements are summed by a warp.
constexpr int short_row = 48;

/// Whole rows; or, where `part` is not negative, a part of one row, whose sum is number `part`.
struct Piece {
  std::int64_t begin;
  std::int32_t elements, first_row, rows, part;
};

/// A row in several pieces.
struct LongRow {
  std::int32_t row, first_part, parts;
};

/// The sums of whole rows.
template <class T>
__device__ void sum_rows(Piece const& piece, std::int64_t const* __restrict__ offsets,
                         T const* products, T* __restrict__ y) {
  auto const add = [](T a, T b) { return a + b; };
  int const thread = static_cast<int>(threadIdx.x);
  // Few rows are shared out among the warps.
  int const in_turn =
      piece.rows <= 2 * warp_size ? lane_index() * (threads / warp_size) + warp_index() : thread;
  for (int base = 0; base < piece.rows; base += threads) {
    int const r = base + in_turn;
    std::int64_t const row = piece.first_row + std::int64_t{r};
    int begin = 0, end = 0;
    if (r < piece.rows) {
      begin = static_cast<int>(offsets[row] - piece.begin);
      end = static_cast<int>(offsets[row + 1] - piece.begin);
    }
    T sum = 0;
    bool const is_long = end - begin > short_row;
    if (!is_long)
      for (int k = begin; k < end; ++k) sum += products[skewed<T>(k)];
    unsigned rest = __ballot_sync(whole_warp, is_long);
    while (rest != 0) {
      int const owner = __ffs(static_cast<int>(rest)) - 1;
      rest &= rest - 1;
      int const first = __shfl_sync(whole_warp, begin, owner);
      int const last = __shfl_sync(whole_warp, end, owner);
      T part = 0;
      for (int k = first + lane_index(); k < last; k += warp_size) part += products[skewed<T>(k)];
      part = warp_reduce(part, add);
      if (lane_index() == owner) sum = part;
    }
    if (r < piece.rows) y[row] = sum;
  }
}

/// The sums of a piece, of whole rows or of a part of one.
template <class T>
__device__ void sum_piece(Piece const& piece, std::int64_t const* __restrict__ offsets,
                          T const* products, T (&sums)[threads / warp_size], T* __restrict__ y,
                          T* __restrict__ parts) {
  if (piece.part < 0) return sum_rows(piece, offsets, products, y);
  T sum = 0;
  for (int k = static_cast<int>(threadIdx.x); k < piece.elements; k += threads)
    sum += products[skewed<T>(k)];
  sum = block_reduce<threads>(
      sum, [](T a, T b) { return a + b; }, sums);
  if (threadIdx.x == 0) parts[piece.part] = sum;
}

template <class T>
__global__ void __launch_bounds__(threads)
    adaptive_kernel(Piece const* __restrict__ pieces, std::int64_t const* __restrict__ offsets,
                    std::int32_t const* __restrict__ columns, T const* __restrict__ values,
                    T const* __restrict__ x, T* __restrict__ y, T* __restrict__ parts) {
  __shared__ T products[skewed<T>(piece_elements)];
  __shared__ T sums[threads / warp_size];
  Piece const piece = pieces[blockIdx.x];
  Elements<T>(piece.begin, piece.elements, columns, values).multiply(x, products);
  __syncthreads();
  sum_piece(piece, offsets, products, sums, y, parts);
}

/// Distances between vectors, and between what each has of parts.
struct Strides {
  std::int64_t x, y, parts;
};

/// A kernel of its own, for elements that stay in registers leave room for fewer threads.
template <class T>
__global__ void __launch_bounds__(threads)
    adaptive_vectors_kernel(int vectors, Strides strides, Piece const* __restrict__ pieces,
                            std::int64_t const* __restrict__ offsets,
                            std::int32_t const* __restrict__ columns, T const* __restrict__ values,
                            T const* __restrict__ x, T* __restrict__ y, T* __restrict__ parts) {
  __shared__ T products[skewed<T>(piece_elements)];
  __shared__ T sums[threads / warp_size];
  Piece const piece = pieces[blockIdx.x];
  Elements<T> const elements(piece.begin, piece.elements, columns, values);
  for (int v = 0; v < vectors; ++v) {
    if (v > 0) __syncthreads();
    elements.multiply(x + v * strides.x, products);
    __syncthreads();
    sum_piece(piece, offsets, products, sums, y + v * strides.y, parts + v * strides.parts);
  }
}

/// A block for each long row, of each vector.
template <class T>
__global__ void __launch_bounds__(threads)
    long_rows_kernel(Strides strides, LongRow const* __restrict__ rows, T const* __restrict__ parts,
                     T* __restrict__ y) {
  __shared__ T sums[threads / warp_size];
  LongRow const row = rows[blockIdx.x];
  T const* const own = parts + blockIdx.y * strides.parts + row.first_part;
  T sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.parts; i += threads) sum += own[i];
  sum = block_reduce<threads>(
      sum, [](T a, T b) { return a + b; }, sums);
  if (threadIdx.x == 0) y[blockIdx.y * strides.y + row.row] = sum;
}

struct Pieces {
  std::vector<Piece> pieces;
  std::vector<LongRow> long_rows;
  std::int32_t parts = 0;

  template <class T>
  explicit Pieces(Csr<T> const& matrix) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      std::int64_t const begin = matrix.offsets[static_cast<std::size_t>(row)];
      std::int64_t const length = matrix.offsets[static_cast<std::size_t>(row) + 1] - begin;
      if (length > piece_elements) {
        append_long(static_cast<std::int32_t>(row), begin, length);
      } else if (!pieces.empty() && pieces.back().part < 0 && pieces.back().rows < piece_rows &&
                 pieces.back().elements + length <= piece_elements) {
        ++pieces.back().rows;
        pieces.back().elements += static_cast<std::int32_t>(length);
      } else {
        pieces.push_back(
            {begin, static_cast<std::int32_t>(length), static_cast<std::int32_t>(row), 1, -1});
      }
    }
  }

 private:
  void append_long(std::int32_t row, std::int64_t begin, std::int64_t length) {
    std::int32_t const first = parts;
    for (std::int64_t done = 0; done < length; done += piece_elements) {
      auto const elements = std::min<std::int64_t>(piece_elements, length - done);
      pieces.push_back({begin + done, static_cast<std::int32_t>(elements), row, 1, parts++});
    }
    long_rows.push_back({row, first, parts - first});
  }
};

template <class T>
class Adaptive final : public Product<T> {
 public:
  Adaptive(Stream& stream, Csr<T> const& matrix)
      : a_(stream, matrix), at_once_(vectors_in_cache(matrix)) {
    Pieces const found(matrix);
    pieces_ = {stream, MemorySpace::device, found.pieces.size()};
    long_rows_ = {stream, MemorySpace::device, found.long_rows.size()};
    parts_ = {stream, MemorySpace::device, static_cast<std::size_t>(found.parts * at_once_)};
    copy_async(pieces_.span(), std::span(found.pieces), stream);
    copy_async(long_rows_.span(), std::span(found.long_rows), stream);
    stream.synchronize();
  }
  void multiply(Stream& stream, T const* x, T* y, std::int64_t vectors) const override {
    for (std::int64_t first = 0; first < vectors; first += at_once_)
      multiply_some(stream, x + first * a_.columns, y + first * a_.rows,
                    static_cast<unsigned>(std::min(at_once_, vectors - first)));
  }
  std::size_t bytes() const override {
    return a_.bytes() + pieces_.span().size_bytes() + long_rows_.span().size_bytes() +
           parts_.span().size_bytes();
  }

 private:
  void multiply_some(Stream& stream, T const* x, T* y, unsigned vectors) const {
    auto* const parts = const_cast<T*>(parts_.data());
    auto const blocks = static_cast<unsigned>(pieces_.size());
    Strides const strides{a_.columns, a_.rows, static_cast<std::int64_t>(parts_.size()) / at_once_};
    if (vectors == 1)
      adaptive_kernel<<<blocks, threads, 0, native(stream)>>>(pieces_.data(), a_.offsets.data(),
                                                              a_.column_indices.data(),
                                                              a_.values.data(), x, y, parts);
    else
      adaptive_vectors_kernel<<<blocks, threads, 0, native(stream)>>>(
          static_cast<int>(vectors), strides, pieces_.data(), a_.offsets.data(),
          a_.column_indices.data(), a_.values.data(), x, y, parts);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "adaptive_kernel");
    if (long_rows_.size() == 0) return;
    dim3 const rows(static_cast<unsigned>(long_rows_.size()), vectors);
    long_rows_kernel<<<rows, threads, 0, native(stream)>>>(strides, long_rows_.data(), parts, y);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "long_rows_kernel");
  }

  DeviceRows<T> a_;
  std::int64_t at_once_;  // vectors
  Buffer<Piece> pieces_;
  Buffer<LongRow> long_rows_;
  Buffer<T> parts_;  // of one product at a time
};

}  // namespace

template <class T>
Form<T> cuda_adaptive(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<Adaptive<T>>(stream, matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T) template Form<T> cuda_adaptive(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

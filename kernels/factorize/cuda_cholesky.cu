// Cholesky factorization, blocked and right-looking, of the lower triangle alone. The rungs are
// those of LU: `blocked` on one stream, `look_ahead` on two, where the next panel is factored while
// the rest is updated. Of a panel of 128 columns:
//
//   L₁₁·L₁₁ᵀ = A₁₁     diagonal_kernel      one block, the 128 × 128 elements in shared memory
//   L₂₁ = A₂₁·L₁₁⁻ᵀ    solve_lower_block    of the transposes, by strides
//   A₂₂ −= L₂₁·L₂₁ᵀ    matmul               below the diagonal blocks of 512 rows; those go through
//                                           a workspace, for their upper triangle is not touched

#include <cuda_runtime.h>

#include <algorithm>

#include "core/buffer.hpp"
#include "kernels/factorize/panel.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::factorize {

namespace {

constexpr int most_columns = 128;  // of a panel
constexpr int diagonal_threads = 512;
constexpr int square = cholesky_square;

/// Column by column; the rows below a pivot are updated by all threads. Elements stand in a square
/// of odd stride.
template <class T>
__global__ void __launch_bounds__(diagonal_threads)
    diagonal_kernel(T* a, std::int64_t leading, int n, int first, std::int32_t* status) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const l = reinterpret_cast<T(*)[most_columns + 1]>(dynamic_shared);
  auto const thread = static_cast<int>(threadIdx.x);
  for (int e = thread; e < n * n; e += diagonal_threads) {
    int const i = e / n, j = e % n;
    if (j <= i) l[i][j] = a[i * leading + j];
  }
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    T const pivot = l[j][j];
    if (thread == 0 && !(pivot > T(0)) && *status == 0) *status = first + j + 1;
    T const root = sqrt(pivot), reciprocal = T(1) / root;
    __syncthreads();
    for (int i = j + thread; i < n; i += diagonal_threads)
      l[i][j] = i == j ? root : l[i][j] * reciprocal;
    __syncthreads();
    int const rest = n - j - 1;
    for (int e = thread; e < rest * rest; e += diagonal_threads) {
      int const i = j + 1 + e / rest, k = j + 1 + e % rest;
      if (k <= i) l[i][k] -= l[i][j] * l[k][j];
    }
    __syncthreads();
  }
  for (int e = thread; e < n * n; e += diagonal_threads) {
    int const i = e / n, j = e % n;
    if (j <= i) a[i * leading + j] = l[i][j];
  }
}

/// The lower triangle of A −= S.
template <class T>
__global__ void __launch_bounds__(256)
    subtract_lower_kernel(T* a, std::int64_t leading, T const* s, int n) {
  int const i = static_cast<int>(blockIdx.x);
  for (int j = static_cast<int>(threadIdx.x); j <= i; j += 256) a[i * leading + j] -= s[i * n + j];
}

/// Shared memory for the diagonal block of a panel.
template <class T>
constexpr int diagonal_bytes(std::int64_t columns) {
  return static_cast<int>(sizeof(T) * static_cast<std::size_t>(columns * (most_columns + 1)));
}

/// As many as a block's shared memory allows.
template <class T>
std::int64_t columns_of_panel(Device const& device) {
  auto const shared_bytes = static_cast<int>(device.capabilities().shared_bytes);
  std::int64_t columns = std::min(most_columns, block_rows<T>(device));
  while (diagonal_bytes<T>(columns) > shared_bytes) columns /= 2;
  return columns;
}

template <class T>
class Cholesky {
 public:
  Cholesky(Stream& stream, Arguments<T> const& arguments, bool look_ahead)
      : stream_(stream),
        a_(arguments.a),
        n_(arguments.a.rows),
        status_(arguments.status),
        matmul_(arguments.matmul),
        look_ahead_(look_ahead),
        panel_columns_(columns_of_panel<T>(stream.device())),
        square_(stream, MemorySpace::device, std::size_t{square} * square) {}

  void factor();

 private:
  void factor_panel(Stream& stream, std::int64_t begin, std::int64_t end);
  void update(Stream& stream, std::int64_t panel, std::int64_t begin, std::int64_t end);
  void update_square(Stream& stream, std::int64_t panel, std::int64_t begin, std::int64_t end);
  Matrix<T> block(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) const {
    return a_.block(i0, j0, i1 - i0, j1 - j0);
  }

  Stream& stream_;
  Matrix<T> a_;
  std::int64_t n_;
  std::int32_t* status_;
  std::string_view matmul_;
  bool look_ahead_;
  std::int64_t panel_columns_;
  Buffer<T> square_;
};

template <class T>
void Cholesky<T>::factor() {
  zero_async(std::span(status_, 1), stream_);
  Stream panel_stream = look_ahead_ ? stream_.urgent() : stream_;
  follow(panel_stream, stream_);
  auto const end_of = [&](std::int64_t begin) { return std::min(begin + panel_columns_, n_); };
  factor_panel(panel_stream, 0, end_of(0));
  for (std::int64_t panel = 0; panel < n_; panel += panel_columns_) {
    follow(stream_, panel_stream);
    std::int64_t const next = end_of(panel);
    if (next == n_) return;
    update(stream_, panel, next, end_of(next));
    follow(panel_stream, stream_);
    factor_panel(panel_stream, next, end_of(next));
    update(stream_, panel, end_of(next), n_);
  }
}

template <class T>
void Cholesky<T>::factor_panel(Stream& stream, std::int64_t begin, std::int64_t end) {
  auto const columns = static_cast<int>(end - begin);
  T* const diagonal = a_.data + begin * (a_.leading + 1);
  int const bytes = diagonal_bytes<T>(panel_columns_);
  allow_shared_bytes(diagonal_kernel<T>, static_cast<std::size_t>(bytes));
  diagonal_kernel<<<1, diagonal_threads, bytes, native(stream)>>>(diagonal, a_.leading, columns,
                                                                  static_cast<int>(begin), status_);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize cholesky diagonal");
  if (end < n_)
    solve_lower_block(stream, columns, false, {diagonal, a_.leading, 1}, n_ - end,
                      Strided<T>{a_.data + end * a_.leading + begin, 1, a_.leading});
}

/// Brings columns [begin, end) right of a panel up to date with it, from their diagonal down.
template <class T>
void Cholesky<T>::update(Stream& stream, std::int64_t panel, std::int64_t begin, std::int64_t end) {
  std::int64_t const panel_end = std::min(panel + panel_columns_, n_);
  for (std::int64_t j = begin; j < end; j += square) {
    std::int64_t const next = std::min(j + square, end);
    update_square(stream, panel, j, next);
    if (next < n_)
      matmul::multiply(stream, -1, block(next, n_, panel, panel_end),
                       {block(j, next, panel, panel_end), Op::transpose}, 1,
                       block(next, n_, j, next), matmul_);
  }
}

template <class T>
void Cholesky<T>::update_square(Stream& stream, std::int64_t panel, std::int64_t begin,
                                std::int64_t end) {
  std::int64_t const panel_end = std::min(panel + panel_columns_, n_), size = end - begin;
  Matrix<T> const rows = block(begin, end, panel, panel_end), product(square_.data(), size, size);
  matmul::multiply(stream, 1, rows, {rows, Op::transpose}, 0, product, matmul_);
  subtract_lower_kernel<<<static_cast<unsigned>(size), 256, 0, native(stream)>>>(
      a_.data + begin * (a_.leading + 1), a_.leading, product.data, static_cast<int>(size));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize subtract_lower");
}

}  // namespace

template <class T>
void cholesky_on_gpu(Stream& stream, Arguments<T> const& arguments, bool look_ahead) {
  Cholesky<T>(stream, arguments, look_ahead).factor();
}

template void cholesky_on_gpu(Stream&, Arguments<float> const&, bool);
template void cholesky_on_gpu(Stream&, Arguments<double> const&, bool);

}  // namespace gridstride::factorize

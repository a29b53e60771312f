// LU without exchanges of rows of a square of up to 128 rows, by one block: the piece that nothing
// can be shared out of.
//
// Warp w of 16 has rows w, w + 16 …, lane l columns l, l + 32 …, so that a thread has 8 x 4
// elements in registers, and all threads have work to nearly the end. Of every column the warp with
// the pivot's row and the lanes with its column show them to all in shared memory, with the pivot's
// reciprocal; a barrier; each thread subtracts what its elements lose. Two buffers take turns, so
// that one barrier for each column is enough. A smaller square is filled up with ones on its
// diagonal.
//
// At last eight warps invert the triangles of the four blocks of 32 rows on the diagonal, a lane
// for each column, for the solves with many right-hand sides that follow (cuda_strips.cu).
//
// Demand: 2/3·128³ operations, a tenth of a multiprocessor's time for them; what binds is the
// latency of 128 columns, one after the other.

#include <cuda_runtime.h>

#include "kernels/factorize/panel.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int warps = 16;
constexpr int threads = warps * warp_size;
constexpr int rows_of_thread = square_limit / warps;
constexpr int columns_of_thread = square_limit / warp_size;
constexpr int blocks = square_limit / inverse_rows;
static_assert(2 * blocks <= warps && inverse_rows == warp_size);

template <class T>
struct Shared {
  T row[2][square_limit];
  alignas(16) T column[2][warps][rows_of_thread];
  T reciprocal[2];
  T diagonal[blocks][inverse_rows][inverse_rows + 1];
};

/// Column `lane` of the inverse of a lower triangle: L where it is unit, the transpose of U where
/// it is not.
template <bool unit, class T>
__device__ void invert(T const (*block)[inverse_rows + 1], T* inverse) {
  int const lane = lane_index();
  T const own_reciprocal = unit ? T(1) : T(1) / block[lane][lane];
  T x[inverse_rows];
#pragma unroll
  for (int i = 0; i < inverse_rows; ++i) {
    T rest = i == lane ? T(1) : T(0);
#pragma unroll
    for (int k = 0; k < i; ++k) rest -= (unit ? block[i][k] : block[k][i]) * x[k];
    x[i] = unit ? rest : rest * shuffle(own_reciprocal, i);
    inverse[i * inverse_rows + lane] = x[i];
  }
}

template <class T>
__global__ void __launch_bounds__(threads)
    square_kernel(Matrix<T> const a, T* inverses, int first, std::int32_t* status) {
  __shared__ Shared<T> shared;
  int const warp = warp_index(), lane = lane_index();
  auto const each = [&](auto const& body) {
#pragma unroll
    for (int r = 0; r < rows_of_thread; ++r)
#pragma unroll
      for (int c = 0; c < columns_of_thread; ++c) {
        int const i = warp + r * warps, j = lane + c * warp_size;
        body(r, c, a.data + i * a.leading + j, i < a.rows && j < a.columns, i == j);
      }
  };
  T own[rows_of_thread][columns_of_thread];
  each([&](int r, int c, T const* at, bool inside, bool diagonal) {
    own[r][c] = inside ? *at : static_cast<T>(diagonal);
  });
#pragma unroll
  for (int top = 0; top < rows_of_thread; ++top) {
    constexpr int halves = warp_size / warps;
    int const left = top / halves;  // of the thread's columns, the one that has the pivot's
#pragma unroll 1
    for (int pivot_warp = 0; pivot_warp < warps; ++pivot_warp) {
      int const side = pivot_warp % 2, pivot_lane = top % halves * warps + pivot_warp;
      if (warp == pivot_warp) {
#pragma unroll
        for (int c = left; c < columns_of_thread; ++c)
          shared.row[side][lane + c * warp_size] = own[top][c];
        if (lane == pivot_lane) {
          T const pivot = own[top][left];
          shared.reciprocal[side] = T(1) / pivot;
          bool const good = pivot == pivot && pivot != T(0);
          if (!good && *status == 0) *status = first + top * warps + pivot_warp + 1;
        }
      }
      if (lane == pivot_lane)
#pragma unroll
        for (int r = top; r < rows_of_thread; ++r) shared.column[side][warp][r] = own[r][left];
      __syncthreads();
      T const reciprocal = shared.reciprocal[side];
      T u[columns_of_thread];
#pragma unroll
      for (int c = left; c < columns_of_thread; ++c) u[c] = shared.row[side][lane + c * warp_size];
      if (lane <= pivot_lane) u[left] = 0;
#pragma unroll
      for (int r = top; r < rows_of_thread; ++r) {
        bool const below = r > top || warp > pivot_warp;
        T const multiplier = below ? shared.column[side][warp][r] * reciprocal : T(0);
#pragma unroll
        for (int c = left; c < columns_of_thread; ++c) own[r][c] -= multiplier * u[c];
        if (below && lane == pivot_lane) own[r][left] = multiplier;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows_of_thread; ++r) {
    constexpr int rows = inverse_rows / warps;
    shared.diagonal[r / rows][r % rows * warps + warp][lane] = own[r][r / rows];
  }
  each([&](int r, int c, T* at, bool inside, bool) {
    if (inside) *at = own[r][c];
  });
  __syncthreads();
  if (warp >= 2 * blocks) return;
  T* const inverse = inverses + warp * inverse_rows * inverse_rows;
  if (warp % 2 == 0)
    invert<true>(shared.diagonal[warp / 2], inverse);
  else
    invert<false>(shared.diagonal[warp / 2], inverse);
}

}  // namespace

template <class T>
void factor_square(Stream& stream, Matrix<T> a, T* inverses, std::int64_t first,
                   std::int32_t* status) {
  square_kernel<<<1, threads, 0, native(stream)>>>(a, inverses, static_cast<int>(first), status);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize square");
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void factor_square(Stream&, Matrix<T>, T*, std::int64_t, std::int32_t*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

// Beside a factored square: U = L⁻¹·A in the columns right of it, L = A·U⁻¹ in the rows below it,
// both at once. The rows below are the columns of the transposed system, Lᵀ = U⁻ᵀ·Aᵀ, so that both
// are solves with a lower triangle M of up to 256 rows and many right-hand sides: the same code
// with exchanged strides.
//
// A block has a strip of 32 right-hand sides, in registers: a thread has 4 of them, and of every 32
// rows one. Rows are solved 32 at a time: the block's threads show each other what is left of these
// rows in shared memory, multiply it by the inverse of M's block on the diagonal (cuda_square.cu),
// show each other the result X, and subtract M·X from the rows below. M comes in tiles of 32
// columns, the inverse in place of the block on the diagonal, a tile ahead of its use (cp.async).
//
// Demand: 16·rows·(rows + 32) multiply-adds for a strip, and M's triangle once, from the
// second-level cache. A thread reads a vector of four from shared memory for 4 to 16 of them: for
// each row that it has, and for each line of X. Two blocks on a multiprocessor fill each other's
// gaps.

#include <cuda_runtime.h>

#include "kernels/factorize/copy_element.cuh"
#include "kernels/factorize/panel.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int step = inverse_rows;
constexpr int strip = 32;
constexpr int strip_threads = 256;
constexpr int strip_warps = strip_threads / warp_size;

/// Four neighbouring elements; 16 bytes at a time are read and written.
template <class T>
struct alignas(16) Four {
  T at[4];
};

/// A padding of 16 bytes: reads of eight neighbouring rows touch all banks.
template <class T>
constexpr int padding = 16 / static_cast<int>(sizeof(T));

/// 32 rows of right-hand sides, and a line of a tile of M.
template <class T>
using Lines = T[step][strip + padding<T>];
template <class T>
using Line = T[step + padding<T>];

template <class T>
constexpr std::size_t shared_bytes(int rows) {
  return 2 * sizeof(Lines<T>) + 2 * static_cast<std::size_t>(rows) * sizeof(Line<T>);
}

template <class T>
__device__ Four<T>& four_at(T* first) {
  return *reinterpret_cast<Four<T>*>(first);
}

/// `a` has the square of 32·steps rows in its corner.
template <class T, int steps>
__global__ void __launch_bounds__(strip_threads, sizeof(T) == 4 ? 2 : 1)
    strips_kernel(Matrix<T> const a, T const* inverses) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& before = reinterpret_cast<Lines<T>*>(dynamic_shared)[0];
  auto& solved = reinterpret_cast<Lines<T>*>(dynamic_shared)[1];
  auto* const tiles = reinterpret_cast<Line<T>*>(dynamic_shared + 2 * sizeof(Lines<T>));
  constexpr int rows = steps * step;
  auto const strips = static_cast<unsigned>((a.rows - rows + strip - 1) / strip);
  bool const below = blockIdx.x >= strips;
  std::int64_t const along = below ? 1 : a.leading, across = below ? a.leading : 1;
  std::int64_t const first = std::int64_t{blockIdx.x - (below ? strips : 0)} * strip;
  T* const b = a.data + (rows + first) * across;
  auto const width = static_cast<int>(min(a.rows - rows - first, std::int64_t{strip}));
  int const warp = warp_index(), lane = lane_index();
  int const line = warp % 4 * 8 + lane % 8, column = (warp / 4 * 4 + lane / 8) * 4;

  auto const each = [&](auto const& body) {
#pragma unroll
    for (int r = 0; r < steps; ++r)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        body(r, j, b + (r * step + line) * along + (column + j) * across, column + j < width);
  };
  // Lanes lie along memory: 32 of them, or 8 in each of 4 rows, which touch all banks either way.
  auto const fetch = [&](int t) {
    auto* const tile = tiles + t % 2 * rows;
    T const* const inverse = inverses + (2 * t + below) * step * step;
    T const* const m = a.data + t * step * (a.leading + 1);
#pragma unroll 4
    for (int chunk = warp; chunk < rows - t * step; chunk += strip_warps) {
      int const i = below ? chunk / 8 * 8 + lane % 8 : chunk;
      int const k = below ? chunk % 8 * 4 + lane / 8 : lane;
      copy_element(&tile[i][k], i < step ? inverse + i * step + k : m + i * along + k * across,
                   true);
    }
    close_group();
  };

  fetch(0);
  Four<T> own[steps];
  each([&](int r, int j, T const* at, bool inside) { own[r].at[j] = inside ? *at : T(0); });
#pragma unroll
  for (int t = 0; t < steps; ++t) {
    four_at(&before[line][column]) = own[t];
    await_groups<0>();
    __syncthreads();
    if (t + 1 < steps) fetch(t + 1);
    auto* const tile = tiles + t % 2 * rows;
    Four<T> x = {};
#pragma unroll 1
    for (int k = 0; k < warp % 4 * 8 + 8; k += 4) {
      Four<T> const factors = four_at(&tile[line][k]);
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        Four<T> const right = four_at(&before[k + s][column]);
#pragma unroll
        for (int j = 0; j < 4; ++j) x.at[j] += factors.at[s] * right.at[j];
      }
    }
    own[t] = four_at(&solved[line][column]) = x;
    __syncthreads();
    if (t + 1 == steps) break;
#pragma unroll 1
    for (int k = 0; k < step; k += 4) {
      Four<T> factors[steps];
#pragma unroll
      for (int r = t + 1; r < steps; ++r) factors[r] = four_at(&tile[(r - t) * step + line][k]);
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        Four<T> const right = four_at(&solved[k + s][column]);
#pragma unroll
        for (int r = t + 1; r < steps; ++r)
#pragma unroll
          for (int j = 0; j < 4; ++j) own[r].at[j] -= factors[r].at[s] * right.at[j];
      }
    }
  }
  each([&](int r, int j, T* at, bool inside) {
    if (inside) *at = own[r].at[j];
  });
}

template <class T, int steps>
void launch(Stream& stream, Matrix<T> const& a, T const* inverses) {
  constexpr auto bytes = static_cast<int>(shared_bytes<T>(steps * step));
  auto const kernel = strips_kernel<T, steps>;
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<2 * blocks_for(a.rows - steps * step, strip), strip_threads, bytes, native(stream)>>>(
      a, inverses);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize strips");
}

}  // namespace

template <class T>
int strip_rows(Device const& device) {
  int rows = panel_limit;
  while (shared_bytes<T>(rows) > device.capabilities().shared_bytes) rows /= 2;
  return rows;
}

template <class T>
void solve_strips(Stream& stream, Matrix<T> a, int rows, T const* inverses) {
  switch (rows / step) {
    case 8:
      return launch<T, 8>(stream, a, inverses);
    case 4:
      return launch<T, 4>(stream, a, inverses);
    case 2:
      return launch<T, 2>(stream, a, inverses);
    case 1:
      return launch<T, 1>(stream, a, inverses);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)            \
  template int strip_rows<T>(Device const&); \
  template void solve_strips(Stream&, Matrix<T>, int, T const*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

// Whether a matrix is its own transpose. A block takes a tile of 32 x 32 elements right of the
// diagonal and its mirror image, which goes through padded shared memory so that both are read row
// by row. What differs is rare: each difference found goes to an atomic maximum, which has the same
// result in every order.

#include <array>
#include <span>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/symmetry_parts.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int tile = 32, pair_rows = 8;

/// How far before the end of the matrix, or of its diagonal, the first place is; 0: there is none.
struct Distances {
  unsigned long long difference;
  unsigned long long diagonal;
};

template <class T>
__global__ void __launch_bounds__(tile* pair_rows)
    symmetry_kernel(Matrix<T const> const a, std::int64_t tiles, Distances* found) {
  __shared__ T mirror[tile][tile + 1];
  std::int64_t const strip = blockIdx.x / tiles, column = blockIdx.x % tiles;
  if (column < strip) return;
  std::int64_t const first_i = strip * tile, first_j = column * tile;
  for (int r = threadIdx.y; r < tile; r += pair_rows) {
    std::int64_t const i = first_j + r, j = first_i + threadIdx.x;
    if (i < a.rows && j < a.rows) mirror[r][threadIdx.x] = a.data[i * a.leading + j];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < tile; r += pair_rows) {
    std::int64_t const i = first_i + r, j = first_j + threadIdx.x;
    if (i >= a.rows || j >= a.rows || j < i) continue;
    T const value = a.data[i * a.leading + j];
    if (!(value == mirror[threadIdx.x][r]))
      atomicMax(&found->difference, static_cast<unsigned long long>((a.rows - i) * a.rows - j));
    if (i == j && !(value > 0))
      atomicMax(&found->diagonal, static_cast<unsigned long long>(a.rows - i));
  }
}

}  // namespace

template <class T>
SymmetryPlaces cuda_symmetry(Stream& stream, Matrix<T const> const& a) {
  std::int64_t const tiles = (a.rows + tile - 1) / tile;
  Buffer<Distances> found(stream, MemorySpace::device, 1);
  zero_async(found.span(), stream);
  symmetry_kernel<<<blocks_for(tiles * tiles, 1), dim3(tile, pair_rows), 0, native(stream)>>>(
      a, tiles, found.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize symmetry");
  std::array<Distances, 1> host;
  copy_async(std::span<Distances>(host), found.span(), stream);
  stream.synchronize();
  return {a.rows * a.rows - static_cast<std::int64_t>(host[0].difference),
          a.rows - static_cast<std::int64_t>(host[0].diagonal)};
}

template SymmetryPlaces cuda_symmetry(Stream&, Matrix<float const> const&);
template SymmetryPlaces cuda_symmetry(Stream&, Matrix<double const> const&);

}  // namespace gridstride::factorize

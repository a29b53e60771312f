// The diffusion stencil on the GPU, as a ladder. Every rung must read u once and write it once, so
// its roof is the copy bandwidth: 2·sizeof(T) bytes a point, 3·sizeof(T) with a diffusivity field.
// What separates the rungs is how often a value is fetched again, and from where.
//
//   naive           One thread per point reads its 2·dims + 1 neighbours. The caches turn the
//                   repeated reads into hits, but each costs a load instruction.
//   shared          A block stages its tile in shared memory, each thread its own point and those
//                   at the tile's ends the halo beside them, waits, and computes from there: each
//                   value is fetched about once. Where L1 is as near as shared memory, as on
//                   Hopper, the barrier costs more than the fetches that it saves.
//   register_queue  A warp owns 32 vectors of 16 bytes along x and walks along the last axis.
//   Lower,
//                   centre and upper line live in registers; x neighbours come by shuffle. One
//                   vector load and one vector store per thread and line, several lines in flight
//                   at once. In a file of its own: cuda_register_queue.cu.
//
// Two more rungs get past the roof of a step by making several of them each time that memory is
// read and written; they take plain steps with constant diffusivity.
//
//   temporal        A tile and a halo as wide as the number of steps stay on the chip while all of
//                   them are made: cuda_temporal_line.cu, cuda_temporal_plane.cu and
//                   cuda_temporal_volume.cu, for 1D, 2D and 3D.
//   resident        A small grid stays in the registers of one cluster for all steps:
//                   cuda_resident_line.cu and cuda_resident_plane.cu, for 1D and 2D.
//
// Points on a side of the grid go through `update_side` in the rungs above.

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

namespace {

/// Blocks are numbered in one dimension, x tiles fastest, so that no axis meets the 65,535 limit.
/// 32-bit numbers, for a 64-bit division costs more than the stencil.
struct Tiling {
  unsigned x_tiles, y_tiles, z_tiles;

  GRIDSTRIDE_HOST_DEVICE Tiling(long long const (&points)[3], int x, int y, int z)
      : x_tiles(static_cast<unsigned>((points[0] + x - 1) / x)),
        y_tiles(static_cast<unsigned>((points[1] + y - 1) / y)),
        z_tiles(static_cast<unsigned>((points[2] + z - 1) / z)) {}

  __device__ long long x() const { return blockIdx.x % x_tiles; }
  __device__ long long y() const { return blockIdx.x / x_tiles % y_tiles; }
  __device__ long long z() const { return blockIdx.x / x_tiles / y_tiles; }

  unsigned blocks() const {
    auto const count = static_cast<unsigned long long>(x_tiles) * y_tiles * z_tiles;
    if (count > 2147483647) throw std::invalid_argument("stencil: the grid needs too many blocks");
    return static_cast<unsigned>(count);
  }
};

// ---------------------------------------------------------------------------------------- naive

/// Threads of a block along each axis.
template <int dims>
GRIDSTRIDE_HOST_DEVICE constexpr int3 naive_block() {
  return dims == 1 ? int3{256, 1, 1} : dims == 2 ? int3{32, 8, 1} : int3{32, 4, 2};
}

template <int dims, bool variable, class T>
__global__ void naive_kernel(__grid_constant__ DiffusionArguments<T> const a) {
  constexpr int3 block = naive_block<dims>();
  Tiling const tiling(a.points, block.x, block.y, block.z);
  long long const i = tiling.x() * block.x + threadIdx.x;
  long long const j = tiling.y() * block.y + threadIdx.y;
  long long const k = tiling.z() * block.z + threadIdx.z;
  if (i >= a.points[0] || j >= a.points[1] || k >= a.points[2]) return;
  a.out[i + a.points[0] * (j + a.points[1] * k)] = update_point<dims, variable>(a, i, j, k);
}

// --------------------------------------------------------------------------------------- shared

/// Points of a tile along each axis, without the halo of one.
template <int dims>
GRIDSTRIDE_HOST_DEVICE constexpr int3 shared_tile() {
  return dims == 1 ? int3{256, 1, 1} : dims == 2 ? int3{64, 8, 1} : int3{32, 4, 4};
}

template <int dims, bool variable, class T>
__global__ void shared_kernel(__grid_constant__ DiffusionArguments<T> const a) {
  constexpr int3 tile = shared_tile<dims>();
  constexpr int halo_y = dims > 1 ? 1 : 0, halo_z = dims > 2 ? 1 : 0;
  constexpr int width = tile.x + 2, height = tile.y + 2 * halo_y, depth = tile.z + 2 * halo_z;
  __shared__ T u[depth * height * width];
  __shared__ T alpha[variable ? depth * height * width : 1];

  Tiling const tiling(a.points, tile.x, tile.y, tile.z);
  int const thread[3] = {static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y),
                         static_cast<int>(threadIdx.z)};
  long long const at[3] = {tiling.x() * tile.x + thread[0], tiling.y() * tile.y + thread[1],
                           tiling.z() * tile.z + thread[2]};
  int const last_thread[3] = {tile.x - 1, tile.y - 1, tile.z - 1};
  int const stride[3] = {1, width, width * height};
  long long const far[3] = {1, a.points[0], a.points[0] * a.points[1]};
  int const here = thread[0] + 1 + width * (thread[1] + halo_y + height * (thread[2] + halo_z));
  long long const offset = at[0] + far[1] * at[1] + far[2] * at[2];
  bool const exists = at[0] < a.points[0] && at[1] < a.points[1] && at[2] < a.points[2];
  auto const stage = [&](int target, long long source) {
    u[target] = a.in[source];
    if constexpr (variable) alpha[target] = a.diffusivity[source];
  };
  bool inside = exists;
  if (exists) {
    stage(here, offset);
    for (int axis = 0; axis < dims; ++axis) {
      bool const first = at[axis] == 0, last = at[axis] == a.points[axis] - 1;
      if (thread[axis] == 0 && !first) stage(here - stride[axis], offset - far[axis]);
      if (thread[axis] == last_thread[axis] && !last)
        stage(here + stride[axis], offset + far[axis]);
      inside = inside && !first && !last;
    }
  }
  __syncthreads();

  if (!exists) return;
  if (!inside) {
    a.out[offset] = update_side<dims, variable>(a, at[0], at[1], at[2]);
    return;
  }
  T diffused = 0;
  for (int axis = 0; axis < dims; ++axis) {
    int const s = stride[axis];
    if constexpr (variable)
      diffused = add_axis(diffused, a.weight[axis], u[here - s], u[here], u[here + s],
                          alpha[here - s], alpha[here], alpha[here + s]);
    else
      diffused = add_axis(diffused, a.weight[axis], u[here - s], u[here], u[here + s]);
  }
  a.out[offset] = finish_point(a, offset, u[here], diffused);
}

template <class T>
unsigned tiled_blocks(DiffusionArguments<T> const& a, int3 tile) {
  return Tiling(a.points, tile.x, tile.y, tile.z).blocks();
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    constexpr int3 block = naive_block<rank()>();
    naive_kernel<rank(), variable(), T>
        <<<tiled_blocks(arguments, block), dim3(block.x, block.y, block.z), 0, native(stream)>>>(
            arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil naive");
  });
}

template <class T>
void cuda_shared(Stream& stream, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    constexpr int3 tile = shared_tile<rank()>();
    shared_kernel<rank(), variable(), T>
        <<<tiled_blocks(arguments, tile), dim3(tile.x, tile.y, tile.z), 0, native(stream)>>>(
            arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil shared");
  });
}

// -------------------------------------------------------------------------------- Dirichlet sides

namespace {

template <int dims, class T>
__global__ void impose_kernel(__grid_constant__ DiffusionArguments<T> const a) {
  constexpr int3 block = naive_block<dims>();
  Tiling const tiling(a.points, block.x, block.y, block.z);
  long long const i = tiling.x() * block.x + threadIdx.x;
  long long const j = tiling.y() * block.y + threadIdx.y;
  long long const k = tiling.z() * block.z + threadIdx.z;
  if (i >= a.points[0] || j >= a.points[1] || k >= a.points[2]) return;
  if (T const* fixed = dirichlet_value<dims>(a, i, j, k))
    a.out[i + a.points[0] * (j + a.points[1] * k)] = *fixed;
}

}  // namespace

template <class T>
void cuda_impose(Stream& stream, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto) {
    constexpr int3 block = naive_block<rank()>();
    impose_kernel<rank(), T>
        <<<tiled_blocks(arguments, block), dim3(block.x, block.y, block.z), 0, native(stream)>>>(
            arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil impose_dirichlet");
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                        \
  template void cuda_naive(Stream&, int, DiffusionArguments<T> const&);  \
  template void cuda_shared(Stream&, int, DiffusionArguments<T> const&); \
  template void cuda_impose(Stream&, int, DiffusionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil

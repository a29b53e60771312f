// Advection on the GPU, as a ladder. Every rung must read u once and write it once, so one roof is
// the copy bandwidth: 2·sizeof(T) bytes a point, sizeof(T) more for each field of velocity and for
// a Runge-Kutta stage's base. `upwind` and `lax_wendroff` compute 5 to 20 operations a point and
// stay under that roof. `weno5` takes about 45 instructions for each face along each axis, twice as
// many where the velocity is a field: there arithmetic binds, and what counts is that no flux is
// computed twice.
//
//   naive      One thread per point reads the neighbours that it needs and computes the fluxes on
//              both of its sides along every axis. Lax-Wendroff repeats the sweeps of all
//              neighbours.
//   streaming  A warp owns 32 vectors along x and walks along the last axis. What the next row, and
//              the lanes beside, need of a point stays in registers or comes by shuffle: values
//              once from memory, each flux once. In files of its own: cuda_streaming.cu for the
//              first two schemes, cuda_streaming_weno.cu.
//
// A tile in shared memory was slower than `naive`, whose loads hit L1. Points near open sides go
// through `update_point` in every rung; in `naive` also those near the ends of periodic axes.

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/advect/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::advect {

namespace {

/// Blocks are numbered in one dimension, x tiles fastest, so that no axis meets the 65,535 limit.
struct Tiling {
  unsigned x_tiles, y_tiles, z_tiles;

  GRIDSTRIDE_HOST_DEVICE Tiling(long long const (&points)[3], int3 tile)
      : x_tiles(static_cast<unsigned>((points[0] + tile.x - 1) / tile.x)),
        y_tiles(static_cast<unsigned>((points[1] + tile.y - 1) / tile.y)),
        z_tiles(static_cast<unsigned>((points[2] + tile.z - 1) / tile.z)) {}

  __device__ Point first_point(int3 tile) const {
    return {{static_cast<long long>(blockIdx.x % x_tiles) * tile.x,
             static_cast<long long>(blockIdx.x / x_tiles % y_tiles) * tile.y,
             static_cast<long long>(blockIdx.x / x_tiles / y_tiles) * tile.z}};
  }
  unsigned blocks() const {
    auto const count = static_cast<unsigned long long>(x_tiles) * y_tiles * z_tiles;
    if (count > 2147483647) throw std::invalid_argument("advect: the grid needs too many blocks");
    return static_cast<unsigned>(count);
  }
};

/// Points of a tile along each axis, one for each thread.
template <int dims>
GRIDSTRIDE_HOST_DEVICE constexpr int3 tile_of() {
  return dims == 1 ? int3{256, 1, 1} : dims == 2 ? int3{32, 8, 1} : int3{32, 4, 4};
}

template <class T>
__device__ bool exists(AdvectionArguments<T> const& a, Point const& point) {
  return point.at[0] < a.points[0] && point.at[1] < a.points[1] && point.at[2] < a.points[2];
}

__device__ Point thread_point(Point first) {
  first.at[0] += threadIdx.x;
  first.at[1] += threadIdx.y;
  first.at[2] += threadIdx.z;
  return first;
}

// ---------------------------------------------------------------------------------------- naive

template <int dims, Scheme scheme, bool variable, class T>
__global__ void naive_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  constexpr int3 tile = tile_of<dims>();
  Point const point = thread_point(Tiling(a.points, tile).first_point(tile));
  if (!exists(a, point) || is_left<dims, scheme>(a, point)) return;
  long long const offset = point.offset(a);
  a.out[offset] = is_inside<dims, scheme>(a, point)
                      ? update_inside<dims, scheme, variable>(a, whole_lines(a), offset, offset)
                      : update_point<dims, scheme, variable>(a, point);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    constexpr int3 tile = tile_of<rank()>();
    naive_kernel<rank(), which(), variable(), T>
        <<<Tiling(arguments.points, tile).blocks(), dim3(tile.x, tile.y, tile.z), 0,
           native(stream)>>>(arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "advect naive");
  });
}

// ---------------------------------------------------------------------------------- what enters

namespace {

template <int dims, bool variable, class T>
__global__ void impose_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  constexpr int3 tile = tile_of<dims>();
  Point const point = thread_point(Tiling(a.points, tile).first_point(tile));
  T value;
  if (exists(a, point) && flows_in<dims, variable>(a, point, value)) a.out[point.offset(a)] = value;
}

}  // namespace

template <class T>
void cuda_impose(Stream& stream, int dims, AdvectionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    constexpr int3 tile = tile_of<rank()>();
    impose_kernel<rank(), variable(), T>
        <<<Tiling(arguments.points, tile).blocks(), dim3(tile.x, tile.y, tile.z), 0,
           native(stream)>>>(arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "advect impose_inflow");
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                               \
  template void cuda_naive(Stream&, int, Scheme, AdvectionArguments<T> const&); \
  template void cuda_impose(Stream&, int, AdvectionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::advect

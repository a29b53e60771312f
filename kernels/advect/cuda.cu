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
//   shared     A block stages its tile and the halo around it in shared memory. There it computes
//              every flux of the tile once, axis after axis, or every sweep. Each value is fetched
//              about once, but in 3D a halo of three makes a tile several times its size, and there
//              is a barrier after every part.
//   streaming  A warp owns 32 vectors along x and walks along the last axis. What the next row, and
//              the lanes beside, need of a point stays in registers or comes by shuffle: values
//              once from memory, each flux once. In files of its own: cuda_streaming.cu for the
//              first two schemes, cuda_streaming_weno.cu.
//
// Points near open sides go through `update_point` in every rung; in the first two also those near
// the ends of periodic axes.

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
  if (!exists(a, point)) return;
  long long const offset = point.offset(a);
  a.out[offset] = is_inside<dims, scheme>(a, point)
                      ? update_inside<dims, scheme, variable>(a, whole_lines(a), offset, offset)
                      : update_point<dims, scheme, variable>(a, point);
}

// --------------------------------------------------------------------------------------- shared

/// A tile and the halo around it. In 3D two of them have to fit into 48 KiB.
template <int dims, Scheme scheme>
struct Halo {
  static constexpr int3 tile = dims == 3 ? int3{16, 4, 4} : tile_of<dims>();
  static constexpr int reach = reach_of<scheme>, threads = tile.x * tile.y * tile.z;
  static constexpr int y_depth = dims > 1 ? reach : 0, z_depth = dims > 2 ? reach : 0;
  static constexpr int width = tile.x + 2 * reach, height = tile.y + 2 * y_depth;
  static constexpr int size = width * height * (tile.z + 2 * z_depth);

  __device__ static constexpr int stride(int axis) {
    return axis == 0 ? 1 : axis == 1 ? width : width * height;
  }
  __device__ static constexpr int3 whole() { return {width, height, tile.z + 2 * z_depth}; }
  /// Number n of the places in a box, in the tile with its halo.
  __device__ static int3 place(int n, int3 box, int3 first) {
    return {first.x + n % box.x, first.y + n / box.x % box.y, first.z + n / (box.x * box.y)};
  }
  __device__ static int3 inner_place(int n, int3 box) {
    return place(n, box, {reach, y_depth, z_depth});
  }
  __device__ static int index(int3 place) { return place.x + width * (place.y + height * place.z); }
  /// The point of the grid, `first` being the tile's first.
  __device__ static Point point(Point const& first, int3 place) {
    return {{first.at[0] + place.x - reach, first.at[1] + place.y - y_depth,
             first.at[2] + place.z - z_depth}};
  }
};

template <class T>
__device__ bool in_grid(AdvectionArguments<T> const& a, Point const& point) {
  return point.at[0] >= 0 && point.at[1] >= 0 && point.at[2] >= 0 && exists(a, point);
}

/// Lax-Wendroff's sweeps over a tile and as much of its halo as the next ones need; returns where
/// the result is. What lies beside the ends of the grid is left out, for no point inside needs it.
template <int dims, bool variable, class T>
__device__ T* sweep_tile(AdvectionArguments<T> const& a, Point const& first, int thread, T* from,
                         T* to) {
  using Tile = Halo<dims, Scheme::lax_wendroff>;
  for (int sweep = 0; sweep < dims; ++sweep) {
    int const axis = a.reversed ? dims - 1 - sweep : sweep;
    for (int n = thread; n < Tile::size; n += Tile::threads) {
      int3 const place = Tile::place(n, Tile::whole(), {0, 0, 0});
      Point const point = Tile::point(first, place);
      int const along = axis == 0 ? place.x : axis == 1 ? place.y : place.z;
      int const end = axis == 0 ? Tile::whole().x : axis == 1 ? Tile::whole().y : Tile::whole().z;
      if (along == 0 || along == end - 1 || !in_grid(a, point) || point.at[axis] == 0 ||
          point.at[axis] == a.points[axis] - 1)
        continue;
      Window<1, T> window;
      for (int i = -1; i <= 1; ++i) {
        window.u[i + 1] = from[n + i * Tile::stride(axis)];
        window.c[i + 1] =
            courant<variable>(a, axis, point.on_line(axis, point.at[axis] + i).offset(a));
      }
      to[n] = window.u[1] + change_along<Scheme::lax_wendroff, variable>(window, T(0));
    }
    __syncthreads();
    T* const swept = to;
    to = from;
    from = swept;
  }
  return from;
}

/// What a step changes at the thread's point: axis after axis the lower faces of all points of the
/// tile and of those after it, each once, then the difference of the thread's two.
template <int dims, Scheme scheme, bool variable, class T>
__device__ T tile_change(AdvectionArguments<T> const& a, Point const& first, int thread, int here,
                         T const* u, T* faces) {
  using Tile = Halo<dims, scheme>;
  T change = 0;
  for (int axis = 0; axis < dims; ++axis) {
    int3 const box{Tile::tile.x + (axis == 0), Tile::tile.y + (axis == 1),
                   Tile::tile.z + (axis == 2)};
    for (int n = thread; n < box.x * box.y * box.z; n += Tile::threads) {
      int3 const place = Tile::inner_place(n, box);
      Point const point = Tile::point(first, place);
      if (point.at[axis] < Tile::reach || point.at[axis] > a.points[axis] - Tile::reach ||
          !in_grid(a, point.on_line(axis, 0)))
        continue;
      int const index = Tile::index(place);
      T const* const velocity =
          variable && a.velocity[axis] ? a.velocity[axis] + point.offset(a) : nullptr;
      faces[index] =
          lower_face<scheme, variable>(u + index, Tile::stride(axis), velocity,
                                       whole_lines(a).stride[axis], a.weight[axis], a.spread[axis]);
    }
    __syncthreads();
    T const weight = variable ? T(1) : a.weight[axis];
    change += weight * (faces[here] - faces[here + Tile::stride(axis)]);
    __syncthreads();
  }
  return change;
}

template <int dims, Scheme scheme, bool variable, class T>
__global__ void shared_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  using Tile = Halo<dims, scheme>;
  __shared__ T staged[Tile::size], work[Tile::size];
  Point const first = Tiling(a.points, Tile::tile).first_point(Tile::tile);
  int const thread =
      static_cast<int>(threadIdx.x + Tile::tile.x * (threadIdx.y + Tile::tile.y * threadIdx.z));
  for (int n = thread; n < Tile::size; n += Tile::threads) {
    Point const point = Tile::point(first, Tile::place(n, Tile::whole(), {0, 0, 0}));
    if (in_grid(a, point)) staged[n] = a.in[point.offset(a)];
  }
  __syncthreads();

  int const here = Tile::index(Tile::inner_place(thread, Tile::tile));
  Point const point = thread_point(first);
  long long const offset = point.offset(a);
  T value = 0;
  if constexpr (scheme == Scheme::lax_wendroff) {
    value = sweep_tile<dims, variable>(a, first, thread, staged, work)[here];
  } else {
    T const change = tile_change<dims, scheme, variable>(a, first, thread, here, staged, work);
    if (exists(a, point)) value = finish_point(a, offset, staged[here], change);
  }
  if (exists(a, point))
    a.out[offset] =
        is_inside<dims, scheme>(a, point) ? value : update_point<dims, scheme, variable>(a, point);
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

template <class T>
void cuda_shared(Stream& stream, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    constexpr int3 tile = Halo<rank(), which()>::tile;
    shared_kernel<rank(), which(), variable(), T>
        <<<Tiling(arguments.points, tile).blocks(), dim3(tile.x, tile.y, tile.z), 0,
           native(stream)>>>(arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "advect shared");
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

#define GRIDSTRIDE_INSTANTIATE(T)                                                \
  template void cuda_naive(Stream&, int, Scheme, AdvectionArguments<T> const&);  \
  template void cuda_shared(Stream&, int, Scheme, AdvectionArguments<T> const&); \
  template void cuda_impose(Stream&, int, AdvectionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::advect

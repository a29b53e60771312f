// The rung `register_queue` of the ladder in cuda.cu: see there for what it follows.
//
// Thread-to-data: a warp's lanes hold neighbouring vectors of a line along x; the warps of a block
// hold neighbouring lines along y (3D) or different pieces of the march (2D). Each thread walks
// `march_length` lines along the last axis, keeping the lines below, at and above its place in
// registers. Per thread and line it loads one vector (two lines ahead of its use) and stores one;
// in 3D it also reads the two y neighbours, which the warps beside it have just brought into L1.
//
// Bytes: (1 + 2/march_length)·sizeof(T) read and sizeof(T) written per point, where the lines read
// twice at the ends of a march are L2 hits, since the neighbouring march runs at the same time.

#include <cuda_runtime_api.h>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

namespace {

constexpr int warp_size = 32;
constexpr int warps_per_block = 4;
constexpr unsigned whole_warp = 0xffffffffu;

/// Lines that a thread marches over: long enough that the two extra lines weigh little, short
/// enough that a small grid still fills the GPU.
int march_length(int dims, long long points, long long other_warps) {
  if (dims == 1) return 1;
  constexpr long long warps_wanted = 132 * 32;
  for (int length : {64, 32, 16, 8})
    if (other_warps * ((points + length - 1) / length) >= warps_wanted) return length;
  return 4;
}

template <class T, int width>
struct alignas(sizeof(T) * width) Vector {
  T at[width];
};

template <class T, int width>
__device__ Vector<T, width> load(T const* source) {
  return *reinterpret_cast<Vector<T, width> const*>(source);
}

/// A vector with the values beside it along x.
template <class T, int width>
struct Line {
  Vector<T, width> center;
  T left, right;
  __device__ T lower(int e) const { return e == 0 ? left : center.at[e > 0 ? e - 1 : 0]; }
  __device__ T upper(int e) const {
    return e == width - 1 ? right : center.at[e < width - 1 ? e + 1 : e];
  }
};

/// Completes a line by shuffles; only the warp's first and last lane read memory.
template <class T, int width>
__device__ Line<T, width> with_x_neighbours(Vector<T, width> const& center, T const* source,
                                            bool has_left, bool has_right) {
  int const lane = threadIdx.x;
  Line<T, width> line{center, __shfl_up_sync(whole_warp, center.at[width - 1], 1),
                      __shfl_down_sync(whole_warp, center.at[0], 1)};
  if (lane == 0 && has_left) line.left = source[-1];
  if (lane == warp_size - 1 && has_right) line.right = source[width];
  return line;
}

template <int dims, bool variable, int width, class T>
__global__ void __launch_bounds__(warp_size* warps_per_block)
    register_queue_kernel(__grid_constant__ DiffusionArguments<T> const a, int length,
                          unsigned x_tiles, unsigned y_tiles) {
  constexpr int march = dims - 1;
  long long const march_points = dims == 1 ? 1 : a.points[march];
  long long const march_stride = dims == 1   ? 0
                                 : dims == 2 ? a.points[0]
                                             : a.points[0] * a.points[1];
  unsigned const tile = blockIdx.x / x_tiles;
  long long const i =
      (static_cast<long long>(blockIdx.x % x_tiles) * warp_size + threadIdx.x) * width;
  long long const j =
      dims == 3 ? static_cast<long long>(tile % y_tiles) * warps_per_block + threadIdx.y : 0;
  long long const piece = dims == 3   ? tile / y_tiles
                          : dims == 2 ? static_cast<long long>(tile) * warps_per_block + threadIdx.y
                                      : 0;
  long long const first = piece * length;
  long long const last = first + length < march_points ? first + length : march_points;
  if (first >= last || (dims == 3 && j >= a.points[1])) return;  // the whole warp

  bool const active = i < a.points[0];
  bool const inner_x = i > 0 && i + width < a.points[0];
  bool const inner_y = dims < 3 || (j > 0 && j < a.points[1] - 1);
  long long const column = (active ? i : 0) + (dims == 3 ? j * a.points[0] : 0);
  T const* const u = a.in + column;
  T const* const alpha = variable ? a.diffusivity + column : nullptr;
  // Beyond the ends of the axis the nearest line stands in; points there do not use it.
  auto const place = [&](long long at) {
    return (at < 0 ? 0 : at < march_points ? at : march_points - 1) * march_stride;
  };

  Vector<T, width> below = load<T, width>(u + place(first - 1));
  Vector<T, width> here = load<T, width>(u + place(first));
  Vector<T, width> above = load<T, width>(u + place(first + 1));
  Vector<T, width> alpha_below, alpha_here, alpha_above;
  if constexpr (variable) {
    alpha_below = load<T, width>(alpha + place(first - 1));
    alpha_here = load<T, width>(alpha + place(first));
    alpha_above = load<T, width>(alpha + place(first + 1));
  }
#pragma unroll 2
  for (long long at = first; at < last; ++at) {
    Vector<T, width> const next = load<T, width>(u + place(at + 2));
    Vector<T, width> alpha_next;
    if constexpr (variable) alpha_next = load<T, width>(alpha + place(at + 2));
    long long const offset = at * march_stride;
    auto const line = with_x_neighbours(here, u + offset, i > 0, i + width < a.points[0]);
    Line<T, width> alpha_line;
    if constexpr (variable)
      alpha_line = with_x_neighbours(alpha_here, alpha + offset, i > 0, i + width < a.points[0]);

    bool const inner = inner_x && inner_y && (dims == 1 || (at > 0 && at < march_points - 1));
    if (inner) {
      Vector<T, width> side[2], alpha_side[2];
      if constexpr (dims == 3) {
        for (int s = 0; s < 2; ++s) {
          long long const beside = offset + (s == 0 ? -a.points[0] : a.points[0]);
          side[s] = load<T, width>(u + beside);
          if constexpr (variable) alpha_side[s] = load<T, width>(alpha + beside);
        }
      }
      Vector<T, width> result;
#pragma unroll
      for (int e = 0; e < width; ++e) {
        T const c = here.at[e];
        T diffused;
        if constexpr (variable) {
          T const ac = alpha_here.at[e];
          diffused = axis_part(a.weight[0], line.lower(e), c, line.upper(e), alpha_line.lower(e),
                               ac, alpha_line.upper(e));
          if constexpr (dims == 3)
            diffused += axis_part(a.weight[1], side[0].at[e], c, side[1].at[e], alpha_side[0].at[e],
                                  ac, alpha_side[1].at[e]);
          if constexpr (dims > 1)
            diffused += axis_part(a.weight[march], below.at[e], c, above.at[e], alpha_below.at[e],
                                  ac, alpha_above.at[e]);
        } else {
          diffused = axis_part(a.weight[0], line.lower(e), c, line.upper(e));
          if constexpr (dims == 3)
            diffused += axis_part(a.weight[1], side[0].at[e], c, side[1].at[e]);
          if constexpr (dims > 1)
            diffused += axis_part(a.weight[march], below.at[e], c, above.at[e]);
        }
        result.at[e] = local_part(a, column + offset + e, c, diffused);
      }
      *reinterpret_cast<Vector<T, width>*>(a.out + column + offset) = result;
    } else if (active) {
#pragma unroll 1
      for (int e = 0; e < width; ++e)
        a.out[column + offset + e] =
            update_point<dims, variable>(a, i + e, dims == 2 ? at : j, dims == 3 ? at : 0);
    }
    below = here;
    here = above;
    above = next;
    if constexpr (variable) {
      alpha_below = alpha_here;
      alpha_here = alpha_above;
      alpha_above = alpha_next;
    }
  }
}

template <int dims, bool variable, int width, class T>
void launch(Stream& stream, DiffusionArguments<T> const& a) {
  auto const tiles = [](long long points, long long tile) { return (points + tile - 1) / tile; };
  long long const x_tiles = tiles(a.points[0], warp_size * width);
  long long const y_tiles = dims == 3 ? tiles(a.points[1], warps_per_block) : 1;
  long long const march_points = dims == 1 ? 1 : a.points[dims - 1];
  int const length = march_length(dims, march_points, dims == 3 ? x_tiles * a.points[1] : x_tiles);
  long long const pieces = tiles(march_points, length);
  long long const march_tiles = dims == 2 ? tiles(pieces, warps_per_block) : pieces;
  dim3 const block(warp_size, dims == 1 ? 1 : warps_per_block);
  register_queue_kernel<dims, variable, width>
      <<<static_cast<unsigned>(x_tiles * y_tiles * march_tiles), block, 0, native(stream)>>>(
          a, length, static_cast<unsigned>(x_tiles), static_cast<unsigned>(y_tiles));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil register_queue");
}

/// Whether every line starts at a multiple of 16 bytes, so that vectors can be loaded.
template <class T>
bool takes_vectors(DiffusionArguments<T> const& a) {
  auto const aligned = [](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return a.points[0] * sizeof(T) % 16 == 0 && aligned(a.in) && aligned(a.out) &&
         aligned(a.diffusivity);
}

}  // namespace

template <class T>
void cuda_register_queue(Stream& stream, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    if (takes_vectors(arguments))
      launch<rank(), variable(), 16 / sizeof(T)>(stream, arguments);
    else
      launch<rank(), variable(), 1>(stream, arguments);
  });
}

template void cuda_register_queue(Stream&, int, DiffusionArguments<float> const&);
template void cuda_register_queue(Stream&, int, DiffusionArguments<double> const&);

}  // namespace gridstride::stencil

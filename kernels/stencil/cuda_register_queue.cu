// The rung `register_queue` of the ladder in cuda.cu: see there for what it follows.
//
// Thread-to-data: a warp's lanes hold neighbouring 16-byte vectors of a line along x; the warps of
// a block hold neighbouring lines along y (3D) or neighbouring pieces of the march (2D). A thread
// walks `length` lines along the last axis, `group` lines at a time: it loads the next group of
// vectors, all independent and so all in flight at once, and computes the group from registers,
// with the line below carried over from the group before. x neighbours come by shuffle. In 3D the
// y neighbours are loads of lines that the warps beside it bring into L1.
//
// Bytes: (1 + 2/length)·sizeof(T) read and sizeof(T) written per point; the two lines that a march
// reads beyond its ends are L2 hits, since the marches beside it run at the same time. To cover the
// latency of memory an H200 needs about 30 KiB in flight per multiprocessor; 1024 threads with a
// group of 4 have 64 KiB.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

namespace {

constexpr int warp_size = 32;
#ifndef WARPS
#define WARPS 4
#endif
#ifndef GROUP2
#define GROUP2 4
#endif
#ifndef GROUP3
#define GROUP3 2
#endif
#ifndef LENGTH
#define LENGTH 32
#endif
constexpr int warps_per_block = WARPS;
constexpr unsigned whole_warp = 0xffffffffu;

/// Lines that are loaded together.
template <int dims>
constexpr int group_of = dims == 1 ? 1 : dims == 2 ? GROUP2 : GROUP3;

template <class T, int width>
struct alignas(sizeof(T) * width) Vector {
  T at[width];
};

/// Through the read-only path, so that loads may move before stores.
template <int width, class T>
__device__ Vector<T, width> load(T const* source) {
  Vector<T, width> result;
  if constexpr (sizeof(T) * width == 16)
    *reinterpret_cast<int4*>(&result) = __ldg(reinterpret_cast<int4 const*>(source));
  else
    result.at[0] = __ldg(source);
  return result;
}

/// A vector with the values beside it along x. Shuffles bring them, but for the warp's first and
/// last lane, which read memory.
template <int width, class T>
struct Line {
  Vector<T, width> center;
  T left, right;

  __device__ Line(Vector<T, width> const& vector, T const* source, bool reads, int offset)
      : center(vector),
        left(__shfl_up_sync(whole_warp, vector.at[width - 1], 1)),
        right(__shfl_down_sync(whole_warp, vector.at[0], 1)) {
    T edge = 0;
    if (reads) edge = __ldg(source + offset);
    if (threadIdx.x == 0) left = edge;
    if (threadIdx.x == warp_size - 1) right = edge;
  }
  __device__ T lower(int e) const { return e == 0 ? left : center.at[e > 0 ? e - 1 : 0]; }
  __device__ T upper(int e) const {
    return e == width - 1 ? right : center.at[e < width - 1 ? e + 1 : e];
  }
};

/// Not inlined: the few points on the sides would cost all the others registers.
template <int dims, bool variable, class T>
__device__ __noinline__ T side_point(DiffusionArguments<T> const& a, long long i, long long j,
                                     long long at) {
  return dims == 2 ? update_side<dims, variable>(a, i, at, 0)
                   : update_side<dims, variable>(a, i, j, at);
}

/// Where a thread works.
struct Place {
  long long i, j;        // its vector's first point along x, its line along y (3D)
  long long first, last; // the lines of its march
};

template <int dims, int width>
__device__ Place place_of(long long const (&points)[3], int length, unsigned x_tiles,
                          unsigned y_tiles) {
  unsigned const tile = blockIdx.x / x_tiles;
  Place place;
  place.i = static_cast<long long>(blockIdx.x % x_tiles * warp_size + threadIdx.x) * width;
  place.j = dims == 3 ? tile % y_tiles * warps_per_block + threadIdx.y : 0;
  long long const march = dims == 3   ? tile / y_tiles
                          : dims == 2 ? static_cast<long long>(tile) * warps_per_block + threadIdx.y
                                      : 0;
  long long const lines = dims == 1 ? 1 : points[dims - 1];
  place.first = march * length;
  place.last = place.first + length < lines ? place.first + length : lines;
  return place;
}

template <int dims, bool variable, bool plain, int width, class T>
__global__ void __launch_bounds__(warp_size* warps_per_block)
    register_queue_kernel(__grid_constant__ DiffusionArguments<T> const a, int length,
                          unsigned x_tiles, unsigned y_tiles) {
  constexpr int group = group_of<dims>;
  constexpr int march = dims - 1;
  auto const [i, j, first, last] = place_of<dims, width>(a.points, length, x_tiles, y_tiles);
  if (first >= last || (dims == 3 && j >= a.points[1])) return;  // the whole warp

  long long const lines = dims == 1 ? 1 : a.points[march];
  long long const line_stride =
      dims == 1 ? 0 : dims == 2 ? a.points[0] : a.points[0] * a.points[1];
  bool const active = i < a.points[0];
  bool const side_y = dims == 3 && (j == 0 || j == a.points[1] - 1);
  int const lane = threadIdx.x;
  bool const reads_edge = active && ((lane == 0 && i > 0) ||
                                     (lane == warp_size - 1 && i + width < a.points[0]));
  int const edge = lane == 0 ? -1 : width;
  long long const column = (active ? i : 0) + (dims == 3 ? j * a.points[0] : 0);
  T const* const u = a.in + column;
  T const* const alpha = variable ? a.diffusivity + column : nullptr;
  // Beyond the ends of the axis the nearest line stands in; points there do not use it.
  auto const place = [&](long long at) {
    return (at < 0 ? 0 : at < lines ? at : lines - 1) * line_stride;
  };

  // queue[0] is the line below the group, queue[group + 1] the one above it.
  Vector<T, width> queue[group + 2], alpha_queue[variable ? group + 2 : 1];
  queue[0] = load<width>(u + place(first - 1));
  queue[1] = load<width>(u + place(first));
  if constexpr (variable) {
    alpha_queue[0] = load<width>(alpha + place(first - 1));
    alpha_queue[1] = load<width>(alpha + place(first));
  }
  for (long long start = first; start < last; start += group) {
#pragma unroll
    for (int g = 0; g < group; ++g) {
      queue[g + 2] = load<width>(u + place(start + g + 1));
      if constexpr (variable) alpha_queue[g + 2] = load<width>(alpha + place(start + g + 1));
    }
#pragma unroll
    for (int g = 0; g < group; ++g) {
      long long const at = start + g;
      long long const offset = place(at);
      Line<width, T> const line(queue[g + 1], u + offset, reads_edge, edge);
      Line<width, T> const alpha_line =
          variable ? Line<width, T>(alpha_queue[variable ? g + 1 : 0], alpha + offset, reads_edge, edge)
                   : line;
      if (at >= last || !active) continue;
      bool const side_march = dims > 1 && (at == 0 || at == lines - 1);
      if (side_y || side_march) {
#pragma unroll 1
        for (int e = 0; e < width; ++e)
          a.out[column + offset + e] = side_point<dims, variable>(a, i + e, j, at);
        continue;
      }
      Vector<T, width> side[2], alpha_side[2];
      if constexpr (dims == 3) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          long long const beside = offset + (s == 0 ? -a.points[0] : a.points[0]);
          side[s] = load<width>(u + beside);
          if constexpr (variable) alpha_side[s] = load<width>(alpha + beside);
        }
      }
      Vector<T, width> result;
#pragma unroll
      for (int e = 0; e < width; ++e) {
        T const c = line.center.at[e];
        T change;
        if constexpr (variable) {
          T const ac = alpha_line.center.at[e];
          change = axis_part(a.weight[0], line.lower(e), c, line.upper(e), alpha_line.lower(e), ac,
                             alpha_line.upper(e));
          if constexpr (dims == 3)
            change += axis_part(a.weight[1], side[0].at[e], c, side[1].at[e], alpha_side[0].at[e],
                                ac, alpha_side[1].at[e]);
          if constexpr (dims > 1)
            change += axis_part(a.weight[march], queue[g].at[e], c, queue[g + 2].at[e],
                                alpha_queue[g].at[e], ac, alpha_queue[g + 2].at[e]);
        } else {
          change = axis_part(a.weight[0], line.lower(e), c, line.upper(e));
          if constexpr (dims == 3)
            change += axis_part(a.weight[1], side[0].at[e], c, side[1].at[e]);
          if constexpr (dims > 1)
            change += axis_part(a.weight[march], queue[g].at[e], c, queue[g + 2].at[e]);
        }
        result.at[e] = plain ? c + change : finish_point(a, column + offset + e, c, change);
      }
      if (i == 0) result.at[0] = side_point<dims, variable>(a, 0, j, at);
      if (i + width == a.points[0])
        result.at[width - 1] = side_point<dims, variable>(a, a.points[0] - 1, j, at);
#ifdef STREAM_STORE
      if constexpr (sizeof(T) * width == 16)
        __stcs(reinterpret_cast<int4*>(a.out + column + offset), *reinterpret_cast<int4*>(&result));
      else
#endif
        *reinterpret_cast<Vector<T, width>*>(a.out + column + offset) = result;
    }
    queue[0] = queue[group];
    queue[1] = queue[group + 1];
    if constexpr (variable) {
      alpha_queue[0] = alpha_queue[group];
      alpha_queue[1] = alpha_queue[group + 1];
    }
  }
}

/// Lines that a thread marches over: long enough that the two extra lines weigh little, short
/// enough that a small grid still fills the GPU.
int march_length(Device const& device, int dims, long long lines, long long warps_beside) {
  if (dims == 1) return 1;
  long long const warps_wanted = 32LL * device.processors();
  for (int length : {LENGTH, 32, 16, 8})
    if (length <= LENGTH && warps_beside * ((lines + length - 1) / length) >= warps_wanted) return length;
  return 4;
}

template <int dims, bool variable, bool plain, int width, class T>
void launch(Stream& stream, DiffusionArguments<T> const& a) {
  auto const tiles = [](long long points, long long tile) { return (points + tile - 1) / tile; };
  long long const x_tiles = tiles(a.points[0], warp_size * width);
  long long const y_tiles = dims == 3 ? tiles(a.points[1], warps_per_block) : 1;
  long long const lines = dims == 1 ? 1 : a.points[dims - 1];
  int const length =
      march_length(stream.device(), dims, lines, dims == 3 ? x_tiles * a.points[1] : x_tiles);
  long long const marches = tiles(lines, length);
  long long const march_tiles = dims == 2 ? tiles(marches, warps_per_block) : marches;
  long long const blocks = x_tiles * y_tiles * march_tiles;
  if (blocks > 2147483647) throw std::invalid_argument("stencil: the grid needs too many blocks");
  dim3 const block(warp_size, dims == 1 ? 1 : warps_per_block);
  register_queue_kernel<dims, variable, plain, width>
      <<<static_cast<unsigned>(blocks), block, 0, native(stream)>>>(
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
    auto const with_width = [&](auto width) {
      if (is_plain(arguments))
        launch<rank(), variable(), true, width()>(stream, arguments);
      else
        launch<rank(), variable(), false, width()>(stream, arguments);
    };
    if (takes_vectors(arguments))
      with_width(std::integral_constant<int, 16 / sizeof(T)>{});
    else
      with_width(std::integral_constant<int, 1>{});
  });
}

template void cuda_register_queue(Stream&, int, DiffusionArguments<float> const&);
template void cuda_register_queue(Stream&, int, DiffusionArguments<double> const&);

}  // namespace gridstride::stencil

// The rung `register_queue` of the ladder in cuda.cu: see there for what it follows.
//
// Thread-to-data: a warp's lanes hold neighbouring 16-byte vectors of a line along x; the warps of
// a block lie side by side along x (2D) or hold neighbouring lines along y (3D). A thread walks a
// few lines along the last axis, a group at a time: it loads the vectors of a group, all
// independent and so all in flight at once, and computes the group from registers. x neighbours
// come by shuffle; only a warp's first and last lane read a value more, which the warp beside has
// just brought into L1. In 3D the y neighbours come from L1 in the same way. The points on sides
// are few, and different: blocks of their own take them, one thread each.
//
// Bytes: (1 + 2/length)·sizeof(T) read and sizeof(T) written per point; the lines that a march
// reads beyond its ends are L2 hits, since the marches beside it run at the same time. To cover the
// latency of memory an H200 needs about 30 KiB in flight per multiprocessor.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/march.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

/// How a block is made, and how its threads march.
struct Shape {
  int x_warps, y_warps;  // warps along x, and along the next axis
  int group;             // lines that are loaded together
  int length;            // lines of a march, on a grid that fills the GPU
  int least_blocks;  // that registers must leave room for on a multiprocessor; 0: the compiler's

  GRIDSTRIDE_HOST_DEVICE constexpr int threads() const { return warp_size * x_warps * y_warps; }
};

/// The fastest of those measured on an H200, at 8192² and 512³ points.
template <int dims, class T>
constexpr Shape shape_of = dims == 1 ? Shape{4, 1, 1, 1, 0}
                           : dims == 2
                               ? sizeof(T) == 4 ? Shape{4, 1, 8, 8, 1} : Shape{4, 1, 4, 4, 1}
                           : sizeof(T) == 4 ? Shape{1, 8, 2, 8, 0}
                                            : Shape{1, 8, 1, 32, 0};

/// What the blocks of a launch share out: first the points on sides, one thread each, then the
/// lines inside.
struct Work {
  unsigned side_blocks;
  unsigned x_tiles, y_tiles;
  int length;  // lines of a march
};

/// Where a thread of the inner blocks works.
struct Place {
  long long i, j;         // its vector's first point along x; its line along y (3D)
  long long first, last;  // the lines of its march
};

template <int dims, int width, class T>
__device__ Place place_of(long long const (&points)[3], Work const& work) {
  constexpr Shape shape = shape_of<dims, T>;
  unsigned const block = blockIdx.x - work.side_blocks;
  unsigned const tile = block / work.x_tiles;
  int const x_warp = threadIdx.y % shape.x_warps, y_warp = threadIdx.y / shape.x_warps;
  Place place;
  place.i = (static_cast<long long>(block % work.x_tiles * shape.x_warps + x_warp) * warp_size +
             threadIdx.x) *
            width;
  if constexpr (dims == 1) {
    place.j = place.first = 0;
    place.last = 1;
    return place;
  }
  long long const march = dims == 2 ? tile * shape.y_warps + y_warp : tile / work.y_tiles;
  place.j = dims == 2 ? 0 : 1 + tile % work.y_tiles * shape.y_warps + y_warp;
  long long const end = points[dims - 1] - 1;
  place.first = 1 + march * work.length;
  place.last = place.first + work.length < end ? place.first + work.length : end;
  if (dims == 3 && place.j >= points[1] - 1) place.last = place.first;
  return place;
}

/// Computes point number `n` of those on sides: the faces normal to the last axis, then what they
/// leave of the faces normal to the one before, and so on.
template <int dims, bool variable, class T>
__device__ void side_point(DiffusionArguments<T> const& a, long long n) {
  long long const nx = a.points[0], ny = dims > 1 ? a.points[1] : 3,
                  nz = dims > 2 ? a.points[2] : 3;
  long long const inner_y = ny - 2, inner_z = nz - 2;
  long long i = 0, j = 0, k = 0;
  long long const z_face = dims > 2 ? nx * ny : 0, y_face = dims > 1 ? nx * inner_z : 0,
                  x_face = inner_y * inner_z;
  if (n < 2 * z_face) {
    k = n < z_face ? 0 : nz - 1;
    n = n < z_face ? n : n - z_face;
    i = n % nx;
    j = n / nx;
  } else if ((n -= 2 * z_face) < 2 * y_face) {
    j = n < y_face ? 0 : ny - 1;
    n = n < y_face ? n : n - y_face;
    i = n % nx;
    k = dims > 2 ? 1 + n / nx : 0;
  } else if ((n -= 2 * y_face) < 2 * x_face) {
    i = n < x_face ? 0 : nx - 1;
    n = n < x_face ? n : n - x_face;
    j = dims > 1 ? 1 + n % inner_y : 0;
    k = dims > 2 ? 1 + n / inner_y : 0;
  } else {
    return;
  }
  a.out[i + a.points[0] * (j + a.points[1] * k)] = update_side<dims, variable>(a, i, j, k);
}

template <int dims>
long long side_points(long long const (&points)[3]) {
  long long all = 1, inner = 1;
  for (int axis = 0; axis < dims; ++axis) {
    all *= points[axis];
    inner *= points[axis] - 2;
  }
  return all - inner;
}

/// A thread's part of one array: the lines of a group in registers, and what lies beside them.
template <int dims, int group, int width, class T>
struct Queue {
  Vector<T, width> line[group + 2];  // the first is below the group, the last above it
  Vector<T, width> beside[dims == 3 ? group : 1][2];
  T edge[group];  // beyond the warp's own points along x, in its first and last lane

  /// Loads the first `lines` lines of a group, whose first is at `source`, but for the two that are
  /// there already.
  __device__ void load_group(T const* source, int lines, long long line_stride,
                             long long row_stride, bool reads_edge, int edge_offset) {
#pragma unroll
    for (int g = 0; g < group; ++g) {
      if (g >= lines) break;
      if constexpr (dims > 1) line[g + 2] = load_kept<width>(source + (g + 1) * line_stride);
      edge[g] = 0;
      if (reads_edge) edge[g] = __ldg(source + g * line_stride + edge_offset);
      if constexpr (dims == 3) {
        beside[g][0] = load_kept<width>(source + g * line_stride - row_stride);
        beside[g][1] = load_kept<width>(source + g * line_stride + row_stride);
      }
    }
  }
  __device__ void move_on() {
    line[0] = line[group];
    line[1] = line[group + 1];
  }
};

/// The x neighbours of a vector: shuffles bring them from the lanes beside.
template <int width, class T>
struct Neighbours {
  T left, right;

  __device__ Neighbours(Vector<T, width> const& center, T edge)
      : left(__shfl_up_sync(whole_warp, center.at[width - 1], 1)),
        right(__shfl_down_sync(whole_warp, center.at[0], 1)) {
    if (threadIdx.x == 0) left = edge;
    if (threadIdx.x == warp_size - 1) right = edge;
  }
  __device__ T lower(Vector<T, width> const& center, int e) const {
    return e == 0 ? left : center.at[e > 0 ? e - 1 : 0];
  }
  __device__ T upper(Vector<T, width> const& center, int e) const {
    return e == width - 1 ? right : center.at[e < width - 1 ? e + 1 : e];
  }
};

/// What diffusion changes at the points of line g of a group.
template <int dims, bool variable, int group, int width, class T>
__device__ Vector<T, width> diffused(DiffusionArguments<T> const& a,
                                     Queue<dims, group, width, T> const& u,
                                     Queue<dims, group, width, T> const& alpha, int g) {
  constexpr int march = dims - 1;
  auto const& c = u.line[g + 1];
  Neighbours<width, T> const x(c, u.edge[g]);
  Vector<T, width> change;
  if constexpr (variable) {
    auto const& ac = alpha.line[g + 1];
    Neighbours<width, T> const ax(ac, alpha.edge[g]);
#pragma unroll
    for (int e = 0; e < width; ++e) {
      change.at[e] = add_axis(T(0), a.weight[0], x.lower(c, e), c.at[e], x.upper(c, e),
                              ax.lower(ac, e), ac.at[e], ax.upper(ac, e));
      if constexpr (dims == 3)
        change.at[e] =
            add_axis(change.at[e], a.weight[1], u.beside[g][0].at[e], c.at[e], u.beside[g][1].at[e],
                     alpha.beside[g][0].at[e], ac.at[e], alpha.beside[g][1].at[e]);
      if constexpr (dims > 1)
        change.at[e] =
            add_axis(change.at[e], a.weight[march], u.line[g].at[e], c.at[e], u.line[g + 2].at[e],
                     alpha.line[g].at[e], ac.at[e], alpha.line[g + 2].at[e]);
    }
  } else {
#pragma unroll
    for (int e = 0; e < width; ++e) {
      change.at[e] = add_axis(T(0), a.weight[0], x.lower(c, e), c.at[e], x.upper(c, e));
      if constexpr (dims == 3)
        change.at[e] = add_axis(change.at[e], a.weight[1], u.beside[g][0].at[e], c.at[e],
                                u.beside[g][1].at[e]);
      if constexpr (dims > 1)
        change.at[e] =
            add_axis(change.at[e], a.weight[march], u.line[g].at[e], c.at[e], u.line[g + 2].at[e]);
    }
  }
  return change;
}

template <int dims, bool variable, bool plain, int width, class T>
__global__ void __launch_bounds__(shape_of<dims, T>.threads(), shape_of<dims, T>.least_blocks)
    register_queue_kernel(__grid_constant__ DiffusionArguments<T> const a,
                          __grid_constant__ Work const work) {
  constexpr int group = shape_of<dims, T>.group;
  if (blockIdx.x < work.side_blocks) {
    long long const thread = threadIdx.x + warp_size * threadIdx.y;
    side_point<dims, variable>(
        a, static_cast<long long>(blockIdx.x) * shape_of<dims, T>.threads() + thread);
    return;
  }
  auto const [i, j, first, last] = place_of<dims, width, T>(a.points, work);
  if (first >= last) return;  // the whole warp

  long long const row_stride = a.points[0];
  long long const line_stride = dims == 1 ? 0 : dims == 2 ? row_stride : row_stride * a.points[1];
  bool const active = i < a.points[0];
  bool const whole = i > 0 && i + width < a.points[0];  // no end of the line in the vector
  bool const first_lane = threadIdx.x == 0;
  bool const reads_edge =
      (first_lane && active && i > 0) || (threadIdx.x == warp_size - 1 && i + width < a.points[0]);
  int const edge_offset = first_lane ? -1 : width;

  // Lanes beyond the end of a line load its first vector, so that all of the warp can shuffle.
  long long offset = (active ? i : 0) + (dims == 3 ? j * row_stride : 0) + first * line_stride;
  Queue<dims, group, width, T> u, alpha;
  if constexpr (dims > 1) u.line[0] = load_kept<width>(a.in + offset - line_stride);
  u.line[1] = load_kept<width>(a.in + offset);
  if constexpr (variable) {
    if constexpr (dims > 1) alpha.line[0] = load_kept<width>(a.diffusivity + offset - line_stride);
    alpha.line[1] = load_kept<width>(a.diffusivity + offset);
  }
  for (int left = static_cast<int>(last - first); left > 0; left -= group) {
    u.load_group(a.in + offset, left, line_stride, row_stride, reads_edge, edge_offset);
    if constexpr (variable)
      alpha.load_group(a.diffusivity + offset, left, line_stride, row_stride, reads_edge,
                       edge_offset);
#pragma unroll
    for (int g = 0; g < group; ++g) {
      if (g >= left) break;
      auto const change = diffused<dims, variable>(a, u, alpha, g);
      Vector<T, width> result;
#pragma unroll
      for (int e = 0; e < width; ++e)
        result.at[e] = plain ? u.line[g + 1].at[e] + change.at[e]
                             : finish_point(a, offset + e, u.line[g + 1].at[e], change.at[e]);
      if (whole) {
        *reinterpret_cast<Vector<T, width>*>(a.out + offset) = result;
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e)
          if (i + e > 0 && i + e < a.points[0] - 1) a.out[offset + e] = result.at[e];
      }
      offset += line_stride;
    }
    u.move_on();
    if constexpr (variable) alpha.move_on();
  }
}

template <int dims, bool variable, bool plain, int width, class T>
void launch(Stream& stream, DiffusionArguments<T> const& a) {
  constexpr Shape shape = shape_of<dims, T>;
  long long const x_tiles = tiles_over(a.points[0], shape.x_warps * warp_size * width);
  long long const y_tiles = dims == 3 ? tiles_over(a.points[1] - 2, shape.y_warps) : 1;
  long long const lines = dims == 1 ? 1 : a.points[dims - 1] - 2;
  int const length = march_length(stream.device(), shape.length, lines,
                                  x_tiles * shape.x_warps * (dims == 3 ? a.points[1] : 1));
  long long const marches = tiles_over(lines, length);
  long long const inner =
      x_tiles * y_tiles * (dims == 2 ? tiles_over(marches, shape.y_warps) : marches);
  long long const sides = tiles_over(side_points<dims>(a.points), shape.threads());
  if (inner + sides > 2147483647)
    throw std::invalid_argument("stencil: the grid needs too many blocks");
  Work const work{static_cast<unsigned>(sides), static_cast<unsigned>(x_tiles),
                  static_cast<unsigned>(y_tiles), length};
  register_queue_kernel<dims, variable, plain, width>
      <<<static_cast<unsigned>(inner + sides), dim3(warp_size, shape.x_warps * shape.y_warps), 0,
         native(stream)>>>(a, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil register_queue");
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
    if (takes_vectors(arguments.points[0], arguments.in, arguments.out, arguments.diffusivity))
      with_width(std::integral_constant<int, 16 / sizeof(T)>{});
    else
      with_width(std::integral_constant<int, 1>{});
  });
}

template void cuda_register_queue(Stream&, int, DiffusionArguments<float> const&);
template void cuda_register_queue(Stream&, int, DiffusionArguments<double> const&);

}  // namespace gridstride::stencil

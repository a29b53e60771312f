// The rung `register_queue` of the star stencils: its idea is in cuda.cu.
//
// A warp owns 32 vectors of 16 bytes along x: 128 float32 or 64 float64 points. A block is a few
// warps beside each other along x, in 3D along y. A thread marches along the last axis, a group of
// lines at a time: the 2r lines that it has seen and the group's new ones are vectors in registers,
// a queue that moves on by a group. All loads of a group are independent, and so in flight at once:
// new lines of `in`, the group's lines of `previous` and, where there are, of c² and the source. A
// line becomes the center r lines after it was loaded; its neighbours along x (and y, in 3D) are
// then in L1, where the warps beside have brought them too. The points within r of a side are few,
// and different: blocks of their own take them, one thread each.
//
// Neighbouring marches go in opposite directions. So two marches that meet read the 2r lines
// which both need at about the same time, the second of them from L2.
//
// Bytes: (2 + 2r/length)·sizeof(T) read and sizeof(T) written a point, of which 2r/length come from
// L2. In place, a thread reads its vector of `previous` before it writes it.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>

#include "kernels/star/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/march.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::star {

namespace {

/// How a block is made, and how its threads march.
struct Shape {
  int x_warps, y_warps;  // warps along x, and along y in 3D
  int group;             // lines that are loaded together
  int length;            // lines of a march, on a grid that fills the GPU

  GRIDSTRIDE_HOST_DEVICE constexpr int threads() const { return 32 * x_warps * y_warps; }
};

/// The fastest of those measured on an H200, at 8192² and 512³ points.
template <int dims, class T>
constexpr Shape shape_of = dims == 1   ? Shape{4, 1, 1, 1}
                           : dims == 2 ? Shape{4, 1, 4, sizeof(T) == 4 ? 16 : 24}
                                       : Shape{1, 8, 1, 16};

/// The points within the radius of a side, in an order: the slabs normal to the last axis, then
/// what they leave of those normal to the one before, and so on.
struct Shell {
  long long core[3];  ///< points of each axis that are not near its sides; all of one without them
  long long size;

  Shell(int dims, int radius, long long const (&points)[3]) {
    long long all = 1, inner = 1;
    for (int axis = 0; axis < 3; ++axis) {
      long long const left = axis < dims ? points[axis] - 2 * radius : points[axis];
      core[axis] = left > 0 ? left : 0;
      all *= points[axis];
      inner *= core[axis];
    }
    size = all - inner;
  }
  bool has_core() const { return core[0] > 0 && core[1] > 0 && core[2] > 0; }
};

/// n / d and what is left in n; in 32 bits where they suffice, for a division in 64 bits costs as
/// much as a point.
__device__ inline long long divide(long long& n, long long d) {
  long long quotient = 0;
  if ((n | d) >> 32 == 0)
    quotient = static_cast<unsigned>(n) / static_cast<unsigned>(d);
  else
    quotient = n / d;
  n -= quotient * d;
  return quotient;
}

/// Computes point number n of the shell; nothing beyond the last.
template <int dims, int radius, class T>
__device__ void shell_point(LeapfrogArguments<T> const& a, Shell const& shell, long long n) {
  if (n >= shell.size) return;
  long long const nx = a.points[0], ny = a.points[1], nz = a.points[2];
  long long at[3] = {0, 0, 0};
  long long const z_slabs = dims == 3 ? (nz - shell.core[2]) * nx * ny : 0;
  long long const y_slabs = dims >= 2 ? (ny - shell.core[1]) * nx * shell.core[2] : 0;
  auto const beyond_core = [&](int axis, long long place) {
    return place < radius ? place : place + shell.core[axis];
  };
  if (n < z_slabs) {
    at[2] = beyond_core(2, divide(n, nx * ny));
    at[1] = divide(n, nx);
    at[0] = n;
  } else if ((n -= z_slabs) < y_slabs) {
    at[1] = beyond_core(1, divide(n, nx * shell.core[2]));
    at[2] = divide(n, nx) + (dims == 3 ? radius : 0);
    at[0] = n;
  } else {
    n -= y_slabs;
    long long line = divide(n, nx - shell.core[0]);
    at[0] = beyond_core(0, n);
    at[2] = divide(line, shell.core[1]) + (dims == 3 ? radius : 0);
    at[1] = line + (dims >= 2 ? radius : 0);
  }
  a.out[at[0] + nx * (at[1] + ny * at[2])] = update_beside<dims, radius>(a, at[0], at[1], at[2]);
}

/// What the blocks of a launch share out: first the shell, one thread for each point, then the
/// lines of the core.
struct Work {
  Shell shell;
  unsigned shell_blocks;
  unsigned x_tiles, y_tiles;
  int length;  // lines of a march
};

/// Where a thread of the core's blocks works.
struct Place {
  long long i, j;   // its vector's first point along x; its line along y (3D)
  long long first;  // the line that its march begins with
  int lines;
  int step;  // 1 or -1
};

template <int dims, int radius, int width, class T>
__device__ Place place_of(long long const (&points)[3], Work const& work) {
  constexpr Shape shape = shape_of<dims, T>;
  unsigned const block = blockIdx.x - work.shell_blocks;
  unsigned const tile = block / work.x_tiles;
  int const x_warp = threadIdx.y % shape.x_warps, y_warp = threadIdx.y / shape.x_warps;
  Place place;
  place.i =
      (static_cast<long long>(block % work.x_tiles * shape.x_warps + x_warp) * 32 + threadIdx.x) *
      width;
  place.j = 0;
  place.first = 0;
  place.lines = place.step = 1;
  if constexpr (dims == 1) return place;
  unsigned const march = dims == 2 ? tile : tile / work.y_tiles;
  long long const lower = radius + static_cast<long long>(march) * work.length;
  long long const left = points[dims - 1] - radius - lower;
  place.lines = static_cast<int>(left < work.length ? left : work.length);
  place.step = march % 2 == 0 ? 1 : -1;
  place.first = march % 2 == 0 ? lower : lower + place.lines - 1;
  if constexpr (dims == 3) {
    place.j = radius + tile % work.y_tiles * shape.y_warps + y_warp;
    if (place.j >= points[1] - radius) place.lines = 0;
  }
  return place;
}

/// A vector and its neighbours along x.
template <int radius, int width, class T>
struct Row {
  static constexpr int beside = (radius + width - 1) / width;  // vectors on each side
  T at[(2 * beside + 1) * width];

  __device__ Row(Vector<T, width> const& center, T const* source, long long i, long long points) {
#pragma unroll
    for (int v = -beside; v <= beside; ++v) {
      Vector<T, width> vector = center;
      bool const exists = i + v * width >= 0 && i + v * width < points;
      if (v != 0 && exists) vector = load_kept<width>(source + v * width);
#pragma unroll
      for (int e = 0; e < width; ++e) at[(v + beside) * width + e] = vector.at[e];
    }
  }
  __device__ T operator[](int e) const { return at[beside * width + e]; }
};

/// What a group reads beside `in`.
template <int group, bool plain, int width, class T>
struct Beside {
  Vector<T, width> previous[group];
  Vector<T, width> speed_squared[plain ? 1 : group], source[plain ? 1 : group];

  __device__ void load(LeapfrogArguments<T> const& a, int g, long long offset) {
    previous[g] = load_once<width>(a.previous + offset);
    if constexpr (!plain) {
      if (a.speed_squared) speed_squared[g] = load_once<width>(a.speed_squared + offset);
      if (a.source) source[g] = load_once<width>(a.source + offset);
    }
  }
};

/// What the Laplacian changes at the vector `*center`, of which `source` is the place in `in`; its
/// neighbours along the last axis lie beside it in the queue.
template <int dims, int radius, int width, class T>
__device__ Vector<T, width> changed(LeapfrogArguments<T> const& a, Vector<T, width> const* center,
                                    T const* source, long long i) {
  using Line = Vector<T, width>;
  Line change = {};
  auto const add = [&](int e, T weight, T lower, T upper) {
    change.at[e] = add_pair(change.at[e], weight, lower, center->at[e] + center->at[e], upper);
  };
  Row<radius, width, T> const x(*center, source, i, a.points[0]);
#pragma unroll
  for (int e = 0; e < width; ++e)
#pragma unroll
    for (int k = 1; k <= radius; ++k) add(e, a.weight[0][k - 1], x[e - k], x[e + k]);
#pragma unroll
  for (int k = 1; dims == 3 && k <= radius; ++k) {
    Line const lower = load_kept<width>(source - k * a.points[0]);
    Line const upper = load_kept<width>(source + k * a.points[0]);
#pragma unroll
    for (int e = 0; e < width; ++e) add(e, a.weight[1][k - 1], lower.at[e], upper.at[e]);
  }
#pragma unroll
  for (int e = 0; e < width; ++e)
#pragma unroll
    for (int k = 1; dims > 1 && k <= radius; ++k)
      add(e, a.weight[dims - 1][k - 1], (center - k)->at[e], (center + k)->at[e]);
  return change;
}

/// The new vector at the point (i, j, line) and on, or (i, line) in 2D.
template <int dims, int group, bool plain, int width, class T>
__device__ Vector<T, width> finished(LeapfrogArguments<T> const& a,
                                     Beside<group, plain, width, T> const& beside, int g,
                                     Vector<T, width> const& center, Vector<T, width> change,
                                     long long i, long long j, long long line) {
  Vector<T, width> result;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    T sigma = 0;
    if constexpr (!plain) {
      if (a.speed_squared) change.at[e] *= beside.speed_squared[g].at[e];
      if (a.source) change.at[e] = multiply_add(a.factor, beside.source[g].at[e], change.at[e]);
      sigma = damping_at<dims>(a, i + e, dims == 2 ? line : j, line);
    }
    result.at[e] = advance(a, center.at[e], beside.previous[g].at[e], change.at[e], sigma);
  }
  return result;
}

/// Stores the elements that are not near the ends of their row.
template <int radius, int width, class T>
__device__ void store(LeapfrogArguments<T> const& a, long long offset, long long i,
                      Vector<T, width> const& result) {
  if (i >= radius && i + width <= a.points[0] - radius) {
    store_once(a.out + offset, result);
    return;
  }
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (i + e >= radius && i + e < a.points[0] - radius) a.out[offset + e] = result.at[e];
}

template <int dims, int radius, bool plain, int width, class T>
__global__ void __launch_bounds__(shape_of<dims, T>.threads())
    register_queue_kernel(__grid_constant__ LeapfrogArguments<T> const a,
                          __grid_constant__ Work const work) {
  constexpr int group = shape_of<dims, T>.group, reach = dims > 1 ? radius : 0;
  if (blockIdx.x < work.shell_blocks) {
    shell_point<dims, radius>(a, work.shell,
                              static_cast<long long>(blockIdx.x) * shape_of<dims, T>.threads() +
                                  threadIdx.x + 32 * threadIdx.y);
    return;
  }
  auto const [i, j, first, lines, step] = place_of<dims, radius, width, T>(a.points, work);
  if (lines <= 0 || i >= a.points[0]) return;

  long long const row = a.points[0];
  long long const line = dims == 1 ? 0 : step * (dims == 2 ? row : row * a.points[1]);
  long long offset = i + (dims == 3 ? j * row : 0) + first * (line * step);
  Vector<T, width> queue[2 * reach + group];
#pragma unroll
  for (int q = 0; q < 2 * reach; ++q)
    queue[q] = load_kept<width>(a.in + offset + (q - reach) * line);
  for (int left = lines; left > 0; left -= group) {
    Beside<group, plain, width, T> beside;
#pragma unroll
    for (int g = 0; g < group; ++g) {
      if (g >= left) break;
      queue[2 * reach + g] = load_kept<width>(a.in + offset + (reach + g) * line);
      beside.load(a, g, offset + g * line);
    }
#pragma unroll
    for (int g = 0; g < group; ++g) {
      if (g >= left) break;
      auto const change = changed<dims, radius>(a, queue + reach + g, a.in + offset, i);
      long long const at = first + (lines - left + g) * step;
      store<radius>(a, offset, i, finished<dims>(a, beside, g, queue[reach + g], change, i, j, at));
      offset += line;
    }
#pragma unroll
    for (int q = 0; q < 2 * reach; ++q) queue[q] = queue[q + group];
  }
}

template <int dims, int radius, bool plain, int width, class T>
void launch(Stream& stream, LeapfrogArguments<T> const& a) {
  constexpr Shape shape = shape_of<dims, T>;
  Shell const shell(dims, radius, a.points);
  long long const x_tiles = tiles_over(a.points[0], shape.x_warps * 32 * width);
  long long const y_tiles = dims == 3 ? tiles_over(shell.core[1], shape.y_warps) : 1;
  long long const lines = dims == 1 ? 1 : shell.core[dims - 1];
  int const length = march_length(stream.device(), shape.length, lines,
                                  x_tiles * shape.x_warps * (dims == 3 ? shell.core[1] : 1));
  long long const shells = tiles_over(shell.size, shape.threads());
  long long const marches = shell.has_core() ? x_tiles * y_tiles * tiles_over(lines, length) : 0;
  if (shells + marches > 2147483647)
    throw std::invalid_argument("star: the grid needs too many blocks");
  Work const work{shell, static_cast<unsigned>(shells), static_cast<unsigned>(x_tiles),
                  static_cast<unsigned>(y_tiles), length};
  register_queue_kernel<dims, radius, plain, width>
      <<<static_cast<unsigned>(shells + marches), dim3(32, shape.x_warps * shape.y_warps), 0,
         native(stream)>>>(a, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "star register_queue");
}

}  // namespace

template <class T>
void cuda_register_queue(Stream& stream, int dims, int radius,
                         LeapfrogArguments<T> const& arguments) {
  with_shape(dims, radius, [&](auto rank, auto reach) {
    bool const vectors = takes_vectors(arguments.points[0], arguments.in, arguments.previous,
                                       arguments.out, arguments.speed_squared, arguments.source);
    if (vectors && is_plain(arguments))
      launch<rank(), reach(), true, vector_width<T>>(stream, arguments);
    else if (vectors)
      launch<rank(), reach(), false, vector_width<T>>(stream, arguments);
    else
      launch<rank(), reach(), false, 1>(stream, arguments);
  });
}

template void cuda_register_queue(Stream&, int, int, LeapfrogArguments<float> const&);
template void cuda_register_queue(Stream&, int, int, LeapfrogArguments<double> const&);

}  // namespace gridstride::star

// The kernel `planes`, by the name of PLANES: a stage of a scheme in 3D, or rates alone. After what
// compiled.cuh asks for stand
//
//   constexpr int width, parts, turns;        // points of a vector; vectors that a thread takes one
//                                             // after the other; planes that the loop is written
//                                             // out for
//   constexpr bool goes_around[3];            // axes that wrap to the value itself
//   using Vector = float4;                    // `width` values
//   using Index = int;                        // of a point of a plane
//   constexpr Line lines[] = {…};             // what the program reads along x, and how far beside
//   constexpr int line_number[components][2·reach_y + 1][2·reach_z + 1];   // in `lines`
//   constexpr bool is_queued[components];     // whether planes of it are kept
//   constexpr StageShape stage_shape = {…};   // what the stage is made of
//
// Thread-to-data: a thread owns a vector along x in one line of y, and marches along z over a chunk
// of planes. Its own vectors of the planes within reach are in registers, a queue that moves on by a
// plane; the next plane is loaded a turn ahead. What lies beside in x and y comes from L1, where the
// threads beside have brought it. Axes that wrap go around by the index. Points within reach of
// other sides are few, and different: blocks of their own take them, one thread each.
//
// Bytes: each component is read once and written once, and what a stage has beside that; a block
// reads 2·reach lines more than it has from L2, a chunk 2·reach planes.

#include "kernels/system/stage.cuh"

namespace gridstride::system {

constexpr int reach_y = reach[1], reach_z = reach[2];
constexpr int line_count = sizeof(lines) / sizeof(lines[0]);

struct Values {
  Real at[width];
};

__device__ __forceinline__ Values load_line(Real const* source) {
  return __builtin_bit_cast(Values, __ldg(reinterpret_cast<Vector const*>(source)));
}
/// The same of an array that the kernel may write.
__device__ __forceinline__ Values load_own(Real const* source) {
  return __builtin_bit_cast(Values, *reinterpret_cast<Vector const*>(source));
}

/// Once around an axis.
template <class T>
__device__ __forceinline__ T once_around(T i, long long points) {
  T const n = static_cast<T>(points);
  return i < 0 ? i + n : i >= n ? i - n : i;
}

/// A thread's place in a plane: its vector, the lines beside it and the points beside it.
struct Column {
  long long i, j;
  Index line[2 * reach_y + 1];                    // the vector's start, in each line
  Index left[reach[0] + 1], right[reach[0] + 1];  // from there to points beside, nearest first

  __device__ __forceinline__ Column(long long const (&points)[3], long long x, long long y)
      : i(x), j(y) {
#pragma unroll
    for (int dy = -reach_y; dy <= reach_y; ++dy)
      line[dy + reach_y] = static_cast<Index>(once_around(y + dy, points[1]) * points[0] + x);
#pragma unroll
    for (int n = 0; n < reach[0]; ++n) {
      left[n] = static_cast<Index>(once_around(x - 1 - n, points[0]) - x);
      right[n] = static_cast<Index>(once_around(x + width + n, points[0]) - x);
    }
  }
};

/// A plane of the march: its number, where it begins in an array, and where all planes end.
struct Plane {
  long long k, start, size, end;

  __device__ __forceinline__ Plane(long long const (&points)[3], long long number)
      : k(number),
        start(once_around(number, points[2]) * points[0] * points[1]),
        size(points[0] * points[1]),
        end(points[2] * points[0] * points[1]) {}
  __device__ __forceinline__ void move_on() {
    ++k;
    start += size;
    if (start == end) start = 0;
  }
  /// Where the plane dz further begins.
  template <int dz>
  __device__ __forceinline__ long long start_of() const {
    if constexpr (dz == 0) return start;
    return once_around(start + dz * size, end);
  }
};

/// A thread's vectors of the planes within reach, the lowest first.
struct Queue {
  Values at[2 * reach_z + 1][components];

  __device__ __forceinline__ void move_on(Values (&next)[components]) {
#pragma unroll
    for (int c = 0; c < components; ++c) {
#pragma unroll
      for (int d = 0; d < 2 * reach_z; ++d) at[d][c] = at[d + 1][c];
      at[2 * reach_z][c] = next[c];
    }
  }
};

__device__ __forceinline__ void load_plane(StageArguments<Real> const& a, Column const& column,
                                           Plane const& plane, Values (&values)[components]) {
#pragma unroll
  for (int c = 0; c < components; ++c)
    if (is_queued[c])
      values[c] = load_line(a.inputs[c].values + plane.start + column.line[reach_y]);
}

/// What a program reads that is not in the queue: for each of `lines` its vector, where it is of
/// another line of y, and the points beside it.
struct Beside {
  Values middle[line_count];
  Real left[line_count][reach[0] + 1], right[line_count][reach[0] + 1];

  template <int n>
  __device__ __forceinline__ void load(StageArguments<Real> const& a, Column const& column,
                                       Plane const& plane) {
    if constexpr (n < line_count) {
      constexpr Line line = lines[n];
      Real const* const values = a.inputs[line.component].values + plane.start_of<line.dz>();
      Index const start = column.line[line.dy + reach_y];
      if constexpr (line.dy != 0) middle[n] = load_line(values + start);
#pragma unroll
      for (int e = 0; e < line.left; ++e) left[n][e] = __ldg(values + (start + column.left[e]));
#pragma unroll
      for (int e = 0; e < line.right; ++e) right[n][e] = __ldg(values + (start + column.right[e]));
      load<n + 1>(a, column, plane);
    }
  }
};

/// What a program sees of an element of a thread's vector.
template <int element>
struct ElementSource : Point {
  Queue const& queue;
  Beside const& beside;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    constexpr int x = element + dx, number = line_number[component][dy + reach_y][dz + reach_z];
    if constexpr (x < 0)
      return beside.left[number][-1 - x];
    else if constexpr (x >= width)
      return beside.right[number][x - width];
    else if constexpr (dy == 0)
      return queue.at[dz + reach_z][component].at[x];
    else
      return beside.middle[number].at[x];
  }
};

/// The program at the elements from `element` on.
template <int element>
__device__ __forceinline__ void find_elements(StageArguments<Real> const& a, Column const& column,
                                              Plane const& plane, Queue const& queue,
                                              Beside const& beside, Values (&found)[results]) {
  if constexpr (element < width) {
    Point const point = {a.place, a.weights.fraction, {column.i + element, column.j, plane.k}};
    Real result[results];
    program(ElementSource<element>{point, queue, beside}, result);
#pragma unroll
    for (int c = 0; c < results; ++c) found[c].at[element] = result[c];
    find_elements<element + 1>(a, column, plane, queue, beside, found);
  }
}

/// What a stage makes of a component's rates at `offset` of the plane that begins at `start`, where
/// its value is `in`.
__device__ __forceinline__ void finish_stage(StageArguments<Real> const& a, int c, long long start,
                                             Index offset, Values const& in, Values& found) {
  Values base = in, addends[most_addends];
  if (!stage_shape.base_is_in) base = load_own(a.base[c] + start + offset);
#pragma unroll
  for (int n = 0; n < stage_shape.addends; ++n)
    addends[n] = load_own(a.addends[c][n] + start + offset);
#pragma unroll
  for (int e = 0; e < width; ++e)
    found.at[e] = stage_value(a.weights, stage_shape.mixes_in, stage_shape.addends, found.at[e],
                              in.at[e], base.at[e], [&](int n) { return addends[n].at[e]; });
}

/// Makes a plane's vectors and stores what lies in the core.
__device__ __forceinline__ void make_plane(PlanesArguments<Real> const& a, Column const& column,
                                           Plane const& plane, Queue const& queue) {
  StageArguments<Real> const& stage = a.stage;
  auto const& points = stage.place.points;
  Beside beside;
  beside.load<0>(stage, column, plane);
  Values found[results];
  find_elements<0>(stage, column, plane, queue, beside, found);
  long long const lower = a.margin[0], upper = points[0] - a.margin[0];
  bool const whole = goes_around[0] || (column.i >= lower && column.i + width <= upper);
#pragma unroll
  for (int c = 0; c < results; ++c) {
    if constexpr (stage_shape.is_stage)
      finish_stage(stage, c, plane.start, column.line[reach_y], queue.at[reach_z][c], found[c]);
    Real* const out = stage.out[c] + plane.start + column.line[reach_y];
    if (whole) {
      __stcs(reinterpret_cast<Vector*>(out), __builtin_bit_cast(Vector, found[c]));
      continue;
    }
#pragma unroll
    for (int e = 0; e < width; ++e)
      if (column.i + e >= lower && column.i + e < upper) out[e] = found[c].at[e];
  }
}

/// Marches with the vector at (x, y) over planes.
__device__ __forceinline__ void march_column(PlanesArguments<Real> const& a, long long x,
                                             long long y, long long first, long long last) {
  auto const& points = a.stage.place.points;
  Column const column(points, x, y);
  Queue queue;
  Plane ahead(points, first - reach_z), plane(points, first);
#pragma unroll
  for (int d = 0; d <= 2 * reach_z; ++d, ahead.move_on())
    load_plane(a.stage, column, ahead, queue.at[d]);
  for (;;) {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      Values next[components];
      if (plane.k + 1 < last) load_plane(a.stage, column, ahead, next);
      make_plane(a, column, plane, queue);
      plane.move_on();
      if (plane.k >= last) return;
      ahead.move_on();
      queue.move_on(next);
    }
  }
}

/// A thread's share of a tile in a chunk of planes.
__device__ __forceinline__ void march_planes(PlanesArguments<Real> const& a, unsigned tile) {
  auto const& points = a.stage.place.points;
  long long const first_vector = static_cast<long long>(tile % a.x_tiles) * parts * blockDim.x;
  tile /= a.x_tiles;
  long long const y =
      a.margin[1] + static_cast<long long>(tile % a.y_tiles) * blockDim.y + threadIdx.y;
  long long const first = a.margin[2] + static_cast<long long>(tile / a.y_tiles) * a.planes;
  long long const last = min(first + a.planes, points[2] - a.margin[2]);
  if (y >= points[1] - a.margin[1]) return;
#pragma unroll 1
  for (int part = 0; part < parts; ++part) {
    long long const x = (first_vector + part * blockDim.x + threadIdx.x) * width;
    if (x < points[0]) march_column(a, x, y, first, last);
  }
}

/// The n-th of the points that are not in the core: the slabs normal to z, then what they leave of
/// those normal to y, then of those normal to x.
__device__ __forceinline__ void make_shell_point(PlanesArguments<Real> const& a, long long n) {
  auto const& points = a.stage.place.points;
  long long core[3], at[3];
  for (int axis = 0; axis < 3; ++axis) core[axis] = max(points[axis] - 2 * a.margin[axis], 0LL);
  long long const z_slabs = (points[2] - core[2]) * points[1] * points[0];
  long long const y_slabs = (points[1] - core[1]) * points[0] * core[2];
  long long const x_slabs = (points[0] - core[0]) * core[1] * core[2];
  auto const beyond_core = [&](int axis, long long i) {
    return i < a.margin[axis] ? i : i + core[axis];
  };
  if (n < z_slabs) {
    at[0] = n % points[0];
    at[1] = n / points[0] % points[1];
    at[2] = beyond_core(2, n / points[0] / points[1]);
  } else if ((n -= z_slabs) < y_slabs) {
    at[0] = n % points[0];
    at[2] = n / points[0] % core[2] + a.margin[2];
    at[1] = beyond_core(1, n / points[0] / core[2]);
  } else if ((n -= y_slabs) < x_slabs) {
    at[1] = n % core[1] + a.margin[1];
    at[2] = n / core[1] % core[2] + a.margin[2];
    at[0] = beyond_core(0, n / core[1] / core[2]);
  } else {
    return;
  }
  Point const point = {a.stage.place, a.stage.weights.fraction, {at[0], at[1], at[2]}};
  Real result[results];
  program(GlobalAnywhere{point, a.stage}, result);
  store_point(a.stage, point, at[0] + points[0] * (at[1] + points[1] * at[2]), result);
}

}  // namespace gridstride::system

extern "C" __global__ void __launch_bounds__(PLANES_THREADS, PLANES_BLOCKS)
    PLANES(__grid_constant__ gridstride::system::PlanesArguments<Real> const a) {
  using namespace gridstride::system;
  if (a.stage.needs_step && a.stage.place.clock->step_size == 0) return;
  if constexpr (goes_around[0] && goes_around[1] && goes_around[2]) {
    march_planes(a, blockIdx.x);
  } else if (blockIdx.x >= a.shell_blocks) {
    march_planes(a, blockIdx.x - a.shell_blocks);
  } else {
    long long const thread = threadIdx.x + blockDim.x * threadIdx.y;
    make_shell_point(a, static_cast<long long>(blockIdx.x) * (blockDim.x * blockDim.y) + thread);
  }
}

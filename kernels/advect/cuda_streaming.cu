// The rung `streaming` of the ladder in cuda.cu for `upwind` and `lax_wendroff`: see there for what
// it follows.
//
// Thread-to-data: a warp owns a strip of columns along x and walks along the last axis, a group of
// rows at a time, all of which are loaded at once. In 3D it takes the rows beside along y too,
// which the other warps of the block bring into L1. x neighbours come by shuffle.
//
// Lax-Wendroff's sweeps become one pass. Forwards, each plane is swept along x (in 3D for three
// rows of it) and y as it comes in, and what is left of three planes is swept along the last axis.
// Backwards, three planes are swept along the last axis first, then along y, then across the lanes.
// In 3D the first sweep is so made three times.
//
// Bytes: 2·sizeof(T) per point with constant velocities, sizeof(T) more for each field of them.

#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/advect/march.cuh"

namespace gridstride::advect {

namespace {

constexpr int reach = 1;
constexpr int halo = 1;        // lanes
constexpr int line_warps = 4;  // of a block, in 1D
/// How a block is made, and how its warps march.
struct Shape {
  int warps;   // of a block: along x, in 3D along y
  int group;   // planes that are loaded together
  int length;  // of a march, on a grid that fills the GPU
};

/// The fastest of those measured on an H200, at 8192² and 512³ points.
template <int dims, bool variable>
constexpr Shape shape_of = dims == 3  ? Shape{4, 1, 32}
                           : variable ? Shape{4, 2, 32}
                                      : Shape{8, 8, 8};

/// Points of a row that a thread takes: fields of velocity need more registers.
template <bool variable, class T>
constexpr int vector_columns = (variable ? 8 : 16) / static_cast<int>(sizeof(T));

/// The rows of one plane that a thread's columns need: of u, and the Courant numbers along x, along
/// y (3D) and along the last axis. Where velocities are constant all of these are the same number.
template <int dims, bool variable, int width, class T>
struct Plane {
  static constexpr int rows = dims == 3 ? 3 : 1, middle = rows / 2;
  Columns<T, width> u[rows];
  Columns<T, width> c[variable ? dims : 1][variable ? rows : 1];

  __device__ T courant(AdvectionArguments<T> const& a, int axis, int row, int e) const {
    if constexpr (variable)
      return a.velocity[axis] ? a.weight[axis] * c[axis][row].at[e] : a.weight[axis];
    return a.weight[axis];
  }
};

/// What a step of the scheme changes between three values.
template <Scheme scheme, bool variable, class T>
__device__ T change_between(T c_lower, T lower, T c, T center, T c_upper, T upper) {
  Window<1, T> const window{{lower, center, upper}, {variable ? c_lower : c, c, c_upper}};
  return change_along<scheme, variable>(window, T(0));
}

/// The same across the lanes.
template <Scheme scheme, bool variable, int width, class T>
__device__ Columns<T, width> change_across(Columns<T, width> const& u, Columns<T, width> const& c) {
  T const left = __shfl_up_sync(whole_warp, u.at[width - 1], 1);
  T const right = __shfl_down_sync(whole_warp, u.at[0], 1);
  T c_left = c.at[0], c_right = c.at[0];
  if constexpr (variable) {
    c_left = __shfl_up_sync(whole_warp, c.at[width - 1], 1);
    c_right = __shfl_down_sync(whole_warp, c.at[0], 1);
  }
  Columns<T, width> change;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    int const below = e > 0 ? e - 1 : 0, above = e < width - 1 ? e + 1 : e;
    change.at[e] = change_between<scheme, variable>(
        e > 0 ? c.at[below] : c_left, e > 0 ? u.at[below] : left, c.at[e], u.at[e],
        e < width - 1 ? c.at[above] : c_right, e < width - 1 ? u.at[above] : right);
  }
  return change;
}

/// The Courant numbers along an axis of a row of a plane.
template <int dims, bool variable, int width, class T>
__device__ Columns<T, width> courants(AdvectionArguments<T> const& a,
                                      Plane<dims, variable, width, T> const& plane, int axis,
                                      int row) {
  Columns<T, width> c;
#pragma unroll
  for (int e = 0; e < width; ++e) c.at[e] = plane.courant(a, axis, row, e);
  return c;
}

/// What a step of the scheme changes along y in the middle of a plane's rows.
template <Scheme scheme, int dims, bool variable, int width, class T>
__device__ T change_beside(AdvectionArguments<T> const& a,
                           Plane<dims, variable, width, T> const& plane,
                           Columns<T, width> const (&u)[3], int e) {
  return change_between<scheme, variable>(plane.courant(a, 1, 0, e), u[0].at[e],
                                          plane.courant(a, 1, 1, e), u[1].at[e],
                                          plane.courant(a, 1, 2, e), u[2].at[e]);
}

/// How a scheme makes the new values of a plane: `arrive` takes the next plane, `value` gives the
/// result of the one before it.
template <Scheme scheme, bool reversed, int dims, bool variable, int width, class T>
struct Steps;

/// Upwind: all axes from the old values.
template <int dims, bool variable, int width, class T>
struct Steps<Scheme::upwind, false, dims, variable, width, T> {
  using PlaneType = Plane<dims, variable, width, T>;
  static constexpr int middle = PlaneType::middle, last = dims - 1;
  PlaneType below, here, above;

  __device__ void arrive(AdvectionArguments<T> const&, PlaneType const& plane) {
    below = here;
    here = above;
    above = plane;
  }
  __device__ Columns<T, width> value(AdvectionArguments<T> const& a, long long offset) const {
    auto change =
        change_across<Scheme::upwind, variable>(here.u[middle], courants(a, here, 0, middle));
#pragma unroll
    for (int e = 0; e < width; ++e) {
      if constexpr (dims == 3) change.at[e] += change_beside<Scheme::upwind>(a, here, here.u, e);
      change.at[e] += change_between<Scheme::upwind, variable>(
          below.courant(a, last, middle, e), below.u[middle].at[e],
          here.courant(a, last, middle, e), here.u[middle].at[e], above.courant(a, last, middle, e),
          above.u[middle].at[e]);
      change.at[e] = finish_point(a, offset + e, here.u[middle].at[e], change.at[e]);
    }
    return change;
  }
};

/// Lax-Wendroff from x on: a plane is swept as it arrives.
template <int dims, bool variable, int width, class T>
struct Steps<Scheme::lax_wendroff, false, dims, variable, width, T> {
  using PlaneType = Plane<dims, variable, width, T>;
  static constexpr int middle = PlaneType::middle, last = dims - 1;
  struct Swept {
    Columns<T, width> u, c;
  };
  Swept below, here, above;

  __device__ void arrive(AdvectionArguments<T> const& a, PlaneType const& plane) {
    below = here;
    here = above;
    Columns<T, width> rows[PlaneType::rows];
#pragma unroll
    for (int row = 0; row < PlaneType::rows; ++row) {
      rows[row] =
          change_across<Scheme::lax_wendroff, variable>(plane.u[row], courants(a, plane, 0, row));
#pragma unroll
      for (int e = 0; e < width; ++e) rows[row].at[e] += plane.u[row].at[e];
    }
    above = {rows[middle], courants(a, plane, last, middle)};
    if constexpr (dims == 3)
#pragma unroll
      for (int e = 0; e < width; ++e)
        above.u.at[e] += change_beside<Scheme::lax_wendroff>(a, plane, rows, e);
  }
  __device__ Columns<T, width> value(AdvectionArguments<T> const&, long long) const {
    Columns<T, width> result;
#pragma unroll
    for (int e = 0; e < width; ++e)
      result.at[e] = here.u.at[e] + change_between<Scheme::lax_wendroff, variable>(
                                        below.c.at[e], below.u.at[e], here.c.at[e], here.u.at[e],
                                        above.c.at[e], above.u.at[e]);
    return result;
  }
};

/// Lax-Wendroff from the last axis on: three planes wait for the one between to be swept.
template <int dims, bool variable, int width, class T>
struct Steps<Scheme::lax_wendroff, true, dims, variable, width, T> {
  using PlaneType = Plane<dims, variable, width, T>;
  static constexpr int middle = PlaneType::middle, last = dims - 1;
  PlaneType below, here, above;

  __device__ void arrive(AdvectionArguments<T> const&, PlaneType const& plane) {
    below = here;
    here = above;
    above = plane;
  }
  __device__ Columns<T, width> value(AdvectionArguments<T> const& a, long long) const {
    Columns<T, width> rows[PlaneType::rows];
#pragma unroll
    for (int row = 0; row < PlaneType::rows; ++row)
#pragma unroll
      for (int e = 0; e < width; ++e)
        rows[row].at[e] =
            here.u[row].at[e] + change_between<Scheme::lax_wendroff, variable>(
                                    below.courant(a, last, row, e), below.u[row].at[e],
                                    here.courant(a, last, row, e), here.u[row].at[e],
                                    above.courant(a, last, row, e), above.u[row].at[e]);
    Columns<T, width> result = rows[middle];
    if constexpr (dims == 3)
#pragma unroll
      for (int e = 0; e < width; ++e)
        result.at[e] += change_beside<Scheme::lax_wendroff>(a, here, rows, e);
    auto const change =
        change_across<Scheme::lax_wendroff, variable>(result, courants(a, here, 0, middle));
#pragma unroll
    for (int e = 0; e < width; ++e) result.at[e] += change.at[e];
    return result;
  }
};

// ----------------------------------------------------------------------------------- the kernel

template <Scheme scheme, bool reversed, int dims, bool variable, int width, class T>
__global__ void __launch_bounds__(shape_of<dims, variable>.warps* warp_size)
    streaming_kernel(__grid_constant__ AdvectionArguments<T> const a,
                     __grid_constant__ Work const work) {
  using PlaneType = Plane<dims, variable, width, T>;
  constexpr Shape shape = shape_of<dims, variable>;
  constexpr int group = shape.group, last = dims - 1;
  // Warps of a block lie beside each other along x, in 3D along y.
  auto const warp = static_cast<unsigned>(warp_index());
  Range const planes(a, last, reach), beside(a, 1, reach);
  unsigned const tile = dims == 3 ? blockIdx.x : blockIdx.x * shape.warps + warp;
  unsigned const x_tile = tile % work.x_tiles, march = tile / work.x_tiles % work.marches;
  long long j = 0;
  if constexpr (dims == 3)
    j = beside.first + static_cast<long long>(tile / work.x_tiles / work.marches) * shape.warps +
        warp;
  long long const first = planes.first + static_cast<long long>(march) * work.length;
  long long const end = first + work.length < planes.last ? first + work.length : planes.last;
  bool const exists = dims == 3 ? j < beside.last : tile / work.x_tiles < work.marches;
  if (!exists || first >= end) return;  // the whole warp

  Place<width, false> const place(a, x_tile, halo, reach);
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  // Where the rows of a plane begin: that of y − 1, y and y + 1 in 3D.
  long long row_offset[PlaneType::rows];
  if constexpr (dims == 3) {
    long long const n = a.points[1];
    row_offset[0] = (j > 0 ? j - 1 : n - 1) * stride[1] + place.column;
    row_offset[1] = j * stride[1] + place.column;
    row_offset[2] = (j < n - 1 ? j + 1 : 0) * stride[1] + place.column;
  } else {
    row_offset[0] = place.column;
  }
  ShortWalk ahead(first - 1, a.points[last], stride[last]);
  auto const next_plane = [&](PlaneType& plane) {
#pragma unroll
    for (int row = 0; row < PlaneType::rows; ++row) {
      long long const offset = ahead.offset + row_offset[row];
      plane.u[row] = load_columns<width>(a.in + offset);
      if constexpr (variable)
#pragma unroll
        for (int axis = 0; axis < dims; ++axis)
          if (a.velocity[axis]) plane.c[axis][row] = load_columns<width>(a.velocity[axis] + offset);
    }
    ahead.advance();
  };

  Steps<scheme, reversed, dims, variable, width, T> steps;
  PlaneType coming[group];
#pragma unroll
  for (int plane = 0; plane < 2; ++plane) {
    next_plane(coming[0]);
    steps.arrive(a, coming[0]);
  }
  long long offset = first * stride[last] + (dims == 3 ? j * stride[1] : 0);
  for (auto left = static_cast<int>(end - first); left > 0; left -= group) {
#pragma unroll
    for (int g = 0; g < group; ++g)
      if (g < left) next_plane(coming[g]);
#pragma unroll
    for (int g = 0; g < group; ++g) {
      if (g >= left) break;
      steps.arrive(a, coming[g]);
      place.store(a.out + offset, steps.value(a, offset + place.column));
      offset += stride[last];
    }
  }
}

/// In 1D there is nothing to walk along: a vector for each lane.
template <Scheme scheme, bool variable, int width, class T>
__global__ void line_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  unsigned const x_tile = blockIdx.x * line_warps + static_cast<unsigned>(warp_index());
  Place<width, false> const place(a, x_tile, halo, reach);
  Plane<1, variable, width, T> line;
  constexpr int middle = line.middle;
  auto const& u = line.u[middle];
  line.u[middle] = load_columns<width>(a.in + place.column);
  if constexpr (variable) line.c[0][middle] = load_columns<width>(a.velocity[0] + place.column);
  auto change = change_across<scheme, variable>(u, courants(a, line, 0, middle));
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (place.stored >> e & 1)
      change.at[e] = finish_point(a, place.column + e, u.at[e], change.at[e]);
  place.store(a.out, change);
}

template <Scheme scheme, bool variable, int width, class T>
void launch_line(Stream& stream, AdvectionArguments<T> const& a) {
  constexpr long long tile = line_warps * (warp_size - 2 * halo) * width;
  unsigned const blocks = checked_blocks((a.points[0] + tile - 1) / tile);
  line_kernel<scheme, variable, width><<<blocks, line_warps * warp_size, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advect streaming");
}

template <Scheme scheme, bool reversed, int dims, bool variable, int width, class T>
void launch(Stream& stream, AdvectionArguments<T> const& a) {
  constexpr Shape shape = shape_of<dims, variable>;
  constexpr int last = dims - 1;
  auto const tiles = [](long long points, long long tile) { return (points + tile - 1) / tile; };
  Range const columns(a, 0, reach), beside(a, 1, reach), planes(a, last, reach);
  if (columns.size() == 0 || planes.size() == 0 || beside.size() == 0) return;
  long long const x_tiles = tiles(columns.last, (warp_size - 2 * halo) * width);
  int const length = march_length(stream.device(), shape.length, planes.size(),
                                  x_tiles * (dims == 3 ? beside.size() : 1), a.beside);
  long long const marches = tiles(planes.size(), length);
  Work const work{static_cast<unsigned>(x_tiles), static_cast<unsigned>(marches), length};
  unsigned const blocks =
      checked_blocks(dims == 3 ? x_tiles * marches * tiles(beside.size(), shape.warps)
                               : tiles(x_tiles * marches, shape.warps));
  streaming_kernel<scheme, reversed, dims, variable, width>
      <<<blocks, shape.warps * warp_size, 0, native(stream)>>>(a, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advect streaming");
}

template <Scheme scheme, int dims, bool variable, int width, class T>
void launch_either_way(Stream& stream, AdvectionArguments<T> const& a) {
  if constexpr (scheme == Scheme::lax_wendroff)
    if (a.reversed) return launch<scheme, true, dims, variable, width>(stream, a);
  launch<scheme, false, dims, variable, width>(stream, a);
}

}  // namespace

template <class T>
void cuda_streaming(Stream& stream, int dims, Scheme scheme,
                    AdvectionArguments<T> const& arguments) {
  if (scheme == Scheme::weno5) return cuda_streaming_weno(stream, dims, arguments);
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    if constexpr (which() != Scheme::weno5) {
      constexpr int columns = vector_columns<variable(), T>;
      auto const with_width = [&](auto width) {
        if constexpr (rank() == 1)
          launch_line<which(), variable(), width()>(stream, arguments);
        else
          launch_either_way<which(), rank(), variable(), width()>(stream, arguments);
      };
      if (takes_vectors<columns>(arguments))
        with_width(std::integral_constant<int, columns>{});
      else
        with_width(std::integral_constant<int, 1>{});
      launch_sides<rank(), which(), variable()>(stream, arguments);
    }
  });
}

template void cuda_streaming(Stream&, int, Scheme, AdvectionArguments<float> const&);
template void cuda_streaming(Stream&, int, Scheme, AdvectionArguments<double> const&);

}  // namespace gridstride::advect

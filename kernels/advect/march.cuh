#pragma once

// What the two streaming kernels have in common: which points their warps take, how they walk, and
// the points near open sides that they leave to `side_kernel`.
//
// A warp's lanes own `width` neighbouring points of a row each. The first and the last few lanes
// (`halo`) only bring what the lanes between need of their neighbours; the next warp owns their
// points. Rows and columns beyond the end of a periodic axis are those at its other end.

#include <cuda_runtime.h>

#include <climits>
#include <stdexcept>

#include "kernels/advect/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::advect {

/// `width` neighbouring points of a row, in the order of the flow: in that of memory, or mirrored.
template <class T, int width>
struct alignas(sizeof(T) * width) Columns {
  T at[width];
};

template <int width, bool mirrored = false, class T>
__device__ Columns<T, width> load_columns(T const* source) {
  auto const raw = *reinterpret_cast<Columns<T, width> const*>(source);
  Columns<T, width> result;
#pragma unroll
  for (int e = 0; e < width; ++e) result.at[e] = raw.at[mirrored ? width - 1 - e : e];
  return result;
}

/// The points of an axis that marches compute, [first, last): all of a periodic axis, of an open
/// or cut one those whose neighbours lie in the grid.
struct Range {
  long long first, last;

  template <class T>
  GRIDSTRIDE_HOST_DEVICE Range(AdvectionArguments<T> const& a, int axis, int reach)
      : first(a.periodic[axis] ? 0 : reach), last(a.points[axis] - first) {
    if (last < first) last = first;
  }
  GRIDSTRIDE_HOST_DEVICE long long size() const { return last - first; }
};

/// How the blocks of a launch share the work out.
struct Work {
  unsigned x_tiles;  // warps along x
  unsigned marches;  // along the axis that is walked
  int length;        // rows of a march
};

/// A thread's columns: where they lie in a row, and which of them it stores.
template <int width, bool mirrored>
struct Place {
  long long column;  // in memory, of the vector
  unsigned stored;   // bit e: column e, in the order of the flow
  static constexpr unsigned all = (1u << width) - 1;

  template <class T>
  __device__ Place(AdvectionArguments<T> const& a, unsigned x_tile, int halo, int reach) {
    int const lane = lane_index();
    long long const n = a.points[0];
    long long from =
        (static_cast<long long>(x_tile) * (warp_size - 2 * halo) + lane - halo) * width;
    Range const range(a, 0, reach);
    stored = 0;
    if (lane >= halo && lane < warp_size - halo)
      for (int e = 0; e < width; ++e)
        if (from + e >= range.first && from + e < range.last) stored |= 1u << e;
    if (a.periodic[0])
      from = (from % n + n) % n;
    else
      from = from < 0 ? 0 : from > n - width ? n - width : from;
    column = mirrored ? n - width - from : from;
  }

  template <class T>
  __device__ void store(T* row, Columns<T, width> const& values) const {
    Columns<T, width> ordered;
#pragma unroll
    for (int e = 0; e < width; ++e) ordered.at[e] = values.at[mirrored ? width - 1 - e : e];
    if (stored == all) {
      *reinterpret_cast<Columns<T, width>*>(row + column) = ordered;
    } else if (stored != 0) {
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (stored >> e & 1) row[column + (mirrored ? width - 1 - e : e)] = values.at[e];
    }
  }
};

/// A place on an axis that goes around: offset(p) = p·step from the axis' first row.
struct Walk {
  long long offset, step, row, rows;

  __device__ Walk(long long start, long long count, long long stride) : step(stride), rows(count) {
    row = (start % count + count) % count;
    offset = row * step;
  }
  __device__ void advance() {
    offset += step;
    if (++row < rows) return;
    row = 0;
    offset = 0;
  }
};

/// The same, for as many rows as an int counts. On an H200 upwind and lax_wendroff in float64 take 12 % less with it
/// than where rows were counted up; weno5 in float32 takes 8 % more with it than with `Walk`.
struct ShortWalk {
  long long offset, step;
  int left, rows;  ///< before the axis begins again, and then: as far as an int counts

  __device__ ShortWalk(long long start, long long count, long long stride) : step(stride) {
    long long const first = (start % count + count) % count;
    offset = first * step;
    left = counted(count - first);
    rows = counted(count);
  }
  __device__ void advance() {
    offset += step;
    if (--left > 0) return;
    offset = 0;
    left = rows;
  }

 private:
  __device__ static int counted(long long count) {
    return static_cast<int>(count < INT_MAX ? count : INT_MAX);
  }
};

/// Rows of a march: `longest`, or fewer where a small grid would not give every multiprocessor
/// enough warps; `beside` others all the same.
inline int march_length(Device const& device, int longest, long long rows, long long warps_beside,
                        bool beside) {
  int length = longest;
  while (!beside && length > 8 &&
         warps_beside * ((rows + length - 1) / length) < 32LL * device.processors())
    length = (length + 1) / 2;
  return length;
}

inline unsigned checked_blocks(long long blocks) {
  if (blocks > 2147483647) throw std::invalid_argument("advect: the grid needs too many blocks");
  return static_cast<unsigned>(blocks);
}

/// Whether every row starts at a multiple of a vector's size, so that vectors can be loaded.
template <int width, class T>
bool takes_vectors(AdvectionArguments<T> const& a) {
  auto const aligned = [](void const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % (width * sizeof(T)) == 0;
  };
  return a.points[0] % width == 0 && aligned(a.in) && aligned(a.out) && aligned(a.base) &&
         aligned(a.velocity[0]) && aligned(a.velocity[1]) && aligned(a.velocity[2]);
}

// --------------------------------------------------------------------------- points near sides

/// Point number n of those outside of the ranges: slabs at both ends of the last axis, then what
/// they leave of the axis before, and so on.
template <int dims, class T>
__device__ bool side_point(AdvectionArguments<T> const& a, int reach, long long n, Point& point) {
  for (int axis = dims - 1; axis >= 0; --axis) {
    long long const inner = Range(a, axis, reach).size();
    long long const thickness = a.points[axis] - inner, below = thickness - thickness / 2;
    long long size = thickness;
    for (int other = 0; other < dims; ++other)
      if (other != axis) size *= other < axis ? a.points[other] : Range(a, other, reach).size();
    if (n >= size) {
      n -= size;
      continue;
    }
    point = {{0, 0, 0}};
    for (int other = 0; other < dims; ++other) {
      long long const extent = other == axis  ? thickness
                               : other < axis ? a.points[other]
                                              : Range(a, other, reach).size();
      point.at[other] = n % extent;
      n /= extent;
      if (other == axis && point.at[other] >= below) point.at[other] += inner;
      if (other > axis) point.at[other] += Range(a, other, reach).first;
    }
    return true;
  }
  return false;
}

template <int dims, Scheme scheme, bool variable, class T>
__global__ void side_kernel(__grid_constant__ AdvectionArguments<T> const a) {
  Point point;
  if (side_point<dims>(a, reach_of<scheme>,
                       static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x, point) &&
      !is_left<dims, scheme>(a, point))
    a.out[point.offset(a)] = update_point<dims, scheme, variable>(a, point);
}

/// Queues the points that marches leave out.
template <int dims, Scheme scheme, bool variable, class T>
void launch_sides(Stream& stream, AdvectionArguments<T> const& a) {
  constexpr int threads = 128;
  long long all = 1, inner = 1;
  bool is_open = false;
  for (int axis = 0; axis < dims; ++axis) {
    is_open = is_open || (!a.periodic[axis] && !(a.cut[axis][0] && a.cut[axis][1]));
    all *= a.points[axis];
    inner *= Range(a, axis, reach_of<scheme>).size();
  }
  if (!is_open || all == inner) return;
  unsigned const blocks = checked_blocks((all - inner + threads - 1) / threads);
  side_kernel<dims, scheme, variable><<<blocks, threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advect sides");
}

}  // namespace gridstride::advect

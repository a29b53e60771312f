#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/multigrid/level.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

/// What kernels that go by columns of points have in common. For the family's own files only.
namespace gridstride::multigrid {

/// Which axes lie across a column and along it: y and z, or of planes z, which has nothing then, and y. A volume
/// with one unknown along z has its neighbours on sides there.
struct Axes {
  int across, along;
};
template <class S>
Axes axes_of(Level<S> const& level) {
  return level.of_volume ? Axes{1, 2} : Axes{2, 1};
}

inline unsigned blocks_for(int all, unsigned each) {
  return (static_cast<unsigned>(all) + each - 1) / each;
}

constexpr int threads_of_columns = 256;

/// Columns side by side, cut into pieces of so many points.
struct Columns {
  dim3 block, grid;
  int piece;

  /// Of a piece that is fitted: blocks side by side are to be at planes that are near each other.
  static constexpr int longest = 40;

  /// Of `x` threads in a row.
  static Columns of(int x, int across, int along) {
    Columns columns;
    unsigned width = 8;
    while (width < 64 && static_cast<int>(width) < x) width *= 2;
    columns.block = dim3(width, across == 1 ? 1 : threads_of_columns / width);
    columns.piece = piece_of_columns(std::int64_t{x} * across * along);
    columns.grid = dim3(blocks_for(x, columns.block.x), blocks_for(across, columns.block.y),
                        blocks_for(along, static_cast<unsigned>(columns.piece)));
    return columns;
  }
  /// Cut so that what the device has at work together is as much as can be until all is done: blocks of
  /// the last turn leave others idle, and a piece begins by loading what lies before it, which takes as
  /// long as a plane. What kernels find at points does not depend on that.
  template <class Kernel>
  Columns fitted(Stream& stream, Kernel* kernel, int along) const {
    int resident = 0;
    GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, kernel, static_cast<int>(block.x * block.y), 0));
    std::int64_t const at_once = std::max(1, resident * stream.device().processors());
    Columns best = *this;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int piece = std::min(along, longest); piece >= 1; --piece) {
      unsigned const pieces = blocks_for(along, static_cast<unsigned>(piece));
      std::int64_t const blocks = std::int64_t{grid.x} * grid.y * pieces;
      std::int64_t const time = (blocks + at_once - 1) / at_once * (piece + 1);
      if (time >= least) continue;
      least = time;
      best.piece = piece;
      best.grid.z = pieces;
    }
    return best;
  }
  /// In rows one behind the other, so that blocks do not end with them: as long as rows lie so in memory.
  static Columns in_a_row(int x, int across, int along) {
    Columns columns = of(x, across, along);
    if (across == 1) return columns;
    columns.block = dim3(threads_of_columns);
    columns.grid.x = blocks_for(x * across, threads_of_columns);
    columns.grid.y = 1;
    return columns;
  }
  /// In blocks of `width` by `rows` threads.
  static Columns in_blocks(unsigned width, unsigned rows, int x, int across, int along) {
    Columns columns = of(x, across, along);
    columns.block = dim3(width, rows);
    columns.grid.x = blocks_for(x, width);
    columns.grid.y = blocks_for(across, rows);
    return columns;
  }
};

/// A number that is kept in a register, where the compiler would rather find it anew for each plane.
template <class Number>
__device__ Number kept(Number number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// The thread's column.
struct Column {
  int x, across, first, last;

  __device__ explicit Column(int piece, int along)
      : x(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x)),
        across(static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y)),
        first(static_cast<int>(blockIdx.z) * piece),
        last(min(first + piece, along)) {}
  /// Of rows of so many one behind the other.
  __device__ Column(int piece, int along, int of_row) : Column(piece, along) {
    across = x / of_row;
    x -= across * of_row;
  }
};

/// Where the neighbour at a distance of ±1 is; of points without one the point itself.
__device__ inline int beside(int at, int step, int count, bool periodic) {
  int const next = at + step;
  if (next >= 0 && next < count) return next;
  return !periodic ? at : next < 0 ? count - 1 : 0;
}

/// From a row of a colour to the next one across columns, and along them.
template <class S>
__device__ int row_stride(Level<S> const& level, int axis) {
  return axis == 1 ? level.half : level.half * level.count[1];
}

__device__ inline float quotient(float a, float b) { return __fdividef(a, b); }
__device__ inline double quotient(double a, double b) { return a / b; }

/// Neighbouring points of a colour in a row: as many as one instruction loads.
template <class S>
using Strip = Vector<S, vector_width<S>>;

/// Of what the kernel does not write.
__device__ inline Strip<float> load_strip(float const* source) {
  float4 const v = __ldg(reinterpret_cast<float4 const*>(source));
  return {{v.x, v.y, v.z, v.w}};
}
__device__ inline Strip<double> load_strip(double const* source) {
  double2 const v = __ldg(reinterpret_cast<double2 const*>(source));
  return {{v.x, v.y}};
}

/// Of what kernels before it write.
template <class S>
__device__ Strip<S> load_changing(S const* source) {
  return *reinterpret_cast<Strip<S> const*>(source);
}

/// What the axes across and in a row say of the equations of a strip. Where those of a row are `alike`
/// but for given ends they are three numbers: a neighbour that is given is 0, as places behind the end
/// of a row are, which have to be kept so.
template <class S, bool alike>
struct StripEquations {
  static constexpr int width = vector_width<S>;
  static constexpr int kinds = alike ? 1 : 2, each = alike ? 1 : width;
  int first;         ///< index of the strip's first point in the half row
  int left, right;   ///< those of the neighbours beyond its ends
  int wraps;         ///< which point of the strip has the row's first one behind it, or -1
  int below, above;  ///< from the row to those beside it
  int points;        ///< of the row that are not before the strip
  bool is_ring;
  S lower[kinds][each], upper[kinds][each], sum[kinds][each];  ///< of even points and of odd ones
  S lower_across, upper_across;
  S sum_across, sum_below, sum_above;  ///< with the reaction

  __device__ S lower_of(int odd, int v) const {
    return alike ? lower[0][0] : lower[odd % kinds][v % each];
  }
  __device__ S upper_of(int odd, int v) const {
    return alike ? upper[0][0] : upper[odd % kinds][v % each];
  }
  __device__ S sum_of(int odd, int v) const {
    return alike ? sum[0][0] : sum[odd % kinds][v % each];
  }
  /// Whether the strip ends behind the row.
  __device__ bool ends_behind() const { return points < 2 * width; }
  __device__ bool is_point(int odd, int v) const { return 2 * v + odd < points; }

  __device__ StripEquations(Level<S> const& level, Axes axes, int strip, int j) {
    int const n = level.count[0], m = level.count[axes.across];
    is_ring = level.periodic[0];
    first = strip * width;
    points = n - 2 * first;
    wraps = -1;
    if constexpr (alike) {
      lower[0][0] = level.lower[0][1];
      upper[0][0] = level.upper[0][1];
      sum[0][0] = level.sum[0][1];
      if (is_ring && n % 2 == 0 && n / 2 - 1 >= first && n / 2 - 1 < first + width)
        wraps = n / 2 - 1 - first;
    } else {
#pragma unroll
      for (int v = 0; v < width; ++v)
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          // Behind the end of a row there are zeros, which stay: equations of their own say so.
          int const i = 2 * (first + v) + odd;
          lower[odd % kinds][v % each] = i < n ? level.lower[0][i] : S{0};
          upper[odd % kinds][v % each] = i < n ? level.upper[0][i] : S{0};
          sum[odd % kinds][v % each] = i < n ? level.sum[0][i] : S{1};
          if (is_ring && odd == 1 && i == n - 1) wraps = v;
        }
    }
    left = first > 0 ? first - 1 : is_ring ? (n - 1) >> 1 : 0;
    right = min(first + width, level.half - 1);
    int const over = row_stride(level, axes.across);
    int const under = beside(j, -1, m, level.periodic[axes.across]);
    int const on = beside(j, 1, m, level.periodic[axes.across]);
    below = (under - j) * over;
    above = (on - j) * over;
    S const* const across = level.sum[axes.across];
    lower_across = level.lower[axes.across][j];
    upper_across = level.upper[axes.across][j];
    sum_across = across[j] + level.reaction;
    sum_below = across[under] + level.reaction;
    sum_above = across[on] + level.reaction;
  }

  /// Whether the neighbour beyond the strip's end on the side of even points, or of odd ones, counts.
  __device__ bool has_side(bool odd, int half) const {
    return !alike || (odd ? first + width < half : first > 0 || is_ring);
  }
  /// Σ neighbours of the strip's points with odd numbers, or even ones; values before and behind are
  /// of other planes.
  __device__ S others(int odd, int v, Strip<S> const& here, S side, S wrapped,
                      Strip<S> const& below_, Strip<S> const& above_, Strip<S> const& before,
                      Strip<S> const& behind, S lower_along, S upper_along) const {
    S beyond = odd == 1 ? (v + 1 < width ? here.at[(v + 1) % width] : side)
                        : (v > 0 ? here.at[(v + width - 1) % width] : side);
    if (odd == 1 && v == wraps) beyond = wrapped;
    S const in_row = odd == 1 ? lower_of(1, v) * here.at[v] + upper_of(1, v) * beyond
                              : lower_of(0, v) * beyond + upper_of(0, v) * here.at[v];
    return in_row + (lower_across * below_.at[v] + upper_across * above_.at[v]) +
           (lower_along * before.at[v] + upper_along * behind.at[v]);
  }
};

}  // namespace gridstride::multigrid

// The steps of large levels with the same coefficients everywhere, in 2D and 3D: a thread has a
// column of points along the last axis, and keeps what neighbours have of it from point to point.
//
// Colours alternate along a column, and so do the two points of a colour's half row that share an
// index: of the other colour, what lies at the same index in one plane after another is the point
// beside, before and behind. So a point of a colour costs one value of its column, one of its row,
// two across, and its own. What the axes say of coefficients stays in registers, but for those of
// the column. Relaxation moves 1.5 to 2 numbers a point of the level.
//
// Residuals are gathered in two kernels, for they would be computed four times in one: of the first
// colour alone, half a number each, and then plane by plane, each plane once.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>

#include "kernels/multigrid/march.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads_of_march = 256;

/// Which axes lie across a column and along it: y and z, or of planes z and y.
struct Axes {
  int across, along;
};
template <class S>
Axes axes_of(Level<S> const& level) {
  return level.count[2] > 1 ? Axes{1, 2} : Axes{2, 1};
}

/// Columns side by side, cut into pieces of so many points.
struct Columns {
  dim3 block, grid;
  int piece;

  static Columns of(int x, int across, int along) {
    Columns columns;
    unsigned const width = across == 1 ? 256 : x > 32 ? 64 : 32;
    columns.block = dim3(width, threads_of_march / width);
    auto const count = [](int all, unsigned each) {
      return (static_cast<unsigned>(all) + each - 1) / each;
    };
    unsigned const m = count(x, columns.block.x), n = count(across, columns.block.y);
    constexpr std::int64_t wanted = 4096;  // blocks; a number that depends on no device
    std::int64_t const pieces =
        std::clamp<std::int64_t>(wanted / (std::int64_t{m} * n), 1, (along + 1) / 2);
    columns.piece = static_cast<int>(std::max<std::int64_t>(1, (along + pieces - 1) / pieces));
    columns.grid = dim3(m, n, count(along, static_cast<unsigned>(columns.piece)));
    return columns;
  }
};

/// The thread's column.
struct Column {
  int x, across, first, last;

  __device__ explicit Column(int piece, int along)
      : x(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x)),
        across(static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y)),
        first(static_cast<int>(blockIdx.z) * piece),
        last(min(first + piece, along)) {}
};

__device__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ double quotient(double a, double b) { return a / b; }

/// Where the neighbour at a distance of ±1 is; of points without one the point itself.
__device__ int beside(int at, int step, int count, bool periodic) {
  int const next = at + step;
  if (next >= 0 && next < count) return next;
  return !periodic ? at : next < 0 ? count - 1 : 0;
}

enum class Does { begin, relax, overdo, keep_residual };

template <Does does, class S>
__global__ void __launch_bounds__(threads_of_march)
    colour_kernel(__grid_constant__ Level<S> const level, int colour, Axes axes, int piece) {
  int const n = level.count[0], m = level.count[axes.across], p = level.count[axes.along];
  Column const column(piece, p);
  int const x = column.x, j = column.across;
  if (x >= level.half || j >= m) return;
  std::int64_t const line = std::int64_t{level.half} * level.count[1];
  std::int64_t const over_across = axes.across == 1 ? level.half : line;
  std::int64_t const over_along = axes.along == 1 ? level.half : line;
  // Along x for the even point of the index and for the odd one.
  bool const has_odd = 2 * x + 1 < n;
  S lower[2], upper[2], sum[2];
  for (int odd = 0; odd < 2; ++odd) {
    int const i = odd == 0 || has_odd ? 2 * x + odd : 2 * x;
    lower[odd] = level.lower[0][i];
    upper[odd] = level.upper[0][i];
    sum[odd] = level.sum[0][i] + level.sum[axes.across][j] + level.reaction;
  }
  int const left = beside(2 * x, -1, n, level.periodic[0]) >> 1;
  int const right = has_odd ? beside(2 * x + 1, 1, n, level.periodic[0]) >> 1 : x;
  S const before_across = level.lower[axes.across][j], behind_across = level.upper[axes.across][j];
  std::int64_t const below = (beside(j, -1, m, level.periodic[axes.across]) - j) * over_across + x;
  std::int64_t const above = (beside(j, 1, m, level.periodic[axes.across]) - j) * over_across + x;
  S const* const other = level.u + (1 - colour) * level.colour + j * over_across;
  std::int64_t const own = colour * level.colour + j * over_across + x;
  bool const wraps = level.periodic[axes.along];
  S const *lowers = level.lower[axes.along], *uppers = level.upper[axes.along],
          *sums = level.sum[axes.along];

  S before = 0, here = 0;
  if (does != Does::begin) {
    before = __ldg(other + beside(column.first, -1, p, wraps) * over_along + x);
    here = __ldg(other + column.first * over_along + x);
  }
  // What is only read goes past the stores: several planes are under way.
#pragma unroll 4
  for (int k = column.first; k < column.last; ++k) {
    S behind = 0;
    if (does != Does::begin) behind = __ldg(other + beside(k, 1, p, wraps) * over_along + x);
    bool const odd = ((colour + j + k) & 1) != 0;
    // Of an odd point that is none, behind the end of a row, nothing is kept.
    bool const is_there = !odd || has_odd;
    std::int64_t const place = own + k * over_along;
    S const diagonal = (odd ? sum[1] : sum[0]) + __ldg(sums + k);
    S const f = __ldg(level.f + place);
    S result;
    if (does == Does::begin) {
      result = level.over * quotient(f, diagonal);
    } else {
      S const* const row = other + k * over_along;
      S const side = __ldg(row + (odd ? right : left));
      S const in_row = odd ? lower[1] * here + upper[1] * side : lower[0] * side + upper[0] * here;
      S const others = in_row +
                       (before_across * __ldg(row + below) + behind_across * __ldg(row + above)) +
                       (__ldg(lowers + k) * before + __ldg(uppers + k) * behind);
      if (does == Does::keep_residual)
        result = (f - diagonal * __ldg(level.u + place)) + others;
      else
        result = quotient(f + others, diagonal);
      if (does == Does::overdo) result = over(level, level.u[place], result);
    }
    if (is_there) (does == Does::keep_residual ? level.r : level.u)[place] = result;
    before = here;
    here = behind;
  }
}

/// f of the coarse level from residuals of the first colour.
template <class S>
__global__ void __launch_bounds__(threads_of_march)
    gather_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                  Axes axes, int piece) {
  Column const column(piece, coarse.count[axes.along]);
  int const x = column.x, y = column.across;
  if (x >= coarse.count[0] || y >= coarse.count[axes.across]) return;
  auto const &in_row = fine.transfer[0], &across = fine.transfer[axes.across],
             &along = fine.transfer[axes.along];
  int const i = in_row.kept[x], j = across.kept[y];
  std::int64_t const line = std::int64_t{fine.half} * fine.count[1];
  std::int64_t const over_across = axes.across == 1 ? fine.half : line;
  std::int64_t const over_along = axes.along == 1 ? fine.half : line;
  S weight[3], rows[3];
  int half[3];
  std::int64_t row[3];
  for (int a = 0; a < 3; ++a) {
    weight[a] = in_row.gather[3 * x + a];
    rows[a] = across.gather[3 * y + a];
    half[a] = beside(i, a - 1, fine.count[0], fine.periodic[0]) >> 1;
    row[a] = beside(j, a - 1, fine.count[axes.across], fine.periodic[axes.across]) * over_across;
  }
  auto const of_plane = [&](int k) {
    S const* const r = fine.r + k * over_along;
    bool const at_centre = ((i + j + k) & 1) == 0;
    S sum = 0;
    for (int b = 0; b < 3; ++b) {
      if (rows[b] == 0) continue;
      S const* const values = r + row[b];
      bool const is_middle = (b == 1) == at_centre;
      sum += rows[b] * (is_middle ? weight[1] * values[half[1]]
                                  : weight[0] * values[half[0]] + weight[2] * values[half[2]]);
    }
    return sum;
  };
  int const p = fine.count[axes.along];
  bool const wraps = fine.periodic[axes.along];
  int known = -1;
  S last = 0;
  for (int z = column.first; z < column.last; ++z) {
    int const k = along.kept[z];
    S const* const planes = along.gather + 3 * z;
    S sum = planes[1] * of_plane(k);
    if (planes[0] != 0) {
      int const before = beside(k, -1, p, wraps);
      sum += planes[0] * (before == known ? last : of_plane(before));
    }
    if (planes[2] != 0) {
      known = beside(k, 1, p, wraps);
      last = of_plane(known);
      sum += planes[2] * last;
    }
    coarse.f[axes.along == 2 ? coarse.place(x, y, z) : coarse.place(x, z, y)] = sum;
  }
}

/// u += what the coarse level has, at the points of the `colours`.
template <class S>
__global__ void __launch_bounds__(threads_of_march)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int colours, bool adds, Axes axes, int piece) {
  int const n = fine.count[0], m = fine.count[axes.across], p = fine.count[axes.along];
  Column const column(piece, p);
  int const x = column.x, j = column.across;
  if (x >= fine.half || j >= m) return;
  auto const &in_row = fine.transfer[0], &across = fine.transfer[axes.across],
             &along = fine.transfer[axes.along];
  bool const has_odd = 2 * x + 1 < n;
  int from[2][2], rows[2];
  S weight[2][2], of_row[2];
  for (int odd = 0; odd < 2; ++odd) {
    int const i = odd == 0 || has_odd ? 2 * x + odd : 2 * x;
    from[odd][0] = in_row.left[i], from[odd][1] = in_row.right[i];
    weight[odd][0] = in_row.to_left[i], weight[odd][1] = in_row.to_right[i];
  }
  rows[0] = across.left[j], rows[1] = across.right[j];
  of_row[0] = across.to_left[j], of_row[1] = across.to_right[j];
  std::int64_t const line = std::int64_t{coarse.half} * coarse.count[1];
  std::int64_t const over_across = axes.across == 1 ? coarse.half : line;
  std::int64_t const over_along = axes.along == 1 ? coarse.half : line;

  /// What a plane of the coarse level has at the even point and at the odd one.
  struct Pair {
    S even, odd;
  };
  auto const of_plane = [&](int z) {
    S sums[2] = {0, 0};
    for (int b = 0; b < 2; ++b) {
      if (rows[b] < 0) continue;
      S const* const values = coarse.u + z * over_along + rows[b] * over_across;
      for (int odd = 0; odd < 2; ++odd)
        for (int a = 0; a < 2; ++a) {
          int const at = from[odd][a];
          if (at >= 0)
            sums[odd] += of_row[b] * weight[odd][a] *
                         values[((at + rows[b] + z) & 1) * coarse.colour + (at >> 1)];
        }
    }
    return Pair{sums[0], sums[1]};
  };
  std::int64_t const fine_line = std::int64_t{fine.half} * fine.count[1];
  std::int64_t const first = j * (axes.across == 1 ? fine.half : fine_line) + x;
  std::int64_t const step = axes.along == 1 ? fine.half : fine_line;
  int known[2] = {-1, -1};
  Pair planes[2] = {{0, 0}, {0, 0}};
  for (int k = column.first; k < column.last; ++k) {
    int const left = along.left[k], right = along.right[k];
    Pair sum{0, 0};
    if (left >= 0) {
      if (left == known[1]) {
        known[0] = left;
        planes[0] = planes[1];
      } else if (left != known[0]) {
        known[0] = left;
        planes[0] = of_plane(left);
      }
      S const to_left = along.to_left[k];
      sum = {to_left * planes[0].even, to_left * planes[0].odd};
    }
    if (right >= 0) {
      if (right != known[1]) {
        known[1] = right;
        planes[1] = of_plane(right);
      }
      S const to_right = along.to_right[k];
      sum.even += to_right * planes[1].even;
      sum.odd += to_right * planes[1].odd;
    }
    int const of_even = (j + k) & 1;
    S* const u = fine.u + first + k * step;
    if ((colours >> of_even & 1) != 0) {
      S& value = u[of_even * fine.colour];
      value = adds ? value + sum.even : sum.even;
    }
    if (has_odd && (colours >> (1 - of_even) & 1) != 0) {
      S& value = u[(1 - of_even) * fine.colour];
      value = adds ? value + sum.odd : sum.odd;
    }
  }
}

/// Raises `largest` to what the threads of a block have found.
__device__ void report(Found own, Found* largest) {
  __shared__ Found shared[threads_of_march / warp_size];
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    raise(own, shuffle_down(own, distance));
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < threads_of_march / warp_size; ++warp) raise(own, shared[warp]);
  using Word = unsigned long long;
  atomicMax(reinterpret_cast<Word*>(&largest->first), static_cast<Word>(own.first));
  atomicMax(reinterpret_cast<Word*>(&largest->second), static_cast<Word>(own.second));
}

template <class T, class S>
__global__ void __launch_bounds__(threads_of_march)
    residual_kernel(__grid_constant__ TakeResidual<T, S> const work, Axes axes, int piece,
                    Found* largest) {
  auto const& a = work.a;
  int const n = work.level.count[0], m = work.level.count[axes.across],
            p = work.level.count[axes.along];
  Column const column(piece, p);
  int const i = column.x, j = column.across;
  Found own;
  if (i < n && j < m) {
    auto const& lower = work.lower;
    auto const& upper = work.upper;
    auto const periodic = [&](int axis) { return work.level.periodic[axis]; };
    std::int64_t const over_across = a.stride[axes.across], over_along = a.stride[axes.along];
    std::int64_t first = 0;
    for (int axis = 0; axis < 3; ++axis) first += a.first[axis] * a.stride[axis];
    first += i + j * over_across;
    // What lies on a side counts as 0: it is known, and on the right-hand side.
    bool const is_left = i > 0 || periodic(0), is_right = i < n - 1 || periodic(0);
    bool const is_below = j > 0 || periodic(axes.across),
               is_above = j < m - 1 || periodic(axes.across);
    std::int64_t const left = beside(i, -1, n, periodic(0)) - i,
                       right = beside(i, 1, n, periodic(0)) - i;
    std::int64_t const below = (beside(j, -1, m, periodic(axes.across)) - j) * over_across,
                       above = (beside(j, 1, m, periodic(axes.across)) - j) * over_across;
    double const lower_x = lower[0][i], upper_x = upper[0][i];
    double const lower_y = lower[axes.across][j], upper_y = upper[axes.across][j];
    bool const wraps = periodic(axes.along);
    double const* const u = work.u + first;
    double before = 0, here = u[column.first * over_along];
    if (column.first > 0 || wraps) before = u[beside(column.first, -1, p, wraps) * over_along];
    for (int k = column.first; k < column.last; ++k) {
      double const behind =
          k < p - 1 || wraps ? __ldg(u + beside(k, 1, p, wraps) * over_along) : 0.0;
      double const* const at = u + k * over_along;
      double sum = a.reaction * here;
      sum += lower_x * (here - (is_left ? __ldg(at + left) : 0.0)) -
             upper_x * ((is_right ? __ldg(at + right) : 0.0) - here);
      sum += lower_y * (here - (is_below ? __ldg(at + below) : 0.0)) -
             upper_y * ((is_above ? __ldg(at + above) : 0.0) - here);
      sum += lower[axes.along][k] * (here - before) - upper[axes.along][k] * (behind - here);
      double const residual = __ldg(work.right + first + k * over_along) - sum - work.shift;
      work.level.f[axes.along == 2 ? work.level.place(i, j, k) : work.level.place(i, k, j)] =
          static_cast<S>(residual * work.scale);
      poisson::raise(own.first, poisson::bits_of_magnitude(residual));
      before = here;
      here = behind;
    }
  }
  report(own, largest);
}

template <class S>
__global__ void __launch_bounds__(threads_of_march)
    add_kernel(__grid_constant__ AddCorrection<S> const work, Axes axes, int piece,
               Found* largest) {
  int const p = work.level.count[axes.along];
  Column const column(piece, p);
  Found own;
  if (column.x < work.level.count[0] && column.across < work.level.count[axes.across]) {
    constexpr int together = 4;
    for (int first = column.first; first < column.last; first += together) {
      double u[together], change[together];
      std::int64_t places[together];
#pragma unroll
      for (int a = 0; a < together; ++a) {
        int const k = min(first + a, column.last - 1);
        int const y = axes.along == 2 ? column.across : k, z = axes.along == 2 ? k : column.across;
        places[a] = work.places(column.x, y, z);
        u[a] = work.u[places[a]];
        change[a] = double{work.level.u[work.level.place(column.x, y, z)]} * work.scale;
      }
#pragma unroll
      for (int a = 0; a < together; ++a) {
        if (first + a >= column.last) continue;
        double const sum = u[a] + change[a];
        work.u[places[a]] = sum;
        raise(own, {poisson::bits_of_magnitude(change[a]), poisson::bits_of_magnitude(sum)});
      }
    }
  }
  report(own, largest);
}

template <Does does, class S>
void march_colour(Stream& stream, Level<S> const& level, int colour) {
  Axes const axes = axes_of(level);
  auto const columns = Columns::of(level.half, level.count[axes.across], level.count[axes.along]);
  colour_kernel<does>
      <<<columns.grid, columns.block, 0, native(stream)>>>(level, colour, axes, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid colour");
}

}  // namespace

template <class S>
void march(Stream& stream, Relax<S> const& step) {
  bool const overdoes = step.colour == 0 && step.level.over != 1;
  if (step.from_zero) return march_colour<Does::begin>(stream, step.level, step.colour);
  if (overdoes) return march_colour<Does::overdo>(stream, step.level, step.colour);
  march_colour<Does::relax>(stream, step.level, step.colour);
}

template <class S>
void march(Stream& stream, GatherResidual<S> const& step) {
  march_colour<Does::keep_residual>(stream, step.fine, 0);
  Axes const axes = axes_of(step.fine);
  auto const columns = Columns::of(step.coarse.count[0], step.coarse.count[axes.across],
                                   step.coarse.count[axes.along]);
  gather_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step.fine, step.coarse, axes,
                                                                    columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

template <class S>
void march(Stream& stream, Correct<S> const& step) {
  Axes const axes = axes_of(step.fine);
  auto const columns =
      Columns::of(step.fine.half, step.fine.count[axes.across], step.fine.count[axes.along]);
  correct_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(
      step.fine, step.coarse, step.colours, step.adds, axes, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

template <class T, class S>
void march(Stream& stream, TakeResidual<T, S> const& step, Found* largest) {
  Axes const axes = axes_of(step.level);
  auto const& count = step.level.count;
  auto const columns = Columns::of(count[0], count[axes.across], count[axes.along]);
  residual_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, axes, columns.piece,
                                                                      largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
}

template <class S>
void march(Stream& stream, AddCorrection<S> const& step, Found* largest) {
  Axes const axes = axes_of(step.level);
  auto const& count = step.level.count;
  auto const columns = Columns::of(count[0], count[axes.across], count[axes.along]);
  add_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, axes, columns.piece,
                                                                 largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correction");
}

#define GRIDSTRIDE_INSTANTIATE(S)                         \
  template void march(Stream&, Relax<S> const&);          \
  template void march(Stream&, GatherResidual<S> const&); \
  template void march(Stream&, Correct<S> const&);        \
  template void march(Stream&, AddCorrection<S> const&, Found*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
template void march(Stream&, TakeResidual<float, float> const&, Found*);
template void march(Stream&, TakeResidual<float, double> const&, Found*);
template void march(Stream&, TakeResidual<double, float> const&, Found*);
template void march(Stream&, TakeResidual<double, double> const&, Found*);

}  // namespace gridstride::multigrid

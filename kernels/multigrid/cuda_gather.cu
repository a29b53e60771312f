// From a large level to a coarser one and back, with the same coefficients everywhere.
//
// Down: a block has the rows around a few coarse ones, whole, and goes from plane to plane. Its
// threads find what is left in the plane, a strip each, and put it into shared memory; coarse points
// gather it there, row by row and plane by plane, so that it never is in memory. Where rows are too
// long for a block, and in planes, residuals are kept and gathered by another kernel.
//
// Up: a thread has an index of both colours' half rows, and keeps what the coarse planes before and
// behind have there.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// How blocks share the coarse points: `rows` of them side by side, `planes` after each other.
struct GatherShape {
  int strips;  ///< of a row
  int rows, planes;
  dim3 block, grid;

  static constexpr int most_strips = 128;

  template <class S>
  static GatherShape of(Level<S> const& fine, Level<S> const& coarse) {
    GatherShape shape;
    shape.strips = fine.half / vector_width<S>;
    shape.rows = shape.strips > 64 ? 2 : shape.strips > 32 ? 4 : shape.strips > 16 ? 6 : 8;
    shape.block =
        dim3(static_cast<unsigned>(shape.strips), static_cast<unsigned>(2 * shape.rows + 1));
    unsigned const across = blocks_for(coarse.count[1], static_cast<unsigned>(shape.rows));
    int const pieces = static_cast<int>(blocks_for(528, across));
    shape.planes = std::clamp(coarse.count[2] / pieces, 1, 16);
    shape.grid = dim3(across, blocks_for(coarse.count[2], static_cast<unsigned>(shape.planes)));
    return shape;
  }
};

/// At most so many threads are in a block of `GatherShape`.
constexpr int most_gathering = 640;
/// Coarse points of a thread, at most.
constexpr int slots = 2;

/// f of the coarse level from what u leaves of f at points of the first colour; the second one, which
/// has been relaxed last, has nothing left.
template <bool alike, class S>
__global__ void __launch_bounds__(most_gathering)
    gather_residual_kernel(__grid_constant__ Level<S> const fine,
                           __grid_constant__ Level<S> const coarse, int rows, int planes) {
  constexpr int width = vector_width<S>;
  extern __shared__ __align__(16) unsigned char shared_residuals[];
  S* const residuals = reinterpret_cast<S*>(shared_residuals);
  auto const &along_x = fine.transfer[0], &along_y = fine.transfer[1], &along_z = fine.transfer[2];
  int const m = fine.count[1], p = fine.count[2], line = fine.half * m;
  int const first_row = static_cast<int>(blockIdx.x) * rows,
            end_row = min(first_row + rows, coarse.count[1]);
  int const local = static_cast<int>(threadIdx.y);
  // Rows around kept ones. Where a ring closes they come from its other end; others have nothing.
  int j = __ldg(along_y.kept + first_row) - 1 + local;
  bool has_row = j <= __ldg(along_y.kept + end_row - 1) + 1;
  if (j < 0 || j >= m) {
    has_row = has_row && fine.periodic[1];
    j = has_row ? (j < 0 ? m - 1 : 0) : 0;
  }
  StripEquations<S, alike> const e(fine, Axes{1, 2}, static_cast<int>(threadIdx.x), j);
  std::int64_t const row = std::int64_t{j} * fine.half;
  S const* const other = fine.u + fine.colour + row;
  S const* const own = fine.u + row + e.first;
  S const* const right = fine.f + row + e.first;
  S* const mine = residuals + local * fine.half + e.first;
  int const size = static_cast<int>(blockDim.y) * fine.half;  // of one plane of residuals
  bool const wraps = fine.periodic[2];

  // The coarse points of the thread.
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  int const threads = static_cast<int>(blockDim.x * blockDim.y);
  int const count = coarse.count[0] * (end_row - first_row);
  S weight[slots][3], weight_row[slots][3], sum[slots];
  int half[slots][3], from[slots];
  int x[slots], y[slots];
  bool even[slots];
#pragma unroll
  for (int s = 0; s < slots; ++s) {
    int const at = min(thread + s * threads, count - 1);
    x[s] = at % coarse.count[0];
    y[s] = first_row + at / coarse.count[0];
    int const i = __ldg(along_x.kept + x[s]), kept = __ldg(along_y.kept + y[s]);
    for (int a = 0; a < 3; ++a) {
      weight[s][a] = __ldg(along_x.gather + 3 * x[s] + a);
      weight_row[s][a] = __ldg(along_y.gather + 3 * y[s] + a);
      half[s][a] = beside(i, a - 1, fine.count[0], fine.periodic[0]) >> 1;
    }
    from[s] = (kept - __ldg(along_y.kept + first_row)) * fine.half;
    even[s] = ((i + kept) & 1) == 0;
    sum[s] = 0;
  }

  int z = static_cast<int>(blockIdx.y) * planes;
  int const end = min(z + planes, coarse.count[2]);
  int const last = __ldg(along_z.kept + end - 1) + (__ldg(along_z.gather + 3 * end - 1) != 0);
  int k = __ldg(along_z.kept + z) - (__ldg(along_z.gather + 3 * z) != 0);
  auto const plane_at = [&](int at) { return at < 0 ? p - 1 : at >= p ? 0 : at; };

  struct Loaded {
    Strip<S> f, u, below, above, behind;
    S side, wrapped;
  };
  auto const load = [&](int at) {
    Loaded loaded{};
    if (!has_row) return loaded;
    std::int64_t const plane = std::int64_t{plane_at(at)} * line;
    bool const odd = ((j + plane_at(at)) & 1) != 0;
    S const* const here = other + plane;
    int const next = beside(plane_at(at), 1, p, wraps);
    loaded.behind = load_strip(other + std::int64_t{next} * line + e.first);
    loaded.f = load_strip(right + plane);
    loaded.u = load_strip(own + plane);
    loaded.below = load_strip(here + e.below + e.first);
    loaded.above = load_strip(here + e.above + e.first);
    if (e.has_side(odd, fine.half)) loaded.side = __ldg(here + (odd ? e.right : e.left));
    if (e.wraps >= 0) loaded.wrapped = __ldg(here);
    return loaded;
  };
  Strip<S> before{}, here{};
  if (has_row) {
    before = load_strip(other + std::int64_t{beside(plane_at(k), -1, p, wraps)} * line + e.first);
    here = load_strip(other + std::int64_t{plane_at(k)} * line + e.first);
  }
  Loaded now = load(k);
  int kept = __ldg(along_z.kept + z);
  for (int step = 0; k <= last; ++k, ++step) {
    S* const shared = residuals + (step & 1) * size;
    {
      int const at = plane_at(k);
      bool const odd = ((j + at) & 1) != 0;
      S const lower = __ldg(fine.lower[2] + at), upper = __ldg(fine.upper[2] + at),
              rest = e.sum_across + __ldg(fine.sum[2] + at);
      Strip<S> result;
#pragma unroll
      for (int v = 0; v < width; ++v) {
        S const diagonal = (odd ? e.sum_of(1, v) : e.sum_of(0, v)) + rest;
        S const others = odd ? e.others(1, v, here, now.side, now.wrapped, now.below, now.above,
                                        before, now.behind, lower, upper)
                             : e.others(0, v, here, now.side, now.wrapped, now.below, now.above,
                                        before, now.behind, lower, upper);
        result.at[v] = (now.f.at[v] - diagonal * now.u.at[v]) + others;
        if (!has_row || (alike && !e.is_point(odd, v))) result.at[v] = 0;
      }
      *reinterpret_cast<Strip<S>*>(mine + (step & 1) * size) = result;
    }
    before = here;
    here = now.behind;
    if (k < last) now = load(k + 1);
    __syncthreads();
    bool const is_even_plane = (plane_at(k) & 1) == 0;
    S const factor = __ldg(along_z.gather + 3 * z + (k - kept + 1));
    bool const between = k > kept;  // or the plane before the first kept one
    S const shared_factor =
        between && z + 1 < end && k < last ? __ldg(along_z.gather + 3 * (z + 1)) : S{0};
    bool const ends = between || (k == kept && __ldg(along_z.gather + 3 * z + 2) == 0);
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      if (thread + s * threads >= count) continue;
      bool const at_centre = even[s] == is_even_plane;
      S const* const values = shared + from[s];
      S found = 0;
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        S const* const in = values + b * fine.half;
        bool const is_middle = (b == 1) == at_centre;
        found += weight_row[s][b] *
                 (is_middle ? weight[s][1] * in[half[s][1]]
                            : weight[s][0] * in[half[s][0]] + weight[s][2] * in[half[s][2]]);
      }
      sum[s] += factor * found;
      if (ends) {
        coarse.f[coarse.place(x[s], y[s], z)] = sum[s];
        sum[s] = shared_factor * found;
      }
    }
    if (ends && z + 1 < end) kept = __ldg(along_z.kept + ++z);
  }
}

/// f of the coarse level from values of the first colour, or of both.
template <bool both, class S>
__global__ void __launch_bounds__(threads_of_columns)
    gather_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                  S const* values, Axes axes, int piece) {
  Column const column(piece, coarse.count[axes.along]);
  int const x = column.x, y = column.across;
  if (x >= coarse.count[0] || y >= coarse.count[axes.across]) return;
  auto const &in_row = fine.transfer[0], &across = fine.transfer[axes.across],
             &along = fine.transfer[axes.along];
  int const i = in_row.kept[x], j = across.kept[y];
  int const over_across = row_stride(fine, axes.across), over_along = row_stride(fine, axes.along);
  S weight[3], rows[3];
  int half[3], row[3];
  for (int a = 0; a < 3; ++a) {
    weight[a] = in_row.gather[3 * x + a];
    rows[a] = across.gather[3 * y + a];
    half[a] = beside(i, a - 1, fine.count[0], fine.periodic[0]) >> 1;
    row[a] = beside(j, a - 1, fine.count[axes.across], fine.periodic[axes.across]) * over_across;
  }
  auto const of_plane = [&](int k) {
    S const* const plane = values + std::int64_t{k} * over_along;
    bool const at_centre = ((i + j + k) & 1) == 0;
    S sum = 0;
    for (int b = 0; b < 3; ++b) {
      if (rows[b] == 0) continue;
      S const* const first = plane + row[b];
      bool const is_middle = (b == 1) == at_centre;  // the first colour's are
      S const* const in_middle = both && !is_middle ? first + fine.colour : first;
      S const* const beside_it = both && is_middle ? first + fine.colour : first;
      S of_row = 0;
      if (both || is_middle) of_row += weight[1] * in_middle[half[1]];
      if (both || !is_middle)
        of_row += weight[0] * beside_it[half[0]] + weight[2] * beside_it[half[2]];
      sum += rows[b] * of_row;
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

/// u += what the coarse level has, at the points of the `colours`, or u = that.
template <class S, bool adds>
__global__ void __launch_bounds__(threads_of_columns)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int colours, Axes axes, int piece) {
  int const n = fine.count[0], p = fine.count[axes.along];
  Column const column(piece, p);
  int const x = column.x, j = column.across;
  if (2 * x >= n || j >= fine.count[axes.across]) return;
  auto const &in_row = fine.transfer[0], &across = fine.transfer[axes.across],
             &along = fine.transfer[axes.along];
  bool const has_odd = 2 * x + 1 < n;
  int const over_across = row_stride(coarse, axes.across),
            over_along = row_stride(coarse, axes.along);
  // Where the even point and the odd one have coarse ones, in even planes and in odd ones.
  int place[2][2][2][2];
  S weight[2][2], of_row[2];
  bool has_row[2];
#pragma unroll
  for (int b = 0; b < 2; ++b) {
    int const y = b == 0 ? across.left[j] : across.right[j];
    has_row[b] = y >= 0;
    of_row[b] = b == 0 ? across.to_left[j] : across.to_right[j];
#pragma unroll
    for (int odd = 0; odd < 2; ++odd)
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        int const i = odd == 0 || has_odd ? 2 * x + odd : 2 * x;
        int const at = a == 0 ? in_row.left[i] : in_row.right[i];
        weight[odd][a] = at < 0 ? S{0} : a == 0 ? in_row.to_left[i] : in_row.to_right[i];
        int const known = max(at, 0);
#pragma unroll
        for (int z = 0; z < 2; ++z)
          place[b][odd][a][z] = ((known + y + z) & 1) * static_cast<int>(coarse.colour) +
                                max(y, 0) * over_across + (known >> 1);
      }
  }
  /// What a plane of the coarse level has at the even point and at the odd one.
  struct Pair {
    S even, odd;
  };
  auto const of_plane = [&](int z) {
    S sums[2] = {0, 0};
    S const* const values = coarse.u + std::int64_t{z} * over_along;
    bool const is_odd = (z & 1) != 0;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (!has_row[b]) continue;
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        S in_line = 0;
#pragma unroll
        for (int a = 0; a < 2; ++a)
          in_line +=
              weight[odd][a] * __ldg(values + (is_odd ? place[b][odd][a][1] : place[b][odd][a][0]));
        sums[odd] += of_row[b] * in_line;
      }
    }
    return Pair{sums[0], sums[1]};
  };
  std::int64_t const first = std::int64_t{j} * row_stride(fine, axes.across) + x;
  int const step = row_stride(fine, axes.along);
  int known[2] = {-1, -1};
  Pair planes[2] = {{0, 0}, {0, 0}};
  for (int k = column.first; k < column.last; ++k) {
    int const of_even = (j + k) & 1;
    S* const u = fine.u + first + std::int64_t{k} * step;
    S* const even_u = u + of_even * fine.colour;
    S* const odd_u = u + (1 - of_even) * fine.colour;
    bool const does_even = (colours >> of_even & 1) != 0,
               does_odd = has_odd && (colours >> (1 - of_even) & 1) != 0;
    S const even_value = adds && does_even ? *even_u : S{0},
            odd_value = adds && does_odd ? *odd_u : S{0};
    int const left = __ldg(along.left + k), right = __ldg(along.right + k);
    Pair sum{0, 0};
    if (left >= 0) {
      if (left == known[1]) {
        known[0] = left;
        planes[0] = planes[1];
      } else if (left != known[0]) {
        known[0] = left;
        planes[0] = of_plane(left);
      }
      S const to_left = __ldg(along.to_left + k);
      sum = {to_left * planes[0].even, to_left * planes[0].odd};
    }
    if (right >= 0) {
      if (right != known[1]) {
        known[1] = right;
        planes[1] = of_plane(right);
      }
      S const to_right = __ldg(along.to_right + k);
      sum.even += to_right * planes[1].even;
      sum.odd += to_right * planes[1].odd;
    }
    if (does_even) *even_u = even_value + sum.even;
    if (does_odd) *odd_u = odd_value + sum.odd;
  }
}

/// The same where every second point of a row is kept, from the second one on: a strip of each
/// colour at a time. What is beyond the coarse row's ends is 0.
template <class S>
__global__ void __launch_bounds__(threads_of_columns)
    correct_strips_kernel(__grid_constant__ Level<S> const fine,
                          __grid_constant__ Level<S> const coarse, int colours, Axes axes,
                          int piece) {
  constexpr int width = vector_width<S>;
  int const p = fine.count[axes.along];
  Column const column(piece, p);
  int const first = column.x * width, j = column.across;
  if (first >= fine.half || j >= fine.count[axes.across]) return;
  auto const &across = fine.transfer[axes.across], &along = fine.transfer[axes.along];
  int const rows[2] = {across.left[j], across.right[j]};
  S const of_row[2] = {across.to_left[j], across.to_right[j]};
  int const over_across = row_stride(coarse, axes.across);
  int const over_along = row_stride(coarse, axes.along);
  /// What a plane of the coarse level has at the even points and at the odd ones.
  struct Pair {
    Strip<S> even{}, odd{};
  };
  auto const of_plane = [&](int z) {
    Pair pair;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (rows[b] < 0) continue;
      S const* const row =
          coarse.u + std::int64_t{z} * over_along + std::int64_t{rows[b]} * over_across;
      auto const value = [&](int x) {
        return x >= 0 && x < coarse.count[0]
                   ? __ldg(row + ((x + rows[b] + z) & 1) * coarse.colour + (x >> 1))
                   : S{0};
      };
      S before = value(first - 1);
#pragma unroll
      for (int v = 0; v < width; ++v) {
        S const here = value(first + v);
        pair.even.at[v] += of_row[b] * (S(0.5) * before + S(0.5) * here);
        pair.odd.at[v] += of_row[b] * here;
        before = here;
      }
    }
    return pair;
  };
  S* const own = fine.u + std::int64_t{j} * row_stride(fine, axes.across) + first;
  int const step = row_stride(fine, axes.along);
  int known[2] = {-1, -1};
  Pair planes[2];
  for (int k = column.first; k < column.last; ++k) {
    int const of_even = (j + k) & 1;
    S* const u = own + std::int64_t{k} * step;
    auto* const even = reinterpret_cast<Strip<S>*>(u + of_even * fine.colour);
    auto* const odd = reinterpret_cast<Strip<S>*>(u + (1 - of_even) * fine.colour);
    bool const does_even = (colours >> of_even & 1) != 0, does_odd = (colours >> (1 - of_even) & 1);
    Strip<S> even_sum{}, odd_sum{};
    if (does_even) even_sum = *even;
    if (does_odd) odd_sum = *odd;
    int const left = __ldg(along.left + k), right = __ldg(along.right + k);
    S const to_left = left >= 0 ? __ldg(along.to_left + k) : S{0};
    S const to_right = right >= 0 ? __ldg(along.to_right + k) : S{0};
    if (left >= 0 && left == known[1]) {
      known[0] = left;
      planes[0] = planes[1];
    } else if (left >= 0 && left != known[0]) {
      known[0] = left;
      planes[0] = of_plane(left);
    }
    if (right >= 0 && right != known[1]) {
      known[1] = right;
      planes[1] = of_plane(right);
    }
#pragma unroll
    for (int v = 0; v < width; ++v) {
      even_sum.at[v] += to_left * planes[0].even.at[v] + to_right * planes[1].even.at[v];
      odd_sum.at[v] += to_left * planes[0].odd.at[v] + to_right * planes[1].odd.at[v];
    }
    if (does_even) *even = even_sum;
    if (does_odd) *odd = odd_sum;
  }
}

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  Axes const axes = axes_of(fine);
  auto const& count = coarse.count;
  auto const columns = Columns::of(count[0], count[axes.across], count[axes.along])
                           .fitted(stream, gather_kernel<both, S>, count[axes.along]);
  gather_kernel<both><<<columns.grid, columns.block, 0, native(stream)>>>(fine, coarse, values,
                                                                          axes, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

}  // namespace

template <class S>
bool gathers_at_once(Level<S> const& fine, Level<S> const& coarse) {
  if (fine.count[2] == 1 || fine.half / vector_width < S >> GatherShape::most_strips) return false;
  auto const shape = GatherShape::of(fine, coarse);
  unsigned const threads = shape.block.x * shape.block.y;
  return static_cast<unsigned>(coarse.count[0] * shape.rows) <= slots * threads;
}

template <class S>
void march_gather_residual(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  auto const shape = GatherShape::of(fine, coarse);
  std::size_t const bytes = 2 * sizeof(S) * shape.block.y * static_cast<std::size_t>(fine.half);
  auto* kernel = fine.alike ? gather_residual_kernel<true, S> : gather_residual_kernel<false, S>;
  kernel<<<shape.grid, shape.block, bytes, native(stream)>>>(fine, coarse, shape.rows,
                                                             shape.planes);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
}

template <class S>
void march_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  launch_gather<false>(stream, fine, coarse, static_cast<S const*>(fine.r));
}

template <class S>
void march(Stream& stream, Gather<S> const& step) {
  launch_gather<true>(stream, step.fine, step.coarse, step.values);
}

template <class S>
void march(Stream& stream, Correct<S> const& step) {
  auto const& fine = step.fine;
  Axes const axes = axes_of(fine);
  if (fine.doubles && step.adds) {
    auto const strips =
        Columns::of(fine.half / vector_width<S>, fine.count[axes.across], fine.count[axes.along])
            .fitted(stream, correct_strips_kernel<S>, fine.count[axes.along]);
    correct_strips_kernel<<<strips.grid, strips.block, 0, native(stream)>>>(
        fine, step.coarse, step.colours, axes, strips.piece);
    return GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
  }
  auto* const kernel = step.adds ? correct_kernel<S, true> : correct_kernel<S, false>;
  auto const columns =
      Columns::of((fine.count[0] + 1) / 2, fine.count[axes.across], fine.count[axes.along])
          .fitted(stream, kernel, fine.count[axes.along]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(fine, step.coarse, step.colours, axes,
                                                             columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                                 \
  template bool gathers_at_once(Level<S> const&, Level<S> const&);                \
  template void march_gather_residual(Stream&, Level<S> const&, Level<S> const&); \
  template void march_gather(Stream&, Level<S> const&, Level<S> const&);          \
  template void march(Stream&, Gather<S> const&);                                 \
  template void march(Stream&, Correct<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid

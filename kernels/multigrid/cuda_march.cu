// Relaxation and residuals of large levels with the same coefficients everywhere, in 2D and 3D: a
// thread has a column of strips along the last axis, 16 bytes of a colour's half row each, and keeps
// what neighbours have of it from point to point.
//
// Colours alternate along a column, and so do the two points of a colour's half row that share an
// index: of the other colour, what lies at the same index in one plane after another is the point
// beside, before and behind. So a strip costs one strip of its column, two across, its own, and one
// value beyond its end. What the axes say of coefficients stays in registers, but for those of the
// column.
//
// From 0 the first colour is `first_over` times f over the diagonal. It is not stored: the second colour
// finds it where it needs it, and the first one again when it is relaxed next.

#include <type_traits>

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

enum class Does {
  begin,         ///< the first colour, from 0
  begin_second,  ///< the second one, of a first one that has begun and is not stored
  go_on,         ///< the first one again, of which nothing is stored yet
  overdo,        ///< the first one
  relax,         ///< the second one, or the first one exactly
  keep_residual
};

template <Does does, bool alike, class S>
__global__ void __launch_bounds__(threads_of_columns, alike            ? 4
                                                      : sizeof(S) == 4 ? 3
                                                                       : 2)
    colour_kernel(__grid_constant__ Level<S> const level, int colour, S first_over, Axes axes,
                  int piece) {
  constexpr int width = vector_width<S>;
  int const p = level.count[axes.along];
  Column const column(piece, p);
  int const j = column.across;
  if (column.x * width >= level.half || j >= level.count[axes.across]) return;
  StripEquations<S, alike> const e(level, axes, column.x, j);
  int const over_along = row_stride(level, axes.along);
  std::int64_t const row = std::int64_t{j} * row_stride(level, axes.across);
  // Of the other colour, u or what it begins with.
  constexpr bool begins = does == Does::begin_second;
  S const* const other = (begins ? level.f : level.u) + (1 - colour) * level.colour + row;
  S const* const rights = level.f + colour * level.colour + row + e.first;
  S* const own = level.u + colour * level.colour + row + e.first;
  S* const results = does == Does::keep_residual ? level.r + (own - level.u) : own;
  bool const wraps = level.periodic[axes.along];
  S const *lowers = level.lower[axes.along], *uppers = level.upper[axes.along],
          *sums = level.sum[axes.along];
  // The first colour from 0, at points with odd numbers in their row or even ones.
  auto const begun = [&](Strip<S> values, bool odd, S rest) {
    if constexpr (begins)
#pragma unroll
      for (int v = 0; v < width; ++v)
        values.at[v] =
            first_over * quotient(values.at[v], (odd ? e.sum_of(1, v) : e.sum_of(0, v)) + rest);
    return values;
  };
  auto const single = [&](S value, int i, S rest) {
    S const of_row = alike ? e.sum_of(0, 0) : __ldg(level.sum[0] + min(i, level.count[0] - 1));
    return first_over * quotient(value, of_row + rest);
  };

  Strip<S> before{}, here{};
  if constexpr (does != Does::begin) {
    int const at = beside(column.first, -1, p, wraps);
    bool const odd = ((colour + j + column.first) & 1) != 0;
    before = begun(load_strip(other + std::int64_t{at} * over_along + e.first), odd,
                   e.sum_across + sums[at]);
    here = begun(load_strip(other + std::int64_t{column.first} * over_along + e.first), !odd,
                 e.sum_across + sums[column.first]);
  }
  for (int k = column.first; k < column.last; ++k) {
    bool const odd = ((colour + j + k) & 1) != 0;
    std::int64_t const plane = std::int64_t{k} * over_along;
    S const sum = __ldg(sums + k), rest = e.sum_across + sum;
    Strip<S> const f = load_strip(rights + plane);
    Strip<S> u{}, below{}, above{}, behind{}, result;
    S side = 0, wrapped = 0, lower = 0, upper = 0;
    if constexpr (does == Does::overdo || does == Does::keep_residual)
      u = *reinterpret_cast<Strip<S> const*>(own + plane);
    if constexpr (does != Does::begin) {
      S const* const at = other + plane;
      int const next = beside(k, 1, p, wraps);
      behind = load_strip(other + std::int64_t{next} * over_along + e.first);
      below = load_strip(at + e.below + e.first);
      above = load_strip(at + e.above + e.first);
      if (e.has_side(odd, level.half)) side = __ldg(at + (odd ? e.right : e.left));
      if (e.wraps >= 0) wrapped = __ldg(at);
      lower = __ldg(lowers + k);
      upper = __ldg(uppers + k);
      if constexpr (begins) {
        behind = begun(behind, odd, e.sum_across + __ldg(sums + next));
        below = begun(below, odd, e.sum_below + sum);
        above = begun(above, odd, e.sum_above + sum);
        side = single(side, 2 * (odd ? e.right : e.left) + (odd ? 0 : 1), rest);
        if (e.wraps >= 0) wrapped = single(wrapped, 0, rest);
      }
    }
    auto const find = [&](auto number) {
      constexpr int is_odd = number.value;
#pragma unroll
      for (int v = 0; v < width; ++v) {
        S const diagonal = e.sum_of(is_odd, v) + rest;
        S others = 0;
        if constexpr (does != Does::begin)
          others =
              e.others(is_odd, v, here, side, wrapped, below, above, before, behind, lower, upper);
        if constexpr (does == Does::keep_residual) {
          result.at[v] = (f.at[v] - diagonal * u.at[v]) + others;
        } else {
          S const wanted = quotient(f.at[v] + others, diagonal);
          if constexpr (does == Does::begin)
            result.at[v] = first_over * wanted;
          else if constexpr (does == Does::go_on)
            result.at[v] = over(level, first_over * quotient(f.at[v], diagonal), wanted);
          else if constexpr (does == Does::overdo)
            result.at[v] = over(level, u.at[v], wanted);
          else
            result.at[v] = wanted;
        }
      }
    };
    if (odd)
      find(std::integral_constant<int, 1>{});
    else
      find(std::integral_constant<int, 0>{});
    if (alike && e.ends_behind())
#pragma unroll
      for (int v = 0; v < width; ++v)
        if (!e.is_point(odd, v)) result.at[v] = 0;
    *reinterpret_cast<Strip<S>*>(results + plane) = result;
    before = here;
    here = behind;
  }
}

template <Does does, class S>
void march_colour(Stream& stream, Level<S> const& level, int colour, S first_over = 1) {
  Axes const axes = axes_of(level);
  auto* const kernel = level.alike ? colour_kernel<does, true, S> : colour_kernel<does, false, S>;
  auto const columns =
      Columns::of(level.half / vector_width<S>, level.count[axes.across], level.count[axes.along])
          .fitted(stream, kernel, level.count[axes.along]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(level, colour, first_over, axes,
                                                             columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid colour");
}

/// A sweep from what u is; `begins`: from 0 and the first colour's first step, which is not stored.
template <class S>
void relax(Stream& stream, Level<S> const& level, bool begins, S first_over) {
  if (level.over == 1)
    march_colour<Does::relax>(stream, level, 0);
  else if (begins)
    march_colour<Does::go_on>(stream, level, 0, first_over);
  else
    march_colour<Does::overdo>(stream, level, 0);
  march_colour<Does::relax>(stream, level, 1);
}

}  // namespace

template <class S>
void march(Stream& stream, Descend<S> const& visit) {
  auto const& level = visit.fine;
  int sweep = 0;
  S const first_over = for_sweep(level, false, 0, visit.sweeps).over;
  bool const begins = visit.from_zero && visit.sweeps > 1;
  if (begins) {
    march_colour<Does::begin_second>(stream, level, 1, first_over);
    sweep = 1;
  } else if (visit.from_zero) {
    march_colour<Does::begin>(stream, level, 0, first_over);
    march_colour<Does::relax>(stream, level, 1);
    sweep = 1;
  }
  for (int const first = sweep; sweep < visit.sweeps; ++sweep)
    relax(stream, for_sweep(level, false, sweep, visit.sweeps), begins && sweep == first,
          first_over);
  if (gathers_at_once(level, visit.coarse))
    return march_gather_residual(stream, level, visit.coarse);
  march_colour<Does::keep_residual>(stream, level, 0);
  march_gather(stream, level, visit.coarse);
}

template <class S>
void march(Stream& stream, Ascend<S> const& visit) {
  // Points of the first colour are relaxed next, mostly from the others alone.
  bool const both = visit.fine.smooths > 1 || visit.sweeps == 0;
  march(stream, Correct<S>{visit.fine, visit.coarse, both ? 3 : 2, true});
  for (int sweep = 0; sweep < visit.sweeps; ++sweep)
    relax(stream, for_sweep(visit.fine, true, sweep, visit.sweeps), false, S{1});
}

#define GRIDSTRIDE_INSTANTIATE(S)                  \
  template void march(Stream&, Descend<S> const&); \
  template void march(Stream&, Ascend<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid

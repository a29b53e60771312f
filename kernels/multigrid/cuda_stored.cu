// Relaxation and residuals of large levels whose equations are stored, in 2D and 3D: as in cuda_march.cu a thread has a column of strips along the last axis, of 16 bytes of a colour's half
// row each.
//
// Faces come to most of the bytes: three a point, of which a colour needs all; a in their place to a third
// of that (stored_strips.cuh).

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/follow.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/stored_strips.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// With `_first` the first colour's u is not stored, but f over the diagonal, as u begins from 0.
enum class Does { begin, overdo, overdo_first, relax, relax_first, keep_residual };

/// Whether there is a point beside another one.
__device__ inline bool has_beside(int at, int step, int count, bool periodic) {
  int const next = at + step;
  return periodic || (next >= 0 && next < count);
}

template <Does does, bool volume, bool reacts, class Strips, class S>
__global__ void __launch_bounds__(threads_of_columns, Strips::blocks)
    stored_kernel(__grid_constant__ Level<S> const level, int colour, S first_over, Axes axes,
                  int piece) {
  constexpr int width = vector_width<S>;
  constexpr bool relaxes = does == Does::relax || does == Does::relax_first,
                 overdoes = does == Does::overdo || does == Does::overdo_first;
  int const n = level.count[0], m = level.count[axes.across], p = level.count[axes.along];
  Column const column(piece, p);
  int const first = column.x * width, j = column.across;
  if (first >= level.half || j >= m) return;
  bool const rings = level.periodic[0], wraps = level.periodic[axes.along];
  int const over_across = row_stride(level, axes.across),
            over_along = row_stride(level, axes.along);
  std::int64_t const row = std::int64_t{j} * over_across;
  S const* const other =
      (does == Does::relax_first ? level.f : level.u) + (1 - colour) * level.colour + row;
  S const* const reciprocals = level.reciprocal + row;
  auto const load_other = [&](S const* from) {
    Strip<S> values = load_changing(from);
    if constexpr (does == Does::relax_first) {
      Strip<S> const by = load_strip(reciprocals + (from - other));
      for (int v = 0; v < width; ++v) values.at[v] = first_over * values.at[v] * by.at[v];
    }
    return values;
  };
  auto const load_one = [&](S const* from) {
    S const value = *from;
    return does == Does::relax_first ? first_over * value * __ldg(reciprocals + (from - other))
                                     : value;
  };
  S const* const rights = level.f + colour * level.colour + row + first;
  S* const own = level.u + colour * level.colour + row + first;
  S* const results = does == Does::keep_residual ? level.r + (own - level.u) : own;

  // The row's neighbours: beyond the strip's ends, and beside it.
  int const left = first > 0 ? first - 1 : (n - 1) >> 1;
  bool const has_left = first > 0 || rings, has_right = first + width < level.half;
  int const closes =
      rings && n / 2 - 1 >= first && n / 2 - 1 < first + width ? n / 2 - 1 - first : -1;
  bool const has_below = volume && has_beside(j, -1, m, level.periodic[axes.across]),
             has_above = volume && has_beside(j, 1, m, level.periodic[axes.across]);
  int const below_at = (beside(j, -1, m, level.periodic[axes.across]) - j) * over_across + first,
            above_at = (beside(j, 1, m, level.periodic[axes.across]) - j) * over_across + first;

  bool const is_last = 2 * (first + width) > n;
  Strips strips(level, axes, first, j, column.first);
  std::int64_t const mass_place = level.mass_place(2 * first, volume ? j : 0, 0);
  std::int64_t const mass_plane = level.face_stride(axes.along);

  wait_for_kernel_before();
  Strip<S> before{}, here{};
  if constexpr (does != Does::begin) {
    if (has_beside(column.first, -1, p, wraps))
      before =
          load_other(other + std::int64_t{beside(column.first, -1, p, wraps)} * over_along + first);
    here = load_other(other + std::int64_t{column.first} * over_along + first);
  }
  for (int k = column.first; k < column.last; ++k) {
    bool const odd = ((colour + j + k) & 1) != 0;
    std::int64_t const plane = std::int64_t{k} * over_along;
    strips.load(k);
    Stored8<S> mass{};
    if constexpr (reacts) mass = Stored8<S>::load(level.mass + mass_place + k * mass_plane);
    Strip<S> const f = load_changing(rights + plane);
    Strip<S> u{}, below{}, above{}, behind{}, result;
    S side = 0, closing = 0;
    if constexpr (does == Does::overdo || does == Does::keep_residual)
      u = load_changing(own + plane);
    if constexpr (does == Does::overdo_first) {
      u = load_strip(reciprocals + first + plane);
      for (int v = 0; v < width; ++v) u.at[v] = first_over * f.at[v] * u.at[v];
    }
    if constexpr (does != Does::begin) {
      S const* const at = other + plane;
      if (has_beside(k, 1, p, wraps))
        behind = load_other(other + std::int64_t{beside(k, 1, p, wraps)} * over_along + first);
      if (has_below) below = load_other(at + below_at);
      if (has_above) above = load_other(at + above_at);
      if (odd ? has_right : has_left) side = load_one(at + (odd ? first + width : left));
      if (closes >= 0) closing = load_one(at);
    }
    auto const find = [&](auto number) {
      constexpr int is_odd = number.value;
      S beyond[width];  // on the side of the next pair in the row
#pragma unroll
      for (int v = 0; v < width; ++v)
        beyond[v] = is_odd == 1 ? (v + 1 < width ? here.at[(v + 1) % width] : side)
                                : (v > 0 ? here.at[(v + width - 1) % width] : side);
      if (is_odd == 1 && closes >= 0)
        for (int v = 0; v < width; ++v)
          if (v == closes) beyond[v] = closing;
#pragma unroll
      for (int v = 0; v < width; ++v) {
        auto const around = strips.template around<is_odd>(v);
        S diagonal = around.diagonal();
        if constexpr (reacts) diagonal += S{mass.at(2 * v + is_odd)};
        if constexpr (does == Does::begin) {
          result.at[v] = diagonal == 0 ? S{0} : level.over * over_diagonal(f.at[v], diagonal);
        } else {
          S const on_left = is_odd == 1 ? here.at[v] : beyond[v];
          S const on_right = is_odd == 1 ? beyond[v] : here.at[v];
          S const from = !relaxes ? u.at[v] : around.is_left_nearer() ? on_left : on_right;
          S left = f.at[v] +
                   around.drawn({on_left - from, on_right - from, below.at[v] - from,
                                 above.at[v] - from, before.at[v] - from, behind.at[v] - from});
          if constexpr (reacts) left -= S{mass.at(2 * v + is_odd)} * from;
          S const over = overdoes ? level.over : S{1};
          result.at[v] = does == Does::keep_residual ? left
                         : diagonal == 0             ? S{0}
                                                     : from + over * over_diagonal(left, diagonal);
        }
      }
      if (is_last)
        for (int v = 0; v < width; ++v)
          if (2 * (first + v) + is_odd >= n) result.at[v] = 0;
    };
    if (odd)
      find(std::integral_constant<int, 1>{});
    else
      find(std::integral_constant<int, 0>{});
    *reinterpret_cast<Strip<S>*>(results + plane) = result;
    before = here;
    here = behind;
    strips.go_on();
  }
}

template <Does does, bool reacts, class S>
auto kernel_for(Level<S> const& level) {
  return level.field != nullptr ? stored_kernel<does, true, reacts, FieldStrips<S>, S>
         : level.count[2] > 1   ? stored_kernel<does, true, reacts, FaceStrips<true, S>, S>
                                : stored_kernel<does, false, reacts, FaceStrips<false, S>, S>;
}

template <Does does, class S>
void launch(Stream& stream, Level<S> const& level, int colour, S first_over = 1) {
  Axes const axes = axes_of(level);
  auto* const kernel =
      level.mass != nullptr ? kernel_for<does, true>(level) : kernel_for<does, false>(level);
  auto const columns =
      Columns::of(level.half / vector_width<S>, level.count[axes.across], level.count[axes.along])
          .fitted(stream, kernel, level.count[axes.along]);
  follow(stream, kernel, columns.grid, columns.block, 0, level, colour, first_over, axes,
         columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid colour");
}

template <class S>
void relax(Stream& stream, Level<S> const& level) {
  if (level.over == 1)
    launch<Does::relax>(stream, level, 0);
  else
    launch<Does::overdo>(stream, level, 0);
  launch<Does::relax>(stream, level, 1);
}

}  // namespace

template <class S>
void march_stored(Stream& stream, Descend<S> const& visit) {
  // From 0 the first colour is not stored before the second sweep, if there is one.
  bool const skips = visit.from_zero && visit.sweeps > 1;
  S const first_over = for_sweep(visit.fine, false, 0, visit.sweeps).over;
  for (int sweep = 0; sweep < visit.sweeps; ++sweep) {
    auto const level = for_sweep(visit.fine, false, sweep, visit.sweeps);
    if (skips && sweep == 0) {
      launch<Does::relax_first>(stream, level, 1, first_over);
    } else if (skips && sweep == 1 && level.over != 1) {
      launch<Does::overdo_first>(stream, level, 0, first_over);
      launch<Does::relax>(stream, level, 1);
    } else if (visit.from_zero && sweep == 0) {
      launch<Does::begin>(stream, level, 0);
      launch<Does::relax>(stream, level, 1);
    } else {
      relax(stream, level);
    }
  }
  launch<Does::keep_residual>(stream, visit.fine, 0);
  if (visit.from_zero) return gather_stored(stream, visit.fine, visit.coarse);
  // Roundings of a u that the coarser level has a part in leave something at the second colour.
  launch<Does::keep_residual>(stream, visit.fine, 1);
  march_stored(stream, Gather<S>{visit.fine, visit.coarse, visit.fine.r});
}

template <class S>
void march_stored(Stream& stream, Ascend<S> const& visit) {
  march_stored(stream, Correct<S>{visit.fine, visit.coarse, 3, true});
  for (int sweep = 0; sweep < visit.sweeps; ++sweep)
    relax(stream, for_sweep(visit.fine, true, sweep, visit.sweeps));
}

#define GRIDSTRIDE_INSTANTIATE(S)                         \
  template void march_stored(Stream&, Descend<S> const&); \
  template void march_stored(Stream&, Ascend<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid

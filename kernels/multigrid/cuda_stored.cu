// Relaxation and residuals of large levels whose equations are stored, in 2D and 3D: as in cuda_march.cu a
// thread has a column of strips along the last axis, of 16 bytes of a colour's half row each.
//
// Faces come to most of the bytes: three a point, of which a colour needs all; a in their place to a third
// of that (stored_strips.cuh). Then instructions bind as much as memory does: what tells of a strip's
// surroundings is kept for all planes, and places go on from plane to plane.

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

/// What there is around a strip in its plane, and how far it lies from the strip. Where that `mirrors`, what is inside
/// of a side without flux lies beyond it, too.
template <bool mirrors>
struct Surroundings {
  static constexpr unsigned left = 1, right = 2, below = 4, above = 8;
  unsigned has;  ///< which of these, in its bits
  int to_left, to_right, to_below, to_above;
  /// The strip's point with an odd number behind which a ring closes, or a mirror stands, or as many as it has.
  int closes;
  unsigned ends = 0;  ///< of a row between mirrors, in bits

  template <class S>
  __device__ Surroundings(Level<S> const& level, Axes axes, int first, int j, int width,
                          bool volume) {
    int const n = level.count[0], m = level.count[axes.across];
    int const over = row_stride(level, axes.across);
    bool const rings = level.periodic[0], wraps = level.periodic[axes.across];
    bool const mirrors_left = mirrors && level.is_free[0][0],
               mirrors_right = mirrors && level.is_free[0][1],
               mirrors_below = mirrors && level.is_free[axes.across][0] && j == 0,
               mirrors_above = mirrors && level.is_free[axes.across][1] && j == m - 1;
    auto const in_strip = [&](bool is_there, int place) {
      return is_there && place >= first && place < first + width ? place - first : width;
    };
    closes = in_strip(rings || (mirrors_right && n % 2 == 0), n / 2 - 1);
    int const turns = in_strip(mirrors_right && n % 2 == 1, n / 2);
    to_left = kept(first > 0 ? -1 : mirrors_left ? 0 : (n - 1) >> 1);
    to_right = kept(closes == width ? width : mirrors_right ? closes : -first);
    to_below = kept(mirrors_below ? over : (beside(j, -1, m, wraps) - j) * over);
    to_above = kept(mirrors_above ? -over : (beside(j, 1, m, wraps) - j) * over);
    has = kept((first > 0 || rings || mirrors_left ? left : 0u) |
               (first + width < level.half || closes < width ? right : 0u) |
               (volume && (mirrors_below || has_beside(j, -1, m, wraps)) ? below : 0u) |
               (volume && (mirrors_above || has_beside(j, 1, m, wraps)) ? above : 0u));
    if constexpr (mirrors)
      ends = kept((mirrors_left && first == 0 ? half_of(0, 0) : 0u) |
                  (turns < width ? half_of(0, turns) | turn(turns) : 0u) |
                  (mirrors_right && closes < width ? half_of(1, closes) : 0u));
  }
  __device__ bool operator()(unsigned which) const { return (has & which) != 0; }
  /// Whether the cell of a strip's point v of a parity is halved along the row; whether a mirror stands behind one with
  /// an even number.
  __device__ bool halves(int is_odd, int v) const { return (ends & half_of(is_odd, v)) != 0; }
  __device__ bool turns_behind(int v) const { return (ends & turn(v)) != 0; }

 private:
  __device__ static unsigned half_of(int is_odd, int v) { return 1u << (4 * is_odd + v); }
  __device__ static unsigned turn(int v) { return 256u << v; }
};

/// What comes to be known with a plane.
template <class S>
struct OfPlane {
  Stored8<S> mass;
  Strip<S> f, u, below, above, behind;
  S side;
};

template <Does does, bool volume, bool reacts, class Strips, class S>
__global__ void __launch_bounds__(threads_of_columns, Strips::blocks)
    stored_kernel(__grid_constant__ Level<S> const level, int colour, Axes axes, int piece,
                  int step) {
  constexpr int width = vector_width<S>;
  constexpr bool mirrors = Strips::mirrors;
  constexpr bool relaxes = does == Does::relax || does == Does::relax_first,
                 overdoes = does == Does::overdo || does == Does::overdo_first;
  int const n = level.count[0], m = level.count[axes.across], p = level.count[axes.along];
  Column const column(piece, p, level.half / width);
  int const first = column.x * width, j = column.across;
  if (j >= m) return;
  bool const wraps = level.periodic[axes.along];
  int const over_across = row_stride(level, axes.across),
            over_along = kept(step * row_stride(level, axes.along));
  // Places that go on from plane to plane.
  int const first_plane = step > 0 ? column.first : column.last - 1;
  std::int64_t const start = std::int64_t{j} * over_across +
                             std::int64_t{first_plane} * row_stride(level, axes.along) + first;
  S const* other =
      (does == Does::relax_first ? level.f : level.u) + (1 - colour) * level.colour + start;
  S const* right = level.f + colour * level.colour + start;
  S* own = level.u + colour * level.colour + start;
  S const* reciprocal = level.reciprocal + start;
  auto const load_other = [&](std::int64_t place) {
    Strip<S> values = load_changing(other + place);
    if constexpr (does == Does::relax_first) {
      Strip<S> const by = load_strip(reciprocal + place);
      for (int v = 0; v < width; ++v) values.at[v] *= by.at[v];
    }
    return values;
  };
  auto const load_one = [&](int place) {
    S const value = other[place];
    return does == Does::relax_first ? value * __ldg(reciprocal + place) : value;
  };

  using There = Surroundings<mirrors>;
  There const there(level, axes, first, j, width, volume);
  int const halved_across = mirrors ? level.halvings(axes.across, j) : 0;
  bool const is_last = 2 * (first + width) > n;
  Strips strips(level, axes, first, j, first_plane, step);
  Coefficient const* mass = level.mass;
  std::int64_t const mass_plane = step * level.face_stride(axes.along);
  if constexpr (reacts)
    mass += level.mass_place(2 * first, volume ? j : 0, 0) +
            first_plane * level.face_stride(axes.along);

  // Of a column that goes through all planes.
  int const ahead_of_all = step > 0 ? 0 : p - 1, last_of_all = step > 0 ? p - 1 : 0;
  bool const mirrors_ahead = mirrors && level.is_free[axes.along][step > 0 ? 0 : 1],
             mirrors_last = mirrors && level.is_free[axes.along][step > 0 ? 1 : 0];

  wait_for_kernel_before();
  Strip<S> before{}, here{};
  if constexpr (does != Does::begin) {
    if (first_plane != ahead_of_all)
      before = load_other(-over_along);
    else if (wraps)
      before = load_other(std::int64_t{p - 1} * over_along);
    else if (mirrors_ahead)
      before = load_other(over_along);
    here = load_other(0);
  }
  int const planes = column.last - column.first;
  for (int done = 0, k = first_plane; done < planes; ++done, k += step) {
    bool const odd = ((colour + j + k) & 1) != 0;
    OfPlane<S> now{};
    strips.load();
    if constexpr (reacts) now.mass = Stored8<S>::load(mass);
    now.f = load_changing(right);
    if constexpr (does == Does::overdo || does == Does::keep_residual) now.u = load_changing(own);
    if constexpr (does == Does::overdo_first) {
      now.u = load_strip(reciprocal);
      for (int v = 0; v < width; ++v) now.u.at[v] *= now.f.at[v];
    }
    if constexpr (does != Does::begin) {
      if (k != last_of_all)
        now.behind = load_other(over_along);
      else if (wraps)
        now.behind = load_other(std::int64_t{1 - p} * over_along);
      else if (mirrors_last)
        now.behind = before;
      if (there(There::below)) now.below = load_other(there.to_below);
      if (there(There::above)) now.above = load_other(there.to_above);
      if (there(odd ? There::right : There::left))
        now.side = load_one(odd ? there.to_right : there.to_left);
    }
    // How many times larger than in its cell an equation is, but for ends of the row.
    S const larger = mirrors ? S(1 << (halved_across + level.halvings(axes.along, k))) : S{1};
    S const smaller = mirrors && does == Does::keep_residual ? 1 / larger : S{1};
    Strip<S> result;
    auto const find = [&](auto number) {
      constexpr int is_odd = number.value;
      S beyond[width];  // on the side of the next pair in the row
#pragma unroll
      for (int v = 0; v < width; ++v)
        beyond[v] = is_odd == 1 ? (v + 1 < width ? here.at[(v + 1) % width] : now.side)
                                : (v > 0 ? here.at[(v + width - 1) % width] : now.side);
      if (is_odd == 1 && there.closes < width - 1)
        for (int v = 0; v + 1 < width; ++v)
          if (v == there.closes) beyond[v] = now.side;
#pragma unroll
      for (int v = 0; v < width; ++v) {
        auto const around = strips.template around<is_odd>(v);
        S diagonal = around.diagonal();
        [[maybe_unused]] bool const is_halved = mirrors && there.halves(is_odd, v);
        S f = now.f.at[v];
        [[maybe_unused]] S mass{};
        if constexpr (reacts) mass = now.mass.at(2 * v + is_odd);
        if constexpr (mirrors) {
          S const times = is_halved ? 2 * larger : larger;
          f *= times, mass *= times;
        }
        if constexpr (reacts) diagonal += mass;
        if constexpr (does == Does::begin) {
          result.at[v] = diagonal == 0 ? S{0} : level.over * over_diagonal(f, diagonal);
        } else {
          S const on_left = is_odd == 1 ? here.at[v] : beyond[v];
          S const on_right = is_odd == 1                        ? beyond[v]
                             : mirrors && there.turns_behind(v) ? on_left
                                                                : here.at[v];
          S const from = !relaxes ? now.u.at[v] : around.is_left_nearer() ? on_left : on_right;
          S left = f + around.drawn({on_left - from, on_right - from, now.below.at[v] - from,
                                     now.above.at[v] - from, before.at[v] - from,
                                     now.behind.at[v] - from});
          if constexpr (reacts) left -= mass * from;
          S const over = overdoes ? level.over : S{1};
          result.at[v] = does == Does::keep_residual ? (is_halved ? smaller / 2 : smaller) * left
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
    S* const to = does == Does::keep_residual ? level.r + (own - level.u) : own;
    *reinterpret_cast<Strip<S>*>(to) = result;
    other += over_along;
    right += over_along;
    own += over_along;
    if constexpr (does == Does::relax_first || does == Does::overdo_first) reciprocal += over_along;
    if constexpr (reacts) mass += mass_plane;
    before = here;
    here = now.behind;
    strips.go_on();
  }
}

template <Does does, bool reacts, class S>
auto kernel_for(Level<S> const& level) {
  if (level.field != nullptr)
    return level.has_free ? stored_kernel<does, true, reacts, FieldStrips<true, S>, S>
                          : stored_kernel<does, true, reacts, FieldStrips<false, S>, S>;
  return level.of_volume ? stored_kernel<does, true, reacts, FaceStrips<true, S>, S>
                         : stored_kernel<does, false, reacts, FaceStrips<false, S>, S>;
}

/// The passes of a visit, one forth and the next one back: it begins with what the one before has left in
/// the L2 cache.
template <class S>
class Passes {
 public:
  Passes(Stream& stream, int step) : stream_(stream), step_(step) {}

  template <Does does>
  void make(Level<S> const& level, int colour) {
    Axes const axes = axes_of(level);
    auto* const kernel =
        level.mass != nullptr ? kernel_for<does, true>(level) : kernel_for<does, false>(level);
    int const across = level.count[axes.across], along = level.count[axes.along];
    auto const columns = Columns::in_a_row(level.half / vector_width<S>, across, along)
                             .fitted(stream_, kernel, along);
    follow(stream_, kernel, columns.grid, columns.block, 0, level, colour, axes, columns.piece,
           step_);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "multigrid colour");
    step_ = -step_;
  }
  void relax(Level<S> const& level) {
    level.over == 1 ? make<Does::relax>(level, 0) : make<Does::overdo>(level, 0);
    make<Does::relax>(level, 1);
  }

 private:
  Stream& stream_;
  int step_;  ///< of the next one
};

}  // namespace

template <class S>
void march_stored(Stream& stream, Descend<S> const& visit) {
  Passes<S> passes(stream, 1);
  // From 0 the first colour is not stored before the second sweep, if there is one.
  bool const skips = visit.from_zero && visit.sweeps > 1;
  for (int sweep = 0; sweep < visit.sweeps; ++sweep) {
    auto const level = for_sweep(visit.fine, false, sweep, visit.sweeps);
    if (skips && sweep == 0) {
      passes.template make<Does::relax_first>(level, 1);
    } else if (skips && sweep == 1 && level.over != 1) {
      passes.template make<Does::overdo_first>(level, 0);
      passes.template make<Does::relax>(level, 1);
    } else if (visit.from_zero && sweep == 0) {
      passes.template make<Does::begin>(level, 0);
      passes.template make<Does::relax>(level, 1);
    } else {
      passes.relax(level);
    }
  }
  passes.template make<Does::keep_residual>(visit.fine, 0);
  if (visit.from_zero) return gather_stored(stream, visit.fine, visit.coarse);
  // Roundings of a u that the coarser level has a part in leave something at the second colour.
  passes.template make<Does::keep_residual>(visit.fine, 1);
  march_stored(stream, Gather<S>{visit.fine, visit.coarse, visit.fine.r});
}

template <class S>
void march_stored(Stream& stream, Ascend<S> const& visit) {
  march_stored(stream, Correct<S>{visit.fine, visit.coarse, 3, true});
  Passes<S> passes(stream, -1);
  for (int sweep = 0; sweep < visit.sweeps; ++sweep)
    passes.relax(for_sweep(visit.fine, true, sweep, visit.sweeps));
}

#define GRIDSTRIDE_INSTANTIATE(S)                         \
  template void march_stored(Stream&, Descend<S> const&); \
  template void march_stored(Stream&, Ascend<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid

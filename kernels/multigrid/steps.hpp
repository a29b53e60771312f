#pragma once

#include "core/host_device.hpp"
#include "kernels/multigrid/level.hpp"
#include "kernels/poisson/point.hpp"

/// The steps of a cycle at a point each, the same on the host and on the GPU, each with the number of
/// points that it is called for along the axes. For the family's own files only.
namespace gridstride::multigrid {

struct Extent {
  int x, y, z;
};
template <class S>
GRIDSTRIDE_HOST_DEVICE Extent points_of(Level<S> const& level) {
  return {level.count[0], level.count[1], level.count[2]};
}
template <class S>
GRIDSTRIDE_HOST_DEVICE Extent colour_of(Level<S> const& level) {
  return {level.half, level.count[1], level.count[2]};
}

/// From a value to a wanted one, and as much further as the level has it.
template <class S>
GRIDSTRIDE_HOST_DEVICE S over(Level<S> const& level, S value, S wanted) {
  return value + level.over * (wanted - value);
}

/// u = (f + Σ neighbours)/diagonal at the points of a colour, or further than that, of a level
/// without seams. Where u is to begin from 0, what it holds does not count.
template <class S>
struct Relax {
  Level<S> level;
  int colour;
  bool from_zero;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return colour_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int j, int k) const {
    int const at[3] = {2 * x + ((colour + j + k) & 1), j, k};
    if (at[0] >= level.count[0]) return;
    Row<S> const row = row_of(level, at);
    std::int64_t const place =
        colour * level.colour + (std::int64_t{k} * level.count[1] + j) * level.half + x;
    bool const goes_over = colour == 0 && level.over != 1;
    if (row.diagonal == 0 || from_zero) {
      S const wanted = row.diagonal == 0 ? S{0} : level.f[place] / row.diagonal;
      level.u[place] = goes_over ? level.over * wanted : wanted;
      return;
    }
    Beside<S> const beside(level, level.u + (1 - colour) * level.colour, at);
    if (!level.is_stored()) {
      S const wanted = (level.f[place] + beside.drawn(row, 0)) / row.diagonal;
      level.u[place] = goes_over ? over(level, level.u[place], wanted) : wanted;
      return;
    }
    // By differences, which are exact where u is nearly constant, as it is where a is large.
    S const from = goes_over ? level.u[place] : beside.nearest(row);
    S const left = level.f[place] + (beside.drawn(row, from) - mass_of(level, at) * from);
    level.u[place] = from + (goes_over ? level.over : S{1}) * (left / row.diagonal);
  }
};

/// The phase of a point of any level, of five: both colours but for seams, the last points of periodic
/// axes whose number of points is odd, and seams in three colours, i + j + k modulo 3 with numbers
/// 0, 1, 0, 1, …, 2 along such an axis.
template <class S>
GRIDSTRIDE_HOST_DEVICE int phase_of(Level<S> const& level, int const (&at)[3]) {
  bool on_seam = false;
  int sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    bool const last = level.seam[axis] && at[axis] == level.count[axis] - 1;
    on_seam = on_seam || last;
    sum += last ? 2 : at[axis] & 1;
  }
  return on_seam ? 2 + sum % 3 : sum & 1;
}

/// Relaxation in those.
template <class S>
struct RelaxPhase {
  static constexpr int phases = 5;
  Level<S> level;
  int phase;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    if (phase != phase_of(level, at)) return;
    Row<S> const row = row_of(level, at);
    std::int64_t const place = level.place(i, j, k);
    S const own = level.u[place];
    S wanted = 0;
    if (row.diagonal != 0)
      wanted = level.is_stored()
                   ? own + (level.f[place] + drawn(level, level.u, row, at)) / row.diagonal
                   : (level.f[place] + neighbours(level, level.u, row, at)) / row.diagonal;
    level.u[place] = phase == 0 ? over(level, own, wanted) : wanted;
  }
};

/// What the textbook's methods do with the points of a phase, or with all: to = from + factor·(what
/// a point's equation has − from).
template <class S>
struct Sweep {
  static constexpr int all = -1;
  Level<S> level;
  int phase;
  S factor;
  S const* from;
  S* to;

  /// Of a level without seams the points of a phase are called for, and no others.
  GRIDSTRIDE_HOST_DEVICE bool by_colour() const { return phase != all && !level.has_seam(); }
  GRIDSTRIDE_HOST_DEVICE Extent extent() const {
    return by_colour() ? colour_of(level) : points_of(level);
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int j, int k) const {
    int const at[3] = {by_colour() ? 2 * x + ((phase + j + k) & 1) : x, j, k};
    if (at[0] >= level.count[0]) return;
    if (phase != all && phase != phase_of(level, at)) return;
    Row<S> const row = exact_row_of(level, at);
    std::int64_t const place = level.place(at[0], j, k);
    S const old = from[place];
    S const wanted = row.diagonal == 0
                         ? S{0}
                         : (level.f[place] + neighbours(level, from, row, at)) / row.diagonal;
    to[place] = old + factor * (wanted - old);
  }
};

/// u = 0, at the points of both colours.
template <class S>
struct Clear {
  Level<S> level;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    level.u[level.place(i, j, k)] = 0;
  }
};

/// r = f − A u
template <class S>
struct KeepResidual {
  Level<S> level;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    Row<S> const row = row_of(level, at);
    std::int64_t const place = level.place(i, j, k);
    level.r[place] = level.is_stored() ? level.f[place] + drawn(level, level.u, row, at)
                                       : (level.f[place] - row.diagonal * level.u[place]) +
                                             neighbours(level, level.u, row, at);
  }
};

/// f of the coarse level from values of the fine one: its r, or its own f.
template <class S>
struct Gather {
  Level<S> fine, coarse;
  S const* values;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(coarse); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int y, int z) const {
    coarse.f[coarse.place(x, y, z)] = gathered(
        fine, coarse, x, y, z, [&](int i, int j, int k) { return values[fine.place(i, j, k)]; });
  }
};

/// u += what the coarse level has found, or u = that, at the points of colours: 1 for the first, 2
/// for the other, 3 for both.
template <class S>
struct Correct {
  Level<S> fine, coarse;
  int colours;
  bool adds;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(fine); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    if ((colours >> ((i + j + k) & 1) & 1) == 0) return;
    S& u = fine.u[fine.place(i, j, k)];
    S const found = interpolated(fine, coarse, coarse.u, i, j, k);
    u = adds ? u + found : found;
  }
};

/// What a cycle does on a level on its way down, as a whole: relaxation, so many times, from 0 or from
/// u; then f of the coarse level is what is left. And on its way up: u += what the coarse level has
/// found, and relaxation.
template <class S>
struct Descend {
  Level<S> fine, coarse;
  int sweeps;
  bool from_zero;
};
template <class S>
struct Ascend {
  Level<S> fine, coarse;
  int sweeps;
};

/// u = inverse·f on the coarsest level, by rows; unknowns in the order of their points. In float64, for rows of what
/// is stiff are nearly alike, and right-hand sides there cancel.
template <class S, class I = double>
struct SolveDirectly {
  Level<S> level;
  I const* inverse;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    I const* row = inverse + level.point(i, j, k) * level.size();
    decltype(I{} * S{}) sum = 0;
    for (int z = 0; z < level.count[2]; ++z)
      for (int y = 0; y < level.count[1]; ++y)
        for (int x = 0; x < level.count[0]; ++x) sum += *row++ * level.f[level.place(x, y, z)];
    level.u[level.place(i, j, k)] = static_cast<S>(sum);
  }
};

}  // namespace gridstride::multigrid

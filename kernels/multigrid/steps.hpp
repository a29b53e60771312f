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

/// u = inverse·f on the coarsest level, by rows; unknowns in the order of their points.
template <class S>
struct SolveDirectly {
  Level<S> level;
  S const* inverse;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    S const* row = inverse + level.point(i, j, k) * level.size();
    S sum = 0;
    for (int z = 0; z < level.count[2]; ++z)
      for (int y = 0; y < level.count[1]; ++y)
        for (int x = 0; x < level.count[0]; ++x) sum += *row++ * level.f[level.place(x, y, z)];
    level.u[level.place(i, j, k)] = sum;
  }
};

/// A level's stored equations alone, as they are found from level to level, without gaps.
template <class S>
struct Stored {
  int count[3];
  bool periodic[3];
  S *face[3], *mass;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return {count[0], count[1], count[2]}; }
  GRIDSTRIDE_HOST_DEVICE std::int64_t point(int const (&at)[3]) const {
    return (std::int64_t{at[2]} * count[1] + at[1]) * count[0] + at[0];
  }
  /// The face before a point and the one behind it.
  GRIDSTRIDE_HOST_DEVICE S lower(int axis, int const (&at)[3]) const {
    return face[axis][face_place(count, axis, at)];
  }
  GRIDSTRIDE_HOST_DEVICE S upper(int axis, int const (&at)[3]) const {
    return face[axis][face_place(count, axis, at) + face_stride(count, axis)];
  }
  /// The one on a side, 0 or 1.
  GRIDSTRIDE_HOST_DEVICE S at_side(int axis, int side, int const (&at)[3]) const {
    return side == 0 ? lower(axis, at) : upper(axis, at);
  }
  /// Where what is on the other side of a face is a point, that is; else −1.
  GRIDSTRIDE_HOST_DEVICE int beside(int axis, int at, int step) const {
    int const next = at + step, last = count[axis] - 1;
    if (next >= 0 && next <= last) return next;
    return periodic[axis] && last > 0 ? (next < 0 ? last : 0) : -1;
  }
};

/// The finest level's stored equations, times `scale`. A point has the faces before it, the last
/// one of a line also that behind it.
template <class T, class S>
struct StoreEquations {
  poisson::Operator<T> a;
  Stored<S> level;
  double scale;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return level.extent(); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const here[3] = {i, j, k};
    std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
    std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
    double const share = poisson::share_of(a, at) * scale;
    level.mass[level.point(here)] = static_cast<S>(a.reaction_at(place) * share);
    for (int axis = 0; axis < a.dims; ++axis) {
      auto const faces = poisson::faces_of(a, axis, at[axis], place);
      // A Neumann side halves the cell, and not the face.
      bool const is_free[2] = {
          a.side[axis][0] == poisson::Rule::neumann && a.is_side(axis, 0, at[axis]),
          a.side[axis][1] == poisson::Rule::neumann && a.is_side(axis, 1, at[axis])};
      double const area = is_free[0] || is_free[1] ? 2 * share : share;
      std::int64_t const face = face_place(level.count, axis, here);
      level.face[axis][face] = static_cast<S>(is_free[0] ? 0 : faces.lower * area);
      if (here[axis] == level.count[axis] - 1)
        level.face[axis][face + face_stride(level.count, axis)] =
            static_cast<S>(is_free[1] ? 0 : faces.upper * area);
    }
  }
};

/// What points of the first colour are divided by when u begins from 0.
template <class S>
struct KeepReciprocals {
  Level<S> level;
  S* reciprocal;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return colour_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int j, int k) const {
    int const at[3] = {2 * x + ((j + k) & 1), j, k};
    if (at[0] >= level.count[0]) return;
    S const diagonal = row_of(level, at).diagonal;
    reciprocal[(std::int64_t{k} * level.count[1] + j) * level.half + x] =
        diagonal == 0 ? S{0} : 1 / diagonal;
  }
};

/// What transfers have of weights.
struct KeepWeights {
  Extent points;
  float const *left, *right;
  Weight* weights;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    std::int64_t const point = (std::int64_t{k} * points.y + j) * points.x + i;
    weights[point] = Weight(left[point], right[point]);
  }
};

/// What a level has of them.
template <class S>
struct KeepEquations {
  Stored<S> from;
  Level<S> level;
  Coefficient *face[3], *mass;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return from.extent(); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    if (mass != nullptr)
      mass[level.mass_place(i, j, k)] = Coefficient(static_cast<float>(from.mass[from.point(at)]));
    for (int axis = 0; axis < 3; ++axis) {
      if (face[axis] == nullptr) continue;
      std::int64_t const place = level.face_place(axis, i, j, k);
      face[axis][place] = Coefficient(static_cast<float>(from.lower(axis, at)));
      if (at[axis] == level.count[axis] - 1)
        face[axis][place + level.face_stride(axis)] =
            Coefficient(static_cast<float>(from.upper(axis, at)));
    }
  }
};

/// How much points take of their neighbours along an axis, for those between kept ones: what makes
/// their equation along the axis hold, with the faces on both sides, or where the mass is more than
/// those with the mass too. In the place of a face stands what goes the long way round, over a neighbour
/// along another axis and the one beside that, where that is more: at an edge of a box with a large a
/// points hang on it by that alone, and of their neighbours those on one side do.
template <class S>
struct StoreWeights {
  Stored<S> fine;
  int axis;
  float *left, *right;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return fine.extent(); }
  /// Between a point and the next one on a side; three faces in a row count as one.
  GRIDSTRIDE_HOST_DEVICE S coupling(int const (&at)[3], int side) const {
    S most = fine.at_side(axis, side, at);
    int next[3] = {at[0], at[1], at[2]};
    next[axis] = fine.beside(axis, at[axis], side == 0 ? -1 : 1);
    // What hangs on something beside a given side is not to hang on the side.
    bool const is_beside_end =
        next[axis] < 0 || fine.beside(axis, at[axis], side == 0 ? 1 : -1) < 0;
    for (int other = 0; other < 3; ++other) {
      if (other == axis || fine.face[other] == nullptr) continue;
      for (int way = 0; way < 2; ++way) {
        int round[3] = {at[0], at[1], at[2]};
        round[other] = fine.beside(other, at[other], way == 0 ? -1 : 1);
        if (round[other] < 0) continue;
        // Less than the smallest of the three.
        S const away = fine.at_side(other, way, at), beside = fine.at_side(axis, side, round);
        if (away <= most || beside <= most) continue;
        S const back = is_beside_end ? away : fine.at_side(other, way, next);
        S const in_row = 1 / (1 / away + 1 / beside + 1 / back);
        most = in_row > most ? in_row : most;
      }
    }
    return most;
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    std::int64_t const point = fine.point(at);
    S const both = fine.lower(axis, at) + fine.upper(axis, at), mass = fine.mass[point];
    S const lower = coupling(at, 0), upper = coupling(at, 1), sum = lower + upper;
    float to_left = sum == 0 ? 0.0f : static_cast<float>(lower / sum);
    float to_right = sum == 0 ? 0.0f : 1.0f - to_left;
    if (sum != 0) to_left = 1.0f - to_right;  // constants stay what they are, in every digit
    if (mass > both) {
      float const share = static_cast<float>(both / (both + mass));
      to_left *= share, to_right *= share;
    }
    left[point] = to_left;
    right[point] = to_right;
  }
};

/// The equations of a level that is coarser along an axis. Between kept points the faces lower and
/// upper in a row leave lower·upper/(lower + upper (+ mass)); the mass of what stood between goes to
/// both sides by its weights, and so do its faces along the other axes, as far as both their points
/// have the same ones. The rest of such a face couples a kept point of one row with one on the other
/// side of the next row, for which there is no face. What is left of the rows carries that: each row's
/// part goes straight to the side from which the row leads on. Where both rows are too weak for it, as
/// where two boxes touch, they become as strong: equations that are softer than what was there would
/// have corrections go too far, those that are stiffer only go less far.
template <class S>
struct Eliminate {
  Stored<S> fine, coarse;
  TransferView<S> transfer;
  int axis;
  float const *left, *right;  ///< weights of the fine points

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return coarse.extent(); }
  GRIDSTRIDE_HOST_DEVICE bool is_between(int at) const {
    return at >= 0 && !(transfer.left[at] >= 0 && transfer.kept[transfer.left[at]] == at);
  }
  /// What the faces of a point between leave in its row.
  GRIDSTRIDE_HOST_DEVICE S in_row(int const (&at)[3]) const {
    S const lower = fine.lower(axis, at), upper = fine.upper(axis, at), both = lower + upper;
    S const mass = fine.mass[fine.point(at)], sum = mass > both ? both + mass : both;
    return sum == 0 ? S{0} : lower / sum * upper;
  }
  /// How much of what two rows are to carry the one does.
  static GRIDSTRIDE_HOST_DEVICE S part(S row, S other) {
    return row + other == 0 ? S(0.5) : row / (row + other);
  }
  static GRIDSTRIDE_HOST_DEVICE S apart(float a, float b) { return S(a > b ? a - b : b - a); }

  /// What the row of a point between has to become stronger by, for its faces along the other axes.
  GRIDSTRIDE_HOST_DEVICE S lacking(int const (&at)[3]) const {
    S const own = in_row(at);
    S sum = 0;
    for (int other = 0; other < 3; ++other) {
      if (other == axis || fine.face[other] == nullptr) continue;
      for (int side = 0; side < 2; ++side) {
        int next[3] = {at[0], at[1], at[2]};
        next[other] = fine.beside(other, at[other], side == 0 ? -1 : 1);
        if (next[other] < 0) continue;
        S const differs = apart(left[fine.point(at)], left[fine.point(next)]);
        if (differs == 0) continue;
        S const theirs = in_row(next);
        S const lacks = differs * fine.at_side(other, side, at) - (own + theirs);
        if (lacks > 0) sum += part(own, theirs) * lacks;
      }
    }
    return sum;
  }
  /// The face on a side of a kept point, after what is behind it has been eliminated.
  GRIDSTRIDE_HOST_DEVICE S face_beside(int const (&at)[3], int side) const {
    int beside[3] = {at[0], at[1], at[2]};
    beside[axis] = fine.beside(axis, at[axis], side == 0 ? -1 : 1);
    if (!is_between(beside[axis])) return fine.at_side(axis, side, at);
    return in_row(beside) + lacking(beside);
  }
  /// What a fine point between gives of its face along another axis, the one on `side`, to where the
  /// weights lead.
  GRIDSTRIDE_HOST_DEVICE S shared(int other, int side, int const (&at)[3],
                                  float const* weights) const {
    S const face = fine.at_side(other, side, at);
    int next[3] = {at[0], at[1], at[2]};
    next[other] = fine.beside(other, at[other], side == 0 ? -1 : 1);
    float const own = weights[fine.point(at)];
    if (next[other] < 0) return own * face;
    float const theirs = weights[fine.point(next)];
    if (own == theirs) return own * face;
    S const mine = in_row(at), others = in_row(next);
    S const carried = own > theirs ? part(others, mine) : part(mine, others);
    return (S(own < theirs ? own : theirs) + apart(own, theirs) * carried) * face;
  }

  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int y, int z) const {
    int const to[3] = {x, y, z};
    int at[3] = {x, y, z};
    at[axis] = transfer.kept[to[axis]];
    S held = fine.mass[fine.point(at)];
    auto const is_last = [&](int along) { return to[along] == coarse.count[along] - 1; };
    S before[3] = {0, 0, 0}, behind[3] = {0, 0, 0};
    for (int other = 0; other < 3; ++other) {
      if (fine.face[other] == nullptr) continue;
      before[other] = other == axis ? face_beside(at, 0) : fine.lower(other, at);
      if (is_last(other))
        behind[other] = other == axis ? face_beside(at, 1) : fine.upper(other, at);
    }
    for (int side = 0; side < 2; ++side) {
      int beside[3] = {at[0], at[1], at[2]};
      beside[axis] = fine.beside(axis, at[axis], side == 0 ? -1 : 1);
      if (!is_between(beside[axis])) continue;
      float const* const weights = side == 0 ? right : left;
      held += weights[fine.point(beside)] * fine.mass[fine.point(beside)];
      for (int other = 0; other < 3; ++other) {
        if (other == axis || fine.face[other] == nullptr) continue;
        before[other] += shared(other, 0, beside, weights);
        if (is_last(other)) behind[other] += shared(other, 1, beside, weights);
      }
    }
    coarse.mass[coarse.point(to)] = held;
    bool const is_point =
        coarse.count[axis] == 1 && fine.beside(axis, at[axis], 1) >= 0 && fine.periodic[axis];
    for (int other = 0; other < 3; ++other) {
      if (coarse.face[other] == nullptr) continue;
      bool const none = other == axis && is_point;  // nobody but itself
      std::int64_t const face = face_place(coarse.count, other, to);
      coarse.face[other][face] = none ? S{0} : before[other];
      if (is_last(other))
        coarse.face[other][face + face_stride(coarse.count, other)] = none ? S{0} : behind[other];
    }
  }
};

}  // namespace gridstride::multigrid

#pragma once

#include <cmath>

#include "kernels/multigrid/steps.hpp"

/// How equations whose coefficients are fields come about and go from level to level, at a point each, the
/// same on the host and on the GPU. For the family's own files only.
namespace gridstride::multigrid {

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

/// What points of the first colour have of f in the first sweep when u begins from 0.
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
        diagonal == 0 ? S{0} : for_sweep(level, false, 0, 2).over / diagonal;
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
/// points hang on it by that alone, and of their neighbours those on one side do. A line or plane of points
/// between that hang on each other much more than on both sides moves by itself. It goes along with one
/// side, whose points follow it then: with that which has no other such line and is not given, or else
/// with the lower one, of which it takes all but `aside`. What it takes of the other is −0 where it has no
/// choice. The mean of both could not move without the other line, and would be two lines on the coarser
/// level.
template <class S>
struct StoreWeights {
  /// What a line that may go along with either side takes of the upper one.
  static constexpr float aside = 0x1p-20f;
  /// Much more than with any spacings between which axes become coarser together.
  static constexpr S strong = 4;

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
  /// The strongest face of a point along the other axes.
  GRIDSTRIDE_HOST_DEVICE S across(int const (&at)[3]) const {
    S most = 0;
    for (int other = 0; other < 3; ++other) {
      if (other == axis || fine.face[other] == nullptr) continue;
      for (int side = 0; side < 2; ++side) {
        S const face = fine.at_side(other, side, at);
        most = face > most ? face : most;
      }
    }
    return most;
  }
  /// Whether a point hangs on a side by the long way round, and on the other one, where its face is all that
  /// leads there, much less: at an edge of a box it goes along with that. As little as it took of the other side
  /// would tie that to the box by what the box's faces are larger.
  GRIDSTRIDE_HOST_DEVICE bool goes_along(int const (&at)[3], int side, S lower, S upper) const {
    S const most = side == 0 ? lower : upper, least = side == 0 ? upper : lower;
    return least == fine.at_side(axis, 1 - side, at) && most > strong * least &&
           most > strong * fine.at_side(axis, side, at);
  }
  /// Takes away what leads from one strong line to another, or to a given side; of one that has neither
  /// beside it nearly all that leads up.
  GRIDSTRIDE_HOST_DEVICE void lead_away(int const (&at)[3], S& lower, S& upper) const {
    if (across(at) <= strong * (lower + upper)) return;
    bool stands_alone[2];
    for (int side = 0; side < 2; ++side) {
      int next[3] = {at[0], at[1], at[2]};
      next[axis] = fine.beside(axis, at[axis], side == 0 ? -1 : 1);
      stands_alone[side] = next[axis] < 0 || across(next) > strong * fine.at_side(axis, side, at);
    }
    if (stands_alone[0] && !stands_alone[1]) lower = 0;
    if (stands_alone[1] && !stands_alone[0]) upper = 0;
    if (!stands_alone[0] && !stands_alone[1]) upper = lower * S(aside);
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    std::int64_t const point = fine.point(at);
    S const both = fine.lower(axis, at) + fine.upper(axis, at), mass = fine.mass[point];
    S lower = coupling(at, 0), upper = coupling(at, 1);
    bool const along[2] = {goes_along(at, 0, lower, upper), goes_along(at, 1, lower, upper)};
    lead_away(at, lower, upper);
    bool const no_lower = lower == 0 && fine.lower(axis, at) > 0,
               no_upper = upper == 0 && fine.upper(axis, at) > 0;
    if (!no_lower && !no_upper) {
      if (along[0]) upper = 0;
      if (along[1]) lower = 0;
    }
    S const sum = lower + upper;
    float to_left = sum == 0 ? 0.0f : static_cast<float>(lower / sum);
    float to_right = sum == 0 ? 0.0f : 1.0f - to_left;
    if (sum != 0) to_left = 1.0f - to_right;  // constants stay what they are, in every digit
    if (mass > both) {
      float const share = static_cast<float>(both / (both + mass));
      to_left *= share, to_right *= share;
    }
    left[point] = no_lower ? -0.0f : to_left;
    right[point] = no_upper ? -0.0f : to_right;
  }
};

/// The equations of a level that is coarser along an axis. Between kept points the faces lower and
/// upper in a row leave lower·upper/(lower + upper (+ mass)), or one of them where the point between takes
/// all of the other side; the mass of what stood between goes to both sides by its weights, and so do its
/// faces along the other axes, as far as both their points have the same ones. The rest of such a face
/// couples a kept point of one row with one on the other side of the next row, for which there is no face.
/// What is left of the rows carries that: each row's part goes straight to the side from which the row
/// leads on. Where both rows are too weak for it, as where two boxes touch, they become as strong:
/// equations that are softer than what was there would have corrections go too far, those that are stiffer
/// only go less far.
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
    std::int64_t const point = fine.point(at);
    S const mass = fine.mass[point];
    if (mass > both) return lower / (both + mass) * upper;
    if (std::signbit(left[point])) return lower;
    if (std::signbit(right[point]) || right[point] == StoreWeights<S>::aside) return upper;
    return both == 0 ? S{0} : lower / both * upper;
  }
  /// What of that leads from side to side, so that it may carry more: nothing of a point that has no choice.
  GRIDSTRIDE_HOST_DEVICE S through(int const (&at)[3]) const {
    std::int64_t const point = fine.point(at);
    return std::signbit(left[point]) || std::signbit(right[point]) ? S{0} : in_row(at);
  }
  /// How much of what two rows are to carry the one does.
  static GRIDSTRIDE_HOST_DEVICE S part(S row, S other) {
    return row + other == 0 ? S(0.5) : row / (row + other);
  }
  static GRIDSTRIDE_HOST_DEVICE S apart(float a, float b) { return S(a > b ? a - b : b - a); }

  /// What the row of a point between has to become stronger by, for its faces along the other axes.
  GRIDSTRIDE_HOST_DEVICE S lacking(int const (&at)[3]) const {
    S const own = through(at);
    S sum = 0;
    for (int other = 0; other < 3; ++other) {
      if (other == axis || fine.face[other] == nullptr) continue;
      for (int side = 0; side < 2; ++side) {
        int next[3] = {at[0], at[1], at[2]};
        next[other] = fine.beside(other, at[other], side == 0 ? -1 : 1);
        if (next[other] < 0) continue;
        S const differs = apart(left[fine.point(at)], left[fine.point(next)]);
        if (differs == 0) continue;
        S const theirs = through(next);
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
    S const mine = through(at), others = through(next);
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

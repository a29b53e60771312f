#pragma once

#include <cstdint>

#include "core/host_device.hpp"

/// A level as steps see it, on the host and on the GPU. For the family's own files only.
namespace gridstride::multigrid {

/// A coefficient of equations that corrections are found by: the upper half of a float32. Equations
/// whose faces and masses differ by 2⁻⁹ of each differ in energy by no more, and so do corrections.
struct Coefficient {
  std::uint16_t bits = 0;

  Coefficient() = default;
  GRIDSTRIDE_HOST_DEVICE explicit Coefficient(float value) {
    auto const all = __builtin_bit_cast(std::uint32_t, value);
    bool const is_number = (all & 0x7fffffffu) <= 0x7f800000u;
    bits = static_cast<std::uint16_t>((is_number ? all + 0x7fffu + (all >> 16 & 1) : all) >> 16);
  }
  GRIDSTRIDE_HOST_DEVICE operator float() const {
    return __builtin_bit_cast(float, std::uint32_t{bits} << 16);
  }
};

/// What a point between kept ones takes of the one on its left and of the one on its right, in steps of
/// 2⁻¹⁵. Where nothing else draws at it both come to 1, so that what is constant stays so; what is lost is at
/// most 2⁻¹⁶ of the energy of a step from the one to the other, whatever the faces' ratio.
struct Weight {
  std::uint16_t left = 0, right = 0;

  Weight() = default;
  GRIDSTRIDE_HOST_DEVICE Weight(float of_left, float of_right) {
    auto const steps = [](float share) {
      return share > 0 ? static_cast<int>(share * 32768 + 0.5f) : 0;
    };
    int const of_both = steps(of_left + of_right), own = steps(of_left);
    left = static_cast<std::uint16_t>(own);
    right = static_cast<std::uint16_t>(of_both > own ? of_both - own : 0);
  }
  /// On side 0 or 1. By bits: to convert would take as long as the rest of what is done with it.
  GRIDSTRIDE_HOST_DEVICE float of(int side) const {
    return __builtin_bit_cast(float, 0x43800000u | (side == 0 ? left : right)) - 256.0f;
  }
};

/// How an axis goes to the next coarser level: `Transfer` of coarsening.hpp in device memory.
template <class S>
struct TransferView {
  int const *left, *right, *kept;
  S const *to_left, *to_right, *gather;  ///< of gather three of each coarse unknown
};

/// The unknowns of a level and their equations, in one of two forms:
///
///   tables   the same a and κ everywhere: a/(interval·width) by axis, κ a number
///   stored   fields a and κ: what lies between neighbours (`face`, those before the points along
///            an axis and the last one behind them; of Dirichlet sides too) and what draws to 0
///            (`mass`, κ), times the volumes of cells
///
/// Values (u, f, r) lie colour by colour: first the points with i + j + k even, then the others, each
/// row by row, so that relaxation of a colour reads and writes whole lines of memory. What is stored
/// of the equations lies point by point, in rows of `line` places, of which those behind the last face
/// hold 0. In the place of faces a level may have a itself, of a third of their size, where each face is a
/// number of its axis times the sum of a on both sides, halved for each side without flux that it lies on.
template <class S>
struct Level {
  int number;      ///< of the levels, the finest has 0
  bool of_volume;  ///< of a grid with three axes
  int count[3];
  bool periodic[3];
  bool alike;           ///< equations along the first axis are, but for given ends
  bool doubles;         ///< so, and of that axis every second unknown is kept, from the second on
  bool doubles_across;  ///< the same of the second axis of three
  bool seam[3];         ///< periodic with an odd number of points: ends are of the same colour
  /// Whether the axis ends at a side without flux, of a window where the grid does; whether any axis of the grid does.
  bool is_free[3][2], has_free;
  bool by_columns;      ///< whether a GPU goes by columns of points, of a window as of the whole
  int half;             ///< places of a colour in a row, some of which may be no points' and hold 0
  std::int64_t colour;  ///< values of a colour
  int smooths;          ///< along how many axes relaxation has to smooth
  /// Points of the first colour go so many times as far as relaxation would have them.
  S over;
  /// What neighbours count along an axis, 0 of those that are no unknowns; and what that makes of
  /// the diagonal.
  S const *lower[3], *upper[3], *sum[3];
  S reaction;
  Coefficient const *face[3], *mass;  ///< the latter null: 0
  /// a, also of what lies beside the points; null: faces are stored. Else of `face` counts which is null.
  Coefficient const* field;
  S of_axis[3];  ///< what a face is of the sum of a on both sides
  /// What the first sweep from 0 makes of f at the places of the first colour, 0 where the diagonal is 0: where a
  /// GPU goes by columns, else null.
  S const* reciprocal;
  int line;
  /// The same as they were found, without gaps; of the only level, which textbooks' methods have.
  S const *exact_face[3], *exact_mass;
  TransferView<S> transfer[3];
  /// Of the stored form, axis by axis; null: no change.
  Weight const* weight[3];
  S *u, *f, *r;

  GRIDSTRIDE_HOST_DEVICE bool is_stored() const { return face[0] != nullptr; }
  GRIDSTRIDE_HOST_DEVICE bool has_seam() const { return seam[0] || seam[1] || seam[2]; }
  GRIDSTRIDE_HOST_DEVICE std::int64_t size() const {
    return std::int64_t{count[0]} * count[1] * count[2];
  }
  /// Of a value.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(int i, int j, int k) const {
    return ((i + j + k) & 1) * colour + (std::int64_t{k} * count[1] + j) * half + (i >> 1);
  }
  /// Of the mass at a point.
  GRIDSTRIDE_HOST_DEVICE std::int64_t mass_place(int i, int j, int k) const {
    return (std::int64_t{k} * count[1] + j) * line + i;
  }
  /// Of the face before a point along an axis, and from it to the next one.
  GRIDSTRIDE_HOST_DEVICE std::int64_t face_place(int axis, int i, int j, int k) const {
    return (std::int64_t{k} * (count[1] + (axis == 1 ? 1 : 0)) + j) * line + i;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t face_stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? line : std::int64_t{line} * count[1];
  }
  /// Of a at a point, or a step beside one. The place before a row is the last one of the row before.
  GRIDSTRIDE_HOST_DEVICE std::int64_t field_place(int i, int j, int k) const {
    return before_field + ((k + 1) * (std::int64_t{count[1]} + 2) + (j + 1)) * line + i;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t field_stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? line : std::int64_t{line} * (count[1] + 2);
  }
  /// How many times the cell of a point is halved along an axis.
  GRIDSTRIDE_HOST_DEVICE int halvings(int axis, int at) const {
    return (is_free[axis][0] && at == 0 ? 1 : 0) +
           (is_free[axis][1] && at == count[axis] - 1 ? 1 : 0);
  }
  static constexpr int before_field = 8;
  std::int64_t field_size() const { return field_place(0, -1, count[2] + 1); }
  /// Among all of them, row by row.
  GRIDSTRIDE_HOST_DEVICE std::int64_t point(int i, int j, int k) const {
    return (std::int64_t{k} * count[1] + j) * count[0] + i;
  }
};

/// Unknowns of a level that one block of a GPU may make with all coarser ones; and where equations are
/// stored, as far as all that fits in its shared memory.
constexpr std::int64_t most_small = 2000, most_small_stored = 4000;

/// Unknowns of the coarsest level, which is solved by its inverse; and of volumes where fields may jump soon,
/// for they would visit small levels twice.
constexpr int most_inverted_of_few = 64, most_inverted_of_volumes = 400;

/// The level for a sweep of relaxation before, or after, a visit of the coarser one. High frequencies of
/// several axes shrink faster where points of a colour go further than their equation has it (Yavneh,
/// SIAM J. Sci. Comput. 17 (1996)); and most where they go further from sweep to sweep, so that those
/// of all sweeps in a row differ: found by trying, with factors of cycles from 0.06 to 0.02.
template <class S>
GRIDSTRIDE_HOST_DEVICE Level<S> for_sweep(Level<S> level, bool after, int sweep, int sweeps) {
  bool const is_first = !after && sweep == 0, is_last = after && sweep + 1 == sweeps;
  if (level.smooths < 2)
    level.over = 1;
  else if (level.smooths == 2)
    level.over = is_last ? S(1.45) : S(1.15);
  else
    level.over = is_first ? S(1) : is_last ? S(1.8) : S(1.35);
  return level;
}

/// Whether a GPU may go by columns of points: no seams, more than one axis, long rows, and not too many
/// of them for a grid of blocks.
template <class S>
bool has_columns(Level<S> const& level) {
  constexpr int most = 65535;
  return !level.has_seam() && level.half % 4 == 0 &&
         std::int64_t{level.count[1]} * level.count[2] > 1 && level.count[1] <= most &&
         level.count[2] <= most;
}
template <class S>
bool can_march(Level<S> const& level) {
  return !level.is_stored() && level.by_columns;
}
template <class S>
bool can_march_stored(Level<S> const& level) {
  return level.is_stored() && level.by_columns;
}

/// How many points of a column a thread goes along, of so many in all: pieces are long where there are
/// threads enough, since each begins by loading what lies before it.
constexpr int piece_of_columns(std::int64_t points) {
  constexpr std::int64_t enough = 300'000;  // threads; a number that depends on no device
  std::int64_t const piece = points / enough;
  return piece < 1 ? 1 : piece > 32 ? 32 : static_cast<int>(piece);
}

/// Of the face before a point along an axis, of arrays without gaps of so many points.
GRIDSTRIDE_HOST_DEVICE inline std::int64_t face_place(int const (&count)[3], int axis,
                                                      int const (&at)[3]) {
  std::int64_t const n = count[0] + (axis == 0 ? 1 : 0), m = count[1] + (axis == 1 ? 1 : 0);
  return (at[2] * m + at[1]) * n + at[0];
}
/// From it to the next one along the axis.
GRIDSTRIDE_HOST_DEVICE inline std::int64_t face_stride(int const (&count)[3], int axis) {
  return axis == 0 ? 1 : axis == 1 ? count[0] : std::int64_t{count[0]} * count[1];
}

/// lower·u₋ and upper·u₊ along each axis are what a point's equation has beside diagonal·u.
template <class S>
struct Row {
  S lower[3], upper[3], diagonal;
};

/// What a face on a side of a point is of the sum of a there and beside it, where a level has a in the place of faces.
/// Beyond a side without flux there is none; cells that lie on such a side are halved.
template <class S>
GRIDSTRIDE_HOST_DEVICE S face_of_field(Level<S> const& level, int axis, int side,
                                       int const (&at)[3]) {
  if (!level.has_free) return level.of_axis[axis];
  int const end = side == 0 ? 0 : level.count[axis] - 1;
  if (level.is_free[axis][side] && at[axis] == end) return 0;
  S factor = level.of_axis[axis];
  for (int other = 0; other < 3; ++other)
    for (int times = other == axis ? 0 : level.halvings(other, at[other]); times > 0; --times)
      factor /= 2;
  return factor;
}

/// Of a level that has a in the place of faces, without the mass.
template <class S>
GRIDSTRIDE_HOST_DEVICE void take_field(Level<S> const& level, int const (&at)[3], Row<S>& row) {
  Coefficient const* const a = level.field + level.field_place(at[0], at[1], at[2]);
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t const stride = level.field_stride(axis);
    row.lower[axis] = face_of_field(level, axis, 0, at) * (S{float{*a}} + S{float{a[-stride]}});
    row.upper[axis] = face_of_field(level, axis, 1, at) * (S{float{*a}} + S{float{a[stride]}});
  }
}

template <class S>
GRIDSTRIDE_HOST_DEVICE void take_faces(Level<S> const& level, int const (&at)[3], Row<S>& row) {
  for (int axis = 0; axis < 3; ++axis) {
    Coefficient const* const face = level.face[axis];
    std::int64_t const place = level.face_place(axis, at[0], at[1], at[2]);
    row.lower[axis] = face == nullptr ? S{0} : S{float{face[place]}};
    row.upper[axis] = face == nullptr ? S{0} : S{float{face[place + level.face_stride(axis)]}};
  }
}

template <class S>
GRIDSTRIDE_HOST_DEVICE Row<S> row_of(Level<S> const& level, int const (&at)[3]) {
  Row<S> row;
  if (!level.is_stored()) {
    S sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      row.lower[axis] = level.lower[axis][at[axis]];
      row.upper[axis] = level.upper[axis][at[axis]];
      sum += level.sum[axis][at[axis]];
    }
    row.diagonal = sum + level.reaction;
    return row;
  }
  if (level.field != nullptr)
    take_field(level, at, row);
  else
    take_faces(level, at, row);
  S sum = 0;
  for (int axis = 0; axis < 3; ++axis) sum += row.lower[axis] + row.upper[axis];
  row.diagonal = sum;
  if (level.mass != nullptr)
    row.diagonal += float{level.mass[level.mass_place(at[0], at[1], at[2])]};
  return row;
}

/// Of a level that has them exactly.
template <class S>
GRIDSTRIDE_HOST_DEVICE Row<S> exact_row_of(Level<S> const& level, int const (&at)[3]) {
  if (level.exact_mass == nullptr) return row_of(level, at);
  Row<S> row{};
  S sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    S const* const face = level.exact_face[axis];
    if (face == nullptr) continue;
    std::int64_t const place = face_place(level.count, axis, at);
    row.lower[axis] = face[place];
    row.upper[axis] = face[place + face_stride(level.count, axis)];
    sum += row.lower[axis] + row.upper[axis];
  }
  row.diagonal = sum + level.exact_mass[level.point(at[0], at[1], at[2])];
  return row;
}

/// Σ lower·u₋ + upper·u₊, of any level.
template <class S>
GRIDSTRIDE_HOST_DEVICE S neighbours(Level<S> const& level, S const* u, Row<S> const& row,
                                    int const (&at)[3]) {
  S sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    int const count = level.count[axis];
    if (count == 1) continue;
    int below[3] = {at[0], at[1], at[2]}, above[3] = {at[0], at[1], at[2]};
    --below[axis], ++above[axis];
    if (at[axis] == 0) below[axis] = level.periodic[axis] ? count - 1 : -1;
    if (at[axis] == count - 1) above[axis] = level.periodic[axis] ? 0 : -1;
    if (below[axis] >= 0) sum += row.lower[axis] * u[level.place(below[0], below[1], below[2])];
    if (above[axis] >= 0) sum += row.upper[axis] * u[level.place(above[0], above[1], above[2])];
  }
  return sum;
}

/// The mass at a point of a level whose equations are stored.
template <class S>
GRIDSTRIDE_HOST_DEVICE S mass_of(Level<S> const& level, int const (&at)[3]) {
  return level.mass == nullptr ? S{0} : S{float{level.mass[level.mass_place(at[0], at[1], at[2])]}};
}

/// Neighbours of a point of a level without seams, where all are of the `other` colour, whose values
/// begin there; what lies beyond sides is 0.
template <class S>
class Beside {
 public:
  GRIDSTRIDE_HOST_DEVICE Beside(Level<S> const& level, S const* other, int const (&at)[3])
      : level_(level), at_{at[0], at[1], at[2]} {
    line_ = std::int64_t{level.half} * level.count[1];
    here_ = other + (at[2] * line_ + std::int64_t{at[1]} * level.half);
  }
  GRIDSTRIDE_HOST_DEVICE S before(int axis) const {
    int const count = level_.count[axis];
    if (at_[axis] > 0) return value(axis, at_[axis] - 1, -stride(axis));
    if (!level_.periodic[axis] || count == 1) return 0;
    return value(axis, count - 1, (count - 1) * stride(axis));
  }
  GRIDSTRIDE_HOST_DEVICE S behind(int axis) const {
    int const count = level_.count[axis];
    if (at_[axis] < count - 1) return value(axis, at_[axis] + 1, stride(axis));
    if (!level_.periodic[axis] || count == 1) return 0;
    return value(axis, 0, -(count - 1) * stride(axis));
  }
  /// Σ lower·(u₋ − from) + upper·(u₊ − from)
  GRIDSTRIDE_HOST_DEVICE S drawn(Row<S> const& row, S from) const {
    S sum = 0;
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side)
        sum += side == 0 ? row.lower[axis] * (before(axis) - from)
                         : row.upper[axis] * (behind(axis) - from);
    return sum;
  }
  /// The one in its row that it is coupled to the most.
  GRIDSTRIDE_HOST_DEVICE S nearest(Row<S> const& row) const {
    return row.lower[0] >= row.upper[0] ? before(0) : behind(0);
  }

 private:
  GRIDSTRIDE_HOST_DEVICE std::int64_t stride(int axis) const {
    return axis == 2 ? line_ : level_.half;
  }
  /// Of the point with a number along the axis, which is so far from this one.
  GRIDSTRIDE_HOST_DEVICE S value(int axis, int number, std::int64_t distance) const {
    return axis == 0 ? here_[number >> 1] : here_[(at_[0] >> 1) + distance];
  }

  Level<S> const& level_;
  int at_[3];
  std::int64_t line_;
  S const* here_;
};

/// Σ lower·(u₋ − u) + upper·(u₊ − u) − mass·u, of a level whose equations are stored. Where a is large u
/// is nearly constant; differences are exact there, and what roundings of u have alike is in none of them.
template <class S>
GRIDSTRIDE_HOST_DEVICE S drawn(Level<S> const& level, S const* u, Row<S> const& row,
                               int const (&at)[3]) {
  S const own = u[level.place(at[0], at[1], at[2])];
  S sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (level.face[axis] == nullptr) continue;
    int const count = level.count[axis];
    int below[3] = {at[0], at[1], at[2]}, above[3] = {at[0], at[1], at[2]};
    --below[axis], ++above[axis];
    if (at[axis] == 0) below[axis] = level.periodic[axis] ? count - 1 : -1;
    if (at[axis] == count - 1) above[axis] = level.periodic[axis] ? 0 : -1;
    auto const value = [&](int const(&of)[3]) {
      return of[axis] < 0 ? S{0} : u[level.place(of[0], of[1], of[2])];
    };
    sum += row.lower[axis] * (value(below) - own) + row.upper[axis] * (value(above) - own);
  }
  return sum - mass_of(level, at) * own;
}

/// How much a fine point takes of a coarse one along an axis, and the other way round: by tables, or
/// from what is stored at a point of the level that is coarser along the axes before.
template <class S>
struct Weights {
  Level<S> const &fine, &coarse;

  GRIDSTRIDE_HOST_DEVICE bool is_kept(int axis, int at) const {
    auto const& transfer = fine.transfer[axis];
    return transfer.left[at] >= 0 && transfer.kept[transfer.left[at]] == at;
  }
  /// Of coordinates that are coarse along the axes before `axis`, and fine along the others.
  GRIDSTRIDE_HOST_DEVICE std::int64_t point(int axis, int x, int y, int z) const {
    int const n = axis > 0 ? coarse.count[0] : fine.count[0];
    int const m = axis > 1 ? coarse.count[1] : fine.count[1];
    return (std::int64_t{z} * m + y) * n + x;
  }
  /// Of side 0 (left) or 1 of a fine point that is at (x, y, z) as `point` has it.
  GRIDSTRIDE_HOST_DEVICE S of(int axis, int side, int x, int y, int z) const {
    int const at = axis == 0 ? x : axis == 1 ? y : z;
    auto const& transfer = fine.transfer[axis];
    if (!fine.is_stored()) return side == 0 ? transfer.to_left[at] : transfer.to_right[at];
    Weight const* const stored = fine.weight[axis];
    if (stored == nullptr || is_kept(axis, at)) return side == 0 ? S{1} : S{0};
    return stored[point(axis, x, y, z)].of(side);
  }
  /// Of the fine point `step` (−1, 0, 1) from the kept one along an axis: where it is, or −1 where
  /// it takes nothing of that.
  GRIDSTRIDE_HOST_DEVICE int around(int axis, int kept, int step) const {
    int at = fine.transfer[axis].kept[kept] + step;
    if (step == 0) return at;
    int const count = fine.count[axis];
    if (fine.periodic[axis] && count > 1) at = at < 0 ? at + count : at >= count ? at - count : at;
    return at < 0 || at >= count || is_kept(axis, at) ? -1 : at;
  }
};

/// Σ weights·values of the coarse level at a fine point.
template <class S>
GRIDSTRIDE_HOST_DEVICE S interpolated(Level<S> const& fine, Level<S> const& coarse, S const* values,
                                      int i, int j, int k) {
  Weights<S> const weights{fine, coarse};
  auto const& [along_x, along_y, along_z] = fine.transfer;
  S sum = 0;
  for (int a = 0; a < 2; ++a) {
    int const x = a == 0 ? along_x.left[i] : along_x.right[i];
    if (x < 0) continue;
    S in_plane = 0;
    for (int b = 0; b < 2; ++b) {
      int const y = b == 0 ? along_y.left[j] : along_y.right[j];
      if (y < 0) continue;
      S in_line = 0;
      for (int c = 0; c < 2; ++c) {
        int const z = c == 0 ? along_z.left[k] : along_z.right[k];
        if (z >= 0) in_line += weights.of(2, c, x, y, k) * values[coarse.place(x, y, z)];
      }
      in_plane += weights.of(1, b, x, j, k) * in_line;
    }
    sum += weights.of(0, a, i, j, k) * in_plane;
  }
  return sum;
}

/// Σ weights·residual(i, j, k) of the fine points around a coarse one: interpolation the other way
/// round, of what is left in a cell, or by tables its mean.
template <class S, class Residual>
GRIDSTRIDE_HOST_DEVICE S gathered(Level<S> const& fine, Level<S> const& coarse, int x, int y, int z,
                                  Residual const& residual) {
  Weights<S> const weights{fine, coarse};
  bool const stored = fine.is_stored();
  auto const& transfer = fine.transfer;
  S sum = 0;
  for (int c = -1; c <= 1; ++c) {
    int const k = weights.around(2, z, c);
    if (k < 0) continue;
    S in_plane = 0;
    for (int b = -1; b <= 1; ++b) {
      int const j = weights.around(1, y, b);
      if (j < 0) continue;
      S in_line = 0;
      for (int a = -1; a <= 1; ++a) {
        int const i = weights.around(0, x, a);
        if (i < 0) continue;
        // What is behind a kept point has it on its left.
        S const weight =
            stored ? weights.of(0, a < 0 ? 1 : 0, i, j, k) : transfer[0].gather[3 * x + a + 1];
        in_line += weight * residual(i, j, k);
      }
      S const weight =
          stored ? weights.of(1, b < 0 ? 1 : 0, x, j, k) : transfer[1].gather[3 * y + b + 1];
      in_plane += weight * in_line;
    }
    S const weight =
        stored ? weights.of(2, c < 0 ? 1 : 0, x, y, k) : transfer[2].gather[3 * z + c + 1];
    sum += weight * in_plane;
  }
  return sum;
}

}  // namespace gridstride::multigrid

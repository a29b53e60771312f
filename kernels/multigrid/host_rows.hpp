#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/multigrid/steps.hpp"
#include "kernels/support/vector_widths.hpp"

/// Steps on the host that go by vectors: points of a colour in a row, in the operations of steps.hpp.
/// For the family's own files only.
namespace gridstride::multigrid {

enum class RowForm { separable, field, faces };

/// The points of a colour in a row but for those at its ends: number x at place x of values, and at 2x
/// of what lies point by point. What lies beyond sides, and faces and masses that a level has not,
/// are zeros.
template <class S>
struct ColourRow {
  int count;
  S const* beside[3][2];
  S const* f;
  S *u, *r;
  S over;
  /// Of levels without fields, along x; and what is the same all along the row.
  S const *lower, *upper, *sum;
  S across[3][2], sum_across[3], reaction;
  /// Of the others.
  Coefficient const *field, *face[3][2], *mass;
  std::int64_t stride[3];
  S of_axis[3][2];
};

/// The equation of point x: as `row_of` has it.
template <RowForm form, class S>
struct PointRow {
  S lower[3], upper[3], diagonal = 0, mass;

  __attribute__((always_inline)) PointRow(ColourRow<S> const& row, int x) {
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; ++axis) {
      if constexpr (form == RowForm::separable) {
        lower[axis] = axis == 0 ? row.lower[2 * x] : row.across[axis][0];
        upper[axis] = axis == 0 ? row.upper[2 * x] : row.across[axis][1];
        diagonal += axis == 0 ? row.sum[2 * x] : row.sum_across[axis];
      } else if constexpr (form == RowForm::field) {
        Coefficient const* const a = row.field + 2 * x;
        lower[axis] = row.of_axis[axis][0] * (S{float{*a}} + S{float{a[-row.stride[axis]]}});
        upper[axis] = row.of_axis[axis][1] * (S{float{*a}} + S{float{a[row.stride[axis]]}});
        diagonal += lower[axis] + upper[axis];
      } else {
        lower[axis] = S{float{row.face[axis][0][2 * x]}};
        upper[axis] = S{float{row.face[axis][1][2 * x]}};
        diagonal += lower[axis] + upper[axis];
      }
    }
    mass = form == RowForm::separable ? row.reaction : S{float{row.mass[2 * x]}};
    diagonal += mass;
  }
};

/// As `Relax`.
template <RowForm form, bool from_zero, bool goes_over, class S>
GRIDSTRIDE_VECTOR_WIDTHS void relax_points(ColourRow<S> const& row) {
#pragma omp simd
  for (int x = 0; x < row.count; ++x) {
    PointRow<form, S> const point(row, x);
    S value;
    if constexpr (from_zero) {
      value = row.f[x] / point.diagonal;
      if (goes_over) value = row.over * value;
    } else {
      S from = 0;
      if constexpr (form != RowForm::separable)
        from = goes_over                          ? row.u[x]
               : point.lower[0] >= point.upper[0] ? row.beside[0][0][x]
                                                  : row.beside[0][1][x];
      S drawn = 0;
#pragma GCC unroll 3
      for (int axis = 0; axis < 3; ++axis) {
        drawn += point.lower[axis] * (row.beside[axis][0][x] - from);
        drawn += point.upper[axis] * (row.beside[axis][1][x] - from);
      }
      if constexpr (form == RowForm::separable) {
        value = (row.f[x] + drawn) / point.diagonal;
        if (goes_over) value = row.u[x] + row.over * (value - row.u[x]);
      } else {
        S const left = row.f[x] + (drawn - point.mass * from);
        value = from + (goes_over ? row.over : S{1}) * (left / point.diagonal);
      }
    }
    row.u[x] = point.diagonal == 0 ? S{0} : value;
  }
}

/// As `KeepResidual`.
template <RowForm form, class S>
GRIDSTRIDE_VECTOR_WIDTHS void keep_residuals(ColourRow<S> const& row) {
#pragma omp simd
  for (int x = 0; x < row.count; ++x) {
    PointRow<form, S> const point(row, x);
    S const own = row.u[x];
    S sum = 0;
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; ++axis) {
      S const before = row.beside[axis][0][x], behind = row.beside[axis][1][x];
      if constexpr (form == RowForm::separable) {
        sum += point.lower[axis] * before;
        sum += point.upper[axis] * behind;
      } else {
        sum += point.lower[axis] * (before - own) + point.upper[axis] * (behind - own);
      }
    }
    if constexpr (form == RowForm::separable)
      row.r[x] = (row.f[x] - point.diagonal * own) + sum;
    else
      row.r[x] = row.f[x] + (sum - point.mass * own);
  }
}

/// The rows of a level without seams. Threads share it.
template <class S>
class ColourRows {
 public:
  explicit ColourRows(Level<S> const& level)
      : level_(level),
        zeros_(static_cast<std::size_t>(level.half)),
        nothing_(static_cast<std::size_t>(level.is_stored() ? level.line + 1 : 0)) {}

  /// Calls `inner(form, row)` for the points that have neighbours on both sides, and `end(x)` for the
  /// others.
  template <class Inner, class End>
  void visit(int colour, int j, int k, Inner const& inner, End const& end) const {
    int const parity = (colour + j + k) & 1, first = parity == 0 ? 1 : 0;
    int const last = std::max(first, (level_.count[0] - parity) / 2);
    for (int x = 0; x < first; ++x) end(x);
    if (last > first) {
      ColourRow<S> row = values(colour, first, j, k);
      row.count = last - first;
      add_equations(row, {2 * first + parity, j, k});
      if (!level_.is_stored())
        inner.template operator()<RowForm::separable>(row);
      else if (level_.field != nullptr)
        inner.template operator()<RowForm::field>(row);
      else
        inner.template operator()<RowForm::faces>(row);
    }
    for (int x = last; x < level_.half; ++x) end(x);
  }

 private:
  ColourRow<S> values(int colour, int first, int j, int k) const {
    ColourRow<S> row{};
    row.over = level_.over;
    std::int64_t const place = (std::int64_t{k} * level_.count[1] + j) * level_.half + first;
    std::int64_t const own = colour * level_.colour + place;
    row.f = level_.f + own;
    row.u = level_.u + own;
    row.r = level_.r + own;
    S const* const other = level_.u + (1 - colour) * level_.colour + place;
    row.beside[0][0] = first == 1 ? other - 1 : other;
    row.beside[0][1] = first == 1 ? other : other + 1;
    std::int64_t stride = level_.half;
    for (int axis = 1; axis < 3; ++axis) {
      int const at = axis == 1 ? j : k, points = level_.count[axis];
      std::int64_t const around = level_.periodic[axis] && points > 1 ? (points - 1) * stride : 0;
      S const* const beyond[2] = {around > 0 ? other + around : zeros_.data(),
                                  around > 0 ? other - around : zeros_.data()};
      row.beside[axis][0] = at > 0 ? other - stride : beyond[0];
      row.beside[axis][1] = at < points - 1 ? other + stride : beyond[1];
      stride *= points;
    }
    return row;
  }

  void add_equations(ColourRow<S>& row, int const (&at)[3]) const {
    if (!level_.is_stored()) {
      row.lower = level_.lower[0] + at[0];
      row.upper = level_.upper[0] + at[0];
      row.sum = level_.sum[0] + at[0];
      for (int axis = 1; axis < 3; ++axis) {
        row.across[axis][0] = level_.lower[axis][at[axis]];
        row.across[axis][1] = level_.upper[axis][at[axis]];
        row.sum_across[axis] = level_.sum[axis][at[axis]];
      }
      row.reaction = level_.reaction;
      return;
    }
    row.mass = level_.mass == nullptr ? nothing_.data()
                                      : level_.mass + level_.mass_place(at[0], at[1], at[2]);
    if (level_.field != nullptr) row.field = level_.field + level_.field_place(at[0], at[1], at[2]);
    for (int axis = 0; axis < 3; ++axis) {
      row.stride[axis] = level_.field_stride(axis);
      for (int side = 0; side < 2; ++side)
        row.of_axis[axis][side] = face_of_field(level_, axis, side, at);
      Coefficient const* const face = level_.face[axis];
      std::int64_t const place = level_.face_place(axis, at[0], at[1], at[2]);
      for (int side = 0; side < 2; ++side)
        row.face[axis][side] =
            face == nullptr ? nothing_.data() : face + place + side * level_.face_stride(axis);
    }
  }

  Level<S> const& level_;
  std::vector<S> zeros_;
  std::vector<Coefficient> nothing_;
};

/// `Relax` of all points of its colour in a row.
template <class S>
void relax_row(Relax<S> const& step, ColourRows<S> const& rows, int j, int k) {
  bool const goes_over = step.colour == 0 && step.level.over != 1;
  rows.visit(
      step.colour, j, k,
      [&]<RowForm form>(ColourRow<S> const& row) {
        if (step.from_zero)
          goes_over ? relax_points<form, true, true>(row) : relax_points<form, true, false>(row);
        else
          goes_over ? relax_points<form, false, true>(row) : relax_points<form, false, false>(row);
      },
      [&](int x) { step(x, j, k); });
}

/// `KeepResidual` of all points in a row.
template <class S>
void keep_row(KeepResidual<S> const& step, ColourRows<S> const& rows, int j, int k) {
  for (int colour = 0; colour < 2; ++colour)
    rows.visit(
        colour, j, k, [&]<RowForm form>(ColourRow<S> const& row) { keep_residuals<form>(row); },
        [&](int x) {
          int const i = 2 * x + ((colour + j + k) & 1);
          if (i < step.level.count[0]) step(i, j, k);
        });
}

}  // namespace gridstride::multigrid

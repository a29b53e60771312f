#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "kernels/modes/functions.hpp"
#include "kernels/modes/modes.hpp"

/// What is computed for a mode, on the host and on the GPU. For the family's own files only.
namespace gridstride::modes {

/// A mode in memory.
template <class T, bool is_complex>
struct Number;
template <class T>
struct alignas(2 * sizeof(T)) Number<T, true> {
  T re, im;

  GRIDSTRIDE_HOST_DEVICE void add(T factor, Number x) {
    re += factor * x.re;
    im += factor * x.im;
  }
  GRIDSTRIDE_HOST_DEVICE void add(T factor_re, T factor_im, Number x) {
    re += factor_re * x.re - factor_im * x.im;
    im += factor_re * x.im + factor_im * x.re;
  }
};
template <class T>
struct Number<T, false> {
  T re;

  GRIDSTRIDE_HOST_DEVICE void add(T factor, Number x) { re += factor * x.re; }
  GRIDSTRIDE_HOST_DEVICE void add(T factor_re, T, Number x) { re += factor_re * x.re; }
};

template <bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE Number<T, is_complex> load(T const* values, std::int64_t i) {
  return reinterpret_cast<Number<T, is_complex> const*>(values)[i];
}
template <bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE void store(T* values, std::int64_t i, Number<T, is_complex> const& number) {
  reinterpret_cast<Number<T, is_complex>*>(values)[i] = number;
}

/// A mode's place: indices among the kept ones, or among all.
struct Place {
  std::int64_t at[3];

  GRIDSTRIDE_HOST_DEVICE std::int64_t in(std::int64_t const (&points)[3]) const {
    return at[0] + points[0] * (at[1] + points[1] * at[2]);
  }
};

/// A layout in plain arrays, which device code can index.
struct Modes {
  std::int64_t full[3], kept[3], below[3];

  static Modes of(Layout const& layout) {
    Modes m;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      m.full[axis] = layout.full[axis];
      m.kept[axis] = layout.kept[axis];
      m.below[axis] = layout.below[axis];
    }
    return m;
  }
  GRIDSTRIDE_HOST_DEVICE Place full_place(Place p) const {
    for (int axis = 0; axis < 3; ++axis)
      if (p.at[axis] >= below[axis]) p.at[axis] += full[axis] - kept[axis];
    return p;
  }
  /// Of one of all modes; whether it is kept.
  GRIDSTRIDE_HOST_DEVICE bool keep(Place& p) const {
    bool is_kept = true;
    for (int axis = 0; axis < 3; ++axis) {
      if (p.at[axis] < below[axis]) continue;
      p.at[axis] -= full[axis] - kept[axis];
      is_kept = is_kept && p.at[axis] >= below[axis];
    }
    return is_kept;
  }
};

GRIDSTRIDE_HOST_DEVICE inline Complex polynomial_at(Sums const& sums, Range const& range,
                                                    std::int64_t const (&kept)[3], Place const& p) {
  Complex sum;
  for (int i = range.first; i < range.last; ++i) {
    Monomial const& one = sums.monomials[i];
    double value = one.coefficient;
    for (int axis = 0; axis < 3; ++axis)
      if (one.orders[axis] != 0)
        value *= sums.along[axis][one.orders[axis] * kept[axis] + p.at[axis]];
    if (one.is_imaginary != 0)
      sum.im += value;
    else
      sum.re += value;
  }
  return sum;
}

/// What a part's quantity is multiplied by at a mode that is kept.
GRIDSTRIDE_HOST_DEVICE inline Complex symbol_at(Sums const& sums, Part const& part,
                                                std::int64_t const (&kept)[3], Place const& p) {
  for (int axis = 0; axis < 3; ++axis)
    if (p.at[axis] < part.begin[axis] || p.at[axis] >= part.end[axis]) return {};
  Complex const above = polynomial_at(sums, part.numerator, kept, p);
  if (part.denominator.first == part.denominator.last) return above;
  Complex const below = polynomial_at(sums, part.denominator, kept, p);
  return below.re == 0 && below.im == 0 ? Complex{} : above / below;
}

/// Sum number `first` + s of a mode that is kept.
template <bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE Number<T, is_complex> sum_at(Combination<T> const& work, Modes const& modes,
                                                    int s, Place const& p) {
  Sums const& sums = work.sums;
  std::int64_t const kept_size = modes.kept[0] * modes.kept[1] * modes.kept[2];
  std::int64_t const full_size = modes.full[0] * modes.full[1] * modes.full[2];
  std::int64_t const place = p.in(modes.kept), full_place = modes.full_place(p).in(modes.full);
  Number<T, is_complex> sum{};
  constexpr int numbers = is_complex ? 2 : 1;
  for (int i = sums.ends[s]; i < sums.ends[s + 1]; ++i) {
    Part const& part = sums.parts[i];
    Complex const symbol = symbol_at(sums, part, modes.kept, p);
    // A product that no transform has written has any value.
    if (symbol.re == 0 && symbol.im == 0) continue;
    bool const is_full = part.is_product != 0 && !work.has_kept_products;
    T const* const values = part.is_product != 0 ? work.products : work.unknowns;
    auto const value =
        load<is_complex>(values + numbers * part.quantity * (is_full ? full_size : kept_size),
                         is_full ? full_place : place);
    sum.add(static_cast<T>(symbol.re), static_cast<T>(symbol.im), value);
  }
  return sum;
}

/// All sums at a place of `out`.
template <bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE void combine_at(Combination<T> const& work, Modes const& modes,
                                       Place const& p) {
  constexpr int numbers = is_complex ? 2 : 1;
  auto const& points = work.is_full ? modes.full : modes.kept;
  std::int64_t const place = p.in(points), size = points[0] * points[1] * points[2];
  Place kept = p;
  bool const is_kept = !work.is_full || modes.keep(kept);
  for (int s = 0; s < work.count; ++s) {
    Number<T, is_complex> sum{};
    if (is_kept) sum = sum_at<is_complex>(work, modes, work.first + s, kept);
    store(work.out + numbers * s * size, place, sum);
  }
}

/// Of a mode that is kept.
struct Folds {
  std::int64_t points[3], kept[3], below[3];
  bool folds[3];

  static Folds of(Layout const& layout, Tables const& tables) {
    Folds f;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      f.points[axis] = tables.points[axis];
      f.kept[axis] = layout.kept[axis];
      f.below[axis] = layout.below[axis];
      f.folds[axis] = tables.folds[axis];
    }
    return f;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(Place p) const {
    for (int axis = 0; axis < 3; ++axis)
      if (folds[axis] && p.at[axis] >= below[axis]) p.at[axis] = kept[axis] - p.at[axis];
    return p.in(points);
  }
};

/// An update without what the host alone needs.
template <class T>
struct BlockUpdate {
  int outputs, groups;
  T* out[max_updates];
  UpdateGroup<T> group[max_groups];
  UpdateTerm<T> terms[max_terms];
  std::int64_t kept_size, table_size;

  static BlockUpdate of(Update<T> const& work) {
    BlockUpdate u;
    u.outputs = work.outputs;
    u.groups = work.groups;
    for (int i = 0; i < max_updates; ++i) u.out[i] = work.out[i];
    for (int i = 0; i < max_groups; ++i) u.group[i] = work.group[i];
    for (int i = 0; i < max_terms; ++i) u.terms[i] = work.terms[i];
    u.kept_size = work.layout.kept_size();
    u.table_size = work.tables.size();
    return u;
  }
};

/// sum += matrix·values
template <int m, bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE void add_product(Number<T, is_complex> (&sum)[m], T const* matrix,
                                        bool is_complex_matrix, std::int64_t table_size,
                                        std::int64_t place,
                                        Number<T, is_complex> const (&values)[m]) {
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < m; ++c) {
      std::int64_t const entry = (r * m + c) * table_size + place;
      if (is_complex && is_complex_matrix) {
        auto const factor = load<true>(matrix, entry);
        sum[r].add(factor.re, factor.im, values[c]);
      } else {
        sum[r].add(matrix[entry], values[c]);
      }
    }
}

/// The fields of a block at a mode: all is read before anything is written.
template <int m, bool is_complex, class T>
GRIDSTRIDE_HOST_DEVICE void update_at(BlockUpdate<T> const& work, Block const& block,
                                      std::int64_t place, std::int64_t table_place) {
  constexpr int numbers = is_complex ? 2 : 1;
  Number<T, is_complex> sums[max_updates][m] = {};
  int t = 0;
  for (int g = 0; g < work.groups; ++g) {
    auto const& group = work.group[g];
    Number<T, is_complex> values[m] = {};
    for (; t < group.end; ++t)
      for (int c = 0; c < m; ++c) {
        T const* const field = work.terms[t].values + numbers * block.fields[c] * work.kept_size;
        values[c].add(work.terms[t].weight, load<is_complex>(field, place));
      }
    for (int i = 0; i < group.targets; ++i) {
      auto const& target = group.target[i];
      for (int o = 0; o < max_updates; ++o) {
        if (o != target.out) continue;
        if (target.matrix == nullptr) {
          for (int r = 0; r < m; ++r) sums[o][r].add(T(1), values[r]);
        } else {
          add_product(sums[o], target.matrix + block.table, block.is_complex != 0, work.table_size,
                      table_place, values);
        }
      }
    }
  }
  for (int o = 0; o < max_updates; ++o)
    if (o < work.outputs)
      for (int r = 0; r < m; ++r)
        store(work.out[o] + numbers * block.fields[r] * work.kept_size, place, sums[o][r]);
}

/// The planes of pairs of a field, in plain arrays.
template <class T>
struct Pairs {
  std::int64_t kept[3], across[2];  // the other axes' modes
  int axis, others[2], planes;
  bool waves[2];
  T* values;

  static Pairs of(Pairing<T> const& work) {
    Pairs p;
    p.axis = work.axis;
    p.planes = work.has_last ? 2 : 1;
    p.values = work.values;
    int other = 0;
    for (int axis = 0; axis < 3; ++axis) {
      auto const a = static_cast<std::size_t>(axis);
      p.kept[a] = work.layout.kept[a];
      if (axis == work.axis) continue;
      p.others[other] = axis;
      p.waves[other] = work.waves[a];
      p.across[other++] = work.layout.kept[a];
    }
    return p;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t size() const { return planes * across[0] * across[1]; }
};

/// Mode number n of the planes of a field, and the one that it is paired with, by the first of both.
template <class T>
GRIDSTRIDE_HOST_DEVICE void pair_at(Pairs<T> const& work, int field, std::int64_t n) {
  std::int64_t const plane_size = work.across[0] * work.across[1], in_plane = n % plane_size;
  Place one{}, other{};
  one.at[work.axis] = other.at[work.axis] = n < plane_size ? 0 : work.kept[work.axis] - 1;
  for (int i = 0; i < 2; ++i) {
    std::int64_t const at = i == 0 ? in_plane % work.across[0] : in_plane / work.across[0];
    one.at[work.others[i]] = at;
    other.at[work.others[i]] = work.waves[i] && at > 0 ? work.across[i] - at : at;
  }
  std::int64_t const a = one.in(work.kept), b = other.in(work.kept);
  if (a > b) return;
  T* const values = work.values + 2 * field * work.kept[0] * work.kept[1] * work.kept[2];
  auto const x = load<true>(values, a), y = load<true>(values, b);
  T const re = (x.re + y.re) / 2, im = (x.im - y.im) / 2;
  store<true>(values, a, {re, im});
  if (a != b) store<true>(values, b, {re, -im});
}

/// h·L of a block at a mode that is kept.
template <int m>
GRIDSTRIDE_HOST_DEVICE Matrix<m> matrix_at(Sums const& sums, Block const& block, double step,
                                           std::int64_t const (&kept)[3], Place const& p) {
  Matrix<m> matrix;
  for (int r = 0; r < m; ++r)
    for (int i = sums.ends[block.fields[r]]; i < sums.ends[block.fields[r] + 1]; ++i) {
      Part const& part = sums.parts[i];
      Complex const value = step * symbol_at(sums, part, kept, p);
      for (int c = 0; c < m; ++c)
        if (block.fields[c] == part.quantity) matrix.at[r][c] = matrix.at[r][c] + value;
    }
  return matrix;
}

template <class T>
struct BlockTables {
  Sums sums;
  std::int64_t kept[3], points[3];
  double step;
  int functions;
  MatrixFunction const* function;
  T* out[max_functions];

  static BlockTables of(Tabulation<T> const& work) {
    BlockTables b;
    b.sums = work.linear;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      b.kept[axis] = work.layout.kept[axis];
      b.points[axis] = work.tables.points[axis];
    }
    b.step = work.step;
    b.functions = work.functions;
    b.function = work.function;
    for (int i = 0; i < max_functions; ++i) b.out[i] = work.out[i];
    return b;
  }
};

/// A block's functions at a place of the tables, which is that of a mode that is kept.
template <int m, class T>
GRIDSTRIDE_HOST_DEVICE void tabulate_at(BlockTables<T> const& work, Block const& block,
                                        Place const& p) {
  Matrix<m> const matrix = matrix_at<m>(work.sums, block, work.step, work.kept, p);
  Schur<m> const form = schur(matrix);
  std::int64_t const size = work.points[0] * work.points[1] * work.points[2],
                     place = p.in(work.points);
  for (int f = 0; f < work.functions; ++f) {
    Matrix<m> const value = function_of(work.function[f], matrix, form);
    T* const table = work.out[f] + block.table;
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < m; ++c) {
        std::int64_t const entry = (r * m + c) * size + place;
        Complex const number = value.at[r][c];
        if (block.is_complex != 0)
          store<true>(table, entry, {static_cast<T>(number.re), static_cast<T>(number.im)});
        else
          table[entry] = static_cast<T>(number.re);
      }
  }
}

}  // namespace gridstride::modes

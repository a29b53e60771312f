#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/support/vector_widths.hpp"
#include "kernels/tridiagonal/relation.hpp"

/// Many systems at a time on the host, each in a lane of vectors, by the steps of relation.hpp. For the
/// family's own files only.
namespace gridstride::tridiagonal {

inline constexpr int lane_count = 16;

/// Rows, or relations, of all lanes.
template <class T>
struct LaneRows {
  T const *a, *b, *c, *d;
};
template <class T>
struct LaneRelations {
  T *constant, *left, *right;

  Relation<T> at(int k) const { return {constant[k], left[k], right[k]}; }
  void set(int k, Relation<T> const& relation) const {
    constant[k] = relation.constant;
    left[k] = relation.left;
    right[k] = relation.right;
  }
};

/// What lanes met in a row: pivots of zero, and rows that are not dominant.
struct LaneFaults {
  bool pivots, weak;
};

template <class T>
GRIDSTRIDE_VECTOR_WIDTHS LaneFaults eliminate_lanes(LaneRows<T> rows, LaneRelations<T> before,
                                                    LaneRelations<T> after) {
  int pivots = 0, weak = 0;
#pragma omp simd reduction(| : pivots, weak)
  for (int k = 0; k < lane_count; ++k) {
    Row<T> const row = {rows.a[k], rows.b[k], rows.c[k], rows.d[k]};
    weak |= row.dominant() ? 0 : 1;
    auto const reduced = without_lower(row, before.at(k));
    T const reciprocal = 1 / reduced.b;
    pivots |= of_zero(reciprocal) ? 1 : 0;
    after.constant[k] = reduced.d * reciprocal;
    after.left[k] = reduced.a * reciprocal;
    after.right[k] = reduced.c * reciprocal;
  }
  return {pivots != 0, weak != 0};
}

/// first ← the first unknown by the last one, seen from one row further up.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void lead_lanes(LaneRelations<T> row, LaneRelations<T> first) {
#pragma omp simd
  for (int k = 0; k < lane_count; ++k) first.set(k, through(row.at(k), first.at(k)));
}

/// next ← the unknowns of a row.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void substitute_lanes(LaneRelations<T> row, T const* before, T* next) {
#pragma omp simd
  for (int k = 0; k < lane_count; ++k) next[k] = row.at(k).at(before[k], next[k]);
}

/// Solves up to `lane_count` systems; a thread has its own.
template <class T>
class Lanes {
 public:
  explicit Lanes(Arguments<T> const& work)
      : work_(work),
        places_(places_of(work.shape)),
        memory_(static_cast<std::size_t>(3 * lane_count * places_.size)) {}

  /// Systems `first` to `first + count`; lanes without one have the last of them.
  void solve(std::int64_t first, int count) {
    first_ = first;
    count_ = count;
    beside_ = count == lane_count;
    for (int k = 0; k < lane_count; ++k) {
      std::int64_t const system = first + std::min(k, count - 1);
      coefficients_[static_cast<std::size_t>(k)] = places_.coefficients(system);
      values_[static_cast<std::size_t>(k)] = places_.values(system);
      beside_ = beside_ && coefficients_[static_cast<std::size_t>(k)] == coefficients_[0] + k &&
                values_[static_cast<std::size_t>(k)] == values_[0] + k;
    }
    std::int64_t const last = places_.size - 1;
    for (std::int64_t i = 0; i <= last; ++i) eliminate(i);
    std::array<T, lane_count> before{}, next;
    if (places_.periodic) close();
    std::copy_n(relations(last).constant, lane_count, next.data());
    if (places_.periodic) before = next;
    put(last, next.data());
    for (std::int64_t i = last; i-- > 0;) {
      substitute_lanes(relations(i), before.data(), next.data());
      put(i, next.data());
    }
  }

 private:
  LaneRelations<T> relations(std::int64_t i) {
    T* const first = memory_.data() + 3 * lane_count * i;
    return {first, first + lane_count, first + 2 * lane_count};
  }

  Row<T> row(int k, std::int64_t i) const {
    auto const lane = static_cast<std::size_t>(k);
    return row_of(work_, places_, coefficients_[lane], values_[lane], i);
  }
  LaneRows<T> rows(std::int64_t i) {
    bool const is_end = !places_.periodic && (i == 0 || i == places_.size - 1);
    if (beside_ && !is_end) {
      std::int64_t const at = coefficients_[0] + i * places_.coefficient_stride;
      return {work_.lower + at, work_.diagonal + at, work_.upper + at,
              work_.right + values_[0] + i * places_.value_stride};
    }
    for (std::size_t k = 0; k < lane_count; ++k) {
      auto const [a, b, c, d] = row(static_cast<int>(k), i);
      a_[k] = a;
      b_[k] = b;
      c_[k] = c;
      d_[k] = d;
    }
    return {a_.data(), b_.data(), c_.data(), d_.data()};
  }

  LaneRelations<T> before_first() {
    for (int k = 0; k < lane_count; ++k) ends().set(k, before_piece<T>());
    return ends();
  }
  LaneRelations<T> ends() { return {ends_[0].data(), ends_[1].data(), ends_[2].data()}; }

  void eliminate(std::int64_t i) {
    auto const before = i == 0 ? before_first() : relations(i - 1);
    auto const [pivots, weak] = eliminate_lanes(rows(i), before, relations(i));
    if (weak) raise(work_.findings->measured, 1);
    // The last row of a circle has its pivot when that is closed.
    if (pivots && !(places_.periodic && i == places_.size - 1))
      for (int k = 0; k < count_; ++k) check(without_lower(row(k, i), before.at(k)), k, i);
  }
  Relation<T> check(Row<T> const& reduced, int k, std::int64_t i) {
    bool good = true;
    auto const relation = solved(reduced, good);
    if (!good) raise(work_.findings->bad_pivot, word_of(places_.size, first_ + k, i));
    return relation;
  }

  /// The last unknowns of circles, which all others are related to.
  void close() {
    std::int64_t const last = places_.size - 1;
    for (int k = 0; k < lane_count; ++k) ends().set(k, separator<T>());
    for (std::int64_t i = last; i-- > 0;) lead_lanes(relations(i), ends());
    for (int k = 0; k < lane_count; ++k) {
      auto const before = last == 0 ? before_piece<T>() : relations(last - 1).at(k);
      auto const reduced = closed(without_lower(row(k, last), before), ends().at(k));
      relations(last).constant[k] = check(reduced, std::min(k, count_ - 1), last).constant;
    }
  }

  void put(std::int64_t i, T const* x) const {
    for (int k = 0; k < count_; ++k)
      work_.solution[values_[static_cast<std::size_t>(k)] + i * places_.value_stride] = x[k];
  }

  Arguments<T> const& work_;
  Places places_;
  std::vector<T> memory_;  // relations of all rows
  std::array<std::int64_t, lane_count> coefficients_, values_;
  std::array<T, lane_count> a_, b_, c_, d_;
  std::array<std::array<T, lane_count>, 3> ends_;
  std::int64_t first_ = 0;
  int count_ = 0;
  bool beside_ = false;  // whether lanes lie beside each other in memory
};

}  // namespace gridstride::tridiagonal

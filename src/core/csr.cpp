#include "core/csr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/processors.hpp"
#include "core/thread_pool.hpp"

namespace gridstride {

namespace {

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Calls `body(first, last)` for runs of rows, on as many threads as the matrix is worth.
template <class T, class Body>
void for_rows(Csr<T> const& matrix, Body const& body) {
  auto const call = [](void const* given, std::int64_t first, std::int64_t last) {
    (*static_cast<Body const*>(given))(first, last);
  };
  constexpr std::int64_t worth_a_thread = 4096;  // rows and elements
  auto const worth = (matrix.rows + matrix.nonzeros()) / worth_a_thread;
  auto const threads = std::clamp<std::int64_t>(worth, 1, host_threads());
  share_out(matrix.rows, static_cast<int>(threads), {&body, call});
}

/// The first row of which `is_so` holds, or −1.
template <class T, class IsSo>
std::int64_t first_row(Csr<T> const& matrix, IsSo const& is_so) {
  std::atomic<std::int64_t> found = matrix.rows;
  for_rows(matrix, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last && i < found; ++i) {
      if (!is_so(i)) continue;
      for (auto known = found.load(); i < known;)
        if (found.compare_exchange_weak(known, i)) break;
    }
  });
  return found < matrix.rows ? found.load() : -1;
}

/// What is wrong with the columns of a row, in words.
template <class T>
std::string column_fault(Csr<T> const& matrix, std::int64_t row) {
  std::int64_t before = -1;
  for (auto k = matrix.offsets[place(row)]; k < matrix.offsets[place(row + 1)]; ++k) {
    std::int64_t const column = matrix.column_indices[place(k)];
    if (column < 0 || column >= matrix.columns)
      return fmt::format("row {} has an element in column {} (of {}, counted from 0)", row, column,
                         matrix.columns);
    if (column <= before)
      return fmt::format("row {} has column {} after column {} (columns have to ascend)", row,
                         column, before);
    before = column;
  }
  return {};
}

}  // namespace

template <class T>
std::string fault_of(Csr<T> const& matrix) {
  auto const& [rows, columns, offsets, indices, values] = matrix;
  if (rows < 0 || columns < 0 || rows > most_sparse_rows || columns > most_sparse_rows)
    return fmt::format("{} x {} is no size of a sparse matrix (0 to {} rows and columns)", rows,
                       columns, most_sparse_rows);
  if (offsets.size() != place(rows) + 1)
    return fmt::format("{} rows need {} offsets, not {}", rows, rows + 1, offsets.size());
  if (indices.size() != values.size())
    return fmt::format("{} column indices do not fit {} values", indices.size(), values.size());
  if (offsets[0] != 0) return fmt::format("the first offset is {}, not 0", offsets[0]);
  auto const descends = [&](std::int64_t i) { return offsets[place(i + 1)] < offsets[place(i)]; };
  if (std::int64_t const i = first_row(matrix, descends); i >= 0)
    return fmt::format("offset {} is {}, less than the one before it, {}", i + 1,
                       offsets[place(i + 1)], offsets[place(i)]);
  if (offsets[place(rows)] != matrix.nonzeros())
    return fmt::format("the last offset is {} (there are {} values)", offsets[place(rows)],
                       matrix.nonzeros());
  auto const is_wrong = [&](std::int64_t i) {
    std::int64_t before = -1;
    bool wrong = false;
    for (auto k = place(offsets[place(i)]); k < place(offsets[place(i + 1)]); ++k) {
      wrong = wrong || indices[k] <= before;
      before = indices[k];
    }
    return wrong || before >= columns;
  };
  std::int64_t const i = first_row(matrix, is_wrong);
  return i >= 0 ? column_fault(matrix, i) : std::string();
}

namespace {

/// Orders the elements of one row; returns how many are left.
template <class T>
std::int64_t order_row(std::int32_t* columns, T* values, std::int64_t count,
                       std::vector<std::pair<std::int32_t, T>>& memory) {
  bool ascends = true;
  for (std::int64_t k = 1; k < count; ++k) ascends = ascends && columns[k - 1] < columns[k];
  if (ascends) return count;
  memory.clear();
  for (std::int64_t k = 0; k < count; ++k) memory.emplace_back(columns[k], values[k]);
  std::stable_sort(memory.begin(), memory.end(),
                   [](auto const& a, auto const& b) { return a.first < b.first; });
  std::int64_t left = 0;
  for (auto const& [column, value] : memory) {
    if (left > 0 && columns[left - 1] == column) {
      values[left - 1] += value;
      continue;
    }
    columns[left] = column;
    values[left++] = value;
  }
  return left;
}

/// What is `left` of each row moves to the front, row by row.
template <class T, class Counts>
void close_gaps(Csr<T>& matrix, Counts const& left) {
  std::int64_t end = 0, begin = 0;
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = begin; k < begin + left[place(i)]; ++k, ++end) {
      matrix.column_indices[place(end)] = matrix.column_indices[place(k)];
      matrix.values[place(end)] = matrix.values[place(k)];
    }
    begin = matrix.offsets[place(i + 1)];
    matrix.offsets[place(i + 1)] = end;
  }
  matrix.column_indices.resize(place(end));
  matrix.values.resize(place(end));
}

}  // namespace

template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> order_rows(Csr<T>& matrix) {
  auto const row_of = [&](std::int64_t i) {
    auto const begin = place(matrix.offsets[place(i)]);
    return std::pair(matrix.column_indices.data() + begin, matrix.values.data() + begin);
  };
  std::vector<std::int64_t, Uninitialised<std::int64_t>> left(place(matrix.rows));
  std::atomic<bool> added = false;
  std::atomic<std::int64_t> not_finite = matrix.rows;  // the first row that has such
  auto const order = [&](std::int64_t first, std::int64_t last) {
    std::vector<std::pair<std::int32_t, T>> memory;
    for (std::int64_t i = first; i < last; ++i) {
      auto const [columns, values] = row_of(i);
      std::int64_t const count = matrix.offsets[place(i + 1)] - matrix.offsets[place(i)];
      left[place(i)] = order_row(columns, values, count, memory);
      if (left[place(i)] < count) added = true;
      if (std::all_of(values, values + left[place(i)], [](T x) { return std::isfinite(x); }))
        continue;
      for (auto known = not_finite.load(); i < known;)
        if (not_finite.compare_exchange_weak(known, i)) break;
    }
  };
  auto const call = [](void const* body, std::int64_t first, std::int64_t last) {
    (*static_cast<decltype(order) const*>(body))(first, last);
  };
  share_out(matrix.rows, host_threads(), {&order, call});
  std::optional<std::pair<std::int64_t, std::int64_t>> found;
  if (std::int64_t const i = not_finite; i < matrix.rows) {
    auto const [columns, values] = row_of(i);
    auto const* const value =
        std::find_if_not(values, values + left[place(i)], [](T x) { return std::isfinite(x); });
    found = {i, columns[value - values]};
  }
  if (added) close_gaps(matrix, left);
  return found;
}

template <class T>
Csr<T> transposed(Csr<T> const& matrix) {
  Csr<T> result{matrix.columns, matrix.rows, {}, {}, {}};
  result.offsets.assign(place(matrix.columns) + 1, 0);
  for (auto const column : matrix.column_indices) ++result.offsets[place(column) + 1];
  for (std::size_t i = 1; i < result.offsets.size(); ++i)
    result.offsets[i] += result.offsets[i - 1];
  result.column_indices.resize(matrix.column_indices.size());
  result.values.resize(matrix.values.size());
  auto next = result.offsets;
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for (auto k = place(matrix.offsets[place(i)]); k < place(matrix.offsets[place(i + 1)]); ++k) {
      auto const at = place(next[place(matrix.column_indices[k])]++);
      result.column_indices[at] = static_cast<std::int32_t>(i);
      result.values[at] = matrix.values[k];
    }
  return result;
}

namespace {

/// Adds what row i tells: of a pair that differs the one above the diagonal counts, whichever of the
/// two is there. An element that is not there is 0.
template <class T>
void look_at(Csr<T> const& matrix, std::int64_t i, CsrFindings& found) {
  bool positive = false, empty = true;
  for (auto k = matrix.offsets[place(i)]; k < matrix.offsets[place(i + 1)]; ++k) {
    std::int64_t const j = matrix.column_indices[place(k)];
    T const value = matrix.values[place(k)];
    empty = empty && value == T{0};
    if (j == i) {
      positive = value > T{0};
      continue;
    }
    auto const pair = std::minmax(i, j);
    bool const is_known =
        found.row >= 0 && std::pair(found.row, found.column) <= std::pair(pair.first, pair.second);
    if (!is_known && value != element(matrix, j, i)) std::tie(found.row, found.column) = pair;
  }
  if (!positive && found.not_positive < 0) found.not_positive = i;
  if (empty && found.empty < 0) found.empty = i;
}

/// The first of both.
void add(CsrFindings const& more, CsrFindings& found) {
  auto const is_first = [](std::int64_t a, std::int64_t b) { return a >= 0 && (b < 0 || a < b); };
  if (more.row >= 0 &&
      (found.row < 0 || std::pair(more.row, more.column) < std::pair(found.row, found.column)))
    std::tie(found.row, found.column) = std::pair(more.row, more.column);
  if (is_first(more.not_positive, found.not_positive)) found.not_positive = more.not_positive;
  if (is_first(more.empty, found.empty)) found.empty = more.empty;
}

}  // namespace

template <class T>
CsrFindings examine(Csr<T> const& matrix) {
  CsrFindings found;
  std::mutex one_at_a_time;
  for_rows(matrix, [&](std::int64_t first, std::int64_t last) {
    CsrFindings own;
    for (std::int64_t i = first; i < last; ++i) look_at(matrix, i, own);
    std::scoped_lock const lock(one_at_a_time);
    add(own, found);
  });
  return found;
}

template <class T>
std::vector<T> diagonal_of(Csr<T> const& matrix) {
  std::vector<T> diagonal(place(matrix.rows));
  for_rows(matrix, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) diagonal[place(i)] = element(matrix, i, i);
  });
  return diagonal;
}

template <class T>
T element(Csr<T> const& matrix, std::int64_t row, std::int64_t column) {
  auto const begin = matrix.column_indices.begin() + matrix.offsets[place(row)];
  auto const end = matrix.column_indices.begin() + matrix.offsets[place(row + 1)];
  auto const found = std::lower_bound(begin, end, column);
  return found != end && *found == column
             ? matrix.values[static_cast<std::size_t>(found - matrix.column_indices.begin())]
             : T{0};
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                    \
  template std::string fault_of(Csr<T> const&);                                      \
  template std::optional<std::pair<std::int64_t, std::int64_t>> order_rows(Csr<T>&); \
  template Csr<T> transposed(Csr<T> const&);                                         \
  template CsrFindings examine(Csr<T> const&);                                       \
  template std::vector<T> diagonal_of(Csr<T> const&);                                \
  template T element(Csr<T> const&, std::int64_t, std::int64_t);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride

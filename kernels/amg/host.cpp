// Transposes and products of three matrices on the host.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/amg/work.hpp"

namespace gridstride::amg {

namespace {

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A sparse row that grows: places of columns in a table that is at most half full.
template <class T>
class Row {
 public:
  void add(std::int32_t column, double value) {
    if (2 * (columns_.size() + 1) > table_.size()) grow();
    auto& found = table_[slot_of(column)];
    if (found < 0) {
      found = static_cast<std::int32_t>(columns_.size());
      columns_.push_back(column);
      sums_.push_back(value);
    } else {
      sums_[place(found)] += value;
    }
  }
  /// Appends it, in the order in which columns came, and begins anew.
  void move_to(std::vector<std::int32_t>& columns, std::vector<T>& values) {
    for (auto const column : columns_) table_[slot_of(column)] = -2;
    std::ranges::replace(table_, -2, -1);
    columns.insert(columns.end(), columns_.begin(), columns_.end());
    for (double const sum : sums_) values.push_back(static_cast<T>(sum));
    columns_.clear();
    sums_.clear();
  }

 private:
  std::size_t slot_of(std::int32_t column) const {
    std::size_t const mask = table_.size() - 1;
    std::size_t slot = (static_cast<std::uint32_t>(column) * 2654435769u >> 7) & mask;
    while (table_[slot] != -1 && (table_[slot] == -2 || columns_[place(table_[slot])] != column))
      slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    table_.assign(2 * table_.size(), -1);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      table_[slot_of(columns_[i])] = static_cast<std::int32_t>(i);
  }

  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(64, -1);
  std::vector<std::int32_t> columns_;
  std::vector<double> sums_;
};

}  // namespace

template <class T>
Rows<T> host_transposed(Stream& stream, Rows<T> const& a) {
  Rows<T> result{a.columns,
                 a.rows,
                 {stream, MemorySpace::device, place(a.columns) + 1},
                 {stream, MemorySpace::device, place(a.nonzeros())},
                 {stream, MemorySpace::device, place(a.nonzeros())}};
  auto const offsets = result.offsets.span();
  std::ranges::fill(offsets, 0);
  for (auto const column : a.column_indices.span()) ++offsets[place(column) + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  auto const from = view(a);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = from.offsets[i]; k < from.offsets[i + 1]; ++k) {
      auto const at = place(next[place(from.columns[k])]++);
      result.column_indices.span()[at] = static_cast<std::int32_t>(i);
      result.values.span()[at] = from.values[k];
    }
  return result;
}

template <class T>
Rows<T> host_galerkin(Stream& stream, Rows<T> const& r, Rows<T> const& a, Rows<T> const& p) {
  constexpr std::int64_t run = 256;  // rows
  std::int64_t const runs = (r.rows + run - 1) / run;
  struct Part {
    std::vector<std::int64_t> lengths;
    std::vector<std::int32_t> columns;
    std::vector<T> values;
  };
  std::vector<Part> parts(place(runs));
  auto const left = view(r), middle = view(a), right = view(p);
  parallel_for(runs, [&](std::int64_t number) {
    auto& part = parts[place(number)];
    Row<T> row;
    for (std::int64_t i = number * run; i < std::min(r.rows, (number + 1) * run); ++i) {
      auto const before = part.columns.size();
      for (std::int64_t t = left.offsets[i]; t < left.offsets[i + 1]; ++t) {
        std::int32_t const j = left.columns[t];
        for (std::int64_t k = middle.offsets[j]; k < middle.offsets[j + 1]; ++k) {
          std::int32_t const m = middle.columns[k];
          double const factor =
              static_cast<double>(left.values[t]) * static_cast<double>(middle.values[k]);
          for (std::int64_t q = right.offsets[m]; q < right.offsets[m + 1]; ++q)
            row.add(right.columns[q], factor * static_cast<double>(right.values[q]));
        }
      }
      row.move_to(part.columns, part.values);
      part.lengths.push_back(static_cast<std::int64_t>(part.columns.size() - before));
    }
  });
  Rows<T> result{r.rows, p.columns, {stream, MemorySpace::device, place(r.rows) + 1}, {}, {}};
  auto const offsets = result.offsets.span();
  std::size_t row = 0;
  offsets[0] = 0;
  for (auto const& part : parts)
    for (auto const length : part.lengths) {
      offsets[row + 1] = offsets[row] + length;
      ++row;
    }
  result.column_indices = {stream, MemorySpace::device, place(offsets.back())};
  result.values = {stream, MemorySpace::device, place(offsets.back())};
  parallel_for(runs, [&](std::int64_t number) {
    auto const& part = parts[place(number)];
    auto const first = offsets[place(number * run)];
    std::ranges::copy(part.columns, result.column_indices.data() + first);
    std::ranges::copy(part.values, result.values.data() + first);
  });
  return result;
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template Rows<T> host_transposed(Stream&, Rows<T> const&); \
  template Rows<T> host_galerkin(Stream&, Rows<T> const&, Rows<T> const&, Rows<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::amg

#include "kernels/sparse/slices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

/// Slices that a thread takes at a time.
constexpr std::int64_t batch = 64;

/// Calls `visit(diagonal, firsts)` for the diagonals of a slice in ascending order; the element of
/// row i on it is number firsts[i], where the row has one.
template <class T, class Visit>
void for_each_diagonal(Csr<T> const& a, std::int64_t slice, Visit const& visit) {
  constexpr auto width = static_cast<std::size_t>(Slices<T>::rows_of_slice);
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::array<std::size_t, width> at{}, end{};
  std::array<std::int64_t, width> offsets{};
  std::int64_t const first_row = slice * Slices<T>::rows_of_slice;
  auto const count = static_cast<std::size_t>(
      std::min<std::int64_t>(Slices<T>::rows_of_slice, a.rows - first_row));
  auto const look = [&](std::size_t i) {
    offsets[i] =
        at[i] < end[i] ? a.column_indices[at[i]] - first_row - static_cast<std::int64_t>(i) : none;
  };
  for (std::size_t i = 0; i < count; ++i) {
    auto const row = static_cast<std::size_t>(first_row) + i;
    at[i] = static_cast<std::size_t>(a.offsets[row]);
    end[i] = static_cast<std::size_t>(a.offsets[row + 1]);
    look(i);
  }
  while (true) {
    std::int64_t const least = *std::min_element(offsets.begin(), offsets.begin() + count);
    if (least == none) return;
    Diagonal diagonal{static_cast<std::int32_t>(least), 0};
    for (std::size_t i = 0; i < count; ++i)
      if (offsets[i] == least) diagonal.rows |= 1u << i;
    if (!visit(diagonal, at)) return;
    for (std::size_t i = 0; i < count; ++i)
      if (offsets[i] == least) {
        ++at[i];
        look(i);
      }
  }
}

template <class T>
std::int64_t slices_of(Csr<T> const& matrix) {
  return (matrix.rows + Slices<T>::rows_of_slice - 1) / Slices<T>::rows_of_slice;
}

/// Calls `body(slice)` for all slices, on all threads.
template <class T, class Body>
void for_each_slice(Csr<T> const& matrix, Body const& body) {
  std::int64_t const slices = slices_of(matrix);
  std::int64_t const work = 8 * batch * matrix.nonzeros() / std::max<std::int64_t>(slices, 1);
  parallel_for((slices + batch - 1) / batch, work, [&](std::int64_t part) {
    std::int64_t const end = std::min(slices, (part + 1) * batch);
    for (std::int64_t slice = part * batch; slice < end; ++slice) body(slice);
  });
}

}  // namespace

template <class T>
std::int64_t count_diagonals(Csr<T> const& matrix, std::int64_t most) {
  std::atomic<std::int64_t> all = 0;
  for_each_slice(matrix, [&](std::int64_t slice) {
    std::int64_t const room = most - all;
    std::int64_t own = 0;
    if (room < 0) return;
    for_each_diagonal(matrix, slice, [&](Diagonal const&, auto const&) { return ++own <= room; });
    all += own;
  });
  return std::min<std::int64_t>(all, most + 1);
}

template <class T>
bool suits_slices(Csr<T> const& matrix) {
  // A diagonal takes 8 bytes, 4 bytes for each of its elements are saved, and half of a warp's
  // threads are to have one.
  std::int64_t const most = matrix.nonzeros() / (Slices<T>::rows_of_slice / 2);
  return most > 0 && count_diagonals(matrix, most) <= most;
}

template <class T>
Slices<T>::Slices(Csr<T> const& matrix) : rows(matrix.rows) {
  std::int64_t const slices = slices_of(matrix);
  begins.resize(static_cast<std::size_t>(slices) + 1);
  for_each_slice(matrix, [&](std::int64_t slice) {
    std::int64_t own = 0;
    for_each_diagonal(matrix, slice, [&](Diagonal const&, auto const&) { return ++own > 0; });
    begins[static_cast<std::size_t>(slice)].diagonal = own;
  });
  Begin next{0, 0};
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    auto& begin = begins[static_cast<std::size_t>(slice)];
    auto const first = static_cast<std::size_t>(slice * rows_of_slice);
    auto const last = static_cast<std::size_t>(std::min(rows, (slice + 1) * rows_of_slice));
    std::int64_t const elements = matrix.offsets[last] - matrix.offsets[first];
    std::int64_t const own = begin.diagonal;
    begin = next;
    next.diagonal += own;
    next.value += (elements + alignment - 1) / alignment * alignment;
  }
  begins.back() = next;
  diagonals.resize(static_cast<std::size_t>(next.diagonal));
  values.resize(static_cast<std::size_t>(next.value));
  for_each_slice(matrix, [&](std::int64_t slice) {
    auto const& begin = begins[static_cast<std::size_t>(slice)];
    auto d = static_cast<std::size_t>(begin.diagonal);
    auto v = static_cast<std::size_t>(begin.value);
    for_each_diagonal(matrix, slice, [&](Diagonal const& diagonal, auto const& at) {
      diagonals[d++] = diagonal;
      for (std::size_t i = 0; i < at.size(); ++i)
        if ((diagonal.rows >> i & 1) != 0) values[v++] = matrix.values[at[i]];
      return true;
    });
    auto const end = static_cast<std::size_t>(begins[static_cast<std::size_t>(slice) + 1].value);
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(v),
              values.begin() + static_cast<std::ptrdiff_t>(end), T{0});
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                          \
  template struct Slices<T>;                                               \
  template std::int64_t count_diagonals(Csr<T> const&, std::int64_t most); \
  template bool suits_slices(Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

// Sorting on the host.
//
// `reference` is std::stable_sort in the order of order.hpp: the oracle.
//
// `threads` turns the keys into unsigned integers of the same order, sorts pieces of fixed size,
// each on one thread, and merges neighbouring runs until one is left. The output of every merge is
// cut into pieces too: where a piece begins in the two runs is found by bisection (the merge path),
// so that even the last merge, of the two halves, is shared among all threads.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/sort/order.hpp"
#include "kernels/sort/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::sort {

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  if (a.values == nullptr) return std::stable_sort(a.keys, a.keys + a.size, precedes<T>);
  std::vector<std::pair<T, std::uint32_t>> items;
  for (std::int64_t i = 0; i < a.size; ++i) items.emplace_back(a.keys[i], a.values[i]);
  std::stable_sort(items.begin(), items.end(), [](auto const& left, auto const& right) {
    return precedes(left.first, right.first);
  });
  for (std::int64_t i = 0; i < a.size; ++i)
    std::tie(a.keys[i], a.values[i]) = items[static_cast<std::size_t>(i)];
}

namespace {

/// What is sorted in place of keys that have values.
template <class Key>
struct Item {
  Key key;
  std::uint32_t value;
  friend bool operator<(Item const& a, Item const& b) { return a.key < b.key; }
};

/// How many of the first `count` items of the merged runs come from the first run. Of equal items
/// those of the first run come first.
template <class E>
std::int64_t count_from_first(std::int64_t count, E const* first, std::int64_t first_size,
                              E const* second, std::int64_t second_size) {
  std::int64_t low = std::max(std::int64_t{0}, count - second_size);
  std::int64_t high = std::min(count, first_size);
  while (low < high) {
    std::int64_t const middle = low + (high - low) / 2;
    if (second[count - 1 - middle] < first[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

constexpr std::int64_t piece = std::int64_t{1} << 15;

/// Merges the runs of `width` items in `from`, a multiple of `piece`, by twos into `to`.
template <class E>
void merge_runs(std::vector<E> const& from, std::int64_t width, std::vector<E>& to) {
  auto const size = static_cast<std::int64_t>(from.size());
  parallel_for((size + piece - 1) / piece, [&](std::int64_t p) {
    std::int64_t const start = p * piece / (2 * width) * (2 * width);
    std::int64_t const middle = std::min(start + width, size);
    std::int64_t const end = std::min(start + 2 * width, size);
    E const* const first = from.data() + start;
    E const* const second = from.data() + middle;
    std::int64_t const begins = p * piece - start, ends = std::min(begins + piece, end - start);
    auto const from_first = [&](std::int64_t count) {
      return count_from_first(count, first, middle - start, second, end - middle);
    };
    std::int64_t const i = from_first(begins), j = from_first(ends);
    std::merge(first + i, first + j, second + begins - i, second + ends - j, to.data() + p * piece);
  });
}

template <class E>
void merge_sort(std::vector<E>& items) {
  auto const size = static_cast<std::int64_t>(items.size());
  parallel_for((size + piece - 1) / piece, [&](std::int64_t p) {
    std::stable_sort(items.data() + p * piece, items.data() + std::min((p + 1) * piece, size));
  });
  std::vector<E> merged(size > piece ? items.size() : 0);
  for (std::int64_t width = piece; width < size; width *= 2) {
    merge_runs(items, width, merged);
    items.swap(merged);
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  auto const size = static_cast<std::size_t>(a.size);
  if (a.values == nullptr) {
    std::vector<Ordered<T>> items(size);
    parallel_for(a.size, 1, [&](std::int64_t i) { items[i] = to_ordered(a.keys[i]); });
    merge_sort(items);
    parallel_for(a.size, 1, [&](std::int64_t i) { a.keys[i] = from_ordered<T>(items[i]); });
    return;
  }
  std::vector<Item<Ordered<T>>> items(size);
  parallel_for(a.size, 1, [&](std::int64_t i) { items[i] = {to_ordered(a.keys[i]), a.values[i]}; });
  merge_sort(items);
  parallel_for(a.size, 1, [&](std::int64_t i) {
    a.keys[i] = from_ordered<T>(items[i].key);
    a.values[i] = items[i].value;
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sort

// Selecting on the host.
//
// `reference` takes one value after the other: the oracle.
// `threads` counts the flags of blocks, adds the counts up, and lets every block write from its
// place on. It reads the flags twice, the second time mostly from memory again.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/select/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::select {

namespace {

/// Takes what is flagged in [begin, end) as numbers k, k + 1, …; returns the next number.
template <class T>
std::int64_t take_range(Arguments<T> const& a, std::int64_t begin, std::int64_t end,
                        std::int64_t k) {
  for (std::int64_t i = begin; i < end; ++i)
    if (a.flags[i] != 0) take(a, i, k++);
  return k;
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  *a.count = take_range(a, 0, a.size, 0);
}

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  constexpr std::int64_t block_size = 1 << 15;
  std::int64_t const blocks = (a.size + block_size - 1) / block_size;
  auto const begin_of = [&](std::int64_t block) { return std::min(block * block_size, a.size); };
  std::vector<std::int64_t> places(static_cast<std::size_t>(blocks));
  parallel_for(blocks, [&](std::int64_t block) {
    std::int64_t count = 0;
    for (std::int64_t i = begin_of(block); i < begin_of(block + 1); ++i) count += a.flags[i] != 0;
    places[static_cast<std::size_t>(block)] = count;
  });
  std::int64_t before = 0;
  for (auto& place : places) before += std::exchange(place, before);
  *a.count = before;
  parallel_for(blocks, [&](std::int64_t block) {
    take_range(a, begin_of(block), begin_of(block + 1), places[static_cast<std::size_t>(block)]);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::select

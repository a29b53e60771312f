// Scans on the host.
//
// `reference` takes one element after the other: the oracle.
// `threads` has blocks of a fixed size, so that the bits do not depend on the number of threads:
// the total of each block, a scan of the totals, and each block again with what is before it. This
// happens in rounds, so that a thread finds its blocks in its cache the second time. A scan is a
// chain of additions, each of which waits for the one before; a thread scans several blocks at a
// time, so that their chains overlap. It moves the input once, and the output once with the read
// that a cache makes of a line before it is written.

#include <algorithm>
#include <vector>

#include "kernels/scan/operations.hpp"
#include "kernels/scan/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::scan {

namespace {

/// Takes in one element, and returns its result. `before` is the combination of all elements before
/// it, and then of all up to it.
template <class Op, bool inclusive, class T>
T step(T& before, T element) {
  T const result = before;
  before = Op::combine(before, element);
  return inclusive ? before : result;
}

template <class Op, bool inclusive, class T>
void scan_serially(T const* input, T* output, std::int64_t size, T before) {
  for (std::int64_t i = 0; i < size; ++i) output[i] = step<Op, inclusive>(before, input[i]);
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    using Op = decltype(operation);
    scan_serially<Op, inclusive()>(arguments.input, arguments.output, arguments.size,
                                   Op::identity());
  });
}

namespace {

/// Not a multiple of a page, so that the blocks of a group lie in different sets of the cache.
constexpr std::int64_t block_size = 4000;
/// Blocks that are scanned at a time.
constexpr int group_size = 4;
/// Blocks of a round, for each thread: what its cache keeps from the totals to the scan.
constexpr int round_per_thread = 64;

/// Of a whole block, in an order that lets the compiler add vectors.
template <class Op, class T>
T block_total(T const* input) {
  constexpr int lanes = 32;
  static_assert(block_size % lanes == 0);
  T lane[lanes];
  std::fill(lane, lane + lanes, Op::identity());
  for (std::int64_t i = 0; i < block_size; i += lanes)
    for (int l = 0; l < lanes; ++l) lane[l] = Op::combine(lane[l], input[i + l]);
  T total = Op::identity();
  for (T const value : lane) total = Op::combine(total, value);
  return total;
}

/// `group_size` whole blocks.
template <class Op, bool inclusive, class T>
void scan_group(T const* input, T* output, T const* before) {
  T chain[group_size];
  std::copy(before, before + group_size, chain);
  for (std::int64_t i = 0; i < block_size; ++i)
    for (int b = 0; b < group_size; ++b)
      output[b * block_size + i] = step<Op, inclusive>(chain[b], input[b * block_size + i]);
}

template <class Op, bool inclusive, class T>
void scan_blocks(T const* input, T* output, std::int64_t size, Carry<T> const& carry) {
  auto const first_of = [&](std::int64_t block) { return std::min(block * block_size, size); };
  auto const size_of = [&](std::int64_t block) { return first_of(block + 1) - first_of(block); };
  std::int64_t const blocks = (size + block_size - 1) / block_size;
  std::int64_t const round = round_per_thread * gridstride::host_threads();
  std::vector<T> before(static_cast<std::size_t>(std::min(round, blocks)));
  T before_round = carry.before != nullptr ? *carry.before : Op::identity();
  for (std::int64_t begin = 0; begin < blocks; begin += round) {
    std::int64_t const count = std::min(round, blocks - begin);
    std::int64_t const groups = (count + group_size - 1) / group_size;
    auto const in_groups = [&](auto const& body) {
      parallel_for(groups, group_size * block_size, [&](std::int64_t group) {
        std::int64_t const first = group * group_size;
        body(first, std::min(first + group_size, count));
      });
    };
    in_groups([&](std::int64_t first, std::int64_t last) {
      // Only the last block of all is ever a part of one, and nothing comes after it.
      for (std::int64_t b = first; b < last; ++b)
        before[b] = size_of(begin + b) == block_size ? block_total<Op>(input + first_of(begin + b))
                                                     : Op::identity();
    });
    for (std::int64_t b = 0; b < count; ++b) before[b] = step<Op, false>(before_round, before[b]);
    in_groups([&](std::int64_t first, std::int64_t last) {
      std::int64_t const start = first_of(begin + first);
      if (start + group_size * block_size <= size)
        return scan_group<Op, inclusive>(input + start, output + start, &before[first]);
      for (std::int64_t b = first; b < last; ++b)
        scan_serially<Op, inclusive>(input + first_of(begin + b), output + first_of(begin + b),
                                     size_of(begin + b), before[b]);
    });
  }
  if (carry.with != nullptr) *carry.with = before_round;
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    scan_blocks<decltype(operation), inclusive()>(arguments.input, arguments.output, arguments.size,
                                                  arguments.carry);
  });
}

template <class T>
std::int64_t host_carried_multiple() {
  return block_size;
}

template <class T>
void host_increments(Increments<T> const& a) {
  auto const increment = [&](T left, T right) { return a.spacing * (left + right) / 2; };
  a.output[0] = a.before != nullptr ? increment(*a.before, a.input[0]) : T{0};
  parallel_for((a.size + block_size - 1) / block_size, block_size, [&](std::int64_t block) {
    std::int64_t const end = std::min((block + 1) * block_size, a.size);
    for (std::int64_t i = std::max<std::int64_t>(block * block_size, 1); i < end; ++i)
      a.output[i] = increment(a.input[i - 1], a.input[i]);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);   \
  template std::int64_t host_carried_multiple<T>();
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
template void host_increments(Increments<float> const&);
template void host_increments(Increments<double> const&);

}  // namespace gridstride::scan

// Reductions on the host.
//
// `reference` takes one element after the other: the oracle.
// `threads` cuts the input into blocks of a fixed size, which are shared among the threads, and
// combines their results in order, so that the bits do not depend on the number of threads. Within
// a block, element i belongs to accumulator i mod 32: 32 independent chains of operations, which
// the compiler turns into vectors, hide how long each operation takes. It reads the input once.

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernels/reduce/lanes.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::reduce {

template <class T>
void host_reference(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation) {
    using Op = decltype(operation);
    auto value = Op::identity();
    for (std::int64_t i = 0; i < arguments.size; ++i)
      operation.add(value, arguments.input[i], second<Op>(arguments.second, i), i);
    *static_cast<Value<Op>*>(arguments.result) = Op::finish(value);
  });
}

template <class T>
void host_threads(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation) {
    using Op = decltype(operation);
    std::int64_t const blocks = (arguments.size + host_block - 1) / host_block;
    std::vector<Value<Op>> partials(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](std::int64_t block) {
      std::int64_t const first = block * host_block;
      std::int64_t const last = std::min(first + host_block, arguments.size);
      partials[static_cast<std::size_t>(block)] =
          reduce_block(operation, arguments.input, arguments.second, first, last);
    });
    auto value = Op::identity();
    for (auto const& partial : partials) Op::combine(value, partial);
    *static_cast<Value<Op>*>(arguments.result) = Op::finish(value);
  });
}

template <class T>
void block_moments(std::span<T const> values, std::int64_t first, std::span<Moments<T>> blocks) {
  auto const size = std::ssize(values);
  for (std::int64_t begin = 0; begin < size; begin += host_block)
    blocks[static_cast<std::size_t>(begin / host_block)] =
        reduce_block(MomentsOperation<T>{}, values.data(), values.data(), begin,
                     std::min(begin + host_block, size), first);
}

namespace {

template <class T>
void host_blocks(std::span<T const> values, std::int64_t first, std::span<Moments<T>> blocks) {
  parallel_for(std::ssize(blocks), host_block, [&](std::int64_t n) {
    auto const block = static_cast<std::size_t>(n), begin = block * host_block;
    auto const some =
        values.subspan(begin, std::min<std::size_t>(host_block, values.size() - begin));
    block_moments(some, first + n * host_block, blocks.subspan(block, 1));
  });
}

/// Each block of lengths after it has been made.
template <class T>
void host_blocks(Lengths<T> const& lengths, std::int64_t size, std::int64_t first,
                 std::span<Moments<T>> blocks) {
  parallel_for(std::ssize(blocks), host_block, [&](std::int64_t n) {
    std::int64_t const begin = n * host_block;
    std::vector<T> some(static_cast<std::size_t>(std::min(host_block, size - begin)));
    for (std::size_t i = 0; i < some.size(); ++i)
      some[i] = lengths[begin + static_cast<std::int64_t>(i)];
    block_moments<T>(some, first + begin, blocks.subspan(static_cast<std::size_t>(n), 1));
  });
}

template <class T>
void require_blocks(std::span<T const> values, std::int64_t first, std::span<Moments<T>> blocks) {
  require_size("reduce::block_moments", named("blocks", blocks),
               (values.size() + host_block - 1) / host_block);
  if (first % host_block != 0)
    throw std::invalid_argument("reduce::block_moments: values that begin within a block");
}

}  // namespace

template <class T>
void block_moments([[maybe_unused]] Stream& stream, std::span<T const> values, std::int64_t first,
                   std::span<Moments<T>> blocks) {
  require_blocks(values, first, blocks);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_block_moments(stream, values.data(), std::ssize(values), first, blocks.data());
#endif
  host_blocks(values, first, blocks);
}

template <class T>
void block_moments([[maybe_unused]] Stream& stream, std::span<std::span<T const> const> components,
                   std::int64_t first, std::span<Moments<T>> blocks) {
  if (components.empty() || std::ssize(components) > Lengths<T>::most_components)
    throw std::invalid_argument("reduce::block_moments: vectors of no components, or of too many");
  require_blocks(components.front(), first, blocks);
  Lengths<T> lengths{{}, static_cast<int>(components.size())};
  for (std::size_t c = 0; c < components.size(); ++c) {
    require_same_size("reduce::block_moments", named("components", components.front()),
                      named("components", components[c]));
    lengths.components[c] = components[c].data();
  }
  std::int64_t const size = std::ssize(components.front());
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_block_moments(stream, lengths, size, first, blocks.data());
#endif
  host_blocks(lengths, size, first, blocks);
}

template <class T>
Moments<T> combined_moments(std::span<Moments<T> const> blocks) {
  using Op = MomentsOperation<T>;
  auto value = Op::identity();
  for (auto const& block : blocks) Op::combine(value, block);
  return Op::finish(value);
}

/// All bits of the exponent are set in what is not finite.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS std::int64_t first_non_finite_on_host(std::span<T const> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  constexpr std::size_t piece = 4096;
  for (std::size_t begin = 0; begin < values.size(); begin += piece) {
    auto const part = values.subspan(begin, std::min(piece, values.size() - begin));
    Bits found = 0;
    for (T const value : part) found |= (std::bit_cast<Bits>(value) & exponent) == exponent ? 1 : 0;
    if (found == 0) continue;
    auto const place = std::ranges::find_if_not(part, is_finite<T>);
    return static_cast<std::int64_t>(begin) + (place - part.begin());
  }
  return -1;
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

#define GRIDSTRIDE_INSTANTIATE_PARTS(T)                                                          \
  template void block_moments(std::span<T const>, std::int64_t, std::span<Moments<T>>);          \
  template void block_moments(Stream&, std::span<T const>, std::int64_t, std::span<Moments<T>>); \
  template void block_moments(Stream&, std::span<std::span<T const> const>, std::int64_t,        \
                              std::span<Moments<T>>);                                            \
  template Moments<T> combined_moments(std::span<Moments<T> const>);                             \
  template std::int64_t first_non_finite_on_host(std::span<T const>);
GRIDSTRIDE_INSTANTIATE_PARTS(float)
GRIDSTRIDE_INSTANTIATE_PARTS(double)

}  // namespace gridstride::reduce

// Reductions on the host.
//
// `reference` takes one element after the other: the oracle.
// `threads` cuts the input into blocks of a fixed size, which are shared among the threads, and
// combines their results in order, so that the bits do not depend on the number of threads. Within
// a block, element i belongs to accumulator i mod 32: 32 independent chains of operations, which
// the compiler turns into vectors, hide how long each operation takes. It reads the input once.

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/reduce/operations.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::reduce {

namespace {

template <class Op>
using Element = typename Op::Element;
template <class Op>
using Value = typename Op::Value;

/// The y of element i, for those operations that want one.
template <class Op>
Element<Op> second(Element<Op> const* y, std::int64_t i) {
  if constexpr (Op::two_inputs)
    return y[i];
  else
    return 0;
}

}  // namespace

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

namespace {

constexpr std::int64_t block_size = 1 << 16;
constexpr int lanes = 32;

/// The elements from `first` to `last` in `lanes` accumulators, which are then combined as a tree.
template <class Op>
GRIDSTRIDE_VECTOR_WIDTHS Value<Op> reduce_lanes(Op operation, Element<Op> const* x,
                                                Element<Op> const* y, std::int64_t first,
                                                std::int64_t last) {
  Value<Op> values[lanes];
  std::fill_n(values, lanes, Op::identity());
  std::int64_t i = first;
  for (; i + lanes <= last; i += lanes)
    for (int lane = 0; lane < lanes; ++lane)
      operation.add(values[lane], x[i + lane], second<Op>(y, i + lane), i + lane);
  for (int lane = 0; i < last; ++i, ++lane) operation.add(values[lane], x[i], second<Op>(y, i), i);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) Op::combine(values[lane], values[lane + half]);
  return values[0];
}

template <class Op>
Value<Op> reduce_block(Op operation, Element<Op> const* x, Element<Op> const* y, std::int64_t first,
                       std::int64_t last) {
  return reduce_lanes(operation, x, y, first, last);
}

/// Moments are no vector: their parts are found one after the other, for pieces that stay in a
/// near cache. Only a sum of squares that is not finite can hide an element that is not.
template <class T>
Moments<T> reduce_block(MomentsOperation<T>, T const* x, T const*, std::int64_t first,
                        std::int64_t last) {
  constexpr std::int64_t piece = 8192;
  auto result = MomentsOperation<T>::identity();
  for (std::int64_t begin = first; begin < last; begin += piece) {
    std::int64_t const end = std::min(begin + piece, last);
    Moments<T> part{reduce_lanes(MinimumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(MaximumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(SumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(SquaresOperation<T>{nullptr}, x, x, begin, end), no_index};
    if (!is_finite(part.sum_of_squares)) {
      auto const* found = std::find_if_not(x + begin, x + end, is_finite<T>);
      if (found != x + end) part.first_non_finite = found - x;
    }
    MomentsOperation<T>::combine(result, part);
  }
  return result;
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation) {
    using Op = decltype(operation);
    std::int64_t const blocks = (arguments.size + block_size - 1) / block_size;
    std::vector<Value<Op>> partials(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](std::int64_t block) {
      std::int64_t const first = block * block_size;
      std::int64_t const last = std::min(first + block_size, arguments.size);
      partials[static_cast<std::size_t>(block)] =
          reduce_block(operation, arguments.input, arguments.second, first, last);
    });
    auto value = Op::identity();
    for (auto const& partial : partials) Op::combine(value, partial);
    *static_cast<Value<Op>*>(arguments.result) = Op::finish(value);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce

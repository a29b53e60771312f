#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/reduce/pieces.hpp"
#include "kernels/reduce/running_operations.hpp"
#include "kernels/support/vector_widths.hpp"

/// Reductions of a stretch of elements by one thread of the host, in the lanes of its vectors. For
/// the family's own files only.
namespace gridstride::reduce {

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

/// The elements from `first` to `last` in `lanes` accumulators, which are then combined as a tree.
/// The operation has x[0] as the element of index `offset`.
template <class Op>
GRIDSTRIDE_VECTOR_WIDTHS Value<Op> reduce_lanes(Op operation, Element<Op> const* x,
                                                Element<Op> const* y, std::int64_t first,
                                                std::int64_t last, std::int64_t offset = 0) {
  Value<Op> values[lanes];
  std::fill_n(values, lanes, Op::identity());
  std::int64_t i = first;
  for (; i + lanes <= last; i += lanes)
    for (int lane = 0; lane < lanes; ++lane)
      operation.add(values[lane], x[i + lane], second<Op>(y, i + lane), offset + i + lane);
  for (int lane = 0; i < last; ++i, ++lane)
    operation.add(values[lane], x[i], second<Op>(y, i), offset + i);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) Op::combine(values[lane], values[lane + half]);
  return values[0];
}

template <class Op>
Value<Op> reduce_block(Op operation, Element<Op> const* x, Element<Op> const* y, std::int64_t first,
                       std::int64_t last, std::int64_t offset = 0) {
  return reduce_lanes(operation, x, y, first, last, offset);
}

/// Moments are no vector: their parts are found one after the other, for pieces that stay in a
/// near cache. Only a sum of squares that is not finite can hide an element that is not.
template <class T>
Moments<T> reduce_block(MomentsOperation<T>, T const* x, T const*, std::int64_t first,
                        std::int64_t last, std::int64_t offset = 0) {
  auto result = MomentsOperation<T>::identity();
  for (std::int64_t begin = first; begin < last; begin += piece_elements) {
    std::int64_t const end = std::min(begin + piece_elements, last);
    Moments<T> part{reduce_lanes(MinimumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(MaximumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(SumOperation<T>{}, x, x, begin, end),
                    reduce_lanes(SquaresOperation<T>{nullptr}, x, x, begin, end), no_index};
    if (!is_finite(part.sum_of_squares)) {
      auto const* found = std::find_if_not(x + begin, x + end, is_finite<T>);
      if (found != x + end) part.first_non_finite = offset + (found - x);
    }
    MomentsOperation<T>::combine(result, part);
  }
  return result;
}

/// Neither are these; where all points count as much, their parts are found in the same way. Fewer
/// elements than there are lanes are no work for lanes.
template <class T>
FieldNumbers reduce_block(FieldOperation<T> operation, T const* x, T const*, std::int64_t first,
                          std::int64_t last, std::int64_t offset = 0) {
  if (last - first < lanes) {
    auto result = FieldOperation<T>::identity();
    for (std::int64_t i = first; i < last; ++i) operation.add(result, x[i], 0, offset + i);
    return result;
  }
  if (!operation.is_even()) return reduce_lanes(operation, x, x, first, last, offset);
  auto result = FieldOperation<T>::identity();
  for (std::int64_t begin = first; begin < last; begin += piece_elements) {
    std::int64_t const end = std::min(begin + piece_elements, last);
    FieldOperation<T>::combine(result, {reduce_lanes(MinimumOperation<T>{}, x, x, begin, end),
                                        reduce_lanes(MaximumOperation<T>{}, x, x, begin, end), 0,
                                        reduce_lanes(SumOperation<T>{}, x, x, begin, end)});
  }
  return result;
}

}  // namespace gridstride::reduce

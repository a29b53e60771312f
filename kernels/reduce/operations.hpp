#pragma once

#include <cstdint>
#include <limits>

#include "core/host_device.hpp"
#include "kernels/reduce/reduce.hpp"

/// What the rungs of the ladder have in common: the operations, each an identity, a way to take in
/// one more element, and a way to combine two partial results.
namespace gridstride::reduce {

/// The largest index, for "none".
constexpr std::int64_t no_index = std::numeric_limits<std::int64_t>::max();

template <class T>
GRIDSTRIDE_HOST_DEVICE constexpr bool is_nan(T x) {
  return x != x;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE constexpr bool is_finite(T x) {
  if constexpr (std::is_integral_v<T>)
    return true;
  else
    return x - x == 0;
}

/// The greatest value of T: what the minimum of nothing is.
template <class T>
GRIDSTRIDE_HOST_DEVICE constexpr T greatest() {
  using Limits = std::numeric_limits<T>;
  return std::is_integral_v<T> ? Limits::max() : Limits::infinity();
}

template <class T>
GRIDSTRIDE_HOST_DEVICE constexpr T least() {
  using Limits = std::numeric_limits<T>;
  return std::is_integral_v<T> ? Limits::lowest() : -Limits::infinity();
}

/// Signed overflow is undefined in C++; unsigned arithmetic is modulo 2^64.
template <class S>
GRIDSTRIDE_HOST_DEVICE constexpr S plus(S a, S b) {
  if constexpr (std::is_integral_v<S>)
    return static_cast<S>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class S>
GRIDSTRIDE_HOST_DEVICE constexpr S times(S a, S b) {
  if constexpr (std::is_integral_v<S>)
    return static_cast<S>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

/// Each operation has
///   Element          what an input element is
///   Value            a partial result
///   two_inputs       whether `add` wants the second input's element
///   identity()       the partial result of no elements
///   add(v, x, y, i)  v with element i taken in
///   combine(v, w)    v with the partial result w taken in; which elements are whose is free
///   finish(v)        what is stored
template <class T>
struct SumOperation {
  using Element = T;
  using Value = Sum<T>;
  static constexpr bool two_inputs = false;
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return 0; }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t) const {
    v = plus(v, static_cast<Value>(x));
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) { v = plus(v, w); }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) { return v; }
};

template <class T>
struct DotOperation {
  using Element = T;
  using Value = Sum<T>;
  static constexpr bool two_inputs = true;
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return 0; }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T y, std::int64_t) const {
    v = plus(v, times(static_cast<Value>(x), static_cast<Value>(y)));
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) { v = plus(v, w); }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) { return v; }
};

/// Σ (x − shift)² in float64
template <class T>
struct SquaresOperation {
  using Element = T;
  using Value = double;
  static constexpr bool two_inputs = false;
  double const* shift;  // null for 0
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return 0; }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t) const {
    double const d = static_cast<double>(x) - (shift ? *shift : 0.0);
    v += d * d;
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) { v += w; }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) { return v; }
};

template <class T>
struct MinimumOperation {
  using Element = T;
  using Value = T;
  static constexpr bool two_inputs = false;
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return greatest<T>(); }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t) const { combine(v, x); }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) {
    if (w < v || is_nan(w)) v = w;
  }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) { return v; }
};

template <class T>
struct MaximumOperation {
  using Element = T;
  using Value = T;
  static constexpr bool two_inputs = false;
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return least<T>(); }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t) const { combine(v, x); }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) {
    if (v < w || is_nan(w)) v = w;
  }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) { return v; }
};

/// While it runs, minimum and maximum leave out NaN and `first_non_finite` is `no_index` for none.
/// A sum of squares is NaN only where an element is, so that `finish` can put both right.
template <class T>
struct MomentsOperation {
  using Element = T;
  using Value = Moments<T>;
  static constexpr bool two_inputs = false;
  GRIDSTRIDE_HOST_DEVICE static Value identity() {
    return {greatest<T>(), least<T>(), 0, 0, no_index};
  }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t i) const {
    if (x < v.minimum) v.minimum = x;
    if (v.maximum < x) v.maximum = x;
    v.sum = plus(v.sum, static_cast<Sum<T>>(x));
    v.sum_of_squares += static_cast<double>(x) * static_cast<double>(x);
    if (!is_finite(x) && i < v.first_non_finite) v.first_non_finite = i;
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value const& w) {
    if (w.minimum < v.minimum) v.minimum = w.minimum;
    if (v.maximum < w.maximum) v.maximum = w.maximum;
    v.sum = plus(v.sum, w.sum);
    v.sum_of_squares += w.sum_of_squares;
    if (w.first_non_finite < v.first_non_finite) v.first_non_finite = w.first_non_finite;
  }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) {
    if (is_nan(v.sum_of_squares)) v.minimum = v.maximum = static_cast<T>(v.sum_of_squares);
    if (v.first_non_finite == no_index) v.first_non_finite = -1;
    return v;
  }
};

/// Calls `body` with the operation that the arguments name.
template <class T, class Body>
void with_operation(Arguments<T> const& arguments, Body const& body) {
  switch (arguments.operation) {
    case Operation::sum:
      return body(SumOperation<T>{});
    case Operation::minimum:
      return body(MinimumOperation<T>{});
    case Operation::maximum:
      return body(MaximumOperation<T>{});
    case Operation::sum_of_squares:
      return body(SquaresOperation<T>{arguments.shift});
    case Operation::dot:
      return body(DotOperation<T>{});
    case Operation::moments:
      return body(MomentsOperation<T>{});
  }
}

}  // namespace gridstride::reduce

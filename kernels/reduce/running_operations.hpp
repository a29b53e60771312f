#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/reduce/operations.hpp"

/// Operations that depend on the places of elements, for `RunningReduction`; each has what those of
/// operations.hpp have.
namespace gridstride::reduce {

/// A value and its place, −1 for none.
template <class T>
struct Extreme {
  T value;
  std::int64_t index;
};

/// The first of the least values, or of the greatest; the first NaN where there is one, as
/// numpy.argmin and numpy.argmax have it.
template <class T, bool of_maximum>
struct ExtremeOperation {
  using Element = T;
  using Value = Extreme<T>;
  static constexpr bool two_inputs = false;
  GRIDSTRIDE_HOST_DEVICE static Value identity() {
    return {of_maximum ? least<T>() : greatest<T>(), no_index};
  }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t i) const {
    combine(v, Value{x, i});
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value const& w) {
    bool const alike = w.value == v.value || (is_nan(w.value) && is_nan(v.value));
    bool const further = of_maximum ? v.value < w.value : w.value < v.value;
    if (alike ? w.index < v.index : !is_nan(v.value) && (further || is_nan(w.value))) v = w;
  }
  GRIDSTRIDE_HOST_DEVICE static Value finish(Value v) {
    if (v.index == no_index) v.index = -1;
    return v;
  }
};
template <class T>
using MinimumPlace = ExtremeOperation<T, false>;
template <class T>
using MaximumPlace = ExtremeOperation<T, true>;

enum class Rule { trapezoid, simpson, romberg };

/// Of a table for Rule::romberg: place t has the weight of points whose index ends in t zero bits,
/// the last place that of both ends.
constexpr int romberg_places = 64;

/// ∫ x over a uniform grid of up to three axes, x fastest: Σ w_i·x_i in float64 with the products of
/// the axes' weights, which are counted in twelfths until the end. Along an axis
///
///   trapezoid  h·(½, 1, 1, …, 1, ½)
///   simpson    h/3·(1, 4, 2, 4, …, 4, 1) of an odd number of points. Of an even number n > 2 that
///              is what the first n − 1 points have, and the parabola through the last three is
///              integrated over the last interval: h/12·(−1, 8, 5) is added to theirs
///              (K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and
///              irregularly-spaced data", J. Math. Sci. & Math. Educ. 12 (2017); scipy's `simpson`
///              since 1.11). Of two points it is the trapezoid's.
///   romberg    what Richardson's extrapolation makes of the trapezoidal rule with steps h, 2h, 4h,
///              … of 2^k + 1 points, by a table (`romberg_weights`).
///
/// An axis of one point makes the integral 0.
template <class T>
struct IntegralOperation {
  using Element = T;
  using Value = double;
  static constexpr bool two_inputs = false;
  Rule rule = Rule::trapezoid;
  int dims = 1;
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<double, 3> spacing = {1, 1, 1};
  double const* romberg = nullptr;  ///< a table for each axis, where the operation is used

  /// Twelve times the weight of point i of n.
  GRIDSTRIDE_HOST_DEVICE static int twelfths(Rule rule, std::int64_t i, std::int64_t n) {
    if (n == 1) return 0;
    if (rule == Rule::trapezoid || n == 2) return i == 0 || i == n - 1 ? 6 : 12;
    std::int64_t const last = n - 1 - (n % 2 == 0);  // of the composite rule
    int const own = i > last ? 0 : i == 0 || i == last ? 4 : i % 2 == 1 ? 16 : 8;
    if (n % 2 == 1 || i < n - 3) return own;
    return own + (i == n - 1 ? 5 : i == n - 2 ? 8 : -1);
  }
  GRIDSTRIDE_HOST_DEVICE static int romberg_place(std::int64_t i, std::int64_t n) {
    if (i == 0 || i == n - 1) return romberg_places - 1;
#ifdef __CUDA_ARCH__
    return __ffsll(i) - 1;
#else
    return std::countr_zero(static_cast<std::uint64_t>(i));
#endif
  }
  /// Twelve times the weight of point i along an axis.
  GRIDSTRIDE_HOST_DEVICE double along(int axis, std::int64_t i) const {
    if (rule == Rule::romberg)
      return romberg[axis * romberg_places + romberg_place(i, points[axis])];
    return twelfths(rule, i, points[axis]);
  }
  GRIDSTRIDE_HOST_DEVICE double weight(std::int64_t i) const {
    if (dims == 1) return along(0, i);
    double product = 1;
    for (int axis = 0; axis < dims; ++axis) {
      product *= along(axis, i % points[axis]);
      i /= points[axis];
    }
    return product;
  }
  GRIDSTRIDE_HOST_DEVICE static Value identity() { return 0; }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t i) const {
    v += weight(i) * static_cast<double>(x);
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value w) { v += w; }
  GRIDSTRIDE_HOST_DEVICE Value finish(Value v) const {
    for (int axis = 0; axis < dims; ++axis) v *= spacing[axis] / 12;
    return v;
  }
};

/// What one pass finds out about a field.
struct FieldNumbers {
  double least;
  double greatest;
  double mean;      ///< the integral over the measure of the grid
  double integral;  ///< by the trapezoidal rule
};

/// All of these, of a grid of which some axes wrap around: along these each point counts as much,
/// along others those at the ends half as much. The sum is in float64; a NaN makes everything NaN.
template <class T>
struct FieldOperation {
  using Element = T;
  using Value = FieldNumbers;
  static constexpr bool two_inputs = false;
  int dims = 1;
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<double, 3> spacing = {1, 1, 1};
  std::array<bool, 3> wraps = {true, true, true};

  GRIDSTRIDE_HOST_DEVICE double weight(std::int64_t i) const {
    double product = 1;
    for (int axis = 0; axis < dims; ++axis) {
      std::int64_t const at = i % points[axis];
      if (!wraps[axis] && (at == 0 || at == points[axis] - 1)) product *= 0.5;
      i /= points[axis];
    }
    return product;
  }
  GRIDSTRIDE_HOST_DEVICE bool is_even() const {
    bool even = true;
    for (int axis = 0; axis < dims; ++axis) even = even && wraps[axis];
    return even;
  }
  GRIDSTRIDE_HOST_DEVICE static Value identity() {
    return {reduce::greatest<double>(), reduce::least<double>(), 0, 0};
  }
  GRIDSTRIDE_HOST_DEVICE void add(Value& v, T x, T, std::int64_t i) const {
    double const value = static_cast<double>(x);
    if (value < v.least) v.least = value;
    if (v.greatest < value) v.greatest = value;
    v.integral += is_even() ? value : weight(i) * value;
  }
  GRIDSTRIDE_HOST_DEVICE static void combine(Value& v, Value const& w) {
    if (w.least < v.least) v.least = w.least;
    if (v.greatest < w.greatest) v.greatest = w.greatest;
    v.integral += w.integral;
  }
  GRIDSTRIDE_HOST_DEVICE Value finish(Value v) const {
    if (is_nan(v.integral)) v.least = v.greatest = v.integral;
    v.mean = v.integral;
    for (int axis = 0; axis < dims; ++axis) {
      v.mean /= static_cast<double>(points[axis] - (wraps[axis] ? 0 : 1));
      v.integral *= spacing[axis];
    }
    return v;
  }
};

/// The table of an axis of `points` = 2^k + 1, k ≥ 1, or, with `of_half`, that of the same rule for
/// every second one of them, whose result differs by about the error. Throws
/// `std::invalid_argument` for another number of points.
std::vector<double> romberg_weights(std::int64_t points, bool of_half = false);

}  // namespace gridstride::reduce

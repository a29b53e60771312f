#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `difference`: finite differences along an axis of an array, as numpy.diff has
/// them. T is float or double.
///
///   Δ¹x_i = x_(i+1) − x_i        Δⁿx_i = Δⁿ⁻¹x_(i+1) − Δⁿ⁻¹x_i
///
/// Along its axis the result has n points fewer; none where the array has n or fewer. Every
/// difference is rounded, so that all variants give the bits of n first differences one after the
/// other. Result i depends on the inputs i to i + n: a piece of the array with n more points behind
/// it gives that piece of the result. Arrays lie in the stream's device memory. Nothing
/// synchronises.
namespace gridstride::difference {

constexpr int max_order = 8;

/// An array with x as its fastest axis, and the axis along which differences are taken.
struct Shape {
  std::array<std::int64_t, 3> points = {1, 1, 1};
  int axis = 0;

  std::int64_t size() const { return points[0] * points[1] * points[2]; }
  std::int64_t length() const { return points[axis]; }
  /// From a point to the next one along the axis, in elements.
  std::int64_t stride() const;
  /// Elements of the result of an order.
  std::int64_t size_of_result(int order) const;
};

/// `output` = Δⁿ `input`. Throws `std::invalid_argument` for an order outside of 1 to `max_order`,
/// arrays of other sizes than the shape says or that overlap, and a variant that this backend does
/// not have.
template <class T>
void difference(Stream& stream, Shape const& shape, int order, std::span<T const> input,
                std::span<T> output, std::string_view variant = "auto");

/// One piece of work for a rung, of at least one result.
template <class T>
struct Arguments {
  T const* input = nullptr;
  T* output = nullptr;
  Shape shape;
  int order = 1;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::difference

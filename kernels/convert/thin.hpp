#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "core/host_device.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"

/// The way back in the family `convert`: values of a field become what files hold of it.
namespace gridstride::convert {

/// Of a field, in 1 to 3 dimensions with x first, the points 0, n, 2n, … of each axis.
struct Thinning {
  std::array<std::int64_t, 3> points = {1, 1, 1};  ///< of the field
  std::array<std::int64_t, 3> every = {1, 1, 1};   ///< n
  std::int64_t components = 1;                     ///< numbers at each point, side by side

  /// Points that stay along an axis.
  GRIDSTRIDE_HOST_DEVICE std::int64_t kept(int axis) const {
    return (points[axis] - 1) / every[axis] + 1;
  }
  /// Values of the field, and those that stay.
  std::int64_t size() const { return points[0] * points[1] * points[2] * components; }
  std::int64_t kept_size() const { return kept(0) * kept(1) * kept(2) * components; }
  /// Whether all stay.
  bool is_whole() const { return kept_size() == size(); }
  /// Where number i of those that stay lies in the field.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(std::int64_t i) const {
    std::int64_t const row = kept(0) * components;
    std::int64_t const line = i / row, in_row = i % row;
    std::int64_t const y = line % kept(1), z = line / kept(1);
    return ((z * every[2] * points[1] + y * every[1]) * points[0] +
            in_row / components * every[0]) *
               components +
           in_row % components;
  }
};

/// Larger than any place: what `first_beyond` begins with.
inline constexpr std::int64_t all_fit = std::numeric_limits<std::int64_t>::max();

/// target[i] = F(the field's value number first + i of those that stay), rounded to nearest. Where
/// a finite value becomes infinite, its place in the field, if it is less, is left in
/// `first_beyond`, an array of one.
///
/// Arrays lie in the stream's device memory; T and F are float or double, F no wider than T.
/// Nothing synchronises. Every variant gives the same bits. Throws `std::invalid_argument` for a
/// field of another size, values that it does not have, axes without points or with an n below 1,
/// arrays that overlap, and unknown variants.
template <class T, class F>
void thin(Stream& stream, std::span<T const> field, Thinning const& thinning, std::int64_t first,
          std::span<F> target, std::span<std::int64_t> first_beyond,
          std::string_view variant = "auto");

/// One piece of work for a rung, of at least one value.
template <class T, class F>
struct ThinArguments {
  T const* field = nullptr;
  Thinning thinning;
  bool whole = false;
  std::int64_t first = 0;
  std::int64_t count = 0;
  F* target = nullptr;
  std::int64_t* first_beyond = nullptr;
};

template <class T, class F>
using ThinFunction = void(Stream&, ThinArguments<T, F> const&);

/// Every variant, by the names of the family's other rows.
template <class T, class F>
std::span<Variant<ThinFunction<T, F>> const> thin_variants();

}  // namespace gridstride::convert

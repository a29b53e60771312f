#pragma once

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convert/thin.hpp"
#include "support/same_bits.hpp"

/// Fields that are thinned on any device, compared with the reference on the host.
namespace gridstride::test {

template <class F>
struct Thinned {
  std::vector<F> values;
  std::int64_t first_beyond = convert::all_fit;

  bool operator==(Thinned const& other) const {
    return first_beyond == other.first_beyond && same_bits(values, other.values);
  }
};

/// `count` of the values that stay, from the one of number `first` on; the target begins so many
/// values behind an aligned place.
template <class F, class T>
Thinned<F> thinned(Stream& stream, std::vector<T> const& field, convert::Thinning const& thinning,
                   std::int64_t first, std::int64_t count, std::string_view variant,
                   std::size_t behind = 0) {
  Thinned<F> result{std::vector<F>(static_cast<std::size_t>(count), F(-77))};
  Buffer<T> source(stream, MemorySpace::device, field.size());
  Buffer<F> target(stream, MemorySpace::device, result.values.size() + behind);
  Buffer<std::int64_t> beyond(stream, MemorySpace::device, 1);
  copy_async(source.span(), std::span(field), stream);
  copy_async(beyond.span(), std::span<std::int64_t const>(&result.first_beyond, 1), stream);
  convert::thin<T, F>(stream, std::as_const(source).span(), thinning, first,
                      target.span().subspan(behind), beyond.span(), variant);
  copy_async(std::span(result.values), std::as_const(target).span().subspan(behind), stream);
  copy_async(std::span(&result.first_beyond, 1), std::as_const(beyond).span(), stream);
  stream.synchronize();
  return result;
}

/// Random values; a few beyond what float32 holds, infinite and NaN.
template <class T>
std::vector<T> random_field(std::int64_t size) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(size));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> field(static_cast<std::size_t>(size));
  for (T& value : field) value = static_cast<T>(uniform(generator));
  auto const put = [&](std::int64_t place, double value) {
    if (place < size) field[static_cast<std::size_t>(place)] = static_cast<T>(value);
  };
  put(size / 7, std::numeric_limits<double>::infinity());
  put(size / 6, std::numeric_limits<double>::quiet_NaN());
  put(size / 5, 1e-310);
  if (sizeof(T) == 8) put(size / 3, -1e300);
  if (sizeof(T) == 8) put(size / 2, 3.5e38);
  return field;
}

/// Shapes of all dimensions; n that divides, does not, and leaves one point.
inline std::vector<convert::Thinning> thinnings() {
  return {{{1, 1, 1}, {1, 1, 1}, 1},    {{1023, 1, 1}, {1, 1, 1}, 1}, {{1023, 1, 1}, {2, 1, 1}, 1},
          {{1023, 1, 1}, {7, 1, 1}, 3}, {{257, 65, 1}, {1, 3, 1}, 1}, {{257, 65, 1}, {3, 1, 1}, 2},
          {{256, 67, 1}, {2, 2, 1}, 1}, {{31, 33, 17}, {1, 1, 1}, 3}, {{31, 33, 17}, {2, 5, 16}, 1},
          {{31, 33, 17}, {4, 1, 3}, 2}, {{5, 400, 40}, {5, 1, 1}, 1}, {{64, 64, 64}, {1, 1, 2}, 1}};
}

/// Calls `use(thinning, first, count)` for the whole and for parts.
template <class Use>
void for_each_part(Use const& use) {
  for (convert::Thinning const& thinning : thinnings()) {
    std::int64_t const all = thinning.kept_size();
    use(thinning, 0, all);
    use(thinning, all / 3, all / 2);
    use(thinning, all - 1, 1);
    use(thinning, all, 0);
  }
}

}  // namespace gridstride::test

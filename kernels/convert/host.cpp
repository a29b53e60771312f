// Stored numbers to values on the host, and back.
//
// `reference` decodes one element after the other: the oracle. `threads` shares pieces of 16,384
// elements among the threads; what type they have is asked once for a piece. Of a field that is
// thinned, `reference` finds the place of each value, `threads` goes from one to the next.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "kernels/convert/decode.hpp"
#include "kernels/convert/rows.hpp"
#include "kernels/convert/walk.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::convert {

namespace {

constexpr std::int64_t piece = 16384;

template <int bytes>
Bits<bytes> bits_at(void const* stored, std::int64_t i) {
  Bits<bytes> bits;
  std::memcpy(&bits, static_cast<std::byte const*>(stored) + i * bytes, bytes);
  return bits;
}

/// Element i, where the array has it. Returns its place where it is not finite.
template <int bytes, bool linear, class T>
std::int64_t convert_one(Arguments<T> const& a, NumberKind kind, bool swaps, std::int64_t i) {
  std::int64_t const place = linear ? i : a.order.place(a.first + i);
  if (!linear && place < 0) return all_finite;
  double const value = decode<bytes>(bits_at<bytes>(a.stored, i), kind, swaps);
  a.target[place] = static_cast<T>(a.squares ? value * value : value);
  return is_finite(value) ? all_finite : a.origin + place;
}

/// Elements [first, last), with the type as a constant for the compiler.
template <int bytes, bool linear, class T>
std::int64_t convert_piece(Arguments<T> const& a, std::int64_t first, std::int64_t last) {
  std::int64_t found = all_finite;
  auto const loop = [&](auto kind, auto swaps) {
    for (std::int64_t i = first; i < last; ++i)
      found = std::min(found, convert_one<bytes, linear>(a, kind(), swaps(), i));
  };
  auto const with_order = [&](auto kind) {
    a.type.swapped ? loop(kind, std::true_type()) : loop(kind, std::false_type());
  };
  using enum NumberKind;
  switch (a.type.kind) {
    case signed_integer:
      with_order(std::integral_constant<NumberKind, signed_integer>());
      break;
    case unsigned_integer:
      with_order(std::integral_constant<NumberKind, unsigned_integer>());
      break;
    case real:
      with_order(std::integral_constant<NumberKind, real>());
      break;
  }
  return found;
}

void keep_least(std::int64_t& least, std::int64_t place) {
  std::atomic_ref<std::int64_t> const kept(least);
  for (auto known = kept.load(); place < known && !kept.compare_exchange_weak(known, place);) {
  }
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  with_width(a.type.bytes, [&](auto width) {
    for (std::int64_t i = 0; i < a.count; ++i)
      keep_least(*a.first_non_finite,
                 a.linear ? convert_one<width(), true>(a, a.type.kind, a.type.swapped, i)
                          : convert_one<width(), false>(a, a.type.kind, a.type.swapped, i));
  });
}

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  with_width(a.type.bytes, [&](auto width) {
    parallel_for((a.count + piece - 1) / piece, piece, [&](std::int64_t p) {
      std::int64_t const first = p * piece, last = std::min(a.count, first + piece);
      keep_least(*a.first_non_finite, a.linear ? convert_piece<width(), true>(a, first, last)
                                               : convert_piece<width(), false>(a, first, last));
    });
  });
}

namespace {

/// Returns the place of a value that has become infinite.
template <class T, class F>
std::int64_t thin_one(ThinArguments<T, F> const& a, std::int64_t i, std::int64_t place) {
  a.target[i] = static_cast<F>(a.field[place]);
  return is_beyond(a.field[place], a.target[i]) ? place : all_fit;
}

/// Values [first, last).
template <class T, class F>
std::int64_t thin_piece(ThinArguments<T, F> const& a, std::int64_t first, std::int64_t last) {
  std::int64_t found = all_fit;
  if (a.whole) {
    for (std::int64_t i = first; i < last; ++i)
      found = std::min(found, thin_one(a, i, a.first + i));
    return found;
  }
  Walk walk(a.thinning, a.first + first);
  for (std::int64_t i = first; i < last; ++i, walk.next())
    found = std::min(found, thin_one(a, i, walk.place()));
  return found;
}

}  // namespace

template <class T, class F>
void host_thin_reference(Stream&, ThinArguments<T, F> const& a) {
  for (std::int64_t i = 0; i < a.count; ++i)
    keep_least(*a.first_beyond, thin_one(a, i, a.thinning.place(a.first + i)));
}

template <class T, class F>
void host_thin_threads(Stream&, ThinArguments<T, F> const& a) {
  parallel_for((a.count + piece - 1) / piece, piece, [&](std::int64_t p) {
    keep_least(*a.first_beyond, thin_piece(a, p * piece, std::min(a.count, (p + 1) * piece)));
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

#define GRIDSTRIDE_INSTANTIATE_THIN(T, F)                                 \
  template void host_thin_reference(Stream&, ThinArguments<T, F> const&); \
  template void host_thin_threads(Stream&, ThinArguments<T, F> const&);
GRIDSTRIDE_INSTANTIATE_THIN(float, float)
GRIDSTRIDE_INSTANTIATE_THIN(double, double)
GRIDSTRIDE_INSTANTIATE_THIN(double, float)

}  // namespace gridstride::convert

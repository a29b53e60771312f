#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `transfer`: ways of getting data to the device and back. T is float or double.
namespace gridstride::transfer {

inline constexpr int most_pieces = 8;

/// The round trip that every variant makes: host memory to the device, there y_i = a·x_i + b (the
/// product and the sum rounded separately), and back to host memory. All variants give the same
/// bits. (Which NaN stands for "not a number" is the device's choice.)
///
/// Both arrays lie in host memory of the space that `host_space(variant)` names, or any space that
/// it accepts, and must not overlap. On the host every variant takes any memory. On a GPU `pinned`
/// and `mapped` take pinned memory alone, `managed` managed memory, and the others every memory but
/// the device's own; with pageable memory they copy more slowly, and not beside other work.
///
/// `pieces`, from 1 to `most_pieces`, is how many pieces the row `overlapped` has on the device at a
/// time; the others take no notice. The call may return before the work is done, but never before pageable memory has been
/// read: it then waits for the stream. Throws `std::invalid_argument` for arrays that overlap,
/// differ in size or lie in memory that the variant does not take, pieces out of range, and
/// unknown variants; and `Error` where `managed` would need more memory than the device has free.
///
/// In the capture of a graph `overlapped` uses the captured stream alone, nothing waits, and
/// `managed` and `constant` throw `std::invalid_argument`.
template <class T>
void round_trip(Stream& stream, T a, T b, std::span<T const> x, std::span<T> y,
                std::string_view variant = "auto", int pieces = 4);

/// The memory that a variant's arrays should lie in. Throws for an unknown variant, as `round_trip`
/// does.
MemorySpace host_space(Backend backend, std::string_view variant);

/// One piece of work for a rung, of at least one element.
template <class T>
struct Arguments {
  T a = 1, b = 0;
  T const* x = nullptr;
  T* y = nullptr;
  std::int64_t size = 0;
  int pieces = 4;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::transfer

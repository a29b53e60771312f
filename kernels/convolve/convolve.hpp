#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `convolve`: a one-dimensional filter along an axis of an array in 1 to 3
/// dimensions. T is float or double.
///
///   out(…, i, …) = Σ_k taps_k · in(…, i + center − k, …),   k = 0 … count − 1,
///
/// with in continued beyond its ends as `Boundary` says. Filters along several axes one after the
/// other make a separable one; the axes that are not filtered are a batch of signals.
namespace gridstride::convolve {

/// How a signal a b c d goes on, by scipy.ndimage's names:
enum class Boundary {
  reflect,   ///< d c b a | a b c d | d c b a
  mirror,    ///<   d c b | a b c d | c b a
  nearest,   ///< a a a a | a b c d | d d d d
  wrap,      ///< a b c d | a b c d | a b c d
  constant,  ///< v v v v | a b c d | v v v v, with a value v that is given
};

inline constexpr std::array<std::string_view, 5> boundary_names = {"reflect", "mirror", "nearest",
                                                                   "wrap", "constant"};

/// The most taps of a filter.
inline constexpr std::int64_t most_taps = 65535;

/// The taps of a filter, in the forms that the variants want them; made once, used often. What a
/// variant needs beyond the taps (a spectrum, a copy in device memory) it makes at its first use.
template <class T>
class Filter {
 public:
  /// `taps` are finite, 1 to `most_taps`; `center` is the tap that meets the point itself,
  /// 0 ≤ center < taps.size(). Throws `std::invalid_argument`.
  Filter(Stream& stream, std::span<double const> taps, std::int64_t center);
  ~Filter();
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;

  std::int64_t count() const { return count_; }
  std::int64_t center() const { return center_; }
  std::span<T const> taps() const;         ///< in host memory
  std::span<T const> device_taps() const;  ///< in the stream's device memory

  /// What a variant has made for itself.
  struct Prepared;
  Prepared& prepared() const { return *prepared_; }

 private:
  std::int64_t count_;
  std::int64_t center_;
  std::unique_ptr<Prepared> prepared_;
};

/// An array with x as its fastest axis, and the axis that is filtered.
struct Shape {
  std::array<std::int64_t, 3> points = {1, 1, 1};
  int axis = 0;

  std::int64_t size() const { return points[0] * points[1] * points[2]; }
  std::int64_t length() const { return points[axis]; }
};

/// One filtering for a row of the table; the arrays are in the stream's device memory.
template <class T>
struct Arguments {
  Filter<T> const* filter;
  T const* in;
  T* out;
  Shape shape;
  Boundary boundary;
  T value;  ///< beyond the ends where `boundary` is constant
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means for filters of a few taps.
std::string_view default_variant(Backend backend);

/// What `auto` means for a filter of so many taps: the fastest measured that gives the same bits
/// each time.
std::string_view choose(Backend backend, std::int64_t taps, Shape const& shape,
                        std::size_t value_bytes);

/// The same on one device: where it lacks what the choice needs, or blocks of `fft` do not take so
/// many taps, `overlap_save` or `register` stands in.
std::string_view choose(Device const& device, std::int64_t taps, Shape const& shape,
                        std::size_t value_bytes);

/// The row of a name, or of `auto`, bound. Throws `std::invalid_argument` for one that the device
/// does not have, or that does not take so many taps.
template <class T>
Variant<Function<T>> const& row_for(Device const& device, std::int64_t taps, Shape const& shape,
                                    std::string_view variant);

/// Queues one filtering. Throws `std::invalid_argument` for arrays that are missing, too small or
/// the same, and for a variant that the backend lacks or that does not take the filter. Never
/// synchronises, but for what a variant prepares at a filter's first use.
template <class T>
void convolve(Stream& stream, Filter<T> const& filter, Shape const& shape, Boundary boundary,
              std::span<T const> in, std::span<T> out, double value = 0,
              std::string_view variant = "auto");

/// The same by a row that `row_for` has found.
template <class T>
void convolve(Stream& stream, Filter<T> const& filter, Shape const& shape, Boundary boundary,
              std::span<T const> in, std::span<T> out, double value,
              Variant<Function<T>> const& row);

}  // namespace gridstride::convolve

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `reduce`: one value of many. T is int32, int64, float or double.
///
/// All arrays lie in the stream's device memory, also the result, which is an array of one. Nothing
/// synchronises. Integers are summed modulo 2^64. Floating-point sums are accumulated in float64
/// whatever T is, but for a row that says otherwise; a serial sum of n values has an error of at
/// most n·ε·Σ|x| with ε = 2^-53, and the variants that share the work among threads stay below
/// that. A NaN makes every result of floating point NaN, minimum and maximum too. Where zeros of
/// both signs are the least or greatest, the sign of the result is either. Empty input gives the
/// identity: 0; for the minimum the greatest value of T (infinity), for the maximum the least; for
/// mean and variance NaN.
///
/// Every function throws `std::invalid_argument` for a result that is not one element or overlaps
/// the input, for a second array of another size, and for a variant that this backend does not have
/// or that does not take the operation (its row says so).
namespace gridstride::reduce {

/// What a sum over T is accumulated and returned in.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

/// What one pass finds out about many values.
template <class T>
struct Moments {
  T minimum;
  T maximum;
  Sum<T> sum;
  double sum_of_squares;
  std::int64_t first_non_finite;  ///< index of the first NaN or infinity; -1 if there is none
};

/// result = Σ x_i
template <class T>
void sum(Stream& stream, std::span<T const> input, std::span<Sum<T>> result,
         std::string_view variant = "auto");

/// result = min x_i
template <class T>
void minimum(Stream& stream, std::span<T const> input, std::span<T> result,
             std::string_view variant = "auto");

/// result = max x_i
template <class T>
void maximum(Stream& stream, std::span<T const> input, std::span<T> result,
             std::string_view variant = "auto");

/// result = Σ a_i·b_i
template <class T>
void dot(Stream& stream, std::span<T const> a, std::span<T const> b, std::span<Sum<T>> result,
         std::string_view variant = "auto");

/// result = Σ x_i / n; of integers, the sum modulo 2^64 divided by n
template <class T>
void mean(Stream& stream, std::span<T const> input, std::span<double> result,
          std::string_view variant = "auto");

/// result = Σ (x_i − mean)² / n: the variance of the values as a whole population. Two passes, so
/// that a large mean takes no digits (Chan, Golub and LeVeque, "Algorithms for computing the sample
/// variance", The American Statistician 37 (1983)).
template <class T>
void variance(Stream& stream, std::span<T const> input, std::span<double> result,
              std::string_view variant = "auto");

/// result = sqrt(Σ x_i²)
template <class T>
void l2_norm(Stream& stream, std::span<T const> input, std::span<double> result,
             std::string_view variant = "auto");

/// Minimum, maximum, sum, sum of squares and first non-finite index in one read of the input.
template <class T>
void moments(Stream& stream, std::span<T const> input, std::span<Moments<T>> result,
             std::string_view variant = "auto");

/// Moments of an array that is not there as a whole, with the bits of the row that `variant_of_blocks` has: those of its
/// blocks of so many values, of which the last one may be shorter, and on the host of them together. Indices
/// are those in the whole, of which the values begin at `first`, a multiple of `host_block`. On a stream it
/// is queued, with blocks in its device's memory. Throws `std::invalid_argument` for another number of blocks than
/// there are.
inline constexpr std::int64_t host_block = 1 << 16;
template <class T>
void block_moments(std::span<T const> values, std::int64_t first, std::span<Moments<T>> blocks);
template <class T>
void block_moments(Stream& stream, std::span<T const> values, std::int64_t first,
                   std::span<Moments<T>> blocks);
/// The same of the lengths of vectors (`elementwise::magnitude`), whose components are arrays, 24 at most.
template <class T>
void block_moments(Stream& stream, std::span<std::span<T const> const> components,
                   std::int64_t first, std::span<Moments<T>> blocks);
template <class T>
Moments<T> combined_moments(std::span<Moments<T> const> blocks);

/// A variant as it is, but for `auto` the one that sums the blocks of an array by themselves, the same on hosts
/// and GPUs.
std::string_view variant_of_blocks(std::string_view wanted, Backend backend);

/// The place of the first value on the host that is not finite; -1 if there is none.
template <class T>
std::int64_t first_non_finite_on_host(std::span<T const> values);

/// The operations that a rung implements; mean, variance and l2_norm are made of them.
enum class Operation { sum, minimum, maximum, sum_of_squares, dot, moments };

/// One piece of work for a rung. `result` points to a Sum<T> (sum, dot), a T (minimum, maximum), a
/// double (sum of squares) or a Moments<T>.
template <class T>
struct Arguments {
  Operation operation = Operation::sum;
  T const* input = nullptr;
  T const* second = nullptr;      ///< b of the dot product
  double const* shift = nullptr;  ///< s of Σ (x_i − s)², on the device; null for 0
  std::int64_t size = 0;
  void* result = nullptr;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::reduce

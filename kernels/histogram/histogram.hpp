#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `histogram`: how many values, or what sum of weights, fall into each bin.
///
/// Arrays lie in the stream's device memory. The results are overwritten, but where counts are asked
/// to be added to. Nothing synchronises. Bins are half-open; a NaN and a value outside all bins are not counted. Every
/// variant gives the same bits every time: counts are integers, and weights are summed as
/// fixed-point numbers, which add up to the same in any order.
namespace gridstride::histogram {

/// The most bins of float data.
constexpr int max_bins = 8192;

/// What becomes of counts that are there. They add up to the same however data are cut into pieces,
/// in whatever order these come, but one after the other.
enum class Before { forgotten, added_to };

/// counts_b = how many x_i are b, for b in 0..255.
void count_bytes(Stream& stream, std::span<std::uint8_t const> input,
                 std::span<std::int64_t> counts /* 256 */, std::string_view variant = "auto");

/// counts_b = how many x_i fall into bin b of `counts.size()` even bins over [lower, upper):
/// b = floor((x − lower)·scale) with scale = bins/(upper − lower), both in T, and at most bins − 1.
/// T is float or double. Throws unless lower < upper, both and upper − lower and the scale finite,
/// and there are 1 to `max_bins` bins.
template <class T>
void count_even(Stream& stream, std::span<T const> input, T lower, T upper,
                std::span<std::int64_t> counts, std::string_view variant = "auto",
                Before before = Before::forgotten);

/// counts_b = how many x_i have edges_b ≤ x < edges_(b+1). `edges` has one element more than
/// `counts` and rises strictly; it lies in device memory, so that its order is not checked.
template <class T>
void count_edges(Stream& stream, std::span<T const> input, std::span<T const> edges,
                 std::span<std::int64_t> counts, std::string_view variant = "auto",
                 Before before = Before::forgotten);

/// The same between edges that are even, of which the host knows the first and the last one: each is
/// within an ulp of the larger of these of first + b·(last − first)/bins. The bin of a value that is
/// not next to an edge is found by a multiplication; the others' by comparing, as above.
template <class T>
void count_even_edges(Stream& stream, std::span<T const> input, std::span<T const> edges, T first,
                      T last, std::span<std::int64_t> counts, std::string_view variant = "auto",
                      Before before = Before::forgotten);

/// Stretches of the values of T in their order, in which 0 has the number 0, the least value above
/// it 1, the greatest below it −1, and so on: `count` of them, of 2^log2 numbers each, from `low`
/// on. −0 is 0.
struct NumberRange {
  std::int64_t low = 0;
  std::int64_t count = 0;
  int log2 = 0;
};
inline constexpr std::size_t most_number_ranges = 8;

/// Counts in the stretches of several ranges, which do not overlap, one after the other. Throws for
/// other than 1 to `most_number_ranges` ranges, and unless there are as many counts as stretches.
template <class T>
void count_numbers(Stream& stream, std::span<T const> input, std::span<NumberRange const> ranges,
                   std::span<std::int64_t> counts, std::string_view variant = "auto",
                   Before before = Before::forgotten);

/// As `count_even`, but sums_b = Σ w_i over the x_i in bin b, rounded once. The sum is one of
/// integers w·2^k, rounded to nearest: with 2^E above the largest of n finite |w| (inside a bin or
/// not; E ≥ −1022), k = 126 − ⌈log2 n⌉ − E. So the integers of a sum of any order stay below 2^126,
/// and their rounding changes the sum by at most n·2^(−k−1) < n²·2^(E−126). A bin that meets a
/// weight that is not finite gets NaN.
template <class T>
void weigh_even(Stream& stream, std::span<T const> input, std::span<T const> weights, T lower,
                T upper, std::span<double> sums, std::string_view variant = "auto");

/// As `count_edges`, with weights.
template <class T>
void weigh_edges(Stream& stream, std::span<T const> input, std::span<T const> weights,
                 std::span<T const> edges, std::span<double> sums,
                 std::string_view variant = "auto");

/// One piece of work for a rung. T is std::uint8_t (one bin per value), float or double.
template <class T>
struct Arguments {
  T const* input = nullptr;
  T const* weights = nullptr;  ///< null: each value counts one
  std::int64_t size = 0;
  int bins = 256;
  T lower = 0, upper = 0;    ///< of even bins
  T const* edges = nullptr;  ///< bins + 1 of them; null: even bins, or bytes
  bool even_edges = false;   ///< about even ones from `lower` to `upper`
  std::array<NumberRange, most_number_ranges> ranges = {};
  int range_count = 0;             ///< where there are any, they are the bins
  std::int64_t* counts = nullptr;  ///< added to
  double* sums = nullptr;          ///< with weights, in place of counts
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::histogram

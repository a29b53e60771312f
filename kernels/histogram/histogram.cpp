#include "kernels/histogram/histogram.hpp"

#include <algorithm>
#include <cmath>

#include "core/buffer.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::histogram {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "one value after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "each piece of the values has tables of its own, several in turn, so that equal values do "
       "not wait for each other"},
      {"global_atomic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_global_atomic<T>),
       "one atomic addition per value to the table in global memory"},
      {"shared_atomic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_shared_atomic<T>),
       "each block has a table in shared memory, which it adds to the global one at its end"},
      {"privatized", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_privatized<T>),
       "copies of the table for the lanes of a warp, which so hardly ever meet; vector loads"},
      {"cub", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cub<T>),
       "NVIDIA's cub::DeviceHistogram, to compare with; takes no weights"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "privatized";
}

namespace {

template <class T>
void run(Stream& stream, Arguments<T> const& arguments, std::string_view variant,
         Before before = Before::forgotten) {
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("histogram", variants<T>(), stream.device(), variant);
  if (row.name == "cub" && arguments.sums != nullptr)
    throw std::invalid_argument("histogram: variant 'cub' takes no weights");
  if (row.name == "cub" && arguments.range_count > 0)
    throw std::invalid_argument("histogram: variant 'cub' takes no ranges of numbers");
  auto const bins = static_cast<std::size_t>(arguments.bins);
  if (arguments.sums == nullptr && before == Before::forgotten)
    zero_async(std::span(arguments.counts, bins), stream);
  if (arguments.size > 0) return row.run(stream, arguments);
  if (arguments.sums != nullptr) zero_async(std::span(arguments.sums, bins), stream);
}

/// What every function on float data has: the values and their table, checked.
template <class T, class Result>
Arguments<T> checked(std::string_view function, std::span<T const> input,
                     std::string_view result_name, std::span<Result> results) {
  if (results.empty() || results.size() > max_bins)
    throw std::invalid_argument(fmt::format("{}: {} has {} elements, it needs 1 to {}", function,
                                            result_name, results.size(), max_bins));
  require_disjoint(function, named("input", input), named(result_name, results));
  Arguments<T> arguments;
  arguments.input = input.data();
  arguments.size = static_cast<std::int64_t>(input.size());
  arguments.bins = static_cast<int>(results.size());
  return arguments;
}

template <class T>
void set_range(std::string_view function, T lower, T upper, Arguments<T>& arguments) {
  if (!(lower < upper))
    throw std::invalid_argument(
        fmt::format("{}: lower {} is not below upper {}", function, lower, upper));
  T const scale = static_cast<T>(arguments.bins) / (upper - lower);
  // A scale of 0 comes of a width that is infinite.
  if (scale == 0 || !std::isfinite(scale))
    throw std::invalid_argument(
        fmt::format("{}: {} bins from lower {} to upper {} have no width (upper - lower and "
                    "bins/(upper - lower) must be finite)",
                    function, arguments.bins, lower, upper));
  arguments.lower = lower;
  arguments.upper = upper;
}

template <class T, class Result>
void set_edges(std::string_view function, std::span<T const> edges, std::string_view result_name,
               std::span<Result> results, Arguments<T>& arguments) {
  require_size(function, named("edges", edges), results.size() + 1);
  require_disjoint(function, named("edges", edges), named(result_name, results));
  arguments.edges = edges.data();
}

template <class T>
void set_weights(std::string_view function, std::span<T const> input, std::span<T const> weights,
                 std::span<double> sums, Arguments<T>& arguments) {
  require_same_size(function, named("input", input), named("weights", weights));
  require_disjoint(function, named("weights", weights), named("sums", sums));
  arguments.weights = weights.data();
  arguments.sums = sums.data();
}

}  // namespace

void count_bytes(Stream& stream, std::span<std::uint8_t const> input,
                 std::span<std::int64_t> counts, std::string_view variant) {
  require_size("count_bytes", named("counts", counts), 256);
  require_disjoint("count_bytes", named("input", input), named("counts", counts));
  Arguments<std::uint8_t> arguments;
  arguments.input = input.data();
  arguments.size = static_cast<std::int64_t>(input.size());
  arguments.counts = counts.data();
  run(stream, arguments, variant);
}

template <class T>
void count_even(Stream& stream, std::span<T const> input, T lower, T upper,
                std::span<std::int64_t> counts, std::string_view variant, Before before) {
  auto arguments = checked<T>("count_even", input, "counts", counts);
  set_range("count_even", lower, upper, arguments);
  arguments.counts = counts.data();
  run(stream, arguments, variant, before);
}

template <class T>
void count_edges(Stream& stream, std::span<T const> input, std::span<T const> edges,
                 std::span<std::int64_t> counts, std::string_view variant, Before before) {
  auto arguments = checked<T>("count_edges", input, "counts", counts);
  set_edges("count_edges", edges, "counts", counts, arguments);
  arguments.counts = counts.data();
  run(stream, arguments, variant, before);
}

template <class T>
void count_even_edges(Stream& stream, std::span<T const> input, std::span<T const> edges, T first,
                      T last, std::span<std::int64_t> counts, std::string_view variant,
                      Before before) {
  auto arguments = checked<T>("count_even_edges", input, "counts", counts);
  set_edges("count_even_edges", edges, "counts", counts, arguments);
  if (!(first < last))
    throw std::invalid_argument(
        fmt::format("count_even_edges: first {} is not below last {}", first, last));
  arguments.counts = counts.data();
  arguments.even_edges = true;
  arguments.lower = first;
  arguments.upper = last;
  run(stream, arguments, variant, before);
}

template <class T>
void count_numbers(Stream& stream, std::span<T const> input, std::span<NumberRange const> ranges,
                   std::span<std::int64_t> counts, std::string_view variant, Before before) {
  auto arguments = checked<T>("count_numbers", input, "counts", counts);
  if (ranges.empty() || ranges.size() > most_number_ranges)
    throw std::invalid_argument(fmt::format("count_numbers: there are {} ranges, 1 to {} may be",
                                            ranges.size(), most_number_ranges));
  std::int64_t stretches = 0;
  for (auto const& range : ranges) stretches += range.count;
  require_size("count_numbers", named("counts", counts), static_cast<std::size_t>(stretches));
  std::ranges::copy(ranges, arguments.ranges.begin());
  arguments.range_count = static_cast<int>(ranges.size());
  arguments.counts = counts.data();
  run(stream, arguments, variant, before);
}

template <class T>
void weigh_even(Stream& stream, std::span<T const> input, std::span<T const> weights, T lower,
                T upper, std::span<double> sums, std::string_view variant) {
  auto arguments = checked<T>("weigh_even", input, "sums", sums);
  set_range("weigh_even", lower, upper, arguments);
  set_weights("weigh_even", input, weights, sums, arguments);
  run(stream, arguments, variant);
}

template <class T>
void weigh_edges(Stream& stream, std::span<T const> input, std::span<T const> weights,
                 std::span<T const> edges, std::span<double> sums, std::string_view variant) {
  auto arguments = checked<T>("weigh_edges", input, "sums", sums);
  set_edges("weigh_edges", edges, "sums", sums, arguments);
  set_weights("weigh_edges", input, weights, sums, arguments);
  run(stream, arguments, variant);
}

#define GRIDSTRIDE_INSTANTIATE_ROWS(T) template std::span<Variant<Function<T>> const> variants<T>();
#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  GRIDSTRIDE_INSTANTIATE_ROWS(T)                                                                 \
  template void count_even(Stream&, std::span<T const>, T, T, std::span<std::int64_t>,           \
                           std::string_view, Before);                                            \
  template void count_edges(Stream&, std::span<T const>, std::span<T const>,                     \
                            std::span<std::int64_t>, std::string_view, Before);                  \
  template void count_even_edges(Stream&, std::span<T const>, std::span<T const>, T, T,          \
                                 std::span<std::int64_t>, std::string_view, Before);             \
  template void count_numbers(Stream&, std::span<T const>, std::span<NumberRange const>,         \
                              std::span<std::int64_t>, std::string_view, Before);                \
  template void weigh_even(Stream&, std::span<T const>, std::span<T const>, T, T,                \
                           std::span<double>, std::string_view);                                 \
  template void weigh_edges(Stream&, std::span<T const>, std::span<T const>, std::span<T const>, \
                            std::span<double>, std::string_view);
GRIDSTRIDE_INSTANTIATE_ROWS(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::histogram

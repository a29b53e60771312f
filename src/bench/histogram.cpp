#include "kernels/histogram/histogram.hpp"

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_histogram {

using machine::fill_random;

constexpr std::int64_t bins = 256;

/// With `zeros` as the share of values that are 0.
Problem bytes_problem(Stream& stream, std::int64_t size, int sets, double zeros) {
  Arrays<std::uint8_t> const input(stream, size, sets);
  Arrays<std::int64_t> const counts(stream, bins, sets);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, input(set), static_cast<std::uint64_t>(set), {.zeros = zeros});
                spoil(stream, counts(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                histogram::count_bytes(stream, input.constant(set), counts(set), variant);
              },
          .result = result_of(stream, counts)};
}

Problem uniform_problem(Stream& stream, std::int64_t size, int sets) {
  return bytes_problem(stream, size, sets, 0);
}

Problem skewed_problem(Stream& stream, std::int64_t size, int sets) {
  return bytes_problem(stream, size, sets, 0.9);
}

template <class T>
Problem even_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const input(stream, size, sets);
  Arrays<std::int64_t> const counts(stream, bins, sets);
  return {
      .prepare =
          [=, &stream](int set) {
            fill_random(stream, input(set), static_cast<std::uint64_t>(set), {.positive = true});
            spoil(stream, counts(set));
          },
      .run =
          [=, &stream](std::string_view variant, int set) {
            histogram::count_even(stream, input.constant(set), T(0), T(1), counts(set), variant);
          },
      .result = result_of(stream, counts)};
}

template <class T>
Problem weighted_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const input(stream, size, sets), weights(stream, size, sets);
  Arrays<double> const sums(stream, bins, sets);
  return {.prepare =
              [=, &stream](int set) {
                auto const seed = 2 * static_cast<std::uint64_t>(set);
                fill_random(stream, input(set), seed, {.positive = true});
                fill_random(stream, weights(set), seed + 1);
                spoil(stream, sums(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                histogram::weigh_even(stream, input.constant(set), weights.constant(set), T(0),
                                      T(1), sums(set), variant);
              },
          .result = result_of(stream, sums)};
}

template <class T>
Workload workload(Backend backend, std::string_view operation, std::int64_t gpu_size, int arrays,
                  Problem (*make)(Stream&, std::int64_t, int), bool by_default = true) {
  double const bytes = arrays * static_cast<double>(sizeof(T));
  return {
      .family = "histogram",
      .operation = operation,
      .type = type_name<T>(),
      .by_default = by_default,
      .size = default_size(backend, gpu_size),
      .work = per_element(
          {.bytes = bytes, .flops = 0, .asks = {{machine::read_roof, bytes}}, .set_bytes = bytes}),
      .rows = rows_of(histogram::variants<T>(), backend, histogram::default_variant(backend)),
      .make = make};
}

}  // namespace of_histogram

std::vector<Workload> histogram_workloads(Backend backend) {
  using namespace of_histogram;
  constexpr std::int64_t large = std::int64_t{1} << 30;
  return {
      workload<std::uint8_t>(backend, "bytes, uniform", large, 1, uniform_problem),
      workload<std::uint8_t>(backend, "bytes, 90 % zeros", large, 1, skewed_problem),
      workload<float>(backend, "256 even bins", large / 4, 1, even_problem<float>),
      workload<float>(backend, "256 even bins", large, 1, even_problem<float>),
      workload<float>(backend, "256 even bins, weighted", large / 16, 2, weighted_problem<float>),
      workload<double>(backend, "256 even bins", large / 4, 1, even_problem<double>, false),
      workload<double>(backend, "256 even bins, weighted", large / 16, 2, weighted_problem<double>,
                       false),
  };
}

}  // namespace gridstride::bench

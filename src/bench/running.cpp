// Reductions and scans of data that come piece by piece, as pipelines have them.

#include "kernels/reduce/running.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "bench/workloads.hpp"
#include "core/pipeline.hpp"
#include "kernels/scan/running.hpp"

namespace gridstride::bench {

namespace of_running {

/// How an array is cut.
struct Pieces {
  std::string_view name;
  std::string_view idea;
  std::int64_t bytes;  ///< of a piece; 0: the whole array
};

constexpr Pieces pieces[] = {
    {"whole", "all at once", 0},
    {"pieces", "8 MiB at a time, as chunks of files come", Pipeline::chunk_bytes},
    {"odd_pieces",
     "a little less: every second one is not aligned to 16 bytes, and none ends where a tile does",
     Pipeline::chunk_bytes - 8200},
};
constexpr std::string_view default_pieces = "pieces";

std::vector<Row> rows() {
  std::vector<Row> all;
  for (auto const& one : pieces)
    all.push_back({one.name, one.idea, one.name == default_pieces, false});
  return all;
}

/// Calls `body(first, count)` for the pieces of a variant.
template <class T, class Body>
void for_pieces(std::size_t size, std::string_view variant, Body const& body) {
  auto const bytes = std::ranges::find(pieces, variant, &Pieces::name)->bytes;
  std::size_t const piece = bytes == 0 ? size : static_cast<std::size_t>(bytes) / sizeof(T);
  for (std::size_t first = 0; first < size; first += piece)
    body(first, std::min(piece, size - first));
}

/// A sum, which is exact: every way to cut gives every bit of it.
template <class T>
Problem sum_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const input(stream, size, sets);
  Arrays<double> const result(stream, 1, sets);
  machine::Distribution const values{
      .bits = std::min(exact_bits(size, 53), std::numeric_limits<T>::digits)};
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, input(set), static_cast<std::uint64_t>(set), values);
                spoil(stream, result(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                if (variant == "reference")
                  return reduce::sum<T>(stream, input.constant(set), result(set), variant);
                reduce::RunningReduction<reduce::SumOperation<T>> running(stream, size);
                for_pieces<T>(input.constant(set).size(), variant,
                              [&](std::size_t first, std::size_t count) {
                                running.add(stream, input.constant(set).subspan(first, count));
                              });
                running.finish(stream, result(set));
              },
          .result = result_of(stream, result)};
}

/// Prefix sums, exact too.
template <class T>
Problem scan_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const input(stream, size, sets), output(stream, size, sets);
  int const digits = std::numeric_limits<T>::digits;
  machine::Distribution const values{.bits = std::min(exact_bits(size, digits), digits)};
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, input(set), static_cast<std::uint64_t>(set), values);
                spoil(stream, output(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                if (variant == "reference")
                  return scan::inclusive_sum<T>(stream, input.constant(set), output(set), variant);
                scan::RunningScan<T> running(stream, scan::Running::sum);
                for_pieces<T>(input.constant(set).size(), variant,
                              [&](std::size_t first, std::size_t count) {
                                running.add(stream, input.constant(set).subspan(first, count),
                                            output(set).subspan(first, count));
                              });
              },
          .result = result_of(stream, output)};
}

template <class T>
Workload workload(Backend backend, std::string_view family, std::string_view operation,
                  std::string_view roof, double moved,
                  Problem (*make)(Stream&, std::int64_t, int)) {
  constexpr double additions = std::is_integral_v<T> ? 0 : 1;
  return {.family = family,
          .operation = operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << (sizeof(T) == 4 ? 29 : 28)),
          .work = per_element({.bytes = moved,
                               .flops = additions,
                               .asks = {{roof, moved}, {machine::float64_roof, 2 * additions}},
                               .set_bytes = moved}),
          .rows = rows(),
          .make = make};
}

template <class T>
Workload sums(Backend backend) {
  return workload<T>(backend, "reduce", "sum of pieces", machine::read_roof, sizeof(T),
                     sum_problem<T>);
}

template <class T>
Workload scans(Backend backend) {
  return workload<T>(backend, "scan", "inclusive sum of pieces", machine::copy_roof, 2 * sizeof(T),
                     scan_problem<T>);
}

}  // namespace of_running

std::vector<Workload> running_workloads(Backend backend) {
  using namespace of_running;
  return {sums<float>(backend), sums<double>(backend), scans<float>(backend),
          scans<double>(backend)};
}

}  // namespace gridstride::bench

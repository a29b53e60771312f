#include "kernels/tridiagonal/tridiagonal.hpp"

#include <cstddef>

#include "bench/systems.hpp"
#include "bench/workloads.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride::bench {

namespace of_tridiagonal {

using tridiagonal::Findings;

template <class T>
Problem problem(Stream& stream, Systems const& kind, std::int64_t size, int sets) {
  auto const shape = kind.shape(size);
  auto const coefficients = tridiagonal::extent(shape, shape.coefficients);
  Arrays<T> const lower(stream, coefficients, sets), diagonal(stream, coefficients, sets),
      upper(stream, coefficients, sets), right(stream, size, sets), x(stream, size, sets);
  Arrays<Findings> const findings(stream, 1, sets);
  auto const run = [=, &stream](std::string_view variant, int set) {
    tridiagonal::solve<T>(stream, shape,
                          {lower.constant(set), diagonal.constant(set), upper.constant(set)},
                          right.constant(set), x(set), findings(set), variant);
  };
  return {.prepare =
              [=, &stream](int set) {
                auto const seed = static_cast<std::uint64_t>(4 * set);
                machine::fill_random(stream, lower(set), seed);
                machine::fill_random(stream, upper(set), seed + 1);
                machine::fill_random(stream, right(set), seed + 2);
                if (kind.dominant)
                  elementwise::fill<T>(stream, 3, diagonal(set));
                else
                  machine::fill_random(stream, diagonal(set), seed + 3);
                spoil(stream, x(set));
                zero_async(findings(set), stream);
              },
          .run = run,
          .accuracy =
              [=, &stream](std::string_view variant) {
                return judged_again<T>(stream, x.constant(0), findings(0),
                                       [&] { run(variant, 0); });
              }};
}

template <class T>
Workload workload(Backend backend, Systems const& kind) {
  double const arrays = kind.shared ? 2 : 5;
  Workload result{
      .family = "tridiagonal",
      .operation = kind.operation,
      .type = type_name<T>(),
      .by_default = sizeof(T) == 8,
      .size = default_size(backend, std::int64_t{1} << 24),
      .work = per_element(
          {.bytes = arrays * sizeof(T),
           .flops = 8,
           .asks = {{machine::copy_roof, arrays * sizeof(T)}, {arithmetic_roof<T>(), 8}},
           .set_bytes = arrays * sizeof(T)}),
      .rows = rows_of(tridiagonal::variants<T>(), backend, tridiagonal::default_variant(backend)),
      .make = [kind](Stream& stream, std::int64_t size,
                     int sets) { return problem<T>(stream, kind, size, sets); },
      .rounded = kind.rounded(),
      .error = "the largest backward error of a row"};
  // A thread alone would take seconds for a long system.
  std::erase_if(result.rows, [&](Row const& row) {
    return (kind.unknowns == 0 && row.name == "thomas_batch") ||
           (!kind.dominant && row.name.find("pivoted") == std::string_view::npos);
  });
  return result;
}

}  // namespace of_tridiagonal

std::vector<Workload> tridiagonal_workloads(Backend backend) {
  using namespace of_tridiagonal;
  std::vector<Workload> all;
  // The host has one row for any systems, and nothing to compare it with.
  auto const is_compared = [&](Systems const& kind) {
    return kind.dominant || backend == Backend::cuda;
  };
  for (Systems const& kind :
       {Systems{"one system", 0},
        Systems{.operation = "one system, any rows", .unknowns = 0, .dominant = false},
        Systems{"systems of 1024", 1024},
        Systems{.operation = "systems of 256, side by side", .unknowns = 256, .across = true},
        Systems{
            .operation = "systems of 1024, same coefficients", .unknowns = 1024, .shared = true}}) {
    if (!is_compared(kind)) continue;
    all.push_back(workload<double>(backend, kind));
    all.push_back(workload<float>(backend, kind));
  }
  return all;
}

}  // namespace gridstride::bench

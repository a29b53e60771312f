#include "kernels/scan/scan.hpp"

#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_scan {

template <class T, auto function>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const input(stream, size, sets), output(stream, size, sets);
  // Every prefix is exact, so that every variant must give every bit of it.
  int const digits = std::numeric_limits<T>::digits;
  machine::Distribution const values{.bits = std::min(exact_bits(size, digits), digits)};
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, input(set), static_cast<std::uint64_t>(set), values);
            spoil(stream, output(set));
          },
      .run = [=, &stream](std::string_view variant,
                          int set) { function(stream, input.constant(set), output(set), variant); },
      .result = result_of(stream, output)};
}

template <class T, auto function>
Workload workload(Backend backend, std::string_view operation, std::int64_t gpu_size,
                  bool by_default = true) {
  constexpr double moved = 2 * sizeof(T);
  constexpr double additions = std::is_integral_v<T> ? 0 : 1;
  return {.family = "scan",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = by_default,
          .size = default_size(backend, gpu_size),
          .work = per_element(
              {.bytes = moved,
               .flops = additions,
               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), 2 * additions}},
               .set_bytes = 2 * sizeof(T)}),
          .rows = rows_of(scan::variants<T>(), backend, scan::default_variant(backend)),
          .make = problem<T, function>};
}

}  // namespace of_scan

std::vector<Workload> scan_workloads(Backend backend) {
  using namespace of_scan;
  constexpr std::int64_t large = std::int64_t{1} << 30;
  return {
      workload<std::int32_t, scan::exclusive_sum<std::int32_t>>(backend, "exclusive sum", large),
      workload<float, scan::exclusive_sum<float>>(backend, "exclusive sum", large),
      workload<double, scan::exclusive_sum<double>>(backend, "exclusive sum", large / 2),
      workload<std::int64_t, scan::exclusive_sum<std::int64_t>>(backend, "exclusive sum", large / 2,
                                                                false),
  };
}

}  // namespace gridstride::bench

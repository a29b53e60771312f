#include "kernels/pentadiagonal/pentadiagonal.hpp"

#include <cstddef>

#include "bench/systems.hpp"
#include "bench/workloads.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride::bench {

namespace of_pentadiagonal {

using tridiagonal::Findings;

template <class T>
Problem problem(Stream& stream, Systems const& kind, std::int64_t size, int sets) {
  auto const shape = kind.shape(size);
  Arrays<T> const a(stream, size, sets), b(stream, size, sets), c(stream, size, sets),
      d(stream, size, sets), e(stream, size, sets), right(stream, size, sets),
      x(stream, size, sets);
  Arrays<Findings> const findings(stream, 1, sets);
  auto const run = [=, &stream](std::string_view variant, int set) {
    pentadiagonal::solve<T>(
        stream, shape,
        {a.constant(set), b.constant(set), c.constant(set), d.constant(set), e.constant(set)},
        right.constant(set), x(set), findings(set), variant);
  };
  return {.prepare =
              [=, &stream](int set) {
                auto seed = static_cast<std::uint64_t>(5 * set);
                for (auto const& array : {a, b, d, e, right})
                  machine::fill_random(stream, array(set), seed++);
                elementwise::fill<T>(stream, 5, c(set));
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
  constexpr double moved = 7 * sizeof(T), flops = 17;
  return {.family = "pentadiagonal",
          .operation = kind.operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = default_size(backend, std::int64_t{1} << 24),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = moved}),
          .rows = rows_of(pentadiagonal::variants<T>(), backend,
                          pentadiagonal::default_variant(backend)),
          .make = [kind](Stream& stream, std::int64_t size,
                         int sets) { return problem<T>(stream, kind, size, sets); },
          .rounded = kind.rounded(),
          .error = "the largest backward error of a row"};
}

}  // namespace of_pentadiagonal

std::vector<Workload> pentadiagonal_workloads(Backend backend) {
  using namespace of_pentadiagonal;
  std::vector<Workload> all;
  for (Systems const& kind :
       {Systems{"one system", 0}, Systems{"systems of 1024", 1024},
        Systems{.operation = "systems of 256, side by side", .unknowns = 256, .across = true}}) {
    all.push_back(workload<double>(backend, kind));
    all.push_back(workload<float>(backend, kind));
  }
  return all;
}

}  // namespace gridstride::bench

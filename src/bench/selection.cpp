#include "bench/workloads.hpp"
#include "kernels/select/select.hpp"

namespace gridstride::bench {

namespace of_select {

/// The share of flags that are 0 is that of `percent` set ones.
template <class T, int percent>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const values(stream, size, sets), flags(stream, size, sets);
  Arrays<T> const selected(stream, size, sets);
  Arrays<std::int64_t> const indices(stream, size, sets), count(stream, 1, sets);
  machine::Distribution const of_flags{.zeros = 1 - percent / 100.0};
  return {.prepare =
              [=, &stream](int set) {
                auto const seed = 2 * static_cast<std::uint64_t>(set);
                machine::fill_random(stream, values(set), seed);
                machine::fill_random(stream, flags(set), seed + 1, of_flags);
                // No value is 0, and what lies behind the selected ones stays.
                zero_async(selected(set), stream);
                zero_async(indices(set), stream);
                spoil(stream, count(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                select::flagged(stream, values.constant(set), flags.constant(set), selected(set),
                                indices(set), count(set), 0, variant);
              },
          .result = result_of(stream, selected, indices, count)};
}

/// Of values that are read by the 32 bytes nearly all are, unless very few are selected.
template <class T, int percent>
Workload workload(Backend backend, std::string_view operation, bool by_default = true) {
  constexpr double share = percent / 100.0;
  constexpr double read = sizeof(T) + sizeof(T) * (percent < 5 ? 8 * share : 1);
  constexpr double moved = read + share * (sizeof(T) + sizeof(std::int64_t));
  return {.family = "select",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = by_default,
          .size = default_size(backend, std::int64_t{1} << 28),
          .work = per_element({.bytes = moved,
                               .flops = 0,
                               .asks = {{machine::copy_roof, moved}},
                               .set_bytes = 3 * sizeof(T) + sizeof(std::int64_t)}),
          .rows = rows_of(select::variants<T>(), backend, select::default_variant(backend)),
          .make = problem<T, percent>};
}

}  // namespace of_select

std::vector<Workload> select_workloads(Backend backend) {
  using namespace of_select;
  return {workload<float, 50>(backend, "half of all"),
          workload<float, 1>(backend, "one in a hundred"),
          workload<double, 50>(backend, "half of all", false)};
}

}  // namespace gridstride::bench

#include "kernels/sort/sort.hpp"

#include "bench/workloads.hpp"
#include "kernels/sort/out_of_core.hpp"

namespace gridstride::bench {

namespace of_sort {

using machine::fill_random;

template <class T>
Problem keys_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const keys(stream, size, sets);
  return {
      .prepare = [=, &stream](
                     int set) { fill_random(stream, keys(set), static_cast<std::uint64_t>(set)); },
      .run = [=, &stream](std::string_view variant,
                          int set) { sort::keys(stream, keys(set), variant); },
      .result = result_of(stream, keys)};
}

/// Integer keys, for those are all different: then there is one right order of the values.
template <class T>
Problem pairs_problem(Stream& stream, std::int64_t size, int sets) {
  static_assert(std::is_integral_v<T>);
  Arrays<T> const keys(stream, size, sets);
  Arrays<std::uint32_t> const values(stream, size, sets);
  return {.prepare =
              [=, &stream](int set) {
                auto const seed = 2 * static_cast<std::uint64_t>(set);
                fill_random(stream, keys(set), seed);
                fill_random(stream, values(set), seed + 1);
              },
          .run = [=, &stream](std::string_view variant,
                              int set) { sort::pairs(stream, keys(set), values(set), variant); },
          .result = result_of(stream, keys, values)};
}

template <class T>
Workload workload(Backend backend, std::string_view operation, double bytes,
                  Problem (*make)(Stream&, std::int64_t, int), bool by_default = true) {
  // No sort can do with less than one read and one write of everything.
  double const moved = 2 * bytes;
  return {
      .family = "sort",
      .operation = operation,
      .type = type_name<T>(),
      .by_default = by_default,
      .size = default_size(backend, std::int64_t{1} << 26),
      .work = per_element(
          {.bytes = moved, .flops = 0, .asks = {{machine::copy_roof, moved}}, .set_bytes = bytes}),
      .rows = rows_of(sort::variants<T>(), backend, sort::default_variant(backend)),
      .make = make,
      .in_place = true};
}

template <class T>
Workload keys_workload(Backend backend, bool by_default = true) {
  return workload<T>(backend, "keys", sizeof(T), keys_problem<T>, by_default);
}

template <class T>
Workload pairs_workload(Backend backend, bool by_default = true) {
  return workload<T>(backend, "pairs", sizeof(T) + sizeof(std::uint32_t), pairs_problem<T>,
                     by_default);
}

/// In the host's memory, with half as much memory of the device as the keys have.
template <class T>
Problem out_of_core_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const keys(stream, size, sets, MemorySpace::host);
  Arrays<T> const sorted(stream, size, sets, MemorySpace::host);
  return {.prepare =
              [=](int set) {
                Stream host(Device::open(Backend::cpu));
                fill_random(host, keys(set), static_cast<std::uint64_t>(set));
                spoil(host, sorted(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                auto const bytes = std::max(keys(set).size_bytes() / 2, sort::least_device_bytes);
                sort::out_of_core<T>(stream, keys(set), sorted(set), bytes, variant);
              },
          .result = result_of(stream, sorted)};
}

template <class T>
Workload out_of_core_workload(Backend backend) {
  Workload result = workload<T>(backend, "keys out of core", sizeof(T), out_of_core_problem<T>);
  constexpr double one_way = 2 * sizeof(T);  // twice
  if (backend == Backend::cuda)
    result.work =
        per_element({.bytes = 2 * one_way,
                     .flops = 0,
                     .asks = {{machine::to_device_roof, one_way}, {machine::to_host_roof, one_way}},
                     .set_bytes = 2 * sizeof(T)});
  std::erase_if(result.rows,
                [](Row const& row) { return !row.is_default && row.name != "reference"; });
  return result;
}

}  // namespace of_sort

std::vector<Workload> sort_workloads(Backend backend) {
  using namespace of_sort;
  return {keys_workload<float>(backend),
          keys_workload<std::int32_t>(backend),
          keys_workload<double>(backend, false),
          keys_workload<std::int64_t>(backend, false),
          pairs_workload<std::int32_t>(backend),
          pairs_workload<std::int64_t>(backend, false),
          out_of_core_workload<std::int32_t>(backend)};
}

}  // namespace gridstride::bench

#include "kernels/sort/sort.hpp"

#include "kernels/sort/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::sort {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "std::stable_sort on one thread; stable"},
      {"threads", Backend::cpu, host_threads<T>,
       "fixed pieces are sorted, then merged by twos; every merge is shared among threads; stable"},
      {"bitonic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_bitonic<T>),
       "a network of comparisons that does not depend on the keys; its short distances in shared "
       "memory"},
      {"quicksort_dynamic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_quicksort_dynamic<T>),
       "a block partitions its range and launches kernels for the parts"},
      {"cub", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cub<T>),
       "NVIDIA's cub::DeviceRadixSort; stable; takes -0 and 0 for equal"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "cub";
}

namespace {

template <class T>
void run(Stream& stream, Arguments<T> const& arguments, std::string_view variant) {
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("sort", variants<T>(), stream.device(), variant);
  if (arguments.size > 1) row.run(stream, arguments);
}

}  // namespace

template <class T>
void keys(Stream& stream, std::span<T> keys, std::string_view variant) {
  run<T>(stream, {keys.data(), nullptr, static_cast<std::int64_t>(keys.size())}, variant);
}

template <class T>
void pairs(Stream& stream, std::span<T> keys, std::span<std::uint32_t> values,
           std::string_view variant) {
  require_same_size("pairs", named("keys", keys), named("values", values));
  require_disjoint("pairs", named("keys", keys), named("values", values));
  run<T>(stream, {keys.data(), values.data(), static_cast<std::int64_t>(keys.size())}, variant);
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template void keys(Stream&, std::span<T>, std::string_view);  \
  template void pairs(Stream&, std::span<T>, std::span<std::uint32_t>, std::string_view);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sort

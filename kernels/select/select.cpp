#include "kernels/select/select.hpp"

#include "core/buffer.hpp"
#include "kernels/select/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::select {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "one value after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "counts of fixed blocks, their sums, then every block writes from its place on"},
      {"atomic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_atomic<T>),
       "blocks count by atomic additions, the counts are scanned; then a block marks its flags in "
       "shared memory and counts marks"},
      {"ballot", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_ballot<T>),
       "warps vote in place of atomic operations; still two reads of the flags"},
      {"decoupled_lookback", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_lookback<T>),
       "one pass: a tile finds its place in the counts that earlier tiles have published, and "
       "writes from shared memory"},
      {"cub", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cub<T>),
       "cub::DeviceSelect, to compare with"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "decoupled_lookback";
}

template <class T>
void flagged(Stream& stream, std::span<T const> values, std::span<T const> flags,
             std::span<T> selected, std::span<std::int64_t> indices, std::span<std::int64_t> count,
             std::int64_t first, std::string_view variant) {
  constexpr std::string_view function = "select::flagged";
  auto const input = named("values", values), mask = named("flags", flags);
  require_same_size(function, input, mask);
  require_same_size(function, input, named("selected", selected));
  if (!indices.empty()) require_same_size(function, input, named("indices", indices));
  require_size(function, named("count", count), 1);
  for (auto const& in : {input, mask})
    for (auto const& out :
         {named("selected", selected), named("indices", indices), named("count", count)})
      require_disjoint(function, in, out);
  require_disjoint(function, named("selected", selected), named("indices", indices));
  require_disjoint(function, named("selected", selected), named("count", count));
  require_disjoint(function, named("indices", indices), named("count", count));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("select", variants<T>(), stream.device(), variant);
  if (values.empty()) return zero_async(count, stream);
  row.run(stream, {values.data(), flags.data(), std::ssize(values), first, selected.data(),
                   indices.empty() ? nullptr : indices.data(), count.data()});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                       \
  template std::span<Variant<Function<T>> const> variants<T>();                         \
  template void flagged(Stream&, std::span<T const>, std::span<T const>, std::span<T>,  \
                        std::span<std::int64_t>, std::span<std::int64_t>, std::int64_t, \
                        std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::select

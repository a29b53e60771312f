#include "kernels/scan/scan.hpp"

#include "kernels/scan/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::scan {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "one element after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "sums of fixed blocks, then several blocks at a time, so that their additions overlap"},
      {"hillis_steele_global", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_hillis_steele_global<T>),
       "log2 n passes over global memory, each adds the element twice as far back"},
      {"hillis_steele", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_hillis_steele<T>),
       "the passes within a tile in shared memory; the tiles' totals are scanned and added"},
      {"blelloch", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_blelloch<T>),
       "a tree up and down in shared memory: 2n additions in place of n log2 n"},
      {"blelloch_padded", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_blelloch_padded<T>),
       "the tree with padded addresses, without bank conflicts"},
      {"reduce_then_scan", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_reduce_then_scan<T>),
       "totals of a fixed number of pieces first, so that only the results are written; shuffles"},
      {"decoupled_lookback", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_decoupled_lookback<T>),
       "one pass: a tile finds what is before it in the totals that earlier tiles have published"},
      {"cub", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cub<T>),
       "cub::DeviceScan, to compare with; float sums differ from run to run"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "decoupled_lookback";
}

namespace {

template <class T>
void run(Stream& stream, std::string_view function, Operation operation, Kind kind,
         std::span<T const> input, std::span<T> output, std::string_view variant) {
  require_same_size(function, named("input", input), named("output", output));
  require_disjoint_or_same(function, named("input", input), named("output", output));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("scan", variants<T>(), stream.device(), variant);
  if (input.empty()) return;
  row.run(stream,
          {operation, kind, input.data(), output.data(), static_cast<std::int64_t>(input.size())});
}

}  // namespace

template <class T>
void inclusive_sum(Stream& stream, std::span<T const> input, std::span<T> output,
                   std::string_view variant) {
  run(stream, "inclusive_sum", Operation::sum, Kind::inclusive, input, output, variant);
}

template <class T>
void exclusive_sum(Stream& stream, std::span<T const> input, std::span<T> output,
                   std::string_view variant) {
  run(stream, "exclusive_sum", Operation::sum, Kind::exclusive, input, output, variant);
}

template <class T>
void inclusive_maximum(Stream& stream, std::span<T const> input, std::span<T> output,
                       std::string_view variant) {
  run(stream, "inclusive_maximum", Operation::maximum, Kind::inclusive, input, output, variant);
}

template <class T>
void exclusive_maximum(Stream& stream, std::span<T const> input, std::span<T> output,
                       std::string_view variant) {
  run(stream, "exclusive_maximum", Operation::maximum, Kind::exclusive, input, output, variant);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template std::span<Variant<Function<T>> const> variants<T>();                                 \
  template void inclusive_sum(Stream&, std::span<T const>, std::span<T>, std::string_view);     \
  template void exclusive_sum(Stream&, std::span<T const>, std::span<T>, std::string_view);     \
  template void inclusive_maximum(Stream&, std::span<T const>, std::span<T>, std::string_view); \
  template void exclusive_maximum(Stream&, std::span<T const>, std::span<T>, std::string_view);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::scan

#include "kernels/transfer/transfer.hpp"

#include "kernels/support/arguments.hpp"
#include "kernels/transfer/rows.hpp"

namespace gridstride::transfer {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every element in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "contiguous pieces shared among threads; a loop that the compiler vectorises"},
      {"pageable", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_pageable<T>),
       "copy in, compute, copy out, from any host memory; the driver stages pageable memory"},
      {"pinned", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_pinned<T>),
       "the same from pinned memory, which the copy engine reads by itself"},
      {"mapped", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_mapped<T>),
       "no copies: the kernel reads and writes pinned host memory"},
      {"managed", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_managed<T>),
       "managed memory, prefetched to the device and home again"},
      {"pitched", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_pitched<T>),
       "rows of a plane, padded on the device so that each one begins aligned"},
      {"constant", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_constant<T>),
       "the input in pieces of 64 KiB through constant memory"},
      {"overlapped", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_overlapped<T>),
       "pieces, and a stream for each way and for the kernels: all three at the same time"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "overlapped";
}

MemorySpace host_space(Backend backend, std::string_view variant) {
  if (variant == "auto") variant = default_variant(backend);
  auto const& row = find_variant("transfer", variants<float>(), backend, variant);
  if (backend == Backend::cpu || row.name == "pageable") return MemorySpace::host;
  return row.name == "managed" ? MemorySpace::managed : MemorySpace::pinned;
}

template <class T>
void round_trip(Stream& stream, T a, T b, std::span<T const> x, std::span<T> y,
                std::string_view variant, int pieces) {
  constexpr std::string_view function = "transfer::round_trip";
  require_same_size(function, named("x", x), named("y", y));
  require_disjoint(function, named("x", x), named("y", y));
  if (pieces < 1 || pieces > most_pieces)
    throw std::invalid_argument(
        fmt::format("{}: pieces is {}, from 1 to {} are possible", function, pieces, most_pieces));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("transfer", variants<T>(), stream.device(), variant);
  auto const size = static_cast<std::int64_t>(x.size());
  if (size > 0) row.run(stream, {a, b, x.data(), y.data(), size, pieces});
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template void round_trip(Stream&, T, T, std::span<T const>, std::span<T>, std::string_view, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::transfer

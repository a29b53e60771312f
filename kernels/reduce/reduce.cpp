#include "kernels/reduce/reduce.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/buffer.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::reduce {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "one element after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "blocks of 65,536 elements shared among threads; independent accumulators that the compiler "
       "vectorises"},
      {"global", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_global<T>),
       "one thread per pair; each launch halves an array of partial results in global memory"},
      {"atomic", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_atomic<T>),
       "one atomic update of the result per element; not moments; floating-point sums differ from "
       "run to run"},
      {"interleaved", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_interleaved<T>),
       "a block combines its elements as a tree in shared memory; every second thread drops out"},
      {"interleaved_strided", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_interleaved_strided<T>),
       "the same tree worked by neighbouring threads: whole warps drop out, banks conflict"},
      {"sequential", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_sequential<T>),
       "the upper half is folded onto the lower: neighbouring threads use neighbouring banks"},
      {"first_add_on_load", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_first_add_on_load<T>),
       "each thread combines two elements while it loads them: half the blocks, none idle"},
      {"unroll_last_warp", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_unroll_last_warp<T>),
       "the last six steps are one warp's and wait for that warp alone"},
      {"unrolled", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_unrolled<T>),
       "the size of a block is known at compile time: no loop is left in the tree"},
      {"grid_stride", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_grid_stride<T>),
       "a fixed number of blocks, each thread accumulates many elements in registers first"},
      {"warp_shuffle", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_warp_shuffle<T>),
       "the tree runs in registers by warp shuffles; shared memory holds one value per warp"},
      {"cooperative_groups", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cooperative_groups<T>),
       "the same on group objects: a tile of 32 threads, then one as wide as there are warps"},
      {"vectorized", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vectorized<T>),
       "16-byte loads, several in flight per thread; the last block to finish combines all"},
      {"blocks", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_blocks<T>),
       "the order of the host's threads, with its bits, of parts of an array and on any GPU"},
      {"cub", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cub<T>),
       "NVIDIA's cub::DeviceReduce; not moments; a sum of float32 is accumulated in float32"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "vectorized";
}

std::string_view variant_of_blocks(std::string_view wanted, Backend backend) {
  if (wanted != "auto") return wanted;
  return backend == Backend::cpu ? "threads" : "blocks";
}

void refuse(std::string_view row, Operation operation) {
  static constexpr std::string_view names[] = {"sum", "minimum", "maximum", "sum_of_squares",
                                               "dot", "moments"};
  throw std::invalid_argument(fmt::format("reduce: variant '{}' does not take {}", row,
                                          names[static_cast<int>(operation)]));
}

namespace {

template <class T, class Result>
void require_result(std::string_view function, NamedBytes const& input, std::span<Result> result) {
  require_size(function, named("result", result), 1);
  require_disjoint(function, input, named("result", result));
}

template <class T>
void run(Stream& stream, std::string_view variant, Arguments<T> const& arguments) {
  if (variant == "auto") variant = default_variant(stream.backend());
  find_variant("reduce", variants<T>(), stream.device(), variant).run(stream, arguments);
}

/// One operation on one array, arguments checked.
template <class T, class Result>
void run(Stream& stream, std::string_view variant, std::string_view function, Operation operation,
         std::span<T const> input, std::span<Result> result) {
  require_result<T>(function, named("input", input), result);
  run(stream, variant,
      Arguments<T>{.operation = operation,
                   .input = input.data(),
                   .size = std::ssize(input),
                   .result = result.data()});
}

template <class S>
void queue_derive([[maybe_unused]] Stream& stream, Derived what, S const* value, std::int64_t size,
                  double* result) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_derive(stream, what, value, size, result);
#endif
  *result = derive(what, *value, size);
}

}  // namespace

template <class T>
void sum(Stream& stream, std::span<T const> input, std::span<Sum<T>> result,
         std::string_view variant) {
  run(stream, variant, "reduce::sum", Operation::sum, input, result);
}

template <class T>
void minimum(Stream& stream, std::span<T const> input, std::span<T> result,
             std::string_view variant) {
  run(stream, variant, "reduce::minimum", Operation::minimum, input, result);
}

template <class T>
void maximum(Stream& stream, std::span<T const> input, std::span<T> result,
             std::string_view variant) {
  run(stream, variant, "reduce::maximum", Operation::maximum, input, result);
}

template <class T>
void dot(Stream& stream, std::span<T const> a, std::span<T const> b, std::span<Sum<T>> result,
         std::string_view variant) {
  require_same_size("reduce::dot", named("a", a), named("b", b));
  require_result<T>("reduce::dot", named("a", a), result);
  require_result<T>("reduce::dot", named("b", b), result);
  run(stream, variant,
      Arguments<T>{.operation = Operation::dot,
                   .input = a.data(),
                   .second = b.data(),
                   .size = std::ssize(a),
                   .result = result.data()});
}

template <class T>
void mean(Stream& stream, std::span<T const> input, std::span<double> result,
          std::string_view variant) {
  require_result<T>("reduce::mean", named("input", input), result);
  Buffer<Sum<T>> total(stream, MemorySpace::device, 1);
  sum(stream, input, total.span(), variant);
  queue_derive(stream, Derived::quotient, total.data(), std::ssize(input), result.data());
}

template <class T>
void variance(Stream& stream, std::span<T const> input, std::span<double> result,
              std::string_view variant) {
  require_result<T>("reduce::variance", named("input", input), result);
  Buffer<double> center(stream, MemorySpace::device, 1);
  mean(stream, input, center.span(), variant);
  run(stream, variant,
      Arguments<T>{.operation = Operation::sum_of_squares,
                   .input = input.data(),
                   .shift = center.data(),
                   .size = std::ssize(input),
                   .result = result.data()});
  queue_derive(stream, Derived::quotient, result.data(), std::ssize(input), result.data());
}

template <class T>
void l2_norm(Stream& stream, std::span<T const> input, std::span<double> result,
             std::string_view variant) {
  run(stream, variant, "reduce::l2_norm", Operation::sum_of_squares, input, result);
  queue_derive(stream, Derived::square_root, result.data(), std::ssize(input), result.data());
}

template <class T>
void moments(Stream& stream, std::span<T const> input, std::span<Moments<T>> result,
             std::string_view variant) {
  run(stream, variant, "reduce::moments", Operation::moments, input, result);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template std::span<Variant<Function<T>> const> variants<T>();                             \
  template void sum(Stream&, std::span<T const>, std::span<Sum<T>>, std::string_view);      \
  template void minimum(Stream&, std::span<T const>, std::span<T>, std::string_view);       \
  template void maximum(Stream&, std::span<T const>, std::span<T>, std::string_view);       \
  template void dot(Stream&, std::span<T const>, std::span<T const>, std::span<Sum<T>>,     \
                    std::string_view);                                                      \
  template void mean(Stream&, std::span<T const>, std::span<double>, std::string_view);     \
  template void variance(Stream&, std::span<T const>, std::span<double>, std::string_view); \
  template void l2_norm(Stream&, std::span<T const>, std::span<double>, std::string_view);  \
  template void moments(Stream&, std::span<T const>, std::span<Moments<T>>, std::string_view);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce

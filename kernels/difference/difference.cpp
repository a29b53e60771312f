#include "kernels/difference/difference.hpp"

#include <algorithm>

#include "kernels/difference/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::difference {

std::int64_t Shape::stride() const {
  std::int64_t stride = 1;
  for (int k = 0; k < axis; ++k) stride *= points[k];
  return stride;
}

std::int64_t Shape::size_of_result(int order) const {
  if (size() == 0) return 0;
  return size() / length() * std::max<std::int64_t>(length() - order, 0);
}

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "first differences of the whole array, as often as the order says, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "one pass in pieces shared among threads; loops that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "one thread per result, which loads all that it depends on"},
      {"marching", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_marching<T>),
       "a thread goes along the axis with vectors of 16 bytes, each loaded once; along x it has "
       "several results under way"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "marching";
}

template <class T>
void difference(Stream& stream, Shape const& shape, int order, std::span<T const> input,
                std::span<T> output, std::string_view variant) {
  constexpr std::string_view function = "difference";
  if (order < 1 || order > max_order)
    throw std::invalid_argument(
        fmt::format("difference: the order is {} (it is from 1 to {})", order, max_order));
  if (shape.axis < 0 || shape.axis > 2 || std::ranges::min(shape.points) < 0)
    throw std::invalid_argument(fmt::format("difference: axis {} of {} x {} x {} points",
                                            shape.axis, shape.points[0], shape.points[1],
                                            shape.points[2]));
  require_size(function, named("input", input), static_cast<std::size_t>(shape.size()));
  require_size(function, named("output", output),
               static_cast<std::size_t>(shape.size_of_result(order)));
  require_disjoint(function, named("input", input), named("output", output));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("difference", variants<T>(), stream.device(), variant);
  if (!output.empty()) row.run(stream, {input.data(), output.data(), shape, order});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template std::span<Variant<Function<T>> const> variants<T>();                          \
  template void difference(Stream&, Shape const&, int, std::span<T const>, std::span<T>, \
                           std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::difference

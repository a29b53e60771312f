#include "kernels/convert/convert.hpp"

#include <functional>

#include "bench/workloads.hpp"
#include "kernels/convert/thin.hpp"

namespace gridstride::bench {

namespace of_convert {

/// Random input, spoilt output, nothing found yet.
template <class In, class Out>
std::function<void(int)> prepare(Stream& stream, Arrays<In> const& input, Arrays<Out> const& output,
                                 Arrays<std::int64_t> const& found) {
  return [=, &stream](int set) {
    machine::fill_random(stream, input(set), static_cast<std::uint64_t>(set));
    spoil(stream, output(set));
    zero_async(found(set), stream);
  };
}

/// Integers with their bytes in the other order, as files of other machines have them.
template <class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<std::int32_t> const input(stream, size, sets);
  Arrays<T> const output(stream, size, sets);
  Arrays<std::int64_t> const found(stream, 1, sets);
  NumberType type = number_type_of<std::int32_t>();
  type.swapped = true;
  return {.prepare = prepare(stream, input, output, found),
          .run =
              [=, &stream](std::string_view variant, int set) {
                convert::convert<T>(stream, {std::as_bytes(input.constant(set)), type}, output(set),
                                    found(set), variant);
              },
          .result = result_of(stream, output, found)};
}

template <class T>
Workload workload(Backend backend) {
  constexpr double moved = sizeof(std::int32_t) + sizeof(T);
  constexpr std::int64_t gpu_size = std::int64_t{1} << 28;
  return {
      .family = "convert",
      .operation =
          std::is_same_v<T, float> ? "big-endian int32 to float32" : "big-endian int32 to float64",
      .type = type_name<T>(),
      .by_default = true,
      .size = default_size(backend, gpu_size),
      .work = per_element(
          {.bytes = moved, .flops = 0, .asks = {{machine::copy_roof, moved}}, .set_bytes = moved}),
      .rows = rows_of(convert::variants<T>(), backend, convert::default_variant(backend)),
      .make = problem<T>};
}

/// Every second point of a line, as files in float32 hold it.
Problem thinning_problem(Stream& stream, std::int64_t size, int sets) {
  convert::Thinning const thinning = {{size, 1, 1}, {2, 1, 1}};
  Arrays<double> const input(stream, size, sets);
  Arrays<float> const output(stream, thinning.kept_size(), sets);
  Arrays<std::int64_t> const found(stream, 1, sets);
  return {.prepare = prepare(stream, input, output, found),
          .run =
              [=, &stream](std::string_view variant, int set) {
                convert::thin<double, float>(stream, input.constant(set), thinning, 0, output(set),
                                             found(set), variant);
              },
          .result = result_of(stream, output, found)};
}

Workload thinning_workload(Backend backend) {
  constexpr double moved = sizeof(double) + sizeof(float) / 2.0;
  constexpr std::int64_t gpu_size = std::int64_t{1} << 28;
  return {
      .family = "convert",
      .operation = "every second of float64 to float32",
      .type = type_name<double>(),
      .by_default = false,
      .size = default_size(backend, gpu_size),
      .work = per_element(
          {.bytes = moved, .flops = 0, .asks = {{machine::copy_roof, moved}}, .set_bytes = moved}),
      .rows = rows_of(convert::thin_variants<double, float>(), backend,
                      convert::default_variant(backend)),
      .make = thinning_problem};
}

}  // namespace of_convert

std::vector<Workload> convert_workloads(Backend backend) {
  using namespace of_convert;
  return {workload<float>(backend), workload<double>(backend), thinning_workload(backend)};
}

}  // namespace gridstride::bench

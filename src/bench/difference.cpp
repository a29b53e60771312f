#include "kernels/difference/difference.hpp"

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_difference {

/// `axis` of a square, or of a row where `rows` is false.
difference::Shape shape_of(std::int64_t size, int axis, bool rows) {
  if (!rows) return {{size, 1, 1}, axis};
  std::int64_t const side = side_of(size, 16);
  return {{side, side, 1}, axis};
}

template <class T, int axis, bool rows, int order>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const shape = shape_of(size, axis, rows);
  Arrays<T> const input(stream, shape.size(), sets);
  Arrays<T> const output(stream, shape.size_of_result(order), sets);
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, input(set), static_cast<std::uint64_t>(set));
                spoil(stream, output(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                difference::difference(stream, shape, order, input.constant(set), output(set),
                                       variant);
              },
          .result = result_of(stream, output)};
}

template <class T, int axis, bool rows, int order>
Workload workload(Backend backend, std::string_view operation, bool by_default = true) {
  constexpr double moved = 2 * sizeof(T);
  return {.family = "difference",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = by_default,
          .size = default_size(backend, std::int64_t{1} << 28),
          .work = per_element({.bytes = moved,
                               .flops = order,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), order}},
                               .set_bytes = moved}),
          .rows = rows_of(difference::variants<T>(), backend, difference::default_variant(backend)),
          .make = problem<T, axis, rows, order>,
          .rounded =
              rows ? +[](std::int64_t wanted) { return side_of(wanted, 16) * side_of(wanted, 16); }
                   : +[](std::int64_t wanted) { return std::max<std::int64_t>(wanted, 16); }};
}

}  // namespace of_difference

std::vector<Workload> difference_workloads(Backend backend) {
  using namespace of_difference;
  return {
      workload<float, 0, false, 1>(backend, "of a signal"),
      workload<float, 0, true, 1>(backend, "along x"),
      workload<float, 1, true, 1>(backend, "along y"),
      workload<float, 1, true, 4>(backend, "along y, order 4"),
      workload<double, 0, false, 1>(backend, "of a signal", false),
      workload<double, 1, true, 1>(backend, "along y", false),
  };
}

}  // namespace gridstride::bench

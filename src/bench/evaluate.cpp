#include "kernels/evaluate/evaluate.hpp"

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_evaluate {

/// A formula of operations that IEEE 754 rounds, so that host and GPU give the same bits.
constexpr std::string_view formula = "x*(1 - x)*y*(1 - y)";
constexpr double operations = 5;

template <class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const values(stream, size, sets);
  auto const program =
      std::make_shared<evaluate::Program>(stream, expression::Expression::parse(formula));
  Grid grid;
  grid.dims = 2;
  grid.points = {side_of(size), side_of(size), 1};
  grid.spacing = {0x1p-13, 0x1p-13, 1};
  return {.prepare = [=, &stream](int set) { spoil(stream, values(set)); },
          .run =
              [=, &stream](std::string_view variant, int set) {
                evaluate::Evaluation<T> work;
                work.program = program.get();
                work.grid = grid;
                work.result = values(set).data();
                find_variant("evaluate", evaluate::variants<T>(), stream.backend(), variant)
                    .run(stream, work);
              },
          .result = result_of(stream, values)};
}

template <class T>
Workload workload(Backend backend) {
  constexpr double moved = sizeof(T);
  return {.family = "evaluate",
          .operation = formula,
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element(
              {.bytes = moved,
               .flops = operations,
               .asks = {{machine::copy_roof, moved}, {machine::float64_roof, 2 * operations}},
               .set_bytes = sizeof(T)}),
          .rows = rows_of(evaluate::variants<T>(), backend, evaluate::default_variant(backend)),
          .make = problem<T>,
          .rounded = [](std::int64_t wanted) { return side_of(wanted) * side_of(wanted); }};
}

}  // namespace of_evaluate

std::vector<Workload> evaluate_workloads(Backend backend) {
  using namespace of_evaluate;
  return {workload<float>(backend), workload<double>(backend)};
}

}  // namespace gridstride::bench

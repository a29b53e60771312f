#include "kernels/elementwise/elementwise.hpp"

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_elementwise {

using machine::fill_random;

std::uint64_t seed_of(int set, int array) { return 4 * static_cast<std::uint64_t>(set) + array; }

template <class T>
Problem add_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const x(stream, size, sets), y(stream, size, sets), z(stream, size, sets);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, x(set), seed_of(set, 0));
                fill_random(stream, y(set), seed_of(set, 1));
                spoil(stream, z(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                elementwise::add(stream, x.constant(set), y.constant(set), z(set), variant);
              },
          .result = result_of(stream, z)};
}

/// y is input and output: it grows from run to run, which changes no time.
template <class T>
Problem axpy_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const x(stream, size, sets), y(stream, size, sets);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, x(set), seed_of(set, 0));
                fill_random(stream, y(set), seed_of(set, 1));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                elementwise::axpy(stream, T(0.7), x.constant(set), y(set), variant);
              },
          .result = result_of(stream, y)};
}

template <class T>
Problem matrix_add_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const a(stream, size, sets), b(stream, size, sets), c(stream, size, sets);
  std::int64_t const side = side_of(size);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, a(set), seed_of(set, 0));
                fill_random(stream, b(set), seed_of(set, 1));
                spoil(stream, c(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                elementwise::Matrix<T const> const a_matrix{a(set).data(), side, side, side};
                elementwise::Matrix<T const> const b_matrix{b(set).data(), side, side, side};
                elementwise::Matrix<T> const c_matrix{c(set).data(), side, side, side};
                elementwise::matrix_add(stream, a_matrix, b_matrix, c_matrix, variant);
              },
          .result = result_of(stream, c)};
}

template <class T>
Problem dot3_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const a(stream, 3 * size, sets), b(stream, 3 * size, sets), c(stream, size, sets);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, a(set), seed_of(set, 0));
                fill_random(stream, b(set), seed_of(set, 1));
                spoil(stream, c(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                elementwise::dot3(stream, a.constant(set), b.constant(set), c(set), variant);
              },
          .result = result_of(stream, c)};
}

/// From places all over an array of the same size.
template <class T>
Problem gather_problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const x(stream, size, sets), output(stream, size, sets);
  Arrays<std::int64_t> const index(stream, size, sets);
  machine::Distribution places;
  places.below = static_cast<std::uint64_t>(size);
  return {.prepare =
              [=, &stream](int set) {
                fill_random(stream, x(set), seed_of(set, 0));
                fill_random(stream, index(set), seed_of(set, 1), places);
                spoil(stream, output(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                elementwise::gather(stream, x.constant(set), index.constant(set), output(set),
                                    variant);
              },
          .result = result_of(stream, output)};
}

struct Asked {
  std::string_view operation;
  std::int64_t gpu_size;
  int values;           ///< of T that a run moves per element
  int index_bytes = 0;  ///< that it moves beside them
  int flops = 0;        ///< each an instruction of its own, for nothing is fused
};

template <class T>
Workload workload(Backend backend, Asked const& asked, double set_bytes,
                  Problem (*make)(Stream&, std::int64_t, int)) {
  double const moved = asked.values * static_cast<double>(sizeof(T)) + asked.index_bytes;
  return {
      .family = "elementwise",
      .operation = asked.operation,
      .type = type_name<T>(),
      .by_default = true,
      .size = default_size(backend, asked.gpu_size),
      .work = per_element(
          {.bytes = moved,
           .flops = static_cast<double>(asked.flops),
           .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), 2.0 * asked.flops}},
           .set_bytes = set_bytes}),
      .rows = rows_of(elementwise::variants<T>(), backend, elementwise::default_variant(backend)),
      .make = make};
}

template <class T>
void add_workloads(std::vector<Workload>& all, Backend backend) {
  constexpr std::int64_t large = std::int64_t{1} << 28;
  constexpr int value = sizeof(T), index = sizeof(std::int64_t);
  all.push_back(workload<T>(backend, {"add", large, 3, 0, 1}, 3 * value, add_problem<T>));
  all.push_back(workload<T>(backend, {"axpy", large, 3, 0, 2}, 2 * value, axpy_problem<T>));
  auto matrix =
      workload<T>(backend, {"matrix_add", large, 3, 0, 1}, 3 * value, matrix_add_problem<T>);
  matrix.rounded = [](std::int64_t wanted) { return side_of(wanted) * side_of(wanted); };
  all.push_back(matrix);
  all.push_back(workload<T>(backend, {"dot3", large / 4, 7, 0, 5}, 7 * value, dot3_problem<T>));
  all.push_back(workload<T>(backend, {"gather", large / 4, 2, index, 0}, 2 * value + index,
                            gather_problem<T>));
}

}  // namespace of_elementwise

std::vector<Workload> elementwise_workloads(Backend backend) {
  using namespace of_elementwise;
  std::vector<Workload> all;
  add_workloads<float>(all, backend);
  add_workloads<double>(all, backend);
  return all;
}

}  // namespace gridstride::bench

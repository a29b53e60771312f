#include "kernels/reduce/reduce.hpp"

#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_reduce {

using machine::Distribution;
using machine::fill_random;

template <class T>
void append(Values& values, T result) {
  values.push_back(result);
}

template <class T>
void append(Values& values, reduce::Moments<T> const& result) {
  for (long double const value :
       {static_cast<long double>(result.minimum), static_cast<long double>(result.maximum),
        static_cast<long double>(result.sum), static_cast<long double>(result.sum_of_squares),
        static_cast<long double>(result.first_non_finite)})
    values.push_back(value);
}

/// A reduction of `inputs` arrays to a Result, by `call(input number → array, result, variant)`.
template <class T, class Result, class Call>
Problem reduction(Stream& stream, std::int64_t size, int sets, int inputs, int bits, Call call) {
  Arrays<T> const input(stream, size, inputs * sets);
  Arrays<Result> const result(stream, 1, sets);
  // Not more than T has: with these, sums are exact and every variant must give every bit of them.
  Distribution const values{.bits = std::min(bits, std::numeric_limits<T>::digits)};
  Problem problem;
  problem.prepare = [=, &stream](int set) {
    for (int i = inputs * set; i < inputs * (set + 1); ++i)
      fill_random(stream, input(i), static_cast<std::uint64_t>(i), values);
    spoil(stream, result(set));
  };
  problem.run = [=, &stream](std::string_view variant, int set) {
    call(stream, input, inputs * set, result(set), variant);
  };
  problem.result = [=, &stream](int set) {
    Result found{};
    copy_async(std::span(&found, 1), result.constant(set), stream);
    stream.synchronize();
    Values values_found;
    append(values_found, found);
    return values_found;
  };
  return problem;
}

/// With the function of the family that takes one array.
template <class T, class Result, auto function>
Problem of_one(Stream& stream, std::int64_t size, int sets, int bits) {
  return reduction<T, Result>(
      stream, size, sets, 1, bits,
      [](Stream& s, Arrays<T> const& input, int first, std::span<Result> result,
         std::string_view variant) { function(s, input.constant(first), result, variant); });
}

template <class T>
Problem sum_problem(Stream& stream, std::int64_t size, int sets) {
  // Exact in T too, for a library may sum float32 in float32.
  int const bits = exact_bits(size, std::numeric_limits<T>::digits);
  return of_one<T, reduce::Sum<T>, reduce::sum<T>>(stream, size, sets, bits);
}

template <class T>
Problem minimum_problem(Stream& stream, std::int64_t size, int sets) {
  return of_one<T, T, reduce::minimum<T>>(stream, size, sets, 53);
}

template <class T>
Problem maximum_problem(Stream& stream, std::int64_t size, int sets) {
  return of_one<T, T, reduce::maximum<T>>(stream, size, sets, 53);
}

template <class T>
Problem moments_problem(Stream& stream, std::int64_t size, int sets) {
  return of_one<T, reduce::Moments<T>, reduce::moments<T>>(stream, size, sets,
                                                           exact_bits_of_squares(size, 53));
}

template <class T>
Problem dot_problem(Stream& stream, std::int64_t size, int sets) {
  return reduction<T, reduce::Sum<T>>(
      stream, size, sets, 2, exact_bits(size, 53) / 2,
      [](Stream& s, Arrays<T> const& input, int first, std::span<reduce::Sum<T>> result,
         std::string_view variant) {
        reduce::dot(s, input.constant(first), input.constant(first + 1), result, variant);
      });
}

/// What is asked of the float64 units, a lone addition being as long as a multiply-add.
template <class T>
constexpr double float64_operations(int additions) {
  return std::is_integral_v<T> ? 0 : 2 * additions;
}

struct Asked {
  std::string_view operation;
  std::int64_t gpu_size;
  bool by_default = true;
  int inputs = 1;
  int flops = 0;
  int float64_additions = 0;
};

template <class T>
Workload workload(Backend backend, Asked const& asked,
                  Problem (*make)(Stream&, std::int64_t, int)) {
  double const moved = asked.inputs * static_cast<double>(sizeof(T));
  return {.family = "reduce",
          .operation = asked.operation,
          .type = type_name<T>(),
          .by_default = asked.by_default,
          .size = default_size(backend, asked.gpu_size),
          .work = per_element(
              {.bytes = moved,
               .flops = std::is_integral_v<T> ? 0.0 : asked.flops,
               .asks = {{machine::read_roof, moved},
                        {machine::float64_roof, float64_operations<T>(asked.float64_additions)}},
               .set_bytes = moved}),
          .rows = rows_of(reduce::variants<T>(), backend, reduce::default_variant(backend)),
          .make = make};
}

constexpr std::int64_t million = std::int64_t{1} << 20;

}  // namespace of_reduce

std::vector<Workload> reduce_workloads(Backend backend) {
  using namespace of_reduce;
  Asked const sum{
      .operation = "sum", .gpu_size = 1024 * million, .flops = 1, .float64_additions = 1};
  auto const with = [](Asked asked, std::string_view operation, std::int64_t size,
                       bool by_default = true) {
    asked.operation = operation;
    asked.gpu_size = size;
    asked.by_default = by_default;
    return asked;
  };
  Asked const least{.operation = "minimum", .gpu_size = 256 * million};
  Asked const dot{.operation = "dot",
                  .gpu_size = 256 * million,
                  .inputs = 2,
                  .flops = 2,
                  .float64_additions = 1};
  Asked const moments{
      .operation = "moments", .gpu_size = 1024 * million, .flops = 3, .float64_additions = 2};
  return {
      workload<float>(backend, sum, sum_problem<float>),
      workload<float>(backend, with(sum, "sum", million), sum_problem<float>),
      workload<double>(backend, with(sum, "sum", 512 * million), sum_problem<double>),
      workload<std::int32_t>(backend, sum, sum_problem<std::int32_t>),
      workload<std::int64_t>(backend, with(sum, "sum", 512 * million, false),
                             sum_problem<std::int64_t>),
      workload<float>(backend, least, minimum_problem<float>),
      workload<float>(backend, with(least, "maximum", least.gpu_size), maximum_problem<float>),
      workload<float>(backend, dot, dot_problem<float>),
      workload<double>(backend, dot, dot_problem<double>),
      workload<float>(backend, moments, moments_problem<float>),
      workload<double>(backend, with(moments, "moments", 512 * million), moments_problem<double>),
  };
}

}  // namespace gridstride::bench

#include "kernels/cubature/cubature.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "bench/workloads.hpp"
#include "expression/cost.hpp"

namespace gridstride::bench {

namespace of_cubature {

using namespace quadrature;

/// A product of peaks of width 0.2 over the unit cube of three dimensions.
constexpr double width = 0.2, centers[] = {0.3, 0.4, 0.6};
constexpr std::string_view formula = "1/((0.04 + (x-0.3)^2)*(0.04 + (y-0.4)^2)*(0.04 + (z-0.6)^2))";

Integrand peak() { return {expression::Expression::parse(formula), 3, 0}; }

double exact() {
  double product = 1;
  for (double const u : centers)
    product *= (std::atan((1 - u) / width) + std::atan(u / width)) / width;
  return product;
}

template <class T>
constexpr CubatureOptions options = {.goal = {sizeof(T) == 4 ? 1e-4 : 1e-6, 0}};

template <class T>
CubatureResult integrate(Stream& stream, std::string_view variant) {
  std::vector<Interval> const box(3);
  return cubature<T>(stream, peak(), box, {}, options<T>, variant);
}

template <class T>
Problem problem(Stream& stream, std::int64_t, int) {
  auto const found = std::make_shared<Estimate>();
  Problem made;
  made.prepare = [=](int) { found->value = std::numeric_limits<double>::quiet_NaN(); };
  made.run = [=, &stream](std::string_view variant, int) {
    *found = integrate<T>(stream, variant).estimate;
  };
  made.accuracy = [=](std::string_view) {
    return Accuracy{std::abs(found->value - exact()) / exact(), options<T>.goal.relative};
  };
  return made;
}

/// By the samples that the host takes; a GPU decides alike but for rounding.
template <class T>
Work work(std::int64_t) {
  static double const samples = [] {
    Stream host(Device::open(Backend::cpu));
    return static_cast<double>(integrate<T>(host, "threads").estimate.evaluations);
  }();
  double const operations = 2 * arithmetic_cost(peak().formula) * samples;
  return {.bytes = 0,
          .flops = operations,
          .asks = {{arithmetic_roof<T>(), operations}},
          .set_bytes = 0,
          .elements = samples};
}

template <class T>
Workload workload(Backend backend) {
  return {.family = "cubature",
          .operation = sizeof(T) == 4 ? "a peak in 3D to 1e-4" : "a peak in 3D to 1e-6",
          .type = type_name<T>(),
          .by_default = true,
          .size = 1,
          .work = work<T>,
          .rows = rows_of(cubature_variants<T>(), backend, default_cubature(backend)),
          .make = problem<T>,
          .size_of = SizeOf::none,
          .error = "|error| / value"};
}

}  // namespace of_cubature

std::vector<Workload> cubature_workloads(Backend backend) {
  using namespace of_cubature;
  return {workload<float>(backend), workload<double>(backend)};
}

}  // namespace gridstride::bench

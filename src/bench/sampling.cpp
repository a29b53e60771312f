#include "kernels/sampling/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/workloads.hpp"
#include "expression/cost.hpp"
#include "kernels/sampling/vegas/vegas.hpp"

namespace gridstride::bench {

namespace of_sampling {

using namespace quadrature;

/// A product of Gaussians over the unit cube of six dimensions.
constexpr int dimensions = 6;

Integrand gaussians() {
  constexpr expression::Variable variables[] = {{"a", 0}, {"b", 1}, {"c", 2},
                                                {"d", 3}, {"f", 4}, {"g", 5}};
  return {expression::Expression::parse("exp(-(a^2 + b^2 + c^2 + d^2 + f^2 + g^2))", {}, variables),
          dimensions, 0};
}

/// ∫ exp(−s·v²) dv over the cube.
double integral(double s) {
  return std::pow(std::sqrt(std::acos(-1.0) / s) / 2 * std::erf(std::sqrt(s)), dimensions);
}

using Function = Estimate(Stream&, std::int64_t points, std::string_view variant);

std::vector<Interval> cube() { return std::vector<Interval>(dimensions); }

template <class T>
Estimate by_monte_carlo(Stream& stream, std::int64_t points, std::string_view variant) {
  return monte_carlo<T>(stream, gaussians(), cube(), {}, {.points = points}, variant).estimate;
}
template <class T>
Estimate by_quasi_monte_carlo(Stream& stream, std::int64_t points, std::string_view variant) {
  return quasi_monte_carlo<T>(stream, gaussians(), cube(), {}, {.points = points}, variant)
      .estimate;
}
template <class T>
Estimate by_vegas(Stream& stream, std::int64_t points, std::string_view variant) {
  return vegas<T>(stream, gaussians(), cube(), {}, {.points = points}, variant).estimate;
}

/// What n independent samples may be off by: five standard errors, and the rounding of T. The other
/// two do better than independent samples; they may leave half of the points.
template <class T>
double allowed_error(std::int64_t points) {
  double const mean = integral(1), variance = integral(2) - mean * mean;
  return 5 * std::sqrt(2 * variance / static_cast<double>(points)) / mean +
         8 * std::numeric_limits<T>::epsilon();
}

template <class T>
Problem problem(Function* integrate, Stream& stream, std::int64_t size) {
  auto const found = std::make_shared<Estimate>();
  Problem made;
  made.prepare = [=](int) { found->value = std::numeric_limits<double>::quiet_NaN(); };
  made.run = [=, &stream](std::string_view variant, int) {
    *found = integrate(stream, size, variant);
  };
  made.accuracy = [=](std::string_view) {
    return Accuracy{std::abs(found->value - integral(1)) / integral(1), allowed_error<T>(size)};
  };
  return made;
}

template <class T, class Row>
Workload workload(Backend backend, std::string_view operation, Function* integrate,
                  std::span<Variant<Row> const> variants) {
  double const operations = 2 * arithmetic_cost(gaussians().formula);
  return {.family = "sampling",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element({.bytes = 0,
                               .flops = operations,
                               .asks = {{arithmetic_roof<T>(), operations}},
                               .set_bytes = 0}),
          .rows = rows_of(variants, backend, default_sampler(backend)),
          .make = [=](Stream& stream, std::int64_t size,
                      int) { return problem<T>(integrate, stream, size); },
          .rounded = [](std::int64_t wanted) { return std::max<std::int64_t>(wanted, 1024); },
          .error = "|error| / value"};
}

template <class T>
std::vector<Workload> workloads_of(Backend backend) {
  return {workload<T>(backend, "monte_carlo in 6D", by_monte_carlo<T>, monte_carlo_variants<T>()),
          workload<T>(backend, "quasi_monte_carlo in 6D", by_quasi_monte_carlo<T>,
                      quasi_monte_carlo_variants<T>()),
          workload<T>(backend, "vegas in 6D", by_vegas<T>, vegas_variants<T>())};
}

}  // namespace of_sampling

std::vector<Workload> sampling_workloads(Backend backend) {
  using namespace of_sampling;
  auto all = workloads_of<float>(backend);
  for (auto& workload : workloads_of<double>(backend)) all.push_back(std::move(workload));
  return all;
}

}  // namespace gridstride::bench

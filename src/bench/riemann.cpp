#include "kernels/riemann/riemann.hpp"

#include <cmath>
#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_riemann {

using quadrature::Estimate;
using quadrature::FixedRule;
using quadrature::Integrand;
using quadrature::Interval;
using quadrature::Rule;

/// e^x sin x on [0, 10], by midpoints.
constexpr std::string_view formula = "exp(x)*sin(x)";
constexpr Interval range{0, 10};
/// Arithmetic of a sample of the default variant, in fused operations of two each: fast_math.cuh.
constexpr double fused_operations = 34;

std::int64_t rounded(std::int64_t wanted) {
  constexpr std::int64_t unit = quadrature::panel_unit(Rule::midpoint);
  return std::max(wanted / unit, std::int64_t{1}) * unit;
}

/// The error in parts of ∫ e^x dx, and what it may be: that of the rule, h²/24·(f′(b) − f′(a)) to
/// first order, of n additions in float64 in any order, and of samples and coordinates in T.
template <class T>
Accuracy accuracy_of(Estimate const& found, std::int64_t panels) {
  double const b = range.upper, h = b / static_cast<double>(panels);
  double const exact = (std::exp(b) * (std::sin(b) - std::cos(b)) + 1) / 2;
  double const magnitude = std::exp(b) - 1;
  double const slopes = std::exp(b) * (std::sin(b) + std::cos(b)) - 1;
  double const rule = h * h / 24 * std::abs(slopes) / magnitude;
  double const epsilon = std::numeric_limits<T>::epsilon();
  return {std::abs(found.value - exact) / magnitude,
          1.5 * rule + static_cast<double>(panels) * 0x1p-53 + (b + 4) * epsilon};
}

template <class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<Estimate> const results(stream, 1, sets);
  Integrand const integrand{expression::Expression::parse(formula)};
  FixedRule const rule{Rule::midpoint, size};
  Problem made;
  made.prepare = [=, &stream](int set) { spoil(stream, results(set)); };
  made.run = [=, &stream](std::string_view variant, int set) {
    quadrature::integrate<T>(stream, integrand, range, {}, rule, results(set), variant);
  };
  made.accuracy = [=, &stream](std::string_view) {
    Estimate found;
    copy_async(std::span(&found, 1), results.constant(0), stream);
    stream.synchronize();
    return accuracy_of<T>(found, size);
  };
  return made;
}

template <class T>
Workload workload(Backend backend) {
  return {.family = "riemann",
          .operation = "midpoints of exp(x)*sin(x)",
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element({.bytes = 0,
                               .flops = 2 * fused_operations,
                               .asks = {{arithmetic_roof<T>(), 2 * fused_operations}},
                               .set_bytes = 0}),
          .rows = rows_of(quadrature::riemann_variants<T>(), backend,
                          quadrature::default_riemann(backend)),
          .make = problem<T>,
          .rounded = rounded,
          .error = "|error| / int |exp(x)| dx"};
}

}  // namespace of_riemann

std::vector<Workload> riemann_workloads(Backend backend) {
  using namespace of_riemann;
  return {workload<float>(backend), workload<double>(backend)};
}

}  // namespace gridstride::bench

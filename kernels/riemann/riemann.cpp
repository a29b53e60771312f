#include "kernels/riemann/riemann.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "expression/source.hpp"
#include "expression/transform.hpp"
#include "kernels/riemann/rows.hpp"

namespace gridstride::quadrature {

template <class T>
std::span<Variant<RuleFunction> const> riemann_variants() {
  static Variant<RuleFunction> const rows[] = {
      {"reference", Backend::cpu, host_rule_reference<T>,
       "one sample after the other, on one thread, with compensated sums"},
      {"threads", Backend::cpu, host_rule_threads<T>,
       "threads share pieces of 65,536 samples; formulas are evaluated in blocks, operation by "
       "operation"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "a thread for each sample, added atomically to one number; differs from run to run"},
      {"grid_stride", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_grid_stride<T>),
       "as many threads as fit, each adds every T-th sample; a second pass adds the threads"},
      {"unrolled", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_unrolled<T>),
       "four samples a turn that do not wait for each other"},
      {"warp", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_warp<T>),
       "the sums of a warp meet in registers"},
      {"shared", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_shared<T>),
       "the sums of a block meet in shared memory"},
      {"compensated", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_compensated<T>),
       "a thread keeps to one node of the rule; groups of eight samples in flight, added with "
       "their rounding error; exp, sin and cos of our own"},
  };
  return rows;
}

std::string_view default_riemann(Backend backend) {
  return backend == Backend::cpu ? "threads" : "compensated";
}

namespace {

void check(Integrand const& integrand, Interval interval, std::size_t parameters,
           std::size_t integrals) {
  check(integrand);
  if (integrand.dimensions != 1)
    throw std::invalid_argument(fmt::format(
        "riemann: the integrand has {} dimensions (fixed rules are for 1)", integrand.dimensions));
  if (!std::isfinite(interval.upper - interval.lower))
    throw std::invalid_argument(
        fmt::format("riemann: the interval is from {} to {}", interval.lower, interval.upper));
  std::size_t const needed = static_cast<std::size_t>(integrand.parameters) * integrals;
  if (parameters != needed)
    throw std::invalid_argument(
        fmt::format("riemann: {} numbers for {} parameters of {} integrals (it needs {})",
                    parameters, integrand.parameters, integrals, needed));
}

}  // namespace

template <class T>
void integrate(Stream& stream, Integrand const& integrand, Interval interval,
               std::span<double const> parameters, FixedRule const& rule,
               std::span<Estimate> results, std::string_view variant) {
  check(integrand, interval, parameters.size(), results.size());
  Pattern const pattern = pattern_of(rule);
  if (variant == "auto") variant = default_riemann(stream.backend());
  auto const& row = find_variant("riemann", riemann_variants<T>(), stream.device(), variant);
  if (results.empty()) return;
  row.run(stream,
          {integrand, interval, rule, pattern, parameters.data(), results.size(), results.data()});
}

template <class T>
std::optional<double> non_finite_sample([[maybe_unused]] Stream& stream, Integrand const& integrand,
                                        Interval interval, std::span<double const> parameters,
                                        FixedRule const& rule) {
  check(integrand, interval, parameters.size(), 1);
  Pattern const pattern = pattern_of(rule);
  RuleArguments const arguments{integrand, interval, rule, pattern, parameters.data(), 1, nullptr};
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_non_finite_sample<T>(stream, arguments);
#endif
  return host_non_finite_sample<T>(arguments);
}

template <class T>
RuntimeSource compensated_source(Integrand const& integrand) {
  RuntimeSource source = source_of<T>(integrand, "kernels/riemann/compensated.cuh");
  std::vector<std::string> variables = {"v[0]"};
  for (int k = 0; k < integrand.parameters; ++k) variables.push_back(fmt::format("p[{}]", k));
  // Within the struct, exp, sin and cos are its own. The bound of one block on a multiprocessor
  // lets the compiler have registers for a whole group in flight, where it would save them for more
  // threads.
  source.text += fmt::format(
      "struct FastIntegrand : gridstride::quadrature::FastMath {{\n"
      "  __device__ __forceinline__ Real operator()(Real const* v, Real const* p) {{\n{}}}\n"
      "}};\n"
      "extern \"C\" __global__ void __launch_bounds__(gridstride::quadrature::largest_block, 1)\n"
      "compensated(gridstride::quadrature::Samples samples, double const* parameter_rows,\n"
      "            int blocks, gridstride::quadrature::Sums* partials) {{\n"
      "  gridstride::quadrature::sum_samples<FastIntegrand>(samples, parameter_rows, blocks,\n"
      "                                                     partials);\n"
      "}}\n",
      expression::to_cuda(expression::simplified(integrand.formula), precision_of<T>(), variables,
                          expression::Powers::by_products));
  return source;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template std::span<Variant<RuleFunction> const> riemann_variants<T>();                          \
  template void integrate<T>(Stream&, Integrand const&, Interval, std::span<double const>,        \
                             FixedRule const&, std::span<Estimate>, std::string_view);            \
  template std::optional<double> non_finite_sample<T>(Stream&, Integrand const&, Interval,        \
                                                      std::span<double const>, FixedRule const&); \
  template RuntimeSource compensated_source<T>(Integrand const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature

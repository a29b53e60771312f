#include "kernels/adaptive/running.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/integrand/sample_block.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::quadrature {
namespace {

void check_arguments(Integrand const& integrand, Interval interval,
                     std::span<double const> parameters, int points, std::span<double> values,
                     std::span<double> errors) {
  constexpr std::string_view function = "running_integral";
  check(integrand);
  if (integrand.dimensions != 1)
    throw std::invalid_argument(fmt::format("{}: the integrand has {} dimensions (it is for 1)",
                                            function, integrand.dimensions));
  require_size(function, named("parameters", parameters),
               static_cast<std::size_t>(integrand.parameters));
  require_same_size(function, named("values", values), named("errors", errors));
  require_disjoint(function, named("values", values), named("errors", errors));
  if (values.size() < 2)
    throw std::invalid_argument(fmt::format("{}: {} values (at least 2)", function, values.size()));
  if (points != 15 && points != 21)
    throw std::invalid_argument(fmt::format("{}: {} points (15 or 21)", function, points));
  if (!std::isfinite(interval.upper - interval.lower))
    throw std::invalid_argument(fmt::format("{}: the interval is from {} to {} (finite ends)",
                                            function, interval.lower, interval.upper));
}

/// Panels on the host, as many to a thread at a time as fill a block of points.
template <class T, int points>
void integrate_panels(Integrand const& formula, Interval interval, double const* parameters,
                      std::span<double> values, std::span<double> errors) {
  HostIntegrand const integrand(formula);
  auto const panels = std::ssize(values) - 1;
  constexpr std::int64_t together = SampleBlock<T>::size / kronrod_samples<points>;
  constexpr std::int64_t work = 16 * SampleBlock<T>::size;
  values[0] = errors[0] = 0;
  parallel_for((panels + together - 1) / together, work, [&](std::int64_t group) {
    std::int64_t const first = group * together, last = std::min(first + together, panels);
    SampleBlock<T> block;
    for (std::int64_t i = first; i < last; ++i) {
      Panel const panel = panel_of(interval.lower, interval.upper, i, panels);
      for (int k = 0; k < kronrod_samples<points>; ++k)
        block.add(kronrod_place<points>(panel.lower, panel.upper, k));
    }
    block.evaluate(integrand, parameters);
    for (std::int64_t i = first; i < last; ++i) {
      Panel const panel = panel_of(interval.lower, interval.upper, i, panels);
      auto const estimate = kronrod_estimate<points>(
          block.values() + (i - first) * kronrod_samples<points>, panel.lower, panel.upper);
      values[static_cast<std::size_t>(i) + 1] = estimate.value;
      errors[static_cast<std::size_t>(i) + 1] = estimate.error;
    }
  });
}

template <class T>
void integrate_on_gpu(Stream& stream, Integrand const& integrand, Interval interval,
                      double const* parameters, int points, std::span<double> values,
                      std::span<double> errors) {
  std::array<std::string, 1> const definitions = {fmt::format("KRONROD_POINTS {}", points)};
  auto const module =
      compile<T>(stream.device(), integrand, "kernels/adaptive/running.cuh", definitions);
  constexpr unsigned threads = 128;
  long long const panels = std::ssize(values) - 1;
  auto const blocks = static_cast<unsigned>((panels + threads - 1) / threads);
  module->launch(stream, "integrate_panels", {blocks, threads, 0}, interval.lower, interval.upper,
                 panels, parameters, values.data(), errors.data());
}

}  // namespace

template <class T>
void running_integral(Stream& stream, Integrand const& integrand, Interval interval,
                      std::span<double const> parameters, int points, std::span<double> values,
                      std::span<double> errors) {
  check_arguments(integrand, interval, parameters, points, values, errors);
  if (stream.backend() == Backend::cuda)
    integrate_on_gpu<T>(stream, integrand, interval, parameters.data(), points, values, errors);
  else if (points == 15)
    integrate_panels<T, 15>(integrand, interval, parameters.data(), values, errors);
  else
    integrate_panels<T, 21>(integrand, interval, parameters.data(), values, errors);
  for (std::span<double> const sums : {values, errors})
    scan::inclusive_sum<double>(stream, sums, sums);
}

template void running_integral<float>(Stream&, Integrand const&, Interval, std::span<double const>,
                                      int, std::span<double>, std::span<double>);
template void running_integral<double>(Stream&, Integrand const&, Interval, std::span<double const>,
                                       int, std::span<double>, std::span<double>);

}  // namespace gridstride::quadrature

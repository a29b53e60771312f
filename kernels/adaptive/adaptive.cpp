#include "kernels/adaptive/adaptive.hpp"
#include "kernels/adaptive/intervals.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernels/adaptive/rows.hpp"

namespace gridstride::quadrature {

template <class T>
std::span<Variant<GaussKronrodFunction> const> gauss_kronrod_variants() {
  static Variant<GaussKronrodFunction> const rows[] = {
      {"reference", Backend::cpu, host_gauss_kronrod_reference<T>,
       "one integral after the other, on one thread"},
      {"threads", Backend::cpu, host_gauss_kronrod_threads<T>,
       "threads share the integrals, or the intervals of one"},
      {"breadth_first", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_breadth_first<T>),
       "all intervals of all integrals in one list; a thread takes all samples of an interval"},
      {"on_chip", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_on_chip<T>),
       "a warp keeps an integral in shared memory to its end; breadth first what does not fit"},
  };
  return rows;
}

template <class T>
std::span<Variant<TanhSinhFunction> const> tanh_sinh_variants() {
  static Variant<TanhSinhFunction> const rows[] = {
      {"reference", Backend::cpu, host_tanh_sinh_reference<T>,
       "one integral after the other, on one thread"},
      {"threads", Backend::cpu, host_tanh_sinh_threads<T>, "threads share the integrals"},
      {"on_chip", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_tanh_sinh<T>),
       "a block takes all levels of an integral, with nothing in memory"},
  };
  return rows;
}

std::string_view default_adaptive(Backend backend) {
  return backend == Backend::cpu ? "threads" : "on_chip";
}

namespace {

/// What `auto` means: integrals that begin with many intervals do not fit the chip.
std::string_view fastest_gauss_kronrod(Backend backend, GaussKronrodOptions const& options) {
  if (backend == Backend::cuda && options.initial_intervals > OnChip::capacity)
    return "breadth_first";
  return default_adaptive(backend);
}

void check_integrand(std::string_view function, Integrand const& integrand,
                     std::size_t parameter_count, std::size_t integrals) {
  check(integrand);
  if (integrand.dimensions != 1)
    throw std::invalid_argument(fmt::format("{}: the integrand has {} dimensions (it is for 1)",
                                            function, integrand.dimensions));
  std::size_t const needed = static_cast<std::size_t>(integrand.parameters) * integrals;
  if (parameter_count != needed)
    throw std::invalid_argument(
        fmt::format("{}: {} numbers for {} parameters of {} integrals (it needs {})", function,
                    parameter_count, integrand.parameters, integrals, needed));
}

void check_tolerance(std::string_view function, Goal const& tolerance) {
  auto const good = [](double x) { return x >= 0 && std::isfinite(x); };
  if (!good(tolerance.relative) || !good(tolerance.absolute))
    throw std::invalid_argument(fmt::format("{}: tolerance {} relative, {} absolute (at least 0)",
                                            function, tolerance.relative, tolerance.absolute));
}

void check_range(std::string_view function, std::string_view name, int value, int least, int most) {
  if (value < least || value > most)
    throw std::invalid_argument(
        fmt::format("{}: {} is {} (from {} to {})", function, name, value, least, most));
}

void check_options(Interval interval, GaussKronrodOptions const& options) {
  constexpr std::string_view function = "gauss_kronrod";
  check_tolerance(function, options.tolerance);
  if (options.points != 15 && options.points != 21)
    throw std::invalid_argument(fmt::format("{}: {} points (15 or 21)", function, options.points));
  check_range(function, "initial_intervals", options.initial_intervals, 1, 1024);
  check_range(function, "max_intervals", options.max_intervals, options.initial_intervals, 1 << 22);
  if (!std::isfinite(interval.upper - interval.lower))
    throw std::invalid_argument(fmt::format("{}: the interval is from {} to {} (finite ends)",
                                            function, interval.lower, interval.upper));
}

void check_options(Interval interval, TanhSinhOptions const& options) {
  constexpr std::string_view function = "tanh_sinh";
  check_tolerance(function, options.tolerance);
  check_range(function, "max_level", options.max_level, DoubleExponentialLevel::start + 2,
              DoubleExponentialLevel::most);
  auto const [lower, upper] = interval;
  bool const infinite = std::isinf(lower) || std::isinf(upper);
  if (infinite ? lower == upper || std::isnan(lower) || std::isnan(upper)
               : !std::isfinite(upper - lower))
    throw std::invalid_argument(
        fmt::format("{}: the interval is from {} to {}", function, lower, upper));
}

template <class Function, class Options>
void run(std::string_view name, std::span<Variant<Function> const> rows, Stream& stream,
         SweepArguments const& arguments, std::size_t parameter_count, Options const& options,
         std::string_view variant) {
  check_integrand(name, arguments.integrand, parameter_count, arguments.integrals);
  check_options(arguments.interval, options);
  auto const& row = find_variant(name, rows, stream.device(), variant);
  if (arguments.integrals > 0) row.run(stream, arguments, options);
}

template <class Options>
std::optional<double> find_bad_sample(std::string_view name, Integrand const& integrand,
                                      Interval interval, std::span<double const> parameters,
                                      Options const& options) {
  check_integrand(name, integrand, parameters.size(), 1);
  check_options(interval, options);
  double sample = 0;
  auto const result =
      host_integral(HostIntegrand(integrand), interval, parameters.data(), options, &sample);
  if (result.verdict != Verdict::non_finite) return std::nullopt;
  return sample;
}

}  // namespace

template <class T>
void gauss_kronrod(Stream& stream, Integrand const& integrand, Interval interval,
                   std::span<double const> parameters, GaussKronrodOptions const& options,
                   std::span<Estimate> results, std::string_view variant) {
  run("gauss_kronrod", gauss_kronrod_variants<T>(), stream,
      {integrand, interval, parameters.data(), results.size(), results.data()}, parameters.size(),
      options, variant == "auto" ? fastest_gauss_kronrod(stream.backend(), options) : variant);
}

template <class T>
void tanh_sinh(Stream& stream, Integrand const& integrand, Interval interval,
               std::span<double const> parameters, TanhSinhOptions const& options,
               std::span<Estimate> results, std::string_view variant) {
  run("tanh_sinh", tanh_sinh_variants<T>(), stream,
      {integrand, interval, parameters.data(), results.size(), results.data()}, parameters.size(),
      options, variant == "auto" ? default_adaptive(stream.backend()) : variant);
}

std::optional<double> non_finite_sample(Integrand const& integrand, Interval interval,
                                        std::span<double const> parameters,
                                        GaussKronrodOptions const& options) {
  return find_bad_sample("gauss_kronrod", integrand, interval, parameters, options);
}

std::optional<double> non_finite_sample(Integrand const& integrand, Interval interval,
                                        std::span<double const> parameters,
                                        TanhSinhOptions const& options) {
  return find_bad_sample("tanh_sinh", integrand, interval, parameters, options);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                              \
  template std::span<Variant<GaussKronrodFunction> const> gauss_kronrod_variants<T>();         \
  template std::span<Variant<TanhSinhFunction> const> tanh_sinh_variants<T>();                 \
  template void gauss_kronrod<T>(Stream&, Integrand const&, Interval, std::span<double const>, \
                                 GaussKronrodOptions const&, std::span<Estimate>,              \
                                 std::string_view);                                            \
  template void tanh_sinh<T>(Stream&, Integrand const&, Interval, std::span<double const>,     \
                             TanhSinhOptions const&, std::span<Estimate>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature

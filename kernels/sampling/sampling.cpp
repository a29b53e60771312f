#include "kernels/sampling/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/sampling/rows.hpp"
#include "kernels/sampling/sobol.hpp"

namespace gridstride::quadrature {

template <class T>
std::span<Variant<SamplerFunction> const> monte_carlo_variants() {
  static Variant<SamplerFunction> const rows[] = {
      {"reference", Backend::cpu, reference_random<T>, "one sample after the other"},
      {"threads", Backend::cpu, host_random<T>,
       "tiles of samples shared among threads; blocks of 256 that the compiler vectorises"},
      {"tiles", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_random<T>),
       "a block per tile; a thread takes whole Philox blocks and keeps its sums in registers"},
  };
  return rows;
}

template <class T>
std::span<Variant<SamplerFunction> const> quasi_monte_carlo_variants() {
  static Variant<SamplerFunction> const rows[] = {
      {"reference", Backend::cpu, reference_sobol<T>, "one sample after the other"},
      {"threads", Backend::cpu, host_sobol<T>,
       "tiles of samples shared among threads; steps of a Gray code"},
      {"tiles", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_sobol<T>),
       "a block per tile; a thread steps through a run of the Gray code"},
  };
  return rows;
}

std::string_view default_sampler(Backend backend) {
  return backend == Backend::cpu ? "threads" : "tiles";
}

// ----------------------------------------------------------------------------------- arguments

void check_sampling(std::string_view function, Integrand const& integrand,
                    std::span<Interval const> box, std::span<double const> parameters,
                    SamplingOptions const& options, std::int64_t least_points) {
  check(integrand);
  auto const refuse = [&](std::string const& what) {
    throw std::invalid_argument(fmt::format("{}: {}", function, what));
  };
  if (std::ssize(box) != integrand.dimensions)
    refuse(fmt::format("the box has {} intervals and the integrand {} dimensions", box.size(),
                       integrand.dimensions));
  if (std::ssize(parameters) != integrand.parameters)
    refuse(fmt::format("{} parameters are given and the integrand has {}", parameters.size(),
                       integrand.parameters));
  for (Interval const& interval : box)
    if (!std::isfinite(interval.lower) || !std::isfinite(interval.upper))
      refuse(fmt::format("the ends {} and {} are not both finite", interval.lower, interval.upper));
  constexpr std::int64_t most_points = std::int64_t{1} << 50;
  if (options.points < least_points || options.points > most_points)
    refuse(fmt::format("{} points ({} to 2^50)", options.points, least_points));
  for (double const bound : {options.goal.relative, options.goal.absolute})
    if (!(bound >= 0) || std::isinf(bound))
      refuse(fmt::format("a tolerance of {} (it is 0 or more, and finite)", bound));
}

template <class T>
SampleBox<T> sample_box(std::span<Interval const> box, std::span<double const> parameters) {
  SampleBox<T> result{};
  for (std::size_t k = 0; k < box.size(); ++k) {
    auto const lower = static_cast<T>(box[k].lower), upper = static_cast<T>(box[k].upper);
    T width = upper - lower;
    // Rounding may put lower + width beyond the upper end.
    while (width > 0 ? lower + width > upper : lower + width < upper)
      width = std::nextafter(width, T(0));
    result.lower[k] = lower;
    result.width[k] = width;
  }
  std::ranges::transform(parameters, result.parameters, [](double p) { return static_cast<T>(p); });
  return result;
}

template <class T>
SamplingProblem sampling_problem(Integrand const& integrand, std::span<Interval const> box,
                                 std::span<double const> parameters,
                                 SamplingOptions const& options) {
  SamplingProblem problem{.integrand = integrand,
                          .box = {box.begin(), box.end()},
                          .parameters = {},
                          .seed = options.seed,
                          .antithetic = options.antithetic};
  for (double const parameter : parameters) problem.parameters.push_back(static_cast<T>(parameter));
  return problem;
}

double integral_of_mean(SamplingProblem const& problem, double mean) {
  double volume = 1;
  for (Interval const& interval : problem.box) volume *= interval.upper - interval.lower;
  return mean / problem.scale * volume;
}

void judge_unknown(Estimate& estimate) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (estimate.value == 0 && estimate.error == 0) estimate.error = unknown;
  if (estimate.error == unknown) estimate.outcome = Outcome::not_reached;
}

namespace {

double median(std::span<double> values) {
  auto const middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// 1/x to a power of two, as far as T has both as normal numbers; 1 for 0.
template <class T>
double scale_for(double x) {
  constexpr int most = std::numeric_limits<T>::max_exponent - 3;
  return x == 0 ? 1 : std::ldexp(1.0, -std::clamp(std::ilogb(x), -most, most));
}

}  // namespace

template <class T>
void look_at_first_samples(SamplingProblem& problem) {
  constexpr std::size_t usual = 63, most = 1023;
  HostIntegrand const integrand(problem.integrand);
  auto const value = [&](std::size_t i, bool mirrored) {
    return integrand(random_point<T>(problem, static_cast<std::int64_t>(i), mirrored).data(),
                     problem.parameters.data());
  };
  std::vector<double> values, sizes;
  double largest = 0;
  for (std::size_t i = 0; i < usual || (largest == 0 && i < most); ++i) {
    values.push_back(value(i, false));
    sizes.push_back(std::abs(values.back()));
    if (problem.antithetic) values.back() = 0.5 * values.back() + 0.5 * value(i, true);
    if (!is_finite(values.back())) return;
    largest = std::max(largest, sizes.back());
  }
  problem.scale = scale_for<T>(largest);
  problem.pivot = median(values) * problem.scale;
  problem.magnitude = median(sizes) * problem.scale;
}

// ----------------------------------------------------------------------------------- estimates

namespace {

/// The standard error up to now.
struct Told {
  double samples = 0, standard_error = 0;
};

/// What sums of n samples say of them.
struct Mean {
  double value, variance, of_squares;
};

Mean mean_of(SampleSums const& sums, double pivot, double n) {
  double const value = pivot + sums.sum / n;
  double const variance = variance_of(sums, n);
  return {value, variance, value * value + variance};
}

template <class T>
Estimate estimate_random(std::span<SampleSums const> replicas, SamplingProblem const& problem,
                         std::int64_t samples, Told&) {
  constexpr double standard_errors = 3;
  auto const n = static_cast<double>(samples);
  Mean const mean = mean_of(replicas[0], problem.pivot, n);
  double const standard_error =
      samples > 1 ? std::sqrt(mean.variance / (n - 1)) : std::numeric_limits<double>::infinity();
  double const error =
      standard_errors * standard_error + rounding_error<T>(problem, mean.of_squares);
  return {.value = integral_of_mean(problem, mean.value),
          .error = std::abs(integral_of_mean(problem, error)),
          .evaluations = samples * (problem.antithetic ? 2 : 1)};
}

template <class T>
Estimate estimate_sobol(std::span<SampleSums const> replicas, SamplingProblem const& problem,
                        std::int64_t samples, Told& told) {
  // Student's t: with 15 degrees of freedom, 99.73 % of all values are nearer to 0.
  constexpr double standard_errors = 3.59;
  static_assert(sobol_replicas == 16);
  auto const n = static_cast<double>(samples), r = static_cast<double>(replicas.size());
  double offset = 0, squares = 0, of_squares = 0;
  SampleSums all;
  for (SampleSums const& sums : replicas) {
    offset += sums.sum / n / r;
    of_squares += mean_of(sums, problem.pivot, n).of_squares / r;
    all.add(sums);
  }
  for (SampleSums const& sums : replicas)
    squares += (sums.sum / n - offset) * (sums.sum / n - offset);
  // On each side of a jump along an axis all replicas have as many points but for one, and may
  // agree by accident. What single points and earlier batches tell falls as n^(-3/2) at most.
  told = {n, std::max(std::sqrt(squares / (r * (r - 1))),
                      told.standard_error * std::pow(told.samples / n, 1.5))};
  double const of_points = std::sqrt(variance_of(all, n * r) / r) * std::pow(n, -1.5);
  double const error = standard_errors * std::max(told.standard_error, of_points) +
                       rounding_error<T>(problem, of_squares);
  return {.value = integral_of_mean(problem, problem.pivot + offset),
          .error = std::abs(integral_of_mean(problem, error)),
          .evaluations = samples * sobol_replicas};
}

bool all_finite(std::span<SampleSums const> sums) {
  return std::ranges::all_of(
      sums, [](SampleSums const& s) { return is_finite(s.sum) && is_finite(s.squares); });
}

// ------------------------------------------------------------------------------------- batches

/// How many samples there are to take, of each replica; with a goal, at least so many.
struct Schedule {
  std::int64_t first_batch, least, all;
};

/// What two functions do alike, and where they differ.
struct Method {
  Estimate (*estimate)(std::span<SampleSums const>, SamplingProblem const&, std::int64_t samples,
                       Told&);
  std::vector<double> (*locate)(SamplingProblem const&, Culprit const&);
};

SampledIntegral not_a_number(Estimate const& estimate, std::vector<double> at) {
  return {{.value = std::numeric_limits<double>::quiet_NaN(),
           .error = std::numeric_limits<double>::infinity(),
           .evaluations = estimate.evaluations,
           .outcome = Outcome::non_finite},
          std::move(at)};
}

SampledIntegral sample(SamplingProblem const& problem, Goal const& goal, Schedule const& schedule,
                       SampleBatch const& batch, Method const& method) {
  constexpr std::int64_t largest_batch = std::int64_t{1} << 32;
  std::vector<SampleSums> totals;
  Told told;
  for (std::int64_t taken = 0;;) {
    std::int64_t const count =
        std::min({std::max(taken, schedule.first_batch), schedule.all - taken, largest_batch});
    auto const sums = batch(taken, count);
    totals.resize(sums.size());
    for (std::size_t r = 0; r < sums.size(); ++r) totals[r].add(sums[r]);
    SampledIntegral result{method.estimate(totals, problem, taken + count, told), {}};
    if (!all_finite(sums))
      return not_a_number(result.estimate,
                          method.locate(problem, find_non_finite(batch, taken, count)));
    taken += count;
    Estimate& estimate = result.estimate;
    bool const only_zeros = estimate.value == 0 && estimate.error == 0;
    bool const reached = estimate.error <= goal.tolerance(estimate.value, 0) || !has_goal(goal);
    estimate.outcome = reached ? Outcome::reached : Outcome::not_reached;
    std::int64_t const least = has_goal(goal) ? schedule.least : schedule.all;
    if (taken < schedule.all && (taken < least || !reached || only_zeros)) continue;
    judge_unknown(estimate);
    return result;
  }
}

SamplerFunction* row(std::string_view family, std::span<Variant<SamplerFunction> const> rows,
                     Backend backend, std::string_view variant) {
  return find_variant(family, rows, backend, variant == "auto" ? default_sampler(backend) : variant)
      .run;
}

template <class T>
std::vector<double> locate_random(SamplingProblem const& problem, Culprit const& culprit) {
  auto point = random_point<T>(problem, culprit.index, false);
  double const value = HostIntegrand(problem.integrand)(point.data(), problem.parameters.data());
  return problem.antithetic && is_finite(value) ? random_point<T>(problem, culprit.index, true)
                                                : point;
}

template <class T>
std::vector<double> locate_sobol(SamplingProblem const& problem, Culprit const& culprit) {
  return sobol_point<T>(problem, culprit.replica, culprit.index);
}

}  // namespace

Culprit find_non_finite(SampleBatch const& batch, std::int64_t first, std::int64_t count) {
  // Bisection: a sum is infinite or no number where one of its terms is. Starts are multiples of 4.
  while (count > 4) {
    std::int64_t const half = (count / 2 + 3) / 4 * 4;
    if (all_finite(batch(first, half))) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  for (std::int64_t size = 1; size < count; ++size)
    if (!all_finite(batch(first, size))) count = size;
  auto const replicas = batch(first, count);
  auto const replica = std::ranges::find_if(
      replicas, [](SampleSums const& sums) { return !all_finite(std::span(&sums, 1)); });
  return {first + count - 1, static_cast<int>(replica - replicas.begin())};
}

template <class T>
SampledIntegral monte_carlo(Stream& stream, Integrand const& integrand,
                            std::span<Interval const> box, std::span<double const> parameters,
                            SamplingOptions const& options, std::string_view variant) {
  int const evaluations = options.antithetic ? 2 : 1;
  check_sampling("quadrature::monte_carlo", integrand, box, parameters, options, evaluations);
  auto* const make = row("monte_carlo", monte_carlo_variants<T>(), stream.backend(), variant);
  auto problem = sampling_problem<T>(integrand, box, parameters, options);
  look_at_first_samples<T>(problem);
  std::int64_t const all = options.points / evaluations, first = 1 << 16;
  return sample(problem, options.goal, {has_goal(options.goal) ? first : all, first, all},
                make(stream, problem), {estimate_random<T>, locate_random<T>});
}

template <class T>
SampledIntegral quasi_monte_carlo(Stream& stream, Integrand const& integrand,
                                  std::span<Interval const> box, std::span<double const> parameters,
                                  SamplingOptions const& options, std::string_view variant) {
  check_sampling("quadrature::quasi_monte_carlo", integrand, box, parameters, options,
                 sobol_replicas);
  if (options.antithetic)
    throw std::invalid_argument("quadrature::quasi_monte_carlo: samples are not antithetic");
  auto* const make =
      row("quasi_monte_carlo", quasi_monte_carlo_variants<T>(), stream.backend(), variant);
  auto problem = sampling_problem<T>(integrand, box, parameters, options);
  look_at_first_samples<T>(problem);
  auto const affordable = static_cast<std::uint64_t>(options.points / sobol_replicas);
  auto const all =
      std::min(static_cast<std::int64_t>(std::bit_floor(affordable)), max_sobol_points);
  return sample(problem, options.goal, {1 << 4, 1 << 12, all}, make(stream, problem),
                {estimate_sobol<T>, locate_sobol<T>});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  template std::span<Variant<SamplerFunction> const> monte_carlo_variants<T>();                  \
  template std::span<Variant<SamplerFunction> const> quasi_monte_carlo_variants<T>();            \
  template SampleBox<T> sample_box(std::span<Interval const>, std::span<double const>);          \
  template void look_at_first_samples<T>(SamplingProblem&);                                      \
  template SamplingProblem sampling_problem<T>(Integrand const&, std::span<Interval const>,      \
                                               std::span<double const>, SamplingOptions const&); \
  template SampledIntegral monte_carlo<T>(Stream&, Integrand const&, std::span<Interval const>,  \
                                          std::span<double const>, SamplingOptions const&,       \
                                          std::string_view);                                     \
  template SampledIntegral quasi_monte_carlo<T>(                                                 \
      Stream&, Integrand const&, std::span<Interval const>, std::span<double const>,             \
      SamplingOptions const&, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature

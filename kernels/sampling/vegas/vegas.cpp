#include "kernels/sampling/vegas/vegas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/sampling/vegas/grid.hpp"
#include "kernels/sampling/vegas/rows.hpp"

namespace gridstride::quadrature {

template <class T>
std::span<Variant<VegasFunction> const> vegas_variants() {
  static Variant<VegasFunction> const rows[] = {
      {"reference", Backend::cpu, reference_vegas<T>, "one sample after the other"},
      {"threads", Backend::cpu, host_vegas<T>,
       "tiles of samples shared among threads, each with sums of all intervals"},
      {"tiles", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vegas<T>),
       "a block per tile; each warp adds up all intervals in shared memory, in a fixed order"},
  };
  return rows;
}

// ---------------------------------------------------------------------------------------- grids

std::vector<double> even_vegas_grid(int dimensions) {
  int const intervals = vegas_intervals(dimensions);
  std::vector<double> grid;
  for (int k = 0; k < dimensions; ++k)
    for (int i = 0; i <= intervals; ++i) grid.push_back(static_cast<double>(i) / intervals);
  return grid;
}

namespace {

/// Lepage's α: how fast a grid follows what was found, 0 not at all.
constexpr double damping = 0.75;

/// The part of an even density that a grid keeps everywhere, shared among the axes.
constexpr double even_share = 0.1;

/// The weights of the intervals of an axis; none where nothing was found. An interval without a
/// sample is taken for an average one.
std::vector<double> interval_weights(std::span<double const> squares,
                                     std::span<double const> counts) {
  std::size_t const last = squares.size() - 1;
  double const average = std::reduce(squares.begin(), squares.end()) /
                         std::max(1.0, std::reduce(counts.begin(), counts.end()));
  auto const mean = [&](std::size_t i) { return counts[i] > 0 ? squares[i] / counts[i] : average; };
  std::vector<double> weights(squares.size());
  double total = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    weights[i] = (mean(i == 0 ? 0 : i - 1) + 6 * mean(i) + mean(i == last ? last : i + 1)) / 8;
    total += weights[i];
  }
  if (!(total > 0) || std::isinf(total)) return {};
  for (double& weight : weights) {
    double const part = weight / total;
    weight = part <= 0 ? 0 : part >= 1 ? 1 : std::pow((part - 1) / std::log(part), damping);
  }
  return weights;
}

/// Lifts weights to a part of what intervals have for their widths alone, so that no sample weighs more than
/// 1/share of what it would on an even grid. Samples of an interval may all be 0 and f is not: the few that
/// come there would weigh so much that values are too low where none has come, and look good.
void keep_even_share(std::span<double> weights, std::span<double const> ends, double share) {
  double const total = std::reduce(weights.begin(), weights.end());
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::max(weights[i] / total, share * (ends[i + 1] - ends[i]));
}

/// Ends of intervals with equal parts of the weights, each spread evenly over its old interval.
void move_ends(std::span<double const> old, std::span<double const> weights,
               std::span<double> ends) {
  std::size_t const intervals = weights.size();
  double total = 0;
  for (double const weight : weights) total += weight;
  double const part = total / static_cast<double>(intervals);
  std::size_t i = 0;
  double below = 0;  // the weights of the intervals before i
  for (std::size_t j = 1; j < intervals; ++j) {
    double const goal = part * static_cast<double>(j);
    while (i + 1 < intervals && below + weights[i] < goal) below += weights[i++];
    double const place = weights[i] > 0 ? std::min(1.0, (goal - below) / weights[i]) : 1;
    ends[j] = old[i] + place * (old[i + 1] - old[i]);
  }
}

}  // namespace

std::vector<double> refined_vegas_grid(std::span<double const> grid, VegasSums const& sums,
                                       int dimensions) {
  auto const intervals = static_cast<std::size_t>(vegas_intervals(dimensions));
  std::vector<double> refined(grid.begin(), grid.end());
  for (std::size_t k = 0; k < static_cast<std::size_t>(dimensions); ++k) {
    auto weights = interval_weights(std::span(sums.intervals).subspan(k * intervals, intervals),
                                    std::span(sums.counts).subspan(k * intervals, intervals));
    if (weights.empty()) continue;
    auto const old = grid.subspan(k * (intervals + 1), intervals + 1);
    keep_even_share(weights, old, even_share / dimensions);
    move_ends(old, weights, std::span(refined).subspan(k * (intervals + 1), intervals + 1));
  }
  return refined;
}

// ----------------------------------------------------------------------------------- iterations

namespace {

constexpr int warm_up_iterations = 5;

/// The mean of so many weighted samples, its variance, and the mean of their squares.
struct Iteration {
  double samples, value, variance, squares;
};

Iteration iteration_of(SampleSums const& sums, double pivot, std::int64_t samples,
                       double rounding) {
  auto const n = static_cast<double>(samples);
  double const value = pivot + sums.sum / n;
  double const spread = variance_of(sums, n);
  double const squares = value * value + spread;
  // Samples that agree to rounding are not known better than that.
  return {n, value, (spread + rounding * rounding * squares) / std::max(1.0, n - 1), squares};
}

/// Their mean, weighted by the squares of their samples, since grids become better. Not by 1/variance: an
/// iteration that misses a part of f has a low value and a low variance.
struct WeightedMean {
  double value = 0, standard_error = 0, chi_squared = 0;

  explicit WeightedMean(std::span<Iteration const> iterations) {
    double weights = 0, squares = 0, variance = 0;
    for (Iteration const& i : iterations) weights += i.samples * i.samples;
    for (Iteration const& i : iterations) {
      double const weight = i.samples * i.samples / weights;
      value += weight * i.value;
      variance += weight * weight * i.variance;
    }
    for (Iteration const& i : iterations)
      if (i.variance > 0) squares += (i.value - value) * (i.value - value) / i.variance;
    if (iterations.size() > 1) chi_squared = squares / static_cast<double>(iterations.size() - 1);
    standard_error = std::sqrt(std::max(1.0, chi_squared) * variance);
  }
};

template <class T>
VegasIntegral integral_of(SamplingProblem const& problem, std::span<Iteration const> iterations,
                          std::int64_t evaluations) {
  constexpr double standard_errors = 3;
  WeightedMean const mean(iterations);
  double const error =
      standard_errors * mean.standard_error + rounding_error<T>(problem, iterations.back().squares);
  return {.estimate = {.value = integral_of_mean(problem, mean.value),
                       .error = std::abs(integral_of_mean(problem, error)),
                       .evaluations = evaluations},
          .non_finite_at = {},
          .iterations = static_cast<int>(iterations.size()),
          .chi_squared = mean.chi_squared};
}

bool is_finite_sum(SampleSums const& sums) {
  return is_finite(sums.sum) && is_finite(sums.squares);
}

template <class T>
VegasIntegral iterate(SamplingProblem const& problem, SamplingOptions const& options,
                      VegasBatch const& batch) {
  std::int64_t const warm_up = std::clamp<std::int64_t>(options.points / 64, 128, 1 << 16) / 4 * 4;
  constexpr std::int64_t largest = std::int64_t{1} << 32;
  std::vector<double> grid = even_vegas_grid(problem.integrand.dimensions);
  std::vector<Iteration> iterations;
  double pivot = 0;
  std::int64_t taken = 0;
  for (int i = 0;; ++i) {
    bool const counts = i >= warm_up_iterations;
    // As many as have counted so far, and at first as many as in an iteration that did not; what
    // would be a short rest is left.
    std::int64_t const doubled = taken - (warm_up_iterations - 1) * warm_up;
    std::int64_t const count =
        counts ? std::min({options.points - taken, doubled, largest}) : warm_up;
    auto const sums = batch(grid, pivot, taken, count);
    if (!is_finite_sum(sums.samples)) {
      auto const culprit = find_non_finite(
          [&](std::int64_t first, std::int64_t size) {
            return std::vector{batch(grid, pivot, first, size).samples};
          },
          taken, count);
      return {
          .estimate = {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity(), taken + count, Outcome::non_finite},
          .non_finite_at = weighted_point<T>(problem, grid, culprit.index)};
    }
    Iteration const iteration = iteration_of(sums.samples, pivot, count, rounding_of<T>());
    taken += count;
    pivot = iteration.value;
    grid = refined_vegas_grid(grid, sums, problem.integrand.dimensions);
    if (!counts) continue;
    iterations.push_back(iteration);
    VegasIntegral result = integral_of<T>(problem, iterations, taken);
    Estimate& estimate = result.estimate;
    bool const only_zeros = estimate.value == 0 && estimate.error == 0;
    bool const reached = estimate.error <= options.goal.tolerance(estimate.value, 0);
    estimate.outcome = reached || !has_goal(options.goal) ? Outcome::reached : Outcome::not_reached;
    // A rest of fewer samples than half of those would say little, and its spread nothing.
    bool const last = 2 * (options.points - taken) < count;
    if (!last && (!has_goal(options.goal) || !reached || only_zeros)) continue;
    judge_unknown(estimate);
    return result;
  }
}

}  // namespace

template <class T>
VegasIntegral vegas(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                    std::span<double const> parameters, SamplingOptions const& options,
                    std::string_view variant) {
  check_sampling("quadrature::vegas", integrand, box, parameters, options, 1024);
  if (options.antithetic)
    throw std::invalid_argument("quadrature::vegas: samples are not antithetic");
  if (variant == "auto") variant = default_sampler(stream.backend());
  auto const& row = find_variant("vegas", vegas_variants<T>(), stream.device(), variant);
  auto problem = sampling_problem<T>(integrand, box, parameters, options);
  look_at_first_samples<T>(problem);
  return iterate<T>(problem, options, row.run(stream, problem));
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                       \
  template std::span<Variant<VegasFunction> const> vegas_variants<T>();                 \
  template VegasIntegral vegas<T>(Stream&, Integrand const&, std::span<Interval const>, \
                                  std::span<double const>, SamplingOptions const&,      \
                                  std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature

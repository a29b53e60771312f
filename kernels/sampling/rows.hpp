#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/sampling/sampling.hpp"

/// What the family's own files share: the functions behind the rows, and samples on the host.
namespace gridstride::quadrature {

template <class T>
SampleBatch reference_random(Stream&, SamplingProblem const&);
template <class T>
SampleBatch host_random(Stream&, SamplingProblem const&);
template <class T>
SampleBatch cuda_random(Stream&, SamplingProblem const&);

template <class T>
SampleBatch reference_sobol(Stream&, SamplingProblem const&);
template <class T>
SampleBatch host_sobol(Stream&, SamplingProblem const&);
template <class T>
SampleBatch cuda_sobol(Stream&, SamplingProblem const&);

/// Tiles that samples are summed by. They depend on the number of samples alone, and so do the bits
/// of a sum. All but the last are of the same size.
struct Tiles {
  std::int64_t size = 0, count = 0;
};

/// At most `most` tiles, each a power of two of samples and at least `least` of them.
constexpr Tiles tiles_of(std::int64_t samples, std::int64_t most, std::int64_t least) {
  std::int64_t size = least;
  while (size * most < samples) size *= 2;
  return {size, (samples + size - 1) / size};
}

/// Tiles of a batch: enough of them to fill a GPU several times over, few enough to be added by a
/// block.
inline constexpr std::int64_t most_tiles = 1 << 14, least_tile = 1 << 11;

/// The box as samples are mapped to it; no coordinate is beyond its ends.
template <class T>
SampleBox<T> sample_box(std::span<Interval const> box, std::span<double const> parameters);

/// A problem with parameters rounded to T, as a GPU has them.
template <class T>
SamplingProblem sampling_problem(Integrand const& integrand, std::span<Interval const> box,
                                 std::span<double const> parameters,
                                 SamplingOptions const& options);

/// The integral that a mean of scaled samples stands for.
double integral_of_mean(SamplingProblem const& problem, double mean);

/// Sets scale, pivot and magnitude by the first random samples; all are 0, or 1, where these are 0.
/// Pivot and magnitude are medians: no distribution's median is further from its mean than one
/// standard deviation. Leaves them as they are where a sample is not finite.
template <class T>
void look_at_first_samples(SamplingProblem& problem);

/// Samples that are all 0 say nothing, and where nothing is known the goal is missed.
void judge_unknown(Estimate& estimate);

/// Throws the `std::invalid_argument` of the functions in sampling.hpp.
void check_sampling(std::string_view function, Integrand const& integrand,
                    std::span<Interval const> box, std::span<double const> parameters,
                    SamplingOptions const& options, std::int64_t least_points);

/// Whether a goal was given.
inline bool has_goal(Goal const& goal) { return goal.relative > 0 || goal.absolute > 0; }

/// What rounding in T may have done to a mean of samples: four roundings of f, and one for each
/// coordinate, of ε/2 each.
template <class T>
double rounding_error(SamplingProblem const& problem, double mean_of_squares) {
  return (4 + problem.integrand.dimensions) * (rounding_of<T>() / 2) *
         std::max(std::sqrt(mean_of_squares), problem.magnitude);
}

/// The variance of n samples. Where their squares are too small to be numbers beside their sum, it
/// is not known.
inline double variance_of(SampleSums const& sums, double n) {
  if (sums.squares == 0 && sums.sum != 0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, sums.squares - sums.sum * sums.sum / n) / n;
}

/// Coordinates of random sample `index`; with `mirrored`, of its mirror image.
template <class T>
std::vector<double> random_point(SamplingProblem const& problem, std::int64_t index, bool mirrored);

/// Coordinates of point `index` of a replica of the Sobol sequence.
template <class T>
std::vector<double> sobol_point(SamplingProblem const& problem, int replica, std::int64_t index);

/// The first sample of `batch` from `first` on that makes its sums infinite or no number, and the
/// replica that it belongs to; there is one among the `count` samples.
struct Culprit {
  std::int64_t index;
  int replica;
};
Culprit find_non_finite(SampleBatch const& batch, std::int64_t first, std::int64_t count);

}  // namespace gridstride::quadrature

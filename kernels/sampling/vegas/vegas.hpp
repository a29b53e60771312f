#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/sampling/sampling.hpp"

/// Integrals over boxes by importance sampling, in 1 to 20 dimensions.
namespace gridstride::quadrature {

struct VegasIntegral {
  Estimate estimate;
  std::vector<double> non_finite_at;  ///< as in `SampledIntegral`
  int iterations = 0;                 ///< that the value is the mean of
  /// Σ ((I_i − value)/σ_i)² / (iterations − 1): about 1 where the iterations agree within their
  /// standard errors σ_i. Much more says that parts of f were not found at first. 0 for one.
  double chi_squared = 0;
};

/// ∫ f dv with samples where |f| is large (G. P. Lepage, "A new algorithm for adaptive
/// multidimensional integration", J. Comput. Phys. 27 (1978), with the smoothing of "Adaptive
/// multidimensional integration: VEGAS enhanced", J. Comput. Phys. 439 (2021)). Every axis is cut
/// into 128 intervals, above 8 dimensions into 48, which are sampled equally often; after each
/// iteration their widths follow the squares of the weighted samples in them, but 0.1/d of an even density
/// stays everywhere. That gains where f is near a product of functions of one coordinate each, or has
/// its peaks along the axes, and little else.
///
/// Five iterations make the grid and count for nothing else; those that follow double in size and
/// improve it further; at the end up to a third of `points` may be left. The value is their mean,
/// weighted by the squares of their samples: by 1/σ_i² those that miss a part of f would count most.
/// The estimate is three standard errors, times sqrt(chi_squared) where that is above 1, plus
/// (4 + d)·ε/2 times the size of f for rounding.
///
/// Goal, points (1024 at least), seed, determinism, waiting and errors are as in sampling.hpp;
/// the grids of host and GPU differ by rounding. `antithetic` is refused.
template <class T>
VegasIntegral vegas(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                    std::span<double const> parameters, SamplingOptions const& options,
                    std::string_view variant = "auto");

/// What an iteration finds out.
struct VegasSums {
  SampleSums samples;  ///< of f times the density of its sample, about the pivot
  /// Σ of squares of the grid's samples in each interval, axis after axis.
  std::vector<double> intervals;
  std::vector<double> counts;  ///< how many of these samples were in each
};

/// The sums of scaled samples first (a multiple of 4) to first + count − 1. `grid` has the ends of
/// the intervals of each axis in parts of the box: 0, …, 1.
using VegasBatch = std::function<VegasSums(std::span<double const> grid, double pivot,
                                           std::int64_t first, std::int64_t count)>;

/// A row: makes ready what all iterations of a problem need. The stream outlives the batch.
using VegasFunction = VegasBatch(Stream& stream, SamplingProblem const& problem);

/// The rows, from the plainest to the fastest of each backend; `auto` is `default_sampler`.
template <class T>
std::span<Variant<VegasFunction> const> vegas_variants();

/// A grid of even intervals.
std::vector<double> even_vegas_grid(int dimensions);

/// The grid whose intervals would each have had the same mean square, after neighbours were mixed
/// and great differences damped: an interval with the part d of the sum of all mean squares has the
/// weight ((1 − d)/ln(1/d))^α, α = 0.75, in parts of all weights, and at least 0.1 of its width over the
/// dimensions. An axis where all samples were 0 stays.
std::vector<double> refined_vegas_grid(std::span<double const> grid, VegasSums const& sums,
                                       int dimensions);

}  // namespace gridstride::quadrature

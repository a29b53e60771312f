#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/sampling/sample.hpp"

/// Kernel family `sampling`: integrals over boxes from random and quasi-random samples, in 1 to 20
/// dimensions; by importance in vegas/.
///
///   ∫ f dv = V·E f,   V the volume of the box, E f the mean of f over samples in it
///
/// T is the precision of coordinates and parameters and, on a GPU, of f; sums are float64, in an
/// order that the number of samples fixes. A seed names the points: host and GPU take the same
/// ones, but for the last rounding of a coordinate, and the same seed gives the same bits on the
/// same device. The points that random words stand for lie inside the box, not on its sides.
///
/// Samples are taken in batches that double what there is until the estimated error is at most
/// max(absolute, relative·|value|); without a goal (both 0), all `points` are. As long as all
/// samples are 0 the goal counts as missed: a narrow peak may not have been hit. Where they are 0
/// in the end, the integral is `not_reached` with an infinite error.
///
/// Every function waits for the stream after each batch. It throws `std::invalid_argument` for a
/// box or parameters whose number differs from the integrand's, ends that are not finite, a goal
/// that is negative or not finite, too few points, and a variant that this backend does not have;
/// `Error` as `compile` does.
namespace gridstride::quadrature {

struct SamplingOptions {
  std::int64_t points = std::int64_t{1} << 24;  ///< the most evaluations of f, at most 2^50
  Goal goal{0, 0};
  std::uint64_t seed = 0;
  bool antithetic = false;  ///< of `monte_carlo`
};

struct SampledIntegral {
  Estimate estimate;
  /// Outcome::non_finite: the coordinates of the first sample that is not finite, or whose square
  /// is beyond the numbers of T. Empty otherwise.
  std::vector<double> non_finite_at;
};

/// Independent random samples of Philox4x32-10. The estimate is three standard errors, plus
/// (4 + d)·ε/2 times the size of f for rounding in T: of independent samples of finite variance,
/// the true error is below that in 99.7 % of all seeds. `antithetic` takes samples in pairs
/// (u, 1 − u), whose means count as the samples; that gains where f is monotone, and wastes every
/// other evaluation where f is symmetric (J. M. Hammersley and K. W. Morton, Math. Proc. Camb.
/// Phil. Soc. 52 (1956)).
template <class T>
SampledIntegral monte_carlo(Stream& stream, Integrand const& integrand,
                            std::span<Interval const> box, std::span<double const> parameters,
                            SamplingOptions const& options, std::string_view variant = "auto");

/// Replicas of `quasi_monte_carlo`.
inline constexpr int sobol_replicas = 16;

/// Sobol sequences (sobol.hpp), 16 independently scrambled replicas of n points, n a power of two
/// and at most 2^31. The estimate is 3.59 times the standard error of the mean of the replicas'
/// means, the 99.7 % bound of Student's t with 15 degrees of freedom, plus the same for rounding.
/// Where f jumps along an axis the replicas agree by accident at times: the standard error counts
/// as no less than what falls as n^(-3/2) from that of single points and from those of all batches
/// before, the first of 16 points. It is too small at times where f has no finite variance.
/// For smooth f the error falls as n^(-3/2) or so, not as n^(-1/2). Needs at least 16 points; uses
/// the largest number of them that is 16·2^k.
template <class T>
SampledIntegral quasi_monte_carlo(Stream& stream, Integrand const& integrand,
                                  std::span<Interval const> box, std::span<double const> parameters,
                                  SamplingOptions const& options,
                                  std::string_view variant = "auto");

/// What the rows of both work on.
struct SamplingProblem {
  Integrand integrand;
  std::vector<Interval> box;
  std::vector<double> parameters;
  std::uint64_t seed = 0;
  bool antithetic = false;
  /// A power of two that brings the samples near 1, so that their squares are numbers. All sums are
  /// of samples times it.
  double scale = 1;
  double pivot = 0;      ///< near the mean of the scaled samples
  double magnitude = 0;  ///< near their usual size
};

/// Sums of `count` samples from number `first`, a multiple of 4, for each replica; there when the
/// call returns.
using SampleBatch = std::function<std::vector<SampleSums>(std::int64_t first, std::int64_t count)>;

/// A row: makes ready what all batches of a problem need. The stream outlives the batch.
using SamplerFunction = SampleBatch(Stream& stream, SamplingProblem const& problem);

/// The rows of each, from the plainest to the fastest of each backend.
template <class T>
std::span<Variant<SamplerFunction> const> monte_carlo_variants();
template <class T>
std::span<Variant<SamplerFunction> const> quasi_monte_carlo_variants();

/// What `auto` means, for `vegas` too.
std::string_view default_sampler(Backend backend);

}  // namespace gridstride::quadrature

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/integrand.hpp"

/// Kernel family `cubature`: integrals over boxes in several dimensions to a tolerance.
namespace gridstride::quadrature {

/// How far `cubature` goes: until the estimated error is within the goal's tolerance, or one of the
/// bounds is met.
struct CubatureOptions {
  Goal goal = {1e-6, 0};
  std::int64_t max_evaluations = 10'000'000'000;
  std::size_t memory_bytes = 0;  ///< for the list of boxes; 0: half of what the device has free
};

struct CubatureResult {
  Estimate estimate;
  std::int64_t boxes = 0;  ///< that the domain was cut into
  int generations = 0;
  /// Outcome::non_finite: coordinates of a sample that is not finite. Empty where all samples are
  /// and their sum is not.
  std::vector<double> non_finite_at;
};

/// ∫ f over the box Π [lower_k, upper_k] in d = 2 … 20 dimensions, with `parameters` given.
///
/// The rule is that of Genz and Malik, of degree 7, with the estimate of `genz_malik::value_of`.
/// All boxes of a generation are evaluated at once (breadth first, as PAGANI does: I. Sakiotis,
/// K. Arumugam, M. Paterno, D. Ranjan, B. Terzić and M. Zubair, SC21). Then those with the largest
/// errors are halved across the axis of the largest fourth difference; those with the smallest,
/// which together have at most half of the tolerance, stay as they are. Where the list would grow
/// beyond the memory, boxes whose errors are together a quarter of the tolerance leave it for good,
/// and only the worst of the others are halved as long as there is room. Where that is not enough,
/// the better half of the list leaves it, and the tolerance may be out of reach.
///
/// What no sample of a box meets, such as a narrow peak in many dimensions, is missing from the
/// value and from the estimate.
///
/// On a GPU the integrand is evaluated in T, sums are in float64; on the host all is float64. The
/// same input on the same device gives the same bits. Waits for the stream between generations.
/// Throws `std::invalid_argument` for other dimensions, an interval that is empty or not finite, a
/// goal that is none, a number of parameters that differs from the integrand's, and a variant that
/// this backend does not have; `Error` as `compile` does.
template <class T>
CubatureResult cubature(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                        std::span<double const> parameters = {},
                        CubatureOptions const& options = {}, std::string_view variant = "auto");

struct CubatureProblem;
class BoxList;

/// A row: the list of boxes, in the memory of the stream's device. `max_boxes` is the most that it
/// will hold.
using CubatureFunction = std::unique_ptr<BoxList>(Stream&, CubatureProblem const&,
                                                  std::int64_t max_boxes);

/// Every variant, from the plainest to the fastest of each backend.
template <class T>
std::span<Variant<CubatureFunction> const> cubature_variants();

/// What `auto` means.
std::string_view default_cubature(Backend backend);

}  // namespace gridstride::quadrature

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/riemann/rules.hpp"

/// Integrals over boxes by products of fixed rules.
namespace gridstride::quadrature {

/// The most samples of a product.
inline constexpr std::int64_t max_tensor_samples = std::int64_t{1} << 40;

struct TensorResult {
  Estimate estimate;
  /// Outcome::non_finite: coordinates of a sample that is not finite; empty where all samples are
  /// and their sum is not.
  std::vector<double> non_finite_at;
};

/// ∫ f over the box Π [lower_k, upper_k] in d = 2 … 20 dimensions by the product of a rule for each
/// axis: Σ w_0 ⋯ w_(d−1) · f(x_0, …, x_(d−1)) over all combinations of their nodes. `parameters`
/// are given to the integrand.
///
/// The error is estimated from a second product, of the coarser rule that `Pattern` has for each
/// axis. Coarsening all axes at once changes the value by the sum of what each does, and an axis by
/// 2^p − 1 times its error; so the estimate is the difference times the largest of the axes'
/// `error_factor`, and ε of the samples' sum of sizes for rounding. The outcome is `reached`
/// unless a sample is not finite.
///
/// On a GPU the integrand is evaluated in T, sums are compensated in float64, in a fixed order;
/// on the host all is float64. Waits for the stream. Throws `std::invalid_argument` for other
/// dimensions, an interval that is empty or not finite, rules that `pattern_of` refuses, more than
/// `max_tensor_samples` samples or 2^26 nodes on an axis, and a number of parameters that differs
/// from the integrand's; `Error` as `compile` does.
template <class T>
TensorResult tensor(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                    std::span<FixedRule const> rules, std::span<double const> parameters = {});

}  // namespace gridstride::quadrature

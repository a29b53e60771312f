#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sampling/sobol_point.hpp"

/// Sobol's sequence in base 2, in up to 20 dimensions, and its scrambling.
namespace gridstride::quadrature {

/// Points of a sequence: indices are below this.
inline constexpr std::int64_t max_sobol_points = std::int64_t{1} << 31;

/// Number `bit` (0 the lowest of an index) of an axis (0 to 19), the first binary digit highest.
/// From the primitive polynomials and initial numbers of S. Joe and F. Y. Kuo, "Constructing Sobol
/// sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), table
/// new-joe-kuo-6. Throws `std::invalid_argument` for an axis or bit that there is not.
std::uint32_t sobol_direction(int axis, int bit);

/// The direction numbers of replica `replica` of a seed, as `sobol_point.hpp` has them: every axis
/// with a random linear scrambling of its own (J. Matoušek, "On the L2-discrepancy for anchored
/// boxes", J. Complexity 14 (1998): a random lower triangular matrix with ones on the diagonal acts
/// on the digits) and a random digital shift. Each point is then uniformly distributed, the first
/// 2^m of them are as evenly spread as before, and the variance of a mean is that of Owen's nested
/// scrambling, while a point costs no more than an unscrambled one. Throws `std::invalid_argument`
/// for more than 20 dimensions.
std::vector<std::uint32_t> scrambled_sobol(int dimensions, std::uint64_t seed, int replica);

}  // namespace gridstride::quadrature

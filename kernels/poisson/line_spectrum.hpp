#pragma once

#include <cstdint>
#include <optional>
#include <vector>

/// Eigenvalues of a line's equations, on the host.
namespace gridstride::poisson {

/// lower·u₋ + diagonal·u + upper·u₊ of each unknown; of the first and the last there is what is
/// outside only where the line is periodic, which has three unknowns at least. lower and upper of
/// neighbours have the same sign, so that all eigenvalues are real.
struct Line {
  std::vector<double> lower, diagonal, upper;
  bool periodic = false;
};

/// How many eigenvalues are less than a bound, from the signs of the pivots of A − bound (Sylvester's
/// law of inertia).
std::int64_t eigenvalues_below(Line const& line, double bound);

/// The eigenvalue nearest to 0 of those at most so far from it, to a millionth of that; nothing
/// where there is none.
std::optional<double> eigenvalue_within(Line const& line, double distance);

}  // namespace gridstride::poisson

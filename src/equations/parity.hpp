#pragma once

#include <vector>

#include "equations/discretise.hpp"

/// What becomes of terms where some of the unknowns have the other sign.
namespace gridstride::equations {

/// Of functions with f(−a) = −f(a), whatever the sign of a zero is (`atan2` jumps there).
bool is_odd(expression::Operation operation);

/// Whether a term keeps its value, or has the other sign: 0 does both, most do neither. Both are meant to
/// the last bit, but for the sign of zeros.
struct Parity {
  bool same = false, opposite = false;
};

/// Those of a program's results where the unknowns of these numbers have the other sign, all else being the
/// same. What may do either, as a product by a number that happens to be 0, does neither.
std::vector<Parity> parities_of(StencilProgram const& program, std::vector<char> const& turned);

}  // namespace gridstride::equations

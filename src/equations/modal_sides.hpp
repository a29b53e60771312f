#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "equations/modal_forms.hpp"

/// How products at the points go on beyond the sides of the grid.
namespace gridstride::equations {

/// As `Beyond`, or in any way: formulas of space are as they are given.
enum class Continued : unsigned char { periodic, odd, even, any };
using ContinuedSides = std::array<std::array<Continued, 2>, 3>;

/// Those of ∂^orders of what goes on like this.
BeyondSides differentiated(BeyondSides sides, Orders const& orders);
ContinuedSides differentiated(ContinuedSides sides, Orders const& orders);
ContinuedSides continued(BeyondSides const& sides);
bool fits(ContinuedSides const& what, BeyondSides const& sides);

/// Those of what is even beyond all sides where the axes are not periodic.
BeyondSides even_like(BeyondSides const& sides);

/// What an operation makes of operands at one side. Throws `Error` for what goes on neither
/// evenly nor oddly, told in words.
ContinuedSides continued(Terms const& terms, Node const& operation,
                         std::vector<ContinuedSides> const& operands);
/// Of parts of a sum.
ContinuedSides together(ContinuedSides const& a, ContinuedSides const& b);

/// `the lower side of x`
std::string side_text(int axis, int end);

}  // namespace gridstride::equations

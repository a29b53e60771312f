#pragma once

#include <vector>

#include "equations/discretise.hpp"
#include "equations/system.hpp"

namespace gridstride::equations {

using Reactions = std::vector<Stencil::Reaction>;

/// What equations do at a point, with all differences as they are: ∂rate/∂component, those that are
/// not 0, in terms of the system, to which it adds some. Names with sides count as what they stand
/// for.
Reactions reactions_of(System& system);

}  // namespace gridstride::equations

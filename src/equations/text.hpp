#pragma once

#include <string>
#include <vector>

#include "equations/system.hpp"

namespace gridstride::equations {

/// `u`, or `q.x` for a component of a vector.
std::string component_name(System const& system, int component);

/// A rate as it was understood. Read as the right-hand side of an equation it is the same term, but
/// for parts of more than `max_printed` characters, which are printed as `...`. Throws
/// `std::invalid_argument` for what equations cannot say.
std::string to_text(System const& system, Term term);
inline constexpr std::size_t max_printed = 4000;

/// `dt(u) = ...` for each component.
std::vector<std::string> to_text(System const& system);

}  // namespace gridstride::equations

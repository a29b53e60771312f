#pragma once

#include <span>

#include "equations/system.hpp"
#include "expression/expression.hpp"

/// Solutions that somebody made up, for which equations are made to hold.
namespace gridstride::equations {

/// Adds to the rate of each component what it lacks for `solutions`, a formula of space and time for
/// each component, to solve the system:
///
///   source = ∂s/∂t − rate(s)
///
/// with the derivatives taken by calculus. Throws `Error` for rates with random numbers, and beyond
/// `max_terms`.
void manufacture(System& system, std::span<Term const> solutions);

/// A formula of space and time, whose derivatives in space are taken by calculus, as an expression.
/// Throws `Error` for a term of fields, random or global numbers, and for one that is too long.
expression::Expression to_expression(Terms& terms, Term term);

}  // namespace gridstride::equations

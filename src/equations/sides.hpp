#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "equations/discretise.hpp"
#include "equations/system.hpp"
#include "expression/expression.hpp"

/// What is given on the sides of the grid in terms of fields.
namespace gridstride::equations {

/// A formula of space and time as a term.
Term term_of(Terms& terms, expression::Expression const& formula);

/// Why a term cannot stand for what is given on a side, which is made of fields, space and time at
/// the side's own points; empty when it can.
std::string side_value_problem(Terms const& terms, Term value);

/// Gives what flows out through sides of an axis to the one term ±div(F) of a component's rate:
/// `outward` is F along the outward normal, −1 where nothing is given. It is known wherever the same
/// flux stands, in `elsewhere`, too, but not in rates of components in `but`. Empty, or why the
/// equation of `name`, whose rate it is, has no such term; then nothing is changed.
std::string give_flux(System& system, std::size_t component, std::string const& name, int axis,
                      std::array<Term, 2> const& outward, std::span<std::size_t const> but,
                      std::span<Term* const> elsewhere = {});

/// Components with Dirichlet sides that follow from fields, each after those that it needs; or those
/// of a circle.
struct HeldOrder {
  std::vector<int> order;
  std::vector<int> circle;
};
HeldOrder order_of_held(System const& system);

/// How what is given on sides follows from fields: slopes of a stencil, in terms of the system.
struct SideSlopes {
  std::vector<Stencil::SideSlope> of_values;
  std::vector<Stencil::FluxSlope> of_fluxes;
};
SideSlopes slopes_of_sides(System& system, Grid const& grid, Space const& space);

}  // namespace gridstride::equations

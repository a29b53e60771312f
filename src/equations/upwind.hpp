#pragma once

#include <complex>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "equations/convection.hpp"
#include "equations/space.hpp"

/// Differences of what is carried along, from upwind.
namespace gridstride::equations {

/// The value of a split system's term at the point so far along an axis, as a term of a stencil.
using ValueAlong = std::function<Term(Term term, int axis, int offset)>;

/// ∂flux/∂x as the difference of what goes through the faces, each the sum of what is carried to
/// either side,
///
///   F_{1/2} = ½·(R(F + α·u) + R'(F − α·u)),   α the largest speed at the points that F is made of
///
/// (local Lax-Friedrichs splitting; 2 points for upwind, the 6 of both R for weno5, so that F ± α·u
/// rise and fall with u at all of them). R takes the point upwind of the face, or reconstructs the
/// value at the face from five points with the weights of Jiang and Shu, J. Comput. Phys. 126
/// (1996), of squared differences by the square of the largest of the five values, so that units do
/// not matter and nothing overflows in float32, plus 1e-6: differences of less than a thousandth
/// count as smooth, and rounding by far as none.
Term convective_difference(Terms& to, Space const& space, ValueAlong const& at,
                           ConvectiveFlux const& flux, Term unknown, double spacing);

/// ∂of/∂x by R on the side where it comes from.
Term transported_difference(Terms& to, Space const& space, ValueAlong const& at,
                            ConvectiveTransport const& transport, double spacing);

/// −h·(symbol of ∂/∂x) for a speed of 1, with R that does not depend on values: what waves around
/// become of each other, of upper and lower half. Of weno5 those of both R: where its weights are
/// not the ideal ones, it may be like upwind.
std::vector<std::complex<double>> convection_symbol(Convection scheme);

/// How many points a step may carry an edge, the sum over the axes, for it to stay sharp; infinite
/// where nothing but stability counts. Beyond that the weights of weno5 and the stages of a step
/// make ripples of each other, at first as small as roundings.
constexpr double sharp_courant_number(Convection scheme) {
  return scheme == Convection::weno5 ? 0.6 : std::numeric_limits<double>::infinity();
}

}  // namespace gridstride::equations

#pragma once

#include <cstddef>
#include <vector>

#include "equations/system.hpp"
#include "equations/terms.hpp"

/// What of a system's rates carries things along, so that it may be taken from upwind.
namespace gridstride::equations {

/// −∂flux/∂x_axis in the rate of a component, by a flux without derivatives in it.
///
/// `speed` bounds |λ| of the eigenvalues of A_ij = ∂F_i/∂u_j, the Jacobian along the axis of the
/// components that act on each other there, by their mean m and their variance s²: as long as they
/// are real,
///
///   |λ| ≤ |m| + s·√(n − 1),   m = tr A/n,   s² = tr A²/n − m²
///
/// (Wolkowicz and Styan, Linear Algebra Appl. 29 (1980)), which is exact for n of 1 and 2. Where s²
/// is negative, as eigenvalues that are not real can make it, it counts as 0. The speed of a
/// component is at least that of those that act on it, so that what is carried by a flow is smeared
/// as the flow is, and stays constant where it is.
struct ConvectiveFlux {
  std::size_t component;
  int axis;
  Term flux;
  Term speed;
  std::size_t family;  ///< the first of the components that act on each other by such fluxes
};

/// velocity·∂of/∂x_axis in the rate of a component, `of` made of the component itself. It is
/// carried along with −velocity·∂of/∂u, `drift`.
struct ConvectiveTransport {
  std::size_t component;
  int axis;
  Term velocity;
  Term of;
  Term drift;
  bool has_operators;  ///< whether the velocity is made of neighbours
};

/// −∂(slope·u_other)/∂x_axis: what a convective flux of a component has of another one that its
/// speed knows nothing of, though the component acts on the other one.
struct Coupling {
  std::size_t component;
  std::size_t other;
  int axis;
  Term slope;
};

/// A system's rates in parts: fluxes and transport that are terms of the sum that a rate is, with
/// numbers as factors, and the rest. Of a flux, the terms of its sum with fields and without
/// derivatives are convective. Names with sides stay in all that is differenced; what follows from
/// Jacobians, and what is convective, follows from what they stand for. Values over the whole grid
/// count as constant there.
struct SplitSystem {
  Terms terms;
  std::vector<Term> rests;  ///< of each component
  std::vector<ConvectiveFlux> fluxes;
  std::vector<ConvectiveTransport> transports;
  std::vector<Coupling> couplings;
};
SplitSystem split_convection(System const& system);

/// Whether there is any.
bool has_convection(System const& system);

}  // namespace gridstride::equations

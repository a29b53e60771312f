#pragma once

#include "core/stream.hpp"
#include "kernels/multigrid/coarsening.hpp"

/// How corrections are found: in which precision, and by how many sweeps. For the family's own files only.
namespace gridstride::multigrid {

/// Of what coefficients are, at least and at most.
struct Range {
  double least, most;
};

/// That of a field of the equation's grid in device memory, or where it is null of a constant, of all
/// ranks that share it. Waits for the stream.
template <class T>
Range range_of(Stream& stream, poisson::Equation<T> const& equation, T const* field,
               double constant);

/// Whether a second sweep on the way up takes directions away that cost more: unless a is a field that
/// differs by half at most from point to point, and κ is none. Of all ranks that share it; waits for the
/// stream.
template <class T>
bool has_jump(Stream& stream, poisson::Equation<T> const& equation);

/// The largest diagonal element of the equations at most, and the couplings that it is made of.
double diagonal_bound(Levels const& plan, double diffusivity, double reaction);

/// Whether corrections in float32 leave a cycle its factor. A residual of the longest error, of the
/// eigenvalue λ, is lost in roundings of neighbours, ε·(diagonal) each, that add up as √points do.
/// Axes with a given side have at least 1/length² each in λ; without one, λ is that of the longest.
/// Along axes that add little to it errors of as small a λ differ from point to point.
bool float32_does(Levels const& plan, Range const& a, Range const& reaction);

/// The same of cycles for fields that give directions, whose levels find what is left by differences: a
/// rounding of a correction, ε of it at a point, is an error of the points' own wavelength, which the next
/// cycle takes away. What it has of energy, ε²·diagonal, is to be less than a hundredth of that of the
/// longest error, λ.
bool float32_does_in_directions(Levels const& plan, Range const& a, Range const& reaction);

}  // namespace gridstride::multigrid

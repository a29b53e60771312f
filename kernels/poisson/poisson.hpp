#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "core/stream.hpp"
#include "grid/grid.hpp"

/// Kernel family `poisson`: −∇·(a∇u) + κu = f on a uniform grid, in second order. T is float or
/// double.
///
/// Along each axis, at a point with neighbours u₋ and u₊, the equations have
///
///   (ā₋·(u − u₋) − ā₊·(u₊ − u))/h²,   ā the mean of a at both ends of a face between points.
///
/// At a Neumann side (∂u/∂n = g, n outward) half a cell is left: its one inner face counts twice,
/// and 2/h·a·g goes to the right-hand side. On a Dirichlet side u is known, and no unknown; what it
/// comes to beside the side, ā/h²·g, goes to the right-hand side too. A side's values are those of
/// its face, the remaining axes in their order. Where Dirichlet sides meet others, they count.
///
/// Arrays lie in the stream's device memory, `grid.size()` values each, x fastest; what they have on
/// Dirichlet sides is neither looked at nor changed.
namespace gridstride {
class RankPlanes;
}

namespace gridstride::poisson {

using Sides = std::array<std::array<SideKind, 2>, 3>;

/// The left side of the equation.
template <class T>
struct Equation {
  Grid grid;
  Sides sides = {};                  ///< periodic, dirichlet or neumann
  double diffusivity = 1;            ///< a, where it is the same everywhere
  T const* diffusivities = nullptr;  ///< a at the points
  double reaction = 0;               ///< κ, where it is the same everywhere
  T const* reactions = nullptr;      ///< κ at the points
  /// Of a grid of two or three axes that several ranks share: arrays of the grid are those that
  /// `RankPlanes` has, and all ranks call what waits for the stream. Null: this process has all of it.
  RankPlanes* ranks = nullptr;
};

/// Values on sides; null where there are none.
template <class T>
using SideValues = std::array<std::array<T const*, 2>, 3>;

/// The unknowns along an axis: from `first`, so many.
struct Unknowns {
  std::int64_t first, count;
};
Unknowns unknowns(Grid const& grid, Sides const& sides, int axis);

/// Queues right += what the values on the sides come to. Throws `std::invalid_argument`, as all
/// functions do, for sides of other kinds, one periodic end, axes of less than three points and
/// arrays of other sizes.
template <class T>
void add_sides(Stream& stream, Equation<T> const& equation, SideValues<T> const& values,
               std::span<T> right);

/// Sums over the unknowns, with the volumes of their cells, halved at each Neumann side.
struct Integral {
  double sum = 0;        ///< Σ V·v
  double magnitude = 0;  ///< Σ V·|v|
  double volume = 0;     ///< Σ V
};
/// Those of values, or of their products with `factors` where there are any. Without Dirichlet
/// sides, Σ V·κ·u is the sum of the right-hand side. Waits for the stream. The same bits every time.
template <class T>
Integral integrate(Stream& stream, Equation<T> const& equation,
                   std::type_identity_t<std::span<T const>> values,
                   std::type_identity_t<T const*> factors = nullptr);

/// Queues values += c at all points.
template <class T>
void shift(Stream& stream, double c, std::span<T> values);

/// How well values solve the equations with a right-hand side.
struct Residual {
  double largest = 0;  ///< max |right − A·u|
  /// max |right − A·u|_i/Σ_j |A_ij| over max |u|: as much as u, relative to its largest value, or
  /// each row of A may be wrong. Infinity where that is no number.
  double backward_error = 0;
};
/// Computed in float64. Waits for the stream.
template <class T>
Residual measure(Stream& stream, Equation<T> const& equation,
                 std::type_identity_t<std::span<T const>> u,
                 std::type_identity_t<std::span<T const>> right);

/// Queues right −= A·u at the unknowns, in float64 until it is rounded; u and right are two arrays.
template <class T>
void subtract_product(Stream& stream, Equation<T> const& equation,
                      std::type_identity_t<std::span<T const>> u, std::span<T> right);

/// The functions of lines throw `std::invalid_argument` for grids of several axes, too. They compute
/// in float64: the condition of a line's equations grows with the square of its points.

/// Queues the coefficients of a line's equations at each of its points, as kernel family
/// `tridiagonal` has them: lower·u₋ + diagonal·u + upper·u₊. Without a reaction rows are diagonally
/// dominant.
template <class T>
void fill_coefficients(Stream& stream, Equation<T> const& equation, std::span<double> lower,
                       std::span<double> diagonal, std::span<double> upper);

/// Queues residual = right − A·u at the unknowns of a line, in twice the digits of float64 until it
/// is rounded.
template <class T>
void line_residual(Stream& stream, Equation<T> const& equation, std::span<double const> u,
                   std::type_identity_t<std::span<T const>> right, std::span<double> residual);

/// Queues u += correction, and rounds it to `rounded`: all of one size.
template <class T>
void correct(Stream& stream, std::span<double const> correction, std::span<double> u,
             std::span<T> rounded);

}  // namespace gridstride::poisson

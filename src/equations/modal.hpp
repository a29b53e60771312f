#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "equations/discretise.hpp"

/// Systems of equations in the modes of their grid: Fourier modes along periodic axes, sines and
/// cosines between Dirichlet and Neumann sides.
namespace gridstride::equations {

/// A linear operator with constant coefficients: Σ coefficient·∂^orders. Empty: 0.
using Operator = std::map<std::array<std::int8_t, 3>, double>;

/// How derivatives act on modes.
enum class Symbols {
  exact,  ///< ∂^m exp(iθj) = (iθ/h)^m exp(iθj); odd m: 0 for the mode at the Nyquist frequency
  differences,  ///< as the central differences of `Space::order`, composed as `discretise` has them
};

/// How values go on beyond a side: as modes of the grid do.
enum class Beyond : unsigned char {
  periodic,
  odd,   ///< 0 on the side: sines
  even,  ///< with no slope there: cosines
};
/// Of the lower and the upper end of each axis.
using BeyondSides = std::array<std::array<Beyond, 2>, 3>;

/// A part of a combination, in modes: numerator/denominator·quantity. Where the denominator is 0
/// the mode becomes 0.
struct ModalPart {
  int quantity = 0;  ///< component of the unknowns, or component_count + number of a product
  Operator numerator;
  Operator denominator = {};  ///< empty: 1
};
using ModalSum = std::vector<ModalPart>;

/// Values at points: arrays that come from modes, then products of them at the points, which go
/// back to modes.
struct ModalLevel {
  std::vector<ModalSum> arrays;  ///< of unknowns and of products of earlier levels
  /// The products of this level at points. `Kind::unknown` number a is array number a of all levels
  /// up to this one, in their order. Exact symbols: no offsets. Differences: offsets as of any
  /// stencil.
  StencilProgram program;
  std::vector<BeyondSides> array_sides;    ///< of each array
  std::vector<BeyondSides> product_sides;  ///< of each product
};

/// ∂u/∂t = L u + N(u, t) in modes.
struct ModalSystem {
  Symbols symbols = Symbols::exact;
  int order = 2;                                ///< of differences
  std::vector<BeyondSides> unknown_sides = {};  ///< of each component
  std::vector<ModalSum> linear = {};            ///< L: of each component, of unknowns alone
  std::vector<ModalLevel> levels = {};
  std::vector<ModalSum> rest = {};  ///< N: of each component, of products alone
  /// Fields that follow from the unknowns at each moment, by constraints: of unknowns and products.
  std::vector<ModalSum> held = {};
  std::vector<BeyondSides> held_sides = {};  ///< of each of them
  /// Of products, and of arrays that they are made of: what part of the frequencies along each axis
  /// is kept.
  std::array<double, 3> dealias = {1, 1, 1};
};

}  // namespace gridstride::equations

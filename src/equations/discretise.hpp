#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "equations/space.hpp"
#include "equations/system.hpp"
#include "equations/terms.hpp"
#include "grid/grid.hpp"

/// Differences in the place of derivatives.
namespace gridstride::equations {

/// What becomes of names with sides of their own: arrays are loads of components that follow the
/// unknowns, formulas what the names stand for at the same points. Both agree but beyond sides that
/// do not wrap, where formulas leave out as well what is given of fluxes.
enum class NamesAs { arrays, formulas };

/// What becomes of what depends on space alone and is worth an array (lasting.hpp): arrays are
/// loads of components that follow the names.
enum class LastingAs { formulas, arrays };

/// The rates of a system at a point of a grid: terms of unknowns, coordinates and random numbers at
/// points nearby (`Terms::unknown` with an offset), numbers, the time and what is found beforehand,
/// without operators in space.
struct Stencil {
  /// ∂rate/∂(component `of` at the offset) of something that the rates leave out.
  struct Slope {
    std::size_t rate;
    std::size_t of;
    std::array<std::int8_t, 3> offset;
    Term value;
  };
  /// What the rates leave out because it only carries a component along.
  struct Carried {
    std::size_t component;
    std::size_t with;  ///< a component that it acts on and that acts on it, maybe itself
    Term speed;        ///< points per s, at most
  };

  /// How what is given on a side follows from a component: of what that is there, ∂u/∂n has
  /// −slope times as much where the sides are `neumann` or `robin`, u slope times as much where
  /// they are `dirichlet`.
  struct SideSlope {
    SideKind kind;
    std::size_t component;
    std::size_t of;
    int axis;
    int end;
    Term slope;
  };
  /// What the rate at the points of a side where a flux is given has beside what a mirror would
  /// show: ∂rate/∂of at the point itself, and for the points next to it.
  struct FluxSlope {
    std::size_t rate;
    std::size_t of;
    int axis;
    int end;
    Term here;
    Term inside;
  };

  /// ∂rate/∂(component `of`) at a point, with all differences as they are.
  struct Reaction {
    std::size_t rate;
    std::size_t of;
    Term value;
  };

  Terms terms;
  std::vector<Term> rates;  ///< ∂/∂t of each component
  /// What globals are of, each once, after those that stand in it. Of number i, `Terms::found` of
  /// 4·i + k stands for that of kind `global_kinds[k]`.
  std::vector<Term> operands = {};
  double measure = 1;  ///< of the grid: what an integral is to a mean, at most
  std::array<double, 3> spacing = {1, 1, 1};
  std::vector<std::vector<Term>> names = {};  ///< of each name with sides its components
  std::vector<Term> lasting = {};  ///< of arrays for what depends on space alone, what they hold
  std::vector<Slope> slopes = {};
  std::vector<Carried> carried = {};
  Convection convection = Convection::central;  ///< of `carried`
  std::vector<SideSlope> side_slopes = {};
  std::vector<FluxSlope> flux_slopes = {};
  std::vector<Reaction> reactions = {};  ///< those that are not 0
  /// Components whose values a side gives, for sides that differ in it.
  std::vector<std::vector<std::size_t>> held = {};
};

inline constexpr Kind global_kinds[] = {Kind::least, Kind::greatest, Kind::mean, Kind::integral};
inline constexpr int numbers_of_operand = 4;

/// The most operands that globals may have, and the deepest that globals may stand in each other.
inline constexpr int max_operands = 64;

/// Central differences, each a sum of differences, so that they are 0 where nothing changes. With
/// a_k the value k points further, those of order 2, 4 and 6 have 1, 2 and 3 pairs of points:
///
///   ∂a/∂x     Σ w_k·(a_k − a_{−k})/h
///   ∂²a/∂x²   Σ w_k·((a_k − a₀) − (a₀ − a_{−k}))/h²
///
/// one after the other for what is differentiated more often or along several axes; a is evaluated
/// where it is needed, from the unknowns there. A flux is Σ w_k·(F_{k−1/2} − F_{1/2−k})/h. At the
/// faces between two points, a derivative that is odd along the axis is such a sum over pairs of
/// points around the face, all else their mean (of order 4 and 6 with the next pairs), and
/// operations are made of their operands there; where no such derivative stands in F, ∂F/∂x is as
/// above. The sum of a flux over a periodic axis is then 0 but for rounding. Transport is
/// velocity·∂a/∂x. At the points of a side through which a flux F_n is given along the outward
/// normal n, the change of F along the axis is that of the half cell beside the side, ±2(F_n ∓
/// H)/h, where H is what flows through its other end: of a flux at all other points it is (H_{1/2}
/// − H_{−1/2})/h, whatever its order. With half weights on the sides, as integrals have them, the
/// sum of a flux is then what is given, but for rounding. Whole powers up to 8 become products.
/// Where convection is not central, what `split_convection` finds is as in upwind.hpp.
///
/// Throws `Error` for stencils that are wider than `max_reach`, and for more than `max_operands`.
Stencil discretise(System const& system, Grid const& grid, Space const& space = {},
                   NamesAs names = NamesAs::arrays, LastingAs lasting = LastingAs::formulas);

/// The same for `Linearisation`: names with sides are formulas, what is carried along from upwind
/// is left out, and told, and so is what is given on sides by fields. It has `reactions`.
Stencil discretise_for_stability(System const& system, Grid const& grid, Space const& space = {});

/// The furthest that a point may be from which a rate is made.
inline constexpr int max_reach = 16;

/// Terms as straight-line code: value number i is what node i makes of values before it. Its kinds
/// are number, coordinate (of axis `index`, `orders[index]` points off), time, unknown (component
/// `index` at the point `orders` off), uniform, normal and noise (by the seed `index`, `orders`
/// off), found (number `index`), on_side (of the point `orders` off) and operation, whose operands
/// are numbers of values.
struct StencilProgram {
  int dims = 1;
  std::vector<Node> code;
  std::vector<std::int32_t> results;     ///< the values that are asked for
  std::array<int, 3> reach = {0, 0, 0};  ///< the furthest offset along each axis
  int components = 0;                    ///< one more than the greatest number of a component
  int found = 0;                         ///< the same of what is found beforehand

  bool depends_on_time() const;
  bool has_noise() const;
  bool needs_clock() const { return depends_on_time() || has_noise(); }
};

/// What it takes to find these terms, each part once, in the order of their places. A quotient by a
/// power of 2 becomes the product that it is.
StencilProgram program_of(Terms const& terms, std::span<Term const> results, int dims);

/// That of all rates and operands: what it takes in all.
StencilProgram whole_program(Stencil const& stencil, int dims);

}  // namespace gridstride::equations

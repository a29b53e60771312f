#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "expression/operations.hpp"

/// Systems of partial differential equations: their text, what it means, how it is discretised.
namespace gridstride::equations {

/// A term's place in its `Terms`. Equal terms have equal places.
using Term = std::int32_t;

enum class Kind : unsigned char {
  number,      ///< `value`
  coordinate,  ///< along axis `index`
  time,
  unknown,     ///< component number `index` of all that the system evolves
  name,        ///< component number `index` of names that have sides of their own
  operation,   ///< pointwise, of its operands
  derivative,  ///< of operand 0, as often along each axis as `orders` says; promises no conservation
  flux,  ///< ∂/∂x_index of operand 0, by differences of fluxes through faces; see `Terms::flux`
  transport,  ///< operand 0 · ∂(operand 1)/∂x_index, which may be taken from upwind
  integral,   ///< of operand 0 over the grid, by the trapezoidal rule; a number
  mean,       ///< the integral over the measure of the grid
  least,      ///< of operand 0 over all points
  greatest,
  uniform,  ///< in [0, 1) at each point, by the seed `index`
  normal,   ///< of mean 0 and variance 1
  noise,    ///< white in time: normal numbers, anew for each step, over √dt
  found,    ///< number `index` of those that are found from all points before rates are made
  on_side,  ///< 1 at the points of side `index`, 2·axis + end, and 0 elsewhere
};

constexpr bool is_random(Kind kind) {
  return kind == Kind::uniform || kind == Kind::normal || kind == Kind::noise;
}

/// One term: a scalar at each point.
struct Node {
  Kind kind = Kind::number;
  expression::Operation operation = expression::Operation::number;
  std::array<std::int8_t, 3> orders = {0, 0, 0};  ///< of what is at a point: see `unknown`
  std::int32_t index = 0;
  double value = 0;
  std::array<Term, 3> operands = {-1, -1, -1};
  bool operator==(Node const&) const = default;
};

/// How many operands a node has, the first of `operands`.
int operand_count(Node const& node);

/// What flows out through the sides of a flux, by its operands; −1 where nothing is given.
std::array<Term, 2> flux_through_sides(Node const& flux, std::array<Term, 3> const& operands);

/// The most terms that a system may have.
inline constexpr std::size_t max_terms = 65'536;

/// The most components that a system may evolve, and the most of names with sides of their own.
inline constexpr int max_components = 24;

/// The most that a term may be differentiated in space, along all axes together.
inline constexpr int max_order = 8;

/// Scalar terms, each stored once, operands before what uses them. Terms are put together by the
/// rules of algebra, which hold for finite numbers: constant parts are computed; 0·a and 0/a are 0;
/// a + 0, a − 0, 1·a, a/1 and a^1 are a; 0 − a and −1·a are −a, a + (−b) is a − b, a − (−b) is
/// a + b, −(−a) is a; a^0 is 1; `if` of a constant is its branch, and of equal branches this one.
/// No number is −0. Throws `Error` beyond `max_terms`, and `std::invalid_argument` for what no
/// system has: an index out of range, a missing operand.
class Terms {
 public:
  Node const& operator[](Term term) const { return nodes_[static_cast<std::size_t>(term)]; }
  std::size_t size() const { return nodes_.size(); }

  Term number(double value);
  /// `offset` points further along its axis than where the term stands, as one of `unknown`.
  Term coordinate(int axis, int offset = 0);
  Term time();
  /// In what is discretised, `offset` says at which point: so many further along each axis.
  Term unknown(int component, std::array<std::int8_t, 3> offset = {0, 0, 0});
  Term name(int component);
  Term operation(expression::Operation operation, Term a, Term b = -1, Term c = -1);
  Term add(Term a, Term b) { return operation(expression::Operation::add, a, b); }
  Term subtract(Term a, Term b) { return operation(expression::Operation::subtract, a, b); }
  Term multiply(Term a, Term b) { return operation(expression::Operation::multiply, a, b); }
  Term divide(Term a, Term b) { return operation(expression::Operation::divide, a, b); }
  Term negate(Term a) { return operation(expression::Operation::negate, a); }
  /// An operation; whole powers up to 8 become products.
  Term pointwise(expression::Operation operation, Term a, Term b = -1, Term c = -1);
  /// A formula of space and time from other terms, by `pointwise` operations.
  Term copied(Terms const& from, Term formula);
  /// Derivatives of derivatives are one; that of what is alike everywhere is 0, as are such a
  /// flux and transport. Throws `Error` beyond `max_order`.
  Term derivative(Term of, std::array<std::int8_t, 3> orders);
  /// `through_sides`: what flows out through the lower and the upper side of the grid where that is
  /// given, else −1.
  Term flux(Term of, int axis, std::array<Term, 2> const& through_sides = {-1, -1});
  Term transport(Term velocity, Term of, int axis);
  /// `kind` is integral, mean, least or greatest.
  Term global(Kind kind, Term of);
  /// `kind` is uniform, normal or noise; `offset` as of an unknown.
  Term random(Kind kind, std::int32_t seed, std::array<std::int8_t, 3> offset = {0, 0, 0});
  /// In what is discretised, it stands for a global.
  Term found(int number);
  /// `offset` as of a coordinate.
  Term on_side(int axis, int end, int offset = 0);

  /// Whether it has the same value at every point: made of numbers, time and globals.
  bool is_uniform(Term term) const;
  bool is_number(Term term) const { return (*this)[term].kind == Kind::number; }
  /// Whether it is a formula of space and time: made of numbers, coordinates, time and globals.
  bool is_formula(Term term) const;
  /// Whether its value may jump where those of fields do not: it has comparisons, `if`, `sign`,
  /// `step`, `floor`, `ceil` or `mod` in it.
  bool may_jump(Term term) const;
  /// Whether a term of this kind and index stands in it.
  bool contains(Term term, Kind kind, std::int32_t index = -1) const;

  /// Whether a derivative of odd order along the axis stands in it with no more than sums, factors
  /// that are numbers and other derivatives around.
  bool is_odd_along(Term term, int axis) const;

  /// Whether such a term stands under an operator in space or a global in it.
  bool contains_under_operator(Term term, Kind kind, std::int32_t index = -1) const;

  /// ∂term/∂of, where `of` is an unknown, a name, a coordinate, the time or a number that is found,
  /// by the rules of `expression::derivative`. Derivatives in space, globals and random numbers
  /// count as constant: `contains_under_operator` says whether that leaves something out.
  Term partial(Term term, Term of);
  /// A term without unknowns, names and random numbers, with its derivatives, fluxes and transport
  /// in space taken by the rules of calculus instead of by differences. Globals stay.
  Term analytic(Term term);
  /// The term with `replacement` for each occurrence of `what`.
  Term substitute(Term term, Term what, Term replacement);
  /// The term where products with 1/b stand for quotients by what is no number b: alike but for
  /// roundings, and quicker where several quotients have one divisor.
  Term with_reciprocals(Term term);
  /// The term where 0/0 and 0·∞ are 0, as the slope of `sqrt(u^2)` has them where u is 0, or so
  /// small that u^2 is. Terms without roots and powers that are no products stay as they are.
  Term with_zeros_at_poles(Term term);

 private:
  struct Hash {
    std::size_t operator()(Node const& node) const;
  };
  /// Bits for kinds and indices, as `bits_of` in terms.cpp places them.
  struct Contents {
    std::uint64_t all = 0;
    std::uint64_t under_operators = 0;
    unsigned odd_axes = 0;  ///< 1 << axis for those of `is_odd_along`
  };
  class Maker;

  Contents contents_of(Node const& node) const;
  /// Whether it is a derivative, a sum, or a product with a number.
  bool is_linear(Node const& node) const;
  Term make(Node const& node);
  Term product(Term a, int count);
  /// What an operation comes to without a term of its own; -1 where it needs one.
  Term simplified(Node const& node);
  /// The parts of a term in ascending order, without those that are skipped and what stands below.
  std::vector<Term> parts(Term root, std::function<bool(Term)> const& skipped) const;
  /// The term where each part is what `remake` makes of it and its operands, remade before.
  Term rebuilt(Term root,
               std::function<Term(Node const&, std::array<Term, 3> const&)> const& remake);
  Term with_operands(Node const& node, std::array<Term, 3> const& operands);

  std::vector<Node> nodes_;
  std::vector<Contents> contents_;  // of each node
  std::unordered_map<Node, Term, Hash> places_;
  std::unordered_map<std::uint64_t, Term> partials_;  // by term and variable; -1 stands for 0
};

}  // namespace gridstride::equations

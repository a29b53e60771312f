#include "equations/modal_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.hpp"
#include "equations/parity.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

template <class Sides>
Sides flipped(Sides sides, Orders const& orders) {
  using One = typename Sides::value_type::value_type;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (One& one : sides[axis])
      if (orders[axis] % 2 != 0 && (one == One::odd || one == One::even))
        one = one == One::odd ? One::even : One::odd;
  return sides;
}

bool is_even(Operation operation) {
  return operation == Operation::cos || operation == Operation::cosh || operation == Operation::abs;
}

constexpr char const* no_mode =
    "what is even and what is odd there stand together, which neither sines nor cosines do (see "
    "boundary; 'space: {derivatives: differences}' takes it)";

/// Odd or even as a product is.
Continued of_product(Continued a, Continued b) {
  if (a == Continued::any || b == Continued::any) return Continued::any;
  return a == b ? Continued::even : Continued::odd;
}

Continued of_power(Terms const& terms, Node const& node, Continued base, Continued exponent) {
  if (base == Continued::any || exponent == Continued::any) return Continued::any;
  bool const is_number = terms.is_number(node.operands[1]);
  double const power = is_number ? terms[node.operands[1]].value : 0.5;
  if (exponent == Continued::odd || (base == Continued::odd && power != std::floor(power)))
    throw Error(no_mode);
  return base == Continued::odd && std::fmod(power, 2) != 0 ? Continued::odd : Continued::even;
}

Continued of_sum(Continued a, Continued b) {
  if (a == Continued::any) return b;
  if (b != Continued::any && a != b) throw Error(no_mode);
  return a;
}

Continued of_others(std::vector<Continued> const& operands) {
  if (std::ranges::count(operands, Continued::odd) > 0) throw Error(no_mode);
  return std::ranges::count(operands, Continued::any) > 0 ? Continued::any : Continued::even;
}

Continued of_one(Terms const& terms, Node const& node, std::vector<Continued> const& operands) {
  if (operands[0] == Continued::periodic) return Continued::periodic;
  if (node.kind == Kind::transport || node.operation == Operation::multiply ||
      node.operation == Operation::divide)
    return of_product(operands[0], operands[1]);
  if (node.operation == Operation::add || node.operation == Operation::subtract)
    return of_sum(operands[0], operands[1]);
  if (node.operation == Operation::power) return of_power(terms, node, operands[0], operands[1]);
  if (is_odd(node.operation)) return operands[0];
  if (is_even(node.operation))
    return operands[0] == Continued::any ? Continued::any : Continued::even;
  return of_others(operands);
}

/// `of` for each side; what it throws is told with the side.
template <class Of>
ContinuedSides each_side(Of const& of) {
  ContinuedSides result = {};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) try {
        result[axis][end] = of(axis, end);
      } catch (Error const& error) {
        throw Error(fmt::format(
            "at {} {}", side_text(static_cast<int>(axis), static_cast<int>(end)), error.what()));
      }
  return result;
}

}  // namespace

BeyondSides differentiated(BeyondSides sides, Orders const& orders) {
  return flipped(sides, orders);
}
ContinuedSides differentiated(ContinuedSides sides, Orders const& orders) {
  return flipped(sides, orders);
}

ContinuedSides continued(BeyondSides const& sides) {
  ContinuedSides result = {};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      result[axis][end] = sides[axis][end] == Beyond::periodic ? Continued::periodic
                          : sides[axis][end] == Beyond::odd    ? Continued::odd
                                                               : Continued::even;
  return result;
}

bool fits(ContinuedSides const& what, BeyondSides const& sides) {
  auto const wanted = continued(sides);
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      if (what[axis][end] != Continued::any && what[axis][end] != wanted[axis][end]) return false;
  return true;
}

BeyondSides even_like(BeyondSides const& sides) {
  BeyondSides result = sides;
  for (auto& ends : result)
    for (Beyond& one : ends)
      if (one == Beyond::odd) one = Beyond::even;
  return result;
}

ContinuedSides continued(Terms const& terms, Node const& operation,
                         std::vector<ContinuedSides> const& operands) {
  return each_side([&](std::size_t axis, std::size_t end) {
    std::vector<Continued> here;
    for (ContinuedSides const& one : operands) here.push_back(one[axis][end]);
    return of_one(terms, operation, here);
  });
}

ContinuedSides together(ContinuedSides const& a, ContinuedSides const& b) {
  return each_side(
      [&](std::size_t axis, std::size_t end) { return of_sum(a[axis][end], b[axis][end]); });
}

std::string side_text(int axis, int end) {
  return fmt::format("the {} side of {}", end == 0 ? "lower" : "upper",
                     axis_names[static_cast<std::size_t>(axis)]);
}

}  // namespace gridstride::equations

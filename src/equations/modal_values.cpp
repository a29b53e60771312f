#include "equations/modal_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/error.hpp"
#include "equations/modal_operators.hpp"

namespace gridstride::equations {
namespace {

bool is_over_grid(Kind kind) {
  return kind == Kind::integral || kind == Kind::mean || kind == Kind::least ||
         kind == Kind::greatest;
}

/// All parts of a term that `stops` does not hold for, and those that it holds for without theirs:
/// those that stand in others first.
template <class Stops>
std::vector<Term> parts_down_to(Terms const& terms, Term root, Stops const& stops) {
  std::vector<char> needed(static_cast<std::size_t>(root) + 1, 0);
  needed.back() = 1;
  std::vector<Term> parts;
  for (std::size_t place = needed.size(); place-- > 0;) {
    if (!needed[place]) continue;
    parts.push_back(static_cast<Term>(place));
    if (stops(parts.back())) continue;
    Node const& node = terms[parts.back()];
    for (int i = 0; i < operand_count(node); ++i)
      if (Term const operand = node.operands[static_cast<std::size_t>(i)]; operand >= 0)
        needed[static_cast<std::size_t>(operand)] = 1;
  }
  std::ranges::reverse(parts);
  return parts;
}

/// A name for an array, after so many others.
SidedName name_of_array(int number) {
  SidedName one;
  one.name.first = number;
  return one;
}

/// Beyond sides an odd derivative goes on the other way.
BeyondSides sides_of_derivative(BeyondSides sides, Orders const& orders) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (orders[axis] % 2 != 0)
      for (Beyond& end : sides[axis])
        if (end != Beyond::periodic) end = end == Beyond::odd ? Beyond::even : Beyond::odd;
  return sides;
}

}  // namespace

ValuesByModes::ValuesByModes(System const& system, bool with_rates)
    : system_(system),
      components_(system.component_count()),
      names_(system.name_count()),
      rates_(with_rates ? components_ : 0) {
  if (components_ + names_ + rates_ > max_components)
    throw Error(fmt::format("fields and their rates are more than {} arrays", max_components));
  for (int c = 0; c < rates_; ++c) system_.names.push_back(name_of_array(names_ + c));
}

Term ValuesByModes::of(Term root) {
  auto const is_known = [this](Term part) { return known_.contains(part); };
  for (Term const part : parts_down_to(system_.terms, root, is_known))
    if (!is_known(part)) {
      Node const node = system_.terms[part];
      Term const made = make(node, part);
      known_.emplace(part, made);
    }
  return known_.at(root);
}

Term ValuesByModes::make(Node const& node, Term term) {
  auto& terms = system_.terms;
  auto const operand = [&](std::size_t i) {
    return node.operands[i] < 0 ? -1 : known_.at(node.operands[i]);
  };
  switch (node.kind) {
    case Kind::operation:
      return terms.operation(node.operation, operand(0), operand(1), operand(2));
    case Kind::derivative:
      return derivative(operand(0), node.orders);
    case Kind::flux:
      return first_derivative(operand(0), node.index);
    case Kind::transport:
      return terms.multiply(operand(0), first_derivative(operand(1), node.index));
    case Kind::integral:
    case Kind::mean:
    case Kind::least:
    case Kind::greatest:
      return terms.global(node.kind, operand(0));
    default:
      return term;
  }
}

Term ValuesByModes::derivative(Term of, std::array<std::int8_t, 3> const& orders) {
  for (int axis = 0; axis < 3; ++axis)
    for (int n = 0; n < orders[static_cast<std::size_t>(axis)]; ++n)
      of = first_derivative(of, axis);
  return of;
}

/// Σ ∂of/∂leaf·∂leaf/∂x over the fields, arrays and coordinates that it is made of.
Term ValuesByModes::first_derivative(Term of, int axis) {
  auto& terms = system_.terms;
  if (terms.is_uniform(of)) return terms.number(0);
  if (terms.is_formula(of)) return terms.analytic(terms.derivative(of, first_along(axis)));
  auto const is_constant = [&](Term part) { return is_over_grid(terms[part].kind); };
  Term sum = terms.number(0);
  for (Term const part : parts_down_to(terms, of, is_constant)) {
    Node const node = terms[part];
    Term slope = -1;
    if (is_random(node.kind))
      throw Error(
          "a derivative of random numbers stands in it, which have none by modes (fields that "
          "begin "
          "as such have)");
    if (node.kind == Kind::unknown || node.kind == Kind::name)
      slope = derivative_of_leaf(node, axis);
    else if (node.kind == Kind::coordinate && node.index == axis)
      slope = terms.number(1);
    if (slope >= 0) sum = terms.add(sum, terms.multiply(terms.partial(of, part), slope));
  }
  return sum;
}

Term ValuesByModes::derivative_of_leaf(Node const& leaf, int axis) {
  Derived derived = {leaf.index, {}};
  if (leaf.kind == Kind::name) {
    int const number = leaf.index - names_;  // of an array
    if (number < 0)
      derived.component = components_ + leaf.index;
    else
      derived = derivatives_.at(static_cast<std::size_t>(number - rates_));
  }
  auto& order = derived.orders[static_cast<std::size_t>(axis)];
  if (++order > max_order)
    throw Error(fmt::format("it has derivatives of more than order {}", max_order));
  auto const found = std::ranges::find(derivatives_, derived);
  auto const place = static_cast<int>(found - derivatives_.begin());
  if (found == derivatives_.end()) {
    if (components_ + names_ + size() >= max_components)
      throw Error(
          fmt::format("what is found at the points has more than {} derivatives of fields in all "
                      "(fields, rates "
                      "that 'steady' looks at and these are {} arrays at most)",
                      max_components - components_ - names_ - rates_, max_components));
    system_.names.push_back(name_of_array(names_ + size()));
    derivatives_.push_back(derived);
  }
  return array(rates_ + place);
}

void ValuesByModes::add_to(ModalSystem& modes) const {
  auto const count = static_cast<std::size_t>(components_);
  for (std::size_t c = 0; c < static_cast<std::size_t>(rates_); ++c) {
    ModalSum sum = modes.linear[c];
    if (!modes.rest.empty()) sum.insert(sum.end(), modes.rest[c].begin(), modes.rest[c].end());
    modes.held.push_back(std::move(sum));
    modes.held_sides.push_back(modes.unknown_sides[c]);
  }
  for (auto const& [component, orders] : derivatives_) {
    auto const c = static_cast<std::size_t>(component);
    ModalSum const of = c < count ? ModalSum{{.quantity = component, .numerator = {{{}, 1.0}}}}
                                  : modes.held[c - count];
    ModalSum sum;
    for (ModalPart const& part : of) {
      Operator numerator;
      equations::add_to(numerator, part.numerator, 1, orders);
      sum.push_back({part.quantity, std::move(numerator), part.denominator});
    }
    modes.held.push_back(std::move(sum));
    modes.held_sides.push_back(sides_of_derivative(
        c < count ? modes.unknown_sides[c] : modes.held_sides[c - count], orders));
  }
}

}  // namespace gridstride::equations

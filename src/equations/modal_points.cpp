#include "equations/modal_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/error.hpp"
#include "equations/text.hpp"

namespace gridstride::equations {

using expression::Operation;

Form brought_to_points(Form const& form) {
  Form result = {form.linear, {}};
  for (auto const& [derived, coefficient] : form.products)
    if (derived.orders != Orders{}) result.products.emplace(derived, coefficient);
  return result;
}

PointValues::PointValues(System& system, std::vector<BeyondSides> const& sides)
    : system_(system), field_sides_(sides), forms_(system.terms, system.component_count()) {}

Form PointValues::read(Term root) {
  forms_.add(root);
  Form const& form = forms_.of(root);
  add_products(form);
  return form;
}

/// Products that stand in others are read before these.
void PointValues::add_products(Form const& form) {
  std::vector<Term> waiting;
  auto const wait_for = [&](Form const& of) {
    for (auto const& [derived, coefficient] : of.products)
      if (!sides_.contains(derived.product)) waiting.push_back(derived.product);
  };
  wait_for(form);
  while (!waiting.empty()) {
    Term const product = waiting.back();
    if (sides_.contains(product)) {
      waiting.pop_back();
      continue;
    }
    std::size_t const before = waiting.size();
    auto const inputs = inputs_.try_emplace(product, inputs_of(product)).first;
    for (Form const& input : inputs->second) wait_for(input);
    if (waiting.size() > before) continue;
    sides_.emplace(product, sides_of(product));
    waiting.pop_back();
  }
}

std::vector<Form> PointValues::inputs_of(Term product) {
  Node const node = system_.terms[product];
  if (system_.terms.is_formula(product)) return {};
  if (node.kind == Kind::transport) {
    return {forms_.of(node.operands[0]),
            forms_.derivative(forms_.of(node.operands[1]), first_along(node.index))};
  }
  std::vector<Form> inputs;
  if (node.kind == Kind::operation)
    for (int i = 0; i < operand_count(node); ++i)
      inputs.push_back(forms_.of(node.operands[static_cast<std::size_t>(i)]));
  return inputs;
}

ContinuedSides PointValues::sides_of(Form const& form) const {
  ContinuedSides all = {};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      all[axis][end] = field_sides_.front()[axis][end] == Beyond::periodic ? Continued::periodic
                                                                           : Continued::any;
  for (auto const& [derived, coefficient] : form.linear)
    all = together(
        all, continued(differentiated(field_sides_.at(static_cast<std::size_t>(derived.component)),
                                      derived.orders)));
  for (auto const& [derived, coefficient] : form.products)
    all = together(all, differentiated(sides_.at(derived.product), derived.orders));
  return all;
}

/// Numbers and what depends on the time alone are even; formulas of an axis may go on in any way.
ContinuedSides PointValues::sides_of(Term product) const {
  Terms const& terms = system_.terms;
  Node const& node = terms[product];
  bool const is_formula = terms.is_formula(product) || node.kind != Kind::operation;
  if (is_formula && node.kind != Kind::transport) {
    ContinuedSides sides = continued(even_like(field_sides_.front()));
    for (int axis = 0; axis < 3; ++axis)
      for (Continued& one : sides[static_cast<std::size_t>(axis)])
        if (one == Continued::even &&
            (is_random(node.kind) || terms.contains(product, Kind::coordinate, axis)))
          one = Continued::any;
    return sides;
  }
  try {
    std::vector<ContinuedSides> operands;
    for (Form const& input : inputs_.at(product)) operands.push_back(sides_of(input));
    return continued(terms, node, operands);
  } catch (Error const& error) {
    throw Error(fmt::format("in {}, {}", to_text(system_, product), error.what()));
  }
}

Term PointValues::value_of(Form const& form) {
  std::vector<Term> waiting;
  auto const wait_for = [&](Form const& of) {
    for (auto const& [derived, coefficient] : of.products)
      if (derived.orders == Orders{} && !made_.contains(derived.product))
        waiting.push_back(derived.product);
  };
  wait_for(form);
  while (!waiting.empty()) {
    Term const product = waiting.back();
    std::size_t const before = waiting.size();
    if (!made_.contains(product))
      for (Form const& input : inputs_.at(product)) wait_for(input);
    if (waiting.size() > before) continue;
    made_.try_emplace(product, make(product));
    waiting.pop_back();
  }
  Form const brought = brought_to_points(form);
  Term sum = brought.linear.empty() && brought.products.empty() ? out_.number(0)
                                                                : value_of_(brought, out_);
  for (auto const& [derived, coefficient] : form.products)
    if (derived.orders == Orders{})
      sum = out_.add(sum, out_.multiply(out_.number(coefficient), made_.at(derived.product)));
  return sum;
}

/// Of a product whose operands' products are made.
Term PointValues::make(Term product) {
  if (auto const known = made_.find(product); known != made_.end()) return known->second;
  Node const node = system_.terms[product];
  if (system_.terms.is_formula(product)) return out_.copied(system_.terms, product);
  if (is_random(node.kind)) return out_.random(node.kind, node.index);
  std::array<Term, 3> values = {-1, -1, -1};
  auto const& inputs = inputs_.at(product);
  for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = value_of(inputs[i]);
  if (node.kind == Kind::transport) return out_.multiply(values[0], values[1]);
  return out_.pointwise(node.operation, values[0], values[1], values[2]);
}

}  // namespace gridstride::equations

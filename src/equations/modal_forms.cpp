#include "equations/modal_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/error.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

template <class Map>
void add_map(Map& sum, Map const& other, double factor) {
  for (auto const& [of, coefficient] : other) {
    double const value = sum[of] += factor * coefficient;
    if (value == 0) sum.erase(of);
  }
}

Form only(Term product, double factor = 1) { return {{}, {{{product, {}}, factor}}}; }

/// All parts of a term, those that stand in others first.
std::vector<Term> parts_in_order(Terms const& terms, Term root) {
  std::vector<char> needed(static_cast<std::size_t>(root) + 1, 0);
  needed.back() = 1;
  std::vector<Term> parts;
  for (std::size_t place = needed.size(); place-- > 0;) {
    if (!needed[place]) continue;
    parts.push_back(static_cast<Term>(place));
    Node const& node = terms[parts.back()];
    for (int i = 0; i < operand_count(node); ++i)
      needed[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(i)])] = 1;
  }
  std::ranges::reverse(parts);
  return parts;
}

/// Why modes do not take a node; empty when they do.
std::string_view refusal_of(Node const& node) {
  switch (node.kind) {
    case Kind::integral:
    case Kind::mean:
    case Kind::least:
    case Kind::greatest:
      return "a value over the whole grid stands in it, which a split into modes does not take";
    case Kind::noise:
      return "noise stands in it, which needs differences and the scheme euler";
    case Kind::flux:
      return node.orders == Orders{} ? "" : "a flux is given through a side of it";
    default:
      return "";
  }
}

}  // namespace

bool Form::is(Term product) const {
  return linear.empty() && products.size() == 1 &&
         *products.begin() == std::pair<DerivedProduct const, double>{{product, {}}, 1.0};
}

void add_to(Form& sum, Form const& other, double factor) {
  add_map(sum.linear, other.linear, factor);
  add_map(sum.products, other.products, factor);
  if (sum.products.size() > max_products)
    throw Error(fmt::format("a sum has more than {} products of fields", max_products));
}

void FormFinder::add(Term root) {
  for (Term const part : parts_in_order(terms_, root)) {
    if (forms_.contains(part)) continue;
    Node const node = terms_[part];
    if (auto const why = refusal_of(node); !why.empty()) throw Error(std::string(why));
    forms_.emplace(part, find(node, part));
  }
}

Form FormFinder::find(Node const& node, Term term) {
  if (node.kind == Kind::number)
    return node.value == 0 ? Form{} : only(terms_.number(1), node.value);
  if (terms_.is_formula(term)) return only(term);
  auto const& a = node.operands[0];
  switch (node.kind) {
    case Kind::unknown:
      return {{{{node.index, {}}, 1.0}}, {}};
    case Kind::name:
      return {{{{components_ + node.index, {}}, 1.0}}, {}};
    case Kind::derivative:
      return derivative(of(a), node.orders);
    case Kind::flux:
      return derivative(of(a), first_along(node.index));
    case Kind::transport: {
      if (!terms_.is_number(a)) return only(term);
      Form result;
      add_to(result, derivative(of(node.operands[1]), first_along(node.index)), terms_[a].value);
      return result;
    }
    case Kind::operation:
      return of_operation(node, term);
    default:
      return only(term);
  }
}

Form FormFinder::of_operation(Node const& node, Term term) {
  auto const [a, b, c] = node.operands;
  Form result;
  auto const add = [&](Term operand, double factor) { add_to(result, of(operand), factor); };
  switch (node.operation) {
    case Operation::negate:
      add(a, -1);
      return result;
    case Operation::add:
    case Operation::subtract:
      add(a, 1);
      add(b, node.operation == Operation::add ? 1 : -1);
      return result;
    case Operation::multiply:
      if (!terms_.is_number(a) && !terms_.is_number(b)) return of_product(node);
      add(terms_.is_number(a) ? b : a, terms_[terms_.is_number(a) ? a : b].value);
      return result;
    case Operation::divide:
      if (!terms_.is_number(b)) return of_product(node);
      add(a, 1 / terms_[b].value);
      return result;
    default:
      return only(term);
  }
}

/// The factors of a product without signs and numbers, in the order of their places: so equal ones
/// are one.
Form FormFinder::of_product(Node const& node) {
  double factor = 1;
  Term a = without_factor(node.operands[0], factor);
  if (node.operation == Operation::divide) {
    double below = 1;
    Term const b = without_factor(node.operands[1], below);
    return only(terms_.divide(a, b), factor / below);
  }
  Term b = without_factor(node.operands[1], factor);
  if (b < a) std::swap(a, b);
  return only(terms_.multiply(a, b), factor);
}

Term FormFinder::without_factor(Term term, double& factor) const {
  while (terms_[term].kind == Kind::operation) {
    auto const [a, b, c] = terms_[term].operands;
    Operation const operation = terms_[term].operation;
    if (operation == Operation::negate) {
      factor = -factor;
      term = a;
    } else if (operation == Operation::multiply && (terms_.is_number(a) || terms_.is_number(b))) {
      factor *= terms_[terms_.is_number(a) ? a : b].value;
      term = terms_.is_number(a) ? b : a;
    } else if (operation == Operation::divide && terms_.is_number(b)) {
      factor /= terms_[b].value;
      term = a;
    } else {
      break;
    }
  }
  return term;
}

Form FormFinder::derivative(Form const& of, Orders const& orders) {
  Form result;
  auto const further = [&](Orders const& before) {
    Operator sum;
    equations::add_to(sum, {{before, 1.0}}, 1, orders);  // refuses what is too much
    return sum.begin()->first;
  };
  for (auto const& [derived, coefficient] : of.linear)
    result.linear.emplace(Derived{derived.component, further(derived.orders)}, coefficient);
  for (auto const& [derived, coefficient] : of.products) {
    Term const product = derived.product;
    if (!terms_.is_formula(product)) {
      result.products[{product, further(derived.orders)}] += coefficient;
      continue;
    }
    Term const slope = terms_.analytic(terms_.derivative(product, orders));
    Node const& node = terms_[slope];
    if (node.kind != Kind::number)
      result.products[{slope, {}}] += coefficient;
    else if (node.value != 0)
      result.products[{terms_.number(1), {}}] += coefficient * node.value;
  }
  return result;
}

}  // namespace gridstride::equations

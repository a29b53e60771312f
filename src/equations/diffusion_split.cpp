#include "equations/diffusion_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <ranges>

#include "equations/text.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

constexpr std::size_t own = 3;  // the place after those of the axes

/// A term as Σ coefficient·sought + rest: sought are, along each axis, derivatives of a component,
/// and the component itself.
struct Split {
  std::array<Term, 4> coefficients = {-1, -1, -1, -1};
  Term rest = -1;

  bool is_whole() const { return coefficients == std::array<Term, 4>{-1, -1, -1, -1}; }
  bool has_derivatives() const {
    return std::ranges::any_of(coefficients.begin(), coefficients.begin() + own,
                               [](Term one) { return one >= 0; });
  }
};

/// The axis along which a derivative is so often, and along no other; −1 where there is none.
int axis_of(std::array<std::int8_t, 3> const& orders, int times) {
  if (std::accumulate(orders.begin(), orders.end(), 0) != times) return -1;
  auto const axis = std::ranges::find(orders, times);
  return axis == orders.end() ? -1 : static_cast<int>(axis - orders.begin());
}

/// Splits all parts of a rate, each after those that stand in it: as what flows, with derivatives
/// of first order, and as what a rate is made of, with the divergence of those.
class DiffusionSplitter {
 public:
  DiffusionSplitter(Terms& terms, Term rate, int component)
      : terms_(terms),
        component_(component),
        flows_(static_cast<std::size_t>(rate) + 1),
        rates_(flows_.size()),
        needed_(flows_.size()) {
    needed_.back() = true;
    for (std::size_t k = needed_.size(); k-- > 0;) {
      Node const& node = terms_[static_cast<Term>(k)];
      for (std::size_t i = 0; needed_[k] && i < static_cast<std::size_t>(operand_count(node)); ++i)
        needed_[static_cast<std::size_t>(node.operands[i])] = true;
    }
  }

  /// Whether a flux that sides give stands beside other diffusion along its axis, which they say
  /// nothing of.
  bool is_mixed() const {
    return std::ranges::any_of(std::views::iota(0, 3), [this](int axis) {
      auto const a = static_cast<std::size_t>(axis);
      return is_given_[a] && is_open_[a];
    });
  }

  Split split() {
    for (std::size_t k = 0; k < rates_.size(); ++k) {
      if (!needed_[k]) continue;
      auto const term = static_cast<Term>(k);
      Node const node = terms_[term];  // a copy: terms move when some are added
      Split const whole = {.rest = term};
      flows_[k] = of_flow(node).value_or(whole);
      rates_[k] = of_rate(node).value_or(whole);
    }
    return rates_.back();
  }

 private:
  Split const& at(std::vector<Split> const& splits, Node const& node, std::size_t i) const {
    return splits[static_cast<std::size_t>(node.operands[i])];
  }

  std::optional<Split> of_flow(Node const& node) {
    if (node.kind == Kind::derivative) return of_derivative(node, 1);
    if (node.kind == Kind::operation) return of_operation(node, flows_, true);
    return std::nullopt;
  }

  std::optional<Split> of_rate(Node const& node) {
    if (node.kind == Kind::unknown && node.index == component_) {
      Split split = {.rest = terms_.number(0)};
      split.coefficients[own] = terms_.number(1);
      return split;
    }
    if (node.kind == Kind::derivative) {
      auto const split = of_derivative(node, 2);
      if (split) is_open_[static_cast<std::size_t>(axis_of(node.orders, 2))] = true;
      return split;
    }
    if (node.kind == Kind::flux) return of_flux(node);
    if (node.kind == Kind::operation) return of_operation(node, rates_, false);
    return std::nullopt;
  }

  /// Of k·u + rest, k a number, so often along one axis.
  std::optional<Split> of_derivative(Node const& node, int times) {
    int const axis = axis_of(node.orders, times);
    Split const inner = at(rates_, node, 0);
    Term const k = inner.coefficients[own];
    if (axis < 0 || k < 0 || !terms_.is_number(k) || inner.has_derivatives()) return std::nullopt;
    Node const rest = terms_[inner.rest];
    if (rest.kind == Kind::derivative &&
        std::accumulate(rest.orders.begin(), rest.orders.end(), times) > max_order)
      return std::nullopt;
    Split split = {.rest = terms_.derivative(inner.rest, node.orders)};
    split.coefficients[static_cast<std::size_t>(axis)] = k;
    return split;
  }

  /// Of what flows by the derivative along its own axis, and no other. What sides give is left.
  std::optional<Split> of_flux(Node const& node) {
    auto const axis = static_cast<std::size_t>(node.index);
    Split const flow = at(flows_, node, 0);
    Split split;
    split.coefficients[axis] = flow.coefficients[axis];
    if (split.is_whole() || split.coefficients != flow.coefficients) return std::nullopt;
    split.rest = terms_.flux(flow.rest, node.index, flux_through_sides(node, node.operands));
    (operand_count(node) > 1 ? is_given_ : is_open_)[axis] = true;
    return split;
  }

  std::optional<Split> of_operation(Node const& node, std::vector<Split> const& splits,
                                    bool takes_formulas) {
    Split const a = at(splits, node, 0), b = node.operands[1] < 0 ? a : at(splits, node, 1);
    if (a.is_whole() && b.is_whole()) return std::nullopt;
    switch (node.operation) {
      case Operation::negate:
        return changed(a, [&](Term term) { return terms_.negate(term); });
      case Operation::add:
        return together(a, b, [&](Term left, Term right) { return terms_.add(left, right); });
      case Operation::subtract:
        return together(a, changed(b, [&](Term term) { return terms_.negate(term); }),
                        [&](Term left, Term right) { return terms_.add(left, right); });
      case Operation::multiply: {
        bool const first = b.is_whole();
        Split const& of = first ? a : b;
        Term const factor = node.operands[first ? 1 : 0];
        if (!may_multiply(first ? b : a, factor, of, takes_formulas)) return std::nullopt;
        return changed(of, [&](Term term) {
          return first ? terms_.multiply(term, factor) : terms_.multiply(factor, term);
        });
      }
      case Operation::divide: {
        Term const divisor = node.operands[1];
        if (!may_multiply(b, divisor, a, takes_formulas)) return std::nullopt;
        return changed(a, [&](Term term) { return terms_.divide(term, divisor); });
      }
      default:
        return std::nullopt;
    }
  }

  /// What stands before a divergence belongs to no coefficient in it, but for a number.
  bool may_multiply(Split const& other, Term factor, Split const& of, bool takes_formulas) const {
    if (!other.is_whole()) return false;
    return terms_.is_number(factor) || (takes_formulas && is_local(factor)) ||
           (is_local(factor) && !terms_.contains(factor, Kind::time) && !of.has_derivatives());
  }

  bool is_local(Term term) const {
    constexpr std::array others = {Kind::integral, Kind::mean, Kind::least, Kind::greatest};
    return terms_.is_formula(term) &&
           std::ranges::none_of(others, [&](Kind kind) { return terms_.contains(term, kind); });
  }

  template <class Change>
  static Split changed(Split const& split, Change const& change) {
    Split result;
    for (std::size_t i = 0; i < split.coefficients.size(); ++i)
      if (split.coefficients[i] >= 0) result.coefficients[i] = change(split.coefficients[i]);
    result.rest = change(split.rest);
    return result;
  }
  template <class Join>
  static Split together(Split const& a, Split const& b, Join const& join) {
    Split result;
    for (std::size_t i = 0; i < a.coefficients.size(); ++i) {
      Term const one = a.coefficients[i], other = b.coefficients[i];
      result.coefficients[i] = one < 0 ? other : other < 0 ? one : join(one, other);
    }
    result.rest = join(a.rest, b.rest);
    return result;
  }

  Terms& terms_;
  int component_;
  std::vector<Split> flows_, rates_;
  std::vector<bool> needed_;
  std::array<bool, 3> is_given_ = {}, is_open_ = {};  // along each axis
};

/// How often a component is differentiated in each part of a rate, at most; −1 where it is not
/// there. `of_names` are those of components of names.
class OwnOrders {
 public:
  OwnOrders(Terms const& terms, int component, Term last, std::vector<int> const& of_names)
      : orders_(static_cast<std::size_t>(last) + 1, -1) {
    for (std::size_t k = 0; k < orders_.size(); ++k) {
      Node const& node = terms[static_cast<Term>(k)];
      if (node.kind == Kind::unknown && node.index == component) orders_[k] = 0;
      if (node.kind == Kind::name) orders_[k] = of_names[static_cast<std::size_t>(node.index)];
      bool const is_local = node.kind == Kind::operation || node.kind == Kind::derivative ||
                            node.kind == Kind::flux || node.kind == Kind::transport;
      for (std::size_t i = 0; is_local && i < static_cast<std::size_t>(operand_count(node)); ++i)
        if (int const order = of(node.operands[i]); order >= 0)
          orders_[k] = std::max(orders_[k], order + added(node, i));
    }
  }
  int of(Term term) const { return orders_[static_cast<std::size_t>(term)]; }

 private:
  /// By what a node does to an operand.
  static int added(Node const& node, std::size_t operand) {
    if (node.kind == Kind::derivative)
      return std::accumulate(node.orders.begin(), node.orders.end(), 0);
    bool const is_differentiated = node.kind == Kind::flux ? operand == 0 : operand == 1;
    return (node.kind == Kind::flux || node.kind == Kind::transport) && is_differentiated ? 1 : 0;
  }

  std::vector<int> orders_;
};

OwnOrders own_orders(System const& system, int component, Term last) {
  std::vector<int> of_names(static_cast<std::size_t>(system.name_count()), -1);
  for (int name = 0; name < system.name_count(); ++name)
    if (system.has_meaning(name)) {
      Term const meaning = system.meaning(name);
      of_names[static_cast<std::size_t>(name)] =
          OwnOrders(system.terms, component, meaning, of_names).of(meaning);
    }
  return {system.terms, component, last, of_names};
}

/// Of the parts that a rate is the sum of those in which a component is differentiated twice or
/// more; −1: there are none.
Term stiff_part(System const& system, int component, Term rate) {
  auto const orders = own_orders(system, component, rate);
  auto const is_stiff = [&](Term term) { return orders.of(term) >= 2; };
  Term part = rate;
  if (!is_stiff(part)) return -1;
  while (true) {
    Node const& node = system.terms[part];
    bool const is_sum = node.kind == Kind::operation &&
                        (node.operation == Operation::add || node.operation == Operation::subtract);
    if (!is_sum || (is_stiff(node.operands[0]) && is_stiff(node.operands[1]))) return part;
    part = node.operands[is_stiff(node.operands[0]) ? 0 : 1];
  }
}

std::string fault_of(System const& system, int component, Term part) {
  auto const name = component_name(system, component);
  return fmt::format(
      "'{}' differentiates {} twice or more, and what multigrid takes of that are terms "
      "div(D*grad({})), D a formula of space and time, and D*laplace({}), D a number, along all "
      "axes "
      "alike",
      to_text(system, part), name, name, name);
}

}  // namespace

bool DiffusionSplit::has_diffusion() const {
  return std::ranges::any_of(own, &OwnDiffusion::is_there);
}

DiffusionSplit split_diffusion(System const& system) {
  DiffusionSplit result = {.rest = system, .own = {}, .faults = {}};
  Terms& terms = result.rest.terms;
  auto const dims = static_cast<std::size_t>(system.dims);
  for (int component = 0; component < system.component_count(); ++component) {
    Term& rate = result.rest.rates[static_cast<std::size_t>(component)];
    DiffusionSplitter splitter(terms, rate, component);
    auto split = splitter.split();
    auto const& along = split.coefficients;
    bool const alike = !splitter.is_mixed() && along[0] >= 0 &&
                       std::ranges::all_of(along.begin(), along.begin() + static_cast<long>(dims),
                                           [&](Term one) { return one == along[0]; });
    OwnDiffusion& one = result.own.emplace_back();
    if (alike) {
      one = {along[0], terms.number(0)};
      Term const zero = terms.number(0);
      if (Term const c = along[own]; c >= 0) {
        one.decay = terms.operation(Operation::max, terms.negate(c), zero);
        Term const growth = terms.operation(Operation::max, c, zero);
        split.rest = terms.add(split.rest, terms.multiply(growth, terms.unknown(component)));
      }
      rate = split.rest;
    }
    Term const part = stiff_part(result.rest, component, rate);
    result.faults.push_back(part < 0 ? "" : fault_of(result.rest, component, part));
  }
  return result;
}

}  // namespace gridstride::equations

#include "equations/linear_part.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ranges>
#include <utility>

namespace gridstride::equations {
namespace {

using expression::Operation;
using Linear = std::map<Derived, double>;

Linear scaled(Linear linear, double factor) {
  for (auto& [of, coefficient] : linear) coefficient *= factor;
  return linear;
}

Linear differentiated(Linear const& linear, std::array<std::int8_t, 3> const& orders) {
  Linear result;
  for (auto const& [of, coefficient] : linear) {
    Derived derived = of;
    for (std::size_t axis = 0; axis < 3; ++axis)
      derived.orders[axis] = static_cast<std::int8_t>(of.orders[axis] + orders[axis]);
    result.emplace(derived, coefficient);
  }
  return result;
}

std::array<std::int8_t, 3> once_along(std::int32_t axis) {
  std::array<std::int8_t, 3> orders = {0, 0, 0};
  orders[static_cast<std::size_t>(axis)] = 1;
  return orders;
}

/// Splits all parts of a rate, each after those that stand in it.
class LinearSplitter {
 public:
  LinearSplitter(Terms& terms, Term rate, std::optional<int> names_from)
      : terms_(terms),
        names_from_(names_from),
        splits_(static_cast<std::size_t>(rate) + 1),
        needed_(splits_.size()) {
    needed_.back() = true;
    for (std::size_t k = needed_.size(); k-- > 0;) {
      Node const& node = terms_[static_cast<Term>(k)];
      for (std::size_t i = 0; needed_[k] && i < static_cast<std::size_t>(operand_count(node)); ++i)
        needed_[static_cast<std::size_t>(node.operands[i])] = true;
    }
  }

  LinearSplit split() {
    for (std::size_t k = 0; k < splits_.size(); ++k) {
      if (!needed_[k]) continue;
      auto const term = static_cast<Term>(k);
      splits_[k] = find(terms_[term]).value_or(LinearSplit{{}, term});
    }
    return splits_.back();
  }

 private:
  /// Nothing where the term stays whole. The node is a copy: those of terms move when some are added.
  std::optional<LinearSplit> find(Node const node) {
    auto const of = [&](std::size_t i) -> LinearSplit const& {
      return splits_[static_cast<std::size_t>(node.operands[i])];
    };
    switch (node.kind) {
      case Kind::unknown:
        return LinearSplit{{{{node.index, {0, 0, 0}}, 1.0}}, terms_.number(0)};
      case Kind::name:
        if (!names_from_) return std::nullopt;
        return LinearSplit{{{{*names_from_ + node.index, {0, 0, 0}}, 1.0}}, terms_.number(0)};
      case Kind::derivative:
        if (of(0).linear.empty() || !fits(of(0), node.orders)) return std::nullopt;
        return LinearSplit{differentiated(of(0).linear, node.orders),
                           terms_.derivative(of(0).rest, node.orders)};
      case Kind::flux:
        if (of(0).linear.empty() || operand_count(node) > 1) return std::nullopt;
        return LinearSplit{differentiated(of(0).linear, once_along(node.index)),
                           terms_.flux(of(0).rest, node.index)};
      case Kind::transport:
        if (of(1).linear.empty() || !terms_.is_number(node.operands[0])) return std::nullopt;
        return LinearSplit{scaled(differentiated(of(1).linear, once_along(node.index)),
                                  terms_[node.operands[0]].value),
                           terms_.transport(node.operands[0], of(1).rest, node.index)};
      case Kind::operation:
        return of_operation(node, of(0), node.operands[1] < 0 ? of(0) : of(1));
      default:
        return std::nullopt;
    }
  }

  std::optional<LinearSplit> of_operation(Node const& node, LinearSplit const& a,
                                          LinearSplit const& b) {
    auto const number = [&](std::size_t i) { return terms_[node.operands[i]].value; };
    auto const is_number = [&](std::size_t i) { return terms_.is_number(node.operands[i]); };
    switch (node.operation) {
      case Operation::negate:
        return LinearSplit{scaled(a.linear, -1), terms_.negate(a.rest)};
      case Operation::add:
        return LinearSplit{sum(a.linear, b.linear), terms_.add(a.rest, b.rest)};
      case Operation::subtract:
        return LinearSplit{sum(a.linear, scaled(b.linear, -1)), terms_.subtract(a.rest, b.rest)};
      case Operation::multiply:
        if (is_number(0))
          return LinearSplit{scaled(b.linear, number(0)),
                             terms_.multiply(node.operands[0], b.rest)};
        if (is_number(1))
          return LinearSplit{scaled(a.linear, number(1)),
                             terms_.multiply(a.rest, node.operands[1])};
        return std::nullopt;
      case Operation::divide:
        if (!is_number(1)) return std::nullopt;
        return LinearSplit{scaled(a.linear, 1 / number(1)),
                           terms_.divide(a.rest, node.operands[1])};
      default:
        return std::nullopt;
    }
  }

  static Linear sum(Linear a, Linear const& b) {
    for (auto const& [of, coefficient] : b) a[of] += coefficient;
    std::erase_if(a, [](auto const& one) { return one.second == 0; });
    return a;
  }

  /// Whether what is left can be differentiated as often, since derivatives of derivatives are one.
  bool fits(LinearSplit const& split, std::array<std::int8_t, 3> const& orders) const {
    int total = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      total += orders[axis];
      if (terms_[split.rest].kind == Kind::derivative) total += terms_[split.rest].orders[axis];
    }
    return total <= max_order;
  }

  Terms& terms_;
  std::optional<int> names_from_;
  std::vector<LinearSplit> splits_;
  std::vector<bool> needed_;
};

}  // namespace

LinearSplit split_linear(Terms& terms, Term rate, std::optional<int> names_from) {
  return LinearSplitter(terms, rate, names_from).split();
}

Term linear_part(Terms& terms, LinearSplit const& split) {
  /// Derivatives of one component, order and coefficient.
  struct Group {
    int component, order;
    double coefficient;
    Term sum;
  };
  std::vector<Group> groups;
  for (auto const& [of, coefficient] : split.linear | std::views::reverse) {
    int const order = of.orders[0] + of.orders[1] + of.orders[2];
    Term const unknown = terms.unknown(of.component);
    Term const derived = order == 0 ? unknown : terms.derivative(unknown, of.orders);
    auto const same = std::ranges::find_if(groups, [&, c = coefficient](Group const& group) {
      return group.component == of.component && group.order == order && group.coefficient == c;
    });
    if (same == groups.end())
      groups.push_back({of.component, order, coefficient, derived});
    else
      same->sum = terms.add(same->sum, derived);
  }
  std::ranges::stable_sort(groups, {}, &Group::component);
  Term sum = terms.number(0);
  for (Group const& group : groups) {
    bool const takes_away = group.coefficient < 0 && !terms.is_number(sum);
    double const factor = takes_away ? -group.coefficient : group.coefficient;
    Term const part = terms.multiply(terms.number(factor), group.sum);
    sum = takes_away ? terms.subtract(sum, part) : terms.add(sum, part);
  }
  return sum;
}

}  // namespace gridstride::equations

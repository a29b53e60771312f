#include "equations/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "expression/print.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;
using expression::Piece;

using Axes = std::array<Term, 3>;

/// A sum over axes: of fluxes, of transport of one term, or of second derivatives of one term.
struct AxisSum {
  Kind kind;
  Term of;       ///< what is transported or differentiated
  Axes along;    ///< fluxes or velocities; -1 where the axis is missing
  int last = 0;  ///< the greatest axis
  int members = 1;
};

/// Operators that are called as they are stored.
constexpr std::pair<Kind, std::string_view> calls[] = {
    {Kind::integral, "integral"}, {Kind::mean, "mean"},       {Kind::least, "min"},
    {Kind::greatest, "max"},      {Kind::uniform, "uniform"}, {Kind::normal, "normal"},
    {Kind::noise, "noise"},
};

std::string_view call_of(Kind kind) {
  return std::ranges::find(calls, kind, &std::pair<Kind, std::string_view>::first)->second;
}

std::string component_of(Unknown const& field, int component) {
  if (!field.is_vector) return field.name;
  return fmt::format("{}.{}", field.name,
                     axis_names[static_cast<std::size_t>(component - field.first)]);
}

std::string sided_name(System const& system, int component) {
  for (SidedName const& one : system.names)
    if (component < one.name.first + one.name.components) return component_of(one.name, component);
  throw std::invalid_argument(fmt::format("to_text: there is no name {}", component));
}

class Printer {
 public:
  explicit Printer(System const& system) : system_(system), terms_(system.terms) {}

  std::string print(Term root);

 private:
  std::optional<AxisSum> member(Node const& node) const;
  std::optional<AxisSum> sum_of(Term term) const;
  std::optional<std::string> vector_name(Axes const& along) const;
  std::optional<std::string> gradient(Axes const& along) const;
  std::string vector(Axes const& along) const;
  std::optional<std::string> print_sum(Term term) const;
  std::string derivative(Node const& node) const;
  Piece piece(Term term) const;
  std::string const& text(Term term) const { return pieces_[static_cast<std::size_t>(term)].text; }
  int axis_of_first_derivative(Term term) const;

  System const& system_;
  Terms const& terms_;
  std::vector<Piece> pieces_;
};

/// What a node is as a sum of one.
std::optional<AxisSum> Printer::member(Node const& node) const {
  auto const axis = static_cast<std::size_t>(node.index);
  AxisSum sum = {node.kind, -1, {-1, -1, -1}, node.index, 1};
  if (node.kind == Kind::flux) {
    sum.along[axis] = node.operands[0];
    return sum;
  }
  if (node.kind == Kind::transport) {
    sum.along[axis] = node.operands[0];
    sum.of = node.operands[1];
    return sum;
  }
  if (node.kind != Kind::derivative) return std::nullopt;
  auto const twice = std::ranges::find(node.orders, 2);
  if (twice == node.orders.end() || std::ranges::count(node.orders, 0) != 2) return std::nullopt;
  sum.of = node.operands[0];
  sum.last = static_cast<int>(twice - node.orders.begin());
  return sum;
}

/// ((first + second) + third), in the order of the axes.
std::optional<AxisSum> Printer::sum_of(Term term) const {
  Node const& node = terms_[term];
  if (node.kind != Kind::operation) return member(node);
  if (node.operation != Operation::add) return std::nullopt;
  auto sum = member(terms_[node.operands[1]]);
  if (!sum) return std::nullopt;
  auto const left = sum_of(node.operands[0]);
  if (!left || left->kind != sum->kind || left->of != sum->of || left->last >= sum->last)
    return std::nullopt;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (left->along[axis] >= 0) sum->along[axis] = left->along[axis];
  sum->members += left->members;
  return sum;
}

std::optional<std::string> Printer::vector_name(Axes const& along) const {
  if (along[0] < 0 || terms_[along[0]].kind != Kind::unknown) return std::nullopt;
  auto const field = std::ranges::find(system_.unknowns, terms_[along[0]].index, &Unknown::first);
  if (field == system_.unknowns.end() || !field->is_vector) return std::nullopt;
  for (int axis = 0; axis < system_.dims; ++axis) {
    Term const term = along[static_cast<std::size_t>(axis)];
    if (term < 0 || terms_[term].kind != Kind::unknown || terms_[term].index != field->first + axis)
      return std::nullopt;
  }
  return field->name;
}

/// The axis that a term is a first derivative along; -1 for others.
int Printer::axis_of_first_derivative(Term term) const {
  if (term < 0 || terms_[term].kind != Kind::derivative) return -1;
  auto const& orders = terms_[term].orders;
  auto const once = std::ranges::find(orders, 1);
  bool const alone = once != orders.end() && std::ranges::count(orders, 0) == 2;
  return alone ? static_cast<int>(once - orders.begin()) : -1;
}

std::optional<std::string> Printer::gradient(Axes const& along) const {
  for (int axis = 0; axis < system_.dims; ++axis) {
    Term const term = along[static_cast<std::size_t>(axis)];
    if (axis_of_first_derivative(term) != axis ||
        terms_[term].operands[0] != terms_[along[0]].operands[0])
      return std::nullopt;
  }
  return fmt::format("grad({})", text(terms_[along[0]].operands[0]));
}

std::string Printer::vector(Axes const& along) const {
  if (auto const name = vector_name(along)) return *name;
  if (auto const result = gradient(along)) return *result;
  std::vector<std::string_view> components;
  for (int axis = 0; axis < system_.dims; ++axis) {
    Term const term = along[static_cast<std::size_t>(axis)];
    components.push_back(term < 0 ? std::string_view("0") : std::string_view(text(term)));
  }
  return fmt::format("[{}]", fmt::join(components, ", "));
}

std::optional<std::string> Printer::print_sum(Term term) const {
  auto const sum = sum_of(term);
  if (!sum) return std::nullopt;
  if (sum->kind == Kind::flux) return fmt::format("div({})", vector(sum->along));
  if (sum->kind == Kind::transport)
    return fmt::format("advect({}, {})", vector(sum->along), text(sum->of));
  if (sum->members < system_.dims || system_.dims == 1) return std::nullopt;
  return fmt::format("laplace({})", text(sum->of));
}

/// By second derivatives as far as they go, then mixed ones, then first ones.
std::string Printer::derivative(Node const& node) const {
  auto orders = node.orders;
  std::string result = text(node.operands[0]);
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (; orders[axis] >= 2; orders[axis] = static_cast<std::int8_t>(orders[axis] - 2))
      result = fmt::format("d2_d{}2({})", axis_names[axis], result);
  std::vector<std::string_view> once;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (orders[axis] == 1) once.push_back(axis_names[axis]);
  if (once.size() >= 2) {
    result = fmt::format("d2_d{}d{}({})", once[0], once[1], result);
    once.erase(once.begin(), once.begin() + 2);
  }
  return once.empty() ? result : fmt::format("d_d{}({})", once[0], result);
}

Piece Printer::piece(Term term) const {
  Node const& node = terms_[term];
  if (auto const sum = print_sum(term)) return {*sum};
  switch (node.kind) {
    case Kind::number:
      return expression::print_number(node.value);
    case Kind::coordinate:
      return {std::string(axis_names[static_cast<std::size_t>(node.index)])};
    case Kind::time:
      return {"t"};
    case Kind::unknown:
      return {component_name(system_, node.index)};
    case Kind::name:
      return {sided_name(system_, node.index)};
    case Kind::derivative:
      return {derivative(node)};
    case Kind::integral:
    case Kind::mean:
    case Kind::least:
    case Kind::greatest:
      return {fmt::format("{}({})", call_of(node.kind), text(node.operands[0]))};
    case Kind::uniform:
    case Kind::normal:
    case Kind::noise:
      return {fmt::format("{}({})", call_of(node.kind), node.index)};
    case Kind::operation: {
      std::vector<Piece> operands;
      for (int i = 0; i < operand_count(node); ++i)
        operands.push_back(pieces_[static_cast<std::size_t>(node.operands[i])]);
      return expression::print_operation(node.operation, operands);
    }
    default:
      throw std::invalid_argument("to_text: equations cannot say it");
  }
}

std::string Printer::print(Term root) {
  auto const size = static_cast<std::size_t>(root) + 1;
  std::vector<bool> needed(size);
  needed.back() = true;
  for (std::size_t k = size; k-- > 0;) {
    Node const& node = terms_[static_cast<Term>(k)];
    for (int i = 0; needed[k] && i < operand_count(node); ++i)
      needed[static_cast<std::size_t>(node.operands[i])] = true;
  }
  pieces_.assign(size, {});
  for (std::size_t k = 0; k < size; ++k) {
    if (!needed[k]) continue;
    pieces_[k] = piece(static_cast<Term>(k));
    if (pieces_[k].text.size() > max_printed) pieces_[k] = {"..."};
  }
  return pieces_.back().text;
}

}  // namespace

std::string component_name(System const& system, int component) {
  auto const after = std::ranges::upper_bound(system.unknowns, component, {}, &Unknown::first);
  if (component < 0 || component >= system.component_count())
    throw std::invalid_argument(fmt::format("component_name: there is no component {}", component));
  return component_of(*std::prev(after), component);
}

std::string to_text(System const& system, Term term) { return Printer(system).print(term); }

std::vector<std::string> to_text(System const& system) {
  std::vector<std::string> lines;
  for (int component = 0; component < system.name_count(); ++component)
    if (system.has_meaning(component))
      lines.push_back(fmt::format("{} = {}", sided_name(system, component),
                                  to_text(system, system.meaning(component))));
  for (int component = 0; component < system.component_count(); ++component)
    lines.push_back(
        fmt::format("dt({}) = {}", component_name(system, component),
                    to_text(system, system.rates[static_cast<std::size_t>(component)])));
  for (Term const constraint : system.constraints)
    lines.push_back(fmt::format("0 = {}", to_text(system, constraint)));
  return lines;
}

}  // namespace gridstride::equations

#include "equations/sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "equations/text.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

bool is_flux_along(Terms const& terms, Term term, int axis) {
  return terms[term].kind == Kind::flux && terms[term].index == axis;
}

/// A term and all that it is made of.
std::vector<Term> parts_of(Terms const& terms, Term root) {
  std::vector<Term> found = {root};
  std::unordered_set<Term> seen = {root};
  for (std::size_t next = 0; next < found.size(); ++next) {
    Node const& node = terms[found[next]];
    for (std::size_t i = 0; i < static_cast<std::size_t>(operand_count(node)); ++i)
      if (seen.insert(node.operands[i]).second) found.push_back(node.operands[i]);
  }
  return found;
}

/// Fluxes along an axis in a sum.
struct Shares {
  std::vector<Term> fluxes;
  bool has_number = false;  ///< before one
  bool in_product = false;  ///< of something else, where one stands too
};

/// Whether it is something times or over a number.
bool has_number(Terms const& terms, Node const& node) {
  if (node.operation == Operation::divide) return terms.is_number(node.operands[1]);
  return node.operation == Operation::multiply &&
         (terms.is_number(node.operands[0]) || terms.is_number(node.operands[1]));
}

Shares shares_of(Terms const& terms, Term root, int axis) {
  Shares shares;
  std::vector<Term> waiting = {root};
  while (!waiting.empty()) {
    Term const term = waiting.back();
    waiting.pop_back();
    Node const& node = terms[term];
    bool const is_sum = node.kind == Kind::operation && (node.operation == Operation::add ||
                                                         node.operation == Operation::subtract ||
                                                         node.operation == Operation::negate);
    if (is_flux_along(terms, term, axis))
      shares.fluxes.push_back(term);
    else if (is_sum)
      waiting.insert(waiting.end(), node.operands.begin(),
                     node.operands.begin() + operand_count(node));
    else if (node.kind == Kind::operation &&
             std::ranges::any_of(parts_of(terms, term),
                                 [&](Term part) { return is_flux_along(terms, part, axis); }))
      (has_number(terms, node) ? shares.has_number : shares.in_product) = true;
  }
  return shares;
}

/// Whether a second derivative along the axis stands in it.
bool has_second_derivative(Terms const& terms, Term root, int axis) {
  return std::ranges::any_of(parts_of(terms, root), [&](Term part) {
    return terms[part].kind == Kind::derivative &&
           terms[part].orders[static_cast<std::size_t>(axis)] == 2;
  });
}

/// ∂rate/∂(a part of it).
Term slope_of_part(Terms& terms, Term rate, Term part) {
  constexpr int unused = 1 << 20;  // a number that nothing else is
  Term const stand_in = terms.found(unused);
  return terms.partial(terms.substitute(rate, part, stand_in), stand_in);
}

void add_value_slopes(System& system, SideValue const& side, SideSlopes& slopes) {
  Terms& terms = system.terms;
  for (int c = 0; c < system.component_count(); ++c) {
    Term const variable = terms.unknown(c);
    auto const slope_of = [&](Term of) {
      return of < 0 ? terms.number(0) : terms.partial(of, variable);
    };
    Term slope = slope_of(side.value);
    if (side.kind != SideKind::dirichlet)
      slope = terms.subtract(terms.multiply(terms.unknown(side.component), slope_of(side.factor)),
                             slope);
    if (terms.is_number(slope) && terms[slope].value == 0) continue;
    slopes.of_values.push_back({side.kind, static_cast<std::size_t>(side.component),
                                static_cast<std::size_t>(c), side.axis, side.end, slope});
  }
}

/// At the lower side the rate has factor·2(H + g)/h, at the upper one factor·2(g − H)/h, and H is
/// the mean of two points, of higher orders one of several whose weights add up to 1.6 at most.
void add_flux_slopes(System& system, std::size_t rate, Term flux, Grid const& grid,
                     Space const& space, SideSlopes& slopes) {
  Terms& terms = system.terms;
  Node const node = terms[flux];
  int const axis = node.index;
  double const spread = (space.order == 2 ? 1 : 1.6) / 2;
  Term const factor = terms.multiply(terms.number(2 / grid.spacing[static_cast<std::size_t>(axis)]),
                                     slope_of_part(terms, system.rates[rate], flux));
  auto const outward = flux_through_sides(node, node.operands);
  for (int end = 0; end < 2; ++end) {
    Term const given = outward[static_cast<std::size_t>(end)];
    if (given < 0) continue;
    for (int c = 0; c < system.component_count(); ++c) {
      Term const variable = terms.unknown(c);
      Term const of_face = terms.multiply(terms.number(end == 0 ? spread : -spread),
                                          terms.partial(node.operands[0], variable));
      Term const of_given = terms.partial(given, variable);
      slopes.of_fluxes.push_back({rate, static_cast<std::size_t>(c), axis, end,
                                  terms.multiply(factor, terms.add(of_face, of_given)),
                                  terms.multiply(factor, of_face)});
    }
  }
}

}  // namespace

Term term_of(Terms& terms, expression::Expression const& formula) {
  std::vector<Term> made;
  for (expression::Node const& node : formula.nodes()) {
    auto const operand = [&](std::size_t i) {
      return node.operands[i] < 0 ? -1 : made[static_cast<std::size_t>(node.operands[i])];
    };
    if (node.operation == Operation::number)
      made.push_back(terms.number(node.value));
    else if (node.operation != Operation::variable)
      made.push_back(terms.operation(node.operation, operand(0), operand(1), operand(2)));
    else
      made.push_back(node.variable == expression::time_variable ? terms.time()
                                                                : terms.coordinate(node.variable));
  }
  return made.back();
}

std::string side_value_problem(Terms const& terms, Term value) {
  struct Refused {
    Kind kind;
    char const* why;
  };
  constexpr Refused refused[] = {{Kind::noise, "noise in it, which only rates take"},
                                 {Kind::uniform, "random numbers in it"},
                                 {Kind::normal, "random numbers in it"},
                                 {Kind::integral, "a value over the whole grid in it"},
                                 {Kind::mean, "a value over the whole grid in it"},
                                 {Kind::least, "a value over the whole grid in it"},
                                 {Kind::greatest, "a value over the whole grid in it"},
                                 {Kind::derivative, "a derivative in it"},
                                 {Kind::flux, "a derivative in it"},
                                 {Kind::transport, "a derivative in it"},
                                 {Kind::name, "a name in it that has sides itself"}};
  for (auto const& [kind, why] : refused)
    if (terms.contains(value, kind))
      return fmt::format(
          "what is given on a side has {} (it is made of fields, space and time at "
          "the side's own points)",
          why);
  return {};
}

std::string give_flux(System& system, std::size_t component, std::string const& name, int axis,
                      std::array<Term, 2> const& outward, std::span<std::size_t const> but,
                      std::span<Term* const> elsewhere) {
  Terms& terms = system.terms;
  std::string_view const along = axis_names[static_cast<std::size_t>(axis)];
  auto const shares = shares_of(terms, system.rates[component], axis);
  if (shares.has_number || (shares.in_product && shares.fluxes.empty()))
    return fmt::format(
        "'div' has a factor in the equation of {}, and what flows through a side is "
        "what stands in 'div' (did you mean 'div(2*F)' in place of '2*div(F)'?)",
        name);
  if (shares.fluxes.empty())
    return fmt::format(
        "no term 'div(F)' of the equation of {} has a flux along {} (what flows through a side is "
        "F{})",
        name, along,
        has_second_derivative(terms, system.rates[component], axis)
            ? fmt::format("; did you mean 'div(D*grad({0}))' in place of 'D*laplace({0})'?", name)
            : "");
  if (shares.fluxes.size() > 1)
    return fmt::format(
        "the equation of {} has {} terms 'div' with a flux along {}, and which of them is meant is "
        "open (did you mean one of their sum, 'div(F + G)'?)",
        name, shares.fluxes.size(), along);
  Term const old = shares.fluxes.front();
  Term const given = terms.flux(terms[old].operands[0], axis, outward);
  auto const put = [&](Term& term) { term = terms.substitute(term, old, given); };
  for (std::size_t c = 0; c < system.rates.size(); ++c)
    if (c == component || std::ranges::find(but, c) == but.end()) put(system.rates[c]);
  for (SidedName& sided : system.names) std::ranges::for_each(sided.terms, put);
  for (Term* const term : elsewhere) put(*term);
  return {};
}

HeldOrder order_of_held(System const& system) {
  auto const needs = [&](int one, int other) {
    return std::ranges::any_of(system.sides, [&](SideValue const& side) {
      return side.kind == SideKind::dirichlet && side.component == one &&
             system.terms.contains(side.value, Kind::unknown, other);
    });
  };
  std::vector<int> left;
  for (SideValue const& side : system.sides)
    if (side.kind == SideKind::dirichlet && std::ranges::find(left, side.component) == left.end())
      left.push_back(side.component);
  HeldOrder result;
  while (!left.empty()) {
    auto const next = std::ranges::find_if(left, [&](int one) {
      return std::ranges::none_of(left, [&](int other) { return needs(one, other); });
    });
    if (next == left.end()) break;
    result.order.push_back(*next);
    left.erase(next);
  }
  if (left.empty()) return result;
  // Each that is left needs another one of them: the walk comes back to where it was.
  auto& circle = result.circle;
  int at = left.front();
  while (std::ranges::find(circle, at) == circle.end()) {
    circle.push_back(at);
    at = *std::ranges::find_if(left, [&](int other) { return needs(at, other); });
  }
  circle.erase(circle.begin(), std::ranges::find(circle, at));
  circle.push_back(at);
  return result;
}

SideSlopes slopes_of_sides(System& system, Grid const& grid, Space const& space) {
  SideSlopes slopes;
  for (SideValue const& side : system.sides) add_value_slopes(system, side, slopes);
  for (std::size_t rate = 0; rate < system.rates.size(); ++rate)
    for (Term const part : parts_of(system.terms, system.rates[rate])) {
      Node const& node = system.terms[part];
      if (node.kind == Kind::flux && operand_count(node) > 1)
        add_flux_slopes(system, rate, part, grid, space, slopes);
    }
  return slopes;
}

}  // namespace gridstride::equations

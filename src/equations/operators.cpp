#include "equations/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "expression/lexer.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {
namespace {

using expression::fail_at;
using expression::Operation;

/// Refuses the argument number `i`.
[[noreturn]] void fail_rank(OperatorCall const& call, std::size_t i, std::string_view expected,
                            std::string_view suggestion = {}) {
  fail_at(call.arguments[i].begin,
          fmt::format("'{}' takes {}, here is {}", call.operation.name, expected,
                      noun_of_rank(call.arguments[i].rank)),
          fmt::format("it is called as {}", call.operation.signature), suggestion);
}

void check_axis(OperatorCall const& call, int axis) {
  if (axis >= call.dims)
    fail_at(call.position,
            fmt::format("'{}' is along {}, but the grid has {} ax{}s (see grid.points)",
                        call.operation.name, axis_names[static_cast<std::size_t>(axis)], call.dims,
                        call.dims == 1 ? "i" : "e"));
}

Ranked scalar(Term term) { return {0, {term}}; }

/// Of each term of what is given.
template <class Make>
Ranked each(OperatorCall const& call, Ranked const& of, Make make) {
  Ranked result = of;
  for (std::size_t k = 0; k < static_cast<std::size_t>(term_count(of.rank, call.dims)); ++k)
    result.terms[k] = make(of.terms[k]);
  return result;
}

/// make(0) + make(1) + ... over the axes.
template <class Make>
Term sum_over_axes(OperatorCall const& call, Make make) {
  Term sum = make(0);
  for (int axis = 1; axis < call.dims; ++axis) sum = call.terms.add(sum, make(axis));
  return sum;
}

std::array<std::int8_t, 3> times_along(int axis, int times) {
  std::array<std::int8_t, 3> orders = {};
  orders[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(times);
  return orders;
}

using Orders = std::array<std::int8_t, 3>;

/// What is differentiated, and how often along each axis.
using Derivative = std::pair<Term, Orders>;

/// What a derivative is made of: of derivatives, by themselves, below others and as parts of sums, but
/// for factors that are numbers. Nothing where it stays as it is, since no odd orders meet along
/// an axis: those would reach twice as far, others are the same by parts, and quicker.
std::vector<Derivative> parts_of(Terms& terms, Derivative const& whole) {
  auto const [of, orders] = whole;
  bool meets = false;
  for (int axis = 0; axis < 3; ++axis)
    meets |= orders[static_cast<std::size_t>(axis)] % 2 != 0 && terms.is_odd_along(of, axis);
  if (!meets) return {};
  Node const node = terms[of];
  if (node.kind == Kind::derivative) {
    Node const one = terms[terms.derivative(of, orders)];
    return {{one.operands[0], one.orders}};
  }
  bool const is_sum = node.operation == Operation::add || node.operation == Operation::subtract;
  std::vector<Derivative> parts;
  for (Term const operand : node.operands)
    if (operand >= 0 && (is_sum || !terms.is_number(operand))) parts.push_back({operand, orders});
  return parts;
}

/// Formulas without jumps are differentiated by calculus, all else by differences.
Term derived_alone(Terms& terms, Term of, Orders orders) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (; orders[axis] > 0 && terms.is_formula(of) && !terms.may_jump(of); --orders[axis])
      of = terms.partial(of, terms.coordinate(static_cast<int>(axis)));
  return terms.derivative(of, orders);
}

/// The same, where derivatives of derivatives are one if odd orders meet.
Term derived(Terms& terms, Term of, Orders const& orders) {
  std::map<Derivative, std::vector<Derivative>> all;
  std::vector<Derivative> waiting = {{of, orders}};
  while (!waiting.empty()) {
    auto const [place, is_new] = all.try_emplace(waiting.back());
    waiting.pop_back();
    if (!is_new) continue;
    place->second = parts_of(terms, place->first);
    waiting.insert(waiting.end(), place->second.begin(), place->second.end());
  }
  std::map<Derivative, Term> made;  // each after its parts, whose terms are lower
  for (auto const& [whole, parts] : all) {
    Node const node = terms[whole.first];
    auto const operand = [&, &parts = parts, &orders = whole.second](std::size_t i) {
      auto const part = std::ranges::find(parts, Derivative(node.operands[i], orders));
      return part == parts.end() ? node.operands[i] : made.at(*part);
    };
    made[whole] = parts.empty() ? derived_alone(terms, whole.first, whole.second)
                  : node.kind == Kind::derivative
                      ? made.at(parts[0])
                      : terms.operation(node.operation, operand(0), operand(1));
  }
  return made.at({of, orders});
}

Term flux_along(Terms& terms, Term of, int axis) {
  bool const by_calculus = terms.is_formula(of) && !terms.may_jump(of);
  return by_calculus ? derived(terms, of, times_along(axis, 1)) : terms.flux(of, axis);
}

Term transported(Terms& terms, Term velocity, Term of, int axis) {
  bool const by_calculus = terms.is_formula(of) && !terms.may_jump(of);
  return by_calculus ? terms.multiply(velocity, derived(terms, of, times_along(axis, 1)))
                     : terms.transport(velocity, of, axis);
}

template <int x, int y, int z>
Ranked make_derivative(OperatorCall const& call) {
  check_axis(call, z > 0 ? 2 : y > 0 ? 1 : 0);
  return each(call, call.arguments[0], [&](Term term) {
    return derived(call.terms, term, {x, y, z});
  });
}

Ranked make_laplace(OperatorCall const& call) {
  return each(call, call.arguments[0], [&](Term term) {
    return sum_over_axes(call,
                         [&](int axis) { return derived(call.terms, term, times_along(axis, 2)); });
  });
}

/// (grad v)_ij = ∂v_i/∂x_j, so that div(grad(v)) is laplace(v).
Ranked make_grad(OperatorCall const& call) {
  Ranked const& of = call.arguments[0];
  if (of.rank == 2) fail_rank(call, 0, "a scalar or a vector");
  Ranked result = {of.rank + 1, {}};
  auto const count = static_cast<std::size_t>(term_count(of.rank, call.dims));
  auto const dims = static_cast<std::size_t>(call.dims);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < dims; ++j)
      result.terms[i * dims + j] =
          derived(call.terms, of.terms[i], times_along(static_cast<int>(j), 1));
  return result;
}

/// (div T)_i = Σ_j ∂T_ij/∂x_j
Ranked make_div(OperatorCall const& call) {
  Ranked const& of = call.arguments[0];
  if (of.rank == 0)
    fail_rank(call, 0, "a vector or a tensor", call.dims == 1 ? "d_dx(v)" : std::string_view());
  Ranked result = {of.rank - 1, {}};
  auto const dims = static_cast<std::size_t>(call.dims);
  for (std::size_t i = 0; i < (of.rank == 2 ? dims : 1); ++i)
    result.terms[i] = sum_over_axes(call, [&](int axis) {
      return flux_along(call.terms, of.terms[i * dims + static_cast<std::size_t>(axis)], axis);
    });
  return result;
}

/// ∂b/∂x_i − ∂a/∂x_j
Term rotation(Terms& terms, Term b, int i, Term a, int j) {
  return terms.subtract(derived(terms, b, times_along(i, 1)), derived(terms, a, times_along(j, 1)));
}

Ranked make_curl(OperatorCall const& call) {
  auto const& [rank, v, begin] = call.arguments[0];
  Terms& terms = call.terms;
  if (call.dims == 1) fail_at(call.position, "'curl' needs a grid with two axes or three");
  if (rank == 2 || (rank == 0 && call.dims == 3))
    fail_rank(call, 0, call.dims == 3 ? "a vector" : "a scalar or a vector");
  if (rank == 0)
    return {1,
            {derived(terms, v[0], times_along(1, 1)),
             terms.negate(derived(terms, v[0], times_along(0, 1)))}};
  Term const z = rotation(terms, v[1], 0, v[0], 1);
  if (call.dims == 2) return scalar(z);
  return {1, {rotation(terms, v[2], 1, v[1], 2), rotation(terms, v[0], 2, v[2], 0), z}};
}

/// Sums over the last index of a and the first of b.
Ranked make_dot(OperatorCall const& call) {
  auto const& [a, b] = std::tie(call.arguments[0], call.arguments[1]);
  for (std::size_t i = 0; i < 2; ++i)
    if (call.arguments[i].rank == 0) fail_rank(call, i, "vectors or tensors");
  auto const dims = static_cast<std::size_t>(call.dims);
  std::size_t const rows = a.rank == 2 ? dims : 1, columns = b.rank == 2 ? dims : 1;
  Ranked result = {a.rank + b.rank - 2, {}};
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      result.terms[i * columns + j] = sum_over_axes(call, [&](int axis) {
        auto const k = static_cast<std::size_t>(axis);
        return call.terms.multiply(a.terms[i * dims + k], b.terms[k * columns + j]);
      });
  return result;
}

Ranked make_outer(OperatorCall const& call) {
  for (std::size_t i = 0; i < 2; ++i)
    if (call.arguments[i].rank != 1) fail_rank(call, i, "two vectors");
  auto const dims = static_cast<std::size_t>(call.dims);
  Ranked result = {2, {}};
  for (std::size_t i = 0; i < dims; ++i)
    for (std::size_t j = 0; j < dims; ++j)
      result.terms[i * dims + j] =
          call.terms.multiply(call.arguments[0].terms[i], call.arguments[1].terms[j]);
  return result;
}

Ranked make_norm2(OperatorCall const& call) {
  Ranked const& of = call.arguments[0];
  Terms& terms = call.terms;
  if (of.rank == 0)
    fail_rank(call, 0, "a vector or a tensor", call.operation.name == "norm" ? "abs(v)" : "v^2");
  auto const square = [&](std::size_t k) {
    return terms.operation(Operation::power, of.terms[k], terms.number(2));
  };
  Term sum = square(0);
  for (int k = 1; k < term_count(of.rank, call.dims); ++k)
    sum = terms.add(sum, square(static_cast<std::size_t>(k)));
  return scalar(sum);
}

Ranked make_norm(OperatorCall const& call) {
  return scalar(call.terms.operation(Operation::sqrt, make_norm2(call).terms[0]));
}

Ranked make_identity(OperatorCall const& call) {
  Ranked result = {2, {}};
  for (int i = 0; i < call.dims; ++i)
    for (int j = 0; j < call.dims; ++j)
      result.terms[static_cast<std::size_t>(i * call.dims + j)] = call.terms.number(i == j ? 1 : 0);
  return result;
}

Ranked make_advect(OperatorCall const& call) {
  Ranked const& velocity = call.arguments[0];
  if (velocity.rank != 1)
    fail_rank(call, 0, "a vector first",
              call.dims == 1 && velocity.rank == 0 ? "advect([v], e)" : std::string_view());
  return each(call, call.arguments[1], [&](Term term) {
    return sum_over_axes(call, [&](int axis) {
      return transported(call.terms, velocity.terms[static_cast<std::size_t>(axis)], term, axis);
    });
  });
}

/// Refuses what `diff` would get wrong, for what stands under operators counts as constant.
void check_diff(OperatorCall const& call, Term of, Node const& by) {
  Terms const& terms = call.terms;
  std::size_t const where = call.arguments[0].begin;
  if (terms.contains(of, Kind::name))
    fail_at(where, "'diff' is at a point by itself", "a name with sides of its own stands in it");
  if (by.kind == Kind::coordinate && !terms.is_formula(of))
    fail_at(where, "'diff' knows no derivative of fields in space",
            "d_dx, d_dy and d_dz are by differences");
  if (by.kind == Kind::time && terms.contains(of, Kind::unknown))
    fail_at(where, "'diff' knows no derivative of fields in time",
            "the rate of a field u is dt(u)");
  if (by.kind == Kind::unknown && terms.contains_under_operator(of, by.kind, by.index))
    fail_at(where, "'diff' is at a point by itself", "the name stands under a derivative in space");
}

Ranked make_diff(OperatorCall const& call) {
  Ranked const& name = call.arguments[1];
  Node const by = call.terms[name.terms[0]];
  if (name.rank > 0) fail_rank(call, 1, "a scalar second");
  if (by.kind != Kind::unknown && by.kind != Kind::coordinate && by.kind != Kind::time)
    fail_at(name.begin, "'diff' is with respect to a name",
            "a field, a component of one, x, y, z or t");
  return each(call, call.arguments[0], [&](Term term) {
    check_diff(call, term, by);
    return call.terms.partial(term, name.terms[0]);
  });
}

Ranked make_dt(OperatorCall const& call) {
  return each(call, call.arguments[0], [&](Term term) {
    Node const field = call.terms[term];
    if (field.kind != Kind::unknown)
      fail_at(call.arguments[0].begin, "'dt' is of a field alone",
              "it stands for the right-hand side of the field's equation");
    return call.rate(field.index);
  });
}

template <Kind kind>
Ranked make_global(OperatorCall const& call) {
  bool const orders = kind == Kind::least || kind == Kind::greatest;
  if (orders && call.arguments[0].rank > 0) fail_rank(call, 0, "a scalar", "norm");
  return each(call, call.arguments[0], [&](Term term) { return call.terms.global(kind, term); });
}

template <Kind kind>
Ranked make_random(OperatorCall const& call) {
  Ranked const& seed = call.arguments[0];
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  Node const& node = call.terms[seed.terms[0]];
  double const value = node.value;
  if (seed.rank > 0 || node.kind != Kind::number || !(value >= 0 && value <= most) ||
      value != std::floor(value))
    fail_at(seed.begin, fmt::format("'{}' takes a seed", call.operation.name),
            fmt::format("a whole number from 0 to {:.0f}", most));
  return scalar(call.terms.random(kind, static_cast<std::int32_t>(value)));
}

constexpr Operation none = Operation::number;

constexpr LanguageOperator operator_table[] = {
    {{"d_dx", none, 1, false, "d_dx(v)", "derivative along x, of any rank"},
     make_derivative<1, 0, 0>},
    {{"d_dy", none, 1, false, "d_dy(v)", "derivative along y"}, make_derivative<0, 1, 0>},
    {{"d_dz", none, 1, false, "d_dz(v)", "derivative along z"}, make_derivative<0, 0, 1>},
    {{"d2_dx2", none, 1, false, "d2_dx2(v)", "second derivative along x"},
     make_derivative<2, 0, 0>},
    {{"d2_dy2", none, 1, false, "d2_dy2(v)", "second derivative along y"},
     make_derivative<0, 2, 0>},
    {{"d2_dz2", none, 1, false, "d2_dz2(v)", "second derivative along z"},
     make_derivative<0, 0, 2>},
    {{"d2_dxdy", none, 1, false, "d2_dxdy(v)", "mixed derivative along x and y"},
     make_derivative<1, 1, 0>},
    {{"d2_dxdz", none, 1, false, "d2_dxdz(v)", "mixed derivative along x and z"},
     make_derivative<1, 0, 1>},
    {{"d2_dydz", none, 1, false, "d2_dydz(v)", "mixed derivative along y and z"},
     make_derivative<0, 1, 1>},
    {{"laplace", none, 1, false, "laplace(v)", "sum of the second derivatives"}, make_laplace},
    {{"grad", none, 1, false, "grad(v)",
      "gradient: of a scalar a vector, of a vector the tensor d v_i/d x_j"},
     make_grad},
    {{"div", none, 1, false, "div(v)",
      "divergence of a vector or a tensor, by fluxes through faces"},
     make_div},
    {{"curl", none, 1, false, "curl(v)",
      "rotation: of a vector of two components a scalar and back, of three a vector"},
     make_curl},
    {{"dot", none, 2, false, "dot(a, b)",
      "product summed over the last index of a and the first of b"},
     make_dot},
    {{"outer", none, 2, false, "outer(a, b)", "tensor a_i b_j of two vectors"}, make_outer},
    {{"norm", none, 1, false, "norm(v)", "root of the sum of the squares of all components"},
     make_norm},
    {{"norm2", none, 1, false, "norm2(v)", "sum of the squares of all components"}, make_norm2},
    {{"identity", none, 0, false, "identity", "the tensor with 1 where i is j, else 0"},
     make_identity},
    {{"advect", none, 2, false, "advect(v, e)",
      "change of e along a vector, the sum of v_i d e/d x_i; keeps no integral"},
     make_advect},
    {{"diff", none, 2, false, "diff(e, name)",
      "derivative of e by a name, by the rules of calculus"},
     make_diff},
    {{"dt", none, 1, false, "dt(u)", "the right-hand side of a field's equation"}, make_dt},
    {{"integral", none, 1, false, "integral(v)",
      "integral over the grid by the trapezoidal rule, of any rank"},
     make_global<Kind::integral>},
    {{"mean", none, 1, false, "mean(v)", "the integral over the measure of the grid"},
     make_global<Kind::mean>},
    {{"min", Operation::min, 1, true, "min(v)", "the least of a scalar over all points"},
     make_global<Kind::least>},
    {{"max", Operation::max, 1, true, "max(v)", "the greatest of a scalar over all points"},
     make_global<Kind::greatest>},
    {{"uniform", none, 1, false, "uniform(seed)",
      "random numbers between 0 and 1, one at each point"},
     make_random<Kind::uniform>},
    {{"normal", none, 1, false, "normal(seed)", "random numbers of mean 0 and variance 1"},
     make_random<Kind::normal>},
    {{"noise", none, 1, false, "noise(seed)",
      "noise that is white in time: normal numbers over sqrt(dt), anew in each step"},
     make_random<Kind::noise>},
};

}  // namespace

std::string_view noun_of_rank(int rank) {
  constexpr std::string_view nouns[] = {"a scalar", "a vector", "a tensor"};
  return nouns[rank];
}

std::span<LanguageOperator const> operators() { return operator_table; }

}  // namespace gridstride::equations

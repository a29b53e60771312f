#pragma once

#include <array>
#include <functional>
#include <vector>

#include "equations/discretise.hpp"

/// Stencils that are evaluated at a point, with functions in the place of fields.
namespace gridstride::equations::test {

using Function = std::function<double(double, double, double)>;

/// What a program's results come to, given the values of coordinates and unknowns.
inline std::vector<double> results_of(StencilProgram const& program,
                                      std::function<double(Node const&)> const& given) {
  std::vector<double> values, results;
  for (Node const& node : program.code) {
    auto const operand = [&](std::size_t i) {
      return node.operands[i] < 0 ? 0 : values[static_cast<std::size_t>(node.operands[i])];
    };
    if (node.kind == Kind::number)
      values.push_back(node.value);
    else if (node.kind == Kind::coordinate || node.kind == Kind::unknown)
      values.push_back(given(node));
    else
      values.push_back(expression::apply(node.operation, operand(0), operand(1), operand(2)));
  }
  for (int const result : program.results)
    results.push_back(values[static_cast<std::size_t>(result)]);
  return results;
}

/// A system of one or two unknowns that functions of space stand for.
struct Discretised {
  System system{.dims = 3, .terms = {}, .unknowns = {{"u", 1, 0}, {"v", 1, 1}}, .rates = {}};
  Terms& terms = system.terms;
  Term u = terms.unknown(0), v = terms.unknown(1);
  Grid grid{.dims = 3, .points = {99, 99, 99}, .origin = {}, .spacing = {0.5, 0.25, 0.125}};

  StencilProgram program(Term rate) {
    system.rates = {rate};
    Stencil const stencil = discretise(system, grid, space);
    return program_of(stencil.terms, stencil.rates, 3);
  }
  /// The rate at (1, 2, 3)·`h`/2 with spacings of `h`, `h`/2 and `h`/4 times what u and v are.
  double rate(Term term, Function const& of_u, Function const& of_v = {}) {
    return results_of(program(term), [&](Node const& node) {
      std::array<double, 3> at;
      for (std::size_t a = 0; a < 3; ++a) at[a] = place[a] + node.orders[a] * grid.spacing[a];
      if (node.kind == Kind::coordinate) return at[static_cast<std::size_t>(node.index)];
      return (node.index == 0 ? of_u : of_v)(at[0], at[1], at[2]);
    })[0];
  }
  std::array<double, 3> place = {0.75, 0.5, 1.25};
  Space space;
};

}  // namespace gridstride::equations::test

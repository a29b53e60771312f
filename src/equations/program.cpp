// Terms as straight-line code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "equations/discretise.hpp"

namespace gridstride::equations {

bool StencilProgram::depends_on_time() const {
  return std::ranges::any_of(code, [](Node const& node) { return node.kind == Kind::time; });
}

bool StencilProgram::has_noise() const {
  return std::ranges::any_of(code, [](Node const& node) { return node.kind == Kind::noise; });
}

namespace {

/// Whether this is ± a power of 2, whose reciprocal is as exact.
bool is_power_of_two(Node const& divisor) {
  int exponent = 0;
  return divisor.kind == Kind::number && std::abs(std::frexp(divisor.value, &exponent)) == 0.5 &&
         std::abs(exponent) < 64;  // in float32, too
}

}  // namespace

StencilProgram program_of(Terms const& terms, std::span<Term const> results, int dims) {
  std::vector<char> needed(terms.size(), 0);
  for (Term const result : results) needed[static_cast<std::size_t>(result)] = 1;
  for (std::size_t place = terms.size(); place-- > 0;) {
    if (!needed[place]) continue;
    Node const& node = terms[static_cast<Term>(place)];
    for (int i = 0; i < operand_count(node); ++i)
      needed[static_cast<std::size_t>(node.operands[static_cast<std::size_t>(i)])] = 1;
  }
  StencilProgram program;
  program.dims = dims;
  std::vector<std::int32_t> number(terms.size(), -1);
  for (std::size_t place = 0; place < terms.size(); ++place) {
    if (!needed[place]) continue;
    Node node = terms[static_cast<Term>(place)];
    for (int i = 0; i < operand_count(node); ++i) {
      auto& operand = node.operands[static_cast<std::size_t>(i)];
      operand = number[static_cast<std::size_t>(operand)];
    }
    if (node.kind == Kind::found) program.found = std::max(program.found, node.index + 1);
    if (node.kind == Kind::unknown)
      program.components = std::max(program.components, node.index + 1);
    if (node.kind == Kind::unknown || is_random(node.kind)) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        program.reach[axis] = std::max(program.reach[axis], std::abs(int{node.orders[axis]}));
    }
    if (node.kind == Kind::operation && node.operation == expression::Operation::divide) {
      Node const divisor = program.code[static_cast<std::size_t>(node.operands[1])];
      if (is_power_of_two(divisor)) {
        node.operation = expression::Operation::multiply;
        node.operands[1] = static_cast<std::int32_t>(program.code.size());
        program.code.push_back({.kind = Kind::number, .value = 1 / divisor.value});
      }
    }
    number[place] = static_cast<std::int32_t>(program.code.size());
    program.code.push_back(node);
  }
  for (Term const result : results)
    program.results.push_back(number[static_cast<std::size_t>(result)]);
  return program;
}

StencilProgram whole_program(Stencil const& stencil, int dims) {
  auto results = stencil.rates;
  results.insert(results.end(), stencil.operands.begin(), stencil.operands.end());
  for (auto const& name : stencil.names) results.insert(results.end(), name.begin(), name.end());
  return program_of(stencil.terms, results, dims);
}

}  // namespace gridstride::equations

#include "expression/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace gridstride::expression {
namespace {

using BlockFunction = void(double const* a, double const* b, double const* c, double* result,
                           int points);

/// result[i] = operation(a[i], b[i], c[i]); `result` may be one of the operands.
template <Operation operation>
void apply_to_block(double const* a, double const* b, double const* c, double* result, int points) {
#pragma GCC ivdep
  for (int i = 0; i < points; ++i) result[i] = apply(operation, a[i], b[i], c[i]);
}

template <std::size_t... operations>
constexpr std::array<BlockFunction*, sizeof...(operations)> list_block_functions(
    std::index_sequence<operations...>) {
  return {&apply_to_block<static_cast<Operation>(operations)>...};
}

/// Indexed by operation.
constexpr auto block_functions = list_block_functions(std::make_index_sequence<operation_count>());

}  // namespace

std::vector<Instruction> to_instructions(Expression const& expression) {
  std::vector<Instruction> code;
  code.reserve(expression.nodes().size());
  for (Node const& node : expression.nodes())
    code.push_back({node.operation, node.variable, node.value});
  return code;
}

BlockEvaluator::BlockEvaluator(std::span<Instruction const> code) : code_(code) {
  for (Instruction const& instruction : code)
    if (instruction.operation == Operation::variable)
      variable_count_ =
          std::max(variable_count_, static_cast<std::size_t>(instruction.variable) + 1);
}

void BlockEvaluator::evaluate(std::span<double const* const> variables, std::int64_t points,
                              double* result) {
  if (variables.size() < variable_count_)
    throw std::invalid_argument(
        fmt::format("BlockEvaluator: the formula is of {} variables, {} are given", variable_count_,
                    variables.size()));
  for (std::int64_t start = 0; start < points; start += block_size) {
    auto const size = static_cast<int>(std::min<std::int64_t>(block_size, points - start));
    evaluate_block(variables, start, size, result + start);
  }
}

void BlockEvaluator::evaluate_block(std::span<double const* const> variables, std::int64_t start,
                                    int points, double* result) {
  // An entry of the stack is a variable or the slot of its place, so variables are not copied.
  std::array<double const*, max_stack_depth> stack;
  int depth = 0;
  for (Instruction const& instruction : code_) {
    int const operands = operand_count(instruction.operation);
    if (operands > 0) {
      depth -= operands;
      double const* const a = stack[depth];
      double const* const b = operands > 1 ? stack[depth + 1] : a;
      double const* const c = operands > 2 ? stack[depth + 2] : a;
      auto const function = block_functions[static_cast<std::size_t>(instruction.operation)];
      double* const target = &instruction == &code_.back() ? result : slots_[depth];
      function(a, b, c, target, points);
      stack[depth] = target;
    } else if (instruction.operation == Operation::variable) {
      stack[depth] = variables[static_cast<std::size_t>(instruction.variable)] + start;
    } else {
      std::fill_n(slots_[depth], points, instruction.value);
      stack[depth] = slots_[depth];
    }
    ++depth;
  }
  if (stack[0] != result) std::copy_n(stack[0], points, result);
}

}  // namespace gridstride::expression

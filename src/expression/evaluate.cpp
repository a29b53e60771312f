#include "expression/evaluate.hpp"

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
  for (Node const& node : expression.nodes()) code.push_back({node.operation, node.value});
  return code;
}

void BlockEvaluator::evaluate(std::span<double const> x, std::span<double const> y,
                              std::span<double const> z, double t, std::span<double> result) {
  std::size_t const size = result.size();
  if (x.size() != size || y.size() != size || z.size() != size)
    throw std::invalid_argument("BlockEvaluator: the sizes of coordinates and result differ");
  for (std::size_t start = 0; start < size; start += block_size) {
    auto const points = static_cast<int>(std::min<std::size_t>(block_size, size - start));
    evaluate_block(&x[start], &y[start], &z[start], t, &result[start], points);
  }
}

void BlockEvaluator::evaluate_block(double const* x, double const* y, double const* z, double t,
                                    double* result, int points) {
  // An entry of the stack is a coordinate or the slot of its place, so variables are not copied.
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
      function(a, b, c, slots_[depth], points);
      stack[depth] = slots_[depth];
    } else if (instruction.operation == Operation::x) {
      stack[depth] = x;
    } else if (instruction.operation == Operation::y) {
      stack[depth] = y;
    } else if (instruction.operation == Operation::z) {
      stack[depth] = z;
    } else {
      double const value = instruction.operation == Operation::number ? instruction.value : t;
      std::fill_n(slots_[depth], points, value);
      stack[depth] = slots_[depth];
    }
    ++depth;
  }
  std::copy_n(stack[0], points, result);
}

}  // namespace gridstride::expression

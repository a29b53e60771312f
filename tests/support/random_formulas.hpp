#pragma once

#include <random>

#include "expression/transform.hpp"

namespace gridstride::expression::test {

/// Random trees of every operation, of numbers that rounding and signs make awkward, and of the
/// first `variables` variables.
class RandomFormulas {
 public:
  explicit RandomFormulas(int variables) : variables_(variables) {}

  Expression next(int depth) {
    if (depth == 0 || pick(8) == 0) return leaf();
    auto const operation = static_cast<Operation>(2 + pick(operation_count - 2));
    int const operands = operand_count(operation);
    Expression const a = next(depth - 1);
    if (operands == 1) return apply(operation, a);
    Expression const b = pick(8) == 0 ? a : next(depth - 1);
    return operands == 2 ? apply(operation, a, b) : apply(operation, a, b, next(depth - 1));
  }

 private:
  int pick(int count) { return std::uniform_int_distribution(0, count - 1)(engine_); }

  Expression leaf() {
    static constexpr double numbers[] = {0.0, -0.0, 1, -1, 2, 3, -2, 0.1, 1e-300, 1e300};
    return pick(2) == 0 ? Expression::variable(pick(variables_))
                        : Expression(numbers[pick(static_cast<int>(std::size(numbers)))]);
  }

  int variables_;
  std::mt19937 engine_{20251121};
};

}  // namespace gridstride::expression::test

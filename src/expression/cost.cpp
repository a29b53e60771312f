#include "expression/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "expression/transform.hpp"

namespace gridstride::expression {

namespace {

struct Cost {
  Operation operation;
  double instructions;
};

/// Operations that take more than one instruction.
constexpr Cost costs[] = {
    {Operation::divide, 9}, {Operation::power, 60}, {Operation::exp, 15},   {Operation::log, 22},
    {Operation::sin, 16},   {Operation::cos, 16},   {Operation::tan, 32},   {Operation::asin, 22},
    {Operation::acos, 22},  {Operation::atan, 24},  {Operation::sinh, 24},  {Operation::cosh, 20},
    {Operation::tanh, 28},  {Operation::sqrt, 9},   {Operation::cbrt, 18},  {Operation::mod, 20},
    {Operation::erf, 30},   {Operation::erfc, 40},  {Operation::atan2, 36},
};

/// The products of a whole power up to the 8th.
double products(double exponent) {
  double const n = std::abs(exponent);
  return n < 2 ? 1 : std::floor(std::log2(n)) + (n == 3 || n == 5 || n == 6 ? 1 : n == 7 ? 2 : 0);
}

}  // namespace

double arithmetic_cost(Operation operation, double exponent) {
  if (operand_count(operation) == 0) return 0;
  bool const whole = exponent == std::floor(exponent) && std::abs(exponent) <= 8;
  if (operation == Operation::power && whole) return products(exponent) + (exponent < 0 ? 9 : 0);
  auto const cost = std::ranges::find(costs, operation, &Cost::operation);
  return cost == std::end(costs) ? 1 : cost->instructions;
}

double arithmetic_cost(Expression const& formula) {
  Expression const expression = simplified(formula);
  double total = 0;
  for (Node const& node : expression.nodes()) {
    double exponent = std::numeric_limits<double>::quiet_NaN();
    if (node.operation == Operation::power)
      if (Node const& of = expression.nodes()[static_cast<std::size_t>(node.operands[1])];
          of.operation == Operation::number)
        exponent = of.value;
    total += arithmetic_cost(node.operation, exponent);
  }
  return total;
}

}  // namespace gridstride::expression

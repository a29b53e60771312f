#include "expression/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "expression/print.hpp"

namespace gridstride::expression {
namespace {

constexpr FunctionInfo function_table[] = {
    {"if", Operation::select, 3, false, "if(c, a, b)", "b where c is 0, else a"},
    {"exp", Operation::exp, 1, false, "exp(v)", "e to the power v"},
    {"log", Operation::log, 1, false, "log(v)", "natural logarithm"},
    {"sin", Operation::sin, 1, false, "sin(v)", "sine of v in radians"},
    {"cos", Operation::cos, 1, false, "cos(v)", "cosine of v in radians"},
    {"tan", Operation::tan, 1, false, "tan(v)", "tangent of v in radians"},
    {"asin", Operation::asin, 1, false, "asin(v)", "inverse sine, in [-pi/2, pi/2]"},
    {"acos", Operation::acos, 1, false, "acos(v)", "inverse cosine, in [0, pi]"},
    {"atan", Operation::atan, 1, false, "atan(v)", "inverse tangent, in [-pi/2, pi/2]"},
    {"sinh", Operation::sinh, 1, false, "sinh(v)", "hyperbolic sine"},
    {"cosh", Operation::cosh, 1, false, "cosh(v)", "hyperbolic cosine"},
    {"tanh", Operation::tanh, 1, false, "tanh(v)", "hyperbolic tangent"},
    {"sqrt", Operation::sqrt, 1, false, "sqrt(v)", "square root"},
    {"cbrt", Operation::cbrt, 1, false, "cbrt(v)", "cube root, also of negative numbers"},
    {"abs", Operation::abs, 1, false, "abs(v)", "absolute value"},
    {"sign", Operation::sign, 1, false, "sign(v)", "-1, 0 or 1"},
    {"min", Operation::min, 2, true, "min(a, b, ...)", "smallest argument that is a number"},
    {"max", Operation::max, 2, true, "max(a, b, ...)", "largest argument that is a number"},
    {"floor", Operation::floor, 1, false, "floor(v)", "largest integer not above v"},
    {"ceil", Operation::ceil, 1, false, "ceil(v)", "smallest integer not below v"},
    {"mod", Operation::mod, 2, false, "mod(a, b)", "a - b*floor(a/b), with the sign of b"},
    {"erf", Operation::erf, 1, false, "erf(v)", "error function"},
    {"erfc", Operation::erfc, 1, false, "erfc(v)", "1 - erf(v), accurate where that is small"},
    {"pow", Operation::power, 2, false, "pow(a, b)", "a^b"},
    {"atan2", Operation::atan2, 2, false, "atan2(y, x)", "angle of the point (x, y)"},
    {"step", Operation::step, 1, false, "step(v)", "0 where v < 0, else 1"},
};

}  // namespace

std::span<FunctionInfo const> functions() { return function_table; }

Expression::Expression(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  if (nodes_.size() > static_cast<std::size_t>(max_tree_nodes))
    throw Error(fmt::format("a formula that is put together has {} parts (at most {})",
                            nodes_.size(), max_tree_nodes));
  std::vector<std::int32_t> open;  // subtrees that no operation has taken yet
  std::size_t deepest = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    Node const& node = nodes_[k];
    auto const count = static_cast<std::size_t>(operand_count(node.operation));
    bool const is_variable = node.operation == Operation::variable;
    if (open.size() < count ||
        !std::equal(open.end() - static_cast<std::ptrdiff_t>(count), open.end(),
                    node.operands.begin()) ||
        (is_variable && (node.variable < 0 || node.variable >= max_variables)))
      throw std::invalid_argument(fmt::format("Expression: node {} fits no tree", k));
    open.resize(open.size() - count);
    open.push_back(static_cast<std::int32_t>(k));
    deepest = std::max(deepest, open.size());
  }
  if (open.size() != 1)
    throw std::invalid_argument(fmt::format("Expression: {} trees in the list", open.size()));
  if (deepest > static_cast<std::size_t>(max_stack_depth))
    throw Error(fmt::format("a formula that is put together holds {} values at once (at most {})",
                            deepest, max_stack_depth));
  stack_depth_ = static_cast<int>(deepest);
}

Expression Expression::variable(int index) {
  return Expression(std::vector<Node>{{.operation = Operation::variable, .variable = index}});
}

bool Expression::is_constant() const { return variable_count() == 0; }

bool Expression::depends_on(int variable) const {
  return std::ranges::any_of(nodes_, [=](Node const& node) {
    return node.operation == Operation::variable && node.variable == variable;
  });
}

int Expression::variable_count() const {
  int count = 0;
  for (Node const& node : nodes_)
    if (node.operation == Operation::variable) count = std::max(count, node.variable + 1);
  return count;
}

std::string Expression::to_string(std::span<Variable const> variables) const {
  std::vector<Piece> stack;
  for (Node const& node : nodes_) {
    auto const count = static_cast<std::size_t>(operand_count(node.operation));
    std::span<Piece> const operands(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
    Piece piece;
    if (node.operation == Operation::number) {
      piece = print_number(node.value);
    } else if (node.operation == Operation::variable) {
      auto const variable = std::ranges::find(variables, node.variable, &Variable::index);
      piece.text = variable == variables.end() ? fmt::format("v{}", node.variable)
                                               : std::string(variable->name);
    } else {
      piece = print_operation(node.operation, operands);
    }
    stack.resize(stack.size() - count);
    stack.push_back(std::move(piece));
  }
  return std::move(stack.back().text);
}

double Expression::evaluate(double x, double y, double z, double t) const {
  return evaluate(std::array{x, y, z, t});
}

double Expression::evaluate(std::span<double const> values) const {
  if (int const needed = variable_count(); static_cast<std::size_t>(needed) > values.size())
    throw std::invalid_argument(fmt::format(
        "Expression: the formula is of {} variables, {} are given", needed, values.size()));
  return evaluate_point<max_stack_depth>(nodes_.data(), static_cast<int>(nodes_.size()),
                                         values.data());
}

}  // namespace gridstride::expression

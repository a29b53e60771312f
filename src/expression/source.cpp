#include "expression/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace gridstride::expression {
namespace {

/// How an operation is written in terms of its operands; the same as in `apply`. Operands are names
/// or literals, and negative literals have parentheses.
struct Pattern {
  Operation operation;
  std::string_view text;
};

constexpr Pattern patterns[] = {
    {Operation::negate, "-{0}"},
    {Operation::add, "{0} + {1}"},
    {Operation::subtract, "{0} - {1}"},
    {Operation::multiply, "{0} * {1}"},
    {Operation::divide, "{0} / {1}"},
    {Operation::power, "{1} == Real(2) ? {0} * {0} : pow({0}, {1})"},
    {Operation::less, "{0} < {1} ? Real(1) : Real(0)"},
    {Operation::less_equal, "{0} <= {1} ? Real(1) : Real(0)"},
    {Operation::greater, "{0} > {1} ? Real(1) : Real(0)"},
    {Operation::greater_equal, "{0} >= {1} ? Real(1) : Real(0)"},
    {Operation::equal, "{0} == {1} ? Real(1) : Real(0)"},
    {Operation::not_equal, "{0} != {1} ? Real(1) : Real(0)"},
    {Operation::select, "{0} != Real(0) ? {1} : {2}"},
    {Operation::exp, "exp({0})"},
    {Operation::log, "log({0})"},
    {Operation::sin, "sin({0})"},
    {Operation::cos, "cos({0})"},
    {Operation::tan, "tan({0})"},
    {Operation::asin, "asin({0})"},
    {Operation::acos, "acos({0})"},
    {Operation::atan, "atan({0})"},
    {Operation::sinh, "sinh({0})"},
    {Operation::cosh, "cosh({0})"},
    {Operation::tanh, "tanh({0})"},
    {Operation::sqrt, "sqrt({0})"},
    {Operation::cbrt, "cbrt({0})"},
    {Operation::abs, "fabs({0})"},
    {Operation::sign, "{0} > Real(0) ? Real(1) : {0} < Real(0) ? Real(-1) : {0}"},
    {Operation::min, "fmin({0}, {1})"},
    {Operation::max, "fmax({0}, {1})"},
    {Operation::floor, "floor({0})"},
    {Operation::ceil, "ceil({0})"},
    {Operation::mod, "gridstride::expression::floored_modulo({0}, {1})"},
    {Operation::erf, "erf({0})"},
    {Operation::erfc, "erfc({0})"},
    {Operation::atan2, "atan2({0}, {1})"},
    {Operation::step, "{0} < Real(0) ? Real(0) : Real(1)"},
};
static_assert(std::size(patterns) + 2 == operation_count, "all but numbers and variables");

bool is_commutative(Operation operation) {
  return operation == Operation::add || operation == Operation::multiply ||
         operation == Operation::equal || operation == Operation::not_equal;
}

/// The exponent of a power that is written as products; 0 for none.
int whole_exponent(Node const& exponent) {
  constexpr double largest = 8;
  bool const whole = exponent.operation == Operation::number &&
                     std::abs(exponent.value) <= largest &&
                     exponent.value == std::floor(exponent.value) && exponent.value != 1;
  return whole ? static_cast<int>(exponent.value) : 0;
}

class Printer {
 public:
  Printer(Precision precision, std::span<std::string const> variables, Powers powers)
      : precision_(precision), variables_(variables), powers_(powers) {}

  std::string print(Expression const& formula) {
    std::vector<std::string> values;  // of each node
    for (Node const& node : formula.nodes()) values.push_back(value_of(node, formula, values));
    return body_ + fmt::format("return {};\n", values.back());
  }

 private:
  std::string value_of(Node const& node, Expression const& formula,
                       std::vector<std::string> const& values) {
    if (node.operation == Operation::number) return literal(node.value);
    if (node.operation == Operation::variable)
      return variables_[static_cast<std::size_t>(node.variable)];
    std::array<std::string, 3> operands;
    for (int i = 0; i < operand_count(node.operation); ++i)
      operands[i] = values[static_cast<std::size_t>(node.operands[i])];
    if (node.operation == Operation::power) {
      int const exponent = whole_exponent(formula.nodes()[node.operands[1]]);
      if (exponent == 2 || (exponent != 0 && powers_ == Powers::by_products))
        return power(operands[0], exponent);
      if (formula.nodes()[node.operands[1]].operation == Operation::number)
        return named(fmt::format("pow({}, {})", operands[0], operands[1]));
    }
    if (is_commutative(node.operation) && operands[1] < operands[0])
      std::swap(operands[0], operands[1]);
    return named(operation_in_cuda(node.operation, operands));
  }

  /// The name of a value, computed by a line of its own where it is new.
  std::string named(std::string const& value) {
    auto const [known, is_new] = names_.try_emplace(value, fmt::format("t{}", names_.size()));
    if (is_new) body_ += fmt::format("Real const {} = {};\n", known->second, value);
    return known->second;
  }

  /// By squares, so that a^8 takes three products.
  std::string power(std::string const& base, int exponent) {
    if (exponent < 0) return named(fmt::format("{} / {}", literal(1), power(base, -exponent)));
    if (exponent == 1) return base;
    std::string const half = power(base, exponent / 2);
    std::string const square = named(fmt::format("{0} * {0}", half));
    return exponent % 2 == 0 ? square : named(fmt::format("{} * {}", base, square));
  }

  std::string literal(double value) const { return number_in_cuda(value, precision_); }

  Precision precision_;
  std::span<std::string const> variables_;
  Powers powers_;
  std::map<std::string, std::string> names_;  // of what was computed, by its text
  std::string body_;
};

}  // namespace

std::string operation_in_cuda(Operation operation, std::span<std::string const> operands) {
  auto const pattern = std::ranges::find(patterns, operation, &Pattern::operation);
  if (pattern == std::end(patterns))
    throw std::invalid_argument("a number or a variable is no operation");
  std::array<std::string, 3> all;
  std::ranges::copy(operands, all.begin());
  return fmt::format(fmt::runtime(pattern->text), all[0], all[1], all[2]);
}

std::string number_in_cuda(double value, Precision precision) {
  bool const single = precision == Precision::float32;
  double const rounded = single ? static_cast<double>(static_cast<float>(value)) : value;
  std::string text =
      single ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000)";
  if (std::isinf(rounded))
    text = single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000)";
  else if (std::isfinite(rounded))
    text = fmt::format("{:a}{}", std::abs(rounded), single ? "f" : "");
  return std::signbit(rounded) && !std::isnan(rounded) ? fmt::format("(-{})", text) : text;
}

std::string to_cuda(Expression const& formula, Precision precision,
                    std::span<std::string const> variables, Powers powers) {
  if (static_cast<std::size_t>(formula.variable_count()) > variables.size())
    throw std::invalid_argument(fmt::format("to_cuda: the formula is of {} variables, {} are named",
                                            formula.variable_count(), variables.size()));
  return Printer(precision, variables, powers).print(formula);
}

}  // namespace gridstride::expression

#include "expression/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

/// An operator: its text, its own level, and the levels that its operands need to stand bare.
struct OperatorInfo {
  Operation operation;
  std::string_view text;
  Level level, left, right;
};

using enum Level;

constexpr OperatorInfo operator_table[] = {
    {Operation::less, " < ", comparison, sum, sum},
    {Operation::less_equal, " <= ", comparison, sum, sum},
    {Operation::greater, " > ", comparison, sum, sum},
    {Operation::greater_equal, " >= ", comparison, sum, sum},
    {Operation::equal, " == ", comparison, sum, sum},
    {Operation::not_equal, " != ", comparison, sum, sum},
    {Operation::add, " + ", sum, sum, product},
    {Operation::subtract, " - ", sum, sum, product},
    {Operation::multiply, "*", product, product, sign},
    {Operation::divide, "/", product, product, sign},
    {Operation::power, "^", power, primary, sign},
};

std::string at_level(Piece& piece, Level needed) {
  return piece.level >= needed ? std::move(piece.text) : fmt::format("({})", piece.text);
}

/// "-3" is a number, so the negation of the number 3 is written "-(3)".
std::string print_negation(Piece& operand) {
  bool const of_number = operand.operation == Operation::number && operand.level == primary;
  return of_number ? fmt::format("-({})", operand.text)
                   : fmt::format("-{}", at_level(operand, sign));
}

/// A call of a function. min and max of a min or max become one call, which parses to the same.
std::string print_call(Operation operation, std::span<Piece> operands) {
  bool const variadic = operation == Operation::min || operation == Operation::max;
  std::string text;
  if (variadic && operands[0].operation == operation) {
    text = std::move(operands[0].text);
    text.pop_back();
  } else {
    auto const info = std::ranges::find(functions(), operation, &FunctionInfo::operation);
    text = fmt::format("{}({}", info->name, operands[0].text);
  }
  for (Piece const& operand : operands.subspan(1)) text.append(", ").append(operand.text);
  text.push_back(')');
  return text;
}

}  // namespace

Piece print_number(double value) {
  return {format_exact(value), std::signbit(value) ? sign : primary, Operation::number};
}

Piece print_operation(Operation operation, std::span<Piece> operands) {
  if (operation == Operation::negate) return {print_negation(operands[0]), sign, operation};
  auto const info = std::ranges::find(operator_table, operation, &OperatorInfo::operation);
  if (info == std::end(operator_table))
    return {print_call(operation, operands), primary, operation};
  Piece piece = {at_level(operands[0], info->left), info->level, operation};
  piece.text.append(info->text).append(at_level(operands[1], info->right));
  return piece;
}

}  // namespace gridstride::expression

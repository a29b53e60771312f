#pragma once

#include <span>
#include <string>

#include "expression/operations.hpp"

namespace gridstride::expression {

/// How tightly printed text holds together.
enum class Level { comparison, sum, product, sign, power, primary };

/// Printed text of a part of a formula.
struct Piece {
  std::string text;
  Level level = Level::primary;
  Operation operation = Operation::variable;  ///< its last one
};

/// A number as text that reads back as it.
Piece print_number(double value);

/// An operation on the operands that it takes, with the parentheses that they need.
Piece print_operation(Operation operation, std::span<Piece> operands);

}  // namespace gridstride::expression

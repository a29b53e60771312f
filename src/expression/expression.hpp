#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "expression/operations.hpp"

namespace gridstride::expression {

/// One node. Operands stand before it in the list (`operands` holds their places).
struct Node {
  Operation operation = Operation::number;
  std::int32_t variable = 0;  ///< the index of a variable
  double value = 0;           ///< of a number
  std::array<std::int32_t, 3> operands = {-1, -1, -1};
  bool operator==(Node const&) const = default;
};

/// A fault in a formula. `position` counts bytes from 0.
class ParseError : public Error {
 public:
  ParseError(std::string const& message, std::size_t position)
      : Error(message), position_(position) {}
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

/// Names that a formula may use beside pi, e and the variables, which win over equal symbols.
using Symbols = std::map<std::string, double, std::less<>>;

/// A variable of a formula: its name, and its index below `max_variables`.
struct Variable {
  std::string_view name;
  int index;
};

/// The variables of fields: the axes of space, then time.
inline constexpr int time_variable = 3;
inline constexpr std::array<Variable, 4> space_and_time = {
    {{"x", 0}, {"y", 1}, {"z", 2}, {"t", time_variable}}};

/// The first of the variables that stand for arrays with a value at each point, where a formula is
/// of fields, too: array i is variable `first_array + i`.
inline constexpr int first_array = time_variable + 1;

/// A function that formulas may call.
struct FunctionInfo {
  std::string_view name;
  Operation operation;
  int arguments;               ///< how many it takes
  bool or_more;                ///< whether it takes more than that
  std::string_view signature;  ///< `min(a, b, ...)`
  std::string_view doc;        ///< one line
};

/// The table of all functions; the first row of an operation has the name that is printed.
std::span<FunctionInfo const> functions();

/// Bounds of a formula. The stack is bounded by `max_stack_depth`.
inline constexpr std::size_t max_formula_bytes = 64 * 1024;
inline constexpr int max_formula_nodes = 4096;
inline constexpr int max_formula_nesting = 200;
/// Bound of a tree that others were put together into.
inline constexpr int max_tree_nodes = 65'536;

/// A formula of some variables as a plain value: its syntax tree, stored as a list in post-order
/// (every operand before its operator, each node used once, the root last). Read as postfix code
/// the list is also a program for a stack machine, which is how host and device evaluate it.
class Expression {
 public:
  /// The number 0.
  Expression() : nodes_{Node{}} {}
  explicit Expression(double value) : nodes_{Node{.value = value}} {}
  /// A tree that was put together elsewhere. Throws `std::invalid_argument` when the list is none,
  /// or a variable's index is out of range, and `Error` when it is over a bound of formulas.
  explicit Expression(std::vector<Node> nodes);
  /// Variable number `index`.
  static Expression variable(int index);

  /// Grammar, weakest first: one comparison (< <= > >= == !=), + -, * /, unary - +, ^ (to the
  /// right; its exponent may have a sign), then numbers, names, calls and parentheses.
  /// Throws `ParseError` with the position of the fault.
  static Expression parse(std::string_view text, Symbols const& symbols = {},
                          std::span<Variable const> variables = space_and_time);

  std::span<Node const> nodes() const { return nodes_; }
  /// Depth of the stack that evaluation needs.
  int stack_depth() const { return stack_depth_; }
  bool is_constant() const;
  bool depends_on(int variable) const;
  /// One more than the greatest index of a variable in it; 0 when it is constant.
  int variable_count() const;
  /// Text that parses to the same tree with the same variables, as long as its numbers are finite.
  /// Variables that are not among these are called v0, v1, ... by their index.
  std::string to_string(std::span<Variable const> variables = space_and_time) const;
  /// The value at one point of space and time.
  double evaluate(double x, double y = 0, double z = 0, double t = 0) const;
  /// The value where variable k is `values[k]`. Throws `std::invalid_argument` for too few values.
  double evaluate(std::span<double const> values) const;
  bool operator==(Expression const& other) const { return nodes_ == other.nodes_; }

 private:
  std::vector<Node> nodes_;
  int stack_depth_ = 1;
};

}  // namespace gridstride::expression

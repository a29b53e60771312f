#pragma once

#include <array>
#include <cstdint>

#include "expression/expression.hpp"

/// Trees made of trees. What is put together may have up to `max_tree_nodes` parts and needs a
/// stack of at most `max_stack_depth`; each function throws `Error` beyond that.
namespace gridstride::expression {

/// The tree of one operation on the operands that it takes, the first of these.
/// Throws `std::invalid_argument` for numbers and variables, which take none.
Expression apply(Operation operation, Expression const& a, Expression const& b = {},
                 Expression const& c = {});

Expression operator-(Expression const& a);
Expression operator+(Expression const& a, Expression const& b);
Expression operator-(Expression const& a, Expression const& b);
Expression operator*(Expression const& a, Expression const& b);
Expression operator/(Expression const& a, Expression const& b);

/// The formula with constant parts computed, and with what never changes a value left out: a·1,
/// a/1, a − 0, a + (−0), −(−a), a^1, a^0 = 1, and the part of `if` that a constant chooses. It has
/// the same values to the last bit, also where they are infinite or not a number, when it is
/// evaluated on the host; a GPU's functions may differ from the host's in the last bits.
Expression simplified(Expression const& formula);

/// The derivative with respect to a variable, by the rules of calculus. floor, ceil, sign, step and
/// comparisons are constant between their jumps, and count as such: their derivative is 0. `abs`,
/// `min`, `max` and `if` have the derivative of the branch that is taken, and abs 0 at 0. mod(a, b)
/// is a − b·floor(a/b).
Expression derivative(Expression const& formula, int variable);

/// The formula with `replacement` in the place of a variable.
Expression substitute(Expression const& formula, int variable, Expression const& replacement);

/// A formula's part by its number, where parts may share operands.
using Part = std::int32_t;
inline constexpr Part no_part = -1;

/// What makes parts of formulas.
class PartMaker {
 public:
  virtual Part number(double value) = 0;
  /// One operation on the operands that it takes, the first of these.
  virtual Part make(Operation operation, Part a, Part b = no_part, Part c = no_part) = 0;

 protected:
  ~PartMaker() = default;
};

/// One step of `derivative`: that of part f, an operation on `operands` whose derivatives are
/// `slopes`. `no_part` stands for a derivative that is 0.
Part derivative(PartMaker& maker, Operation operation, Part f, std::array<Part, 3> operands,
                std::array<Part, 3> slopes);

}  // namespace gridstride::expression

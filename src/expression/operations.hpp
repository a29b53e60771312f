#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "core/host_device.hpp"

/// What each operation of a formula means, once for host and device.
namespace gridstride::expression {

/// What a node of the syntax tree does with its operands.
// clang-format off
enum class Operation : unsigned char {
  number,    // a constant
  variable,  // one of those that the formula is of
  negate, add, subtract, multiply, divide, power,
  less, less_equal, greater, greater_equal, equal, not_equal,  // 1 or 0
  select,  // if(c, a, b): b where c is 0, else a
  exp, log, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, sqrt, cbrt, abs, sign,
  min, max, floor, ceil, mod, erf, erfc, atan2, step,
};
// clang-format on

inline constexpr int operation_count = static_cast<int>(Operation::step) + 1;

/// The deepest evaluation stack that a formula may need.
inline constexpr int max_stack_depth = 64;

/// The most variables that a formula may be of.
inline constexpr int max_variables = 24;

/// One instruction of the stack machine: a node of the syntax tree without its operands, which
/// are on the stack.
struct Instruction {
  Operation operation = Operation::number;
  int variable = 0;  ///< the index of a variable
  double value = 0;  ///< of a number
};

/// How many operands an operation takes from the stack; 0 for numbers and variables.
GRIDSTRIDE_HOST_DEVICE constexpr int operand_count(Operation operation) {
  if (operation <= Operation::variable) return 0;
  if (operation == Operation::negate) return 1;
  if (operation <= Operation::not_equal) return 2;
  if (operation == Operation::select) return 3;
  return operation == Operation::min || operation == Operation::max ||
                 operation == Operation::mod || operation == Operation::atan2
             ? 2
             : 1;
}

/// a modulo b with the sign of b, from the exact remainder. A zero takes the sign of b too.
template <class Real>
GRIDSTRIDE_HOST_DEVICE Real floored_modulo(Real a, Real b) {
  Real const remainder = ::fmod(a, b);
  if (remainder == 0) return ::copysign(Real(0), b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/// The result of one operation, in the arithmetic of `Real`, on the operands that it takes of a, b
/// and c (in this order). IEEE semantics: comparisons with NaN are false except `!=`, min and max
/// return the operand that is a number, sign(0) is 0 and sign(NaN) is NaN, step(NaN) is 1,
/// if(NaN, a, b) is a. Inlined always, so that a constant `operation` leaves one branch.
template <class Real>
GRIDSTRIDE_HOST_DEVICE __attribute__((always_inline)) inline Real apply_as(Operation operation,
                                                                           Real a, Real b, Real c) {
  // clang-format off
  switch (operation) {
    case Operation::negate: return -a;
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply: return a * b;
    case Operation::divide: return a / b;
    case Operation::power: return b == 2 ? a * a : ::pow(a, b);  // a*a is pow(a, 2), rounded right
    case Operation::less: return a < b;
    case Operation::less_equal: return a <= b;
    case Operation::greater: return a > b;
    case Operation::greater_equal: return a >= b;
    case Operation::equal: return a == b;
    case Operation::not_equal: return a != b;
    case Operation::select: return a != 0 ? b : c;
    case Operation::exp: return ::exp(a);
    case Operation::log: return ::log(a);
    case Operation::sin: return ::sin(a);
    case Operation::cos: return ::cos(a);
    case Operation::tan: return ::tan(a);
    case Operation::asin: return ::asin(a);
    case Operation::acos: return ::acos(a);
    case Operation::atan: return ::atan(a);
    case Operation::sinh: return ::sinh(a);
    case Operation::cosh: return ::cosh(a);
    case Operation::tanh: return ::tanh(a);
    case Operation::sqrt: return ::sqrt(a);
    case Operation::cbrt: return ::cbrt(a);
    case Operation::abs: return ::fabs(a);
    case Operation::sign: return a > 0 ? Real(1) : a < 0 ? Real(-1) : a;
    case Operation::min: return ::fmin(a, b);
    case Operation::max: return ::fmax(a, b);
    case Operation::floor: return ::floor(a);
    case Operation::ceil: return ::ceil(a);
    case Operation::mod: return floored_modulo(a, b);
    case Operation::erf: return ::erf(a);
    case Operation::erfc: return ::erfc(a);
    case Operation::atan2: return ::atan2(a, b);
    case Operation::step: return a < 0 ? 0 : 1;
    case Operation::number:
    case Operation::variable: break;  // these have no operands
  }
  // clang-format on
  return 0;
}

/// The same in float64.
GRIDSTRIDE_HOST_DEVICE __attribute__((always_inline)) inline double apply(Operation operation,
                                                                          double a, double b,
                                                                          double c) {
  return apply_as<double>(operation, a, b, c);
}

/// The value at one point of `length` nodes or instructions in post-order. `variables[k]` is the
/// value of variable k. `capacity` is at least the stack depth that they need: the top of the stack
/// is a register, the rest is memory.
template <int capacity, class Code, class Variables>
GRIDSTRIDE_HOST_DEVICE double evaluate_point(Code const* code, int length,
                                             Variables const& variables) {
  double stack[capacity];
  double top = 0;
  int depth = 0;
  for (int k = 0; k < length; ++k) {
    Operation const operation = code[k].operation;
    int const operands = operand_count(operation);
    if (operands == 0) {
      stack[depth++] = top;  // the first push stores a value that nobody reads
      top = operation == Operation::number ? code[k].value : variables[code[k].variable];
      continue;
    }
    double a = top, b = top, c = top;
    if (operands == 3) b = stack[--depth];
    if (operands >= 2) a = stack[--depth];
    top = apply(operation, a, b, c);
  }
  return top;
}

}  // namespace gridstride::expression

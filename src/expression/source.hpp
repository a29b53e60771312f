#pragma once

#include <span>
#include <string>

#include "core/precision.hpp"
#include "expression/expression.hpp"

namespace gridstride::expression {

/// How a ^ n is computed for a whole number n from −8 to 8 other than 0, 1 and 2.
enum class Powers {
  by_function,  ///< pow(a, n), as `apply` does it on host and device
  by_products,  ///< a·a·… and for n < 0 its reciprocal: faster, and within |n|·ε of the value
};

/// The body of a CUDA function that returns the formula's value, one line per operation:
///
///     Real const t0 = v[0] * v[0];
///     Real const t1 = exp(t0);
///     return t1;
///
/// `Real` is float or double as `precision` says; a formula's numbers are rounded to it once.
/// Variable k is printed as `variables[k]`, which is not text of a user's. Every value is computed
/// once, in the operations of `apply`; nothing in the text comes from anywhere but the tree and
/// fixed tables. It needs "expression/operations.hpp" before it. Throws `std::invalid_argument`
/// when the formula is of more variables.
std::string to_cuda(Expression const& formula, Precision precision,
                    std::span<std::string const> variables, Powers powers = Powers::by_function);

/// An operation as CUDA text in terms of its operands, which are names or literals; a power is by
/// `pow`. Throws `std::invalid_argument` for numbers and variables.
std::string operation_in_cuda(Operation operation, std::span<std::string const> operands);

/// A number as a literal of CUDA, rounded to the precision; negative ones in parentheses.
std::string number_in_cuda(double value, Precision precision);

}  // namespace gridstride::expression

#pragma once

#include "expression/expression.hpp"

namespace gridstride::expression {

/// About how many instructions of a GPU's arithmetic units (fused multiply-adds, or what takes as
/// long) one evaluation takes: by a table of what CUDA's functions of float64 take for usual
/// arguments, each operation of the tree by itself, but those of constants. Whole powers count
/// their products.
double arithmetic_cost(Expression const& formula);
/// The same of one operation, of a power by the number `exponent`, which else does not count.
double arithmetic_cost(Operation operation, double exponent);

}  // namespace gridstride::expression

#pragma once

#include "expression/expression.hpp"

namespace gridstride::expression {

/// About how many instructions of a GPU's arithmetic units (fused multiply-adds, or what takes as
/// long) one evaluation takes: by a table of what CUDA's functions of float64 take for usual
/// arguments, each operation of the tree by itself, but those of constants. Whole powers count
/// their products.
double arithmetic_cost(Expression const& formula);

}  // namespace gridstride::expression

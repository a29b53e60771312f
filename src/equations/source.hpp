#pragma once

#include <string>
#include <vector>

#include "core/precision.hpp"
#include "equations/discretise.hpp"

namespace gridstride::equations {

/// The body of a CUDA function that finds the results of a program, one line per value:
///
///     Real const v0 = at.template unknown<0, 1, 0>();
///     Real const v1 = fma(v0, 0x1p-1f, v0);
///     result[0] = v1;
///
/// A product that only one sum or difference uses, here and wherever else its pattern stands
/// (patterns.hpp), is one fused operation with it: the first operand where both are such products.
/// So a value has the same bits from whichever point it is looked at. Nothing else is fused,
/// reordered or computed twice, so that every kernel that is compiled without contraction gives the
/// same bits. Numbers are rounded to the precision. Nothing in the text comes from anywhere but the
/// program and fixed tables.
std::string to_cuda(StencilProgram const& program, Precision precision);

/// Of each value of the program, which of its operands is such a product: 0, 1, or −1 where none is.
std::vector<int> fused_operands(StencilProgram const& program);

/// The same in two bodies, for a kernel that goes along columns: what follows from numbers and the
/// first coordinate alone is the same all along, and found once. `fused` is as by `fused_operands`,
/// or what that is of a longer program that has all of this one's values.
///
/// In the body quotients and roots are the point's, with one divisor for all quotients by it:
///
///     auto const d1 = at.divisor(v1);
///     Real const v2 = at.quotient(v0, d1);
///     Real const v3 = at.reciprocal(d1);
///     Real const v4 = at.root(v2);
struct ColumnText {
  std::string columns;  ///< assigns kept[0], kept[1], ...
  std::string body;     ///< has at.template kept<0>(), ... in their place
  int kept = 0;
  bool divides = false;  ///< the body has quotients or roots
};
ColumnText to_cuda_along_columns(StencilProgram const& program, std::vector<int> const& fused,
                                 Precision precision);

}  // namespace gridstride::equations

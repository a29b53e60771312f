#pragma once

#include <cstddef>
#include <vector>

#include "equations/discretise.hpp"

/// Operators within operators, as μ in ∇²μ: values that a program finds at several points nearby.
namespace gridstride::system {

/// A part of a program, with the products that are fused as in the whole
/// (`equations::fused_operands`).
struct Part {
  equations::StencilProgram program;
  std::vector<int> fused;
};

/// About how many additions take as long as what node i does: one, or as many as a division with
/// its tests of operands.
int additions_of(equations::StencilProgram const& program, std::size_t i);

/// A program as one part.
Part whole(equations::StencilProgram const& program);

/// A program cut into parts, one after the other: of a value that the program finds at several
/// points nearby, a part finds that of one point, and later parts look it up around theirs, as an
/// unknown. What goes through a face is such a value, and what it takes of each point beside.
/// Results of all parts are numbered one after the other, and are components n, n + 1, ..., where n
/// is the number of the program's components or, where there are more, of its results; the last
/// part has these. Every operation is one of the program's, fused with the same other, so that
/// results keep their bits wherever unknowns beyond the grid are those of axes that wrap. A program
/// that has nothing worth a part of its own is its only part.
///
/// `columns`: of a thread, which finds once what several of these share. `also_rows`: parts are also values
/// that a column has at two rows, one above the other, and nowhere beside it, as a difference along y.
std::vector<Part> parts_of(equations::StencilProgram const& program, int columns,
                           bool also_rows = false);

}  // namespace gridstride::system

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "equations/discretise.hpp"

/// Programs as the row `threads` runs them: instructions over pieces of rows, one after the other.
namespace gridstride::system {

/// result[i] = what an instruction makes of a[i], b[i] and c[i].
template <class T>
using PieceLoop = void (*)(T const* a, T const* b, T const* c, T* result, long long points);

/// The loops of instructions, by the number that `PieceInstruction::loop` has.
template <class T>
PieceLoop<T> piece_loop(int number);

/// Where what comes of an instruction differs: nowhere, along rows alone, from row to row alone.
enum class Varies { nowhere, along_rows, across_rows, everywhere };

/// A node of the program; a sum, difference, product or quotient may have another one in it, so that
/// what comes of that need not be stored.
struct PieceInstruction {
  equations::Node node;
  std::array<std::int32_t, 3> operands =
      {};                   ///< places of values; what a loop does not need is operand 0
  std::int32_t loop = -1;   ///< of operations
  std::int32_t target = 0;  ///< the place of what comes of it
  Varies varies = Varies::everywhere;
};

struct PieceProgram {
  std::vector<PieceInstruction> code;
  std::vector<std::int32_t> results;  ///< places
  int places = 0;                     ///< of values, each a piece of some row

  explicit PieceProgram(equations::StencilProgram const& program);
};

}  // namespace gridstride::system

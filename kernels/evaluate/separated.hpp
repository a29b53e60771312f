#pragma once

#include <span>
#include <vector>

#include "expression/operations.hpp"

namespace gridstride::evaluate {

/// A formula in parts, by the axis along which points follow each other in memory.
struct Separated {
  using Code = std::vector<expression::Instruction>;

  std::vector<Code> along;   ///< the largest parts that are of that axis, and of time at most
  std::vector<Code> across;  ///< the largest that are neither of that axis nor of arrays
  /// What is made of them at each point: variable k is along[k], then come those of `across`, then the
  /// arrays. Operations and their order are those of the formula, and so are the bits.
  Code rest;
};

/// Parts that are alike are one.
Separated separate(std::span<expression::Instruction const> code, int axis);

}  // namespace gridstride::evaluate

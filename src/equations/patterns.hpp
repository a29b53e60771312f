#pragma once

#include <array>
#include <vector>

#include "equations/discretise.hpp"

/// Values of a program that are alike but for where they are.
namespace gridstride::equations {

using PlaceOffset = std::array<int, 3>;

/// A value as a pattern at a place. Values of one pattern are made by the same operations of values
/// that lie alike around their places; the factors of a product and the parts of a sum may have
/// changed sides.
struct PlacedValue {
  int pattern = 0;
  PlaceOffset at = {};                 ///< 0 along axes that it has no place on
  std::array<bool, 3> is_placed = {};  ///< along the axes that it changes with
};

/// The values of a program by their patterns, which are numbered as they come.
struct Patterns {
  std::vector<PlacedValue> values;  ///< of each node of the code
  std::vector<int> first;           ///< of each pattern the first value
  std::vector<int> uses;            ///< of each pattern by others, and as results

  explicit Patterns(StencilProgram const& program);
};

}  // namespace gridstride::equations

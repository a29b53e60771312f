#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "equations/discretise.hpp"

namespace gridstride::system {

/// Whether a value is the same at all points.
inline bool is_lasting(equations::Node const& node) {
  using equations::Kind;
  return node.kind == Kind::number || node.kind == Kind::time || node.kind == Kind::found;
}

/// A value of straight-line code: the values before it that it is made of (−1: none), and whether it
/// is the same at all points.
struct SlotValue {
  std::array<std::int32_t, 3> operands = {-1, -1, -1};
  bool lasts = false;
};

/// Where the values of straight-line code lie. Those that last have the first `lasting` slots, which
/// are filled once; all else shares slots: that of a value is taken again from its last use on, also
/// by what is made of it there, and those of `results` never.
struct Slots {
  std::vector<int> of_value;
  int lasting = 0;
  int count = 0;  ///< of all

  Slots(std::span<SlotValue const> values, std::span<std::int32_t const> results);
};

}  // namespace gridstride::system

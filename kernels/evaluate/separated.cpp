#include "kernels/evaluate/separated.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "expression/expression.hpp"

namespace gridstride::evaluate {

namespace {

using expression::Instruction;
using expression::Operation;

/// What a part of a formula is of.
enum : unsigned { of_axis = 1, of_others = 2, of_arrays = 4 };

unsigned what_of(Instruction const& instruction, int axis) {
  if (instruction.operation != Operation::variable) return 0;
  int const variable = instruction.variable;
  if (variable == axis) return of_axis;
  if (variable == expression::time_variable) return 0;
  return variable < expression::first_array ? of_others : of_arrays;
}

/// The operand or operation that ends at an instruction.
struct Extent {
  std::size_t first = 0;  ///< its first instruction
  unsigned of = 0;
};

std::vector<Extent> extents_of(std::span<Instruction const> code, int axis) {
  std::vector<Extent> extents(code.size());
  std::vector<std::size_t> stack;  // where what is on the machine's stack ends
  for (std::size_t k = 0; k < code.size(); ++k) {
    extents[k] = {k, what_of(code[k], axis)};
    for (int i = operand_count(code[k].operation); i > 0; --i) {
      Extent const& operand = extents[stack.back()];
      stack.pop_back();
      extents[k].first = operand.first;
      extents[k].of |= operand.of;
    }
    stack.push_back(k);
  }
  return extents;
}

bool is_same(Instruction const& a, Instruction const& b) {
  return a.operation == b.operation && a.variable == b.variable &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

/// The place of a part in a list that has each once.
int place_in(std::vector<Separated::Code>& parts, std::span<Instruction const> code) {
  auto const known = std::ranges::find_if(
      parts, [&](auto const& part) { return std::ranges::equal(part, code, is_same); });
  if (known == parts.end()) {
    parts.emplace_back(code.begin(), code.end());
    return static_cast<int>(std::ssize(parts)) - 1;
  }
  return static_cast<int>(known - parts.begin());
}

}  // namespace

Separated separate(std::span<Instruction const> code, int axis) {
  constexpr int beyond =
      1 << 20;  // more than there are parts: the list that a place is in, for now
  auto const extents = extents_of(code, axis);
  Separated result;
  for (std::size_t end = code.size(); end > 0;) {
    auto const& [first, of] = extents[end - 1];
    auto const part = code.subspan(first, end - first);
    Instruction kept = code[end - 1];
    if ((of & (of_axis | of_arrays)) == 0)
      kept = {Operation::variable, beyond + place_in(result.across, part)};
    else if (of == of_axis)
      kept = {Operation::variable, place_in(result.along, part)};
    else if (kept.operation == Operation::variable)
      kept.variable += 2 * beyond - expression::first_array;
    result.rest.push_back(kept);
    end = kept.operation == Operation::variable ? first : end - 1;
  }
  std::ranges::reverse(result.rest);
  auto const along = static_cast<int>(result.along.size());
  auto const across = static_cast<int>(result.across.size());
  for (Instruction& instruction : result.rest)
    if (instruction.variable >= 2 * beyond)
      instruction.variable += along + across - 2 * beyond;
    else if (instruction.variable >= beyond)
      instruction.variable += along - beyond;
  return result;
}

}  // namespace gridstride::evaluate

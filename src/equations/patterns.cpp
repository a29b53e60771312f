#include "equations/patterns.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace gridstride::equations {
namespace {

using expression::Operation;

std::size_t place_in(int i) { return static_cast<std::size_t>(i); }

/// What a value is, but for where.
struct Pattern {
  Node node;  ///< with patterns for its operands, and no place
  std::array<PlaceOffset, 3> operands_at = {};

  auto key() const {
    return std::make_tuple(node.kind, node.operation, node.index,
                           std::bit_cast<std::uint64_t>(node.value), node.operands, operands_at);
  }
  bool operator<(Pattern const& other) const { return key() < other.key(); }
};

/// The axes along which a value that is no operation has a place.
std::array<bool, 3> placed_along(Node const& node) {
  if (node.kind == Kind::unknown || is_random(node.kind)) return {true, true, true};
  std::array<bool, 3> along = {};
  if (node.kind == Kind::coordinate) along[place_in(node.index)] = true;
  if (node.kind == Kind::on_side) along[place_in(node.index / 2)] = true;
  return along;
}

bool is_product(StencilProgram const& program, int value) {
  Node const& node = program.code[place_in(value)];
  return node.kind == Kind::operation && node.operation == Operation::multiply;
}

/// Whether its operands may change sides. Of two products that are added one may be fused with the
/// sum, so that they may not.
bool commutes(StencilProgram const& program, Node const& node) {
  if (node.kind != Kind::operation) return false;
  if (node.operation == Operation::multiply) return true;
  return node.operation == Operation::add &&
         !(is_product(program, node.operands[0]) && is_product(program, node.operands[1]));
}

}  // namespace

Patterns::Patterns(StencilProgram const& program) {
  std::map<Pattern, int> numbers;
  for (Node const& node : program.code) {
    PlacedValue value{.is_placed = placed_along(node)};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (value.is_placed[axis]) value.at[axis] = node.orders[axis];
    Pattern pattern{.node = node};
    pattern.node.orders = {};
    auto operands = node.operands;
    auto const placed = [&](int of) -> PlacedValue const& { return values[place_in(of)]; };
    if (commutes(program, node) &&
        std::tie(placed(operands[1]).pattern, placed(operands[1]).at) <
            std::tie(placed(operands[0]).pattern, placed(operands[0]).at))
      std::swap(operands[0], operands[1]);
    int const count = operand_count(node);
    for (std::size_t i = 0; i < place_in(count); ++i) {
      PlacedValue const& of = placed(operands[i]);
      pattern.node.operands[i] = of.pattern;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!of.is_placed[axis]) continue;
        if (!std::exchange(value.is_placed[axis], true)) value.at[axis] = of.at[axis];
        pattern.operands_at[i][axis] = of.at[axis] - value.at[axis];
      }
    }
    auto const [found, is_new] = numbers.try_emplace(pattern, static_cast<int>(first.size()));
    value.pattern = found->second;
    if (is_new) {
      first.push_back(static_cast<int>(values.size()));
      uses.push_back(0);
      for (int i = 0; i < count; ++i) ++uses[place_in(pattern.node.operands[place_in(i)])];
    }
    values.push_back(value);
  }
  for (int const result : program.results) ++uses[place_in(values[place_in(result)].pattern)];
}

}  // namespace gridstride::equations

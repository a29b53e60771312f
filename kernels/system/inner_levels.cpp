#include "kernels/system/inner_levels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "equations/source.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;
using equations::StencilProgram;
using Offset = std::array<int, 3>;

/// Operations that it takes to be worth the shuffles and registers of a part, per point.
constexpr double worthwhile = 6;

std::size_t index(int i) { return static_cast<std::size_t>(i); }
std::size_t operand(Node const& node, int i) { return index(node.operands[index(i)]); }

/// What a value is, but for where: equal for equal terms of points that lie alike, whose roundings
/// are the same.
struct Pattern {
  Node node;  ///< with patterns for its operands
  std::array<Offset, 3> operands_at = {};
  int fused = -1;

  auto key() const {
    return std::make_tuple(node.kind, node.operation, node.index,
                           std::bit_cast<std::uint64_t>(node.value), node.operands, operands_at,
                           fused);
  }
  bool operator<(Pattern const& other) const { return key() < other.key(); }
};

/// A value as a pattern at a place, along the axes that it has one on.
struct Placed {
  int pattern = 0;
  Offset at = {};
  std::array<bool, 3> is_placed = {};
};

/// The values of a program by their patterns.
class Patterns {
 public:
  explicit Patterns(Part const& part) {
    for (std::size_t i = 0; i < part.fused.size(); ++i) place(part.program.code[i], part.fused[i]);
  }

  std::vector<Placed> const& placed() const { return placed_; }
  /// The values of each pattern.
  std::vector<std::vector<int>> groups() const {
    std::vector<std::vector<int>> groups(numbers_.size());
    for (std::size_t i = 0; i < placed_.size(); ++i)
      groups[index(placed_[i].pattern)].push_back(static_cast<int>(i));
    return groups;
  }

 private:
  void place(Node const& node, int fused) {
    Placed result;
    Pattern pattern{.node = node, .fused = fused};
    pattern.node.orders = {};
    if (node.kind == Kind::unknown || node.kind == Kind::coordinate)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        result.is_placed[axis] = node.kind == Kind::unknown || index(node.index) == axis;
        result.at[axis] = result.is_placed[axis] ? node.orders[axis] : 0;
      }
    int const operands = equations::operand_count(node);
    for (int i = 0; i < operands; ++i) {
      Placed const& of = placed_[operand(node, i)];
      pattern.node.operands[index(i)] = of.pattern;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!of.is_placed[axis]) continue;
        if (!std::exchange(result.is_placed[axis], true)) result.at[axis] = of.at[axis];
        pattern.operands_at[index(i)][axis] = of.at[axis] - result.at[axis];
      }
    }
    result.pattern = numbers_.try_emplace(pattern, static_cast<int>(numbers_.size())).first->second;
    placed_.push_back(result);
  }

  std::vector<Placed> placed_;
  std::map<Pattern, int> numbers_;
};

/// Values that another takes, itself among them, in the order of the program.
std::vector<int> cone_of(StencilProgram const& program, std::vector<int> const& roots) {
  std::vector<char> needed(program.code.size(), 0);
  for (int const root : roots) needed[index(root)] = 1;
  std::vector<int> cone;
  for (std::size_t i = index(std::ranges::max(roots)) + 1; i-- > 0;) {
    if (!needed[i]) continue;
    cone.push_back(static_cast<int>(i));
    Node const& node = program.code[i];
    for (int n = 0; n < equations::operand_count(node); ++n) needed[operand(node, n)] = 1;
  }
  std::ranges::reverse(cone);
  return cone;
}

/// How often one of these places has to be looked at for each point of a tile, where what two of
/// them share is found once; less the one time that a part takes.
double times_again(std::vector<Offset> const& places) {
  constexpr int side = 4;
  std::set<std::pair<int, int>> points;
  for (Offset const& at : places)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) points.emplace(at[0] + x, at[1] + y);
  return static_cast<double>(points.size()) / (side * side) - 1;
}

/// The values that these results take as a part of their own, whose unknowns are counted from a point.
Part cut_out(Part const& part, std::vector<int> const& results, Offset const& from) {
  Part cut;
  cut.program.dims = part.program.dims;
  std::vector<std::int32_t> number(part.program.code.size(), -1);
  for (int const i : cone_of(part.program, results)) {
    Node node = part.program.code[index(i)];
    for (int n = 0; n < equations::operand_count(node); ++n)
      node.operands[index(n)] = number[operand(node, n)];
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (node.kind == Kind::unknown ||
          (node.kind == Kind::coordinate && index(node.index) == axis))
        node.orders[axis] = static_cast<std::int8_t>(node.orders[axis] - from[axis]);
    if (node.kind == Kind::unknown)
      for (std::size_t axis = 0; axis < 3; ++axis)
        cut.program.reach[axis] =
            std::max(cut.program.reach[axis], std::abs(int{node.orders[axis]}));
    number[index(i)] = static_cast<std::int32_t>(cut.program.code.size());
    cut.program.code.push_back(node);
    cut.fused.push_back(part.fused[index(i)]);
  }
  for (int const result : results) cut.program.results.push_back(number[index(result)]);
  return cut;
}

/// Whether one of these values is a product that is fused with a sum, and not rounded by itself.
bool is_fused_away(Part const& part, std::vector<int> const& values) {
  for (std::size_t i = 0; i < part.fused.size(); ++i)
    if (part.fused[i] >= 0 &&
        std::ranges::binary_search(values, part.program.code[i].operands[index(part.fused[i])]))
      return true;
  return false;
}

bool has_unknowns(StencilProgram const& program, std::vector<int> const& cone) {
  return std::ranges::any_of(cone,
                             [&](int i) { return program.code[index(i)].kind == Kind::unknown; });
}

/// The point in the middle of the unknowns that a value takes.
Offset middle_of(StencilProgram const& program, std::vector<int> const& cone) {
  Offset least, greatest, middle;
  least.fill(std::numeric_limits<int>::max());
  greatest.fill(std::numeric_limits<int>::min());
  for (int const i : cone) {
    Node const& node = program.code[index(i)];
    if (node.kind != Kind::unknown) continue;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      least[axis] = std::min(least[axis], int{node.orders[axis]});
      greatest[axis] = std::max(greatest[axis], int{node.orders[axis]});
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    middle[axis] = (least[axis] + greatest[axis]) >> 1;  // rounded down below 0, too
  return middle;
}

/// Cuts programs until nothing in them is worth a part.
class Splitter {
 public:
  explicit Splitter(StencilProgram const& program)
      : first_(std::max(static_cast<int>(program.results.size()), program.components)),
        next_(first_) {
    split(whole(program), -1);
  }

  std::vector<Part> parts() {
    std::map<int, int> renumbered;
    std::vector<Part> parts;
    for (auto& [component, part] : parts_) {
      for (Node& node : part.program.code) {
        if (node.kind != Kind::unknown) continue;
        if (node.index >= first_) node.index = renumbered.at(node.index);
        part.program.components = std::max(part.program.components, node.index + 1);
      }
      renumbered.emplace(component, first_ + static_cast<int>(parts.size()));
      parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  /// Adds the parts of one that finds a component.
  void split(Part const& part, int component) {
    Patterns const patterns(part);
    auto const values = best_of(part, patterns);
    if (values.empty()) {
      parts_.emplace_back(component, part);
      return;
    }
    int const inner = next_++;
    auto const cone = cone_of(part.program, {values.front()});
    Offset const middle = middle_of(part.program, cone);
    split(cut_out(part, {values.front()}, middle), inner);
    Part looking = part;
    Offset const& at = patterns.placed()[index(values.front())].at;
    for (int const value : values) {
      Node& node = looking.program.code[index(value)];
      node = {.kind = Kind::unknown, .index = inner};
      looking.fused[index(value)] = -1;
      for (std::size_t axis = 0; axis < 3; ++axis)
        node.orders[axis] = static_cast<std::int8_t>(
            middle[axis] + patterns.placed()[index(value)].at[axis] - at[axis]);
    }
    split(cut_out(looking, {part.program.results.begin(), part.program.results.end()}, {}),
          component);
  }

  /// The values of the pattern that spares most as a part; none where none is worth it.
  static std::vector<int> best_of(Part const& part, Patterns const& patterns) {
    std::vector<int> best;
    double best_gain = worthwhile;
    for (auto const& values : patterns.groups()) {
      if (values.size() < 2) continue;
      auto const cone = cone_of(part.program, {values.front()});
      if (!has_unknowns(part.program, cone) || is_fused_away(part, values)) continue;
      std::vector<Offset> places;
      for (int const value : values) places.push_back(patterns.placed()[index(value)].at);
      int operations = 0;
      for (int const i : cone) operations += additions_of(part.program, index(i));
      double const gain = operations * times_again(places);
      if (gain < best_gain || (gain == best_gain && !best.empty())) continue;
      best = values;
      best_gain = gain;
    }
    return best;
  }

  int first_, next_;
  std::vector<std::pair<int, Part>> parts_;  // with the components that they find
};

}  // namespace

int additions_of(StencilProgram const& program, std::size_t i) {
  using enum expression::Operation;
  Node const& node = program.code[i];
  if (node.kind != Kind::operation) return 0;
  constexpr std::array quick = {negate,  add,           subtract, multiply,  less,   less_equal,
                                greater, greater_equal, equal,    not_equal, select, abs,
                                sign,    min,           max,      floor,     ceil,   step};
  if (std::ranges::find(quick, node.operation) != quick.end()) return 1;
  if (node.operation == divide) {  // by a power of 2 it is a product
    int exponent = 0;
    Node const& divisor = program.code[operand(node, 1)];
    if (divisor.kind == Kind::number && std::abs(std::frexp(divisor.value, &exponent)) == 0.5)
      return 1;
  }
  return 9;
}

Part whole(StencilProgram const& program) { return {program, equations::fused_operands(program)}; }

std::vector<Part> parts_of(StencilProgram const& program) { return Splitter(program).parts(); }

}  // namespace gridstride::system

#include "kernels/system/inner_levels.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "equations/patterns.hpp"
#include "equations/source.hpp"

namespace gridstride::system {

namespace {

using equations::Kind;
using equations::Node;
using equations::Patterns;
using equations::StencilProgram;
using Offset = equations::PlaceOffset;

/// Operations that it takes to be worth the shuffles and registers of a part, per point.
constexpr double worthwhile = 1.5;
/// Rows of points that a loop writes out, where what two of them share is found once.
constexpr int tile_rows = 4;

std::size_t index(int i) { return static_cast<std::size_t>(i); }
std::size_t operand(Node const& node, int i) { return index(node.operands[index(i)]); }

Offset difference(Offset const& a, Offset const& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// How often one of these places is looked at for each point of a tile.
double looks(std::vector<Offset> const& places, int columns) {
  if (places.size() == 1) return 1;
  Offset least = places.front(), greatest = least;
  for (Offset const& at : places)
    for (std::size_t axis = 0; axis < 2; ++axis) {
      least[axis] = std::min(least[axis], at[axis]);
      greatest[axis] = std::max(greatest[axis], at[axis]);
    }
  constexpr int most_columns = 4 * equations::max_reach + 8;
  std::vector<std::bitset<most_columns>> rows(index(greatest[1] - least[1] + tile_rows));
  for (Offset const& at : places)
    for (int y = 0; y < tile_rows; ++y)
      for (int x = 0; x < columns; ++x)
        rows[index(at[1] - least[1] + y)].set(index(at[0] - least[0] + x));
  std::size_t points = 0;
  for (auto const& row : rows) points += row.count();
  return static_cast<double>(points) / (columns * tile_rows);
}

/// The points around which all unknowns of a value lie.
struct Box {
  Offset least, greatest;
  bool is_empty = true;

  void add(Offset const& from, Offset const& to) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      least[axis] = is_empty ? from[axis] : std::min(least[axis], from[axis]);
      greatest[axis] = is_empty ? to[axis] : std::max(greatest[axis], to[axis]);
    }
    is_empty = false;
  }
};

/// Finds the patterns that are worth a part, and makes programs of them.
class Splitter {
 public:
  Splitter(StencilProgram const& program, int columns, bool also_rows)
      : program_(program),
        columns_(columns),
        patterns_(program),
        fused_(equations::fused_operands(program)),
        is_fused_away_(patterns_.first.size(), 0),
        chosen_(patterns_.first.size(), -1) {
    for (std::size_t i = 0; i < fused_.size(); ++i) {
      add_box(i);
      if (fused_[i] >= 0) is_fused_away_[pattern_of(operand(program_.code[i], fused_[i]))] = 1;
    }
    for (int const first : patterns_.first) {
      int all = 0;
      for (int const i : cone_of(first, [](int) { return false; }))
        all += additions_of(program_, index(i));
      additions_.push_back(all);
    }
    arrange();
    for (int best = best_pattern(); best >= 0; best = best_pattern()) look_up(best);
    if (!also_rows) return;
    for (int best = longest_of_two_rows(); best >= 0; best = longest_of_two_rows()) look_up(best);
  }

  std::vector<Part> parts() const {
    if (looked_up_.empty()) return {whole(program_)};
    std::vector<Part> parts;
    for (Group const& group : groups_) parts.push_back(part_of(group));
    return parts;
  }

 private:
  /// A pattern that is found once at each point, by a part.
  struct LookedUp {
    int pattern = 0;
    Offset origin = {};  ///< the point that the first value of it is found for
    int lag = 0;         ///< rows from that to the newest that it takes
    int depth = 0;       ///< parts that have to come before
    int component = 0;   ///< that later parts take it as
  };
  /// A value around the point that a part is made at.
  struct Located {
    int node;
    Offset at;
  };
  /// What one part finds: values, each after those that it takes.
  struct Group {
    std::vector<int> looked_up;  ///< none: the results of the program
    std::vector<Located> values;
    std::map<std::pair<int, Offset>, int> numbers;  ///< of a pattern at a place
    std::vector<int> results;
  };

  void look_up(int pattern) {
    looked_up_.push_back({.pattern = pattern});
    std::ranges::sort(looked_up_, {}, [this](LookedUp const& one) { return first_of(one); });
    arrange();
  }
  std::size_t pattern_of(std::size_t node) const { return index(patterns_.values[node].pattern); }
  int first_of(LookedUp const& one) const { return patterns_.first[index(one.pattern)]; }
  /// The place of a value, seen from a point.
  Offset place_from(Offset const& origin, std::size_t node) const {
    auto const& value = patterns_.values[node];
    Offset at = {};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (value.is_placed[axis]) at[axis] = value.at[axis] - origin[axis];
    return at;
  }
  /// How far the point that a value is looked up at lies from one from which it is at a place.
  Offset lookup_at(LookedUp const& one, Offset const& at) const {
    return difference(at, place_from(one.origin, index(first_of(one))));
  }

  void add_box(std::size_t i) {
    Node const& node = program_.code[i];
    Box& box = boxes_.emplace_back();
    Offset const at = {node.orders[0], node.orders[1], node.orders[2]};
    if (node.kind == Kind::unknown) box.add(at, at);
    for (int n = 0; n < equations::operand_count(node); ++n)
      if (Box const& of = boxes_[operand(node, n)]; !of.is_empty) box.add(of.least, of.greatest);
  }

  /// Values that another takes, itself among them, in the order of the program; of leaves nothing
  /// more.
  template <class IsLeaf>
  std::vector<int> cone_of(int root, IsLeaf const& is_leaf) const {
    std::vector<char> needed(index(root) + 1, 0);
    needed[index(root)] = 1;
    std::vector<int> cone;
    for (int i = root; i >= 0; --i) {
      if (!needed[index(i)]) continue;
      cone.push_back(i);
      if (is_leaf(i)) continue;
      Node const& node = program_.code[index(i)];
      for (int n = 0; n < equations::operand_count(node); ++n) needed[operand(node, n)] = 1;
    }
    std::ranges::reverse(cone);
    return cone;
  }

  /// Groups what is looked up into parts, so that each comes after what it takes.
  void arrange() {
    std::ranges::fill(chosen_, -1);
    std::set<std::pair<int, int>> kinds;
    for (std::size_t n = 0; n < looked_up_.size(); ++n) {
      LookedUp& one = looked_up_[n];
      Box const& box = boxes_[index(first_of(one))];
      for (std::size_t axis = 0; axis < 3; ++axis)  // the middle, rounded down below 0, too
        one.origin[axis] = (box.least[axis] + box.greatest[axis]) >> 1;
      one.lag = box.greatest[1] - one.origin[1];
      one.depth = depth_of(one);
      kinds.emplace(one.depth, one.lag);
      chosen_[index(one.pattern)] = static_cast<int>(n);
    }
    groups_.clear();
    int component = std::max(static_cast<int>(program_.results.size()), program_.components);
    for (auto const& [depth, lag] : kinds) {
      Group& group = groups_.emplace_back();
      for (std::size_t n = 0; n < looked_up_.size(); ++n) {
        LookedUp& one = looked_up_[n];
        if (one.depth != depth || one.lag != lag) continue;
        group.looked_up.push_back(static_cast<int>(n));
        one.component = component++;
      }
    }
    for (Group& group : groups_)
      for (int const n : group.looked_up)
        add_root(group, first_of(looked_up_[index(n)]), looked_up_[index(n)].origin);
    Group& last = groups_.emplace_back();
    for (int const result : program_.results) add_root(last, result, {});
  }

  int depth_of(LookedUp const& one) const {
    int depth = 0;
    auto const is_leaf = [&](int i) { return chosen_[pattern_of(index(i))] >= 0; };
    for (int const i : cone_of(first_of(one), is_leaf)) {
      if (!is_leaf(i)) continue;
      LookedUp const& of = looked_up_[index(chosen_[pattern_of(index(i))])];
      bool const is_here =
          of.lag == one.lag && lookup_at(of, place_from(one.origin, index(i))) == Offset{};
      depth = std::max(depth, of.depth + (is_here ? 0 : 1));
    }
    return depth;
  }

  /// Whether a group looks a value up that stands at a place.
  bool is_looked_up(Group const& group, int node, Offset const& at) const {
    int const which = chosen_[pattern_of(index(node))];
    if (which < 0) return false;
    return std::ranges::find(group.looked_up, which) == group.looked_up.end() ||
           lookup_at(looked_up_[index(which)], at) != Offset{};
  }

  void add_root(Group& group, int root, Offset const& origin) const {
    auto const is_leaf = [&](int i) {
      return is_looked_up(group, i, place_from(origin, index(i)));
    };
    for (int const i : cone_of(root, is_leaf)) {
      Offset const at = place_from(origin, index(i));
      auto const [number, is_new] = group.numbers.try_emplace(
          {patterns_.values[index(i)].pattern, at}, static_cast<int>(group.values.size()));
      if (is_new) group.values.push_back({i, at});
      if (i == root) group.results.push_back(number->second);
    }
  }

  bool can_be_part(std::size_t pattern) const {
    return chosen_[pattern] < 0 && !is_fused_away_[pattern] &&
           !boxes_[index(patterns_.first[pattern])].is_empty;
  }
  /// The longest pattern that a group finds at two rows of a column and nowhere else; −1: there is none.
  int longest_of_two_rows() const {
    int best = -1;
    for (Group const& group : groups_) {
      std::map<std::size_t, std::vector<Offset>> places;
      for (Located const& value : group.values)
        places[pattern_of(index(value.node))].push_back(value.at);
      for (auto const& [pattern, at] : places)
        if (at.size() == 2 && at[0][0] == at[1][0] && std::abs(at[0][1] - at[1][1]) == 1 &&
            can_be_part(pattern) && additions_[pattern] > (best < 0 ? 0 : additions_[index(best)]))
          best = static_cast<int>(pattern);
    }
    return best;
  }

  /// The pattern that spares most as a part; −1 where none is worth it.
  int best_pattern() const {
    std::vector<double> times(patterns_.first.size(), 0);
    for (Group const& group : groups_) {
      std::map<int, std::vector<Offset>> places;
      for (Located const& value : group.values)
        places[patterns_.values[index(value.node)].pattern].push_back(value.at);
      for (auto const& [pattern, of_pattern] : places)
        times[index(pattern)] += looks(of_pattern, columns_);
    }
    auto const is_leaf = [&](int i) { return chosen_[pattern_of(index(i))] >= 0; };
    int best = -1;
    double best_gain = worthwhile;
    for (std::size_t p = 0; p < times.size(); ++p) {
      double const again = times[p] - 1;
      if (again <= 0 || !can_be_part(p) || additions_[p] * again < best_gain) continue;
      int additions = 0;
      for (int const i : cone_of(patterns_.first[p], is_leaf))
        if (!is_leaf(i)) additions += additions_of(program_, index(i));
      if (additions * again < best_gain || (additions * again == best_gain && best >= 0)) continue;
      best = static_cast<int>(p);
      best_gain = additions * again;
    }
    return best;
  }

  Part part_of(Group const& group) const {
    Part part;
    part.program.dims = program_.dims;
    for (Located const& value : group.values) {
      Node node = program_.code[index(value.node)];
      if (is_looked_up(group, value.node, value.at)) {
        auto const& one = looked_up_[index(chosen_[pattern_of(index(value.node))])];
        Offset const at = lookup_at(one, value.at);
        node = {.kind = Kind::unknown, .index = one.component};
        for (std::size_t axis = 0; axis < 3; ++axis)
          node.orders[axis] = static_cast<std::int8_t>(at[axis]);
        part.fused.push_back(-1);
      } else {
        for (std::size_t axis = 0; axis < 3; ++axis)
          node.orders[axis] =
              static_cast<std::int8_t>(node.kind == Kind::operation ? 0 : value.at[axis]);
        Offset const origin = difference(patterns_.values[index(value.node)].at, value.at);
        for (int n = 0; n < equations::operand_count(node); ++n) {
          std::size_t const of = operand(node, n);
          node.operands[index(n)] =
              group.numbers.at({patterns_.values[of].pattern, place_from(origin, of)});
        }
        part.fused.push_back(fused_[index(value.node)]);
      }
      if (node.kind == Kind::unknown) {
        part.program.components = std::max(part.program.components, node.index + 1);
        for (std::size_t axis = 0; axis < 3; ++axis)
          part.program.reach[axis] =
              std::max(part.program.reach[axis], std::abs(int{node.orders[axis]}));
      }
      part.program.code.push_back(node);
    }
    part.program.results.assign(group.results.begin(), group.results.end());
    return part;
  }

  StencilProgram const& program_;
  int columns_;
  Patterns patterns_;
  std::vector<int> fused_;
  std::vector<char> is_fused_away_;  // of patterns
  std::vector<Box> boxes_;           // of values
  std::vector<int> additions_;       // of patterns, with all that they take
  std::vector<int> chosen_;          // of patterns, among looked_up_; −1: not
  std::vector<LookedUp> looked_up_;  // each after those that it takes
  std::vector<Group> groups_;        // the parts
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

std::vector<Part> parts_of(StencilProgram const& program, int columns, bool also_rows) {
  return Splitter(program, columns, also_rows).parts();
}

}  // namespace gridstride::system

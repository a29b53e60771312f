#include "expression/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace gridstride::expression {
namespace {

constexpr Part none = no_part;

/// Parts that may share operands, so that rewriting takes time in proportion to a formula's length.
class Pool final : public PartMaker {
 public:
  Part number(double value) override { return push({.value = value}, 1); }

  /// A copy of a node on other operands.
  Part copy(Node node, std::array<Part, 3> operands) {
    std::int64_t size = 1;
    for (int i = 0; i < operand_count(node.operation); ++i)
      size += sizes_[static_cast<std::size_t>(operands[i])];
    node.operands = operands;
    return push(node, size);
  }

  Part make(Operation operation, Part a, Part b = none, Part c = none) override {
    Part const known = simplification(operation, a, b, c);
    return known != none ? known : copy({.operation = operation}, {a, b, c});
  }

  /// All parts of a formula; returns the last, which is the whole.
  Part append(Expression const& formula) {
    auto const first = static_cast<Part>(nodes_.size());
    for (Node const& node : formula.nodes()) copy(node, moved(node.operands, first));
    return static_cast<Part>(nodes_.size() - 1);
  }

  /// A formula, simplified.
  Part insert(Expression const& formula) {
    std::vector<Part> parts;  // of each node
    for (Node const& node : formula.nodes()) {
      std::array<Part, 3> operands = {none, none, none};
      int const count = operand_count(node.operation);
      for (int i = 0; i < count; ++i)
        operands[i] = parts[static_cast<std::size_t>(node.operands[i])];
      parts.push_back(count == 0 ? copy(node, operands)
                                 : make(node.operation, operands[0], operands[1], operands[2]));
    }
    return parts.back();
  }

  Node const& operator[](Part part) const { return nodes_[static_cast<std::size_t>(part)]; }

  /// The tree of a part: shared operands are copied.
  Expression tree(Part root) const;

 private:
  static std::array<Part, 3> moved(std::array<Part, 3> operands, Part offset) {
    for (Part& operand : operands) operand += offset;
    return operands;
  }

  Part push(Node const& node, std::int64_t size) {
    if (size > max_tree_nodes)
      throw Error(
          fmt::format("a formula that is put together has more than {} parts", max_tree_nodes));
    nodes_.push_back(node);
    sizes_.push_back(size);
    return static_cast<Part>(nodes_.size() - 1);
  }

  bool is_number(Part part) const { return (*this)[part].operation == Operation::number; }
  bool is(Part part, double value) const {
    return is_number(part) && (*this)[part].value == value &&
           std::signbit((*this)[part].value) == std::signbit(value);
  }
  Part simplification(Operation operation, Part a, Part b, Part c);

  std::vector<Node> nodes_;
  std::vector<std::int64_t> sizes_;  // parts of the tree of each
};

/// What an operation comes to without a part of its own; `none` where it needs one.
Part Pool::simplification(Operation operation, Part a, Part b, Part c) {
  std::array const operands = {a, b, c};
  auto const count = static_cast<std::size_t>(operand_count(operation));
  if (std::all_of(operands.begin(), operands.begin() + count,
                  [this](Part part) { return is_number(part); })) {
    std::array<double, 3> values = {};
    for (std::size_t i = 0; i < count; ++i) values[i] = (*this)[operands[i]].value;
    return number(apply(operation, values[0], values[1], values[2]));
  }
  switch (operation) {
    case Operation::negate:
      return (*this)[a].operation == Operation::negate ? (*this)[a].operands[0] : none;
    case Operation::add:
      return is(b, -0.0) ? a : is(a, -0.0) ? b : none;
    case Operation::subtract:
      return is(b, 0.0) ? a : none;
    case Operation::multiply:
      return is(b, 1) ? a : is(a, 1) ? b : none;
    case Operation::divide:
      return is(b, 1) ? a : none;
    case Operation::power:
      if (is_number(b) && (*this)[b].value == 0) return number(1);
      return is(b, 1) ? a : none;
    case Operation::select:
      return is_number(a) ? ((*this)[a].value != 0 ? b : c) : none;
    default:
      return none;
  }
}

Expression Pool::tree(Part root) const {
  struct Visit {
    Part part;
    bool operands_done;
  };
  std::vector<Visit> waiting = {{root, false}};
  std::vector<Part> done;  // places in the list of what no operation has taken yet
  std::vector<Node> list;
  while (!waiting.empty()) {
    auto const [part, operands_done] = waiting.back();
    waiting.pop_back();
    Node node = (*this)[part];
    int const count = operand_count(node.operation);
    if (count > 0 && !operands_done) {
      waiting.push_back({part, true});
      for (int i = count; i-- > 0;) waiting.push_back({node.operands[i], false});
      continue;
    }
    std::array<Part, 3> operands = {-1, -1, -1};
    std::copy(done.end() - count, done.end(), operands.begin());
    done.resize(done.size() - static_cast<std::size_t>(count));
    done.push_back(static_cast<Part>(list.size()));
    node.operands = operands;
    list.push_back(node);
  }
  return Expression(std::move(list));
}

/// The derivatives of the functions of one argument a, whose value is f. Those that are missing are
/// constant between jumps.
struct Rule {
  Operation operation;
  std::string_view slope;
};

constexpr Variable argument_and_value[] = {{"a", 0}, {"f", 1}};

constexpr Rule rules[] = {
    {Operation::negate, "-1"},
    {Operation::exp, "f"},
    {Operation::log, "1/a"},
    {Operation::sin, "cos(a)"},
    {Operation::cos, "-sin(a)"},
    {Operation::tan, "1 + f^2"},
    {Operation::asin, "1/sqrt(1 - a^2)"},
    {Operation::acos, "-1/sqrt(1 - a^2)"},
    {Operation::atan, "1/(1 + a^2)"},
    {Operation::sinh, "cosh(a)"},
    {Operation::cosh, "sinh(a)"},
    {Operation::tanh, "1 - f^2"},
    {Operation::sqrt, "0.5/f"},
    {Operation::cbrt, "1/(3*f^2)"},
    {Operation::abs, "sign(a)"},
    {Operation::erf, "2/sqrt(pi)*exp(-a^2)"},
    {Operation::erfc, "-2/sqrt(pi)*exp(-a^2)"},
};

/// The rules of calculus.
class Calculus {
 public:
  explicit Calculus(PartMaker& maker) : maker_(maker) {}

  Part slope(Operation operation, Part f, std::array<Part, 3> operands, std::array<Part, 3> slopes);

 private:
  Part make(Operation operation, Part a, Part b = none, Part c = none) {
    return maker_.make(operation, a, b, c);
  }
  Part times(Part a, Part b) { return make(Operation::multiply, a, b); }
  Part over(Part a, Part b) { return make(Operation::divide, a, b); }
  Part squared(Part a) { return make(Operation::power, a, maker_.number(2)); }
  Part negative(Part a) { return make(Operation::negate, a); }
  Part or_zero(Part part) { return part == none ? maker_.number(0) : part; }

  /// a' + b' or a' − b', where either may be none.
  Part sum(Operation operation, Part da, Part db) {
    if (db == none) return da;
    if (da != none) return make(operation, da, db);
    return operation == Operation::add ? db : negative(db);
  }

  Part outer_slope(Part f, Operation operation, Part a);
  Part slope_of_quotient(Part f, Part b, Part da, Part db);
  Part slope_of_power(Part f, Part a, Part b, Part da, Part db);
  Part slope_of_choice(Operation comparison, Part a, Part b, Part da, Part db);

  PartMaker& maker_;
};

Part Calculus::slope(Operation operation, Part f, std::array<Part, 3> operands,
                     std::array<Part, 3> slopes) {
  int const count = operand_count(operation);
  if (count == 0) return none;
  auto const [a, b, c] = operands;
  Part const da = slopes[0], db = count > 1 ? slopes[1] : none, dc = count > 2 ? slopes[2] : none;
  if (da == none && db == none && dc == none) return none;
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
      return sum(operation, da, db);
    case Operation::multiply:
      return sum(Operation::add, da == none ? none : times(da, b),
                 db == none ? none : times(a, db));
    case Operation::divide:
      return slope_of_quotient(f, b, da, db);
    case Operation::power:
      return slope_of_power(f, a, b, da, db);
    case Operation::min:
      return slope_of_choice(Operation::less_equal, a, b, da, db);
    case Operation::max:
      return slope_of_choice(Operation::greater_equal, a, b, da, db);
    case Operation::select:
      if (db == none && dc == none) return none;
      return make(Operation::select, a, or_zero(db), or_zero(dc));
    case Operation::mod:
      return sum(Operation::subtract, da,
                 db == none ? none : times(make(Operation::floor, over(a, b)), db));
    case Operation::atan2: {
      Part const turn = sum(Operation::subtract, da == none ? none : times(b, da),
                            db == none ? none : times(a, db));
      return over(turn, make(Operation::add, squared(a), squared(b)));
    }
    default: {
      if (count > 1) return none;  // comparisons
      Part const outer = outer_slope(f, operation, a);
      return outer == none ? none : times(outer, da);
    }
  }
}

/// f'(a) of a function f of one argument.
Part Calculus::outer_slope(Part f, Operation operation, Part a) {
  auto const rule = std::ranges::find(rules, operation, &Rule::operation);
  if (rule == std::end(rules)) return none;
  Expression const outer = Expression::parse(rule->slope, {}, argument_and_value);
  std::vector<Part> parts;  // of each of its nodes
  for (Node const& node : outer.nodes()) {
    auto const [x, y, z] = node.operands;
    auto const of = [&](std::int32_t place) {
      return place < 0 ? none : parts[static_cast<std::size_t>(place)];
    };
    parts.push_back(node.operation == Operation::number ? maker_.number(node.value)
                    : node.operation == Operation::variable
                        ? (node.variable == 0 ? a : f)
                        : make(node.operation, of(x), of(y), of(z)));
  }
  return parts.back();
}

Part Calculus::slope_of_quotient(Part f, Part b, Part da, Part db) {
  if (db == none) return over(da, b);
  Part const change = times(f, db);
  return over(da == none ? negative(change) : make(Operation::subtract, da, change), b);
}

/// (a^b)' = b·a^(b−1)·a' + a^b·log(a)·b'. The second term exists only where b changes, so that a
/// negative base has a derivative where the exponent is a number.
Part Calculus::slope_of_power(Part f, Part a, Part b, Part da, Part db) {
  Part of_base = none, of_exponent = none;
  if (da != none) {
    Part const lower = make(Operation::power, a, make(Operation::subtract, b, maker_.number(1)));
    of_base = times(times(b, lower), da);
  }
  if (db != none) of_exponent = times(times(f, make(Operation::log, a)), db);
  return sum(Operation::add, of_base, of_exponent);
}

Part Calculus::slope_of_choice(Operation comparison, Part a, Part b, Part da, Part db) {
  return make(Operation::select, make(comparison, a, b), or_zero(da), or_zero(db));
}

}  // namespace

Expression apply(Operation operation, Expression const& a, Expression const& b,
                 Expression const& c) {
  int const count = operand_count(operation);
  if (count == 0) throw std::invalid_argument("apply: the operation has no operands");
  Pool pool;
  std::array<Part, 3> operands = {none, none, none};
  std::array const formulas = {&a, &b, &c};
  for (int i = 0; i < count; ++i) operands[i] = pool.append(*formulas[i]);
  return pool.tree(pool.copy({.operation = operation}, operands));
}

Expression operator-(Expression const& a) { return apply(Operation::negate, a); }
Expression operator+(Expression const& a, Expression const& b) {
  return apply(Operation::add, a, b);
}
Expression operator-(Expression const& a, Expression const& b) {
  return apply(Operation::subtract, a, b);
}
Expression operator*(Expression const& a, Expression const& b) {
  return apply(Operation::multiply, a, b);
}
Expression operator/(Expression const& a, Expression const& b) {
  return apply(Operation::divide, a, b);
}

Expression simplified(Expression const& formula) {
  Pool pool;
  return pool.tree(pool.insert(formula));
}

Part derivative(PartMaker& maker, Operation operation, Part f, std::array<Part, 3> operands,
                std::array<Part, 3> slopes) {
  return Calculus(maker).slope(operation, f, operands, slopes);
}

Expression derivative(Expression const& formula, int variable) {
  Pool pool;
  Calculus calculus(pool);
  std::vector<Part> slopes;
  auto const slope = [&](Part part) {
    return part < 0 ? none : slopes[static_cast<std::size_t>(part)];
  };
  for (Part part = 0, end = pool.append(formula); part <= end; ++part) {
    Node const node = pool[part];
    auto const [a, b, c] = node.operands;
    slopes.push_back(
        node.operation == Operation::variable && node.variable == variable
            ? pool.number(1)
            : calculus.slope(node.operation, part, node.operands, {slope(a), slope(b), slope(c)}));
  }
  return slopes.back() == none ? Expression(0.0) : pool.tree(slopes.back());
}

Expression substitute(Expression const& formula, int variable, Expression const& replacement) {
  Pool pool;
  Part const inserted = pool.append(replacement);
  std::vector<Part> parts;
  for (Node const& node : formula.nodes()) {
    std::array<Part, 3> operands = {none, none, none};
    for (int i = 0; i < operand_count(node.operation); ++i)
      operands[i] = parts[static_cast<std::size_t>(node.operands[i])];
    bool const replaced = node.operation == Operation::variable && node.variable == variable;
    parts.push_back(replaced ? inserted : pool.copy(node, operands));
  }
  return pool.tree(parts.back());
}

}  // namespace gridstride::expression

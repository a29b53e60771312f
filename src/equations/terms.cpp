#include "equations/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_set>

#include "core/error.hpp"
#include "expression/transform.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

constexpr int name_bits = max_components;
constexpr int coordinate_bits = name_bits + max_components;
constexpr int kind_bits = coordinate_bits + 3;  // 3 coordinates, then a bit for each kind of these:
constexpr Kind kinds_with_bit[] = {Kind::time,     Kind::derivative, Kind::flux,  Kind::transport,
                                   Kind::integral, Kind::mean,       Kind::least, Kind::greatest,
                                   Kind::uniform,  Kind::normal,     Kind::noise, Kind::on_side};
constexpr int jump_bit = kind_bits + static_cast<int>(std::size(kinds_with_bit));
static_assert(jump_bit < 64);

std::uint64_t range_of_bits(int first, int count, std::int32_t index) {
  std::uint64_t const all = (std::uint64_t{1} << count) - 1;
  if (index >= count) return 0;
  return (index < 0 ? all : std::uint64_t{1} << index) << first;
}

/// The bits that stand for terms of a kind, those of one index where it is not negative.
std::uint64_t bits_of(Kind kind, std::int32_t index) {
  if (kind == Kind::unknown) return range_of_bits(0, max_components, index);
  if (kind == Kind::name) return range_of_bits(name_bits, max_components, index);
  if (kind == Kind::coordinate) return range_of_bits(coordinate_bits, 3, index);
  auto const place = std::ranges::find(kinds_with_bit, kind) - std::begin(kinds_with_bit);
  return place < std::ssize(kinds_with_bit) ? std::uint64_t{1} << (kind_bits + place) : 0;
}

bool is_global(Kind kind) {
  return kind == Kind::integral || kind == Kind::mean || kind == Kind::least ||
         kind == Kind::greatest;
}

bool is_in_space(Kind kind) {
  return kind == Kind::derivative || kind == Kind::flux || kind == Kind::transport;
}

/// What differs from point to point.
std::uint64_t const varying = bits_of(Kind::unknown, -1) | bits_of(Kind::name, -1) |
                              bits_of(Kind::coordinate, -1) | bits_of(Kind::uniform, -1) |
                              bits_of(Kind::normal, -1) | bits_of(Kind::noise, -1) |
                              bits_of(Kind::on_side, -1);

/// What is no formula of space and time.
std::uint64_t const of_fields = (varying & ~bits_of(Kind::coordinate, -1)) |
                                bits_of(Kind::derivative, -1) | bits_of(Kind::flux, -1) |
                                bits_of(Kind::transport, -1);

/// Whether the operation is a function with jumps.
bool jumps(Operation operation) {
  constexpr Operation others[] = {Operation::select, Operation::sign, Operation::floor,
                                  Operation::ceil,   Operation::mod,  Operation::step};
  bool const compares = operation >= Operation::less && operation <= Operation::not_equal;
  return compares || std::ranges::find(others, operation) != std::end(others);
}

void check_index(std::int32_t index, std::int32_t count, char const* what) {
  if (index < 0 || index >= count)
    throw std::invalid_argument(fmt::format("Terms: no {} has number {}", what, index));
}

std::uint64_t key_of(Term term, Term of) {
  return static_cast<std::uint64_t>(of) << 32 | static_cast<std::uint64_t>(term);
}

}  // namespace

int operand_count(Node const& node) {
  if (node.kind == Kind::operation) return expression::operand_count(node.operation);
  if (node.kind == Kind::transport) return 2;
  if (node.kind == Kind::flux) return 1 + node.orders[0] + node.orders[1];
  return is_in_space(node.kind) || is_global(node.kind) ? 1 : 0;
}

// `orders` tells at which ends a flux is given; these operands follow the first.
std::array<Term, 2> flux_through_sides(Node const& flux, std::array<Term, 3> const& operands) {
  std::array<Term, 2> sides = {-1, -1};
  std::size_t next = 1;
  for (std::size_t end = 0; end < 2; ++end)
    if (flux.orders[end] != 0) sides[end] = operands[next++];
  return sides;
}

std::size_t Terms::Hash::operator()(Node const& node) const {
  std::uint64_t hash =
      static_cast<std::uint64_t>(node.kind) << 8 | static_cast<std::uint64_t>(node.operation);
  auto const mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint32_t>(node.index));
  mix(std::bit_cast<std::uint64_t>(node.value));
  for (std::int8_t const order : node.orders) mix(static_cast<std::uint8_t>(order));
  for (Term const operand : node.operands) mix(static_cast<std::uint32_t>(operand));
  return hash;
}

Terms::Contents Terms::contents_of(Node const& node) const {
  Contents contents = {bits_of(node.kind, node.index), 0, 0};
  if (node.kind == Kind::operation && jumps(node.operation))
    contents.all |= std::uint64_t{1} << jump_bit;
  for (int i = 0; i < operand_count(node); ++i) {
    Contents const& of_operand = contents_[static_cast<std::size_t>(node.operands[i])];
    // A global has one value; what varies stands under it only.
    if (!is_global(node.kind)) contents.all |= of_operand.all;
    contents.under_operators |= node.kind == Kind::operation
                                    ? of_operand.under_operators
                                    : of_operand.all | of_operand.under_operators;
    if (is_linear(node)) contents.odd_axes |= of_operand.odd_axes;
  }
  for (std::size_t axis = 0; node.kind == Kind::derivative && axis < 3; ++axis)
    contents.odd_axes |= static_cast<unsigned>(node.orders[axis] % 2) << axis;
  return contents;
}

bool Terms::is_linear(Node const& node) const {
  if (node.kind != Kind::operation) return node.kind == Kind::derivative;
  auto const [a, b, c] = node.operands;
  switch (node.operation) {
    case Operation::negate:
    case Operation::add:
    case Operation::subtract:
      return true;
    case Operation::multiply:
      return is_number(a) || is_number(b);
    case Operation::divide:
      return is_number(b);
    default:
      return false;
  }
}

Term Terms::make(Node const& node) {
  for (int i = 0; i < operand_count(node); ++i)
    if (node.operands[i] < 0 || node.operands[i] >= static_cast<Term>(size()))
      throw std::invalid_argument("Terms: an operand is missing");
  if (auto const known = places_.find(node); known != places_.end()) return known->second;
  if (size() == max_terms) throw Error(fmt::format("the system has more than {} terms", max_terms));
  contents_.push_back(contents_of(node));
  nodes_.push_back(node);
  auto const place = static_cast<Term>(size() - 1);
  places_.emplace(node, place);
  return place;
}

Term Terms::number(double value) { return make({.value = value + 0.0}); }  // −0 + 0 is 0

Term Terms::coordinate(int axis, int offset) {
  check_index(axis, 3, "axis");
  Node node = {.kind = Kind::coordinate, .index = axis};
  node.orders[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(offset);
  return make(node);
}

Term Terms::time() { return make({.kind = Kind::time}); }

Term Terms::unknown(int component, std::array<std::int8_t, 3> offset) {
  check_index(component, max_components, "unknown");
  return make({.kind = Kind::unknown, .orders = offset, .index = component});
}

Term Terms::name(int component) {
  check_index(component, max_components, "name");
  return make({.kind = Kind::name, .index = component});
}

Term Terms::operation(Operation operation, Term a, Term b, Term c) {
  Node node = {.kind = Kind::operation, .operation = operation};
  std::array const operands = {a, b, c};
  int const count = operand_count(node);
  if (count == 0) throw std::invalid_argument("Terms: the operation has no operands");
  std::copy_n(operands.begin(), count, node.operands.begin());
  Term const known = simplified(node);
  return known >= 0 ? known : make(node);
}

Term Terms::pointwise(Operation operation, Term a, Term b, Term c) {
  constexpr double most = 8;
  if (operation == Operation::power && is_number(b)) {
    double const exponent = (*this)[b].value;
    if (exponent == std::floor(exponent) && exponent != 0 && std::abs(exponent) <= most) {
      Term const power = product(a, static_cast<int>(std::abs(exponent)));
      return exponent > 0 ? power : divide(number(1), power);
    }
  }
  return this->operation(operation, a, b, c);
}

Term Terms::product(Term a, int count) {
  if (count == 1) return a;
  Term const half = product(a, count / 2);
  Term const square = multiply(half, half);
  return count % 2 == 0 ? square : multiply(square, a);
}

Term Terms::copied(Terms const& from, Term formula) {
  std::unordered_map<Term, Term> copies;
  for (Term const part : from.parts(formula, [](Term) { return false; })) {
    Node const& node = from[part];
    std::array<Term, 3> operands = {-1, -1, -1};
    for (int i = 0; i < operand_count(node); ++i) operands[i] = copies.at(node.operands[i]);
    copies.emplace(part, node.kind == Kind::operation
                             ? pointwise(node.operation, operands[0], operands[1], operands[2])
                             : make(node));
  }
  return copies.at(formula);
}

Term Terms::simplified(Node const& node) {
  auto const [a, b, c] = node.operands;
  int const count = operand_count(node);
  std::array<double, 3> values = {};
  int numbers = 0;
  for (int i = 0; i < count; ++i) {
    if (node.operands[i] < 0 || node.operands[i] >= static_cast<Term>(size())) return -1;
    if (is_number(node.operands[i])) ++numbers;
    values[static_cast<std::size_t>(i)] = (*this)[node.operands[i]].value;
  }
  if (numbers == count)
    return number(expression::apply(node.operation, values[0], values[1], values[2]));
  auto const is = [this](Term term, double value) {
    return is_number(term) && (*this)[term].value == value;
  };
  auto const negated = [this](Term term) {
    Node const& of = (*this)[term];
    return of.kind == Kind::operation && of.operation == Operation::negate ? of.operands[0] : -1;
  };
  switch (node.operation) {
    case Operation::negate:
      return negated(a);
    case Operation::add:
      if (is(a, 0)) return b;
      if (is(b, 0)) return a;
      return negated(b) >= 0 ? subtract(a, negated(b)) : -1;
    case Operation::subtract:
      if (is(a, 0)) return negate(b);
      if (is(b, 0)) return a;
      return negated(b) >= 0 ? add(a, negated(b)) : -1;
    case Operation::multiply:
      if (is(a, 0) || is(b, 0)) return number(0);
      if (is(a, 1)) return b;
      if (is(b, 1)) return a;
      return is(a, -1) ? negate(b) : is(b, -1) ? negate(a) : -1;
    case Operation::divide:
      if (is(a, 0)) return a;
      return is(b, 1) ? a : is(b, -1) ? negate(a) : -1;
    case Operation::power:
      return is(b, 0) ? number(1) : is(b, 1) ? a : -1;
    case Operation::select:
      if (b == c) return b;
      return is_number(a) ? (values[0] != 0 ? b : c) : -1;
    default:
      return -1;
  }
}

Term Terms::derivative(Term of, std::array<std::int8_t, 3> orders) {
  if (std::ranges::any_of(orders, [](int order) { return order < 0; }))
    throw std::invalid_argument("Terms: a derivative has a negative order");
  int total = std::accumulate(orders.begin(), orders.end(), 0);
  if (total == 0) return of;
  Node const operand = (*this)[of];
  if (operand.kind == Kind::derivative) {
    total += std::accumulate(operand.orders.begin(), operand.orders.end(), 0);
    for (std::size_t axis = 0; axis < 3 && total <= max_order; ++axis)
      orders[axis] = static_cast<std::int8_t>(orders[axis] + operand.orders[axis]);
    of = operand.operands[0];
  }
  if (total > max_order)
    throw Error(fmt::format("a derivative is of order {} (at most {})", total, max_order));
  if (is_uniform(of)) return number(0);
  return make({.kind = Kind::derivative, .orders = orders, .operands = {of, -1, -1}});
}

Term Terms::flux(Term of, int axis, std::array<Term, 2> const& through_sides) {
  check_index(axis, 3, "axis");
  bool const is_given = through_sides != std::array<Term, 2>{-1, -1};
  if (is_uniform(of) && !is_given) return number(0);
  Node node = {.kind = Kind::flux, .index = axis, .operands = {of, -1, -1}};
  std::size_t next = 1;
  for (std::size_t end = 0; end < 2; ++end)
    if (through_sides[end] >= 0) {
      node.orders[end] = 1;
      node.operands[next++] = through_sides[end];
    }
  return make(node);
}

Term Terms::transport(Term velocity, Term of, int axis) {
  check_index(axis, 3, "axis");
  if (is_uniform(of) || (is_number(velocity) && (*this)[velocity].value == 0)) return number(0);
  return make({.kind = Kind::transport, .index = axis, .operands = {velocity, of, -1}});
}

Term Terms::global(Kind kind, Term of) {
  if (!is_global(kind)) throw std::invalid_argument("Terms: the kind is no global's");
  if (kind != Kind::integral && is_uniform(of)) return of;
  return make({.kind = kind, .operands = {of, -1, -1}});
}

Term Terms::random(Kind kind, std::int32_t seed, std::array<std::int8_t, 3> offset) {
  if (!is_random(kind)) throw std::invalid_argument("Terms: the kind is none of random numbers");
  return make({.kind = kind, .orders = offset, .index = seed});
}

Term Terms::on_side(int axis, int end, int offset) {
  check_index(axis, 3, "axis");
  check_index(end, 2, "end");
  Node node = {.kind = Kind::on_side, .index = 2 * axis + end};
  node.orders[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(offset);
  return make(node);
}

Term Terms::found(int number) {
  if (number < 0) throw std::invalid_argument("Terms: numbers that are found count from 0");
  return make({.kind = Kind::found, .index = number});
}

bool Terms::is_uniform(Term term) const {
  return (contents_.at(static_cast<std::size_t>(term)).all & varying) == 0;
}

bool Terms::is_formula(Term term) const {
  return (contents_.at(static_cast<std::size_t>(term)).all & of_fields) == 0;
}

bool Terms::may_jump(Term term) const {
  return (contents_.at(static_cast<std::size_t>(term)).all >> jump_bit & 1) != 0;
}

bool Terms::contains(Term term, Kind kind, std::int32_t index) const {
  Contents const& contents = contents_.at(static_cast<std::size_t>(term));
  return ((contents.all | contents.under_operators) & bits_of(kind, index)) != 0;
}

bool Terms::contains_under_operator(Term term, Kind kind, std::int32_t index) const {
  return (contents_.at(static_cast<std::size_t>(term)).under_operators & bits_of(kind, index)) != 0;
}

bool Terms::is_odd_along(Term term, int axis) const {
  check_index(axis, 3, "axis");
  return (contents_.at(static_cast<std::size_t>(term)).odd_axes >> axis & 1) != 0;
}

/// The rules of calculus make terms.
class Terms::Maker final : public expression::PartMaker {
 public:
  explicit Maker(Terms& terms) : terms_(terms) {}
  Term number(double value) override { return terms_.number(value); }
  Term make(Operation operation, Term a, Term b, Term c) override {
    return terms_.operation(operation, a, b, c);
  }

 private:
  Terms& terms_;
};

std::vector<Term> Terms::parts(Term root, std::function<bool(Term)> const& skipped) const {
  std::vector<Term> found, waiting = {root};
  std::unordered_set<Term> seen = {root};
  while (!waiting.empty()) {
    Term const term = waiting.back();
    waiting.pop_back();
    if (skipped(term)) continue;
    found.push_back(term);
    Node const& node = (*this)[term];
    for (int i = 0; i < operand_count(node); ++i)
      if (seen.insert(node.operands[i]).second) waiting.push_back(node.operands[i]);
  }
  std::ranges::sort(found);
  return found;
}

Term Terms::partial(Term term, Term of) {
  Kind const kind = (*this)[of].kind;
  constexpr Kind variables[] = {Kind::unknown, Kind::name, Kind::coordinate, Kind::time,
                                Kind::found};
  if (std::ranges::find(variables, kind) == std::end(variables))
    throw std::invalid_argument("Terms: a derivative is with respect to a variable");
  Maker maker(*this);
  auto const slope = [&](Term part) {
    auto const known = part < 0 ? partials_.end() : partials_.find(key_of(part, of));
    return known == partials_.end() ? -1 : known->second;
  };
  auto const is_known = [&](Term part) { return partials_.contains(key_of(part, of)); };
  for (Term const part : parts(term, is_known)) {
    Node const node = (*this)[part];
    auto const [a, b, c] = node.operands;
    Term const result = part == of ? number(1)
                        : node.kind != Kind::operation
                            ? -1
                            : expression::derivative(maker, node.operation, part, node.operands,
                                                     {slope(a), slope(b), slope(c)});
    partials_.emplace(key_of(part, of), result);
  }
  return slope(term) < 0 ? number(0) : slope(term);
}

Term Terms::analytic(Term root) {
  constexpr Kind no_formula[] = {Kind::unknown, Kind::name, Kind::uniform, Kind::normal,
                                 Kind::noise};
  if (std::ranges::any_of(no_formula, [&](Kind kind) { return contains(root, kind); }))
    throw std::invalid_argument("Terms: what is no formula has no derivative by calculus");
  return rebuilt(root, [this](Node const& node, std::array<Term, 3> const& operands) -> Term {
    switch (node.kind) {
      case Kind::derivative: {
        Term result = operands[0];
        for (int axis = 0; axis < 3; ++axis)
          for (int k = 0; k < node.orders[static_cast<std::size_t>(axis)]; ++k)
            result = partial(result, coordinate(axis));
        return result;
      }
      case Kind::flux:
        return partial(operands[0], coordinate(node.index));
      case Kind::transport:
        return multiply(operands[0], partial(operands[1], coordinate(node.index)));
      default:
        return with_operands(node, operands);
    }
  });
}

Term Terms::with_reciprocals(Term term) {
  return rebuilt(term, [this](Node const& node, std::array<Term, 3> const& operands) {
    bool const divides = node.kind == Kind::operation && node.operation == Operation::divide;
    if (!divides || is_number(operands[1])) return with_operands(node, operands);
    return multiply(operands[0], divide(number(1), operands[1]));
  });
}

Term Terms::substitute(Term root, Term what, Term replacement) {
  Node const replaced = (*this)[what];
  return rebuilt(root, [&](Node const& node, std::array<Term, 3> const& operands) {
    return node == replaced ? replacement : with_operands(node, operands);
  });
}

Term Terms::rebuilt(Term root,
                    std::function<Term(Node const&, std::array<Term, 3> const&)> const& remake) {
  std::unordered_map<Term, Term> remade;
  for (Term const part : parts(root, [](Term) { return false; })) {
    Node const node = (*this)[part];
    std::array<Term, 3> operands = {-1, -1, -1};
    for (int i = 0; i < operand_count(node); ++i) operands[i] = remade.at(node.operands[i]);
    remade.emplace(part, remake(node, operands));
  }
  return remade.at(root);
}

Term Terms::with_operands(Node const& node, std::array<Term, 3> const& operands) {
  auto const [a, b, c] = operands;
  switch (node.kind) {
    case Kind::operation:
      return operation(node.operation, a, b, c);
    case Kind::derivative:
      return derivative(a, node.orders);
    case Kind::flux:
      return flux(a, node.index, flux_through_sides(node, operands));
    case Kind::transport:
      return transport(a, b, node.index);
    case Kind::integral:
    case Kind::mean:
    case Kind::least:
    case Kind::greatest:
      return global(node.kind, a);
    default:
      return make(node);
  }
}

}  // namespace gridstride::equations

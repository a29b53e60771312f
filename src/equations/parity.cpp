#include "equations/parity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace gridstride::equations {

namespace {

using expression::Operation;

constexpr Parity even = {true, false}, odd = {false, true}, neither = {};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

Parity both_as(Parity a, Parity b) { return {a.same && b.same, a.opposite && b.opposite}; }
Parity product(Parity a, Parity b) {
  return {(a.same && b.same) || (a.opposite && b.opposite),
          (a.same && b.opposite) || (a.opposite && b.same)};
}

Parity of_operation(StencilProgram const& program, Node const& node,
                    std::vector<Parity> const& found) {
  std::array<Parity, 3> a;
  bool all_same = true;
  int const count = operand_count(node);
  for (int i = 0; i < count; ++i) {
    a[index(i)] = found[index(node.operands[index(i)])];
    all_same = all_same && a[index(i)].same;
  }
  Parity const any = all_same ? even : neither;
  switch (node.operation) {
    case Operation::add:
    case Operation::subtract:
      return both_as(a[0], a[1]);
    case Operation::multiply:
    case Operation::divide:
      return product(a[0], a[1]);
    case Operation::select:
      return a[0].same ? both_as(a[1], a[2]) : neither;
    case Operation::cos:
    case Operation::cosh:
    case Operation::abs:
      return a[0].same || a[0].opposite ? even : neither;
    case Operation::power: {
      Node const& exponent = program.code[index(node.operands[1])];
      bool const is_whole =
          exponent.kind == Kind::number && std::floor(exponent.value) == exponent.value;
      if (all_same || !is_whole || !a[0].opposite) return any;
      return std::fmod(exponent.value, 2) == 0 ? even : odd;
    }
    default:
      return is_odd(node.operation) ? a[0] : any;
  }
}

}  // namespace

bool is_odd(Operation operation) {
  constexpr std::array all = {Operation::negate, Operation::sin,  Operation::tan,  Operation::asin,
                              Operation::atan,   Operation::sinh, Operation::tanh, Operation::cbrt,
                              Operation::erf,    Operation::sign};
  return std::ranges::find(all, operation) != all.end();
}

std::vector<Parity> parities_of(StencilProgram const& program, std::vector<char> const& turned) {
  std::vector<Parity> found;
  for (Node const& node : program.code) {
    if (node.kind == Kind::operation)
      found.push_back(of_operation(program, node, found));
    else if (node.kind == Kind::number && node.value == 0)
      found.push_back({true, true});
    else
      found.push_back(node.kind == Kind::unknown && turned.at(index(node.index)) ? odd : even);
  }
  std::vector<Parity> results;
  for (auto const result : program.results) results.push_back(found[index(result)]);
  return results;
}

}  // namespace gridstride::equations

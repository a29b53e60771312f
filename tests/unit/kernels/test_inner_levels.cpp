#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "equations/source.hpp"
#include "kernels/system/inner_levels.hpp"
#include "kernels/system/rows.hpp"
#include "support/march_cases.hpp"

namespace gridstride {
namespace {

using equations::Kind;
using equations::Node;
using equations::StencilProgram;
using Offset = std::array<int, 3>;

/// What a program in parts finds at a point, operation by operation as its text has it.
template <class T>
class Evaluation {
 public:
  Evaluation(std::vector<system::Part> const& parts, unsigned seed) : parts_(parts), seed_(seed) {}

  std::vector<T> results() const { return of_part(parts_.size() - 1, {}); }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::vector<T> of_part(std::size_t part, Offset const& at) const {
    StencilProgram const& program = parts_[part].program;
    std::vector<T> values(program.code.size());
    auto const value = [&](Node const& node, int i) {
      return values[index(node.operands[index(i)])];
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      Node const& node = program.code[i];
      if (node.kind != Kind::operation)
        values[i] = leaf(node, at);
      else if (int const which = parts_[part].fused[i]; which >= 0)
        values[i] = fused(program, node, which, values);
      else
        values[i] = system::apply_in(node.operation, value(node, 0),
                                     equations::operand_count(node) > 1 ? value(node, 1) : T(0),
                                     equations::operand_count(node) > 2 ? value(node, 2) : T(0));
    }
    std::vector<T> results;
    for (std::int32_t const result : program.results) results.push_back(values[index(result)]);
    return results;
  }

  static T fused(StencilProgram const& program, Node const& node, int which,
                 std::vector<T> const& values) {
    Node const& product = program.code[index(node.operands[index(which)])];
    T const a = values[index(product.operands[0])], b = values[index(product.operands[1])];
    T const other = values[index(node.operands[index(1 - which)])];
    if (node.operation == expression::Operation::add) return std::fma(a, b, other);
    return which == 0 ? std::fma(a, b, -other) : std::fma(-a, b, other);
  }

  /// Numbers without a pattern at each place, and those of inner operators from their parts.
  T leaf(Node const& node, Offset at) const {
    if (node.kind == Kind::number) return static_cast<T>(node.value);
    if (node.kind == Kind::time) return static_cast<T>(0.625);
    for (std::size_t axis = 0; axis < 3; ++axis) at[axis] += node.orders[axis];
    if (node.kind == Kind::coordinate) return static_cast<T>(0.3 * at[index(node.index)] + 0.1);
    int inner = node.index - static_cast<int>(parts_.back().program.results.size());
    for (std::size_t part = 0; inner >= 0; ++part) {
      int const results = static_cast<int>(parts_[part].program.results.size());
      if (inner < results) return of_part(part, at)[index(inner)];
      inner -= results;
    }
    std::seed_seq sequence{int(seed_), node.index, at[0], at[1], at[2]};
    std::mt19937 random(sequence);
    return static_cast<T>(std::uniform_real_distribution<double>(0.1, 0.9)(random));
  }

  std::vector<system::Part> const& parts_;
  unsigned seed_;
};

StencilProgram program_of(std::vector<equations::Definition> const& lets, std::string const& rate,
                          Grid const& grid = {.dims = 2, .points = {100, 100, 1}}) {
  return test::program_of({"a system", lets, {test::rate("u", rate)}, "euler", 1}, grid);
}

std::int64_t operations_of(StencilProgram const& program) {
  return std::ranges::count(program.code, Kind::operation, &Node::kind);
}

TEST(InnerLevels, WhatIsFoundOnceIsOnePart) {
  for (std::string const rate :
       {"laplace(u)", "u*(1 - u) + x*sin(t)", "d_dx(exp(-x^2 - y^2)) - u"}) {
    auto const program = program_of({}, rate);
    auto const parts = system::parts_of(program, 4);
    ASSERT_EQ(parts.size(), 1U) << rate;
    EXPECT_EQ(parts[0].program.code, program.code) << rate;
    EXPECT_EQ(parts[0].program.results, program.results) << rate;
  }
}

/// A quotient takes as long as nine sums, but by a power of 2, which is a product.
TEST(InnerLevels, AdditionsByHand) {
  equations::Terms terms;
  auto const u = terms.unknown(0);
  auto const additions = [&](equations::Term of) {
    auto const program = equations::program_of(terms, std::vector<equations::Term>{of}, 2);
    int all = 0;
    for (std::size_t i = 0; i < program.code.size(); ++i) all += system::additions_of(program, i);
    return all;
  };
  EXPECT_EQ(additions(u), 0);
  EXPECT_EQ(additions(terms.add(u, terms.multiply(u, u))), 2);
  EXPECT_EQ(additions(terms.divide(u, terms.number(4))), 1);
  EXPECT_EQ(additions(terms.divide(u, terms.number(-0.5))), 1);
  EXPECT_EQ(additions(terms.divide(u, terms.number(3))), 9);
  EXPECT_EQ(additions(terms.operation(expression::Operation::sqrt, u)), 9);
}

/// A pointwise operator, one of a Laplacian, and one of another: each reads what is before it.
TEST(InnerLevels, OperatorsWithinOperators) {
  auto const program =
      program_of({{"w", {"u + laplace(u)"}}, {"mu", {"w + laplace(w) + u^3"}}}, "laplace(mu)");
  EXPECT_EQ(program.reach, (std::array<int, 3>{3, 3, 0}));
  auto const parts = system::parts_of(program, 4);
  ASSERT_EQ(parts.size(), 3U);
  for (auto const& [part, fused] : parts) {
    EXPECT_EQ(part.reach, (std::array<int, 3>{1, 1, 0}));
    EXPECT_EQ(part.results.size(), 1U);
  }
  EXPECT_EQ(parts[0].program.components, 1);
  EXPECT_EQ(parts[1].program.components, 2);
  EXPECT_EQ(parts[2].program.components, 3);
  for (Node const& node : parts[2].program.code)
    EXPECT_TRUE(node.kind != Kind::unknown || node.index == 2);
  EXPECT_LT(operations_of(parts[0].program) + operations_of(parts[1].program) +
                operations_of(parts[2].program),
            operations_of(program) / 4);

  auto const pointwise = system::parts_of(
      program_of({{"f", {"(u^3 - u)*exp(-u^2) + sin(u)*u"}}}, "d_dx(f) + laplace(f)"), 4);
  ASSERT_EQ(pointwise.size(), 2U);
  EXPECT_EQ(pointwise[0].program.reach, (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(pointwise[1].program.reach, (std::array<int, 3>{1, 1, 0}));
}

/// In w = cos(a + f·u) a product is fused with the sum, and the other with nothing, since the rate
/// of v takes it as well: what is fused in a part is what was in the whole.
TEST(InnerLevels, PartsAreFusedAsTheWhole) {
  equations::Terms terms;
  using expression::Operation;
  auto const w_of = [&](int component, std::int8_t x) {
    auto const u = terms.unknown(component, {x, 0, 0});
    auto value = terms.operation(Operation::exp, u);
    for (int i = 0; i < 12; ++i) value = terms.operation(Operation::sin, terms.add(value, u));
    return std::pair(terms.multiply(value, u), u);
  };
  for (bool const other_takes_it : {false, true}) {
    std::vector<equations::Term> rates = {terms.number(0)};
    for (std::int8_t const x : {-1, 0, 1}) {
      auto const [product, u] = w_of(0, x);
      rates[0] = terms.add(rates[0], terms.operation(Operation::cos, terms.add(product, u)));
      if (other_takes_it && x == 0) rates.push_back(terms.operation(Operation::abs, product));
    }
    auto const parts = system::parts_of(equations::program_of(terms, rates, 2), 4);
    ASSERT_EQ(parts.size(), 2U);
    auto const& [first, fused] = parts[0];
    EXPECT_EQ(std::ranges::count(fused, -1), std::ssize(fused) - (other_takes_it ? 0 : 1));
    // All three places are looked up, and where the product counts by itself, it is too.
    EXPECT_EQ(first.results.size(), other_takes_it ? 2U : 1U);
    EXPECT_EQ(std::ranges::count(parts[1].program.code, Kind::unknown, &Node::kind),
              other_takes_it ? 4 : 3);
  }
}

/// ∇·F: what goes through a face and the cells' own fluxes and speeds are found once, whatever they
/// are; threads of one column have most to share with their neighbours.
TEST(InnerLevels, EachFaceHasOneFlux) {
  auto const cases = test::march_cases();
  auto const& water = *std::ranges::find(cases, "shallow water", &test::MarchCase::name);
  Grid const grid{.dims = 2, .points = {100, 100, 1}, .spacing = {0.3, 0.7, 1}};
  auto const program = test::program_of(water, grid);
  auto const count = [](StencilProgram const& of, expression::Operation operation) {
    return std::ranges::count(of.code, operation, &Node::operation);
  };
  EXPECT_EQ(count(program, expression::Operation::sqrt), 6);
  for (int const columns : {1, 2, 4}) {
    auto const parts = system::parts_of(program, columns);
    ASSERT_GE(parts.size(), 3U);
    std::int64_t roots = 0, quotients = 0;
    for (auto const& [part, fused] : parts) {
      roots += count(part, expression::Operation::sqrt);
      quotients += count(part, expression::Operation::divide);
    }
    EXPECT_EQ(roots, 2) << columns;
    EXPECT_EQ(quotients, 4) << columns;  // 1/h, and three entries of q q/h
  }
  // Cells, faces across x, faces across y, and the rates.
  auto const parts = system::parts_of(program, 1);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].program.reach, (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(parts[1].program.reach, (std::array<int, 3>{1, 0, 0}));
  EXPECT_EQ(parts[2].program.reach, (std::array<int, 3>{0, 1, 0}));
  EXPECT_EQ(parts[1].program.results.size(), 3U);
  EXPECT_EQ(parts[2].program.results.size(), 3U);
}

/// Of ∇²u the difference of two rows is found once, and that of two columns at each of them; of what has
/// both, as of x·∂u/∂y through a face, the longest.
TEST(InnerLevels, DifferencesOfRowsAreParts) {
  for (std::string const rate : {"laplace(u)", "div(0.3*grad(u)) + u^2"}) {
    auto const parts = system::parts_of(program_of({}, rate), 4, true);
    ASSERT_EQ(parts.size(), 2U) << rate;
    EXPECT_EQ(parts[0].program.reach, (std::array<int, 3>{0, 1, 0})) << rate;
    EXPECT_EQ(parts[0].program.results.size(), 1U) << rate;
    std::vector<int> rows;
    for (Node const& node : parts[1].program.code) {
      if (node.kind != Kind::unknown) continue;
      if (node.index == 1)
        rows.push_back(node.orders[1]);
      else
        EXPECT_EQ(node.orders[1], 0) << rate;
    }
    std::ranges::sort(rows);
    EXPECT_EQ(rows, (std::vector{-1, 0})) << rate;
  }
  auto const flux = system::parts_of(program_of({}, "d_dy(x*sin(d_dy(u)))"), 4, true);
  EXPECT_EQ(flux.size(), 2U);
  EXPECT_EQ(system::parts_of(program_of({}, "d_dx(u)"), 4, true).size(), 1U);
}

template <class T>
void expect_bits(StencilProgram const& program, std::string const& name) {
  std::vector const whole = {system::whole(program)};
  for (int const columns : {4, 1})
    for (bool const also_rows : {false, true}) {
      auto const parts = system::parts_of(program, columns, also_rows);
      for (unsigned const seed : {1U, 2U, 3U})
        EXPECT_EQ(Evaluation<T>(parts, seed).results(), Evaluation<T>(whole, seed).results())
            << name << " in " << parts.size() << " parts";
    }
}

TEST(InnerLevels, PartsHaveTheBitsOfTheWhole) {
  auto cases = test::march_cases();
  for (std::string const rate :
       {"laplace(f*sin(u)*(2 - u^3)/(1 + u^2))", "d_dx(f) + d2_dxdy(f*f)",
        "laplace(f) + f - u*u*u*3", "div(f*grad(u)) + laplace(x*y*f)", "f*d_dx(f) - u*d_dy(f*u)"})
    cases.push_back({rate,
                     {{"f", {"(u^3 - u)*exp(-u^2) + sin(u)*cos(3*u)*u - u*u*u*3"}}},
                     {test::rate("u", rate)},
                     "euler",
                     1});
  for (auto const& one : cases)
    for (std::array<double, 3> const spacing : {std::array{1.0, 1.0, 1.0}, {0.3, 0.7, 1.0}}) {
      Grid const grid{.dims = 2, .points = {100, 100, 1}, .spacing = spacing};
      expect_bits<float>(test::program_of(one, grid), one.name);
      expect_bits<double>(test::program_of(one, grid), one.name);
    }
}

}  // namespace
}  // namespace gridstride

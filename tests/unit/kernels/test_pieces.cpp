#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "equations/discretise.hpp"
#include "kernels/system/pieces.hpp"
#include "kernels/system/system.hpp"

namespace gridstride {
namespace {

using equations::Term;
using equations::Terms;
using expression::Operation;

/// Rates of `result(terms, a, b, c)` by both rows, and the instructions that one has beside loads.
template <class T, class Result>
void expect_same(Result const& result, std::size_t instructions) {
  double const inf = std::numeric_limits<double>::infinity();
  std::vector<double> const some = {0.0, -0.0, 1.0, -1.5,     1.0 / 3,      1e-30, -7e30,
                                    inf, -inf, 2.0, 0x1p-140, std::nan(""), 3.7};
  Stream stream{Device::open(Backend::cpu)};
  Grid grid;
  grid.points[0] = static_cast<std::int64_t>(some.size() * some.size() * some.size());
  std::vector<std::vector<T>> inputs(3), outputs(2);
  for (double const a : some)
    for (double const b : some)
      for (double const c : some)
        for (std::size_t i = 0; i < 3; ++i)
          inputs[i].push_back(static_cast<T>(i == 0 ? a : i == 1 ? b : c));
  Terms terms;
  std::vector<Term> const rates = {
      result(terms, terms.unknown(0), terms.unknown(1), terms.unknown(2))};
  auto const program = equations::program_of(terms, rates, 1);
  EXPECT_EQ(system::PieceProgram(program).code.size(), 3 + instructions);
  for (std::size_t row = 0; row < 2; ++row) {
    outputs[row].resize(inputs[0].size());
    system::Step<T> step;
    step.program = &program;
    step.grid = grid;
    step.is_stage = false;
    for (auto const& values : inputs) step.inputs.push_back({.values = values.data()});
    step.outputs = {{.values = outputs[row].data()}};
    system::advance(stream, step, row == 0 ? "reference" : "threads");
  }
  for (std::size_t i = 0; i < outputs[0].size(); ++i) {
    T const expected = outputs[0][i], found = outputs[1][i];
    if (expected == expected)
      ASSERT_EQ(std::memcmp(&found, &expected, sizeof(T)), 0)
          << inputs[0][i] << ", " << inputs[1][i] << ", " << inputs[2][i] << ": " << found
          << " in the place of " << expected;
    else
      ASSERT_NE(found, found);
  }
}

template <class Result>
void expect_same(Result const& result, std::size_t instructions) {
  expect_same<float>(result, instructions);
  expect_same<double>(result, instructions);
}

TEST(Pieces, OperationsThatStandInOthersHaveTheReferencesBits) {
  constexpr std::array pairs = {Operation::add, Operation::subtract, Operation::multiply,
                                Operation::divide};
  for (Operation const inner : pairs)
    for (Operation const outer : pairs)
      for (bool const comes_second : {false, true})
        expect_same(
            [&](Terms& terms, Term a, Term b, Term c) {
              Term const part = terms.operation(inner, a, b);
              return comes_second ? terms.operation(outer, c, part)
                                  : terms.operation(outer, part, c);
            },
            1);
}

TEST(Pieces, WhatIsUsedTwiceStandsInNothing) {
  expect_same(
      [](Terms& terms, Term a, Term b, Term c) {
        Term const sum = terms.add(a, b);
        return terms.multiply(terms.multiply(sum, sum), c);
      },
      2);
}

TEST(Pieces, SquaresAreProducts) {
  expect_same(
      [](Terms& terms, Term a, Term b, Term c) {
        return terms.add(terms.operation(Operation::power, a, terms.number(2)),
                         terms.operation(Operation::power, b, c));
      },
      4);
}

}  // namespace
}  // namespace gridstride

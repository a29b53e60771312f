#include "equations/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "equations/patterns.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

std::string printed(Terms const& terms, std::vector<Term> const& results,
                    Precision precision = Precision::float64) {
  return to_cuda(program_of(terms, results, 2), precision);
}

TEST(EquationsSource, HasALinePerValue) {
  Terms terms;
  Term const u = terms.unknown(0, {1, -2, 0});
  Term const x = terms.coordinate(1, 2);
  Term const both = terms.operation(Operation::exp, terms.multiply(u, x));
  EXPECT_EQ(printed(terms, {both, terms.time()}),
            "Real const v0 = at.template unknown<0, 1, -2, 0>();\n"
            "Real const v1 = at.template coordinate<1, 2>();\n"
            "Real const v2 = v0 * v1;\n"
            "Real const v3 = exp(v2);\n"
            "Real const v4 = at.time();\n"
            "result[0] = v3;\n"
            "result[1] = v4;\n");
}

TEST(EquationsSource, FusesProductsThatOneSumUses) {
  Terms terms;
  Term const a = terms.unknown(0), b = terms.unknown(1), c = terms.unknown(2);
  Term const product = terms.multiply(a, b), other = terms.multiply(b, c);
  auto const last = [&](Term term) {
    std::string const text = printed(terms, {term});
    return text.substr(0, text.rfind("result"));
  };
  auto const ends_with = [&](Term term, std::string const& line) {
    EXPECT_TRUE(last(term).ends_with(line + ";\n")) << last(term);
  };
  ends_with(terms.add(product, c), "fma(v0, v1, v2)");
  ends_with(terms.add(c, product), "fma(v0, v1, v2)");
  ends_with(terms.subtract(product, c), "fma(v0, v1, -v2)");
  ends_with(terms.subtract(c, product), "fma(-v0, v1, v2)");
  // Of two products the first; and none that something else uses, too.
  ends_with(terms.add(product, other), "fma(v0, v1, v4)");
  EXPECT_EQ(printed(terms, {terms.add(product, c), product}).find("fma"), std::string::npos);
}

/// What goes through a face is a sum of products at its two points: each is the same number,
/// wherever it is looked at from. A product that one point of a pair uses, and the other too, is
/// not fused.
TEST(EquationsSource, FusesAlikeAtAllPlaces) {
  Terms terms;
  auto const product = [&](std::int8_t x) {
    return terms.multiply(terms.unknown(0, {x, 0, 0}), terms.unknown(1, {x, 0, 0}));
  };
  auto const through = [&](std::int8_t x) {
    return terms.subtract(product(static_cast<std::int8_t>(x + 1)), product(x));
  };
  std::string const faces = printed(terms, {terms.subtract(through(0), through(-1))});
  EXPECT_EQ(faces.find("fma"), std::string::npos) << faces;
  auto const sum = [&](std::int8_t x) {
    return terms.add(product(x), terms.unknown(2, {x, 0, 0}));
  };
  auto const program =
      program_of(terms, std::vector{terms.add(sum(0), sum(1)), terms.negate(sum(-1))}, 2);
  EXPECT_EQ(std::ranges::count(fused_operands(program), 0), 3);
}

TEST(EquationsSource, PatternsAreWhatIsAlikeElsewhere) {
  Terms terms;
  auto const u = [&](int component, std::int8_t x, std::int8_t y) {
    return terms.unknown(component, {x, y, 0});
  };
  auto const pattern_of = [&](Term a, Term b) {
    auto const program = program_of(terms, std::vector{a, b}, 2);
    Patterns const patterns(program);
    auto const at = [&](std::size_t r) {
      return patterns.values[static_cast<std::size_t>(program.results[r])];
    };
    return std::tuple(at(0).pattern == at(1).pattern, at(1).at[0] - at(0).at[0],
                      at(1).at[1] - at(0).at[1]);
  };
  auto const face = [&](std::int8_t x, std::int8_t y) {
    return terms.subtract(u(0, static_cast<std::int8_t>(x + 1), y), u(1, x, y));
  };
  EXPECT_EQ(pattern_of(face(0, 0), face(-2, 1)), std::tuple(true, -2, 1));
  EXPECT_EQ(
      pattern_of(terms.multiply(u(0, 0, 0), u(1, 0, 0)), terms.multiply(u(1, 0, 2), u(0, 0, 2))),
      std::tuple(true, 0, 2));
  EXPECT_FALSE(std::get<0>(pattern_of(face(0, 0), terms.subtract(u(1, 0, 0), u(0, 1, 0)))));
  EXPECT_FALSE(std::get<0>(
      pattern_of(face(0, 0), terms.subtract(u(0, 1, 0), u(1, 1, 0)))));  // not as far apart
  // Of two products one is fused with their sum: which one counts.
  auto const a = terms.multiply(u(0, 0, 0), u(0, 0, 0)), b = terms.multiply(u(1, 0, 0), u(1, 0, 0));
  EXPECT_FALSE(std::get<0>(pattern_of(terms.add(a, b), terms.add(b, a))));
  // Random numbers and coordinates are those of a place.
  EXPECT_EQ(pattern_of(terms.random(Kind::uniform, 7), terms.random(Kind::uniform, 7, {1, 0, 0})),
            std::tuple(true, 1, 0));
  EXPECT_EQ(pattern_of(terms.coordinate(1), terms.coordinate(1, 3)), std::tuple(true, 0, 3));
}

TEST(EquationsSource, QuotientsByPowersOfTwoAreProducts) {
  Terms terms;
  Term const u = terms.unknown(0);
  auto const quotient_by = [&](double divisor) {
    return printed(terms, {terms.divide(u, terms.number(divisor))});
  };
  EXPECT_NE(quotient_by(-4).find("v0 * (-0x1p-2);"), std::string::npos) << quotient_by(-4);
  for (double const divisor : {6.0, 0x1p200})
    EXPECT_NE(quotient_by(divisor).find("= quotient(v0, 0x1"), std::string::npos)
        << quotient_by(divisor);
}

TEST(EquationsSource, QuotientsAlongColumnsShareDivisors) {
  Terms terms;
  Term const a = terms.unknown(0), b = terms.unknown(1), x = terms.coordinate(0);
  Term const root = terms.operation(Operation::sqrt, terms.divide(b, a));
  auto const program = program_of(
      terms, std::vector{terms.divide(terms.number(1), a), root, terms.divide(terms.number(2), x)},
      2);
  auto const text = to_cuda_along_columns(program, fused_operands(program), Precision::float64);
  EXPECT_TRUE(text.divides);
  EXPECT_NE(text.body.find("auto const d0 = at.divisor(v0);\n"), std::string::npos) << text.body;
  EXPECT_EQ(text.body.find("divisor"), text.body.rfind("divisor"));
  EXPECT_NE(text.body.find("= at.reciprocal(d0);\n"), std::string::npos) << text.body;
  EXPECT_NE(text.body.find(", d0);\n"), std::string::npos) << text.body;
  EXPECT_NE(text.body.find("= at.root(v"), std::string::npos) << text.body;
  EXPECT_NE(text.columns.find("= quotient(0x1p+1, v"), std::string::npos) << text.columns;
  auto const without = program_of(terms, std::vector{terms.multiply(a, b)}, 2);
  EXPECT_FALSE(to_cuda_along_columns(without, fused_operands(without), Precision::float64).divides);
}

TEST(EquationsSource, RoundsNumbersToThePrecision) {
  Terms terms;
  Term const scaled = terms.multiply(terms.number(0.1), terms.unknown(0));
  EXPECT_NE(printed(terms, {scaled}).find("0x1.999999999999ap-4"), std::string::npos);
  EXPECT_NE(printed(terms, {scaled}, Precision::float32).find("0x1.99999ap-4f"), std::string::npos);
  EXPECT_EQ(printed(terms, {terms.number(-3)}), "result[0] = (-0x1.8p+1);\n");
}

/// In u·(exp(x)·x) + x·y, exp(x)·x and x are the same all along a column, y is not; exp(x) alone is
/// for the column's own use.
TEST(EquationsSource, WhatIsTheSameAlongAColumnIsFoundOnce) {
  Terms terms;
  Term const u = terms.unknown(0), x = terms.coordinate(0), y = terms.coordinate(1);
  Term const of_column = terms.multiply(terms.operation(Operation::exp, x), x);
  Term const rate = terms.add(terms.multiply(u, of_column), terms.multiply(x, y));
  auto const program = program_of(terms, std::vector<Term>{rate, of_column}, 2);
  auto const text = to_cuda_along_columns(program, fused_operands(program), Precision::float64);
  EXPECT_EQ(text.kept, 2);
  EXPECT_EQ(text.columns,
            "Real const v1 = at.template coordinate<0, 0>();\n"
            "kept[0] = v1;\n"
            "Real const v3 = exp(v1);\n"
            "Real const v4 = v3 * v1;\n"
            "kept[1] = v4;\n");
  EXPECT_EQ(text.body,
            "Real const v0 = at.template unknown<0, 0, 0, 0>();\n"
            "Real const v1 = at.template kept<0>();\n"
            "Real const v2 = at.template coordinate<1, 0>();\n"
            "Real const v4 = at.template kept<1>();\n"
            "Real const v5 = v1 * v2;\n"
            "Real const v7 = fma(v0, v4, v5);\n"
            "result[0] = v7;\n"
            "result[1] = v4;\n");
  auto const without = program_of(terms, std::vector<Term>{terms.multiply(u, y)}, 2);
  auto const plain = to_cuda_along_columns(without, fused_operands(without), Precision::float32);
  EXPECT_EQ(plain.kept, 0);
  EXPECT_EQ(plain.columns, "");
  EXPECT_EQ(plain.body, to_cuda(without, Precision::float32));
}

}  // namespace
}  // namespace gridstride::equations

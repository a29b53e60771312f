#include "equations/lasting.hpp"

#include <gtest/gtest.h>

#include "equations/discretise.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

struct Lasting : testing::Test {
  System system{.dims = 2, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
  Terms& terms = system.terms;
  Term x = terms.coordinate(0), y = terms.coordinate(1), u = terms.unknown(0);
  Term sine(Term of) { return terms.operation(Operation::sin, of); }
  /// Whether it would be an array.
  bool lasts(Term term, int dims = 2) {
    return LastingTerms(terms, dims, most_lasting).number_of(term) == 0;
  }
};

TEST_F(Lasting, IsWhatTakesLongerThanToReadIt) {
  EXPECT_TRUE(lasts(sine(terms.add(x, y))));
  EXPECT_TRUE(lasts(terms.divide(x, terms.add(terms.number(1), y))));
  EXPECT_TRUE(lasts(terms.random(Kind::normal, 3)));
  EXPECT_TRUE(lasts(terms.random(Kind::uniform, 3)));
  EXPECT_FALSE(lasts(terms.multiply(x, y)));
  EXPECT_FALSE(lasts(terms.add(terms.multiply(x, x), y)));
  EXPECT_FALSE(lasts(sine(terms.number(0.3))));
}

TEST_F(Lasting, DependsOnSpaceAlone) {
  Term const xy = terms.multiply(x, y);
  for (Term const other : {u, terms.time(), terms.random(Kind::noise, 3), terms.found(0),
                           terms.name(0), terms.on_side(0, 0), terms.global(Kind::mean, u)})
    EXPECT_FALSE(lasts(sine(terms.multiply(xy, other))));
  EXPECT_FALSE(lasts(terms.derivative(terms.operation(Operation::step, xy), {1, 0, 0})));
}

TEST_F(Lasting, DependsOnMoreThanALine) {
  EXPECT_FALSE(lasts(sine(x)));
  EXPECT_FALSE(lasts(sine(y)));
  EXPECT_TRUE(lasts(terms.add(sine(x), y)));
  EXPECT_TRUE(lasts(sine(x), 1));
}

TEST_F(Lasting, HasNumbersUpToTheMost) {
  LastingTerms found(terms, 2, 2);
  Term const a = sine(terms.multiply(x, y)), b = sine(terms.add(x, y)),
             c = sine(terms.subtract(x, y));
  EXPECT_EQ(found.number_of(b), 0);
  EXPECT_EQ(found.number_of(a), 1);
  EXPECT_EQ(found.number_of(c), -1);
  EXPECT_EQ(found.number_of(b), 0);
  EXPECT_EQ(found.numbered(), (std::vector{b, a}));
  EXPECT_EQ(LastingTerms(terms, 2, 0).number_of(a), -1);
  // Terms that came later.
  EXPECT_EQ(LastingTerms(terms, 2, 1).number_of(terms.operation(Operation::cos, a)), 0);
}

/// ∂/∂x (D ∂u/∂x): one array, at the point and at both beside it.
TEST_F(Lasting, IsReadAtPointsNearby) {
  Term const D = terms.add(terms.number(2), sine(terms.multiply(x, y)));
  system.rates = {terms.flux(terms.multiply(D, terms.derivative(u, {1, 0, 0})), 0)};
  Grid const grid{.dims = 2, .points = {9, 9, 1}, .origin = {}, .spacing = {0.5, 0.5, 1}};
  auto const stencil = discretise(system, grid, {}, NamesAs::arrays, LastingAs::arrays);
  ASSERT_EQ(stencil.lasting.size(), 1);
  auto const program = program_of(stencil.terms, stencil.rates, 2);
  int reads = 0;
  for (Node const& node : program.code) {
    EXPECT_NE(node.kind, Kind::coordinate);
    if (node.kind == Kind::unknown && node.index == 1) ++reads;
  }
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(program.components, 2);
  // What the array holds is the formula at its own point.
  auto const formula = program_of(stencil.terms, stencil.lasting, 2);
  EXPECT_EQ(formula.components, 0);
  EXPECT_EQ(formula.reach, (std::array{0, 0, 0}));
}

/// z is another axis: nothing differs along it.
TEST_F(Lasting, IsReadWhereItDiffers) {
  system.dims = 3;
  Term const D = sine(terms.multiply(x, y));
  system.rates = {terms.derivative(terms.multiply(D, u), {0, 0, 1})};
  Grid const grid{.dims = 3, .points = {9, 9, 9}, .origin = {}, .spacing = {1, 1, 1}};
  auto const stencil = discretise(system, grid, {}, NamesAs::arrays, LastingAs::arrays);
  auto const program = program_of(stencil.terms, stencil.rates, 3);
  for (Node const& node : program.code)
    if (node.kind == Kind::unknown && node.index == 1) {
      EXPECT_EQ(node.orders[2], 0);
    }
}

}  // namespace
}  // namespace gridstride::equations

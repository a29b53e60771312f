#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/error.hpp"
#include "equations/terms.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

class TermsTest : public ::testing::Test {
 protected:
  Term n(double value) { return terms.number(value); }

  /// The value at a point, of terms without operators in space.
  double value(Term term, double of_u, double of_x, double of_t = 0) const {
    Node const& node = terms[term];
    auto const operand = [&](std::size_t i) {
      return node.operands[i] < 0 ? 0 : value(node.operands[i], of_u, of_x, of_t);
    };
    if (node.kind == Kind::number) return node.value;
    if (node.kind == Kind::unknown) return of_u;
    if (node.kind == Kind::coordinate) return of_x;
    if (node.kind == Kind::time) return of_t;
    EXPECT_EQ(node.kind, Kind::operation);
    return expression::apply(node.operation, operand(0), operand(1), operand(2));
  }

  Terms terms;
  Term u = terms.unknown(0), v = terms.unknown(1), x = terms.coordinate(0), t = terms.time();
};

TEST_F(TermsTest, StoresEqualTermsOnce) {
  Term const a = terms.add(terms.multiply(u, v), x);
  std::size_t const size = terms.size();
  EXPECT_EQ(terms.add(terms.multiply(u, v), x), a);
  EXPECT_EQ(terms.size(), size);
  EXPECT_NE(terms.add(terms.multiply(v, u), x), a);
  EXPECT_NE(terms.flux(u, 0), terms.flux(u, 1));
  EXPECT_NE(terms.derivative(u, {1, 0, 0}), terms.derivative(u, {0, 1, 0}));
  EXPECT_NE(terms.random(Kind::uniform, 1), terms.random(Kind::uniform, 2));
  EXPECT_NE(terms.random(Kind::uniform, 1), terms.random(Kind::normal, 1));
  EXPECT_NE(n(1), n(std::nextafter(1, 2)));
  EXPECT_EQ(n(-0.0), n(0.0));
  EXPECT_FALSE(std::signbit(terms[n(-0.0)].value));
}

TEST_F(TermsTest, KnowsTheRulesOfAlgebra) {
  EXPECT_EQ(terms.add(n(2), n(3)), n(5));
  EXPECT_EQ(terms.operation(Operation::sqrt, n(9)), n(3));
  EXPECT_EQ(terms.add(u, n(0)), u);
  EXPECT_EQ(terms.add(n(0), u), u);
  EXPECT_EQ(terms.subtract(u, n(0)), u);
  EXPECT_EQ(terms.subtract(n(0), u), terms.negate(u));
  EXPECT_EQ(terms.add(u, terms.negate(v)), terms.subtract(u, v));
  EXPECT_EQ(terms.subtract(u, terms.negate(v)), terms.add(u, v));
  EXPECT_EQ(terms.multiply(n(0), u), n(0));
  EXPECT_EQ(terms.multiply(u, n(0)), n(0));
  EXPECT_EQ(terms.multiply(n(1), u), u);
  EXPECT_EQ(terms.multiply(u, n(1)), u);
  EXPECT_EQ(terms.multiply(n(-1), u), terms.negate(u));
  EXPECT_EQ(terms.multiply(u, n(-1)), terms.negate(u));
  EXPECT_EQ(terms.divide(n(0), u), n(0));
  EXPECT_EQ(terms.divide(u, n(1)), u);
  EXPECT_EQ(terms.divide(u, n(-1)), terms.negate(u));
  EXPECT_EQ(terms.negate(terms.negate(u)), u);
  EXPECT_EQ(terms.operation(Operation::power, u, n(1)), u);
  EXPECT_EQ(terms.operation(Operation::power, u, n(0)), n(1));
  EXPECT_EQ(terms.operation(Operation::select, n(0), u, v), v);
  EXPECT_EQ(terms.operation(Operation::select, n(2), u, v), u);
  EXPECT_EQ(terms.operation(Operation::select, x, u, u), u);
}

TEST_F(TermsTest, LeavesOrderAndAssociationAlone) {
  Term const sum = terms.add(terms.add(n(1), u), n(2));
  EXPECT_EQ(terms[sum].operands[1], n(2));
  Term const product = terms.multiply(n(2), terms.multiply(n(3), u));
  EXPECT_EQ(terms[product].operands[0], n(2));
  EXPECT_EQ(terms[terms.subtract(u, u)].operation, Operation::subtract);
}

TEST_F(TermsTest, DerivativesInSpaceAreMerged) {
  Term const once = terms.derivative(u, {1, 0, 0});
  EXPECT_EQ(terms.derivative(once, {0, 2, 0}), terms.derivative(u, {1, 2, 0}));
  EXPECT_EQ(terms.derivative(u, {0, 0, 0}), u);
  for (Term const uniform : {n(3), t, terms.global(Kind::mean, u), terms.multiply(t, n(2))}) {
    EXPECT_TRUE(terms.is_uniform(uniform));
    EXPECT_EQ(terms.derivative(uniform, {1, 0, 0}), n(0));
    EXPECT_EQ(terms.flux(uniform, 1), n(0));
    EXPECT_EQ(terms.transport(u, uniform, 0), n(0));
  }
  EXPECT_EQ(terms.transport(n(0), u, 0), n(0));
  EXPECT_EQ(terms.global(Kind::least, t), t);
  EXPECT_NE(terms.global(Kind::integral, t), t);
  EXPECT_NO_THROW(terms.derivative(terms.derivative(u, {4, 0, 0}), {4, 0, 0}));
  EXPECT_THROW(terms.derivative(terms.derivative(u, {4, 0, 0}), {3, 2, 0}), Error);
  EXPECT_THROW(terms.derivative(u, {127, 127, 127}), Error);
}

TEST_F(TermsTest, KnowsWhatStandsInATerm) {
  Term const laplace = terms.derivative(u, {2, 0, 0});
  Term const term = terms.add(terms.multiply(v, laplace), terms.global(Kind::mean, x));
  EXPECT_TRUE(terms.contains(term, Kind::unknown));
  EXPECT_TRUE(terms.contains(term, Kind::unknown, 0));
  EXPECT_TRUE(terms.contains(term, Kind::unknown, 1));
  EXPECT_FALSE(terms.contains(term, Kind::unknown, 2));
  EXPECT_FALSE(terms.contains(term, Kind::name));
  EXPECT_TRUE(terms.contains(term, Kind::coordinate, 0));
  EXPECT_FALSE(terms.contains(term, Kind::coordinate, 1));
  EXPECT_TRUE(terms.contains(term, Kind::derivative));
  EXPECT_TRUE(terms.contains(term, Kind::mean));
  EXPECT_FALSE(terms.contains(term, Kind::flux));
  EXPECT_FALSE(terms.contains(term, Kind::time));
  EXPECT_TRUE(terms.contains_under_operator(term, Kind::unknown, 0));
  EXPECT_FALSE(terms.contains_under_operator(term, Kind::unknown, 1));
  EXPECT_TRUE(terms.contains_under_operator(term, Kind::coordinate, 0));
  EXPECT_FALSE(terms.is_uniform(term));
  EXPECT_FALSE(terms.is_uniform(terms.random(Kind::noise, 0)));
  EXPECT_TRUE(terms.contains(terms.unknown(max_components - 1), Kind::unknown, 23));
  EXPECT_TRUE(terms.contains(terms.name(max_components - 1), Kind::name, 23));
}

TEST_F(TermsTest, PartialDerivativesFollowCalculus) {
  // f = exp(u²·x)/(1 + t) + if(u < 1, u³, 3u): by central differences, whose error at h = 1e-5 is
  // below h²·|f'''| ≈ 1e-10·1e2, with rounding below 1e-16·|f|/h.
  Term const square = terms.operation(Operation::power, u, n(2));
  Term const f = terms.add(
      terms.divide(terms.operation(Operation::exp, terms.multiply(square, x)), terms.add(n(1), t)),
      terms.operation(Operation::select, terms.operation(Operation::less, u, n(1)),
                      terms.operation(Operation::power, u, n(3)), terms.multiply(n(3), u)));
  double const h = 1e-5;
  for (double const at : {0.3, 1.7}) {
    EXPECT_NEAR(value(terms.partial(f, u), at, 0.4, 2),
                (value(f, at + h, 0.4, 2) - value(f, at - h, 0.4, 2)) / (2 * h), 1e-7);
    EXPECT_NEAR(value(terms.partial(f, x), at, 0.4, 2),
                (value(f, at, 0.4 + h, 2) - value(f, at, 0.4 - h, 2)) / (2 * h), 1e-7);
    EXPECT_NEAR(value(terms.partial(f, t), at, 0.4, 2),
                (value(f, at, 0.4, 2 + h) - value(f, at, 0.4, 2 - h)) / (2 * h), 1e-7);
  }
  EXPECT_EQ(terms.partial(f, v), n(0));
  EXPECT_EQ(terms.partial(u, u), n(1));
  EXPECT_EQ(terms.partial(terms.multiply(u, terms.derivative(u, {1, 0, 0})), u),
            terms.derivative(u, {1, 0, 0}));
  EXPECT_THROW(terms.partial(f, n(2)), std::invalid_argument);
}

TEST_F(TermsTest, PartialDerivativesTakeTimeInProportionToTheTerm) {
  Term f = terms.add(u, x);
  for (int k = 0; k < 1000; ++k) f = terms.multiply(f, f);  // a tree of 2^1000 parts
  EXPECT_GT(terms.partial(f, u), f);
  EXPECT_LT(terms.size(), 10'000u);
  EXPECT_TRUE(terms.contains(f, Kind::coordinate));
  EXPECT_NE(terms.substitute(f, u, v), f);
}

TEST_F(TermsTest, TakesDerivativesOfFormulasByCalculus) {
  // ∂²/∂x² sin(2x) = −4 sin(2x); ∂/∂x of x³ as a flux = 3x²; t·∂x/∂x = t.
  Term const sine = terms.operation(Operation::sin, terms.multiply(n(2), x));
  EXPECT_NEAR(value(terms.analytic(terms.derivative(sine, {2, 0, 0})), 0, 0.3), -4 * std::sin(0.6),
              1e-14);
  Term const cube = terms.operation(Operation::power, x, n(3));
  EXPECT_NEAR(value(terms.analytic(terms.flux(cube, 0)), 0, 2), 12, 1e-13);
  EXPECT_EQ(terms.analytic(terms.transport(t, x, 0)), t);
  EXPECT_EQ(terms.analytic(terms.derivative(sine, {0, 1, 0})), n(0));
  EXPECT_THROW(terms.analytic(terms.derivative(u, {1, 0, 0})), std::invalid_argument);
  EXPECT_THROW(terms.analytic(terms.global(Kind::mean, u)), std::invalid_argument);
}

TEST_F(TermsTest, SubstitutesAndSimplifies) {
  Term const flux = terms.flux(terms.multiply(u, terms.derivative(v, {1, 0, 0})), 0);
  Term const mean = terms.global(Kind::mean, terms.transport(u, v, 1));
  EXPECT_EQ(terms.substitute(flux, u, n(1)), terms.flux(terms.derivative(v, {1, 0, 0}), 0));
  EXPECT_EQ(terms.substitute(flux, v, n(1)), n(0));
  EXPECT_EQ(terms.substitute(mean, v, x), terms.global(Kind::mean, terms.transport(u, x, 1)));
  EXPECT_EQ(terms.substitute(flux, x, n(1)), flux);
}

/// Two quotients by v, one within the other and one by a number.
TEST_F(TermsTest, ReciprocalsStandForQuotients) {
  Term const one_over = terms.divide(n(1), v);
  Term const quotient = terms.divide(u, v), nested = terms.divide(quotient, v);
  EXPECT_EQ(terms.with_reciprocals(quotient), terms.multiply(u, one_over));
  EXPECT_EQ(terms.with_reciprocals(nested), terms.multiply(terms.multiply(u, one_over), one_over));
  EXPECT_EQ(terms.with_reciprocals(one_over), one_over);
  Term const half = terms.divide(u, n(3));
  EXPECT_EQ(terms.with_reciprocals(half), half);
}

/// Slopes at u = 0, by the rules of calculus 0/0, ∞·0 and ∞.
TEST_F(TermsTest, ZerosCountBeforePoles) {
  Term const size = terms.operation(Operation::sqrt, terms.multiply(x, x));
  auto const slope = [&](Term of) { return terms.with_zeros_at_poles(terms.partial(of, x)); };
  for (Term const root :
       {size, terms.multiply(x, size), terms.multiply(terms.multiply(n(-3), x), size)})
    EXPECT_EQ(value(slope(root), 0, 0), 0);
  Term const cube_root = terms.operation(Operation::cbrt, x);
  Term const power = terms.operation(Operation::power, x, n(1.0 / 3));
  for (Term const root : {cube_root, power}) {
    EXPECT_TRUE(std::isinf(value(slope(root), 0, 0)));
    EXPECT_EQ(value(slope(terms.multiply(root, x)), 0, 0), 0);
    EXPECT_NEAR(value(slope(terms.multiply(root, x)), 0, 8), 4.0 / 3 * 2, 1e-14);
  }
  EXPECT_EQ(value(slope(size), 0, 1e-170), 0);  // whose square is 0
  EXPECT_EQ(value(slope(size), 0, -2), -1);
  EXPECT_EQ(value(slope(size), 0, 1e-150), 1);
  Term const quotient = terms.divide(u, v);
  EXPECT_EQ(terms.with_zeros_at_poles(quotient), quotient);
}

TEST_F(TermsTest, RefusesWhatNoSystemHas) {
  EXPECT_THROW(terms.unknown(-1), std::invalid_argument);
  EXPECT_THROW(terms.unknown(max_components), std::invalid_argument);
  EXPECT_THROW(terms.name(max_components), std::invalid_argument);
  EXPECT_THROW(terms.coordinate(3), std::invalid_argument);
  EXPECT_THROW(terms.flux(u, 3), std::invalid_argument);
  EXPECT_THROW(terms.transport(u, u, -1), std::invalid_argument);
  EXPECT_THROW(terms.derivative(u, {-1, 1, 0}), std::invalid_argument);
  EXPECT_THROW(terms.operation(Operation::number, u), std::invalid_argument);
  EXPECT_THROW(terms.operation(Operation::add, u), std::invalid_argument);
  EXPECT_THROW(terms.operation(Operation::add, u, 1 << 30), std::invalid_argument);
  EXPECT_THROW(terms.global(Kind::flux, u), std::invalid_argument);
  EXPECT_THROW(terms.random(Kind::flux, 1), std::invalid_argument);
}

TEST_F(TermsTest, AreBounded) {
  auto const fill = [this] {
    for (int k = 0; k < 70'000; ++k) terms.number(k);
  };
  EXPECT_THROW(fill(), Error);
  EXPECT_EQ(terms.size(), max_terms);
  EXPECT_EQ(terms.number(7), n(7)) << "what is there costs nothing";
}

}  // namespace
}  // namespace gridstride::equations

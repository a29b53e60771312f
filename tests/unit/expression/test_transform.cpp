#include "expression/transform.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/random_formulas.hpp"

namespace gridstride::expression {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Expression parse(std::string_view text) { return Expression::parse(text); }

/// Equal to the last bit, the sign of zero included; one NaN is as good as another.
bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::vector<std::array<double, 4>> awkward_points() {
  std::vector<std::array<double, 4>> points;
  for (double const x : {0.0, -0.0, 0.3, -2.5, 1e200, infinity, -infinity, nan})
    for (double const y : {0.0, 1.0, -0.7, infinity}) points.push_back({x, y, y - x, 2 * x});
  return points;
}

TEST(Expression, IsPutTogetherFromNodes) {
  Expression const formula = parse("if(x < y, x*sin(y), 2)");
  Expression const again(std::vector<Node>(formula.nodes().begin(), formula.nodes().end()));
  EXPECT_EQ(again, formula);
  EXPECT_EQ(again.stack_depth(), formula.stack_depth());

  auto const refused = [](std::vector<Node> list) {
    EXPECT_THROW(Expression(std::move(list)), std::invalid_argument);
  };
  Node const number, sum{.operation = Operation::add, .operands = {0, 1, -1}};
  refused({});
  refused({number, number});
  refused({sum});
  refused({number, sum});
  refused({number, number, number, sum});  // takes operands that are not the last
  refused({{.operation = Operation::variable, .variable = max_variables}});
  refused({{.operation = Operation::variable, .variable = -1}});
  EXPECT_THROW(Expression::variable(max_variables), std::invalid_argument);
}

TEST(Expression, IsOfManyVariables) {
  Expression sum(0.0);
  std::vector<double> values;
  for (int k = 0; k < max_variables; ++k) {
    sum = sum + Expression(std::ldexp(1, k)) * Expression::variable(k);
    values.push_back(k % 2);
  }
  EXPECT_EQ(sum.variable_count(), max_variables);
  EXPECT_EQ(sum.evaluate(values), 0xAAAAAA);
  values.pop_back();
  EXPECT_THROW(sum.evaluate(values), std::invalid_argument);
  EXPECT_EQ(Expression::variable(5).to_string(), "v5");
  constexpr Variable names[] = {{"k", 5}};
  EXPECT_EQ(parse("x + 1").to_string(names), "v0 + 1");
  EXPECT_EQ((Expression::variable(5) * Expression(2)).to_string(names), "k*2");
}

TEST(Transform, BuildsTreesAsTheParserDoes) {
  Expression const x = parse("x"), y = parse("y");
  EXPECT_EQ(x + y * x - y / x, parse("x + y*x - y/x"));
  EXPECT_EQ(-(x * y), parse("-(x*y)"));
  EXPECT_EQ(apply(Operation::select, x, y, Expression(3)), parse("if(x, y, 3)"));
  EXPECT_EQ(apply(Operation::power, x, Expression(3)), parse("x^3"));
  EXPECT_THROW(apply(Operation::number, x), std::invalid_argument);
  EXPECT_THROW(apply(Operation::variable, x), std::invalid_argument);
}

TEST(Transform, RefusesTreesBeyondTheBounds) {
  Expression doubled = parse("x + 1");
  EXPECT_THROW(
      {
        for (int i = 0; i < 40; ++i) doubled = doubled + doubled;
      },
      Error);
  EXPECT_LE(doubled.nodes().size(), static_cast<std::size_t>(max_tree_nodes));
  Expression deep = parse("x");
  EXPECT_THROW(
      {
        for (int i = 0; i < max_stack_depth; ++i) deep = parse("y") - deep;
      },
      Error);
  // A substitution that would double 60 times is refused at once.
  Expression power = parse("x*x");
  EXPECT_THROW(
      {
        for (int i = 0; i < 60; ++i) power = substitute(power, 0, power);
      },
      Error);
}

TEST(Transform, SimplifiesWhatChangesNoValue) {
  for (auto const& [text, simple] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"2*3 + x", "6 + x"},
           {"x + (1 - 1)", "x + 0"},  // not x: −0 + 0 is 0
           {"x + 0*(-1)", "x"},
           {"x - 0", "x"},
           {"x*1", "x"},
           {"1*x", "x"},
           {"x/1", "x"},
           {"x*0", "x*0"},  // not 0: x may be infinite
           {"x/2", "x/2"},
           {"-(-x)", "x"},
           {"x^(3 - 2)", "x"},
           {"x^0", "1"},
           {"if(2 > 1, x, y)", "x"},
           {"if(0, x, y)", "y"},
           {"sin(0)*x", "0*x"},
           {"max(1, 2, x)", "max(2, x)"},
           {"(x + 2)*(3 - 2) - (2 - 2)", "x + 2"},
       })
    EXPECT_EQ(simplified(parse(text)).to_string(), simple) << text;
}

TEST(Transform, SimplifiedFormulasHaveTheSameBits) {
  test::RandomFormulas formulas(4);
  std::size_t nodes_before = 0, nodes_after = 0;
  for (int i = 0; i < 1500; ++i) {
    Expression const formula = formulas.next(1 + i % 6), simple = simplified(formula);
    nodes_before += formula.nodes().size();
    nodes_after += simple.nodes().size();
    for (auto const& point : awkward_points())
      ASSERT_TRUE(same_bits(formula.evaluate(point), simple.evaluate(point)))
          << formula.to_string() << "\n"
          << simple.to_string() << " at x = " << point[0];
    EXPECT_EQ(simplified(simple).nodes().size(), simple.nodes().size());
  }
  EXPECT_LT(nodes_after, nodes_before);
}

TEST(Transform, SubstitutesAVariable) {
  EXPECT_EQ(substitute(parse("x^2 + y*x"), 0, parse("y + 1")), parse("(y + 1)^2 + y*(y + 1)"));
  EXPECT_EQ(substitute(parse("x^2 + y"), 2, parse("7")), parse("x^2 + y"));
  EXPECT_EQ(substitute(parse("x"), 0, parse("x + x")), parse("x + x"));
  test::RandomFormulas formulas(3);
  for (int i = 0; i < 300; ++i) {
    Expression const formula = formulas.next(4), inner = formulas.next(2);
    Expression const together = substitute(formula, 1, inner);
    for (auto point : awkward_points()) {
      double const value = together.evaluate(point);
      point[1] = inner.evaluate(point);
      ASSERT_TRUE(same_bits(value, formula.evaluate(point))) << formula.to_string();
    }
  }
}

/// A formula, and where its derivatives up to the third are below 100.
struct Smooth {
  std::string_view formula;
  double lower, upper;
};

constexpr Smooth smooth[] = {
    {"x", -2, 2},
    {"7", -2, 2},
    {"y + 1", -2, 2},
    {"-x", -2, 2},
    {"x + y", -2, 2},
    {"y + x", -2, 2},
    {"x - y", -2, 2},
    {"y - x", -2, 2},
    {"x*y", -2, 2},
    {"x*x*x", -2, 2},
    {"x/y", -2, 2},
    {"y/x", 1, 3},
    {"(x + 1)/(x^2 + 1)", -2, 2},
    {"x^3", -2, 2},
    {"x^-2", 1, 2},
    {"x^0.5", 1, 2},
    {"x^y", 1, 2},
    {"y^x", -2, 2},
    {"x^x", 0.5, 2},
    {"exp(x)", -2, 2},
    {"log(x)", 0.5, 2},
    {"sin(x)", -2, 2},
    {"cos(x)", -2, 2},
    {"tan(x)", -0.7, 0.7},
    {"asin(x)", -0.5, 0.5},
    {"acos(x)", -0.5, 0.5},
    {"atan(x)", -2, 2},
    {"sinh(x)", -2, 2},
    {"cosh(x)", -2, 2},
    {"tanh(x)", -2, 2},
    {"sqrt(x)", 0.5, 2},
    {"cbrt(x)", 0.5, 2},
    {"cbrt(x)", -2, -0.5},
    {"abs(x)", 0.5, 2},
    {"abs(x)", -2, -0.5},
    {"sign(x)*x", -2, -0.5},
    {"min(x, 2*x)", 0.5, 2},
    {"min(x, 2*x)", -2, -0.5},
    {"max(x, 2*x)", 0.5, 2},
    {"max(2, x^2)", -1, 1},
    {"floor(x) + x", 0.1, 0.9},
    {"ceil(x)*x", 0.1, 0.9},
    {"mod(x, 0.7)", 0.1, 0.6},
    {"mod(y, x)", 0.75, 0.9},
    {"mod(x^2, x)", 1.1, 1.3},
    {"erf(x)", -2, 2},
    {"erfc(x)", -2, 2},
    {"atan2(x, y)", -2, 2},
    {"atan2(y, x)", -2, 2},
    {"atan2(x, x^2 + 1)", -2, 2},
    {"step(x)*x", 0.1, 2},
    {"if(x < 1, x^2, y)", -1, 0.9},
    {"if(x < 1, y, x^2)", 1.1, 2},
    {"if(x, 3, x)", 0.5, 1},
    {"(x <= y) + (x > y) + (x >= 1) + (x == y) + (x != 1)", -2, 0},
    {"exp(sin(x)*cos(y*x)) + log(x^2 + 1)", -2, 2},
};

TEST(Transform, DerivativesAreTheSlopes) {
  // The central difference errs by h²/6·|f'''| and 4 ulp of rounding on each side, over 2h.
  constexpr double h = 0x1p-16, y = 1.7;
  constexpr double truncation = h * h / 6 * 100;
  for (auto const& [text, lower, upper] : smooth) {
    Expression const formula = parse(text), slope = derivative(formula, 0);
    for (int i = 0; i <= 20; ++i) {
      double const x = lower + (upper - lower) * i / 20 + (i == 0 ? h : i == 20 ? -h : 0);
      double const low = formula.evaluate(x - h, y), high = formula.evaluate(x + h, y);
      double const rounding = 8 * std::max(std::abs(low), std::abs(high)) * 0x1p-52 / (2 * h);
      ASSERT_NEAR(slope.evaluate(x, y), (high - low) / (2 * h), truncation + rounding)
          << text << " at " << x << ": " << slope.to_string();
    }
  }
}

TEST(Transform, DerivativesAreTestedOfEveryOperation) {
  std::set<Operation> covered;
  for (auto const& row : smooth) {
    Expression const formula = parse(row.formula);
    for (Node const& node : formula.nodes()) covered.insert(node.operation);
  }
  for (int i = 0; i < operation_count; ++i)
    EXPECT_TRUE(covered.contains(static_cast<Operation>(i))) << i;
}

TEST(Transform, DerivativesAreShort) {
  for (auto const& [text, slope] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"x^2", "2*x"},
           {"3*x^2 + 2*x + 1", "3*(2*x) + 2"},
           {"exp(x)*sin(x)", "exp(x)*sin(x) + exp(x)*cos(x)"},
           {"sin(y)", "0"},
           {"floor(x) + sign(x)", "0"},
           {"if(x < 0, 1, 2)", "0"},
           {"if(x < 0, x, 2)", "if(x < 0, 1, 0)"},
           {"mod(x, 3)", "1"},
           {"erf(x)", "1.1283791670955126*exp(-x^2)"},
       })
    EXPECT_EQ(derivative(parse(text), 0).to_string(), slope) << text;
  EXPECT_EQ(derivative(parse("x*t"), time_variable), parse("x"));
  EXPECT_EQ(derivative(parse("abs(x)"), 0).evaluate(0), 0);
  EXPECT_TRUE(std::isfinite(derivative(parse("x^3"), 0).evaluate(-1))) << "no logarithm of x";
}

}  // namespace
}  // namespace gridstride::expression

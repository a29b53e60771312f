#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression/evaluate.hpp"
#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(Expression, IsANumberWithoutText) {
  EXPECT_EQ(Expression().evaluate(1, 2, 3, 4), 0);
  EXPECT_EQ(Expression(-2.5).evaluate(1, 2, 3, 4), -2.5);
  EXPECT_EQ(Expression(-2.5).to_string(), "-2.5");
  EXPECT_EQ(Expression::parse("-2.5"), Expression(-2.5));
}

TEST(Expression, KnowsWhatItDependsOn) {
  Expression const formula = Expression::parse("sin(x)*t");
  EXPECT_TRUE(formula.depends_on(0));
  EXPECT_FALSE(formula.depends_on(1));
  EXPECT_FALSE(formula.depends_on(2));
  EXPECT_TRUE(formula.depends_on(time_variable));
  EXPECT_EQ(formula.variable_count(), time_variable + 1);
  EXPECT_FALSE(formula.is_constant());
  EXPECT_TRUE(Expression::parse("sin(2)*pi").is_constant());
  for (Variable const& variable : space_and_time)
    EXPECT_FALSE(Expression::parse(variable.name).is_constant()) << variable.name;
}

TEST(Expression, KnowsTheStackItNeeds) {
  for (auto const& [text, depth] : {std::pair{"1", 1},
                                    {"-sin(x)", 1},
                                    {"x + y + z + t", 2},
                                    {"x + (y + (z + t))", 4},
                                    {"if(x, y, z)", 3},
                                    {"if(1, 2, if(3, 4, 5))", 5},
                                    {"max(1, 2, 3, 4, 5)", 2}})
    EXPECT_EQ(Expression::parse(text).stack_depth(), depth) << text;
}

TEST(Expression, EvaluatesEveryFunction) {
  struct Case {
    std::string_view text;
    double value;
  };
  // At x = -2.5, y = 0.5. Where the mathematics gives no short number, digits from tables.
  for (auto const& [text, value] : {
           Case{"if(x, 1, 2)", 1},
           {"if(0, 1, 2)", 2},
           {"if(x < y, 10, 20)", 10},
           {"exp(0)", 1},
           {"exp(1)", 2.718281828459045},
           {"log(1)", 0},
           {"log(0)", -infinity},
           {"sin(0)", 0},
           {"sin(1)", 0.8414709848078965},
           {"cos(0)", 1},
           {"cos(1)", 0.5403023058681398},
           {"tan(1)", 1.5574077246549023},
           {"asin(1)", 1.5707963267948966},
           {"acos(1)", 0},
           {"acos(0)", 1.5707963267948966},
           {"atan(1)", 0.7853981633974483},
           {"sinh(1)", 1.1752011936438014},
           {"cosh(1)", 1.5430806348152437},
           {"tanh(1)", 0.7615941559557649},
           {"sqrt(2.25)", 1.5},
           {"cbrt(-27)", -3},
           {"abs(x)", 2.5},
           {"sign(x)", -1},
           {"sign(y)", 1},
           {"sign(0)", 0},
           {"min(x, y)", -2.5},
           {"max(x, y)", 0.5},
           {"floor(x)", -3},
           {"ceil(x)", -2},
           {"mod(x, 2)", 1.5},
           {"mod(2.5, -2)", -1.5},
           {"mod(-4, 2)", 0},
           {"mod(5, 3)", 2},
           {"mod(-1, 3)", 2},
           {"erf(0.5)", 0.5204998778130465},
           {"erfc(0.5)", 0.4795001221869535},
           {"pow(2, 10)", 1024},
           {"x^2", 6.25},
           {"x^3", -15.625},
           {"4^0.5", 2},
           {"atan2(1, -1)", 2.356194490192345},
           {"step(x)", 0},
           {"step(0)", 1},
           {"step(y)", 1},
           {"x < y", 1},
           {"x <= x", 1},
           {"x > y", 0},
           {"x >= y", 0},
           {"x == x", 1},
           {"x != x", 0},
           {"1/0", infinity},
       }) {
    double const computed = Expression::parse(text).evaluate(-2.5, 0.5);
    if (std::isinf(value))
      EXPECT_EQ(computed, value) << text;
    else  // 1 ulp of rounding of the digits, 2 of the library
      EXPECT_NEAR(computed, value, 3 * std::abs(value) * 0x1p-52) << text;
  }
}

TEST(Expression, FollowsIeeeForNan) {
  for (auto const& [text, value] : {std::pair{"x == x", 0.0},
                                    {"x != x", 1.0},
                                    {"x < 1", 0.0},
                                    {"x >= 1", 0.0},
                                    {"min(x, 1)", 1.0},
                                    {"min(1, x)", 1.0},
                                    {"max(x, 1)", 1.0},
                                    {"max(1, x)", 1.0},
                                    {"sign(x)", nan},
                                    {"step(x)", 1.0},
                                    {"if(x, 3, 4)", 3.0},
                                    {"x^2", nan},
                                    {"0*x", nan},
                                    {"mod(x, 2)", nan},
                                    {"mod(1, 0)", nan}})
    EXPECT_TRUE(same(Expression::parse(text).evaluate(nan), value)) << text;
  EXPECT_TRUE(std::signbit(Expression::parse("mod(4, -2)").evaluate(0)));
  EXPECT_FALSE(std::signbit(Expression::parse("mod(-4, 2)").evaluate(0)));
}

TEST(Expression, TableOfFunctionsIsComplete) {
  std::set<Operation> operations;
  std::set<std::string_view> names;
  for (FunctionInfo const& function : functions()) {
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
    operations.insert(function.operation);
    EXPECT_EQ(function.arguments, operand_count(function.operation)) << function.name;
    EXPECT_TRUE(function.signature.starts_with(std::string(function.name) + "(")) << function.name;
    EXPECT_FALSE(function.doc.empty()) << function.name;
    std::string call = std::string(function.name) + "(x";
    for (int i = 1; i < function.arguments; ++i) call += ", x";
    EXPECT_EQ(Expression::parse(call + ")").nodes().back().operation, function.operation);
    EXPECT_EQ(function.or_more, function.name == "min" || function.name == "max");
  }
  for (int i = static_cast<int>(Operation::select); i < operation_count; ++i)
    EXPECT_TRUE(operations.contains(static_cast<Operation>(i))) << i;
}

TEST(Expression, PrintsWithTheFewestParentheses) {
  for (auto const& [text, printed] : {std::pair{"((x))+((y*z))", "x + y*z"},
                                      {"(x+y)*z", "(x + y)*z"},
                                      {"x-(y-z)", "x - (y - z)"},
                                      {"(x-y)-z", "x - y - z"},
                                      {"x/(y*z)", "x/(y*z)"},
                                      {"(x^y)^z", "(x^y)^z"},
                                      {"x^(y^z)", "x^y^z"},
                                      {"(-x)^2", "(-x)^2"},
                                      {"-(x^2)", "-x^2"},
                                      {"x^(-y)", "x^-y"},
                                      {"x*(-y)", "x*-y"},
                                      {"-(x+y)", "-(x + y)"},
                                      {"-(3)", "-(3)"},
                                      {"(-3)^2", "(-3)^2"},
                                      {"-3^2", "-3^2"},
                                      {"--3", "--3"},
                                      {"1 - -3", "1 - -3"},
                                      {"-0", "-0"},
                                      {"(x<y)==(y<z)", "(x < y) == (y < z)"},
                                      {"min(min(x,y),z)", "min(x, y, z)"},
                                      {"min(x,min(y,z))", "min(x, min(y, z))"},
                                      {"pow(x,2)", "x^2"},
                                      {"if(x<1,0.1,1e-9)", "if(x < 1, 0.1, 1e-09)"}}) {
    Expression const parsed = Expression::parse(text);
    EXPECT_EQ(parsed.to_string(), printed) << text;
    EXPECT_EQ(Expression::parse(parsed.to_string()), parsed) << text;
  }
}

TEST(Expression, PrintsLongCallsThatParseAgain) {
  std::string call = "max(0";
  for (int i = 1; i < 1000; ++i) call += ", " + std::to_string(i);
  Expression const parsed = Expression::parse(call + ")");
  EXPECT_EQ(parsed.to_string(), call + ")");
  EXPECT_EQ(parsed.evaluate(0), 999);
}

/// A random formula with every subtree in parentheses, and its value at (0.7, -1.3, 2.1, 0.4),
/// computed without the parser.
struct Sample {
  std::string text;
  double value;
};

class Sampler {
 public:
  Sample next(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    Sample const a = next(depth - 1);
    switch (pick(14)) {
      case 0:
        return unary("-", a, -a.value);
      case 1:
        return unary("sin", a, std::sin(a.value));
      case 2:
        return unary("tanh", a, std::tanh(a.value));
      case 3:
        return unary("abs", a, std::abs(a.value));
      case 4:
        return unary("floor", a, std::floor(a.value));
      default:
        break;
    }
    Sample const b = next(depth - 1);
    switch (pick(10)) {
      case 0:
        return binary(a, "+", b, a.value + b.value);
      case 1:
        return binary(a, "-", b, a.value - b.value);
      case 2:
        return binary(a, "*", b, a.value * b.value);
      case 3:
        return binary(a, "/", b, a.value / b.value);
      case 4:
        return binary(a, "^", b, std::pow(a.value, b.value));
      case 5:
        return binary(a, "<", b, a.value < b.value);
      case 6:
        return binary(a, "!=", b, a.value != b.value);
      case 7:
        return {"min(" + a.text + "," + b.text + ")", std::fmin(a.value, b.value)};
      case 8:
        return {"atan2(" + a.text + "," + b.text + ")", std::atan2(a.value, b.value)};
      default:
        break;
    }
    Sample const c = next(depth - 1);
    return {"if(" + a.text + "," + b.text + "," + c.text + ")", a.value != 0 ? b.value : c.value};
  }

 private:
  int pick(int count) { return std::uniform_int_distribution(0, count - 1)(engine_); }

  Sample leaf() {
    switch (pick(7)) {
      case 0:
        return {"x", 0.7};
      case 1:
        return {"y", -1.3};
      case 2:
        return {"z", 2.1};
      case 3:
        return {"t", 0.4};
      case 4:
        return {"(-1.5)", -1.5};
      case 5:
        return {"pi", std::numbers::pi};
      default:
        break;
    }
    int const number = pick(4);
    return {std::to_string(number), static_cast<double>(number)};
  }

  static Sample unary(std::string const& name, Sample const& a, double value) {
    return {"(" + name + "(" + a.text + "))", value};
  }

  static Sample binary(Sample const& a, std::string const& sign, Sample const& b, double value) {
    return {"(" + a.text + sign + b.text + ")", value};
  }

  std::mt19937 engine_{20240607};
};

TEST(Expression, RandomTreesEvaluateAndPrintBack) {
  Sampler sampler;
  std::size_t largest = 0;
  for (int i = 0; i < 600; ++i) {
    Sample const sample = sampler.next(1 + i % 7);
    Expression const parsed = Expression::parse(sample.text);
    EXPECT_TRUE(same(parsed.evaluate(0.7, -1.3, 2.1, 0.4), sample.value)) << sample.text;
    std::string const printed = parsed.to_string();
    EXPECT_EQ(Expression::parse(printed), parsed) << sample.text << "\n" << printed;
    EXPECT_LE(printed.size(), 2 * sample.text.size() + 20 * parsed.nodes().size());
    largest = std::max(largest, parsed.nodes().size());
  }
  EXPECT_GT(largest, 50u) << "the samples must not all be small";
}

TEST(BlockEvaluator, AgreesWithSinglePoints) {
  Sampler sampler;
  std::vector<std::string> texts = {"x", "y", "z", "t", "3.5", "x*x", "if(x < y, z, -t)"};
  for (int i = 0; i < 60; ++i) texts.push_back(sampler.next(2 + i % 5).text);
  for (std::string const& text : texts) {
    Expression const formula = Expression::parse(text);
    std::vector<Instruction> const code = to_instructions(formula);
    ASSERT_EQ(code.size(), formula.nodes().size());
    BlockEvaluator evaluator(code);
    for (std::size_t const size : {0u, 1u, 255u, 256u, 257u, 1000u}) {
      std::vector<double> x(size), y(size), z(size), result(size + 1, -77);
      for (std::size_t i = 0; i < size; ++i) {
        auto const k = static_cast<double>(i);
        x[i] = 0.01 * k - 1;
        y[i] = 2 - 0.03 * k;
        z[i] = std::fmod(0.7 * k, 3);
      }
      std::vector<double> const t(size, 0.4);
      std::array const variables = {std::as_const(x).data(), std::as_const(y).data(),
                                    std::as_const(z).data(), t.data()};
      evaluator.evaluate(variables, static_cast<std::int64_t>(size), result.data());
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_TRUE(same(result[i], formula.evaluate(x[i], y[i], z[i], 0.4)))
            << text << " at point " << i << " of " << size;
      ASSERT_EQ(result[size], -77) << "nothing is written behind the result";
    }
  }
}

TEST(BlockEvaluator, UsesTheWholeStack) {
  std::string text = "x";
  for (int i = 1; i < max_stack_depth; ++i) text = "x - (" + text + ")";
  Expression const formula = Expression::parse(text);
  ASSERT_EQ(formula.stack_depth(), max_stack_depth);
  std::vector<Instruction> const code = to_instructions(formula);
  std::vector<double> const x = {1, 2, 3};
  std::vector<double> result(3, -77);
  BlockEvaluator(code).evaluate(std::array{x.data()}, 3, result.data());
  EXPECT_EQ(result, (std::vector<double>{0, 0, 0})) << "x - (x - ...) with an even count";
}

TEST(BlockEvaluator, RefusesTooFewVariables) {
  std::vector<Instruction> const code = to_instructions(Expression::parse("x + z"));
  std::vector<double> const values = {1, 2, 3};
  std::vector<double> result(3);
  std::vector<double const*> variables(2, values.data());
  BlockEvaluator evaluator(code);
  EXPECT_THROW(evaluator.evaluate(variables, 3, result.data()), std::invalid_argument);
  variables.push_back(values.data());
  evaluator.evaluate(variables, 3, result.data());
  EXPECT_EQ(result, (std::vector<double>{2, 4, 6}));
}

}  // namespace
}  // namespace gridstride::expression

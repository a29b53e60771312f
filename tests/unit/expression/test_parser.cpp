#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

Symbols const symbols = {{"speed", 3.0}, {"offset", -2.0}};

double value_of(std::string_view text) {
  return Expression::parse(text, symbols).evaluate(2, 3, 5, 7);
}

std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

/// The fault of a formula; position -1 when it has none.
struct Fault {
  std::ptrdiff_t position = -1;
  std::string message;
};

Fault fault_of(std::string_view text) {
  try {
    Expression::parse(text, symbols);
  } catch (ParseError const& error) {
    return {static_cast<std::ptrdiff_t>(error.position()), error.what()};
  }
  return {};
}

TEST(Parser, ReadsNumbers) {
  struct Case {
    std::string_view text;
    double value;
  };
  for (auto const& [text, value] : {
           Case{"1", 1},
           {"1.5", 1.5},
           {".5", 0.5},
           {"1.", 1},
           {"010", 10},
           {"1e-3", 0.001},
           {"1E+3", 1000},
           {"2.5e2", 250},
           {"1.7976931348623157e308", std::numeric_limits<double>::max()},
           {"5e-324", std::numeric_limits<double>::denorm_min()},
           {" \t\r\n 4 \n", 4},
           {"-3", -3},
           {"+3", 3},
       }) {
    Expression const parsed = Expression::parse(text);
    EXPECT_EQ(parsed.nodes().size(), 1u) << text;
    EXPECT_EQ(parsed.evaluate(0), value) << text;
  }
}

TEST(Parser, ReadsNames) {
  EXPECT_EQ(value_of("x"), 2);
  EXPECT_EQ(value_of("y"), 3);
  EXPECT_EQ(value_of("z"), 5);
  EXPECT_EQ(value_of("t"), 7);
  EXPECT_EQ(value_of("pi"), std::numbers::pi);
  EXPECT_EQ(value_of("e"), std::numbers::e);
  EXPECT_EQ(value_of("speed"), 3);
  EXPECT_EQ(value_of("speed*offset"), -6);
  EXPECT_EQ(value_of("offset^2"), 4);
  EXPECT_EQ(Expression::parse("x", {{"x", 9.0}}).evaluate(2), 2) << "variables win over symbols";
}

TEST(Parser, AppliesPrecedence) {
  struct Case {
    std::string_view text, meaning;
    double value;
  };
  for (auto const& [text, meaning, value] : {
           Case{"1 + 2*3", "1 + (2*3)", 7},
           {"(1 + 2)*3", "(1 + 2)*(3)", 9},
           {"10 - 4 - 3", "(10 - 4) - 3", 3},
           {"24/4/3", "(24/4)/3", 2},
           {"24/4*3", "(24/4)*3", 18},
           {"2^3^2", "2^(3^2)", 512},
           {"-x^2", "-(x^2)", -4},
           {"(-x)^2", "((-x))^2", 4},
           {"-3^2", "-(3^2)", -9},
           {"2^-1", "2^(-1)", 0.5},
           {"2^-x^2", "2^(-(x^2))", 0.0625},
           {"2*-3", "2*(-3)", -6},
           {"1 - -3", "1 - (-3)", 4},
           {"--x", "-(-x)", 2},
           {"+x", "x", 2},
           {"2^+x", "2^x", 4},
           {"-x*y", "(-x)*y", -6},
           {"1 + x < 2*y", "(1 + x) < (2*y)", 1},
           {"x < y == 1", "", 0},
           {"(x < y) == 1", "((x < y)) == (1)", 1},
           {"min(4, 3, 5)", "min(min(4, 3), 5)", 3},
           {"max(1, 2, 3, 4)", "max(max(max(1, 2), 3), 4)", 4},
           {"pow(x, 3)", "x^3", 8},
       }) {
    if (meaning.empty()) {
      EXPECT_NE(fault_of(text).position, -1) << text;
      continue;
    }
    EXPECT_EQ(Expression::parse(text), Expression::parse(meaning)) << text;
    EXPECT_EQ(value_of(text), value) << text;
  }
}

TEST(Parser, ListsNodesInPostOrder) {
  Expression const parsed = Expression::parse("1 + 2*x");
  ASSERT_EQ(parsed.nodes().size(), 5u);
  EXPECT_EQ(parsed.nodes()[2].operation, Operation::variable);
  EXPECT_EQ(parsed.nodes()[2].variable, 0);
  EXPECT_EQ(parsed.nodes()[3].operation, Operation::multiply);
  EXPECT_EQ(parsed.nodes()[3].operands, (std::array<std::int32_t, 3>{1, 2, -1}));
  EXPECT_EQ(parsed.nodes()[4].operation, Operation::add);
  EXPECT_EQ(parsed.nodes()[4].operands, (std::array<std::int32_t, 3>{0, 3, -1}));
  EXPECT_EQ(parsed.stack_depth(), 3);
}

TEST(Parser, RefusesFaultsWithTheirPositions) {
  struct Case {
    std::string_view text;
    std::ptrdiff_t position;
    std::string_view message;  // a part of it
  };
  for (auto const& [text, position, message] : {
           // empty and unfinished
           Case{"", 0, "the formula is empty"},
           {"  \n ", 0, "the formula is empty"},
           {"1 +", 3, "the formula ends after '+' (a value is expected)"},
           {"2^", 2, "the formula ends after '^'"},
           {"x -", 3, "the formula ends after '-'"},
           {"()", 0, "the parentheses are empty"},
           {"* 3", 0, "a value is expected before '*'"},
           {"3 + * 4", 4, "a value is expected before '*' (it follows '+')"},
           {"(1 + )", 5, "a value is expected before ')'"},
           // parentheses and commas
           {"(1 + 2", 6, "a ')' is missing (it would close the '(' at character 1)"},
           {"2*sin(x", 7, "a ')' is missing (it would close the '(' at character 6)"},
           {"(1, 2)", 2, "a ')' is missing"},
           {"1 + 2)", 5, "this ')' closes nothing"},
           {"1,5", 1, "a ',' stands outside of a call (a decimal point is written '.'"},
           // names
           {"2*sni(x)", 2, "unknown function 'sni'"},
           {"2*sni(x)", 2, "; did you mean 'sin'?"},
           {"speeed + 1", 0, "unknown name 'speeed'"},
           {"speeed + 1", 0, "; did you mean 'speed'?"},
           {"1 + u", 4, "unknown name 'u'"},
           {"ln(x)", 0, "; did you mean 'log'?"},
           {"sin x", 0, "'sin' is a function (its arguments stand in parentheses)"},
           {"sin x", 0, "; did you mean 'sin(x)'?"},
           {"1 + atan2", 4, "; did you mean 'atan2(y, x)'?"},
           {"x(1 + 2)", 0, "'x' is a variable, not a function"},
           {"x(1 + 2)", 0, "; did you mean 'x*('?"},
           {"3 + pi(2)", 4, "'pi' is a number, not a function"},
           {"speed(2)", 0, "'speed' is a number, not a function"},
           // arguments
           {"1 + sin(x, y)", 4, "'sin' takes 1 argument, here are more"},
           {"sin()", 0, "'sin' takes 1 argument, here are none (it is called as sin(v))"},
           {"atan2(x)", 0, "'atan2' takes 2 arguments, here are only 1"},
           {"if(x, 1)", 0, "'if' takes 3 arguments, here are only 2"},
           {"if(x, 1, 2, 3)", 0, "'if' takes 3 arguments, here are more"},
           {"min(x)", 0, "'min' takes 2 or more arguments, here are only 1"},
           {"sin(,)", 4, "a value is expected before ','"},
           // operators
           {"2x", 1, "an operator is missing between '2' and 'x'"},
           {"2x", 1, "; did you mean '2*x'?"},
           {"2 (x)", 2, "; did you mean '2*('?"},
           {"(x)(y)", 3, "an operator is missing between ')' and '('"},
           {"(2 x)", 3, "; did you mean '2*x'?"},
           {"1.2.3", 3, "an operator is missing between '1.2' and '.3'"},
           {"x**2", 1,
            "'**' is not used in formulas (powers are written with ^); did you mean '^'?"},
           {"x = 2", 2, "; did you mean '=='?"},
           {"x => 2", 2, "; did you mean '>='?"},
           {"x && y", 2, "; did you mean '*'?"},
           {"x % 2", 2, "; did you mean 'mod'?"},
           {"x < y < z", 6, "comparisons do not chain"},
           {"x == y != z", 7, "; did you mean '(a < b)*(b < c)'?"},
           // numbers
           {"1 + 1e400", 4, "the number '1e400' is out of range"},
           {"1e-400", 0, "the number '1e-400' is out of range"},
           {"1 + .", 4, "a point without digits"},
           // signs that formulas do not use
           {"1; 2", 1, "';' is not used in formulas (a formula is a single expression)"},
           {"x $ 2", 2, "'$' is not used in formulas"},
           {"\"x\"", 0, "'\"' is not used in formulas"},
           {"[x]", 0, "only round parentheses group"},
           {"2\u00d7x", 1, "(formulas are plain ASCII); did you mean '*'?"},
           {"2*\u03c0", 2, "; did you mean 'pi'?"},
           {"1 + \u00e9", 4, "'\u00e9' is not used in formulas"},
           {"1 + \xc3", 4, "the byte 0xC3 is not ASCII"},
           {"1 + \xf8\x80\x80\x80", 4, "the byte 0xF8 is not ASCII"},
           {"x\x07", 1, "the control character 0x07"},
           {std::string_view("x\0y", 3), 1, "the control character 0x00"},
       }) {
    Fault const fault = fault_of(text);
    EXPECT_EQ(fault.position, position) << text << "\n" << fault.message;
    EXPECT_NE(fault.message.find(message), std::string::npos) << text << "\n" << fault.message;
  }
}

TEST(Parser, RefusesSymbolsThatAreNotFinite) {
  Symbols const infinite = {{"huge", std::numeric_limits<double>::infinity()}};
  EXPECT_THROW(Expression::parse("1 + huge", infinite), ParseError);
  EXPECT_EQ(Expression::parse("1 + 2", infinite).evaluate(0), 3);
}

TEST(Parser, BoundsTheText) {
  std::string const longest = "1" + std::string(max_formula_bytes - 1, ' ');
  EXPECT_EQ(value_of(longest), 1);
  Fault const fault = fault_of(longest + " ");
  EXPECT_EQ(fault.position, static_cast<std::ptrdiff_t>(max_formula_bytes));
  EXPECT_EQ(fault.message, "the formula has 65537 bytes (at most 65536)");
  EXPECT_NE(fault_of(repeat("x+", 512 * 1024) + "x").message.find("1048577 bytes"),
            std::string::npos);
}

TEST(Parser, BoundsTheNodes) {
  std::string const odd = repeat("x+", 2047) + "x";  // 2048 variables, 2047 additions
  EXPECT_EQ(Expression::parse(odd).nodes().size(), 4095u);
  EXPECT_EQ(Expression::parse("-" + odd).nodes().size(), 4096u);
  Fault const fault = fault_of("--" + odd);
  EXPECT_EQ(fault.position, 2 + 2 * 2047 - 1) << "the last addition has no room";
  EXPECT_NE(fault.message.find("too long (at most 4096"), std::string::npos) << fault.message;
}

TEST(Parser, BoundsTheNesting) {
  auto const nested = [](int levels) { return repeat("(", levels) + "x" + repeat(")", levels); };
  EXPECT_EQ(value_of(nested(200)), 2);
  EXPECT_EQ(fault_of(nested(201)).position, 201);
  for (std::string const& text : {nested(10'000), repeat("(", 10'000), repeat("-", 10'000) + "x",
                                  repeat("sin(", 10'000), repeat("+", 10'000)}) {
    Fault const fault = fault_of(text);
    EXPECT_NE(fault.message.find("nested too deeply (at most 200 levels)"), std::string::npos)
        << text.substr(0, 10) << "\n"
        << fault.message;
  }
}

TEST(Parser, BoundsTheStack) {
  auto const stacking = [](int values) {
    return repeat("x+(", values - 1) + "x" + repeat(")", values - 1);
  };
  EXPECT_EQ(Expression::parse(stacking(64)).stack_depth(), 64);
  EXPECT_EQ(value_of(stacking(64)), 128);
  Fault const fault = fault_of(stacking(65));
  EXPECT_EQ(fault.position, 3 * 64);
  EXPECT_EQ(fault_of(repeat("2^", 64) + "2").position, 2 * 64);
  EXPECT_NE(fault.message.find("too many values at once"), std::string::npos) << fault.message;
}

TEST(Parser, SurvivesHostileText) {
  std::vector<std::string> texts = {"__proto__",
                                    "x; rm -rf /",
                                    "{}{}{}",
                                    "%s%n%d",
                                    "{0}{name}",
                                    "'; DROP TABLE fields; --",
                                    "0x10",
                                    "1e",
                                    "1e+",
                                    "nan",
                                    "inf",
                                    "\\x41",
                                    "x\xff\xfe",
                                    "#include",
                                    "sin(sin",
                                    ",,,,",
                                    "^^^^",
                                    "))))((((",
                                    std::string(60'000, 'a'),
                                    std::string(60'000, '9') + "e99999999999999999999",
                                    std::string(60'000, '\0'),
                                    repeat("min(", 10'000),
                                    repeat("x,", 10'000),
                                    repeat("1<", 10'000),
                                    "min(" + repeat("x,", 10'000) + "x)"};
  for (std::string const& text : texts) {
    Fault const fault = fault_of(text);
    EXPECT_GE(fault.position, 0) << text.substr(0, 40);
    EXPECT_LE(fault.position, static_cast<std::ptrdiff_t>(text.size())) << text.substr(0, 40);
    EXPECT_LT(fault.message.size(), 400u) << text.substr(0, 40);
    EXPECT_FALSE(fault.message.empty());
  }
}

TEST(Parser, EveryPrefixOfAFormulaParsesOrFails) {
  std::string const text =
      "if(x <= 0.5e-1, -sin(2*pi*x)^2, mod(-y, 3) + atan2(y, x)) != step(t - 1)";
  for (std::size_t length = 0; length < text.size(); ++length) {
    Fault const fault = fault_of(text.substr(0, length));
    EXPECT_LE(fault.position, static_cast<std::ptrdiff_t>(length)) << text.substr(0, length);
  }
  EXPECT_EQ(fault_of(text).position, -1);
}

}  // namespace
}  // namespace gridstride::expression

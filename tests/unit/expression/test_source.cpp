#include "expression/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "expression/transform.hpp"
#include "tests/support/random_formulas.hpp"

namespace gridstride::expression {
namespace {

std::vector<std::string> const names = {"v[0]", "v[1]", "v[2]", "p[0]"};

std::string printed(std::string_view text, Precision precision = Precision::float64,
                    Powers powers = Powers::by_function) {
  return to_cuda(Expression::parse(text), precision, names, powers);
}

int lines_of(std::string const& source) {
  return static_cast<int>(std::ranges::count(source, '\n'));
}

TEST(Source, HasALinePerValue) {
  EXPECT_EQ(printed("exp(x)*sin(x)"),
            "Real const t0 = exp(v[0]);\n"
            "Real const t1 = sin(v[0]);\n"
            "Real const t2 = t0 * t1;\n"
            "return t2;\n");
  EXPECT_EQ(printed("x"), "return v[0];\n");
  EXPECT_EQ(printed("t"), "return p[0];\n");
  EXPECT_EQ(printed("if(x < 1, -y, mod(x, y))"),
            "Real const t0 = v[0] < 0x1p+0 ? Real(1) : Real(0);\n"
            "Real const t1 = -v[1];\n"
            "Real const t2 = gridstride::expression::floored_modulo(v[0], v[1]);\n"
            "Real const t3 = t0 != Real(0) ? t1 : t2;\n"
            "return t3;\n");
}

TEST(Source, SharesWhatIsComputedTwice) {
  EXPECT_EQ(lines_of(printed("sin(x*y) + sin(x*y)")), 4);
  EXPECT_EQ(lines_of(printed("sin(x*y) + sin(y*x)")), 4) << "products commute";
  EXPECT_EQ(lines_of(printed("(x + y)*(y + x)")), 3);
  EXPECT_EQ(lines_of(printed("(x - y)*(y - x)")), 4) << "differences do not";
  EXPECT_EQ(lines_of(printed("min(x, y) + min(y, x)")), 4) << "min(0, -0) may depend on the order";
  std::string text = "x";
  for (int i = 0; i < 11; ++i) text = "(" + text + ")*(" + text + ")";
  EXPECT_EQ(lines_of(printed(text)), 12) << "2^11 factors by 11 squares";
}

TEST(Source, NumbersAreExact) {
  EXPECT_EQ(printed("0.1"), "return 0x1.999999999999ap-4;\n");
  EXPECT_EQ(printed("0.1", Precision::float32), "return 0x1.99999ap-4f;\n");
  EXPECT_EQ(printed("-3"), "return (-0x1.8p+1);\n");
  EXPECT_EQ(printed("-(-(3))"), "Real const t0 = -0x1.8p+1;\nReal const t1 = -t0;\nreturn t1;\n");
  EXPECT_EQ(printed("5e-324"), "return 0x0.0000000000001p-1022;\n");
  EXPECT_EQ(printed("1e300", Precision::float32), "return __int_as_float(0x7f800000);\n");
  Expression const infinite = simplified(Expression::parse("-1/0"));
  EXPECT_EQ(to_cuda(infinite, Precision::float64, names),
            "return (-__longlong_as_double(0x7ff0000000000000));\n");
  Expression const none = simplified(Expression::parse("0/0"));
  EXPECT_EQ(to_cuda(none, Precision::float64, names),
            "return __longlong_as_double(0x7ff8000000000000);\n");
  EXPECT_EQ(to_cuda(none, Precision::float32, names), "return __int_as_float(0x7fc00000);\n");
  EXPECT_EQ(printed("-0*x"), "Real const t0 = (-0x0p+0) * v[0];\nreturn t0;\n");
}

TEST(Source, PowersAreProductsWhereThatIsAsked) {
  EXPECT_EQ(printed("x^2"), "Real const t0 = v[0] * v[0];\nreturn t0;\n") << "as in apply";
  EXPECT_EQ(printed("x^3"), "Real const t0 = pow(v[0], 0x1.8p+1);\nreturn t0;\n");
  EXPECT_EQ(printed("x^y"),
            "Real const t0 = v[1] == Real(2) ? v[0] * v[0] : pow(v[0], v[1]);\nreturn t0;\n");
  auto const products = [](std::string_view text) {
    return printed(text, Precision::float64, Powers::by_products);
  };
  EXPECT_EQ(products("x^3"),
            "Real const t0 = v[0] * v[0];\nReal const t1 = v[0] * t0;\nreturn t1;\n");
  EXPECT_EQ(products("x^-2"),
            "Real const t0 = v[0] * v[0];\nReal const t1 = 0x1p+0 / t0;\nreturn t1;\n");
  EXPECT_EQ(lines_of(products("x^8")), 4);
  EXPECT_EQ(lines_of(products("x^8 + x^4")), 5) << "x^4 is a part of x^8";
  for (std::string_view const text : {"x^9", "x^-9", "x^0.5", "x^1e30", "x^y", "x^1", "x^0"})
    EXPECT_NE(products(text).find("pow("), std::string::npos) << text;
}

TEST(Source, RefusesVariablesWithoutAName) {
  Expression const formula = Expression::variable(4);
  EXPECT_THROW(to_cuda(formula, Precision::float64, names), std::invalid_argument);
}

/// Text of a program that is nothing but assignments of known functions and operators to numbered
/// names.
bool is_harmless(std::string const& source) {
  static std::regex const line(R"((Real const t\d+ = |return )[-+*/<>=!?: ()a-z0-9.,\[\]_R]+;)");
  static std::regex const word("[A-Za-z_][A-Za-z_0-9]*");
  static std::set<std::string> const known = [] {
    std::set<std::string> words = {"Real",
                                   "const",
                                   "return",
                                   "v",
                                   "p",
                                   "fabs",
                                   "fmin",
                                   "fmax",
                                   "pow",
                                   "atan2",
                                   "gridstride",
                                   "expression",
                                   "floored_modulo",
                                   "__int_as_float",
                                   "__longlong_as_double"};
    for (FunctionInfo const& function : functions()) words.insert(std::string(function.name));
    return words;
  }();
  std::size_t start = 0;
  for (std::size_t end; (end = source.find('\n', start)) != std::string::npos; start = end + 1) {
    std::string const text = source.substr(start, end - start);
    if (!std::regex_match(text, line)) return false;
    // Hexadecimal numbers begin with a digit, so they are no words.
    std::string const without_numbers =
        std::regex_replace(text, std::regex(R"(\b\d[0-9a-fx.]*(p[-+]\d+)?f?)"), "");
    for (std::sregex_iterator found(without_numbers.begin(), without_numbers.end(), word), none;
         found != none; ++found)
      if (!known.contains(found->str()) && !std::regex_match(found->str(), std::regex(R"(t\d+)")))
        return false;
  }
  return start == source.size();
}

TEST(Source, IsOfFixedWordsAndCharacters) {
  EXPECT_TRUE(is_harmless("Real const t0 = 0x1.8p+1f * v[0];\nreturn t0;\n"));
  for (std::string const bad :
       {"return x;\n", "return v[0]; }\n", "asm();\n", "return v[0];", "#define\n",
        "return \"\";\n", "return system(v[0]);\n", "return v[0]\\;\n"})
    EXPECT_FALSE(is_harmless(bad)) << bad;
  test::RandomFormulas formulas(4);
  for (int i = 0; i < 40; ++i) {
    Expression const formula = formulas.next(1 + i % 5);
    for (Precision const precision : {Precision::float32, Precision::float64})
      for (Powers const powers : {Powers::by_function, Powers::by_products}) {
        std::string const source = to_cuda(formula, precision, names, powers);
        ASSERT_TRUE(is_harmless(source)) << formula.to_string() << "\n" << source;
      }
  }
}

}  // namespace
}  // namespace gridstride::expression

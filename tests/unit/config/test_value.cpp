#include <gtest/gtest.h>

#include <limits>

#include "config/value.hpp"

namespace gridstride::config {
namespace {

std::string number_fault(std::string_view text) {
  try {
    parse_number(text);
  } catch (ValueError const& error) {
    return error.what();
  }
  return "";
}

std::string integer_fault(std::string_view text) {
  try {
    parse_integer(text);
  } catch (ValueError const& error) {
    return error.what();
  }
  return "";
}

TEST(Number, IsDecimal) {
  EXPECT_EQ(parse_number("010"), 10);
  EXPECT_EQ(parse_number("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(parse_number("+2"), 2);
  EXPECT_EQ(parse_number(".5"), 0.5);
  EXPECT_EQ(parse_number("5."), 5);
  EXPECT_EQ(parse_number(" 1E2 "), 100);
  EXPECT_EQ(parse_number("5e-324"), std::numeric_limits<double>::denorm_min());
}

TEST(Number, SaysWhyNot) {
  EXPECT_EQ(number_fault(".nan"), "'.nan' is not a number (only finite numbers are accepted)");
  EXPECT_EQ(number_fault("-.INF"), "'-.INF' is not a number (only finite numbers are accepted)");
  EXPECT_EQ(number_fault("0x1F"), "'0x1F' is not a number (hexadecimal; numbers are decimal)");
  EXPECT_EQ(number_fault("0b11"), "'0b11' is not a number (binary; numbers are decimal)");
  EXPECT_EQ(number_fault("1d3"), "'1d3' is not a number (the exponent is written 1e-3)");
  EXPECT_EQ(number_fault("1e999"), "'1e999' is out of range (the largest number is 1.8e308)");
  EXPECT_EQ(number_fault("-0.001e-999"),
            "'-0.001e-999' is out of range (the smallest number above 0 is 5e-324)");
  for (std::string_view const text : {"", " ", "-", ".", "e5", "1 2", "--1", "1e1.5", "1e", "abc"})
    EXPECT_NE(number_fault(text), "") << text;
}

TEST(Integer, IsExact) {
  EXPECT_EQ(parse_integer("010"), 10);
  EXPECT_EQ(parse_integer("1e3"), 1000);
  EXPECT_EQ(parse_integer("1.5e1"), 15);
  EXPECT_EQ(parse_integer("2.0"), 2);
  EXPECT_EQ(parse_integer("-0"), 0);
  EXPECT_EQ(parse_integer("100e-2"), 1);
  EXPECT_EQ(parse_integer("9007199254740993"), 9007199254740993);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer("0e99999999999999999999"), 0);
}

TEST(Integer, SaysWhyNot) {
  EXPECT_EQ(integer_fault("1.5"), "'1.5' is not a whole number");
  EXPECT_EQ(integer_fault("1e-1"), "'1e-1' is not a whole number");
  EXPECT_EQ(integer_fault("1_000"),
            "'1_000' is not a whole number (digits are written without underscores)");
  EXPECT_EQ(integer_fault("9223372036854775808"),
            "'9223372036854775808' is out of range (whole numbers go up to 9223372036854775807)");
  EXPECT_NE(integer_fault("1e99999999999999999999"), "");
  EXPECT_NE(integer_fault("1e-99999999999999999999"), "");
}

TEST(Quantity, ConvertsUnits) {
  EXPECT_EQ(parse_quantity("20 min", "s", {}), 1200);
  EXPECT_EQ(parse_quantity("5 mm^2/s", "m^2/s", {}), 5e-6);
  EXPECT_EQ(parse_quantity("36 km/h", "m/s", {}), 10);
  EXPECT_EQ(parse_quantity("3kPa", "Pa", {}), 3000);
  EXPECT_EQ(parse_quantity("4 1/s", "1/s", {}), 4);
  EXPECT_EQ(parse_quantity("-2 cm", "m", {}), -0.02);
  EXPECT_EQ(parse_quantity("7 %", "1", {}), 0.07);
}

TEST(Quantity, IsNotLostInItsUnit) {
  EXPECT_THROW(parse_quantity("1e-320 nm", "m", {}), ValueError);
  EXPECT_EQ(parse_quantity("0 nm", "m", {}), 0);
  EXPECT_GT(parse_quantity("1e-310 nm", "m", {}), 0);
}

TEST(Quantity, IsAFormulaOfConstants) {
  expression::Symbols const constants = {{"kappa", 3}, {"m", 100}};
  EXPECT_EQ(parse_quantity("2*kappa", "m", constants), 6);
  EXPECT_EQ(parse_quantity("m", "m", constants), 100);
  EXPECT_EQ(parse_quantity("2 cm", "m", constants), 0.02);
  EXPECT_EQ(parse_quantity("sqrt(16)", "m", constants), 4);
  EXPECT_THROW(parse_quantity("2*x", "m", constants), ValueError);
  EXPECT_THROW(parse_quantity("1/0", "m", constants), ValueError);
}

std::string quantity_fault(std::string_view text, expression::Symbols const& constants = {}) {
  try {
    parse_quantity(text, "", constants);
  } catch (ValueError const& error) {
    return error.what();
  }
  return "";
}

TEST(Quantity, HasOneMeaning) {
  expression::Symbols const constants = {{"h", 0.1}, {"m", 100}};
  EXPECT_EQ(quantity_fault("2 h"), "");
  EXPECT_EQ(quantity_fault("2 h", constants),
            "'2 h' has two meanings, for 'h' is a unit and what a formula knows, too (write 2*(h), "
            "or the number in SI units)");
  EXPECT_NE(quantity_fault("2 m*h", constants), "");
  EXPECT_NE(quantity_fault("2 m^2/h", constants), "");
  EXPECT_EQ(quantity_fault("2 m/s", constants), "");  // s is a unit alone
  EXPECT_EQ(quantity_fault("2 min", constants), "");
}

TEST(Quantity, IsNoDateAndNoTimeOfDay) {
  for (auto const* text : {"2026-01-01", "2026-1-1", "2026-01-01T12:00", "01/02/2026", "1/2/2026"})
    EXPECT_NE(quantity_fault(text).find("a date"), std::string::npos) << text;
  for (auto const* text : {"1:30", "0:00:01.5"})
    EXPECT_NE(quantity_fault(text).find("no ':'"), std::string::npos) << text;
  for (auto const* text : {"2026 - 01 - 01", "2026-1", "1/2", "1/2/3", "20260-1-1", "2026-1-111"})
    EXPECT_EQ(quantity_fault(text), "") << text;
}

TEST(Quantity, HasNoGroupsOfDigits) {
  for (auto const* text : {"1,000", "1,000,000.5", "1'000", "1 000", "1_000", "1 e3", "1e 3"})
    EXPECT_NE(quantity_fault(text).find("is not a number ("), std::string::npos) << text;
  EXPECT_EQ(quantity_fault("- 5"), "");
}

TEST(Quantity, KnowsAForgottenProduct) {
  try {
    parse_quantity("2 sin(1)", "m", {});
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_STREQ(error.what(),
                 "an operator is missing between '2' and 'sin' (multiplication is written out); "
                 "did you mean '2*sin'?");
    EXPECT_EQ(error.position(), 2);
  }
}

}  // namespace
}  // namespace gridstride::config

#include <gtest/gtest.h>

#include "config/unit.hpp"

namespace gridstride::config {
namespace {

std::string fault(std::string_view text) {
  try {
    parse_unit(text);
  } catch (UnitError const& error) {
    return error.what();
  }
  return "";
}

TEST(Unit, HasAFactorAndADimension) {
  EXPECT_EQ(parse_unit("mm^2/s").to_si(5), 5e-6);
  EXPECT_EQ(format_dimension(parse_unit("mm^2/s").dimension), "m^2/s");
  EXPECT_EQ(format_dimension(parse_unit("W/(m*K)").dimension), "kg*m/(s^3*K)");
  EXPECT_EQ(format_dimension(parse_unit("rad").dimension), "1");
  EXPECT_EQ(parse_unit("day").to_si(1), 86400);
  EXPECT_EQ(parse_unit("g").to_si(1), 1e-3);
  EXPECT_EQ(parse_unit("mbar").to_si(1), 100);
  EXPECT_EQ(parse_unit("dam").to_si(1), 10);
  EXPECT_EQ(parse_unit("\u00b5m").to_si(3), 3e-6);
  EXPECT_EQ(parse_unit("\u03bcm").to_si(3), 3e-6);
  EXPECT_EQ(parse_unit("N\u00b7m").to_si(2), 2);
  EXPECT_EQ(parse_unit("m^-1").dimension, parse_unit("1/m").dimension);
  EXPECT_EQ(parse_unit("J/kg/K").dimension, parse_unit("J/(kg*K)").dimension);
}

TEST(Unit, PrefersWholeNamesToPrefixes) {
  EXPECT_EQ(parse_unit("min").to_si(1), 60);    // not milli-inch
  EXPECT_EQ(parse_unit("cd").dimension[6], 1);  // not centi-day
  EXPECT_EQ(parse_unit("Pa").dimension[1], 1);  // not peta-year
  EXPECT_EQ(parse_unit("mol").dimension[5], 1);
  EXPECT_EQ(parse_unit("kat").dimension[5], 1);
}

TEST(Unit, SaysWhatIsWrong) {
  EXPECT_EQ(fault("mm2"), "unknown unit 'mm2' (powers are written with ^); did you mean 'mm^2'?");
  EXPECT_EQ(fault("sec"), "unknown unit 'sec'; did you mean 's'?");
  EXPECT_EQ(
      fault("kPA"),
      "unknown unit 'kPA' (SI units with prefixes, *, / and ^ are known); did you mean 'kPa'?");
  for (std::string_view const text :
       {"", "m^", "m^0.5", "m^99", "m**2", "(m", "m)", "m m", "/s", "m/", "m^2^3", "2 m", "kkg"})
    EXPECT_NE(fault(text), "") << text;
  EXPECT_NE(fault(std::string(1000, '(')), "");
}

TEST(Unit, IsComparedByDimension) {
  auto const check = [](std::string_view name, std::string_view expected) -> std::string {
    try {
      check_dimension(name, parse_unit(name), expected);
    } catch (UnitError const& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(check("N*m", "J"), "");
  EXPECT_EQ(check("deg", "1"), "");
  EXPECT_EQ(check("kg", "m^2/s"), "'kg' is not a unit of m^2/s (it measures kg)");
  EXPECT_EQ(check("kg", "Pa"), "'kg' is not a unit of Pa (it measures kg, not kg/(m*s^2))");
  EXPECT_EQ(check("s", "1"), "the unit 's' does not fit here (a plain number is expected)");
}

}  // namespace
}  // namespace gridstride::config

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

std::string repeated(std::string const& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

/// Where a text is refused.
struct Hostile {
  std::string text;
  std::size_t position;
};

TEST(HostileText, IsRefusedAtItsPlace) {
  std::vector<Hostile> const texts = {
      {"__asm__(\"trap;\")", 0},
      {"asm(x)", 0},
      {"x;}__global__ void k(){", 1},
      {"x) { return 0; } __device__ double g(double x", 1},
      {"x + system(1)", 4},
      {"#include \"/etc/passwd\"", 0},
      {"x\n#define x y", 2},
      {"x // y", 3},
      {"x /* y */", 3},
      {"x\\\ny", 1},
      {"\"x\"", 0},
      {"'x'", 0},
      {"R\"(x)\"", 1},
      {"x ? y : z", 2},
      {"x = 3", 2},
      {"x, y", 1},
      {"v[0]", 1},
      {"t0", 0},
      {"Real", 0},
      {"threadIdx.x", 9},
      {"x?\?/y", 1},
      {"x?\?=y", 1},
      {"<%x%>", 0},
      {"x &y", 2},
      {"x@y", 1},
      {"x$y", 1},
      {"x`y", 1},
      {"{x}", 0},
      {"x~y", 1},
      {"0x1p3", 1},
      {"1.5f", 3},
      {"1e999", 0},
      {std::string("x\0y", 3), 1},
      {"x\x7fy", 1},
      {"x\x1b[31m", 1},
      {"x + \u03c0", 4},
      {"x\u200b + 1", 1},
      {"\xef\xbb\xbfx", 0},
      {"\u0445 + 1", 0},  // Cyrillic
      {"x + \xff", 4},
      {"x\u00a0+ 1", 1},
      {"\u2028", 0},
      {"(", 1},
      {")", 0},
      {"", 0},
      {" ", 0},
  };
  for (auto const& [text, position] : texts) {
    try {
      Expression const parsed = Expression::parse(text);
      ADD_FAILURE() << text << " was read as " << parsed.to_string();
    } catch (ParseError const& error) {
      EXPECT_EQ(error.position(), position) << text << ": " << error.what();
      EXPECT_LT(std::string(error.what()).size(), 300u) << text;
    }
  }
}

TEST(HostileText, IsBoundedInLengthAndDepth) {
  auto const position_of = [](std::string const& text) {
    try {
      Expression::parse(text);
    } catch (ParseError const& error) {
      EXPECT_LT(std::string(error.what()).size(), 300u);
      return error.position();
    }
    ADD_FAILURE() << "nothing was refused";
    return std::size_t{0};
  };
  constexpr int many = 10'000;
  std::size_t const nesting = max_formula_nesting + 1;
  EXPECT_EQ(position_of(repeated("(", many) + "x" + repeated(")", many)), nesting);
  EXPECT_EQ(position_of(repeated("(", many)), nesting);
  EXPECT_EQ(position_of(repeated("-", many) + "x"), nesting);
  EXPECT_LE(position_of(repeated("sin(", many) + "x" + repeated(")", many)), 4 * nesting);
  EXPECT_LE(position_of(repeated("x^", many) + "x"), 2 * nesting);
  constexpr int megabyte = 1 << 20;
  EXPECT_EQ(position_of(repeated("x", megabyte)), max_formula_bytes);
  EXPECT_EQ(position_of(repeated("x+", megabyte / 2) + "x"), max_formula_bytes);
  EXPECT_EQ(position_of(repeated("(", megabyte)), max_formula_bytes);
  EXPECT_EQ(position_of("x" + repeated(" ", megabyte)), max_formula_bytes);
  std::string const name = repeated("x", 60'000);
  EXPECT_EQ(position_of(name), 0u) << "an unknown name";
  EXPECT_LE(position_of(repeated("x+", 30'000) + "x"), 2u * max_formula_nodes);
}

}  // namespace
}  // namespace gridstride::expression

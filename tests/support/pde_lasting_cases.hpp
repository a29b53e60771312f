#pragma once

#include <fmt/format.h>

#include <array>
#include <random>
#include <string>

#include "support/pde_cases.hpp"
#include "support/replaced.hpp"

/// Systems with formulas of space in them, which may be arrays or not.
namespace gridstride::test {

struct LastingCase {
  int dims = 2;
  std::array<int, 3> points = {};
  std::array<std::string, 3> sides;
  std::string space, rate, scheme, precision;
};

/// Formulas speak of X, Y and Z, and of R for a random number.
inline LastingCase random_lasting_case(std::mt19937& random) {
  auto const pick = [&](auto const& of) { return std::string(of[random() % std::size(of)]); };
  static constexpr char const* sides[] = {"periodic",
                                          "antiperiodic",
                                          "{neumann: 0.1}",
                                          "{dirichlet: 0.3}",
                                          "outflow",
                                          "wall",
                                          "{robin: [1, 0.2]}",
                                          "{lower: {neumann: 0}, upper: "
                                          "{dirichlet: 1}}"};
  static constexpr char const* formulas[] = {"(1 + 0.5*sin(X)*cos(Y))", "exp(-X^2 - Y^2)",
                                             "(sqrt(1 + X*X) + Y)",     "1/(2 + sin(X + Y))",
                                             "if(X < Y, sin(X*Y), 1)",  "(tanh(X - Y) + R)"};
  static constexpr char const* in_space[] = {"exp(-X - Y*Z)", "(1 + R*Z)", "sin(X)*cos(Y)*Z"};
  static constexpr char const* rates[] = {"div(S*grad(u))",
                                          "S*laplace(u)",
                                          "d_dx(S*u)",
                                          "d2_dxdy(S*u)",
                                          "S*u - u^3",
                                          "mean(S*u) - S*u",
                                          "laplace(S*u)",
                                          "S*d_dy(u)",
                                          "S",
                                          "-d2_dx2(d2_dy2(S*u))/100"};
  static constexpr char const* carried[] = {"-advect([S, 1 + S], u)", "-div([S*u, u])"};
  LastingCase one;
  one.dims = random() % 4 == 0 ? 3 : 2;
  for (int axis = 0; axis < one.dims; ++axis) {
    one.points[static_cast<std::size_t>(axis)] = 7 + static_cast<int>(random() % 5);
    one.sides[static_cast<std::size_t>(axis)] = pick(sides);
  }
  static constexpr char const* spaces[] = {"order: 2", "order: 4", "order: 6"};
  static constexpr char const* conventions[] = {"convection: upwind", "convection: weno5"};
  bool const is_carried = one.dims == 2 && random() % 4 == 0;
  one.space = is_carried ? pick(conventions) : pick(spaces);
  std::string terms;
  for (int n = 0; n < 3; ++n) {
    std::string term = is_carried && n == 0 ? pick(carried) : pick(rates);
    std::string const S = one.dims == 3 && random() % 2 == 0 ? pick(in_space) : pick(formulas);
    terms += (n == 0 ? "" : " + ") + replaced(term, "S", S);
  }
  one.rate = terms;
  static constexpr char const* schemes[] = {"rk4", "ssprk3"};
  one.scheme = pick(schemes);
  one.precision = random() % 2 == 0 ? "float32" : "float64";
  return one;
}

/// Three steps of it. Formulas that ask for the time stay formulas, and have the same values.
inline std::string lasting_text(LastingCase const& one, bool arrays) {
  std::string rate = one.rate, points, boundary;
  for (auto const& [letter, meaning] :
       {std::pair{"X", "x"}, {"Y", "y"}, {"Z", "z"}, {"R", "uniform(5)"}})
    rate = replaced(rate, letter, arrays ? meaning : fmt::format("if(t < -1, 0, {})", meaning));
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(one.dims); ++axis) {
    points += fmt::format("{}{}", axis == 0 ? "" : ", ", one.points[axis]);
    boundary += fmt::format("{}{}: {}", axis == 0 ? "" : ", ", "xyz"[axis], one.sides[axis]);
  }
  return fmt::format(
      "simulation: pde\nprecision: {}\ngrid: {{points: [{}]}}\nboundary: {{{}}}\nspace: {{{}}}\n"
      "equations: {{u: \"{}\"}}\ninitial: {{u: \"sin(3*x + 2*y)\"}}\n"
      "time: {{scheme: {}, end: 3e-6, step: 1e-6}}\n",
      one.precision, points, boundary, one.space, rate, one.scheme);
}

}  // namespace gridstride::test

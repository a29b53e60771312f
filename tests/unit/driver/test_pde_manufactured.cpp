#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/pde_side_value_cases.hpp"

// Solutions that are made up: the source, first values and those on sides follow from them.
namespace gridstride {
namespace {

using test::config_of;

using test::errors_of;
using test::solution_error;

struct ManufacturedCase {
  char const* name;
  char const* equations;  ///< and what else stands at the top
  char const* solution;
  char const* boundary;
  int dims;
  int cells;
};

std::string text_of(ManufacturedCase const& one, int cells) {
  std::string points;
  std::string const boundary = one.boundary;
  for (int axis = 0; axis < one.dims; ++axis) {
    auto const is = [&](char const* kind) {
      return boundary.find(std::string(1, "xyz"[axis]) + ": " + kind) != std::string::npos;
    };
    bool const wraps = is("periodic") || is("antiperiodic");
    points += fmt::format("{}{}", axis == 0 ? "" : ", ", wraps ? cells : cells + 1);
  }
  return fmt::format(
      "simulation: pde\ngrid: {{points: [{}]}}\nboundary: {{{}}}\n{}\n"
      "time: {{scheme: rk4, end: 0.05}}\noutput: {{every: {{count: 1}}}}\n"
      "verify: {{manufactured: {{{}}}, tolerance: {{l2: 1}}}}\n",
      points, one.boundary, one.equations, one.solution);
}

class PdeManufactured : public testing::TestWithParam<ManufacturedCase> {};

/// Half the spacing, a quarter of the error, in each number of the solution.
TEST_P(PdeManufactured, IsOfOrderTwo) {
  auto const& one = GetParam();
  auto const errors = [&](int cells) { return errors_of(text_of(one, cells)); };
  auto const coarse = errors(one.cells), fine = errors(2 * one.cells);
  ASSERT_EQ(coarse.size(), fine.size());
  for (std::size_t i = 0; i < coarse.size(); ++i)
    EXPECT_NEAR(std::log2(coarse[i] / fine[i]), 2, 0.25)
        << i << ": " << coarse[i] << ' ' << fine[i];
}

constexpr char const* waves = "u: \"2 + exp(-t)*sin(2*pi*x + 0.3)\"";
constexpr char const* in_plane = "u: \"2 + exp(-t)*sin(2*pi*x + 0.3)*cos(2*pi*y)\"";
constexpr char const* in_space =
    "u: \"2 + exp(-t)*(sin(2*pi*x + 0.3) + sin(2*pi*y + 0.7) + sin(2*pi*z + 1.1))\"";
constexpr char const* porous = "equations: {u: \"div((0.02 + 0.01*u^2)*grad(u))\"}";
constexpr char const* leaving = "equations: {u: \"div((0.02 + 0.01*u^2)*grad(u)) - 0.3*d_dx(u)\"}";
constexpr char const* walled =
    "fields: {q: vector}\n"
    "equations: {q: \"0.05*laplace(q) - grad(h)\", h: \"0.02*laplace(h) - div(q)\"}";
INSTANTIATE_TEST_SUITE_P(
    Pde, PdeManufactured,
    testing::Values(
        ManufacturedCase{"dirichlet", porous, waves, "x: dirichlet", 1, 32},
        ManufacturedCase{"neumann", porous, waves, "x: neumann", 1, 32},
        ManufacturedCase{"each", porous, waves, "x: {lower: neumann, upper: dirichlet}", 1, 32},
        ManufacturedCase{"plane", porous, in_plane, "x: dirichlet, y: neumann", 2, 20},
        ManufacturedCase{"space", porous, in_space, "x: periodic, y: neumann, z: dirichlet", 3, 12},
        ManufacturedCase{"own_value", porous, waves,
                         "x: {lower: dirichlet, upper: {neumann: "
                         "\"2*pi*exp(-t)*cos(2*pi*x + 0.3)\"}}",
                         1, 32},
        ManufacturedCase{"coupled",
                         "let: {flux: v*grad(u)}\n"
                         "equations: {u: \"0.05*laplace(u) - u*v\", v: \"0.05*div(flux) + dt(u)\"}",
                         "u: \"2 + exp(-t)*sin(2*pi*x)\", v: \"1 + t*cos(2*pi*x)/2\"",
                         "u: {x: dirichlet}, v: {x: neumann}", 1, 32},
        // What v sees of u beyond a side is of the moment at which u is inside.
        ManufacturedCase{"coupled_to_a_side_that_moves",
                         "let: {flux: v*grad(u)}\n"
                         "equations: {u: \"0.05*laplace(u) - u*v\", v: \"0.05*div(flux) + dt(u)\"}",
                         "u: \"2 + x + 20*t*(2 - x) + exp(-t)*sin(2*pi*x)\", "
                         "v: \"1 + t*cos(2*pi*x)/2\"",
                         "u: {x: dirichlet}, v: {x: neumann}", 1, 32},
        ManufacturedCase{
            "vector",
            "fields: {q: vector}\n"
            "equations: {q: \"0.05*laplace(q) - advect(q, q)\", h: \"0.05*laplace(h) - div(q)\"}",
            "q: [\"sin(2*pi*x)*cos(y + t)\", \"0.5 + sin(2*pi*x + y)\"], h: exp(-t)*cos(y)",
            "x: periodic, y: dirichlet", 2, 20},
        ManufacturedCase{"order_two",
                         "fields: {u: {order: 2}}\n"
                         "equations: {u: \"laplace(u) + 0.1*laplace(dt(u)) - u^3\"}",
                         waves, "x: {lower: dirichlet, upper: neumann}", 1, 32},
        ManufacturedCase{"order_two_robin",
                         "fields: {u: {order: 2}}\n"
                         "equations: {u: \"laplace(u) + 0.1*laplace(u_t)\", v: d_dx(u_t)}",
                         "u: \"exp(-t)*sin(2*pi*x)\", v: x*t",
                         "v: {x: neumann}, u: {x: {lower: {robin: [2, -2*pi*exp(-t)]}, "
                         "upper: {robin: [2, 2*pi*exp(-t)]}}}",
                         1, 32},
        ManufacturedCase{
            "order_two_vector",
            "fields: {q: {kind: vector, order: 2}}\n"
            "equations: {q: \"0.5*laplace(q) - q\", h: \"0.05*laplace(h) - div(q_t)\"}",
            "h: exp(-t)*cos(y), q: [\"sin(2*pi*x)*cos(y + t)\", \"0.5 + sin(2*pi*x + "
            "y)*exp(t)\"]",
            "x: periodic, y: dirichlet", 2, 20},
        ManufacturedCase{"vector_on_a_line",
                         "fields: {q: vector}\nequations: {q: \"0.05*laplace(q) - advect(q, q)\"}",
                         "q: [\"sin(2*pi*x)*exp(-t)\"]", "x: periodic", 1, 32},
        ManufacturedCase{"antiperiodic", "equations: {u: \"0.05*laplace(u) - u^3 - 0.3*d_dx(u)\"}",
                         "u: exp(-t)*sin(pi*x + 0.3)", "x: antiperiodic", 1, 32},
        ManufacturedCase{"antiperiodic_space",
                         "equations: {u: \"div((0.05 + 0.01*u^2)*grad(u)) + 0.01*d2_dxdz(u)\"}",
                         "u: exp(-t)*sin(pi*x + 0.3)*(2 + sin(2*pi*y + 0.7))*cos(pi*z + 0.2)",
                         "x: antiperiodic, y: periodic, z: antiperiodic", 3, 12},
        ManufacturedCase{"wall_on_a_line", walled, "q: [exp(-t)*sin(pi*x)], h: 2 + t*cos(pi*x)",
                         "x: wall", 1, 32},
        ManufacturedCase{"walls_in_space", walled,
                         "q: [exp(-t)*sin(pi*x)*cos(pi*y)*cos(2*pi*z), "
                         "exp(-t)*cos(pi*x)*sin(2*pi*y)*cos(pi*z), "
                         "exp(-t)*cos(2*pi*x)*cos(pi*y)*sin(pi*z)], "
                         "h: 2 + exp(-t)*cos(pi*x)*cos(pi*y)*cos(pi*z)",
                         "x: wall, y: wall, z: wall", 3, 12},
        // Straight lines at the sides, and odd about them.
        ManufacturedCase{"outflow", leaving, "u: 1 + x + exp(-t)*sin(pi*x)", "x: outflow", 1, 32},
        ManufacturedCase{"outflow_beside_dirichlet", leaving, "u: 1 + x + exp(-t)*sin(pi*x)",
                         "x: {lower: dirichlet, upper: outflow}", 1, 32},
        ManufacturedCase{"outflow_corners",
                         "equations: {u: \"0.05*laplace(u) + 0.02*d2_dxdy(u) - 0.3*d_dx(u)\"}",
                         "u: (1 + x + exp(-t)*sin(pi*x))*(2 - y + exp(-t)*sin(2*pi*y))",
                         "x: outflow, y: outflow", 2, 20},
        ManufacturedCase{
            "outflow_space", "equations: {u: \"0.05*laplace(u) - 0.3*d_dx(u)\"}",
            "u: (1 + x + exp(-t)*sin(pi*x))*(2 - y + exp(-t)*sin(pi*y))*(2 + cos(2*pi*z))",
            "x: outflow, y: outflow, z: periodic", 3, 12},
        ManufacturedCase{"gradient", "fields: {q: vector}\nequations: {q: \"0.05*laplace(q) - q\"}",
                         "q: \"grad(exp(-t)*sin(2*pi*x)*cos(3*y))\"", "x: periodic, y: neumann", 2,
                         20}),
    [](auto const& one) { return std::string(one.param.name); });

/// Allen–Cahn as PFHub's benchmark 7a has it, on [0, 1] × [0, 1/2].
TEST(PdeKnownSolutions, AllenCahnOfPfhub7a) {
  auto const error = [](int cells) {
    return solution_error(
        fmt::format(
            "simulation: pde\ngrid: {{points: [{}, {}], upper: [1, 0.5]}}\n"
            "boundary: {{x: periodic, y: dirichlet}}\nconstants: {{kappa: 0.0004}}\n"
            "equations: {{n: \"-4*n*(n - 1)*(n - 1/2) + kappa*laplace(n)\"}}\n"
            "time: {{scheme: rk4, end: 1}}\n"
            "verify: {{manufactured: {{n: \"(1 - tanh((y - 1/4 - 0.0075*t*sin(8*pi*x) - "
            "0.03*sin(22*pi*x + 0.0625*pi*t))/sqrt(2*kappa)))/2\"}}, tolerance: {{l2: 1}}}}\n",
            cells, cells / 2 + 1),
        Backend::cpu);
  };
  auto const coarse = error(128), fine = error(256);
  EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.15)
      << "errors " << coarse.l2 << ", " << fine.l2;
}

constexpr char const* simple =
    "simulation: pde\ngrid: {points: 9}\nboundary: {x: {lower: dirichlet, upper: neumann}}\n"
    "equations: {u: laplace(u)}\ntime: {end: 0.1}\n";

/// What the file says of a beginning and of sides counts.
TEST(PdeManufacturedConfig, GivenValuesStay) {
  auto const config = config_of(
      "simulation: pde\ngrid: {points: 9}\nboundary: {x: {lower: {dirichlet: 7}, upper: neumann}}\n"
      "equations: {u: laplace(u)}\ninitial: {u: 3}\ntime: {end: 0.1}\n"
      "verify: {manufactured: {u: x^2 + t}}\n");
  EXPECT_EQ(config.initial.at("u").formula.text, "3");
  EXPECT_EQ(config.boundary[0][0][0].value.text, "7");
  EXPECT_EQ(config.boundary[0][0][1].value.expression.evaluate(0.5), 1);
}

TEST(PdeManufacturedConfig, TheRestFollows) {
  auto const config = config_of(std::string(simple) + "verify: {manufactured: {u: x^2 + 3*t}}\n");
  EXPECT_EQ(config.initial.at("u").formula.expression.evaluate(0.5), 0.25);
  EXPECT_FALSE(config.initial.at("u").formula.expression.depends_on(expression::time_variable));
  EXPECT_EQ(config.boundary[0][0][0].value.expression.evaluate(0.5, 0, 0, 2), 6.25);
  EXPECT_EQ(config.boundary[0][0][1].value.expression.evaluate(0.5, 0, 0, 2), 1);
  ASSERT_EQ(config.verify.exact.size(), 1);
  EXPECT_EQ(config.verify.exact[0].second.expression.evaluate(0.5, 0, 0, 2), 6.25);
}

/// A lower side has its normal the other way.
TEST(PdeManufacturedConfig, SlopesAreAlongTheNormal) {
  auto const config = config_of(
      "simulation: pde\ngrid: {points: 9}\nboundary: {x: neumann}\nequations: {u: laplace(u)}\n"
      "time: {end: 0.1}\nverify: {manufactured: {u: x^2 + t}}\n");
  EXPECT_EQ(config.boundary[0][0][0].value.expression.evaluate(0.5), -1);
  EXPECT_EQ(config.boundary[0][0][1].value.expression.evaluate(0.5), 1);
}

/// The document with all defaults is the same run; a checkpoint belongs to its solution.
TEST(PdeManufacturedConfig, ResolvesToTheSameRun) {
  auto const of = [](char const* solution) {
    return config_of(std::string(simple) + "verify: {manufactured: {u: \"" + solution + "\"}}\n");
  };
  auto const config = of("x^2*cos(t)");
  auto const resolved = config::resolved_yaml(config);
  EXPECT_EQ(config::resolved_yaml(config_of(resolved)), resolved);
  EXPECT_EQ(
      test::run_pde(resolved).fields,
      test::run_pde(std::string(simple) + "verify: {manufactured: {u: \"x^2*cos(t)\"}}\n").fields);
  EXPECT_NE(config::problem_yaml(config), config::problem_yaml(of("x^2*cos(t)^3")));
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "simulations/poisson_iterations.hpp"
#include "support/poisson_cases.hpp"

namespace gridstride::test {
namespace {

constexpr char const* to_rounding = "multigrid, tolerance: 1e-14";
constexpr char const* conjugate = "mg_cg, tolerance: 1e-14";

TEST(PoissonIterations, ModesComeBackFromCycles) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 31, 64}) expect_modes({{points}, sides}, to_rounding, cpu);
  for (std::string const sides : {"ppdd", "nndn", "nnpp", "dddd", "pppp", "nnnn", "dnnd"})
    expect_modes({{20, 13}, sides}, to_rounding, cpu);
  for (std::string const sides : {"dnndpp", "pppppp", "dddddd", "nnnnnn", "ppnddn"})
    expect_modes({{9, 12, 7}, sides}, to_rounding, cpu);
  expect_modes({{31}, "dn"}, conjugate, cpu);
  for (std::string const sides : {"ppdd", "nndn", "pppp", "nnnn"})
    expect_modes({{20, 13}, sides}, conjugate, cpu);
  for (std::string const sides : {"dnndpp", "nnnnnn"})
    expect_modes({{9, 12, 7}, sides}, conjugate, cpu);
}

TEST(PoissonIterations, CyclesAreOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides :
       {"dd", "pp", "pppp", "dddd", "nnnn", "dnpp", "ndnn", "pppppp", "dddddd", "nnnnnn", "dnppnd"})
    for (int along = -1; along < static_cast<int>(sides.size()) / 2; ++along)
      for (double const reaction : {0.0, 3.0})
        expect_order_two(sides, sides.size() < 6 ? 24 : 12, along, reaction, "multigrid", cpu);
}

constexpr char const* conjugate_gradients = "cg, tolerance: 1e-15";

TEST(PoissonIterations, ModesComeBackFromConjugateGradients) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 4, 31, 64})
      expect_modes({{points}, sides}, conjugate_gradients, cpu);
  for (std::string const sides : {"ppdd", "nndn", "nnpp", "dddd", "pppp", "nnnn", "dnnd"})
    expect_modes({{20, 13}, sides}, conjugate_gradients, cpu);
  for (std::string const sides : {"dnndpp", "pppppp", "dddddd", "nnnnnn", "ppnddn"})
    expect_modes({{9, 12, 7}, sides}, conjugate_gradients, cpu);
  expect_modes({{3, 3, 3}, "nnnnnn"}, conjugate_gradients, cpu);
  expect_modes({{9, 12, 7}, "dnndpp"}, "cg, tolerance: 1e-15, inner: float32", cpu);
}

TEST(PoissonIterations, ConjugateGradientsAreOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides :
       {"dd", "pp", "nn", "pppp", "dddd", "nnnn", "dnpp", "pppppp", "nnnnnn", "dnppnd"})
    for (int along = -1; along < static_cast<int>(sides.size()) / 2; ++along)
      for (double const reaction : {0.0, 3.0})
        expect_order_two(sides, sides.size() < 6 ? 24 : 12, along, reaction,
                         along < 0 ? "cg, inner: float32" : "cg", cpu);
}

/// a = 1 + x·y/2 …, of all coordinates, with u = sin(2x + 0.3)·cos(3y − 0.2) and κ = x².
TEST(PoissonIterations, CoefficientsOfAllCoordinates) {
  for (std::string const sides : {"dddd", "dnnd", "nnnn", "ddnn"}) {
    double errors[2];
    for (int const level : {0, 1}) {
      int const n = (30 << level) + 1;
      std::string const u = "sin(2*x + 0.3)*cos(3*y - 0.2)",
                        u_x = "2*cos(2*x + 0.3)*cos(3*y - 0.2)",
                        u_y = "-3*sin(2*x + 0.3)*sin(3*y - 0.2)";
      auto const solved = solve_poisson(
          poisson_yaml({{n, (34 << level) + 1}, sides}, u, {u_x, u_y, ""},
                       fmt::format("diffusivity: \"1 + x*y/2\", reaction: \"x^2\", source: "
                                   "\"13*(1 + x*y/2)*{} - y/2*{} - x/2*({}) + x^2*{}\"",
                                   u, u_x, u_y, u),
                       "float64"),
          cpu);
      EXPECT_EQ(solved.chosen[0].text, "mg_cg");
      errors[level] = solved.error;
    }
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.15) << errors[0] << ", " << errors[1];
  }
}

/// In float32, too, u is as near to the solution of the differences as it can be.
TEST(PoissonIterations, CyclesAgreeWithTransforms) {
  for (std::string const precision : {"float32", "float64"})
    for (std::string const cycle : {"full", "v", "w"}) {
      auto const solved = [&](std::string const& method) {
        return solve_poisson(
            poisson_yaml({{37, 30, 21}, "dnppnn"}, "x*y + z", {"y", "x", "1"},
                         fmt::format("source: \"exp(x)*cos(9*y*z)\", method: {}", method),
                         precision),
            cpu);
      };
      EXPECT_LE(relative_difference(solved(fmt::format("multigrid, cycle: {}", cycle)).u,
                                    solved("fft").u),
                precision == "float32" ? 4e-6 : 1e-9);
    }
}

/// Where no side holds u a reaction does, however small: float32 would not tell it from none beside the
/// diagonal of the coarsest level.
TEST(PoissonIterations, SmallReactionsAloneHoldU) {
  for (double const reaction : {1e-4, 1e-6, 1e-9})
    for (std::string const points : {"65", "[33, 20]"})
      for (std::string const side : {"periodic", "{neumann: 0}"}) {
        auto const solved = [&](std::string const& method) {
          return solve_poisson(
              fmt::format(
                  "simulation: poisson\ngrid: {{points: {}}}\nboundary: {{x: {}{}}}\n"
                  "parameters: {{source: \"1e-3 + cos(2*pi*x)\", reaction: {}, method: {}}}\n",
                  points, side, points == "65" ? "" : ", y: {neumann: 0}", reaction, method),
              cpu);
        };
        auto const wanted = solved("fft");
        for (std::string const method : {"multigrid", "mg_cg"})
          EXPECT_LE(relative_difference(solved(method).u, wanted.u), 1e-8)
              << method << ' ' << points << ' ' << side << ' ' << reaction;
      }
}

/// With float32 arrays and float32 inside, too, u is that of the differences.
TEST(PoissonIterations, ConjugateGradientsAgreeWithTransforms) {
  for (std::string const sides : {"dnppnn", "nnppnn"})
    for (std::string const precision : {"float32", "float64"}) {
      auto const solved = [&](std::string const& method) {
        return solve_poisson(
            poisson_yaml(
                {{37, 30, 21}, sides}, "x*y + z", {"y", "x", "1"},
                fmt::format("source: \"exp(x)*cos(9*y*z)\", imbalance: 1, method: {}", method),
                precision),
            cpu);
      };
      auto const wanted = solved("fft");
      for (std::string const inner : {"auto", "float32", "float64"}) {
        auto const found = solved("cg, tolerance: 1e-11, inner: " + inner);
        EXPECT_LE(relative_difference(found.u, wanted.u), precision == "float32" ? 4e-6 : 1e-9)
            << inner;
        EXPECT_LE(found.diagnostic("relative_residual"), 1e-11);
        EXPECT_EQ(found.chosen.back().text, inner == "auto" ? precision : inner);
      }
    }
}

TEST(PoissonIterations, WhatConjugateGradientsComeTo) {
  auto const with = [](std::string const& more) {
    return poisson_yaml({{65, 65}, "dddd"}, "0", {"0", "0", ""}, "source: 1, method: cg" + more,
                        "float64");
  };
  OneShot const cut(with(", iterations: 20"), cpu);
  std::string const reached = cut.simulation->shortfall();
  EXPECT_NE(reached.find("poisson: what is left of the right-hand side is "), std::string::npos);
  EXPECT_NE(reached.find("after 20 iterations, where 1e-10 is asked for (parameters.iterations may "
                         "be more; method: mg_cg needs few, whatever the number of points is, "
                         "and where it does not help amg_cg does)"),
            std::string::npos)
      << reached;
  ASSERT_EQ(cut.simulation->tables().size(), 1u);
  EXPECT_EQ(cut.simulation->tables()[0].rows(), 21);
  OneShot const done(with(""), cpu);
  EXPECT_EQ(done.simulation->shortfall(), "");
  // Roundings are as good as it gets.
  OneShot const finest(with(", tolerance: 1e-15"), cpu);
  EXPECT_EQ(finest.simulation->shortfall(), "");
  OneShot const rounded(poisson_yaml({{65, 65}, "dddd"}, "0", {"0", "0", ""},
                                     "source: 1, method: cg, tolerance: 1e-15", "float32"),
                        cpu);
  EXPECT_EQ(rounded.simulation->shortfall(), "");
  // Where a goes up and down by ten orders of magnitude float32 and float64 leave too little.
  OneShot const waves(
      poisson_yaml(
          {{65}, "dd"}, "0", {"0", "", ""},
          "source: \"sin(7*x)\", method: cg, inner: float32, diffusivity: \"10^(5*sin(40*x))\"",
          "float64"),
      cpu);
  EXPECT_NE(waves.simulation->shortfall().find("and it does not become smaller"), std::string::npos)
      << waves.simulation->shortfall();
  // What float32 does not hold leaves nothing to begin with.
  EXPECT_THROW(OneShot(poisson_yaml({{9, 9}, "dddd"}, "0", {"0", "0", ""},
                                    "source: 1e60, method: cg", "float32"),
                       cpu),
               NumericalError);
}

/// Equations are scaled by the roots of their diagonal: without that, these took 10,000 iterations and
/// more.
TEST(PoissonIterations, JumpsTakeConjugateGradientsFewIterations) {
  struct Case {
    PoissonGrid grid;
    std::string a, kappa;
    double most;
  };
  Case const cases[] = {
      {{{129, 129}, "dddd"}, "if(max(abs(x-0.5), abs(y-0.5)) < 0.25, 1e3, 1)", "0", 1000},
      {{{65, 65}, "nnpp"}, "if(sin(5*pi*x)*sin(5*pi*y) > 0, 1e7, 1e-7)", "0", 1000},
      {{{33, 32, 20}, "dnppnn"}, "if(x + y > 1, 1e4, 1)", "if(z > 0.5, 1e5, 0)", 1000}};
  for (Case const& one : cases)
    for (std::string const precision : {"float32", "float64"})
      for (std::string const inner : {"float32", "float64"}) {
        auto const solved = [&](std::string const& method) {
          return solve_poisson(
              poisson_yaml(one.grid, "0", {"0", "0", "0"},
                           fmt::format("diffusivity: \"{}\", reaction: \"{}\", imbalance: 1, "
                                       "source: \"1 + cos(9*x)*y\", method: {}",
                                       one.a, one.kappa, method),
                           precision),
              cpu);
        };
        SCOPED_TRACE(one.a + precision + inner);
        auto const found = solved("cg, inner: " + inner),
                   wanted = solved("mg_cg, tolerance: 1e-12");
        EXPECT_LE(found.diagnostic("relative_residual"), 1e-10);
        EXPECT_LE(found.diagnostic("solves"), one.most);
        EXPECT_LE(relative_difference(found.u, wanted.u), precision == "float32" ? 4e-6 : 1e-9);
      }
}

/// Where a differs by orders of magnitude a direction may take little of an error, and look small.
TEST(PoissonIterations, DirectionsBesideJumpsEndWithinTheTolerance) {
  auto const solved = [](std::string const& method) {
    std::string const a = "if(mod(floor(3.999*x), 2) < 1, 1, 1e4)";
    return solve_poisson(
        fmt::format(
            "simulation: poisson\ngrid: {{points: 65}}\nboundary: {{x: {{lower: {{dirichlet: "
            "-0.546}}, upper: {{dirichlet: 0.44}}}}}}\nparameters: {{diffusivity: \"{}\", "
            "source: \"-0.5 - 0.8*sin(2.66*x)\", method: {}}}\n",
            a, method),
        cpu);
  };
  auto const found = solved("mg_cg"), wanted = solved("direct");
  EXPECT_LE(found.diagnostic("estimated_error"), 1e-10);
  EXPECT_LE(relative_difference(found.u, wanted.u), 1e-10);
}

TEST(PoissonIterations, WhatIterationsComeTo) {
  std::string const yaml = poisson_yaml({{65, 65}, "dddd"}, "0", {"0", "0", ""},
                                        "source: 1, method: multigrid, iterations: 2", "float64");
  OneShot const cut(yaml, cpu);
  EXPECT_NE(cut.simulation->shortfall().find("after 2 cycles the largest residual is "),
            std::string::npos);
  EXPECT_NE(cut.simulation->shortfall().find("where 1e-10 is asked for (a cycle leaves "),
            std::string::npos);
  auto const tables = cut.simulation->tables();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].rows(), 3);
  auto const solved = solve_poisson(poisson_yaml({{65, 65}, "dddd"}, "0", {"0", "0", ""},
                                                 "source: 1, method: multigrid", "float64"),
                                    cpu);
  EXPECT_LE(solved.diagnostic("estimated_error"), 1e-10);
  EXPECT_LE(solved.diagnostic("factor"), 0.1);
  EXPECT_LE(solved.diagnostic("solves"), 9);
}

/// Right-hand sides in float32 have a mean that no u takes off: it is left out, and u keeps its digits.
TEST(PoissonIterations, RoundedSourcesLeaveConstantsAlone) {
  for (std::string const method : {"multigrid", "mg_cg", "cg"})
    for (std::string const sides : {"pp", "nnnn", "pppp", "nnppnn"}) {
      PoissonGrid const grid{{17, 9, 8}, sides};
      PoissonGrid cut{{grid.points.begin(), grid.points.begin() + std::ssize(sides) / 2}, sides};
      auto const solved = [&](std::string const& how, std::string const& precision) {
        return solve_poisson(
            poisson_yaml(cut, "0", {"0", "0", "0"},
                         fmt::format("diffusivity: \"1 + x*x\", source: \"exp(x)*cos(7*x)\", "
                                     "imbalance: 1, method: {}",
                                     how),
                         precision),
            cpu);
      };
      auto const wanted = solved(cut.dims() == 1 ? "direct" : "fft", "float64");
      EXPECT_LE(relative_difference(solved(method + ", tolerance: 1e-12", "float32").u, wanted.u),
                4e-6)
          << method << sides;
      EXPECT_LE(relative_difference(solved(method + ", tolerance: 1e-13", "float64").u, wanted.u),
                1e-9)
          << method << sides;
    }
}

/// Squares of a chessboard, in which a is 1 and 10^6: cycles alone take too many.
TEST(PoissonIterations, JumpsWantConjugateDirections) {
  auto const solved = [](std::string const& method) {
    return OneShot(
        poisson_yaml({{129, 129}, "dddd"}, "0", {"0", "0", ""},
                     fmt::format("source: 1, diffusivity: \"if(sin(5*pi*x)*sin(5*pi*y) > 0, "
                                 "1e6, 1)\", method: {}",
                                 method),
                     "float64"),
        cpu);
  };
  EXPECT_EQ(solved("mg_cg").simulation->shortfall(), "");
  EXPECT_EQ(solved("auto").simulation->chosen()[0].text, "mg_cg");
  std::string const alone = solved("multigrid").simulation->shortfall();
  EXPECT_NE(alone.find("method: mg_cg or amg_cg may do"), std::string::npos) << alone;
}

/// What `auto` would go on with needs a matrix, which has to find room.
TEST(PoissonIterations, AMatrixNeedsRoom) {
  Stream const stream(Device::open(cpu));
  auto const lack = [&](std::int64_t points) {
    return poisson::lack_for_spare(stream, {.dims = 3, .points = {points, points, points}});
  };
  EXPECT_EQ(lack(33), "");
  EXPECT_NE(lack(1200).find("amg_cg needs "), std::string::npos) << lack(1200);
  EXPECT_EQ(lack(2000), "there are more points than a matrix has rows");
}

}  // namespace
}  // namespace gridstride::test

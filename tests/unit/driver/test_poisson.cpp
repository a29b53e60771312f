#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "support/poisson_cases.hpp"

namespace gridstride::test {
namespace {

TEST(Poisson, ModesComeBackFromEliminationAlongLines) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {7, 31, 64}) expect_modes({{points}, sides}, "direct", cpu);
}

TEST(Poisson, SmallestLines) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 4}) expect_modes({{points}, sides}, "direct", cpu);
}

TEST(Poisson, EliminationIsOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (double const reaction : {0.0, 3.0, -2.0}) {
      expect_order_two(sides, 32, -1, reaction, "direct", cpu);
      expect_order_two(sides, 32, 0, reaction, "direct", cpu);
    }
}

TEST(Poisson, ModesComeBackFromTransforms) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 4, 7, 31, 64}) expect_modes({{points}, sides}, "fft", cpu);
  expect_modes({{12, 7}, "ppdd"}, "auto", cpu);
  expect_modes({{7, 11}, "nndn"}, "auto", cpu);
  expect_modes({{5, 4}, "nnpp"}, "auto", cpu);
  expect_modes({{3, 3}, "dddd"}, "auto", cpu);
  expect_modes({{7, 6, 5}, "pppppp"}, "auto", cpu);
  expect_modes({{5, 7, 11}, "dddddd"}, "auto", cpu);
  expect_modes({{5, 4, 7}, "nnnnnn"}, "auto", cpu);
  expect_modes({{4, 7, 5}, "dnndpp"}, "auto", cpu);
}

TEST(Poisson, TransformsAreOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd", "pppp", "dddd", "nnnn", "dnnd",
                                  "ppdn", "nnpp", "pppppp", "dddddd", "nnnnnn", "dnppnd", "nndnpp"})
    for (double const reaction : {0.0, 3.0, -2.0})
      expect_order_two(sides, sides.size() < 6 ? 24 : 12, -1, reaction, "fft", cpu);
}

TEST(Poisson, LayersOfNothing) {
  expect_layers_of_nothing({{12, 7}, "ppdd"}, cpu);
  expect_layers_of_nothing({{40, 11}, "nnpp"}, cpu);
  expect_layers_of_nothing({{7, 6, 5}, "pppppp"}, cpu);
  expect_layers_of_nothing({{5, 4, 7}, "nnnnnn"}, cpu);
  expect_layers_of_nothing({{6, 7, 5}, "dnndpp"}, cpu);
  expect_layers_of_nothing({{3, 3, 3}, "dddddd"}, cpu);
}

/// Of many systems the sines and cosines of one axis are left out.
TEST(Poisson, ManySystemsAreEliminated) {
  PoissonGrid const grid{{257, 256, 5}, "ddppnd"};
  auto const mode = poisson_mode(grid, {2, 3, 1});
  auto const solved = solve_poisson(
      poisson_yaml(grid, "0", {"0", "0", "0"},
                   fmt::format("source: \"{:.17g}*{}\"", mode.eigenvalue, mode.formula), "float64"),
      cpu);
  EXPECT_EQ(solved.chosen.back().text, "z");
  EXPECT_LE(
      host_error_norms(solved.u.field, expression::Expression::parse(mode.formula), 0).maximum,
      1e-13);
}

TEST(Poisson, LayersAreOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides : {"pppp", "dddd", "nnnn", "dnpp", "pppppp", "nnnnnn", "dnppnd"})
    for (int along = 0; along < static_cast<int>(sides.size()) / 2; ++along)
      for (double const reaction : {0.0, 3.0})
        expect_order_two(sides, sides.size() < 6 ? 24 : 16, along, reaction, "fft", cpu);
}

TEST(Poisson, TheMeanIsWhatIsGiven) {
  for (std::string const method : {"direct", "fft", "cg"})
    for (std::string const side : {"periodic", "{neumann: 0}"})
      for (std::string const precision : {"float32", "float64"}) {
        auto const solved = solve_poisson(
            fmt::format("simulation: poisson\nprecision: {}\ngrid: {{points: 37}}\n"
                        "boundary: {{x: {}}}\nparameters: {{source: \"cos(2*pi*x)\", mean: -7, "
                        "method: {}}}\n",
                        precision, side, method),
            cpu);
        EXPECT_NEAR(solved.diagnostic("mean"), -7, precision == "float32" ? 4e-6 : 1e-14);
      }
}

TEST(Poisson, ConstantsAndNothing) {
  for (std::string const method : {"direct", "fft", "cg"}) {
    auto const line = [&](std::string const& side, std::string const& parameters) {
      return solve_poisson(
          fmt::format("simulation: poisson\ngrid: {{points: 12}}\nboundary: {{x: {}}}\n"
                      "parameters: {{{}, method: {}}}\n",
                      side, parameters, method),
          cpu);
    };
    for (std::string const side : {"periodic", "{neumann: 0}", "{dirichlet: 0}"}) {
      auto const nothing = line(side, "source: 0");
      for (int i = 0; i < 12; ++i) EXPECT_EQ(value_at(nothing.u, i), 0) << side;
      EXPECT_EQ(nothing.diagnostic("backward_error"), 0);
    }
    auto const raised = line("{neumann: 0}", "source: 3, reaction: 2");
    for (int i = 0; i < 12; ++i) EXPECT_NEAR(value_at(raised.u, i), 1.5, 1e-14);
  }
}

/// A source of which nothing but roundings, or nearly nothing, is left when its mean is taken off.
TEST(Poisson, ConstantSourcesLeaveTheMean) {
  PoissonGrid const grids[] = {{{33}, "nn"},
                               {{32}, "pp"},
                               {{33, 20}, "nnpp"},
                               {{70, 300}, "nnnn"},
                               {{16, 10, 11}, "pppppp"}};
  auto const expect = [](PoissonGrid const& grid, std::string const& precision,
                         std::string const& more, std::string const& mean) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", grid.sides, precision, more, mean));
    std::string const yaml =
        poisson_yaml(grid, mean, {"0", "0", "0"},
                     fmt::format("imbalance: 1, mean: {}, {}", mean, more), precision);
    EXPECT_EQ(OneShot(yaml, cpu).simulation->shortfall(), "");
    auto const solved = solve_poisson(yaml, cpu);
    EXPECT_LE(solved.diagnostic("backward_error"), precision == "float32" ? 1e-5 : 1e-13);
    EXPECT_LE(solved.error, precision == "float32" ? 1e-6 : 2e-14);
  };
  for (PoissonGrid const& grid : grids)
    for (std::string const precision : {"float32", "float64"})
      for (std::string const method : {"auto", "multigrid", "mg_cg", "cg"})
        for (std::string const source : {"0.1", "1/3", "0.1 + 1e-13*cos(2*pi*x)"})
          for (std::string const mean : {"0", "2"})
            expect(grid, precision, fmt::format("source: \"{}\", method: {}", source, method),
                   mean);
}

/// A source that is infinite where u is given says nothing there.
TEST(Poisson, SourcesDoNotCountWhereUIsGiven) {
  for (std::string const method : {"direct", "fft", "cg, tolerance: 1e-14"}) {
    auto const solved = solve_poisson(
        fmt::format("simulation: poisson\ngrid: {{points: 33}}\nboundary: {{x: {{dirichlet: 4}}}}\n"
                    "parameters: {{source: \"1/x - 1/x\", method: {}}}\n",
                    method),
        cpu);
    for (int i = 0; i < 33; ++i) EXPECT_NEAR(value_at(solved.u, i), 4, 1e-13);
  }
}

/// Elimination alone would lose the mean: the reaction is down to 5e-14 of the diagonal.
TEST(Poisson, SmallReactionsCount) {
  for (std::string const side : {"periodic", "{neumann: 0}"})
    for (double const reaction : {1e-3, 1e-7}) {
      auto const solved = solve_poisson(
          fmt::format("simulation: poisson\ngrid: {{points: 1001}}\nboundary: {{x: {}}}\n"
                      "parameters: {{source: \"{}*(2 + x^2)\", reaction: {}, method: direct}}\n",
                      side, reaction, reaction),
          cpu);
      bool const periodic = side == "periodic";
      double mean = 0;  // of 2 + x², as the trapezoidal rule has it
      for (int i = 0; i < 1001; ++i) {
        double const x = i / (periodic ? 1001.0 : 1000.0);
        mean += (2 + x * x) * (!periodic && i % 1000 == 0 ? 0.5 : 1) / (periodic ? 1001 : 1000);
      }
      EXPECT_NEAR(solved.diagnostic("mean"), mean, 1e-12);
    }
}

TEST(Poisson, SmallReactionsCountInLayers) {
  for (std::string const side : {"periodic", "{neumann: 0}"})
    for (std::string const reaction : {"1e-9", "1e-9*(1 + x)"}) {
      auto const solved = solve_poisson(
          fmt::format("simulation: poisson\ngrid: {{points: [400, 9]}}\n"
                      "boundary: {{x: {}, y: periodic}}\nparameters: {{source: \"{}*3\", reaction: "
                      "\"{}\", diffusivity: \"1 + x\"}}\nverify: {{exact: {{u: 3}}, tolerance: "
                      "{{max: 1}}}}\n",
                      side, reaction, reaction),
          cpu);
      EXPECT_LE(solved.error, 1e-12);
    }
}

TEST(Poisson, LongLinesInFloat32) {
  PoissonGrid const grid{{20001}, "dn"};
  auto const solved = solve_poisson(poisson_yaml(grid, "sin(20*x)", {"20*cos(20*x)", "", ""},
                                                 "source: \"400*sin(20*x)\"", "float32"),
                                    cpu);
  EXPECT_LE(solved.error, 1e-6);
}

/// What `make` says of a file.
std::string config_fault(std::string const& yaml) {
  try {
    auto const config = config_of(yaml);
    Stream stream(Device::open(cpu));
    check_on_device(config, stream.device());
    entry_of(config).make(config, stream, inputs_of(config));
  } catch (ConfigError const& error) {
    std::string const text = error.what();
    return text.substr(text.find(".yaml:") + 6);
  }
  return "nothing";
}

TEST(Poisson, SourcesOutOfBalanceAreRefused) {
  auto const with = [](std::string const& source, std::string const& more) {
    return fmt::format(
        "simulation: poisson\ngrid: {{points: [11, 9]}}\n"
        "boundary: {{x: {{lower: {{neumann: 0.25}}, upper: {{neumann: 0.25}}}}, "
        "y: periodic}}\nparameters: {{source: \"{}\"{}}}\n",
        source, more);
  };
  EXPECT_EQ(config_fault(with("-0.25", "")),
            "4:22: parameters.source: its integral and what flows in through the sides come to "
            "0.25, 0.357 of the integral of the magnitudes, and there is a solution only where "
            "they come to 0 (with a reaction or a side on which u is given there always is one; "
            "this source less 0.25 is in balance; parameters.imbalance, 0.001, is how far it may "
            "be off)");
  auto const taken = solve_poisson(with("-0.25", ", imbalance: 0.4"), cpu);
  EXPECT_NEAR(taken.diagnostic("imbalance"), 0.25, 1e-15);
  auto const balanced = solve_poisson(with("-0.5", ""), cpu);
  EXPECT_NEAR(balanced.diagnostic("imbalance"), 0, 1e-15);
  EXPECT_LE(relative_difference(taken.u, balanced.u), 1e-13);
  // A reaction leaves nothing open.
  EXPECT_TRUE(std::isnan(solve_poisson(with("1", ", reaction: 1"), cpu).diagnostic("imbalance")));
}

TEST(Poisson, ResonanceIsRefused) {
  for (std::string const method : {"direct", "fft"})
    for (std::string const sides : {"pp", "dd", "nn", "dn"}) {
      SCOPED_TRACE(method + " " + sides);
      PoissonGrid const grid{{21}, sides};
      double const third = poisson_mode(grid, {3, 0, 0}).eigenvalue;
      auto const with = [&](double reaction) {
        return poisson_yaml(
            grid, "0", {"0", "", ""},
            fmt::format("source: \"1 + x\", method: {}, reaction: {:.17g}", method, reaction),
            "float64");
      };
      std::string const fault = config_fault(with(-third));
      EXPECT_NE(fault.find("too near to 0 in float64 (resonance; another reaction has a solution)"),
                std::string::npos)
          << fault;
      EXPECT_NE(config_fault(with(-third * (1 + 1e-14))), "nothing");
      for (double const away : {1e-6, -1e-6, 0.1}) {
        auto const solved = solve_poisson(with(-third * (1 + away)), cpu);
        EXPECT_LE(solved.diagnostic("backward_error"), 1e-15);
      }
    }
  EXPECT_EQ(config_fault("simulation: poisson\nprecision: float32\ngrid: {points: [3, 5]}\n"
                         "parameters: {source: 1, reaction: -40.001}\n"),
            "4:35: parameters.reaction: the equations have the eigenvalue -0.001, from 40 of the "
            "diffusion, too near to 0 in float32 (resonance; another reaction, or float64, has a "
            "solution)");
}

/// Of a sum of eigenvalues of two axes, wherever it is among them.
TEST(Poisson, ResonanceOfTwoAxesIsFound) {
  PoissonGrid const grid{{12, 9}, "ddnn"};
  for (std::array<int, 3> const numbers : {std::array{1, 0, 0}, {10, 8, 0}, {4, 5, 0}, {7, 1, 0}}) {
    double const eigenvalue = poisson_mode(grid, numbers).eigenvalue;
    auto const yaml = [&](double reaction) {
      return poisson_yaml(grid, "0", {"0", "0", ""},
                          fmt::format("source: 1, reaction: {:.17g}", reaction), "float64");
    };
    EXPECT_NE(config_fault(yaml(-eigenvalue)), "nothing");
    EXPECT_EQ(config_fault(yaml(-eigenvalue * (1 + 1e-9))), "nothing");
  }
}

TEST(Poisson, CoefficientsAreLookedAt) {
  auto const line = [](std::string const& parameters, std::string const& more = "") {
    return config_fault("simulation: poisson\ngrid: {points: 11}\nparameters: {source: 1, " +
                        parameters + "}\n" + more);
  };
  EXPECT_EQ(
      line("diffusivity: \"x - 0.5\""),
      "3:38: parameters.diffusivity: is -0.5 at x = 0 (a diffusivity is positive everywhere)");
  EXPECT_EQ(line("reaction: \"1/(x - 1)\""),
            "3:35: parameters.reaction: is inf at x = 1 (a reaction is finite everywhere)");
  EXPECT_EQ(line("diffusivity: 1e-42", "precision: float32\n"),
            "3:38: parameters.diffusivity: is 1e-42 at x = 0 (over the squares of spacings and "
            "extents it is beyond what the precision holds; other units may help)");
  for (std::string const method : {"direct", "fft"})
    EXPECT_EQ(
        line("reaction: 1e-39, method: " + method, "precision: float32\n"),
        "3:35: parameters.reaction: is 1e-39 at x = 0 (it is beyond what the precision holds; "
        "other units may help)");
  EXPECT_EQ(line("mean: 1"),
            "3:31: parameters.mean: the solution has its mean by itself (u is given on a side)");
  EXPECT_EQ(line("mean: 1, reaction: 3", "boundary: {x: periodic}\n"),
            "3:31: parameters.mean: the solution has its mean by itself (reaction is not 0)");
  EXPECT_EQ(line("mean: auto"), "nothing");
  EXPECT_EQ(config_fault("simulation: poisson\ngrid: {points: [9, 9]}\n"
                         "parameters: {source: 1, reaction: \"y - 0.1\"}\n"),
            "3:35: parameters.reaction: is negative somewhere (where coefficients vary along one "
            "axis of several, fft takes reactions that are not)");
  EXPECT_EQ(
      config_fault("simulation: poisson\ngrid: {points: [9, 9]}\n"
                   "parameters: {source: 1, reaction: \"x*y - 0.1\"}\n"),
      "3:35: parameters.reaction: is negative somewhere (mg_cg takes reactions that are not)");
  EXPECT_EQ(line("tolerance: 1e-3"),
            "3:36: parameters.tolerance: direct solves at once, to rounding (multigrid, mg_cg and "
            "cg have "
            "a tolerance)");
  EXPECT_EQ(config_fault("simulation: poisson\ngrid: {points: [33, 33]}\n"
                         "parameters: {source: 1, diffusivity: 1 + x*y, method: sor}\n"),
            "3:55: parameters.method: sor needs a relaxation where coefficients vary, above 0 and "
            "below 2 (of the same ones everywhere 1.8215 would end soonest; multigrid needs none)");
  EXPECT_EQ(config_fault("simulation: poisson\ngrid: {points: [9, 9]}\n"
                         "boundary: {x: {neumann: 0}, y: periodic}\n"
                         "parameters: {source: \"cos(pi*x)\", diffusivity: 1 + u^2}\n"),
            "4:22: parameters.source: u is open by a constant (newton needs a side on which u is "
            "given, a reaction, or a source that depends on u)");
  EXPECT_EQ(line("inner: float32"),
            "3:32: parameters.inner: is for cg (direct chooses by itself in which precision it "
            "computes)");
  EXPECT_EQ(line("reaction: \"x - 0.1\", method: cg"),
            "3:35: parameters.reaction: is negative somewhere (cg takes reactions that are not)");
}

TEST(Poisson, CheckTellsHowItIsSolved) {
  auto const told = [](PoissonGrid const& grid, std::string const& parameters) {
    auto const config =
        config_of(poisson_yaml(grid, "0", {"0", "0", "0"}, "source: 0" + parameters, "float64"));
    return entry_of(config).report(config, inputs_of(config), Device::open(cpu));
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(told({{9}, "dn"}, ""), Lines{"direct: elimination along x"});
  EXPECT_EQ(told({{9, 9, 9}, "dnndpp"}, ""),
            Lines{"fft: sines along x, cosines along y, waves along z"});
  EXPECT_EQ(told({{9, 9}, "ppnn"}, ", diffusivity: 1 + x, mean: 2.5"),
            (Lines{"fft: elimination along x, cosines along y",
                   "u is open by a constant, which its mean settles: 2.5"}));
  EXPECT_EQ(told({{20, 33}, "ddnn"}, ", diffusivity: 1 + x*y"),
            Lines{"mg_cg: 18 x 33, 18 x 17, 9 x 9, 4 x 5 unknowns"});
}

/// Neither the slowest modes nor the fastest get lost where everything is scaled.
TEST(Poisson, WildScales) {
  for (std::string const method : {"direct", "fft", "cg, tolerance: 1e-14"})
    for (std::string const precision : {"float32", "float64"}) {
      auto const scaled = [&](std::string const& scale, std::string const& length) {
        return solve_poisson(
            fmt::format("simulation: poisson\nprecision: {}\ngrid: {{points: 31, upper: {}}}\n"
                        "boundary: {{x: {{lower: {{dirichlet: 1}}, upper: {{neumann: 0}}}}}}\n"
                        "parameters: {{diffusivity: \"{}*{}^2\", reaction: {}, method: {},\n"
                        "  source: \"{}*cos(9*x/{})\"}}\n",
                        precision, length, scale, length, scale, method, scale, length),
            cpu);
      };
      auto const plain = scaled("1", "1");
      std::string const far = precision == "float32" ? "1e3" : "1e30";
      std::vector<std::string> const scales = precision == "float32"
                                                  ? std::vector<std::string>{"1e-30", "1e28"}
                                                  : std::vector<std::string>{"1e-240", "1e240"};
      for (auto const& scale : scales)
        for (std::string const& length : {far, "1/" + far})
          EXPECT_LE(relative_difference(scaled(scale, "(" + length + ")").u, plain.u),
                    precision == "float32" ? 2e-6 : 1e-13)
              << method << ' ' << scale << ' ' << length;
    }
}

TEST(Poisson, TheSameBitsEveryTime) {
  for (std::string const precision : {"float32", "float64"}) {
    auto const line = poisson_yaml({{5003}, "nd"}, "x", {"1", "", ""},
                                   "source: \"cos(9*x)\", diffusivity: \"2 + sin(x)\"", precision);
    EXPECT_EQ(solve_poisson(line, cpu).u.memory, solve_poisson(line, cpu).u.memory);
    auto const box = poisson_yaml({{13, 8, 11}, "nnppnn"}, "x", {"1", "0", "0"},
                                  "source: \"cos(pi*x)\"", precision);
    EXPECT_EQ(solve_poisson(box, cpu).u.memory, solve_poisson(box, cpu).u.memory);
    auto const layers = poisson_yaml({{13, 8, 11}, "nnppdn"}, "x", {"1", "0", "0"},
                                     "source: \"cos(pi*x)\", diffusivity: 2 + z", precision);
    EXPECT_EQ(solve_poisson(layers, cpu).u.memory, solve_poisson(layers, cpu).u.memory);
  }
}

}  // namespace
}  // namespace gridstride::test

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <tuple>

#include "core/error.hpp"
#include "support/pde_sides_cases.hpp"

/// The sides of systems of equations: what each kind of side makes of a solution that is known.
namespace gridstride {
namespace {

using std::numbers::pi;
using test::OrderCase;
using test::run_pde;
using test::step_of;

class PdeSides : public testing::TestWithParam<OrderCase> {};

TEST_P(PdeSides, AreOfOrderTwo) { test::expect_order_two(GetParam()); }

constexpr char const* diffusion = "div((0.02 + 0.01*#^2)*grad(#))";
constexpr char const* mixed = "0.05*(laplace(#) + d2_dxdy(#))";
INSTANTIATE_TEST_SUITE_P(Pde, PdeSides,
                         testing::Values(OrderCase{"robin", diffusion, 1, "rr", 32},
                                         OrderCase{"robin_dirichlet", diffusion, 1, "dr", 32},
                                         OrderCase{"robin_of_a_function", "0.02*laplace(#^3) - #",
                                                   1, "rn", 32},
                                         OrderCase{"robin_corners", diffusion, 2, "rrnd", 20},
                                         OrderCase{"robin_periodic", diffusion, 2, "pprr", 20},
                                         OrderCase{"robin_mixed", mixed, 2, "rrrr", 20},
                                         OrderCase{"robin_mixed_periodic", mixed, 2, "rrpp", 20},
                                         OrderCase{"robin_mixed_neumann", mixed, 2, "rnnr", 20},
                                         OrderCase{"robin_3D", diffusion, 3, "rrppdr", 12}),
                         [](auto const& one) { return std::string(std::get<0>(one.param)); });

/// What fields are at the end, against exact components: the largest error.
double largest_error(std::string const& yaml, std::size_t field, std::size_t components,
                     std::function<double(std::size_t, double, double)> const& exact) {
  auto const config = test::config_of(yaml);
  auto const values = run_pde(yaml).fields[field];
  double largest = 0;
  for (std::size_t i = 0; i < values.size() / components; ++i) {
    auto const at = config.grid.indices(static_cast<std::int64_t>(i));
    for (std::size_t c = 0; c < components; ++c)
      largest = std::max(
          largest, std::abs(values[components * i + c] - exact(c, config.grid.coordinate(0, at[0]),
                                                               config.grid.coordinate(1, at[1]))));
  }
  return largest;
}

TEST(PdeSides, AntiperiodicIsOfOrderTwo) {
  auto const error = [](int cells, std::size_t field) {
    return largest_error(
        test::antiperiodic_pde(cells), field, 1, [&](std::size_t, double x, double y) {
          return field == 0
                     ? std::exp(-0.05) * std::sin(pi * x + 0.3) * (2 + std::sin(2 * pi * y + 0.7))
                     : std::exp(-0.05) * std::cos(pi * y + 0.2) * (2 + std::cos(2 * pi * x));
        });
  };
  for (std::size_t const field : {0, 1}) {
    double const coarse = error(20, field), fine = error(40, field);
    EXPECT_NEAR(std::log2(coarse / fine), 2, 0.2) << field << ": " << coarse << ", " << fine;
  }
}

TEST(PdeSides, WallsAreOfOrderTwo) {
  auto const of_h = [](std::size_t, double x, double y) {
    return 2 + std::exp(-0.05) * std::cos(pi * x) * std::cos(pi * y);
  };
  auto const of_q = [](std::size_t c, double x, double y) {
    return c == 0 ? std::exp(-0.05) * std::sin(pi * x) * std::cos(pi * y)
                  : std::exp(-0.1) * std::cos(pi * x) * std::sin(2 * pi * y);
  };
  double const coarse = largest_error(test::walled_pde(20), 0, 1, of_h);
  double const fine = largest_error(test::walled_pde(40), 0, 1, of_h);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.2) << "h: " << coarse << ", " << fine;
  double const rough = largest_error(test::walled_pde(20), 1, 2, of_q);
  double const smooth = largest_error(test::walled_pde(40), 1, 2, of_q);
  EXPECT_NEAR(std::log2(rough / smooth), 2, 0.2) << "q: " << rough << ", " << smooth;
}

/// What flows nowhere stays nothing: on walls the normal part is 0 to the bit, and the rest is free.
TEST(PdeSides, WallsHoldTheNormalPartAlone) {
  auto const q =
      run_pde(
          "simulation: pde\ngrid: {points: [5, 4]}\nboundary: {x: wall, y: wall}\n"
          "fields: {q: vector}\nequations: {q: 0.01*laplace(q)}\ninitial: {q: {x: 1, y: 2}}\n"
          "time: {end: 0.1}\n")
          .fields[0];
  for (std::size_t i = 0; i < 20; ++i) {
    bool const on_x = i % 5 == 0 || i % 5 == 4, on_y = i < 5 || i >= 15;
    EXPECT_EQ(q[2 * i] == 0, on_x) << i;
    EXPECT_EQ(q[2 * i + 1] == 0, on_y) << i;
  }
}

/// One axis, where a vector has one component, which is along the normal.
TEST(PdeSides, AWallEndsALine) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 9}\nboundary: {x: wall}\nfields: {q: vector}\n"
      "equations: {q: 0.01*laplace(q), u: 0.01*laplace(u)}\ninitial: {q: {x: 1}, u: 1}\n"
      "time: {end: 0.1}\n");
  EXPECT_EQ(found.fields[0].front(), 0);
  EXPECT_EQ(found.fields[0].back(), 0);
  EXPECT_EQ(found.fields[1], std::vector<double>(9, 1));
}

/// All variants give the same bits for all kinds of sides.
TEST(PdeSides, VariantsHaveTheSameBits) {
  for (std::string const& text :
       {test::antiperiodic_pde(11), test::walled_pde(13),
        test::manufactured_pde(mixed, 2, "rrnr", 9, "rk4"),
        test::manufactured_pde(mixed, 2, "pprr", 9, "ssprk3"),
        test::manufactured_pde("0.03*laplace(#)", 3, "rdpprr", 6, "euler")}) {
    auto const reference = run_pde(text + "kernels: {system: reference}\n");
    auto const threads = run_pde(text + "kernels: {system: threads}\n");
    EXPECT_EQ(reference.fields, threads.fields) << text;
  }
}

/// Cooling through the sides, ∂u/∂n = −a·u, at the step that `auto` takes and however large a is:
/// nothing grows, and what leaves is what the sides say.
TEST(PdeSides, CoolingIsStableForAnyFactor) {
  for (char const* scheme : {"euler", "rk4"})
    for (double const a : {0.0, 0.1, 3.0, 30.0, 1e3, 1e5}) {
      auto const text = fmt::format(
          "simulation: pde\ngrid: {{points: [17, 9]}}\n"
          "boundary: {{x: {{robin: [{0}, 0]}}, y: {{robin: [{0}, 0]}}}}\n"
          "equations: {{u: laplace(u)}}\n"
          "initial: {{u: \"1 + 0.5*cos(16*pi*x)*cos(8*pi*y)\"}}\n"
          "time: {{scheme: {1}, end: {2}, safety: 1}}\noutput: {{every: {{count: 1}}}}\n",
          a, scheme, a > 100 ? 1e-4 : 0.02);
      auto const found = run_pde(text);
      for (double const value : found.fields[0]) {
        ASSERT_LE(value, 1.5 + 1e-12) << scheme << ' ' << a;
        ASSERT_GE(value, a > 100 ? -1.5 : 0) << scheme << ' ' << a;
      }
    }
}

/// A vector's components have an a and a g each.
TEST(PdeSides, VectorsHaveAFactorForEachComponent) {
  std::string const rest =
      "simulation: pde\ngrid: {points: [9, 8]}\ntime: {end: 0.02}\noutput: {every: {count: 1}}\n";
  auto const vector =
      run_pde(rest +
              "fields: {q: vector}\nequations: {q: laplace(q)}\ninitial: {q: {x: 1 + x, y: x*y}}\n"
              "boundary: {x: wall, q: {y: {robin: {x: [2, t], y: [\"1 + x\", -1]}}}}\n");
  auto const scalars =
      run_pde(rest +
              "equations: {a: laplace(a), b: laplace(b)}\ninitial: {a: 1 + x, b: x*y}\n"
              "boundary: {a: {x: {dirichlet: 0}, y: {robin: [2, t]}}, "
              "b: {x: {neumann: 0}, y: {robin: [\"1 + x\", -1]}}}\n");
  for (std::size_t i = 0; i < 72; ++i)
    for (std::size_t c = 0; c < 2; ++c)
      EXPECT_EQ(vector.fields[0][2 * i + c], scalars.fields[c][i]) << i << ' ' << c;
}

/// λ = D·(4/h² + 2a/h), to euler's 2; a that grows in time makes steps shorter.
TEST(PdeSides, FactorsLimitTheStep) {
  auto const text = [](char const* a) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 11}}\nboundary: {{x: {{robin: [\"{}\", 0]}}}}\n"
        "equations: {{u: 0.5*laplace(u)}}\ninitial: {{u: 1}}\n"
        "time: {{scheme: euler, end: 0.2, safety: 1}}\noutput: {{every: {{count: 1}}}}\n",
        a);
  };
  EXPECT_NEAR(step_of(text("0")), 2 / 200.0, 1e-12);
  EXPECT_NEAR(step_of(text("30")), 2 / (200.0 + 300), 1e-12);
  auto const grows = run_pde(text("1000*t"));
  EXPECT_GT(grows.steps, 40);
  for (double const value : grows.fields[0]) EXPECT_LE(std::abs(value), 1);
}

/// A steady state that is a straight line: u = 1 + x, with u_x = 1 and a·u + ∂u/∂n = g.
TEST(PdeSides, RobinKeepsAStraightLine) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 17}\n"
      "boundary: {x: {lower: {robin: [2, 1]}, upper: {robin: [0.5, 2]}}}\n"
      "equations: {u: laplace(u)}\ninitial: {u: 1 + x}\ntime: {end: 1}\n");
  for (std::size_t i = 0; i < 17; ++i)
    EXPECT_NEAR(found.fields[0][i], 1 + static_cast<double>(i) / 16, 1e-13);
}

/// Light in a box with sides that conduct, E across the plane and H in it:
/// E_t = curl H, H_t = −curl E. Of central differences the mode (2, 1) is an eigenvector too, with
/// ω² = Σ (sin(k h)/h)²; and rk4 turns it by ω·dt but for (ω·dt)⁵/120 a step.
TEST(PdeKnownAnswers, ACavityRingsAtItsFrequency) {
  int const cells = 24;
  double const h = 1.0 / cells;
  auto const wave = [&](double k) { return std::sin(k * h) / h; };
  double const kx = wave(2 * pi), ky = wave(pi), omega = std::hypot(kx, ky), end = 0.7;
  auto const text = fmt::format(
      "simulation: pde\ngrid: {{points: [{0}, {0}]}}\n"
      "fields: {{H: vector}}\n"
      "equations: {{E: curl(H), H: -curl(E)}}\n"
      "boundary: {{E: {{x: {{dirichlet: 0}}, y: {{dirichlet: 0}}}}, H: {{x: wall, y: wall}}}}\n"
      "initial: {{E: sin(2*pi*x)*sin(pi*y), H: {{x: 0, y: 0}}}}\n"
      "time: {{scheme: rk4, end: {1}, step: 0.005}}\noutput: {{every: {{count: 1}}}}\n",
      cells + 1, end);
  // Each of 140 steps is off by (ω·dt)⁵/120 of what is there, ω·dt = 0.034, and by rounding.
  double const tolerance = 140 * std::pow(omega * 0.005, 5) / 120 * 1.5;
  EXPECT_LT(largest_error(text, 0, 1,
                          [&](std::size_t, double x, double y) {
                            return std::cos(omega * end) * std::sin(2 * pi * x) * std::sin(pi * y);
                          }),
            tolerance);
  // H = sin(ωt)/ω·(−∂E/∂y, ∂E/∂x)
  EXPECT_LT(largest_error(text, 1, 2,
                          [&](std::size_t c, double x, double y) {
                            double const turned = std::sin(omega * end) / omega;
                            return c == 0 ? -turned * ky * std::sin(2 * pi * x) * std::cos(pi * y)
                                          : turned * kx * std::cos(2 * pi * x) * std::sin(pi * y);
                          }),
            tolerance);
  EXPECT_LT(tolerance, 1e-6);
  // The frequency of the box itself, π√5, to second order.
  EXPECT_NEAR(omega, pi * std::sqrt(5), std::pow(2 * pi, 3) * h * h / 6);
}

std::string problems_of(std::string const& boundary) {
  std::string all;
  try {
    test::config_of(
        "simulation: pde\ngrid: {points: [9, 9]}\nfields: {q: vector}\n"
        "equations: {u: laplace(u), q: grad(u)}\ninitial: {u: 0, q: {x: 0, y: 0}}\n"
        "time: {end: 1}\nboundary: " +
        boundary + "\n");
  } catch (ConfigError const& error) {
    for (auto const& problem : error.problems())
      all += (all.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  }
  return all;
}

TEST(PdeSides, FaultsAreToldInTheirPlaces) {
  EXPECT_EQ(problems_of("{x: wall, y: antiperiodic}"), "");
  EXPECT_EQ(problems_of("{u: {x: {robin: [1, x*y]}, y: wall}, q: {x: {robin: {x: [1, 2], y: [t, "
                        "0]}}, y: {lower: wall, upper: outflow}}}"),
            "");
  EXPECT_EQ(problems_of("{u: {x: periodic}, q: {x: antiperiodic}}"), "");
  auto const of_robin = [](std::string const& value) {
    return problems_of("{u: {x: {robin: " + value + "}}, q: {x: wall}}");
  };
  EXPECT_EQ(of_robin("1"), "boundary.u.x.robin: a list of 2 values expected, not a single value");
  EXPECT_EQ(of_robin("[1]"), "boundary.u.x.robin: 2 values expected, here are 1");
  EXPECT_EQ(of_robin("[1, 2, 3]"), "boundary.u.x.robin: 2 values expected, here are 3");
  EXPECT_EQ(of_robin("[]"), "boundary.u.x.robin: 2 values expected, here are 0");
  EXPECT_EQ(of_robin("{a: 1, g: 2}"),
            "boundary.u.x.robin: a list of 2 values expected, not a mapping");
  EXPECT_EQ(of_robin("[1, u]"), "");
  EXPECT_EQ(of_robin("[1, w]"),
            "boundary.u.x.robin.1: unknown name 'w' (an equation knows x, y, t, pi, e, fields, "
            "names under 'let', constants, functions and operators)");
  EXPECT_EQ(of_robin(""), "boundary.u.x.robin: has no value");
  auto const of_vector = [](std::string const& value) {
    return problems_of("{q: {x: {robin: " + value + "}}, u: {x: wall}}");
  };
  EXPECT_EQ(of_vector("[1, 2]"), "boundary.q.x.robin: a mapping of keys expected, not a list");
  EXPECT_EQ(of_vector("{x: [1, 2]}"), "boundary.q.x.robin.y: is missing (it has no default)");
  EXPECT_EQ(problems_of("{x: {robin: [1, 2]}}"),
            "boundary.x.robin: cannot stand here (u and q have different components; say it by "
            "field, as u: {...})");
  EXPECT_EQ(problems_of("{x: {lower: antiperiodic, upper: wall}}"),
            "boundary.x.lower: 'antiperiodic' cannot stand here (an axis is antiperiodic as a "
            "whole)");
  EXPECT_EQ(problems_of("{u: {x: antiperiodic}, q: {x: wall}}"),
            "boundary.q.x: u is periodic along x and q is not (an axis is periodic for all fields "
            "or for none)");
  EXPECT_EQ(problems_of("{x: wal}"),
            "boundary.x: 'periodic', 'antiperiodic', 'wall', 'outflow' or {lower: ..., upper: ...} "
            "expected, not 'wal'; did you mean 'wall'?");
  EXPECT_EQ(
      problems_of("{u: {x: {wall: 0}}, q: {x: wall}}"),
      "boundary.u.x.wall: unknown key ('dirichlet', 'neumann', 'robin', 'flux', 'lower' or 'upper' "
      "expected)");
  EXPECT_EQ(problems_of("{v: {x: wall}}"),
            "boundary.v: unknown key ('x', 'y', 'u' or 'q' expected)");
}

/// The simulations of one equation take what they took.
TEST(PdeSides, OthersRefuseWhatTheyDoNotTake) {
  for (auto const& [simulation, field] :
       {std::pair{"heat", "parameters: {diffusivity: 1}\ninitial: {u: 0}\n"},
        std::pair{"wave", "parameters: {speed: 1}\ninitial: {u: 0}\n"}})
    for (char const* kind : {"antiperiodic", "wall", "{robin: [1, 2]}"}) {
      std::string message;
      try {
        test::config_of(
            fmt::format("simulation: {}\ngrid: {{points: [9, 9]}}\n{}"
                        "time: {{end: 1}}\nboundary: {{x: {}}}\n",
                        simulation, field, kind));
      } catch (ConfigError const& error) {
        EXPECT_EQ(error.problems().size(), 1);
        message = error.problems().front().path;
      }
      EXPECT_TRUE(message.starts_with("boundary.x")) << simulation << ' ' << kind << message;
    }
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <vector>

#include "equations/diffusion_split.hpp"
#include "equations/language.hpp"
#include "equations/stable_step.hpp"
#include "equations/text.hpp"
#include "model/modal_scheme.hpp"
#include "simulations/pde_implicit.hpp"
#include "support/pde_implicit_cases.hpp"
#include "support/pde_modes_cases.hpp"

// Systems whose steps take the diffusion of fields implicitly by multigrid.
namespace gridstride {
namespace {

using pde::explicit_region;
using test::implicit_nerve;
using test::implicit_products;
using test::largest_difference;
using test::run_pde;

/// `D | κ | rest` of the first rate in two dimensions, or what is wrong with it.
std::string split_of(std::string const& rate) {
  equations::SystemText text;
  text.dims = 2;
  text.lets = {{"D", {"1 + x*y"}}};
  text.equations = {{{"u", {rate}}, false}, {{"v", {"0"}}, false}};
  std::vector<equations::SystemFault> faults;
  auto const system = equations::read_system(text, faults);
  EXPECT_TRUE(system) << (faults.empty() ? "" : faults.front().error.what());
  auto const split = equations::split_diffusion(*system);
  if (!split.faults[0].empty())
    return split.faults[0].substr(0, split.faults[0].find(" differentiates u twice or more"));
  auto const print = [&](equations::Term term) {
    return term < 0 ? "-" : equations::to_text(split.rest, term);
  };
  return print(split.own[0].coefficient) + " | " + print(split.own[0].decay) + " | " +
         print(split.rest.rates[0]);
}

TEST(PdeImplicit, SplitsWhatDiffuses) {
  EXPECT_EQ(split_of("div(D*grad(u)) + u*(1 - u)"), "1 + x*y | 0 | u*(1 - u)");
  EXPECT_EQ(split_of("laplace(u)/4 - 3*u + v"), "0.25 | 3 | v");
  EXPECT_EQ(split_of("0.5*(laplace(u - v) + 2*u)"), "0.5 | 0 | 0.5*laplace(-v) + u");
  EXPECT_EQ(split_of("div(2*D*grad(u) - [v, u]*u) - div(grad(u)/D)"),
            "2*(1 + x*y) - 1/(1 + x*y) | 0 | div([-(v*u), -(u*u)])");
  EXPECT_EQ(split_of("laplace(u) - x*u"), "1 | max(x, 0) | max(-x, 0)*u");
  EXPECT_EQ(split_of("-u + laplace(v)"), "- | - | -u + laplace(v)");
  EXPECT_EQ(split_of("div((2 + sin(t)*x)*grad(u)) - exp(-t)*u"), "2 + sin(t)*x | 0 | -(exp(-t)*u)");
}

TEST(PdeImplicit, TellsWhatItCannotSplit) {
  EXPECT_EQ(split_of("v + div(u*grad(u)) - u"), "'div([u*d_dx(u), u*d_dy(u)])'");
  EXPECT_EQ(split_of("v + D*laplace(u)"), "'(1 + x*y)*laplace(u)'");
  EXPECT_EQ(split_of("t*div(grad(u))"), "'t*div(grad(u))'");
  EXPECT_EQ(split_of("div(mean(v)*grad(u))"), "'div([mean(v)*d_dx(u), mean(v)*d_dy(u)])'");
  EXPECT_EQ(split_of("x*div(D*grad(u))"), "'x*div([(1 + x*y)*d_dx(u), (1 + x*y)*d_dy(u)])'");
  EXPECT_EQ(split_of("d2_dx2(u) + 2*d2_dy2(u)"), "'d2_dx2(u) + 2*d2_dy2(u)'");
  EXPECT_EQ(split_of("d2_dx2(u)"), "'d2_dx2(u)'");
  EXPECT_EQ(split_of("laplace(u) + d2_dxdy(u)"), "'d2_dxdy(u)'");
}

/// Side values, what drives u, and D or not change in time.
TEST(PdeImplicit, SchemesHaveTheirOrders) {
  for (bool const other : {false, true})
    for (std::string const factor : {"1", "(1 + 0.5*sin(2*t))"})
      for (auto const& [scheme, order, steps] :
           {std::tuple("imex_euler", 1, 128), std::tuple("imex_bdf2", 2, 64),
            std::tuple("ark3", 3, 128)}) {
        auto const error = [&, name = scheme](int count) {
          return test::solution_error(implicit_products(name, other, count, factor), Backend::cpu)
              .maximum;
        };
        double const coarse = error(steps), fine = error(2 * steps);
        EXPECT_NEAR(std::log2(coarse / fine), order, 0.1)
            << scheme << ' ' << other << ' ' << factor << ' ' << fine;
      }
}

/// The error at the end follows what a step may be off by, over three orders of magnitude.
TEST(PdeImplicit, AdaptiveStepsFollowTheirTolerance) {
  for (bool const other : {false, true})
    for (std::string const factor : {"1", "(1 + 0.5*sin(2*t))"}) {
      std::vector<double> errors, steps;
      for (double const tolerance : {1e-3, 1e-5, 1e-6}) {
        auto const text = implicit_products(
            "ark3", other, fmt::format("adaptive, tolerance: {:g}", tolerance), "", factor);
        errors.push_back(test::solution_error(text, Backend::cpu).maximum / tolerance);
        steps.push_back(static_cast<double>(run_pde(text).steps));
        EXPECT_GT(errors.back(), 0.1);  // |u| is 6 at most
        EXPECT_LT(errors.back(), 60);
      }
      EXPECT_LT(*std::ranges::max_element(errors), 10 * *std::ranges::min_element(errors));
      // 10^(1/3) times as many steps for a digit more.
      EXPECT_NEAR(std::log10(steps[2] / steps[1]), 1.0 / 3, 0.05);
    }
}

/// Beside a wall that moves what is explicit is not smoothed, and steps are of order 2 there, which what the
/// weights differ by says little of.
TEST(PdeImplicit, AdaptiveStepsSeeErrorsBesideWalls) {
  auto const make = [](std::string const& step) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 65}}\n"
        "boundary: {{x: {{lower: {{dirichlet: \"1 + 0.2*sin(6*t)\"}}, upper: {{robin: [3, "
        "0]}}}}}}\n"
        "equations: {{u: \"div((1 + x)*grad(u)) + u^2*(1 - u)\"}}\ninitial: {{u: \"1 - x\"}}\n"
        "time: {{scheme: ark3, end: 1, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
        step);
  };
  auto const exact = run_pde(make("5e-4")).fields[0];
  for (double const tolerance : {1e-4, 1e-5, 1e-6}) {
    auto const found = run_pde(make(fmt::format("adaptive, tolerance: {:g}", tolerance)));
    EXPECT_LT(largest_difference(found.fields[0], exact), 3 * tolerance) << tolerance;
  }
}

/// What jumps where the run begins, and a rate that changes at once.
TEST(PdeImplicit, AdaptiveStepsMeetWhatJumps) {
  auto const text = [](std::string_view scheme, std::string_view step) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [17, 12]}}\nboundary: {{x: {{dirichlet: 1}}, y: "
        "{{neumann: 0}}}}\n"
        "equations: {{u: \"div((0.1 + x)*grad(u)) - v\", v: \"if(t > 0.3, 40, 1)*(u - v)\"}}\n"
        "initial: {{u: 0, v: \"x > y\"}}\n"
        "time: {{scheme: {}, end: 0.6, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
        scheme, step);
  };
  auto const exact = run_pde(text("rk4", "4e-4"));
  auto const found = run_pde(text("ark3", "adaptive, tolerance: 1e-5"));
  EXPECT_LT(found.steps, 200);
  for (std::size_t f = 0; f < 2; ++f)
    EXPECT_LT(largest_difference(found.fields[f], exact.fields[f]), 2e-4) << f;
}

/// |R(λ·dt, μ·dt)| for ∂u/∂t = λ·u + μ·u, all μ ≤ 0.
TEST(PdeImplicit, ArkIsStableInTheRegionThatIsTold) {
  auto const& table = ark3_table();
  using Complex = std::complex<double>;
  auto const growth = [&](Complex explicit_part, double implicit_part) {
    std::array<Complex, 4> u;
    Complex next = 1;
    for (std::size_t i = 0; i < 4; ++i) {
      u[i] = 1;
      for (std::size_t j = 0; j < i; ++j)
        u[i] += (table.explicit_part[i][j] * explicit_part +
                 table.implicit_part[i][j] * implicit_part) *
                u[j];
      u[i] /= 1 - table.implicit_part[i][i] * implicit_part;
      next += table.weights[i] * (explicit_part + implicit_part) * u[i];
    }
    return std::abs(next);
  };
  auto const region = [](std::string_view scheme) {
    return explicit_region(test::config_of(implicit_nerve(scheme, "{dirichlet: 0}", 1, 0.1)));
  };
  auto const [degree, share] = region("ark3");
  EXPECT_EQ(region("rk4").share, 1);
  double most = 0, beyond = 0;
  for (int k = 0; k <= 90; ++k) {
    Complex const along = std::polar(1.0, (90 + k) * std::numbers::pi / 180);
    double const reach = share * equations::region_of(degree).along(along);
    for (double part : {0.25, 0.5, 0.75, 1.0})
      for (int m = -40; m <= 60; ++m)
        most = std::max(most, growth(part * reach * along, -std::pow(10, m / 10.0)));
    for (int m = -40; m <= 60; ++m)
      beyond = std::max(beyond, growth(1.05 * reach * along, -std::pow(10, m / 10.0)));
  }
  EXPECT_LE(most, 1);
  EXPECT_GT(beyond, 1);  // no more of it would do
}

TEST(PdeImplicit, SidesOfEachAxisCount) {
  for (char const side : {'d', 'n'}) {
    auto const error = [&](int steps) {
      return test::solution_error(test::quadratic_pde("imex_bdf2", side, steps), Backend::cpu)
          .maximum;
    };
    EXPECT_NEAR(std::log2(error(64) / error(128)), 2, 0.1) << side;
  }
}

/// Where points have the same equations as explicit steps have, what differs falls with the step.
TEST(PdeImplicit, AgreesWithExplicitSteps) {
  for (std::string const sides : {"periodic", "{dirichlet: \"cos(3*x)*cos(pi*y)*exp(-t)\"}"}) {
    auto const make = [&](std::string_view scheme, int steps) {
      return implicit_nerve(scheme, sides, 1, 1.0 / steps);
    };
    auto const exact = run_pde(make("rk4", 400)).fields[0];
    EXPECT_NEAR(test::order_of(make, "imex_bdf2", exact, 50), 2, 0.15) << sides;
    EXPECT_NEAR(test::order_of(make, "imex_euler", exact, 100), 1, 0.1) << sides;
    EXPECT_NEAR(test::order_of(make, "ark3", exact, 50), 3, 0.2) << sides;
  }
  auto const box = [&](std::string_view scheme, int steps) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [6, 7, 5]}}\n"
        "boundary: {{x: {{robin: [2, \"1 + t\"]}}, y: periodic, z: {{neumann: \"x*t\"}}}}\n"
        "equations: {{u: \"0.05*laplace(u) - u^2 - 2*u\"}}\ninitial: {{u: \"sin(2*pi*y)\"}}\n"
        "time: {{scheme: {}, end: 1, step: {}}}\n",
        scheme, 1.0 / steps);
  };
  auto const exact = run_pde(box("rk4", 200)).fields[0];
  EXPECT_NEAR(test::order_of(box, "imex_bdf2", exact, 50), 2, 0.15);
  EXPECT_NEAR(test::order_of(box, "ark3", exact, 25), 3, 0.2);
}

/// Modes take the same implicitly: the stages are the same but for how they are solved.
TEST(PdeImplicit, ArkIsThatOfModes) {
  auto const make = [](std::string_view solver) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [16, 9]}}\nboundary: {{x: periodic, y: {{neumann: 0}}}}\n"
        "equations: {{u: \"0.3*laplace(u) - u^3 + u*v\", v: \"u^2 - v^2\"}}\n"
        "initial: {{u: \"cos(2*pi*x) + x*y\", v: y}}\nimplicit: {{solver: {}}}\n"
        "time: {{scheme: ark3, end: 1, step: 0.05}}\n",
        solver);
  };
  auto const modes = run_pde(make("modes")), cycles = run_pde(make("multigrid"));
  for (std::size_t f = 0; f < 2; ++f)
    EXPECT_LT(largest_difference(modes.fields[f], cycles.fields[f]), 1e-10) << f;
}

/// What flows through sides is given in time, or follows from u.
TEST(PdeImplicit, TakesFluxesThroughSides) {
  auto const make = [](std::string_view scheme, int steps) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [11, 8]}}\n"
        "boundary: {{x: {{lower: {{flux: \"0.1*sin(3*t)\"}}, upper: {{flux: \"u^2/9\"}}}}, "
        "y: {{lower: {{dirichlet: 1}}, upper: {{flux: \"-x/9\"}}}}}}\n"
        "equations: {{u: \"-div(-(0.02 + 0.03*x*y)*grad(u)) - u\"}}\ninitial: {{u: 1}}\n"
        "time: {{scheme: {}, end: 1, step: {}}}\n",
        scheme, 1.0 / steps);
  };
  auto const exact = run_pde(make("rk4", 400)).fields[0];
  EXPECT_NEAR(test::order_of(make, "imex_bdf2", exact, 50), 2, 0.15);
  EXPECT_NEAR(test::order_of(make, "imex_euler", exact, 100), 1, 0.1);
  EXPECT_NEAR(test::order_of(make, "ark3", exact, 50), 3, 0.2);
}

TEST(PdeImplicit, TakesTheStepsOfHeat) {
  std::string const grid =
      "grid: {points: [17, 12]}\nboundary: {x: {lower: {dirichlet: \"sin(5*t)\"}, upper: {neumann: "
      "y}}, y: periodic}\ninitial: {u: \"x*sin(2*pi*y)\"}\noutput: {every: {count: 1}}\n";
  auto const heat =
      run_pde("simulation: heat\n" + grid +
              "parameters: {diffusivity: \"1 + x*sin(2*pi*y)/2\", solver: multigrid}\n"
              "time: {scheme: backward_euler, end: 0.5, step: 0.05}\n");
  auto const pde = run_pde("simulation: pde\n" + grid +
                           "equations: {u: \"div((1 + x*sin(2*pi*y)/2)*grad(u))\"}\n"
                           "time: {scheme: imex_euler, end: 0.5, step: 0.05}\n");
  EXPECT_LT(largest_difference(heat.fields[0], pde.fields[0]), 1e-10);
}

/// A thousand times as long as steps of rk4 may be. Diffusion alone keeps values between those there
/// are (imex_euler), or near them.
TEST(PdeImplicit, LongStepsAreStable) {
  for (auto const* scheme : {"imex_euler", "imex_bdf2", "ark3"}) {
    auto const found = run_pde(
        fmt::format("simulation: pde\ngrid: {{points: [33, 30]}}\n"
                    "boundary: {{x: {{neumann: 0}}, y: {{robin: [1, 0]}}}}\n"
                    "equations: {{u: \"div(if(x + y < 1, 1, 1e-3)*grad(u)) + u*(1 - u)\"}}\n"
                    "initial: {{u: \"mod(31*x + 29*y + 17*x*y, 1)\"}}\n"
                    "time: {{scheme: {}, end: 6, step: 0.3}}\n",
                    scheme));
    auto const [least, greatest] = std::ranges::minmax(found.fields[0]);
    EXPECT_GT(least, -1e-6) << scheme;
    EXPECT_LT(greatest, 1) << scheme;
    EXPECT_GT(greatest, 0.01) << scheme;
  }
}

TEST(PdeImplicit, Float32IsNearFloat64) {
  for (auto const* scheme : {"imex_euler", "imex_bdf2", "ark3"}) {
    auto const text = implicit_nerve(scheme, "{robin: [1, \"t\"]}", 1, 0.02);
    auto const exact = run_pde(text), rounded = run_pde("precision: float32\n" + text);
    for (std::size_t f = 0; f < 2; ++f)
      EXPECT_LT(largest_difference(exact.fields[f], rounded.fields[f]), 1e-5) << scheme;
  }
}

/// What nothing changes stays what it is to the bit, and does so where float32 has no 1/step.
TEST(PdeImplicit, KeepsWhatDoesNotChange) {
  for (auto const* scheme : {"imex_euler", "imex_bdf2", "ark3"}) {
    auto const found =
        run_pde(fmt::format("precision: float32\nsimulation: pde\ngrid: {{points: [12, 9]}}\n"
                            "boundary: {{x: {{neumann: 0}}, y: periodic}}\n"
                            "equations: {{u: \"div((1 + x)*grad(u))\", k: 0}}\n"
                            "initial: {{u: 0.7, k: \"1/3 + x*y\"}}\n"
                            "time: {{scheme: {}, end: 2.1, step: 0.003}}\n",
                            scheme));
    double largest = 0;
    for (double const u : found.fields[0]) largest = std::max(largest, std::abs(u - 0.7));
    EXPECT_LT(largest, 2e-6) << scheme;  // 700 steps
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(found.fields[1][static_cast<std::size_t>(i)], double{1.0F / 3.0F}) << scheme;
  }
}

std::string refusal(std::string const& rest, std::string const& scheme = "imex_euler",
                    std::string const& step = "0.1",
                    std::string const& sides = "{dirichlet: \"t\"}") {
  auto const config = test::config_of(
      fmt::format("simulation: pde\ngrid: {{points: [17, 9]}}\nboundary: {{x: {}, y: periodic}}\n"
                  "initial: {{u: 0, v: 0}}\ntime: {{scheme: {}, end: 1, step: {}}}\n{}\n",
                  sides, scheme, step, rest));
  for (Problem const& problem : entry_of(config).problems(config, {}))
    return problem.path + ": " + problem.message;
  try {
    (void)entry_of(config).make(config, Stream(Device::open(Backend::cpu)), {})->first_step();
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return "";
}

/// Where cycles find nothing but roundings, u may go to and fro by its last bit.
TEST(PdeImplicit, EndsWhereRoundingsAreLeft) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 5, upper: 547.7225575051661}\nboundary: {x: {neumann: 0}}\n"
      "equations: {u: \"div((1 + 0*x)*grad(u))\"}\ninitial: {u: 0.1}\n"
      "time: {scheme: imex_bdf2, end: 10.8, step: 0.111}\nimplicit: {solver: multigrid}\n"
      "output: {every: {time: 0.15}}\n");
  for (auto const u : found.fields[0]) EXPECT_NEAR(u, 0.1, 1e-13);
}

TEST(PdeImplicit, RefusesWhatItCannotDo) {
  auto const begins = [](std::string const& text, std::string const& with) {
    EXPECT_EQ(text.substr(0, with.size()), with) << text;
  };
  std::string const equations = "equations: {u: laplace(u), v: u}\n";
  std::string const by_multigrid = "implicit: {solver: multigrid}\n";
  EXPECT_EQ(refusal(equations), "");
  begins(refusal(equations + "implicit: {solver: modes}"), "boundary.x: runs in modes take sides");
  begins(refusal("equations: {u: (2 + x)*laplace(u) - u^3, v: u}", "imex_bdf2"),
         "equations.u: implicit steps by multigrid: '(2 + x)*laplace(u)' differentiates u twice");
  begins(refusal(equations + by_multigrid, "rk4", "1e-5"),
         "implicit.solver: is for implicit steps (the scheme is rk4)");
  begins(refusal(equations + by_multigrid, "etdrk4"),
         "implicit.solver: multigrid is for imex_euler, imex_bdf2 and ark3");
  begins(refusal(equations + by_multigrid + "space: {derivatives: spectral}"),
         "implicit.solver: 'derivatives: spectral' makes the run go by modes");
  begins(refusal(equations + "implicit: {tolerance: 1e-8}", "rk4", "1e-5"),
         "implicit.tolerance: is of multigrid");
  begins(refusal(equations + "kernels: {multigrid: reference}", "rk4", "1e-5"),
         "kernels.multigrid: is for implicit steps");
  begins(refusal(equations, "imex_bdf2", "auto"), "time.step: 'auto' is not known with imex_bdf2");
  begins(refusal(equations, "imex_bdf2", "adaptive"), "time.step: steps of imex_bdf2 are of one");
  EXPECT_EQ(refusal(equations, "imex_bdf2", "6.5e9"), "");
  EXPECT_EQ(
      refusal(equations, "imex_bdf2", "6.6e9"),
      "time.step: 6600000000 s is 4.45e+12 times what euler could take for the diffusion of u "
      "(float64 has digits for 4.4e+12 times)");
  EXPECT_EQ(refusal(equations, "ark3", "adaptive"), "");
  begins(refusal(equations, "ark3", "auto"), "time.step: 'auto' is not known with ark3");
  begins(refusal(equations + "implicit: {tolerance: 1e-3}", "ark3", "adaptive, tolerance: 1e-4"),
         "implicit.tolerance: 0.001 is more than a tenth of what a step may be off by, 0.0001");
  begins(refusal("equations: {u: laplace(u), v: u}\nimplicit: {solver: modes}", "ark3", "adaptive",
                 "periodic"),
         "time.step: ark3 makes the run go by modes, where steps are of one length");
  begins(refusal("equations: {u: \"div((t - 0.2)*grad(u))\", v: u}\n"),
         "equations.u: is -0.2 at x = 0, y = 0 (D of div(D*grad(u)) has to be positive");
  begins(refusal(equations + "space: {order: 4}"), "space.order: implicit steps by multigrid");
  begins(refusal(equations + "stop: {steady: 1e-3}"), "stop.steady: rates of change");
  begins(refusal("equations: {u: \"div(u*grad(u))\", v: u}\n" + by_multigrid),
         "equations.u: implicit steps by multigrid: 'div([u*d_dx(u), u*d_dy(u)])' differentiates");
  begins(refusal("equations: {u: v, v: u}\n" + by_multigrid),
         "implicit.solver: multigrid takes the diffusion of a field by itself");
  begins(refusal("equations: {u: \"div((x - 0.2)*grad(u))\", v: u}\n"),
         "equations.u: is -0.2 at x = 0, y = 0 (D of div(D*grad(u)) has to be positive");
  begins(refusal(equations, "imex_euler", "0.1", "outflow"),
         "boundary.x: implicit steps by multigrid take sides");
  begins(refusal(equations, "imex_euler", "0.1", "{robin: [t, 1]}"),
         "boundary.x: implicit steps by multigrid take sides");
  begins(refusal(equations, "imex_euler", "0.1", "{robin: [-1, 1]}"), "boundary.x");
  begins(refusal(equations, "imex_euler", "0.1", "{neumann: v}"),
         "boundary.x: implicit steps by multigrid take sides");
  // What flows through the sides of x is that of one of both terms.
  begins(refusal("equations: {u: \"laplace(u) + div(x*grad(u))\", v: \"-div([v, 0])\"}\n" +
                     by_multigrid,
                 "imex_euler", "0.1", "{flux: 0}"),
         "equations.u: implicit steps by multigrid: 'laplace(u) + div");
  begins(refusal("equations: {u: \"laplace(u) - 40*v\", v: \"40*u - 100*v\"}\n"),
         "time.step: the step of 0.1 s is over the stability limit of 0.02 s (imex_euler, for what "
         "is explicit");
  begins(refusal("equations: {u: \"laplace(u) + div([1, 0]*u)\", v: u}\n"),
         "time.scheme: imex_euler is not stable for what is explicit");
}

/// D is positive at the beginning alone.
TEST(PdeImplicit, EndsWhereDiffusionTurnsRound) {
  for (auto const* scheme : {"imex_euler", "ark3"}) try {
      run_pde(
          fmt::format("simulation: pde\ngrid: {{points: [9, 8]}}\nboundary: {{x: {{dirichlet: "
                      "1}}, y: periodic}}\nequations: {{u: \"div((1 - x*t)*grad(u))\"}}\n"
                      "initial: {{u: 0}}\ntime: {{scheme: {}, end: 2, step: 0.1}}\n",
                      scheme));
      ADD_FAILURE() << scheme;
    } catch (NumericalError const& error) {
      std::string const begin = "at t = ", told = error.what();
      EXPECT_EQ(told.substr(0, begin.size()), begin);
      EXPECT_NEAR(std::stod(told.substr(begin.size())), 1.05, 0.06) << told;
      EXPECT_NE(told.find("D of div(D*grad(u)) of u is "), std::string::npos) << told;
    }
}

/// 2/3 of forward Euler's limit, and what a field does by itself where another one may be damped.
TEST(PdeImplicit, LimitsAreThoseOfWhatIsExplicit) {
  auto const limit = [](std::string const& equations, std::string const& scheme) {
    auto const text = refusal(equations, scheme, "1");
    auto const at = text.find("limit of ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + 9));
  };
  std::string const decays = "equations: {u: laplace(u), v: -10*v}\n";
  EXPECT_NEAR(limit(decays, "imex_euler"), 0.2, 1e-4);
  EXPECT_NEAR(limit(decays, "imex_bdf2"), 0.4 / 3, 1e-4);
  EXPECT_NEAR(limit(decays, "ark3"), 1.2 * 0.25127, 1e-3);
  // Waves that nothing damps: i·k with k up to 1/h, here 16.
  EXPECT_NEAR(limit("equations: {u: laplace(u), v: \"-d_dx(v)\"}\n", "ark3"),
              1.2 * std::sqrt(3) / 16, 1e-3);
  // Steps of nearly that length do not make it grow.
  for (auto const& [scheme, step] :
       {std::pair("imex_euler", 0.198), std::pair("imex_bdf2", 0.132), std::pair("ark3", 0.298)}) {
    auto const found =
        run_pde(fmt::format("simulation: pde\ngrid: {{points: [5, 4]}}\nboundary: {{x: "
                            "{{dirichlet: 1}}, y: periodic}}\n"
                            "equations: {{u: laplace(u), v: -10*v}}\ninitial: {{u: 0, v: 1}}\n"
                            "time: {{scheme: {}, end: {}, step: {}}}\n",
                            scheme, 300 * step, step));
    EXPECT_LT(std::abs(found.fields[1][2]), 1) << scheme;  // between the sides
  }
  std::string const exchange =
      "equations: {u: \"10*u*(1 - u) + 10*v\", v: \"laplace(v) - 10*v\"}\n";
  EXPECT_EQ(limit(exchange, "imex_euler"), 0);
  EXPECT_NEAR(
      limit("equations: {u: \"laplace(u) + 10*u + 10*v\", v: \"-10*u - 10*v\"}\n", "imex_euler"),
      0.2, 1e-4);
}

}  // namespace
}  // namespace gridstride

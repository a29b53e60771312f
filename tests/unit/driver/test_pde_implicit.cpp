#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "equations/diffusion_split.hpp"
#include "equations/language.hpp"
#include "equations/text.hpp"
#include "support/pde_implicit_cases.hpp"
#include "support/pde_modes_cases.hpp"

// Systems whose steps take the diffusion of fields implicitly by multigrid.
namespace gridstride {
namespace {

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
}

TEST(PdeImplicit, TellsWhatItCannotSplit) {
  EXPECT_EQ(split_of("v + div(u*grad(u)) - u"), "'div([u*d_dx(u), u*d_dy(u)])'");
  EXPECT_EQ(split_of("v + D*laplace(u)"), "'(1 + x*y)*laplace(u)'");
  EXPECT_EQ(split_of("div(t*grad(u))"), "'div([t*d_dx(u), t*d_dy(u)])'");
  EXPECT_EQ(split_of("div(mean(v)*grad(u))"), "'div([mean(v)*d_dx(u), mean(v)*d_dy(u)])'");
  EXPECT_EQ(split_of("x*div(D*grad(u))"), "'x*div([(1 + x*y)*d_dx(u), (1 + x*y)*d_dy(u)])'");
  EXPECT_EQ(split_of("d2_dx2(u) + 2*d2_dy2(u)"), "'d2_dx2(u) + 2*d2_dy2(u)'");
  EXPECT_EQ(split_of("d2_dx2(u)"), "'d2_dx2(u)'");
  EXPECT_EQ(split_of("laplace(u) + d2_dxdy(u)"), "'d2_dxdy(u)'");
}

/// Side values, what drives u and what decays change in time.
TEST(PdeImplicit, SchemesHaveTheirOrders) {
  for (bool const other : {false, true})
    for (auto const& [scheme, order, steps] :
         {std::tuple("imex_euler", 1, 128), std::tuple("imex_bdf2", 2, 64)}) {
      auto const error = [&, name = scheme](int count) {
        return test::solution_error(implicit_products(name, other, count), Backend::cpu).maximum;
      };
      double const coarse = error(steps), fine = error(2 * steps);
      EXPECT_NEAR(std::log2(coarse / fine), order, 0.1) << scheme << ' ' << other << ' ' << fine;
    }
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
  for (auto const* scheme : {"imex_euler", "imex_bdf2"}) {
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
  for (auto const* scheme : {"imex_euler", "imex_bdf2"}) {
    auto const text = implicit_nerve(scheme, "{robin: [1, \"t\"]}", 1, 0.02);
    auto const exact = run_pde(text), rounded = run_pde("precision: float32\n" + text);
    for (std::size_t f = 0; f < 2; ++f)
      EXPECT_LT(largest_difference(exact.fields[f], rounded.fields[f]), 1e-5) << scheme;
  }
}

/// What nothing changes stays what it is to the bit, and does so where float32 has no 1/step.
TEST(PdeImplicit, KeepsWhatDoesNotChange) {
  for (auto const* scheme : {"imex_euler", "imex_bdf2"}) {
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

TEST(PdeImplicit, RefusesWhatItCannotDo) {
  auto const begins = [](std::string const& text, std::string const& with) {
    EXPECT_EQ(text.substr(0, with.size()), with) << text;
  };
  std::string const equations = "equations: {u: laplace(u), v: u}\n";
  std::string const by_multigrid = "implicit: {solver: multigrid}\n";
  EXPECT_EQ(refusal(equations), "");
  begins(refusal(equations + "implicit: {solver: modes}"), "boundary.x: runs in modes take sides");
  begins(refusal(equations + by_multigrid, "rk4", "1e-5"),
         "implicit.solver: is for implicit steps (the scheme is rk4)");
  begins(refusal(equations + by_multigrid, "etdrk4"),
         "implicit.solver: multigrid is for imex_euler and imex_bdf2");
  begins(refusal(equations + by_multigrid + "space: {derivatives: spectral}"),
         "implicit.solver: 'derivatives: spectral' makes the run go by modes");
  begins(refusal(equations + "implicit: {tolerance: 1e-8}", "rk4", "1e-5"),
         "implicit.tolerance: is of multigrid");
  begins(refusal(equations + "kernels: {multigrid: reference}", "rk4", "1e-5"),
         "kernels.multigrid: is for implicit steps");
  begins(refusal(equations, "imex_bdf2", "auto"), "time.step: 'auto' is not known with imex_bdf2");
  begins(refusal(equations, "imex_bdf2", "adaptive"), "time.step: steps of imex_bdf2 are of one");
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
  // Steps of nearly that length do not make it grow.
  for (auto const& [scheme, step] :
       {std::pair("imex_euler", 0.198), std::pair("imex_bdf2", 0.132)}) {
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

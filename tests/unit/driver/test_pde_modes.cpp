#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "support/pde_modes_cases.hpp"

// Systems in the modes of their grid, beside solutions that are known.
namespace gridstride {
namespace {

using test::largest_difference;
using test::run_pde;

constexpr double pi = std::numbers::pi;
/// Of values about 1 after a few hundred transforms and steps.
constexpr double rounding = 1e-12;

/// One field in one dimension.
std::string line_pde(std::string const& rate, std::string const& side, std::string const& space,
                     std::string const& initial, std::string const& scheme, double end, int steps,
                     double upper = 1, int points = 33) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: {}, upper: {}}}\nboundary: {{x: {}}}\nspace: {}\n"
      "equations: {{u: \"{}\"}}\ninitial: {{u: \"{}\"}}\n"
      "time: {{scheme: {}, end: {}, step: {}}}\n",
      points, upper, side, space, rate, initial, scheme, end, end / steps);
}

/// cos(x)cos(y) carries itself nowhere: it decays as exp(−2νt), which etdrk4 takes exactly. What the
/// other schemes make of it in n steps of z = −2νt/n is their own function of z.
TEST(PdeModes, TaylorGreenVorticesDecayAsTheyShould) {
  constexpr double viscosity = 0.05, end = 2;
  constexpr int points = 16, steps = 20;
  double const z = -2 * viscosity * end / steps;
  auto const decay = [&](std::string const& scheme) {
    auto const found =
        run_pde(test::vorticity_pde(points, viscosity, "2*cos(x)*cos(y)", scheme, end, steps));
    EXPECT_LT(std::abs(found.fields[1][0] - found.fields[0][0] / 2), rounding);  // psi
    return found.fields[0][0] / 2;
  };
  EXPECT_NEAR(decay("etdrk4"), std::exp(z * steps), rounding);
  EXPECT_NEAR(decay("rk4"), std::pow(1 + z + z * z / 2 + z * z * z / 6 + z * z * z * z / 24, steps),
              rounding);
  EXPECT_NEAR(decay("euler"), std::pow(1 + z, steps), rounding);
  EXPECT_NEAR(decay("imex_euler"), std::pow(1 - z, -steps), rounding);
  EXPECT_NEAR(decay("ark3"), std::exp(z * steps), 1e-6);  // (2ν·dt)⁴·t
  EXPECT_NEAR(decay("imex_bdf2"), std::exp(z * steps), 1e-4);
}

TEST(PdeModes, SchemesHaveTheirOrders) {
  constexpr double end = 10;
  auto const make = [](std::string_view scheme, int steps) {
    return test::kuramoto_sivashinsky_pde(scheme, end, steps);
  };
  auto const exact = run_pde(make("etdrk4", 2560)).fields[0];
  EXPECT_NEAR(test::order_of(make, "etdrk4", exact, 320), 4, 0.3);
  EXPECT_NEAR(test::order_of(make, "ark3", exact, 640), 3, 0.3);
  EXPECT_NEAR(test::order_of(make, "imex_bdf2", exact, 160), 2, 0.2);
  EXPECT_NEAR(test::order_of(make, "imex_euler", exact, 320), 1, 0.2);
}

/// ½ sech²((x − t)/2), whose tails at the ends of the line are e⁻³⁰.
TEST(PdeModes, SolitonOfKortewegAndDeVries) {
  auto const error = [](int steps) {
    auto const found =
        run_pde(line_pde("-6*u*d_dx(u) - d_dx(d2_dx2(u))", "periodic", "{derivatives: spectral}",
                         "0.5/cosh((x - 30)/2)^2", "etdrk4", 4, steps, 60, 256));
    double largest = 0;
    for (std::size_t i = 0; i < found.fields[0].size(); ++i) {
      double const x = 60.0 / 256 * static_cast<double>(i) - 34;
      largest =
          std::max(largest, std::abs(found.fields[0][i] - 0.5 / std::pow(std::cosh(x / 2), 2)));
    }
    return largest;
  };
  double const coarse = error(40), fine = error(80);
  EXPECT_LT(fine, 1e-5);
  EXPECT_NEAR(std::log2(coarse / fine), 4, 0.5);
}

/// sin(πx), cos(2πx) and sin(5πx/2) between their sides decay as exp(−Dk²t).
TEST(PdeModes, SinesAndCosinesDecayBetweenTheirSides) {
  struct Side {
    char const *sides, *mode;
    double wave;
  };
  for (auto const& [sides, mode, wave] :
       {Side{"{dirichlet: 0}", "sin(pi*x)", pi}, Side{"{neumann: 0}", "cos(2*pi*x)", 2 * pi},
        Side{"{lower: {dirichlet: 0}, upper: {neumann: 0}}", "sin(2.5*pi*x)", 2.5 * pi},
        Side{"{lower: {neumann: 0}, upper: {dirichlet: 0}}", "cos(1.5*pi*x)", 1.5 * pi}}) {
    auto const found = run_pde(
        line_pde("0.1*laplace(u)", sides, "{derivatives: spectral}", mode, "etdrk4", 0.5, 5));
    auto const first = run_pde(
        line_pde("0.1*laplace(u)", sides, "{derivatives: spectral}", mode, "etdrk4", 1e-9, 1));
    double const decay = std::exp(-0.1 * wave * wave * 0.5);
    for (std::size_t i = 0; i < found.fields[0].size(); ++i)
      EXPECT_NEAR(found.fields[0][i], decay * first.fields[0][i], 1e-8 * decay) << sides;
  }
}

/// Two fields that only together have waves: a + ib turns as exp(−ik²t/2).
TEST(PdeModes, CoupledFieldsHaveMatrices) {
  auto const yaml = [](std::string const& scheme, int steps) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 32, upper: 2*pi}}\nboundary: {{x: periodic}}\n"
        "space: {{derivatives: spectral}}\n"
        "equations: {{a: \"-laplace(b)/2\", b: \"laplace(a)/2\"}}\n"
        "initial: {{a: \"cos(3*x)\", b: 0}}\ntime: {{scheme: {}, end: 1, step: {}}}\n",
        scheme, 1.0 / steps);
  };
  auto const exact = run_pde(yaml("etdrk4", 4));
  EXPECT_NEAR(exact.fields[0][0], std::cos(4.5), rounding);
  EXPECT_NEAR(exact.fields[1][0], -std::sin(4.5), rounding);
  auto const bdf = [&](int steps) {
    return std::abs(run_pde(yaml("imex_bdf2", steps)).fields[0][0] - std::cos(4.5));
  };
  EXPECT_NEAR(std::log2(bdf(200) / bdf(400)), 2, 0.2);
}

/// The Brusselator with a = 2, b = 3 and D = 8: of modes about u = 2, v = 3/2 the fastest grows by
/// +0.0577260. The other one of that k decays by 4 and more, and what is of second order in the
/// mode is 1e-6 of it.
TEST(PdeModes, BrusselatorGrowsAsItShould) {
  auto const growth_of = [](double k) {
    double const a = 2 - k * k, d = -4 - 8 * k * k;
    return (a + d) / 2 + std::sqrt((a - d) * (a - d) / 4 - 12);
  };
  double wave = 0.5;
  for (double k = 0.5; k < 1; k += 1e-4)
    if (growth_of(k) > growth_of(wave)) wave = k;
  auto const amplitude = [&](double end, int steps) {
    return run_pde(fmt::format(
                       "simulation: pde\ngrid: {{points: 16, upper: {}}}\n"
                       "boundary: {{x: periodic}}\nspace: {{derivatives: spectral, dealias: 1/2}}\n"
                       "equations: {{u: \"2 - 4*u + u^2*v + laplace(u)\", "
                       "v: \"3*u - u^2*v + 8*laplace(v)\"}}\n"
                       "initial: {{u: \"2 + 1e-7*cos({}*x)\", v: 1.5}}\n"
                       "time: {{scheme: etdrk4, end: {}, step: {}}}\n",
                       2 * pi / wave, wave, end, end / steps))
               .fields[0][0] -
           2;
  };
  double const growth = std::log(amplitude(20, 1000) / amplitude(10, 500)) / 10;
  EXPECT_NEAR(growth_of(wave), 0.0577260, 1e-7);
  EXPECT_NEAR(growth, growth_of(wave), 1e-5);
}

/// A shear layer that rolls up: it stays what it was under half a turn about the middle of a layer,
/// and loses enstrophy by twice the friction times the palinstrophy alone.
TEST(PdeModes, ShearLayerKeepsItsSymmetry) {
  constexpr std::size_t n = 48;
  auto const enstrophy = [&](double viscosity, double end, int steps) {
    auto const w =
        run_pde(test::vorticity_pde(static_cast<int>(n), viscosity,
                                    "6*(exp(6*(sin(y) - 1)) - exp(6*(-sin(y) - 1))) + 0.3*cos(x)",
                                    "ark3", end, steps))
            .fields[0];
    double sum = 0, largest = 0, odd = 0;
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t x = 0; x < n; ++x) {
        double const here = w[y * n + x], there = w[(n + n / 2 - y) % n * n + (n - x) % n];
        sum += here * here;
        largest = std::max(largest, std::abs(here));
        odd = std::max(odd, std::abs(here - there));
      }
    EXPECT_LT(odd, 1e-9 * largest);
    return sum;
  };
  double const first = enstrophy(0.01, 1e-6, 1), later = enstrophy(0.01, 2, 200);
  EXPECT_LT(later, first);
  EXPECT_NEAR(enstrophy(0, 2, 400), first, 1e-4 * first);  // without friction none is lost
}

/// By differences the equations are those of explicit schemes: what differs goes with the fourth
/// power of the step.
TEST(PdeModes, DifferencesAreThoseOfExplicitSchemes) {
  for (char const* rate : {"0.01*laplace(u) + u - u^3", "-0.0004*laplace(laplace(u)) - u*d_dx(u)",
                           "0.02*laplace(u) + 0.5*d_dx(u) + d_dx(u^2*d_dx(u))/20"})
    for (int const order : {2, 4, 6}) {
      auto const difference = [&](int steps) {
        std::string const space = fmt::format("{{order: {}}}", order);
        auto const make = [&](std::string const& scheme) {
          return run_pde(line_pde(rate, "periodic", space, "sin(2*pi*x) + 0.3*cos(4*pi*x)", scheme,
                                  0.2, steps, 1, 24))
              .fields[0];
        };
        return largest_difference(make("etdrk4"), make("rk4"));
      };
      double const coarse = difference(400), fine = difference(800);
      EXPECT_LT(fine, 2e-8) << rate;
      EXPECT_TRUE(fine < 1e-11 || coarse / fine > 10)
          << rate << order << " " << coarse << " " << fine;
    }
}

/// The same between sides, where only differences take what is neither a sine nor a cosine.
TEST(PdeModes, DifferencesBetweenSides) {
  for (char const* sides :
       {"{dirichlet: 0}", "{neumann: 0}", "{lower: {dirichlet: 0}, upper: {neumann: 0}}"}) {
    auto const make = [&](std::string const& scheme) {
      return run_pde(line_pde("0.05*laplace(u) + u*(1 - u) - 0.3*d_dx(u)", sides, "{order: 2}",
                              "sin(pi*x/2)^2*cos(pi*x/2)^2", scheme, 0.5, 1000, 1, 17))
          .fields[0];
    };
    EXPECT_LT(largest_difference(make("etdrk4"), make("rk4")), 1e-10) << sides;
    EXPECT_LT(largest_difference(make("ark3"), make("rk4")), 1e-8) << sides;
  }
}

/// The field that a constraint holds is even at a wall, as all scalars are.
TEST(PdeModes, WallsAreSidesOfHeldFields) {
  auto const with = [](std::string const& sides) {
    return run_pde("simulation: pde\ngrid: {points: [9, 8]}\nboundary: " + sides +
                   "\nequations:\n  u: 0.1*laplace(u) - advect([d_dy(psi), -d_dx(psi)], u)\n"
                   "  0: laplace(psi) - psi + u\ninitial: {u: cos(pi*x)*sin(2*pi*y)}\n"
                   "time: {scheme: ark3, end: 0.1, step: 0.01}\n");
  };
  auto const even = with("{x: {neumann: 0}, y: periodic}");
  EXPECT_EQ(with("{x: wall, y: periodic}").fields, even.fields);
  EXPECT_EQ(with("{psi: {x: wall, y: periodic}, u: {x: {neumann: 0}, y: periodic}}").fields,
            even.fields);
}

/// What is linear has no products whose frequencies could be taken for others, also beside a source,
/// which is made at the points: all waves of the first values stay, those of two points too.
TEST(PdeModes, SourcesCutNoFrequencies) {
  auto const largest_of = [](std::string const& source) {
    auto const u = run_pde(
                       "simulation: pde\ngrid: {points: 12, upper: 2*pi}\nboundary: {x: periodic}\n"
                       "space: {derivatives: spectral}\nequations: {u: \"" +
                       source + "\"}\ninitial: {u: cos(6*x)}\n" +
                       "time: {scheme: rk4, end: 0.01, step: 0.005}\n")
                       .fields[0];
    return *std::ranges::max_element(u);
  };
  double const decayed = std::exp(-0.36);
  EXPECT_NEAR(largest_of("laplace(u)"), decayed, 1e-5);
  EXPECT_NEAR(largest_of("laplace(u) + t"), decayed, 1e-4);
  EXPECT_NEAR(largest_of("laplace(u) + t*cos(x)"), decayed, 1e-4);
  EXPECT_NEAR(largest_of("laplace(u) + 0*u^2"), decayed, 1e-5);
  EXPECT_NEAR(largest_of("laplace(u) + u^2"), 0, 1e-5);
  EXPECT_NEAR(largest_of("laplace(u) + cos(x)*u"), 0, 1e-5);
}

/// Without friction Hasegawa and Mima's equation keeps ∫(|∇ψ|² + ψ²) = −∫ψq and ∫q², also of the
/// modes that are kept: what changes is an error in time.
TEST(PdeModes, DriftWavesKeepEnergyAndEnstrophy) {
  struct Kept {
    double energy = 0, enstrophy = 0;
  };
  auto const kept = [](double end, int steps) {
    auto const found = run_pde(
        fmt::format("simulation: pde\ngrid: {{points: [24, 20], upper: [2*pi, 2*pi]}}\n"
                    "boundary: {{x: periodic, y: periodic}}\nspace: {{derivatives: spectral}}\n"
                    "equations:\n  q: \"-advect([-d_dy(psi), d_dx(psi)], q) - 0.5*d_dy(psi)\"\n"
                    "  0: \"laplace(psi) - psi - q\"\n"
                    "initial: {{q: \"3*cos(x + 2*y) + 2*sin(2*x - y) + cos(3*x)\"}}\n"
                    "time: {{scheme: rk4, end: {}, step: {}}}\n",
                    end, end / steps));
    Kept sum;
    for (std::size_t i = 0; i < found.fields[0].size(); ++i) {
      sum.energy -= found.fields[0][i] * found.fields[1][i];
      sum.enstrophy += found.fields[0][i] * found.fields[0][i];
    }
    return sum;
  };
  auto const before = kept(1e-9, 1), coarse = kept(2, 20), fine = kept(2, 40);
  auto const change = [&](Kept const& after) {
    return std::pair(std::abs(after.energy / before.energy - 1),
                     std::abs(after.enstrophy / before.enstrophy - 1));
  };
  EXPECT_LT(change(coarse).first, 1e-5);
  EXPECT_LT(change(coarse).second, 1e-5);
  EXPECT_GT(change(coarse).first / change(fine).first, 16);
  EXPECT_GT(change(coarse).second / change(fine).second, 16);
}

/// The flow of a pressure stays free of sources, and is that of its vorticity.
TEST(PdeModes, PressureAndVorticitySayTheSame) {
  auto const vorticity = run_pde(test::vorticity_pde(
      24, 0.02, "2*cos(x)*cos(y) + 3*cos(3*x) - 2*cos(2*y)", "etdrk4", 0.5, 50));
  auto const velocity = run_pde(
      "simulation: pde\ngrid: {points: [24, 24], upper: [2*pi, 2*pi]}\n"
      "boundary: {x: periodic, y: periodic}\nspace: {derivatives: spectral}\n"
      "fields: {u: vector}\n"
      "equations:\n  u: \"0.02*laplace(u) - advect(u, u) - grad(p)\"\n"
      "  0: \"laplace(p) + div(advect(u, u))\"\n"
      "initial: {u: [\"-cos(x)*sin(y) + sin(2*y)\", \"sin(x)*cos(y) + sin(3*x)\"]}\n"
      "time: {scheme: etdrk4, end: 0.5, step: 0.01}\n");
  // psi of the one against what the other's components are by it, at one point by waves.
  double largest = 0, size = 0;
  auto const& psi = vorticity.fields[1];
  for (std::size_t y = 0; y < 24; ++y) {
    // u_x = d psi/dy by a sum over the waves of a column.
    for (std::size_t x = 0; x < 24; x += 5) {
      double slope = 0;
      for (int k = 1; k < 12; ++k)
        for (std::size_t j = 0; j < 24; ++j)
          slope -= 2.0 / 24 * k *
                   std::sin(2 * pi * k * (static_cast<double>(y) - static_cast<double>(j)) / 24) *
                   psi[j * 24 + x];
      double const u = velocity.fields[0][2 * (y * 24 + x)];
      largest = std::max(largest, std::abs(u - slope));
      size = std::max(size, std::abs(u));
    }
  }
  EXPECT_GT(size, 0.5);
  EXPECT_LT(largest, 1e-6 * size);
}

TEST(PdeModes, RefusesWhatItCannotTake) {
  auto const problems = [](std::string const& yaml) {
    auto const config = test::config_of(yaml);
    std::string all;
    auto const add = [&](std::vector<Problem> const& found) {
      for (Problem const& problem : found) all += problem.message + "\n";
    };
    add(entry_of(config).problems(config, {}));
    if (all.empty()) try {
        entry_of(config).make(config, Stream(Device::open(Backend::cpu)), {});
      } catch (ConfigError const& error) {
        add(error.problems());
      }
    return all;
  };
  auto const begins = [](std::string const& text, std::string const& with) {
    EXPECT_EQ(text.substr(0, with.size()), with);
  };
  auto const line = [](std::string const& rate, std::string const& side, std::string const& space,
                       std::string const& time) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 17}}\nboundary: {{x: {}}}\nspace: {}\n"
        "equations: {{u: \"{}\"}}\ninitial: {{u: 0}}\ntime: {}\n",
        side, space, rate, time);
  };
  std::string const steps = "{scheme: etdrk4, end: 1, step: 0.1}",
                    by_waves = "{derivatives: spectral}";
  begins(problems(line("laplace(u)", "{dirichlet: 1}", "{}", steps)),
         "runs in modes take sides that are periodic");
  begins(problems(line("laplace(u)", "periodic", "{}", "{scheme: etdrk4, end: 1}")),
         "'auto' is not known with etdrk4");
  begins(problems(line("laplace(u)", "periodic", by_waves, "{scheme: rk45, end: 1}")),
         "'derivatives: spectral' makes the run go by modes, where rk45");
  begins(
      problems(line("laplace(u)", "periodic", by_waves, "{scheme: rk4, end: 1, step: adaptive}")),
      "'derivatives: spectral' makes the run go by modes, where steps are of one length");
  begins(problems(line("laplace(u)", "periodic", by_waves, "{scheme: rk4, end: 1, step: 0.1}")),
         "0.1 s is over the stability limit of 0.00110");
  begins(problems(
             line("-d_dx(d2_dx2(u))", "periodic", by_waves, "{scheme: euler, end: 1, step: 0.1}")),
         "euler is not stable for what is linear");
  begins(problems(line("u + noise(1)", "periodic", by_waves, "{scheme: euler, end: 1, step: 0.1}")),
         "the run goes by modes ('derivatives: spectral'): noise stands in it");
  begins(problems(line("u - mean(u)", "periodic", "{}", steps)),
         "the run goes by modes (etdrk4): a value over the whole grid");
  begins(problems(line("u*(1 - u)", "{dirichlet: 0}", by_waves, steps)),
         "the run goes by modes (etdrk4): in u*(1 - u), at the lower side of x");
  begins(problems(line("-div(u^2*[1])", "periodic", "{convection: upwind}", steps)),
         "etdrk4 makes the run go by modes, which take nothing from upwind");
}

TEST(PdeModes, WhatConstraintsLeaveOpenHasNoMean) {
  auto const yaml = test::vorticity_pde(16, 0.1, "1 + cos(x)", "rk4", 1, 10);
  std::string message;
  try {
    test::step_of(yaml);
  } catch (ConfigError const& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("no field makes it hold: beside that field it has w, whose mean is 1"),
            std::string::npos)
      << message;
}

TEST(PdeModes, StepsThatGiveItAMeanEndTheRun) {
  auto const yaml = [](std::string_view rate, std::string_view constraint) {
    return fmt::format(
        "simulation: pde\n"
        "grid: {{points: [16, 16], upper: [2*pi, 2*pi]}}\n"
        "boundary: {{x: periodic, y: periodic}}\n"
        "space: {{derivatives: spectral}}\n"
        "equations: {{w: \"0.1*laplace(w) + {}\", 0: \"laplace(psi) + {}\"}}\n"
        "initial: {{w: cos(x)*cos(y)}}\n"
        "time: {{scheme: etdrk4, end: 1, step: 0.1}}\n",
        rate, constraint);
  };
  auto const failure = [&](std::string_view rate, std::string_view constraint) -> std::string {
    try {
      run_pde(yaml(rate, constraint));
    } catch (NumericalError const& error) {
      return error.what();
    }
    return "none";
  };
  for (auto const* rate : {"1", "w^2", "1e-6"})
    EXPECT_NE(failure(rate, "w").find("until t = 1 s: no field makes the constraint '0: laplace"),
              std::string::npos)
        << rate << ": " << failure(rate, "w");
  EXPECT_NE(failure("0", "w + sin(t)").find("whose mean is 0.84147"), std::string::npos)
      << failure("0", "w + sin(t)");
  for (auto const* rate : {"0", "sin(x)", "w*sin(x)", "d_dx(w^2)"})
    EXPECT_EQ(failure(rate, "w"), "none") << rate;
  EXPECT_EQ(failure("1", "w - psi"), "none");
}

}  // namespace
}  // namespace gridstride

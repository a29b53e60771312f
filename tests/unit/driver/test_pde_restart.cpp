#include <gtest/gtest.h>

#include <string>

#include "support/pde_restart_cases.hpp"

/// Runs that go on from a checkpoint, of steps that are not adaptive.
namespace gridstride {
namespace {

struct RestartCase {
  char const* name;
  char const* text;  ///< of a run of more than 60 steps
};

class PdeRestart : public testing::TestWithParam<RestartCase> {};

TEST_P(PdeRestart, HasTheBitsOfAWholeRun) {
  test::expect_bits_after_restarts(std::string("simulation: pde\n") + GetParam().text,
                                   Backend::cpu);
}

/// A limit that is found once is there for outputs that come more often than before.
TEST(PdeRestarts, StepsOfTheSecondPartGoByItsOutputs) {
  struct Case {
    std::string text;
    std::int64_t steps;  // until t = 1.1, of outputs 0.02 apart
  };
  std::string const first_order = "equations: {u: \"1e-3*laplace(u) + cos(t)\"}\ninitial: {u: 0}\n",
                    second_order =
                        "fields: {u: {order: 2}}\nequations: {u: \"1e-3*laplace(u)\"}\n"
                        "initial: {u: 0, u_t: 0}\n";
  for (auto const& [text, steps] : {Case{first_order + "time: {scheme: rk4, end: ", 50},
                                    Case{first_order + "time: {scheme: rk4, step: 0.05, end: ", 5},
                                    Case{second_order + "time: {scheme: leapfrog, end: ", 5}}) {
    auto const yaml = [&](char const* end, char const* every) {
      return "simulation: pde\ngrid: {points: 5}\nboundary: {x: {neumann: 0}}\n" + text + end +
             "}\noutput: {every: {time: " + every + "}}\n";
    };
    auto const before = test::config_of(yaml("1", "1")), same = test::config_of(yaml("2", "1")),
               finer = test::config_of(yaml("2", "0.02"));
    Stream stream(Device::open(Backend::cpu));
    auto const steps_of = [&](config::RunConfig const& config, CheckpointSource const& checkpoint) {
      auto const second = entry_of(config).make(config, stream, {});
      second->load(checkpoint);
      auto const done = second->clock().step;
      second->advance(1000, 1.1);
      return second->clock().step - done;
    };
    auto const first = entry_of(before).make(before, stream, {});
    while (!first->finished()) first->advance(1000, 1);
    test::MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    EXPECT_LE(steps_of(same, checkpoint), 2) << text;
    EXPECT_EQ(steps_of(finer, checkpoint), steps) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pde, PdeRestart,
    testing::Values(
        RestartCase{
            "noise",
            "grid: {points: [19, 13]}\nboundary: {x: periodic, y: {neumann: 0}}\n"
            "equations: {u: \"0.001*laplace(u + normal(3)) + u*noise(4) + mean(noise(9))\"}\n"
            "initial: {u: x}\ntime: {scheme: euler, step: 0.01, end: 0.8}\n"},
        RestartCase{
            "limits_that_change",
            "precision: float32\ngrid: {points: 40}\nboundary: {x: {neumann: \"-sin(5*t)\"}}\n"
            "equations: {u: \"div((0.02 + u^2)*grad(u)) + 3*u\"}\n"
            "initial: {u: \"1 + x\"}\ntime: {scheme: ssprk2, end: 0.2}\n"},
        RestartCase{"carried",
                    "grid: {points: [60, 4]}\nboundary: {x: wall, y: wall}\nfields: {q: vector}\n"
                    "space: {convection: weno5}\n"
                    "equations: {h: -div(q), q: \"-div(outer(q, q)/h + 4.9*h^2*identity)\"}\n"
                    "initial: {h: \"if(x < 0.5, 2, 1)\", q: [0, 0]}\n"
                    "time: {scheme: ssprk3, end: 0.25}\n"},
        RestartCase{"leapfrog",
                    "grid: {points: 40}\nboundary: {x: {dirichlet: \"0.3*sin(9*t)\"}}\n"
                    "fields: {u: {order: 2}}\nequations: {u: \"div((1 + u^2/9)*grad(u))\"}\n"
                    "initial: {u: 0, u_t: 0}\ntime: {scheme: leapfrog, end: 2}\n"},
        RestartCase{"two_steps_in_modes",
                    "precision: float32\ngrid: {points: [24, 18]}\n"
                    "boundary: {x: periodic, y: {dirichlet: 0}}\nspace: {derivatives: spectral}\n"
                    "equations: {w: \"0.01*laplace(w) - advect([d_dy(psi), -d_dx(psi)], w)\", "
                    "0: laplace(psi) + w}\n"
                    "initial: {w: \"9*sin(pi*y)*(1 + cos(2*pi*x)) + sin(2*pi*y)\"}\n"
                    "time: {scheme: imex_bdf2, end: 0.375, step: 0.005}\n"
                    "output: {every: {time: 0.111}}\n"},
        RestartCase{"two_steps_by_multigrid",
                    "grid: {points: [13, 10]}\n"
                    "boundary: {x: {dirichlet: \"sin(5*t)\"}, y: {robin: [1, t]}}\n"
                    "equations: {u: \"div((1 + x*y)*grad(u)) + u - u^3 - v\", v: \"(u - v)/9\"}\n"
                    "initial: {u: x, v: 0}\nevents: {at: [0.4], set: {u: \"u + 0.1*mean(u)\"}}\n"
                    "time: {scheme: imex_bdf2, end: 1, step: 0.013}\n"
                    "output: {every: {time: 0.37}}\n"},
        RestartCase{"stages_by_multigrid",
                    "grid: {points: [13, 10]}\n"
                    "boundary: {x: {dirichlet: \"sin(5*t)\"}, y: {robin: [1, t]}}\n"
                    "equations: {u: \"div((2 + x*sin(9*t))*grad(u)) + u - u^3 - v\", v: \"(u - "
                    "v)/9\"}\n"
                    "initial: {u: x, v: 0}\nevents: {at: [0.4], set: {u: \"u + 0.1*mean(u)\"}}\n"
                    "time: {scheme: ark3, end: 1, step: 0.013}\n"
                    "output: {every: {time: 0.37}}\n"},
        RestartCase{"adaptive_stages_by_multigrid",
                    "grid: {points: [13, 10]}\n"
                    "boundary: {x: {dirichlet: \"sin(5*t)\"}, y: {robin: [1, t]}}\n"
                    "equations: {u: \"div((1 + x*y)*grad(u)) + u - u^3 - v\", v: \"(u - v)/9\"}\n"
                    "initial: {u: x, v: 0}\nevents: {at: [0.4], set: {u: \"u + 0.1*mean(u)\"}}\n"
                    "time: {scheme: ark3, end: 1, step: adaptive, tolerance: 1e-4}\n"
                    "output: {every: {time: 0.37}}\n"},
        RestartCase{"exponentials_with_events",
                    "grid: {points: 40, upper: 20}\nboundary: {x: periodic}\n"
                    "equations: {u: \"-d_dx(u^2/2) - d2_dx2(u) - d2_dx2(d2_dx2(u)) + sin(t)\"}\n"
                    "initial: {u: \"cos(0.1*pi*x)\"}\n"
                    "events: {at: [0.4, 1], set: {u: \"u + 0.1*mean(u)\"}}\n"
                    "time: {scheme: etdrk4, end: 2, step: 0.03}\n"},
        RestartCase{"names_with_sides",
                    "grid: {points: 33, upper: 32}\n"
                    "boundary: {c: {x: {neumann: 0}}, mu: {x: {neumann: 0}}}\n"
                    "let: {mu: \"c^3 - c - laplace(c)\"}\nequations: {c: laplace(mu) - mean(c)}\n"
                    "initial: {c: \"0.3*cos(x/3)\"}\ntime: {scheme: rk4, end: 20}\n"}),
    [](auto const& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gridstride

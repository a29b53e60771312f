#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/memory_checkpoint.hpp"
#include "support/pde_cases.hpp"

/// Runs that go on from a checkpoint, of steps that are not adaptive.
namespace gridstride {
namespace {

struct RestartCase {
  char const* name;
  char const* text;  ///< of a run of more than 60 steps
};

class PdeRestart : public testing::TestWithParam<RestartCase> {};

/// Within the first steps, after which limits are found more often, between two looks at the limit
/// and at one: the bits and the steps are those of a run that never stopped.
TEST_P(PdeRestart, HasTheBitsOfAWholeRun) {
  std::string const text = std::string("simulation: pde\n") + GetParam().text;
  auto const config = test::config_of(text);
  auto const whole = test::run_pde(text);
  ASSERT_GT(whole.steps, 60);
  for (std::int64_t const stop : {3, 32, 45}) {
    Stream stream(Device::open(Backend::cpu));
    auto const first = entry_of(config).make(config, stream, {});
    while (first->clock().step < stop) first->advance(stop - first->clock().step, config.time.end);
    ASSERT_EQ(first->clock().step, stop);
    test::MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    auto const second = entry_of(config).make(config, stream, {});
    second->load(checkpoint);
    EXPECT_EQ(second->clock().time, first->clock().time);
    while (!second->finished()) second->advance(7, config.time.end);
    EXPECT_EQ(second->clock().step, whole.steps) << stop;
    auto const fields = second->fields();
    ASSERT_EQ(fields.size(), whole.fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
      auto const host = test::to_host(fields[f], stream);
      for (std::size_t i = 0; i < whole.fields[f].size(); ++i)
        ASSERT_EQ(test::value_at(host, static_cast<std::int64_t>(i)), whole.fields[f][i])
            << stop << ' ' << fields[f].name << ' ' << i;
    }
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
        RestartCase{"names_with_sides",
                    "grid: {points: 33, upper: 32}\n"
                    "boundary: {c: {x: {neumann: 0}}, mu: {x: {neumann: 0}}}\n"
                    "let: {mu: \"c^3 - c - laplace(c)\"}\nequations: {c: laplace(mu) - mean(c)}\n"
                    "initial: {c: \"0.3*cos(x/3)\"}\ntime: {scheme: rk4, end: 20}\n"}),
    [](auto const& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gridstride

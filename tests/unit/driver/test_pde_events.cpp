#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/pde_event_cases.hpp"

namespace gridstride {
namespace {

using test::run_events;

/// Nothing changes but by events.
std::string at_rest(std::string const& events, std::string const& initial = "{u: 1, v: x}",
                    std::string const& output = "output: {every: {count: 1}}\n") {
  return "simulation: pde\ngrid: {points: 5}\nboundary: {x: {neumann: 0}}\n"
         "equations: {u: 0*u, v: 0*v}\ninitial: " +
         initial + "\ntime: {end: 1, step: 0.3}\n" + output + "events: " + events + "\n";
}

TEST(PdeEvents, SetAllFieldsFromTheValuesBefore) {
  auto const result = run_events(at_rest("[{at: 0.5, set: {u: v, v: u + 1}}]"));
  EXPECT_EQ(result.fields[0], (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(result.fields[1], std::vector<double>(5, 2));
  EXPECT_EQ(result.clock.step, 4);  // 0.3, 0.2 to the event, 0.3, 0.2 to the end
  EXPECT_EQ(result.clock.time, 1);
  EXPECT_EQ(result.ending, "");
}

TEST(PdeEvents, HappenInTheirOrder) {
  // The one at the end as well; equal times in the order of the file, and one event is no list.
  EXPECT_EQ(run_events(at_rest("[{at: [1, 0.25, 0.5], set: {u: 2*u}}, {at: 0.5, set: {u: u + 1}}, "
                               "{at: 0.1, set: {u: u + t}}]"))
                .fields[0],
            std::vector<double>(5, 2 * (2 * (2 * (1 + 0.1)) + 1)));
  EXPECT_EQ(run_events(at_rest("{at: 0.5, set: {u: u + 1}}")).fields[0], std::vector<double>(5, 2));
}

TEST(PdeEvents, HappenOnceWhateverStepsAreCut) {
  // 3·0.1 is not 0.3, 6·0.1 not 0.6: an output a rounding before or after an event is at its time.
  std::string const yaml = at_rest("[{at: [0.3, 0.6], set: {u: 2*u}}]");
  for (double const every : {0.0, 0.1, 0.3, 0.07})
    for (std::int64_t const steps : {1, 2, 100})
      EXPECT_EQ(run_events(yaml, Backend::cpu, steps, every).fields[0], std::vector<double>(5, 4))
          << every << ' ' << steps;
}

/// After a jump steps are as careful as at the start: a dam that breaks by an event makes the steps
/// of one that breaks at once.
TEST(PdeEvents, JumpsShortenTheStepsAfterThem) {
  auto const dam = [](std::string const& initial, double end, std::string const& more) {
    return run_events(fmt::format(
        "simulation: pde\ngrid: {{points: 65}}\nboundary: {{x: wall}}\nfields: {{q: vector}}\n"
        "equations: {{h: -div(q), q: \"-div(outer(q, q)/h + 4*h^2*identity)\"}}\n"
        "space: {{convection: upwind}}\ninitial: {{h: \"{}\", q: [0]}}\n"
        "time: {{scheme: ssprk3, end: {}}}\n{}",
        initial, end, more));
  };
  std::string const broken = "if(x < 0.5, 16, 1)";
  auto const at_once = dam(broken, 0.0625, "");
  auto const later = dam("1", 0.3125, "events: {at: 0.25, set: {h: \"" + broken + "\"}}\n");
  auto const before = dam("1", 0.25, "");
  EXPECT_EQ(later.clock.step - before.clock.step, at_once.clock.step);
}

TEST(PdeEvents, AreOfSpaceTimeAndDifferences) {
  auto const result = run_events(
      "simulation: pde\ngrid: {points: [16, 8]}\nboundary: {x: periodic, y: periodic}\n"
      "fields: {q: vector}\nconstants: {a: 3}\nlet: {w: a*t}\n"
      "equations: {u: 0*u, q: 0*q}\ninitial: {u: \"sin(2*pi*x)\", q: {x: 1, y: 2}}\n"
      "time: {end: 1, step: 0.25}\nevents: [{at: 0.5, set: {q: \"[q.y, w] + grad(u)\"}}]\n");
  for (int i = 0; i < 16; ++i) {
    double const h = 1.0 / 16;
    auto const u = [&](int k) { return std::sin(2 * std::numbers::pi * k * h); };
    auto const at = static_cast<std::size_t>(2 * (i + 16 * 3));
    EXPECT_NEAR(result.fields[1][at], 2 + (u(i + 1) - u(i - 1)) / (2 * h), 1e-14);
    EXPECT_EQ(result.fields[1][at + 1], 1.5);
  }
}

TEST(PdeEvents, KnowGlobalValues) {
  auto const result =
      run_events(at_rest("[{at: 0.5, set: {u: max(v) + v - mean(v), v: integral(u)}}]"));
  EXPECT_EQ(result.fields[0], (std::vector<double>{0.5, 0.75, 1, 1.25, 1.5}));
  EXPECT_EQ(result.fields[1], std::vector<double>(5, 1));
}

/// A name with sides is that of the fields as the event before has left them.
TEST(PdeEvents, KnowNamesWithSides) {
  auto const result = run_events(
      "simulation: pde\ngrid: {points: 5}\n"
      "boundary: {u: {x: {neumann: 0}}, m: {x: {dirichlet: 7}}}\nlet: {m: 2*u}\n"
      "equations: {u: laplace(m) - 2*laplace(u)}\ninitial: {u: 1}\n"
      "time: {end: 0.001, step: 0.001}\n"
      "events: [{at: 0.001, set: {u: 2}}, {at: 0.001, set: {u: m}}]\n");
  EXPECT_EQ(result.fields[0], (std::vector<double>{7, 4, 4, 4, 7}));
}

TEST(PdeEvents, LeaveWhatSidesGive) {
  auto const result = run_events(
      "simulation: pde\ngrid: {points: 5}\n"
      "boundary: {x: {lower: {dirichlet: \"8*t\"}, upper: {neumann: 0}}}\n"
      "equations: {u: 0*u}\ninitial: {u: 0}\ntime: {end: 0.5, step: 0.25}\n"
      "events: {at: 0.5, set: {u: 1/x}}\n");  // not finite where the side counts
  EXPECT_EQ(result.fields[0], (std::vector<double>{4, 4, 2, 1 / 0.75, 1}));
}

/// Twice a state of a linear equation goes on as twice what it was.
TEST(PdeEvents, GoOnFromWhatTheySet) {
  auto const with = [](char const* set) {
    return run_events(std::string("simulation: pde\ngrid: {points: [20, 9]}\n"
                                  "boundary: {x: periodic, y: {neumann: 0}}\n"
                                  "equations: {u: laplace(u) + x*u}\n"
                                  "initial: {u: \"1 + sin(2*pi*x)*y\"}\ntime: {end: 0.02}\n"
                                  "events: [{at: 0.0123, set: {u: \"") +
                      set + "\"}}]\n");
  };
  auto const once = with("u"), twice = with("2*u");
  EXPECT_EQ(once.clock.step, twice.clock.step);
  for (std::size_t i = 0; i < once.fields[0].size(); ++i)
    ASSERT_EQ(twice.fields[0][i], 2 * once.fields[0][i]);
}

/// A diffusivity four times as large needs steps four times as small.
TEST(PdeEvents, HaveTheirOwnLimit) {
  auto const steps = [](char const* set) {
    return run_events(std::string("simulation: pde\ngrid: {points: 21}\nboundary: {x: {neumann: "
                                  "0}}\nequations: {u: div(u*grad(u))}\ninitial: {u: 1}\n"
                                  "time: {end: 1, scheme: euler}\nevents: [{at: 0.5, set: {u: ") +
                      set + "}}]\n")
        .clock.step;
  };
  auto const same = static_cast<double>(steps("u")), more = static_cast<double>(steps("4*u"));
  EXPECT_NEAR(more / same, 2.5, 0.01);
}

TEST(PdeEvents, RefuseWhatIsNotFinite) {
  try {
    run_events(at_rest("[{at: 0.1, set: {u: u}}, {at: 0.5, set: {v: v, u: 1/(x - 0.5)}}]"));
    FAIL() << "no error";
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "at t = 0.5 s: what events.1 gives is not finite at x = 0.5");
  }
}

TEST(PdeEvents, AreTheSameHoweverTheRunIsCut) {
  auto const whole = run_events(test::events_pde());
  for (std::int64_t const steps : {1, 7, 33}) {
    auto const cut = run_events(test::events_pde(), Backend::cpu, steps);
    EXPECT_EQ(cut.fields, whole.fields);
    EXPECT_EQ(cut.clock.step, whole.clock.step);
  }
}

/// A state saved at an event's time has it behind it, one saved before has it to come.
TEST(PdeEvents, ComeOnceAfterARestart) {
  auto const whole = run_events(test::events_pde(), Backend::cpu, 1 << 20, 0.1);
  auto const config = test::config_of(test::events_pde());
  for (double const moment : {0.1, 0.17, 0.2}) {
    Stream stream(Device::open(Backend::cpu));
    auto const first = entry_of(config).make(config, stream, {});
    auto const second = entry_of(config).make(config, stream, {});
    auto const go = [&](Simulation& simulation, double until) {
      for (double const end : {0.1, 0.2, 0.3})
        while (!simulation.finished() && simulation.clock().time < std::min(end, until))
          simulation.advance(moment == 0.17 ? 1 : 1000, end);
    };
    go(*first, moment);
    test::MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    second->load(checkpoint);
    EXPECT_EQ(second->clock().time, first->clock().time);
    go(*second, 1);
    auto const result = test::result_of(*second, stream);
    EXPECT_EQ(result.fields, whole.fields) << moment;
    EXPECT_EQ(result.clock.step, whole.clock.step) << moment;
  }
}

/// What can only be said of the whole file.
TEST(PdeEvents, AreRefusedBeforeTheRun) {
  auto const problem = [](std::string const& more, char const* points = "8") {
    auto const config = test::config_of(std::string("simulation: pde\ngrid: {points: ") + points +
                                        "}\nboundary: {x: {neumann: 0}}\nequations: {u: "
                                        "laplace(u)}\ninitial: {u: 1}\ntime: {end: 1}\n" +
                                        more);
    std::string all;
    for (Problem const& one : entry_of(config).problems(config, {}))
      all += fmt::format("{}:{}: {}: {}\n", one.line, one.column, one.path, one.message);
    return all;
  };
  EXPECT_EQ(problem("events: [{at: 1, set: {u: 1}}]\n"), "");
  EXPECT_EQ(problem("events: [{at: [0.5, 1.5], set: {u: 1}}]\n"),
            "7:15: events.0.at: 1.5 s is after the end of the run (1 s, see time.end)\n");
  EXPECT_EQ(problem("events: {at: 2, set: {u: 1}}\n"),
            "7:14: events.at: 2 s is after the end of the run (1 s, see time.end)\n");
  EXPECT_EQ(problem("events: [{at: 1, set: {u: laplace(laplace(laplace(u)))}}]\n", "3"),
            "2:16: grid.points: 3 points along x are too few (events.0 reaches 3 "
            "points to each side; 4 are the least)\n");
  EXPECT_EQ(problem("stop: {when: max(laplace(laplace(laplace(u)))) > min(laplace(u))}\n", "3"),
            "2:16: grid.points: 3 points along x are too few (stop.when reaches 3 "
            "points to each side; 4 are the least)\n");
  EXPECT_EQ(problem("events: {at: 1, set: {u: noise(3)}}\n"),
            "7:22: events.set: has noise in it, which only steps make\n");
}

/// What is written at an event's time comes after it, and a whole run has it, too.
TEST(PdeEvents, AreWritten) {
  test::RunDirectory const directory;
  io::ResultFile const result(
      directory.run("events", at_rest("[{at: 0.6, set: {u: 7}}]", "{u: 1, v: x}", "") +
                                  "output: {every: {time: 0.2}, formats: hdf5}\n"));
  ASSERT_EQ(result.times().size(), 6U);
  EXPECT_EQ(result.read("u", 2), std::vector<double>(5, 1));
  EXPECT_EQ(result.read("u", 3), std::vector<double>(5, 7));
}

}  // namespace
}  // namespace gridstride

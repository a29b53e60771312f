#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/advection_cases.hpp"
#include "support/memory_checkpoint.hpp"

namespace gridstride {
namespace {

std::unique_ptr<Simulation> make(config::RunConfig const& config, Stream& stream) {
  return entry_of(config).make(config, stream, {});
}

/// A flow around four cells, whose speed swings, with sharp edges in u. |u| is at most 2.
std::string cells(std::string const& scheme, std::string const& precision) {
  return fmt::format(
      "simulation: advection\nprecision: {}\n"
      "grid: {{points: [37, 34]}}\n"
      "boundary: {{x: periodic, y: periodic}}\n"
      "initial: {{u: \"if(x < 0.4, 1, -0.5) + if(y < 0.3, 1, 0)\"}}\n"
      "parameters:\n"
      "  velocity: {{x: \"sin(2*pi*y)*cos(3*t)\", y: \"cos(2*pi*x) + 0.3*sin(2*pi*y)\"}}\n"
      "time: {{scheme: {}, end: 1}}\n",
      precision, scheme);
}

TEST(AdvectionMass, IsKeptOnPeriodicGrids) {
  for (auto const* precision : {"float32", "float64"})
    for (auto const* scheme : {"upwind", "lax_wendroff", "weno5"}) {
      auto const config = test::config_of(cells(scheme, precision));
      Stream stream(Device::open(Backend::cpu));
      auto const simulation = make(config, stream);
      double const before = test::measured(*simulation, "mass", stream);
      simulation->advance(std::int64_t{1} << 40, 1);
      EXPECT_TRUE(simulation->finished());
      auto const steps = static_cast<double>(simulation->clock().step);
      EXPECT_GT(steps, 10);
      double const unit = config.precision == Precision::float32
                              ? std::numeric_limits<float>::epsilon()
                              : std::numeric_limits<double>::epsilon();
      // A few roundings of every value in each of at most three stages, values up to about 4.
      EXPECT_LE(std::abs(test::measured(*simulation, "mass", stream) - before),
                3 * 8 * 4 * unit * steps)
          << scheme << ' ' << precision;
    }
}

TEST(AdvectionRestart, GivesTheSameBits) {
  for (auto const* scheme : {"upwind", "lax_wendroff", "weno5"}) {
    auto const config =
        test::config_of("precision: float32\n" + test::swinging_wave(scheme, "o", 50, 0.7).yaml());
    Stream stream(Device::open(Backend::cpu));
    auto const whole = make(config, stream);
    whole->advance(std::int64_t{1} << 40, 0.7);
    auto const expected = test::to_host(whole->fields()[0], stream).memory;
    for (std::int64_t const steps : {1, 2, 33}) {
      test::MemoryCheckpoint checkpoint;
      auto const first = make(config, stream);
      first->advance(steps, 0.7);
      first->save(checkpoint);
      auto const second = make(config, stream);
      second->load(checkpoint);
      EXPECT_EQ(second->clock().step, steps);
      second->advance(3, 0.7);
      second->advance(std::int64_t{1} << 40, 0.7);
      EXPECT_EQ(second->clock().step, whole->clock().step);
      EXPECT_EQ(test::to_host(second->fields()[0], stream).memory, expected)
          << scheme << " from step " << steps;
    }
  }
}

/// What the run is refused for.
std::string refusal(std::string const& yaml) {
  try {
    auto const config = test::config_of(yaml);
    entry_of(config).time_step(config, {}, Device::open(Backend::cpu));
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return "";
}

TEST(AdvectionStep, IsRefusedBeyondTheLimit) {
  auto run = test::carried_waves("upwind", "pp", 10, {1, -3, 0}, 1);
  run.step = "0.026";
  EXPECT_EQ(
      refusal(run.yaml()),
      "time.step: 0.026 s is over the stability limit of 0.025 s (upwind is stable up to "
      "Σ|v|·dt/h = 1, here with |v| up to (1, 3) m/s); 'auto' takes at most 0.9 of the limit");
  run.scheme = "lax_wendroff";
  run.step = "0.033";
  EXPECT_EQ(refusal(run.yaml()), "");
  run.step = "0.034";
  EXPECT_NE(refusal(run.yaml()).find("|v|·dt/h = 1 along each axis"), std::string::npos);
  run.scheme = "weno5";
  run.step = "0.036";
  EXPECT_NE(refusal(run.yaml()).find("Σ|v|·dt/h = 1.4349"), std::string::npos);
}

/// One turn of a block of ones by weno5 with the steps of `auto`.
std::vector<double> turned_block(std::string const& velocity, std::string const& more) {
  auto const config = test::config_of(
      fmt::format("simulation: advection\ngrid: {{points: 200}}\nboundary: {{x: periodic}}\n"
                  "initial: {{u: \"if(abs(x - 0.3) < 0.15, 1, 0){}\"}}\n"
                  "parameters: {{velocity: {{x: \"{}\"}}}}\ntime: {{end: 1}}\noutput: {{every: "
                  "{{count: 1}}}}\n",
                  more, velocity));
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = make(config, stream);
  simulation->advance(std::int64_t{1} << 40, 1);
  auto const host = test::to_host(simulation->fields()[0], stream);
  std::vector<double> values;
  for (std::int64_t i = 0; i < 200; ++i) values.push_back(value_at(host, i));
  return values;
}

/// With steps near the limit of stability a change of an ulp grows to a tenth in one turn.
TEST(AdvectionStep, OfAutoKeepsEdgesFromFollowingRoundings) {
  for (auto const* velocity : {"1", "1 + 0.1*sin(2*pi*t)"}) {
    auto const block = turned_block(velocity, "");
    auto const other = turned_block(velocity, " + 2.2e-16*sin(7919*x)");
    for (std::size_t i = 0; i < block.size(); ++i) {
      EXPECT_NEAR(block[i], other[i], 1e-9) << velocity << ' ' << i;
      EXPECT_GE(block[i], -1e-9) << velocity << ' ' << i;
      EXPECT_LE(block[i], 1 + 1e-9) << velocity << ' ' << i;
    }
  }
}

/// The largest |u| at the end of a run between open sides, through which 1 comes in and flows out.
double largest_between_open_sides(std::string const& grid, std::string const& velocity,
                                  std::string const& end) {
  auto const config = test::config_of(fmt::format(
      "simulation: advection\ngrid: {{points: {}}}\ninitial: {{u: 1}}\n"
      "boundary: {{x: {{dirichlet: 1}}{}}}\n"
      "parameters: {{velocity: {{{}}}}}\ntime: {{end: {}}}\n",
      grid, grid.find(',') == std::string::npos ? "" : ", y: {dirichlet: 1}", velocity, end));
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = make(config, stream);
  simulation->advance(std::int64_t{1} << 40, config.time.end);
  auto const host = test::to_host(simulation->fields()[0], stream);
  double largest = 0;
  for (std::int64_t i = 0; i < config.grid.size(); ++i)
    largest = std::max(largest, std::abs(value_at(host, i)));
  return largest;
}

/// Along a line u tends to 1/v, times the v of the side where it comes in. Velocities went on beyond
/// a side as polynomials through five points, and u grew to 10^96 beside the former two, and to 2000
/// in the plane.
TEST(AdvectionSides, TakeVelocitiesThatAreRough) {
  EXPECT_NEAR(largest_between_open_sides("[51]", "x: 'if(x > 0.985, 0.5, 1)'", "4"), 2, 0.1);
  EXPECT_NEAR(largest_between_open_sides("[51]", "x: 'if(x < 0.015, -0.5, -1)'", "4"), 2, 0.1);
  EXPECT_LT(largest_between_open_sides(
                "[33, 33]",
                "x: '1 + 0.1*sin(1e4*(x + 2*y)^2)', y: '0.7 + 0.1*cos(1e4*(3*x - y)^2)'", "0.5"),
            1.6);
}

/// What `check` tells of the step.
std::vector<std::string> report_of(test::AdvectionRun const& run) {
  auto const config = test::config_of(run.yaml());
  return entry_of(config).report(config, {}, Device::open(Backend::cpu));
}

struct Bounds {
  double least, greatest, mass;  ///< the latter over that of the start
};
Bounds at_end(std::string const& scheme, std::string const& precision, std::string const& text) {
  auto const config = test::config_of(fmt::format(
      "simulation: advection\nprecision: {}\n{}, scheme: {}}}\n", precision, text, scheme));
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = make(config, stream);
  double const before = test::measured(*simulation, "mass", stream);
  simulation->advance(std::int64_t{1} << 40, config.time.end);
  auto const host = test::to_host(simulation->fields()[0], stream);
  double least = test::value_at(host, 0), greatest = least;
  for (std::int64_t i = 0; i < host.field.grid.size(); ++i) {
    least = std::min(least, test::value_at(host, i));
    greatest = std::max(greatest, test::value_at(host, i));
  }
  return {least, greatest, test::measured(*simulation, "mass", stream) / before};
}

/// Two rolls without divergence: 1 stays 1, also where the velocity through walls is a rounding of 0.
TEST(AdvectionSides, OfABoxAreClosed) {
  std::string const rolls =
      "grid: {points: [33, 33]}\ninitial: {u: 1}\nparameters: {velocity: {"
      "x: \"sin(2*pi*x)*cos(pi*y)\", y: \"-2*cos(2*pi*x)*sin(pi*y)\"}}\ntime: {end: 5";
  for (auto const* precision : {"float32", "float64"})
    for (auto const& [scheme, within] :
         {std::pair("upwind", 0.02), std::pair("lax_wendroff", 0.03), std::pair("weno5", 0.002)}) {
      auto const found = at_end(scheme, precision, rolls);
      EXPECT_NEAR(found.least, 1, within) << scheme << ' ' << precision;
      EXPECT_NEAR(found.greatest, 1, within) << scheme << ' ' << precision;
      EXPECT_NEAR(found.mass, 1, 0.002) << scheme << ' ' << precision;
    }
}

/// u before the first step.
std::vector<double> at_start(std::string const& text) {
  auto const config = test::config_of("simulation: advection\n" + text);
  Stream stream(Device::open(Backend::cpu));
  auto const host = test::to_host(make(config, stream)->fields()[0], stream);
  std::vector<double> values;
  for (std::int64_t i = 0; i < config.grid.size(); ++i) values.push_back(value_at(host, i));
  return values;
}

/// Nothing was known of how fast a flow is that depends on time, and walls let 0 in.
TEST(AdvectionSides, OfABoxAreClosedFromTheStart) {
  for (auto const* swing : {"cos(3*t)", "sin(3*t)", "cos(3*t - pi/2)"}) {
    auto const rolls = fmt::format(
        "grid: {{points: [33, 33]}}\ninitial: {{u: 1}}\nparameters: {{velocity: {{"
        "x: \"sin(2*pi*x)*cos(2*pi*y)*{0}\", y: \"-cos(2*pi*x)*sin(2*pi*y)*{0}\"}}}}\n"
        "time: {{end: 0.6",
        swing);
    EXPECT_EQ(at_start(rolls + "}\n"), std::vector<double>(33 * 33, 1)) << swing;
    for (auto const* scheme : {"upwind", "lax_wendroff", "weno5"}) {
      auto const found = at_end(scheme, "float64", rolls);
      EXPECT_NEAR(found.least, 1, 0.01) << scheme << ' ' << swing;
      EXPECT_NEAR(found.greatest, 1, 0.01) << scheme << ' ' << swing;
      EXPECT_NEAR(found.mass, 1, 1e-4) << scheme << ' ' << swing;
    }
  }
}

/// At first by a rounding of 0 through the side where the flow goes out later.
TEST(AdvectionSides, LetInWhereTheFlowBegins) {
  auto const wind = [](std::string const& velocity) {
    return at_start(
        "grid: {points: 33}\ninitial: {u: 1}\nboundary: {x: {dirichlet: 7}}\n"
        "parameters: {velocity: {x: \"" +
        velocity + "\"}}\ntime: {end: 0.3}\n");
  };
  EXPECT_EQ(wind("sin(2*pi*t + pi)"), std::vector<double>(33, 1));
  std::vector<double> comes_in(33, 1);
  comes_in[0] = 7;
  EXPECT_EQ(wind("cos(2*pi*t)"), comes_in);
  EXPECT_EQ(wind("1e-3 + t"), comes_in);
}

/// Where a flow comes to rest, on sides, inside and anywhere; none has a divergence, so that |u| <= 1.
TEST(AdvectionStep, OfLaxWendroffBoundsWhatStagnates) {
  std::string const jet =
      "grid: {points: [41, 41]}\ninitial: {u: \"exp(-20*((x - 0.8)^2 + (y - 0.5)^2))\"}\n"
      "parameters: {velocity: {x: \"4*(1 - x)\", y: \"4*(y - 0.513)\"}}\ntime: {end: 20";
  EXPECT_LT(at_end("lax_wendroff", "float64", jet).greatest, 1e-6);
  std::string const rolls =
      "grid: {points: [33, 33]}\ninitial: {u: \"sin(9*x*y)\"}\nparameters: {velocity: {"
      "x: \"sin(2*pi*x)*cos(pi*y)\", y: \"-2*cos(2*pi*x)*sin(pi*y)\"}}\ntime: {end: 20";
  auto const around = at_end("lax_wendroff", "float64", rolls);
  EXPECT_LT(around.greatest, 1.2);
  EXPECT_GT(around.least, -1.2);
  std::string const periodic =
      "grid: {points: [32, 32]}\nboundary: {x: periodic, y: periodic}\ninitial: {u: 1}\n"
      "parameters: {velocity: {x: \"sin(2*pi*(x + y)) + cos(2*pi*y)\", "
      "y: \"-sin(2*pi*(x + y)) + sin(4*pi*x)\"}}\ntime: {end: 60";
  auto const turned = at_end("lax_wendroff", "float32", periodic);
  EXPECT_NEAR(turned.greatest, 1, 0.05);
  EXPECT_NEAR(turned.least, 1, 0.05);
}

TEST(AdvectionStep, IsToldWhereEdgesDecideOnIt) {
  auto run = test::carried_waves("weno5", "pp", 10, {1, -3, 0}, 1);
  run.step = "auto";
  EXPECT_EQ(report_of(run),
            (std::vector<std::string>{
                "step: set by accuracy at edges, auto takes 0.9 of Σ|v|·dt/h = 0.6; "
                "stable up to Σ|v|·dt/h = 1.4349"}));
  run.step = "0.03";
  EXPECT_EQ(report_of(run),
            (std::vector<std::string>{
                "step: Σ|v|·dt/h is up to 1.2, and edges stay sharp up to 0.6, a step of 0.015 s; "
                "with longer ones they may ripple and follow roundings"}));
  run.step = "0.0149";
  EXPECT_TRUE(report_of(run).empty());
  run.scheme = "upwind";
  run.step = "auto";
  EXPECT_TRUE(report_of(run).empty());
}

TEST(AdvectionStep, NeedsAVelocityThatIsFinite) {
  auto still = test::carried_waves("upwind", "p", 10, {0, 0, 0}, 1);
  EXPECT_EQ(refusal(still.yaml()), "");
  still.velocity[0] = "1/x";
  EXPECT_EQ(refusal(still.yaml()), "parameters.velocity.x: is inf at x = 0 (a velocity is finite)");
}

}  // namespace
}  // namespace gridstride

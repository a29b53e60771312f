#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/pde_side_value_cases.hpp"

/// Values on sides that follow from fields.
namespace gridstride {
namespace {

using test::field_sides_pde;
using test::run_pde;
using test::step_of;

using test::exchange, test::factor, test::held, test::plain_factor, test::radiation;

struct SideCase {
  char const* name;
  char const* of_u;
  char const* of_v;
  int dims;
  int cells;
  char const* time = "{scheme: rk4, end: 0.05}";
};
class PdeSideValues : public testing::TestWithParam<SideCase> {};

TEST_P(PdeSideValues, AreOfOrderTwo) {
  auto const& one = GetParam();
  auto const errors = [&](int cells) {
    return test::errors_of(field_sides_pde(one.of_u, one.of_v, one.dims, cells, one.time));
  };
  auto const coarse = errors(one.cells), fine = errors(2 * one.cells);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(std::log2(coarse[i] / fine[i]), 2, 0.25)
        << i << ": " << coarse[i] << ' ' << fine[i];
}

INSTANTIATE_TEST_SUITE_P(
    Pde, PdeSideValues,
    testing::Values(
        SideCase{"radiation", radiation, exchange, 1, 32},
        SideCase{"robin", factor, plain_factor, 1, 32}, SideCase{"held", held, exchange, 1, 32},
        SideCase{"held_adaptive", held, exchange, 1, 16,
                 "{scheme: rk45, end: 0.05, step: adaptive, tolerance: 1e-9}"},
        SideCase{"corners", radiation, plain_factor, 2, 16},
        SideCase{"held_corners", held, plain_factor, 2, 16, "{scheme: ssprk3, end: 0.05}"},
        SideCase{"space", factor, exchange, 3, 8}, SideCase{"held_space", held, exchange, 3, 8}),
    [](auto const& one) { return std::string(one.param.name); });

std::string line_pde(std::string const& boundary, std::string const& more,
                     std::string const& time = "{scheme: rk4, end: 0.1}") {
  return "simulation: pde\ngrid: {points: 11}\nboundary: " + boundary + "\n" + more +
         "time: " + time + "\noutput: {every: {count: 1}}\n";
}

/// What fields say as `robin` does is the same, and limits the step as much.
TEST(PdeSideValuesOfFields, AreThoseOfRobin) {
  std::string const rest = "equations: {u: laplace(u)}\ninitial: {u: 1 + x}\n";
  for (char const* scheme : {"euler", "rk4"}) {
    auto const time = fmt::format("{{scheme: {}, end: 0.1, safety: 1}}", scheme);
    auto const robin = line_pde("{x: {robin: [30, \"1 + t\"]}}", rest, time);
    for (char const* same :
         {"{x: {neumann: \"1 + t - 30*u\"}}", "{x: {robin: [10, \"1 + t - 20*u\"]}}",
          "{x: {robin: [\"30 + 0*u\", \"1 + t\"]}}"}) {
      auto const fields = line_pde(same, rest, time);
      EXPECT_NEAR(step_of(fields) / step_of(robin), 1, 1e-12) << same;
      auto const a = run_pde(fields), b = run_pde(robin);
      EXPECT_EQ(a.steps, b.steps);
      for (std::size_t i = 0; i < 11; ++i)
        EXPECT_NEAR(a.fields[0][i], b.fields[0][i], 1e-12) << same;
    }
  }
}

/// u = x² + v for all schemes and to rounding, as u and v have the same rates in each stage: if the
/// side took v of another stage, or another time, it would be seen.
TEST(PdeSideValuesOfFields, AreOfTheStageThatTheyStandIn) {
  for (char const* time :
       {"{scheme: euler, end: 0.1, step: 0.001}", "{scheme: ssprk2, end: 0.1, step: 0.001}",
        "{scheme: ssprk3, end: 0.1, step: 0.002}", "{scheme: rk4, end: 0.1, step: 0.002}",
        "{scheme: rk45, end: 0.1, step: 0.002}",
        "{scheme: rk4, end: 0.1, step: adaptive, tolerance: 1e-6}",
        "{scheme: rk45, end: 0.1, step: adaptive, tolerance: 1e-6}"}) {
    // Steps that follow their error let rounding grow until it is as large as that may be.
    bool const is_adaptive = std::string_view(time).find("adaptive") != std::string_view::npos;
    double const tolerance = is_adaptive ? 1e-5 : 1e-14;
    for (char const* side :
         {"{dirichlet: x^2 + v}",
          "{lower: {neumann: v - u}, upper: {neumann: "
          "\"2 + (u - 1 - v)*t\"}}",
          "{lower: {dirichlet: v}, upper: {robin: [\"v^2\", \"2 + v^2*(1 + v)\"]}}"}) {
      auto const found = run_pde(line_pde(
          fmt::format("{{u: {{x: {}}}, v: {{x: {{neumann: 0}}}}}}", side),
          "equations: {u: laplace(u) - 2 - v^2, v: -v^2}\ninitial: {u: x^2 + v, v: 1}\n", time));
      for (std::size_t i = 0; i < 11; ++i) {
        double const x = static_cast<double>(i) / 10;
        EXPECT_NEAR(found.fields[0][i], x * x + found.fields[1][i], tolerance) << time << side;
      }
    }
  }
}

/// Values that depend on time and fields take both at the end of a stage: as above, with u = x² + v + t.
TEST(PdeSideValuesOfFields, MayDependOnTime) {
  for (char const* scheme : {"euler", "ssprk2", "ssprk3", "rk4", "rk45"}) {
    auto const found = run_pde(
        line_pde("{u: {x: {dirichlet: x^2 + v + t}}, v: {x: {neumann: 0}}}",
                 "equations: {u: laplace(u) - 1 - v^2, v: -v^2}\ninitial: {u: x^2 + v, v: 1}\n",
                 fmt::format("{{scheme: {}, end: 0.1, step: 0.001}}", scheme)));
    for (std::size_t i = 0; i < 11; ++i) {
      double const x = static_cast<double>(i) / 10;
      EXPECT_NEAR(found.fields[0][i], x * x + found.fields[1][i] + 0.1, 1e-14) << scheme;
    }
  }
}

/// A chain of fields, each of which holds what the next one does; first values and events, too.
TEST(PdeSideValuesOfFields, FollowEachOther) {
  auto const text =
      line_pde("{u: {x: {dirichlet: 2*v}}, v: {x: {dirichlet: w + 1}}, w: {x: {dirichlet: 3*x}}}",
               "equations: {u: laplace(u), v: laplace(v), w: laplace(w)}\n"
               "initial: {u: 0, v: 7, w: 5}\n",
               "{scheme: rk4, end: 0.01}");
  auto const config = test::config_of(text);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry_of(config).make(config, stream, {});
  auto const ends = [&](std::size_t field) {
    auto const host = test::to_host(simulation->fields()[field], stream);
    return std::pair{test::value_at(host, 0), test::value_at(host, 10)};
  };
  for (bool const at_start : {true, false}) {
    EXPECT_EQ(ends(2), (std::pair{0.0, 3.0})) << at_start;
    EXPECT_EQ(ends(1), (std::pair{1.0, 4.0})) << at_start;
    EXPECT_EQ(ends(0), (std::pair{2.0, 8.0})) << at_start;
    simulation->advance(1000, config.time.end);
  }
  auto const found =
      run_pde(line_pde("{u: {x: {dirichlet: 2*v}}, v: {x: {neumann: 0}}}",
                       "equations: {u: laplace(u), v: laplace(v)}\ninitial: {u: v, v: 7}\n"
                       "events: [{at: 0.05, set: {v: 1 + x}}, {at: 0.05, set: {v: u}}, {at: 0.1, "
                       "set: {v: 9}}]\n"));
  EXPECT_EQ(found.fields[0].front(), 18);
  EXPECT_EQ(found.fields[0].back(), 18);
}

/// Where two Dirichlet sides meet, the first axis counts, also where only one follows from fields.
TEST(PdeSideValuesOfFields, MeetAtCorners) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: [5, 6]}\n"
      "boundary: {u: {x: {dirichlet: v}, y: {dirichlet: -1}}, v: {x: {neumann: 0}, y: {neumann: "
      "0}}, "
      "w: {x: {dirichlet: -1}, y: {dirichlet: v}}}\n"
      "equations: {u: laplace(u), v: 0*v, w: laplace(w)}\ninitial: {u: 0, v: 2 + x*y, w: 0}\n"
      "time: {end: 0.01}\noutput: {every: {count: 1}}\n");
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      bool const on_x = i == 0 || i == 4, on_y = j == 0 || j == 5;
      if (!on_x && !on_y) continue;
      double const v = found.fields[1][i + 5 * j];
      EXPECT_EQ(found.fields[0][i + 5 * j], on_x ? v : -1) << i << ' ' << j;
      EXPECT_EQ(found.fields[2][i + 5 * j], on_x ? -1 : v) << i << ' ' << j;
    }
}

/// Two bodies that exchange heat, and sides whose slopes grow with the fields: nothing that cannot
/// grow does at the step that `auto` takes.
TEST(PdeSideValuesOfFields, TheStepTakesThem) {
  struct Stable {
    char const* of_u;
    char const* of_v;
    bool ties_both;
  };
  auto const text = [](Stable const& sides, char const* scheme) {
    return line_pde(fmt::format("{{u: {{x: {}}}, v: {{x: {}}}}}", sides.of_u, sides.of_v),
                    "equations: {u: laplace(u), v: 0.5*laplace(v)}\n"
                    "initial: {u: \"0.5 + 0.5*cos(10*pi*x)\", v: \"0.5 - 0.5*cos(10*pi*x)\"}\n",
                    fmt::format("{{scheme: {}, end: 0.2, safety: 1}}", scheme));
  };
  for (Stable const& sides :
       {Stable{"{neumann: -300*(u - v)}", "{neumann: -300*(v - u)}", true},
        Stable{"{neumann: -30*u*abs(u)}", "{neumann: -100*(v - u)}", false},
        Stable{"{dirichlet: v}", "{neumann: -100*(v - 0.5)}", false},
        Stable{"{robin: [\"100*(1 + v^2)\", 0]}", "{robin: [\"50*(1 + u^2)\", 50*u^2]}", true}})
    for (char const* scheme : {"euler", "ssprk3", "rk4"}) {
      // What ties fields to each other may turn, as far as the analysis knows.
      if (sides.ties_both && scheme == std::string_view("euler")) {
        EXPECT_THROW(run_pde(text(sides, scheme)), Error);
        continue;
      }
      auto const found = run_pde(text(sides, scheme));
      for (auto const& field : found.fields)
        for (double const value : field) EXPECT_LE(std::abs(value), 1.1) << sides.of_u << scheme;
    }
}

/// What is given on sides follows the fields as they change, and the step with it.
TEST(PdeSideValuesOfFields, TheStepFollows) {
  auto const text = [](char const* side) {
    return line_pde(fmt::format("{{u: {{x: {}}}, v: {{x: {{neumann: 0}}}}}}", side),
                    "equations: {u: laplace(u), v: 4*v}\ninitial: {u: 1, v: 30}\n",
                    "{scheme: euler, end: 0.5, safety: 1}");
  };
  // Limits that change become powers of 2^(1/8).
  double const robin = step_of(text("{robin: [30, 0]}"));
  EXPECT_EQ(step_of(text("{neumann: -v*u}")), std::exp2(std::floor(8 * std::log2(robin)) / 8));
  for (char const* side : {"{neumann: -v*u}", "{robin: [v, 0]}", "{robin: [v + t, 0]}"}) {
    auto const found = run_pde(text(side));
    for (double const value : found.fields[0]) EXPECT_LE(std::abs(value), 1) << side;
  }
}

TEST(PdeSideValuesOfFields, VariantsPiecesAndRestartsHaveTheSameBits) {
  for (std::string const& text :
       {field_sides_pde(radiation, plain_factor, 2, 7), field_sides_pde(held, exchange, 3, 4),
        field_sides_pde(held, exchange, 1, 13,
                        "{scheme: rk45, end: 0.05, step: adaptive, tolerance: 1e-5}"),
        field_sides_pde(held, plain_factor, 1, 11, "{scheme: ssprk3, end: 0.05}")}) {
    auto const whole = run_pde(text);
    EXPECT_EQ(whole.fields, run_pde(text + "kernels: {system: reference}\n").fields) << text;
    EXPECT_EQ(whole.fields, run_pde(text, Backend::cpu, 1).fields) << text;
    auto const config = test::config_of(text);
    Stream stream(Device::open(Backend::cpu));
    auto const first = entry_of(config).make(config, stream, {});
    auto const second = entry_of(config).make(config, stream, {});
    first->advance(3, config.time.end);
    first->fields();
    test::MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    second->load(checkpoint);
    while (!second->finished()) second->advance(1000, config.time.end);
    auto const host = test::to_host(second->fields()[0], stream);
    for (std::size_t i = 0; i < whole.fields[0].size(); ++i)
      ASSERT_EQ(test::value_at(host, static_cast<std::int64_t>(i)), whole.fields[0][i]) << text;
  }
}

/// A name for a formula of space and time is that formula, where fields of order 2 need its rate, too.
TEST(PdeSideValuesOfFields, NamesMayStandForFormulas) {
  auto const text = [](char const* side) {
    return line_pde(fmt::format("{{x: {{dirichlet: {0}}}}}", side),
                    "fields: {u: {order: 2}}\nlet: {s: sin(x + t)}\nequations: {u: laplace(u)}\n"
                    "initial: {u: sin(x), u_t: cos(x)}\n");
  };
  EXPECT_EQ(run_pde(text("s")).fields, run_pde(text("sin(x + t)")).fields);
}

/// Waves that leave: c·∂u/∂n = −u_t as a flux, of which nothing comes back but by the differences.
TEST(PdeSideValuesOfFields, WavesLeaveThroughAFlux) {
  auto const text =
      "simulation: pde\ngrid: {points: 201}\nboundary: {x: {flux: -u_t}}\n"
      "fields: {u: {order: 2}}\nequations: {u: div(grad(u))}\n"
      "initial: {u: exp(-((x - 0.5)/0.06)^2), u_t: 0}\ntime: {scheme: rk4, end: 1.2}\n"
      "output: {every: {count: 1}}\n";
  auto const found = run_pde(text);
  for (double const value : found.fields[0]) EXPECT_NEAR(value, 0, 2e-3);
}

std::string problems_of(std::string const& boundary, std::string const& more = "") {
  std::string all;
  try {
    test::config_of(
        "simulation: pde\ngrid: {points: [9, 9]}\nfields: {q: vector}\nlet: {w: laplace(u)}\n"
        "equations: {u: laplace(w), v: laplace(v), q: grad(u)}\n"
        "initial: {u: 0, v: 0, q: {x: 0, y: 0}}\ntime: {end: 1}\nboundary: {y: wall, q: {x: "
        "wall}, " +
        boundary + "}\n" + more);
  } catch (ConfigError const& error) {
    for (auto const& problem : error.problems())
      all += (all.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  }
  return all;
}

TEST(PdeSideValuesOfFields, FaultsAreToldInTheirPlaces) {
  auto const of_u = [](std::string const& side) {
    return problems_of("v: {x: wall}, u: {x: " + side + "}");
  };
  std::string const at = "boundary.u.x.neumann: ";
  std::string const made = " (it is made of fields, space and time at the side's own points)";
  EXPECT_EQ(of_u("{neumann: u*v + q.x}"), "");
  EXPECT_EQ(of_u("{neumann: -k*u}"),
            at + "unknown name 'k' (an equation knows x, y, t, pi, e, fields, names under 'let', "
                 "constants, functions and operators)");
  EXPECT_EQ(of_u("{neumann: q}"), at + "a scalar expected, here is a vector");
  EXPECT_EQ(of_u("{neumann: d_dx(v)}"),
            at + "what is given on a side has a derivative in it" + made);
  EXPECT_EQ(of_u("{neumann: w}"), at + "what is given on a side has a derivative in it" + made);
  EXPECT_EQ(of_u("{neumann: mean(v)}"),
            at + "what is given on a side has a value over the whole grid in it" + made);
  EXPECT_EQ(of_u("{neumann: uniform(3)}"),
            at + "what is given on a side has random numbers in it" + made);
  EXPECT_EQ(of_u("{dirichlet: u + 1}"),
            "boundary.u.x.dirichlet: on its sides u is made of itself (u needs u)");
  EXPECT_EQ(problems_of("u: {x: {dirichlet: v}}, v: {x: {lower: wall, upper: {dirichlet: u}}}"),
            "boundary.u.x.dirichlet: on its sides u is made of itself (u needs v needs u)");
  EXPECT_EQ(problems_of("x: {neumann: -2*u}", "fields: {}\n").find("boundary.x.neumann") !=
                std::string::npos,
            true);
  EXPECT_EQ(problems_of("u: {x: wall}, v: {x: wall}, w: {x: {neumann: u}}"),
            "boundary.w.x.neumann: has fields in it, which the sides of w under 'let' do not take");
}

/// What fields are copied to at a side is shared by all sides: two components for the larger face.
TEST(PdeSideValuesOfFields, AreInTheForecast) {
  auto const bytes = [](char const* of_x, char const* of_y) {
    auto const run = test::config_of(
        fmt::format("simulation: pde\nprecision: float64\ngrid: {{points: [9, 5]}}\n"
                    "boundary: {{u: {{x: {}, y: {}}}, v: {{x: wall, y: wall}}}}\n"
                    "equations: {{u: laplace(u), v: laplace(v)}}\ninitial: {{u: 0, v: 0}}\n"
                    "time: {{end: 1}}\n",
                    of_x, of_y));
    return static_cast<long>(memory_of(entry_of(run), run, {}, Backend::cpu).other_bytes);
  };
  // The values themselves are there with numbers too.
  char const* const number = "{neumann: 1}";
  long const without = bytes(number, number);
  auto const more = [&](char const* of_x, char const* of_y) {
    return (bytes(of_x, of_y) - without) / long{sizeof(double)};
  };
  EXPECT_EQ(more("{neumann: -u*v}", number), 2 * 5);
  EXPECT_EQ(more(number, "{neumann: -u}"), 9);
  EXPECT_EQ(more("{neumann: -u*v}", "{neumann: -u}"), 2 * 9);
  EXPECT_EQ(more("{lower: {dirichlet: v}, upper: {robin: [v, u]}}", "{neumann: -u}"), 9 + 5);
}

}  // namespace
}  // namespace gridstride

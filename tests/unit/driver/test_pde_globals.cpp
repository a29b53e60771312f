#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "core/processors.hpp"
#include "simulations/pde_globals.hpp"
#include "support/pde_cases.hpp"
#include "support/refusal.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

using equations::Kind;
using equations::Term;
using test::run_pde;
using test::step_of;

template <class T>
reduce::FieldNumbers numbers_of(std::vector<T> const& values,
                                reduce::FieldOperation<T> const& operation) {
  Stream stream(Device::open(Backend::cpu));
  reduce::FieldReduction<T> reduction(stream, operation);
  std::array<reduce::FieldNumbers, 2> found;
  for (auto& one : found) reduction.find(stream, values, std::span(&one, 1));
  EXPECT_EQ(std::memcmp(&found[0], &found[1], sizeof(found[0])), 0);
  return found[1];
}

TEST(FieldNumbers, ByHand) {
  std::vector<double> const line = {0, 1, 4, 9, 16};
  auto found = numbers_of<double>(line, {.points = {5, 1, 1}, .spacing = {0.5, 1, 1}});
  EXPECT_EQ(found.least, 0);
  EXPECT_EQ(found.greatest, 16);
  EXPECT_EQ(found.mean, 6);
  EXPECT_EQ(found.integral, 15);
  found = numbers_of<double>(
      line, {.points = {5, 1, 1}, .spacing = {0.5, 1, 1}, .wraps = {false, true, true}});
  EXPECT_EQ(found.least, 0);
  EXPECT_EQ(found.greatest, 16);
  EXPECT_EQ(found.mean, 5.5);
  EXPECT_EQ(found.integral, 11);
  // 2 × 3, x periodic, y not: rows count ½, 1, ½.
  found = numbers_of<double>(
      {1, 2, 3, 4, 5, -6},
      {.dims = 2, .points = {2, 3, 1}, .spacing = {1, 2, 1}, .wraps = {true, false, true}});
  EXPECT_EQ(found.least, -6);
  EXPECT_EQ(found.integral, 2 * (1.5 + 7 - 0.5));
  EXPECT_EQ(found.mean, (1.5 + 7 - 0.5) / (2 * 2));
}

TEST(FieldNumbers, ANaNMakesEverythingNaN) {
  for (bool const wraps : {true, false}) {
    auto const found = numbers_of<double>({1, std::nan(""), 3},
                                          {.points = {3, 1, 1}, .wraps = {wraps, true, true}});
    EXPECT_TRUE(std::isnan(found.least) && std::isnan(found.greatest) && std::isnan(found.mean) &&
                std::isnan(found.integral));
  }
}

/// 100,003 times 0.1f: in float32 the sum would be off by a hundred.
TEST(FieldNumbers, SumsAreInFloat64WhateverTheThreads) {
  std::vector<float> const values(100'003, 0.1F);
  reduce::FieldOperation<float> const operation{.points = {100'003, 1, 1}};
  int const before = host_threads();
  set_host_threads(1);
  auto const one = numbers_of(values, operation);
  set_host_threads(3);
  auto const three = numbers_of(values, operation);
  set_host_threads(before);
  double const exact = 100'003 * static_cast<double>(0.1F);
  EXPECT_NEAR(one.integral, exact, 1e-11 * exact);
  EXPECT_EQ(one.integral, three.integral);
}

/// Two components on a line.
struct Line {
  Stream stream{Device::open(Backend::cpu)};
  equations::System system{
      .dims = 1, .terms = {}, .unknowns = {{"u", 1, 0}, {"v", 1, 1}}, .rates = {}};
  equations::Terms& terms = system.terms;
  Term u = terms.unknown(0), v = terms.unknown(1);
  Grid grid{.dims = 1, .points = {5, 1, 1}, .origin = {}, .spacing = {0.5, 1, 1}};
  std::vector<double> of_u = {0, 1, 4, 9, 16}, of_v = {3, -1, 2, 5, 1};

  Term mean(Term of) { return terms.global(Kind::mean, of); }
  /// The values of uniform terms, by the numbers that are found; outflow on the sides.
  std::vector<double> values(std::vector<Term> const& of, std::size_t operands) {
    system.rates = of;
    auto const stencil = equations::discretise(system, grid);
    EXPECT_EQ(stencil.operands.size(), operands);
    pde::GlobalFinder<double> finder(stream, grid, {false, true, true}, stencil.terms,
                                     stencil.operands);
    std::vector<system::Input<double>> inputs = {{.values = of_u.data()}, {.values = of_v.data()}};
    for (auto& input : inputs)
      for (auto& side : input.sides[0])
        side = system::side_of<double>(SideKind::outflow, 0.5, nullptr);
    std::vector<double> scratch(5), found;
    evaluate::DeviceClock const clock{2, 0.5, 0};
    for (char const* variant : {"reference", "threads"}) {
      finder.find(inputs, &clock, 0.5, scratch, variant);
      std::vector<double> result;
      for (Term const rate : stencil.rates)
        result.push_back(pde::value_of(stencil.terms, rate, 2.25, finder.on_host()));
      if (!found.empty()) {
        EXPECT_EQ(found, result) << variant;
      }
      found = result;
    }
    return found;
  }
};

TEST(GlobalFinder, ByHand) {
  Line line;
  auto& t = line.terms;
  auto const number = [&](double value) { return t.number(value); };
  // Of the same operand, once; of x and of numbers; of differences; within each other.
  EXPECT_EQ(line.values({line.mean(line.u), t.global(Kind::integral, line.u),
                         t.global(Kind::least, line.u), t.global(Kind::greatest, line.v)},
                        2),
            (std::vector<double>{5.5, 11, 0, 5}));
  EXPECT_EQ(
      line.values({t.global(Kind::integral, number(3)), t.global(Kind::integral, t.coordinate(0)),
                   t.global(Kind::greatest, t.derivative(line.u, {1, 0, 0}))},
                  3),
      (std::vector<double>{6, 2, 14}));
  Term const off = t.subtract(line.u, line.mean(line.u));
  // (u − 5.5)² = 30.25, 20.25, 2.25, 12.25, 110.25
  EXPECT_EQ(line.values({line.mean(t.multiply(off, off))}, 2),
            std::vector<double>{(15.125 + 20.25 + 2.25 + 12.25 + 55.125) / 4});
  EXPECT_EQ(line.values({t.add(t.time(), line.mean(t.multiply(t.time(), line.v)))}, 1),
            std::vector<double>{2.25 + 2.25 * 2});
}

/// Each rank has its planes and one more on each side, around the grid.
TEST(GlobalFinder, RanksFindWhatOneProcessDoes) {
  std::int64_t const width = 40, planes = 200;
  equations::System system{.dims = 2, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
  auto& t = system.terms;
  Term const u = t.unknown(0), slope = t.derivative(u, {0, 1, 0});
  Term const off = t.subtract(u, t.global(Kind::mean, u));
  system.rates = {t.add(t.global(Kind::integral, t.multiply(off, t.multiply(slope, slope))),
                        t.global(Kind::greatest, t.multiply(u, t.coordinate(1))))};
  Grid const grid{.dims = 2, .points = {width, planes, 1}, .origin = {}, .spacing = {0.1, 0.2, 1}};
  pde::Wraps const wraps = {false, true, true};
  auto const stencil = equations::discretise(system, grid);
  std::vector<double> values;
  for (std::int64_t i = 0; i < grid.size(); ++i)
    values.push_back(std::sin(0.37 * static_cast<double>(i * i % 1009)));
  auto const input_of = [](double const* of) {
    system::Input<double> input{.values = of};
    for (auto& side : input.sides[0])
      side = system::side_of<double>(SideKind::neumann, 0.1, nullptr);
    for (auto& side : input.sides[1])
      side = system::side_of<double>(SideKind::periodic, 0.2, nullptr);
    return input;
  };
  Stream stream(Device::open(Backend::cpu));
  pde::GlobalFinder<double> alone(stream, grid, wraps, stencil.terms, stencil.operands);
  std::vector<double> scratch(values.size());
  alone.find({input_of(values.data())}, nullptr, 0, scratch, "auto");
  auto const expected = alone.on_host();
  EXPECT_EQ(expected.size(), std::size_t{3} * equations::numbers_of_operand);
  std::int64_t const together = reduce::planes_of_part(Backend::cpu, 2, grid.points);
  EXPECT_GT(together, 1);
  for (int const count : {2, 3, 5}) {
    SweepPlan plan{{.grid = grid, .periodic = true, .together = together}};
    plan.ranks = count;
    EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
      Stream const own_stream(Device::open(Backend::cpu));
      RankPlanes shared(ranks, own_stream, plan.cuts(), false, sizeof(double),
                        pde::GlobalFinder<double>::shared_numbers(Backend::cpu, grid));
      pde::GlobalFinder<double> finder(own_stream, grid, wraps, stencil.terms, stencil.operands);
      pde::OwnPlanes const own{plan.owned_by(ranks.rank()), plan.owned_by(ranks.rank()).lower - 1,
                               &shared};
      system::Step<double> step;
      step.grid = grid;
      step.grid.points[1] = own.own.count() + 2;
      step.piece.emplace();
      step.piece->whole = grid.points;
      step.piece->first[1] = own.first;
      std::vector<double> held, array(static_cast<std::size_t>(step.grid.size()));
      for (std::int64_t i = 0; i < step.grid.size(); ++i)
        held.push_back(
            values[static_cast<std::size_t>((i + own.first * width + grid.size()) % grid.size())]);
      step.inputs = {input_of(held.data())};
      finder.find(step, own, array, "auto");
      EXPECT_EQ(finder.on_host(), expected) << count;
    }));
  }
}

TEST(GlobalFinder, WhatDiffersFromPointToPointIsNoNumber) {
  Line line;
  EXPECT_EQ(test::refusal([&] { pde::value_of(line.terms, line.u, 0, {}); }),
            "value_of: the term differs from point to point");
}

TEST(GlobalFinder, ThereMayNotBeTooMany) {
  for (bool const nested : {true, false}) {
    Line line;
    Term rate = line.u;
    for (int i = 0; i <= equations::max_operands; ++i) {
      Term const next = line.terms.multiply(line.u, line.terms.number(i + 2.0));
      rate = nested ? line.terms.subtract(next, line.mean(rate))
                    : line.terms.add(rate, line.mean(line.terms.multiply(next, next)));
    }
    line.system.rates = {rate};
    try {
      equations::discretise(line.system, line.grid);
      ADD_FAILURE();
    } catch (Error const& error) {
      EXPECT_STREQ(error.what(),
                   "equations may have integrals, means and extremes of 64 expressions at most");
    }
  }
}

std::string line_of(std::string const& equation, std::string const& scheme,
                    std::string const& more = {}) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: 40}}\nboundary: {{x: periodic}}\n"
      "equations: {{u: \"{}\"}}\ninitial: {{u: \"1 + 0.5*cos(2*pi*x)\"}}\n"
      "time: {{scheme: {}, end: 0.2}}\noutput: {{every: {{count: 1}}}}\n{}",
      equation, scheme, more);
}

/// Each has columns of its own on a GPU, as many as the grid has points here: 12 times a field in float32.
TEST(PdeGlobals, AreInTheForecast) {
  auto const other = [](std::string const& more) {
    auto const run = test::config_of(
        "simulation: pde\nprecision: float32\ngrid: {points: [1000, 3]}\n"
        "boundary: {x: periodic, y: periodic}\nkernels: {system: points}\n" +
        more);
    return memory_of(entry_of(run), run, {}, Backend::cuda).other_bytes;
  };
  Grid const grid{.dims = 2, .points = {1000, 3, 1}, .origin = {}, .spacing = {1, 1, 1}};
  std::size_t const one = pde::GlobalFinder<float>::bytes(Backend::cuda, grid, 1);
  EXPECT_GE(one, 3000 * 3 * sizeof(double));
  EXPECT_EQ(pde::GlobalFinder<float>::bytes(Backend::cuda, grid, 0), 0);
  std::string const time = "time: {end: 1}\n", first = "initial: {u: x}\n",
                    decay = "equations: {u: -u}\n", mean = "equations: {u: -u + mean(u)}\n";
  std::size_t const none = other(decay + first + time);
  // In the equations, and in the limit of the step.
  EXPECT_EQ(other(mean + first + time), none + 2 * one);
  std::string const adaptive = "time: {scheme: rk45, step: adaptive, end: 1}\n";
  EXPECT_EQ(other(mean + first + adaptive), other(decay + first + adaptive) + one);
  for (char const* more : {"events: {at: 0.5, set: {u: u - mean(u)}}\n",
                           "stop: {when: mean(u) > 3}\n", "output: {derived: {off: u - mean(u)}}\n",
                           "diagnostics: [{integral: norm(grad(u))*max(u)}]\n"})
    EXPECT_EQ(other(decay + first + time + more), none + one) << more;
  // First values are there before limits are looked for.
  std::string const of_first = "initial: {u: x, v: u - mean(u)}\n";
  EXPECT_EQ(other("equations: {u: -u, v: -v}\n" + of_first + time),
            other("equations: {u: -u, v: -v}\ninitial: {u: x, v: x}\n" + time) + one);
  EXPECT_EQ(other("equations: {u: -u + mean(u), v: -v}\n" + of_first + time),
            other("equations: {u: -u, v: -v}\ninitial: {u: x, v: x}\n" + time) + 2 * one);
}

TEST(PdeGlobals, OfRanksAreInTheForecast) {
  auto const of_rank = [](char const* derived) {
    auto run = test::config_of(
        fmt::format("simulation: pde\ngrid: {{points: [100, 400]}}\n"
                    "equations: {{u: laplace(u)}}\ninitial: {{u: x}}\ntime: {{end: 1}}\n"
                    "output: {{derived: {{off: u - mean(u), other: {}}}}}\n",
                    derived));
    run.ranks = 2;
    return memory_of(entry_of(run), run, {}, Backend::cpu).rank_bytes;
  };
  Grid const grid{.dims = 2, .points = {100, 400, 1}, .origin = {}, .spacing = {1, 1, 1}};
  EXPECT_EQ(of_rank("u - mean(u)"),
            of_rank("u - 1") + pde::GlobalFinder<double>::bytes(Backend::cpu, grid, 1));
}

/// The mean of what a constraint leaves open is watched, of two operands, in an array.
TEST(PdeGlobals, OfModesAreInTheForecast) {
  auto const other = [](char const* constraint, char const* more) {
    auto const run = test::config_of(
        fmt::format("simulation: pde\ngrid: {{points: [64, 32]}}\n"
                    "boundary: {{x: periodic, y: periodic}}\nspace: {{derivatives: spectral}}\n"
                    "equations: {{w: laplace(w), 0: {}}}\ninitial: {{w: \"sin(2*pi*x)\"}}\n"
                    "time: {{scheme: ark3, end: 1, step: 0.1}}\n{}",
                    constraint, more));
    return memory_of(entry_of(run), run, {}, Backend::cuda).other_bytes;
  };
  Grid const grid{.dims = 2, .points = {64, 32, 1}, .origin = {}, .spacing = {1, 1, 1}};
  auto const finder = [&](std::size_t operands) {
    return pde::GlobalFinder<double>::bytes(Backend::cuda, grid, operands);
  };
  std::size_t const closed = other("laplace(psi) - psi + w", "");
  EXPECT_EQ(other("laplace(psi) + w", ""),
            closed + finder(2) + 64 * 32 * sizeof(double) + sizeof(evaluate::DeviceClock));
  EXPECT_EQ(other("laplace(psi) - psi + w", "stop: {when: max(w) < 0.1}\n"), closed + finder(1));
}

/// The mean's eigenvalue is −1000 and the step that of forward Euler for it, sharp; of extremes the
/// bound is the same number.
TEST(PdeGlobals, DoNotBlowUp) {
  EXPECT_NEAR(step_of(line_of("-1000*mean(u)", "euler")), 0.9 * 2 / 1000, 1e-12);
  EXPECT_NEAR(step_of(line_of("-1000*integral(u)", "euler")), 0.9 * 2 / 1000, 1e-12);
  for (char const* scheme : {"euler", "ssprk2", "ssprk3", "rk4"})
    for (char const* equation : {"-1000*mean(u)", "-1000*integral(u)", "-1000*max(u)",
                                 "-1000*min(u)", "-1000*mean(u)*u", "-1000*mean(mean(u) + 0*u)",
                                 "laplace(u)/1000 - 1000*mean(u^3)", "-1000*mean(u + d_dx(u))"}) {
      auto const found = run_pde(line_of(equation, scheme)).fields[0];
      for (double const value : found) EXPECT_LE(std::abs(value), 3) << scheme << ' ' << equation;
    }
}

/// u = a + b·cos 2πx with u_t = D·u_xx + mean(u²) − u/2: a' = a² + b²/2 − a/2, and b decays by the
/// eigenvalue of the differences.
TEST(PdeGlobals, AreThoseOfEachStage) {
  double const h = 1.0 / 40, k = 4 / (h * h) * std::pow(std::sin(std::numbers::pi * h), 2);
  std::array<double, 2> errors;
  for (int i = 0; i < 2; ++i) {
    double const step = 0.02 / (1 << i), end = 0.2;
    auto const found =
        run_pde(fmt::format("simulation: pde\ngrid: {{points: 40}}\nboundary: {{x: periodic}}\n"
                            "equations: {{u: \"0.01*laplace(u) + mean(u^2) - u/2\"}}\n"
                            "initial: {{u: \"1 + 0.5*cos(2*pi*x)\"}}\n"
                            "time: {{scheme: rk4, end: {}, step: {}}}\n",
                            end, step))
            .fields[0];
    double a = 1, t = 0;
    double const fine = 1e-4;
    auto const b = [&](double time) { return 0.5 * std::exp(-(0.01 * k + 0.5) * time); };
    auto const rate = [&](double value, double time) {
      return value * value + b(time) * b(time) / 2 - value / 2;
    };
    for (; t < end - fine / 2; t += fine) {
      double const one = rate(a, t), two = rate(a + fine / 2 * one, t + fine / 2);
      double const three = rate(a + fine / 2 * two, t + fine / 2),
                   four = rate(a + fine * three, t + fine);
      a += fine / 6 * (one + 2 * two + 2 * three + four);
    }
    errors[static_cast<std::size_t>(i)] = std::abs(found[0] - a - b(end));
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 4, 0.3) << errors[0] << ", " << errors[1];
  EXPECT_LT(errors[1], 1e-8);
}

/// u_t = ∆u + u − u³ − mean(u − u³) keeps ∫u, by the trapezoidal rule where sides do not wrap.
TEST(PdeGlobals, MassConservingAllenCahn) {
  for (bool const wraps : {true, false})
    for (char const* scheme : {"euler", "ssprk3", "rk4"}) {
      std::string const text = fmt::format(
          "simulation: pde\ngrid: {{points: [24, 21], upper: [8, 6]}}\n"
          "boundary: {{x: {0}, y: {0}}}\nlet: {{f: u - u^3}}\n"
          "equations: {{u: laplace(u) + f - mean(f)}}\n"
          "initial: {{u: \"0.1 + 0.3*sin(5*x)*cos(3*y + 1)\"}}\n"
          "time: {{scheme: {1}, end: 1}}\n",
          wraps ? "periodic" : "{neumann: 0}", scheme);
      auto const mass = [&](std::vector<double> const& values) {
        double sum = 0, all = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          std::size_t const x = i % 24, y = i / 24;
          double weight = 1;
          if (!wraps && (x == 0 || x == 23)) weight *= 0.5;
          if (!wraps && (y == 0 || y == 20)) weight *= 0.5;
          sum += weight * values[i];
          all += weight;
        }
        return sum / all;
      };
      std::vector<double> start;
      for (int j = 0; j < 21; ++j)
        for (int i = 0; i < 24; ++i)
          start.push_back(0.1 + 0.3 * std::sin(5 * 8.0 * i / (wraps ? 24 : 23)) *
                                    std::cos(3 * 6.0 * j / (wraps ? 21 : 20) + 1));
      double const before = mass(start);
      auto const after = run_pde(text).fields[0];
      EXPECT_NEAR(mass(after), before, 1e-12) << scheme << wraps;
      EXPECT_GT(*std::ranges::max_element(after) - *std::ranges::min_element(after), 1e-3);
    }
}

/// The same bits from both variants on the host, and however steps are asked for.
TEST(PdeGlobals, HaveTheSameBits) {
  std::string const equation = "0.01*laplace(u) + sin(t)*mean((u - mean(u))^2) - max(d_dx(u))*u/9";
  for (char const* precision : {"float32", "float64"}) {
    auto const of = [&](char const* variant, std::int64_t steps) {
      return run_pde(line_of(equation, "ssprk3",
                             fmt::format("precision: {}\nkernels: {{system: {}}}\n", precision,
                                         variant)),
                     Backend::cpu, steps)
          .fields;
    };
    auto const expected = of("threads", 1'000'000);
    EXPECT_EQ(of("reference", 1'000'000), expected);
    EXPECT_EQ(of("threads", 3), expected);
  }
}

}  // namespace
}  // namespace gridstride

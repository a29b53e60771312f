#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/multigrid/coarsening.hpp"
#include "kernels/multigrid/level.hpp"
#include "kernels/multigrid/outer.hpp"
#include "support/multigrid_cases.hpp"
#include "support/refusal.hpp"
#include "support/shared_cycle_cases.hpp"

namespace gridstride::multigrid::test {
namespace {

/// Of any number of points and any sides: no two points in a row are left out, weights are those of
/// linear interpolation, cells keep their volume, and axes without a given end shrink to a point.
TEST(Multigrid, AxesOfAnySizeBecomeCoarser) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (std::int64_t points = 3; points <= 130; ++points) {
      SCOPED_TRACE(fmt::format("{} {}", sides, points));
      Axis axis =
          axis_of(equation_of({{points}, sides}).grid, equation_of({{points}, sides}).sides, 0);
      double const length = std::accumulate(axis.widths.begin(), axis.widths.end(), 0.0);
      int levels = 0;
      while (axis.has_coarser()) {
        auto const [next, transfer] = coarser(axis);
        ASSERT_LT(next.unknowns(), axis.unknowns());
        ASSERT_LE(axis.unknowns(), 2 * next.unknowns() + 1);
        if (axis.periodic && next.nodes() > 1) {
          EXPECT_EQ(next.nodes() % 2, 0);
        }
        EXPECT_NEAR(std::accumulate(next.widths.begin(), next.widths.end(), 0.0), length, 1e-12);
        auto const [least, most] = std::ranges::minmax_element(next.intervals);
        if (!next.intervals.empty()) {
          EXPECT_LE(*most, 3.001 * *least);
        }
        for (int i = 0; i < axis.unknowns(); ++i) {
          auto const at = static_cast<std::size_t>(i);
          int const left = transfer.left[at], right = transfer.right[at];
          bool const is_kept = left >= 0 && transfer.kept[static_cast<std::size_t>(left)] == i;
          if (is_kept) {
            EXPECT_EQ(transfer.to_left[at], 1);
            continue;
          }
          EXPECT_NEAR(transfer.to_left[at] + transfer.to_right[at], 1, 1e-15);
          // Beside it stand those that are kept, or given points.
          if (left >= 0) {
            EXPECT_EQ((transfer.kept[static_cast<std::size_t>(left)] + 1) % axis.unknowns(), i);
          } else {
            EXPECT_EQ(i, 0);
          }
          if (right >= 0) {
            EXPECT_EQ(transfer.kept[static_cast<std::size_t>(right)], (i + 1) % axis.unknowns());
          }
        }
        axis = next;
        ASSERT_LT(++levels, 12);
      }
      EXPECT_LE(axis.unknowns(), 1);
    }
}

/// What is lost of them is at most so much of the energy of a step from 0 to 1 between the points beside:
/// that is upper·lower/(upper + lower), and an error e of the weights takes (upper + lower)·e².
TEST(Multigrid, WeightsAreInSmallSteps) {
  for (double const ratio : {1.0, 1.5, 3.0, 1e2, 4e4, 1e5, 1e7, 1e12})
    for (double const lower : {1.0, ratio}) {
      double const upper = lower == 1 ? ratio : 1, both = lower + upper;
      Weight const weight(static_cast<float>(lower / both), static_cast<float>(upper / both));
      EXPECT_EQ(weight.of(0) + weight.of(1), 1.0f) << ratio;
      double const error = weight.of(0) - lower / both;
      EXPECT_LE(both * error * error, 1.0 / 65536 * (lower * upper / both)) << ratio;
    }
  Weight const reacts(0.25f, 0.5f), none(0, 0);
  EXPECT_EQ(reacts.of(0), 0.25f);
  EXPECT_EQ(reacts.of(1), 0.5f);
  EXPECT_EQ(none.of(0) + none.of(1), 0.0f);
}

TEST(Multigrid, KnownSolutionsComeBack) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& row : variants<double>())
    if (row.backend == Backend::cpu) expect_known_solutions(stream, row.name);
}

/// Levels that are solved by the modes of their axes: the grid itself, where it is small, and coarser
/// ones, with every kind of side and distances that differ.
TEST(Multigrid, ModesSolveSmallLevels) {
  Stream stream(Device::open(Backend::cpu));
  for (int const direct : {most_direct, 20, 5}) expect_known_solutions(stream, "threads", direct);
  Options options;
  options.direct = most_direct;
  for (Trial const& trial :
       {Trial{{65, 65}, "dddd"}, Trial{{64, 37}, "ppnd", 40},
        Trial{{44, 9, 31}, "nnppdd", 3, 1, 1e3}, Trial{{17, 30, 21}, "nnnnpp"}}) {
    auto const outcome = cycles_for(stream, trial, options);
    EXPECT_TRUE(outcome.converged);
    // All but roundings of float32 is found at once.
    EXPECT_LE(outcome.cycles, 3) << trial.sides;
  }
  EXPECT_GT(cycles_for(stream, {{67, 65}, "dddd"}, options).cycles, 3);
}

TEST(Multigrid, FactorsDoNotDependOnSizes) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& sides : {"dddd", "nnnn", "pppp", "dnpp"})
    for (auto const& points : std::vector<std::vector<std::int64_t>>{
             {33, 33}, {257, 257}, {256, 256}, {100, 131}, {255, 190}})
      expect_factor(stream, {points, sides}, 0.1);
  for (auto const& sides : {"dddddd", "nnnnnn", "pppppp", "dnppnd"})
    for (auto const& points :
         std::vector<std::vector<std::int64_t>>{{17, 17, 17}, {65, 65, 65}, {50, 37, 44}})
      expect_factor(stream, {points, sides}, 0.1);
  expect_factor(stream, {{1025, 1025}, "dddd"}, 0.1);
}

/// By V(2,1), whose relaxations go further and further.
TEST(Multigrid, FewCyclesAreEnough) {
  Stream stream(Device::open(Backend::cpu));
  Options options;
  options.error_counts = false;
  options.tolerance = 1e-8;
  for (Trial const& trial : {Trial{{257, 257}, "dddd"}, Trial{{256, 256}, "pppp"},
                             Trial{{65, 65, 65}, "dddddd"}, Trial{{97, 33, 65}, "dddddd"}})
    EXPECT_LE(cycles_for(stream, trial, options).cycles, 5) << trial.sides;
  // In directions, which relax once more where there are fields, and visit a level twice.
  options.conjugates = true;
  EXPECT_LE(cycles_for(stream, {{65, 65, 65}, "dddddd", 1, 1e6}, options).cycles, 6);
  EXPECT_LE(cycles_for(stream, {{70, 65, 57}, "dddddd", 1, 1e4}, options).cycles, 6);
  // Of large grids those that leave little are not made conjugate.
  EXPECT_LE(cycles_for(stream, {{105, 104, 103}, "dddddd", 1, 1e6}, options).cycles, 6);
}

/// The same bits every time, by any number of threads, and however residuals are found.
TEST(Multigrid, TheSameBits) {
  Stream stream(Device::open(Backend::cpu));
  for (Cycle const cycle : {Cycle::v, Cycle::w, Cycle::full})
    for (Trial const& trial :
         {Trial{{90, 71}, "ppnd"}, Trial{{33, 30, 31}, "pppppp", 1, 5}, Trial{{73}, "dn", 1, 7},
          Trial{{64, 37}, "dnpp", 1, 50, 3}, Trial{{3, 40, 30}, "ddnnpp", 3},
          Trial{{32, 19, 25}, "ppdnnd", 2, 1e3}, Trial{{35, 12, 30}, "nnppdd", 1, 1, 1e3}}) {
      Options options;
      options.cycle = cycle;
      auto const first = cycles_for(stream, trial, options, "reference");
      for (int again = 0; again < 2; ++again) {
        auto const other = cycles_for(stream, trial, options, "threads");
        EXPECT_EQ(first.residuals, other.residuals);
        EXPECT_EQ(first.corrections, other.corrections);
      }
    }
}

/// −∇²u = f with u = sin(πx)·sin(πy) …: what one cycle from the coarsest grid up leaves of the error
/// is less than half of what the differences have.
TEST(Multigrid, OneFullCycleReachesTheErrorOfTheDifferences) {
  Stream stream(Device::open(Backend::cpu));
  for (std::vector<std::int64_t> const& points :
       {std::vector<std::int64_t>{257, 257}, {100, 120}, {65, 65, 65}}) {
    Trial const trial{points, std::string(2 * points.size(), 'd')};
    auto const equation = equation_of(trial);
    auto const size = static_cast<std::size_t>(equation.grid.size());
    std::vector<double> exact(size, 1), f(size);
    for (std::size_t p = 0; p < size; ++p) {
      auto const at = equation.grid.indices(static_cast<std::int64_t>(p));
      for (int axis = 0; axis < equation.grid.dims; ++axis)
        exact[p] *= std::sin(std::numbers::pi * equation.grid.coordinate(axis, at[axis]));
      f[p] = equation.grid.dims * std::numbers::pi * std::numbers::pi * exact[p];
    }
    auto const error = [&](int most) {
      Options options;
      options.most_cycles = most;
      options.tolerance = 1e-12;
      std::vector<double> u(size, 0);
      Solver<double>(stream, equation, false, options).solve(stream, f, std::span(u));
      double largest = 0;
      for (std::size_t p = 0; p < size; ++p) largest = std::max(largest, std::abs(u[p] - exact[p]));
      return largest;
    };
    EXPECT_LE(error(1), 1.5 * error(100));
  }
}

TEST(Multigrid, RanksShareCyclesBitByBit) {
  std::vector<SharedTrial> trials = {
      {{9, 11, 65}, "dddddd", 0, 2, 0},
      {{8, 9, 77}, "ppdndn", 0, 3, 0},
      {{10, 6, 83}, "nnppnd", 0.5, 5, 0},
      {{9, 9, 96}, "nnddpp", 0, 3, 0},
      {{12, 8, 80}, "ppnnpp", 0, 2, 0},
      {{7, 9, 90}, "nnnnnn", 0, 4, 0},
      {{33, 100}, "dddd", 0, 3, 0},
      {{20, 96}, "ppnn", 0, 2, 0},
      {{17, 64}, "dnpp", 0, 2, 0},
      {{13, 200}, "nddn", 1, 5, 0},
      {{9, 11, 65}, "dddddd", 0, 3, 0, Cycle::v},
      {{8, 9, 96}, "ppdnpp", 0, 3, 0, Cycle::w},
      {{33, 133}, "ddnd", 0, 3, 0, Cycle::w, "reference"},
      {{9, 11, 40}, "ddddnn", 0, 2, 0, Cycle::full, "auto", 20},
      {{33, 100}, "dddd", 0, 3, 0, Cycle::full, "auto", -1, 2},
      {{9, 11, 13}, "dddddd", 0, 3, nothing_is_cut},
      {{9, 7, 15}, "ppnnpp", 0, 5, 0},
      {{9, 15}, "ppnn", 0, 5, -1},
  };
  expect_shared_trials(Backend::cpu, trials);
}

TEST(Multigrid, RanksShareCyclesWithFieldsBitByBit) {
  std::vector<SharedTrial> trials = {
      {{9, 11, 65}, "dddddd", 0, 2, 0},   {{8, 9, 77}, "ppdndn", 0, 3, 0},
      {{10, 6, 83}, "nnppnd", 0.5, 5, 0}, {{9, 9, 96}, "nnddpp", 0, 3, 0},
      {{12, 8, 80}, "ppnnpp", 0, 2, 0},   {{7, 9, 90}, "nnnnnn", 0, 4, 0},
      {{33, 100}, "dddd", 0, 3, 0},       {{20, 96}, "ppnn", 0, 2, 0},
      {{17, 64}, "dnpp", 0, 2, 0},        {{13, 200}, "nddn", 1, 5, 0},
      {{9, 11, 65}, "dddddd", 0, 1, 0},   {{9, 15}, "ppnn", 0, 5, -1},
      {{9, 7, 15}, "ppnnpp", 0, 5, 0},    {{5, 9}, "dddd", 0, 2, 0}};
  std::string const fields[] = {"s", "jk", "k", "j", "sk"};
  Cycle const cycles[] = {Cycle::full, Cycle::v, Cycle::w};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].fields = fields[i % 5];
    trials[i].cycle = cycles[i % 3];
    if (trials[i].has('j')) trials[i].most_cycles = 12;
  }
  // A ring of which windows would have a plane twice.
  trials.push_back({{9, 8, 32}, "ddddpp", 0, 2, 0, Cycle::full, "auto", -1, 100, false, "s"});
  trials.back().spacing = 0.25;
  // The finest level has a in the place of faces.
  for (std::int64_t const least : {std::int64_t{0}, nothing_is_cut}) {
    trials.push_back(
        {{12, 13, 65}, "ddppdd", 0, 3, least, Cycle::full, "auto", -1, 100, false, "s"});
    trials.push_back({{14, 12, 96}, "ddddpp", 0, 2, least, Cycle::v, "auto", -1, 100, false, "sk"});
    trials.back().spacing = 0.02;
  }
  // What jumps where ranks are cut alone, and what does not.
  for (std::string const of : {"c", "e"}) {
    trials.push_back({{9, 11, 65}, "dddddd", 0, 2, 0, Cycle::full, "auto", -1, 100, false, of});
    trials.back().after = -1;
  }
  // Axes that become coarser one by one, the slowest one last and first; other sweeps.
  for (double const spacing : {40.0, 0.02}) {
    trials.push_back({{9, 10, 67}, "dddnnd", 0, 3, 0, Cycle::full, "auto", -1, 100, false, "s"});
    trials.back().spacing = spacing;
    trials.push_back({{30, 96}, "ppnn", 0, 2, 0, Cycle::v, "reference", -1, 100, false, "sk"});
    trials.back().spacing = spacing;
  }
  expect_shared_trials(Backend::cpu, trials);
}

/// Windows of one sweep, and of several.
TEST(Multigrid, RanksShareCyclesOfAnySweeps) {
  for (auto const& [before, after] : {std::pair{1, 0}, {1, 1}, {3, 2}, {2, 3}}) {
    SharedTrial trial{{7, 8, 67}, "dnppdd", 0, 3, 0, Cycle::full};
    trial.before = before, trial.after = after;
    for (std::string const fields : {"", "s", "j"}) {
      trial.fields = fields;
      trial.most_cycles = fields == "j" ? 12 : 100;
      expect_shared_trials(Backend::cpu, {trial});
    }
  }
}

TEST(Multigrid, WhatRanksDoNotShare) {
  EXPECT_TRUE(gridstride::test::on_ranks(2, [](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    RankPlanes planes(ranks, stream, {0, 9, 20}, false, 33 * sizeof(double), 8);
    auto equation = equation_of({{33, 20}, "dddd"});
    equation.ranks = &planes;
    EXPECT_THROW(Solver<double>(stream, equation, false, {.relaxation = Relaxation::jacobi}),
                 std::invalid_argument);
    std::vector<double> f(33 * static_cast<std::size_t>(planes.held()), 1), u(f.size(), 0);
    Solver<double> solver(stream, equation, false);
    EXPECT_THROW(solver.precondition(stream, f, 1, u), std::invalid_argument);
    RankPlanes few(ranks, stream, {0, 1, 20}, false, 33 * sizeof(double), 8);
    equation.ranks = &few;
    EXPECT_THROW(Solver<double>(stream, equation, false), std::invalid_argument);
  }));
}

/// Powers of two leave all digits alone, also where products of u and f are out of range.
TEST(Multigrid, UnitsDoNotMatter) {
  Stream stream(Device::open(Backend::cpu));
  auto const equation = equation_of({{33, 20}, "ddnd"});
  for (bool const conjugates : {false, true}) {
    Options options;
    options.conjugates = conjugates;
    Solver<double> solver(stream, equation, false, options);
    auto const solved = [&](int exponent) {
      std::vector<double> f(33 * 20), u(f.size(), 0);
      for (std::size_t p = 0; p < f.size(); ++p)
        f[p] = std::ldexp(std::sin(static_cast<double>(p)), exponent);
      EXPECT_TRUE(solver.solve(stream, f, std::span(u)).converged) << exponent;
      for (double& value : u) value = std::ldexp(value, -exponent);
      return u;
    };
    auto const plain = solved(0);
    for (int const exponent : {-700, 700}) EXPECT_EQ(solved(exponent), plain) << exponent;
  }
}

TEST(Multigrid, TellsWhatItHasNotReached) {
  Stream stream(Device::open(Backend::cpu));
  Options options;
  options.most_cycles = 3;
  auto const outcome = cycles_for(stream, {{65, 65}, "dddd"}, options);
  EXPECT_FALSE(outcome.converged);
  EXPECT_EQ(outcome.cycles, 3);
  EXPECT_GT(outcome.error, options.tolerance);
}

TEST(Multigrid, WhatIsNotANumberIsForgotten) {
  Stream stream(Device::open(Backend::cpu));
  expect_forgotten(stream, false);
  expect_forgotten(stream, true);
}

TEST(Multigrid, NothingAndWhatIsNotANumber) {
  Stream stream(Device::open(Backend::cpu));
  auto const equation = equation_of({{33, 20}, "dddd"});
  Solver<double> solver(stream, equation, false);
  std::vector<double> f(33 * 20, 0), u(f.size(), 3);
  auto const nothing = solver.solve(stream, f, std::span(u));
  EXPECT_TRUE(nothing.converged);
  EXPECT_EQ(u[40], 0);
  f[100] = std::numeric_limits<double>::quiet_NaN();
  auto const lost = solver.solve(stream, f, std::span(u));
  EXPECT_FALSE(lost.converged);
}

TEST(Multigrid, UnitsOfRightHandSidesArePowersOfTwo) {
  using Limits = std::numeric_limits<double>;
  auto const unit = [](double largest) { return unit_of(poisson::bits_of_magnitude(largest)); };
  for (double const largest :
       {1.0, 1.99, 2.0, 3e-7, -5e300, Limits::max(), Limits::min(), 1.2e-308})
    EXPECT_EQ(unit(largest), std::ldexp(1.0, -std::ilogb(largest))) << largest;
  for (double const largest : {0.0, Limits::infinity(), Limits::quiet_NaN()})
    EXPECT_EQ(unit(largest), 1) << largest;
  // There is no larger one.
  EXPECT_EQ(unit(Limits::denorm_min()), std::ldexp(1.0, 1023));
}

/// What decays for long comes to numbers that have few digits, and to none.
TEST(Multigrid, SolutionsMayBeLessThanNormalNumbers) {
  Stream stream(Device::open(Backend::cpu));
  auto const equation = equation_of({{33, 20}, "dddd"});
  Solver<double> solver(stream, equation, false);
  std::vector<double> f(33 * 20), wanted(f.size()), tiny(f.size()), u(f.size());
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = std::sin(static_cast<double>(7 * i * i));
  ASSERT_TRUE(solver.solve(stream, f, std::span(wanted)).converged);
  for (int const exponent : {-1020, -1040, -1060, -1073}) {
    SCOPED_TRACE(exponent);
    for (std::size_t i = 0; i < f.size(); ++i) tiny[i] = std::ldexp(f[i], exponent);
    auto const outcome = solver.solve(stream, tiny, std::span(u));
    EXPECT_TRUE(outcome.converged);
    EXPECT_LE(outcome.cycles, 20);
    for (std::size_t i = 0; i < f.size(); ++i) {
      double const expected = std::ldexp(wanted[i], exponent);
      ASSERT_NEAR(u[i], expected,
                  1e-9 * std::abs(expected) + 16 * std::numeric_limits<double>::denorm_min());
    }
  }
}

/// Corrections are in float32 only where they keep their digits.
TEST(Multigrid, ChoosesThePrecisionOfCorrections) {
  Stream stream(Device::open(Backend::cpu));
  auto const inner = [&](Trial const& trial) {
    return Solver<double>(stream, equation_of(trial), false).inner();
  };
  EXPECT_EQ(inner({{65, 65, 65}, "dddddd"}), Precision::float32);
  EXPECT_EQ(inner({{257, 257}, "dddd"}), Precision::float32);
  EXPECT_EQ(inner({{100000}, "dd"}), Precision::float64);
  // An axis a thousand times as long holds the longest errors only where it alone is held.
  EXPECT_EQ(inner({{65, 65}, "dddd", 1000}), Precision::float32);
  EXPECT_EQ(inner({{65, 65}, "ddnn", 1000}), Precision::float64);
  EXPECT_EQ(inner({{65, 65}, "nnnn", 1000}), Precision::float64);
  auto equation = equation_of({{65, 65, 65}, "dddddd"});
  std::vector<double> a(static_cast<std::size_t>(equation.grid.size()), 3);
  equation.diffusivities = a.data();
  for (auto const& [one, wanted] : {std::pair{3.0, Precision::float32},
                                    {7.0, Precision::float32},
                                    {1e7, Precision::float64},
                                    {1e-7, Precision::float64}}) {
    a[100] = one;
    EXPECT_EQ(Solver<double>(stream, equation, false).inner(), wanted) << one;
  }
}

/// Directions have them in float32 until roundings of what is nearly constant in a box have more energy
/// than the longest errors. Where they just do, they are not many more than with any smaller jump.
TEST(Multigrid, DirectionsInFloat32) {
  Stream stream(Device::open(Backend::cpu));
  Options options;
  options.conjugates = true;
  options.error_counts = false;
  options.tolerance = 1e-7;
  auto equation = equation_of({{65, 65}, "dddd"});
  std::vector<double> a(static_cast<std::size_t>(equation.grid.size()), 1);
  equation.diffusivities = a.data();
  for (auto const& [one, wanted] : {std::pair{1e7, Precision::float32},
                                    {5e7, Precision::float32},
                                    {1e9, Precision::float64},
                                    {1e-6, Precision::float32},
                                    {1e-9, Precision::float64}}) {
    a[100] = one;
    EXPECT_EQ(Solver<double>(stream, equation, false, options).inner(), wanted) << one;
  }
  for (auto const& points : std::vector<std::vector<std::int64_t>>{{65, 65}, {33, 33, 33}}) {
    std::string const sides(2 * points.size(), 'd');
    int const few = cycles_for(stream, {points, sides, 1, 1e3}, options).cycles;
    EXPECT_LE(cycles_for(stream, {points, sides, 1, 5e7}, options).cycles, few + 5) << sides;
  }
}

/// Fields whose values float32 does not hold: equations on levels have their scale.
TEST(Multigrid, FieldsOfAnyUnit) {
  Stream stream(Device::open(Backend::cpu));
  auto equation = equation_of({{33, 33}, "dddd"});
  auto const size = static_cast<std::size_t>(equation.grid.size());
  for (bool const conjugates : {false, true}) {
    std::vector<Outcome> all;
    for (double const unit : {1e-200, 1e-60, 1.0, 1e60, 1e200}) {
      std::vector<double> a(size), f(size, unit), u(size, 0);
      for (std::size_t p = 0; p < size; ++p) a[p] = unit * (p % 37 < 20 ? 1 : 1e4);
      equation.diffusivities = a.data();
      all.push_back(Solver<double>(stream, equation, false, {.conjugates = conjugates})
                        .solve(stream, std::span<double const>(f), std::span(u)));
      EXPECT_TRUE(all.back().converged) << unit;
      // Units that are no powers of two round faces otherwise, and with them how much there is of the error
      // that cycles leave the most of: how many they are differs, and not how much they leave.
      if (conjugates) {
        EXPECT_NEAR(all.back().cycles, all.front().cycles, 1);
      } else {
        EXPECT_NEAR(all.back().factor(), all.front().factor(), 0.05);
      }
    }
  }
}

/// From a solution on there is nothing to correct but roundings of u, which stay as they are.
TEST(Multigrid, SolutionsStaySolutions) {
  Stream stream(Device::open(Backend::cpu));
  for (double const reaction : {0.7, 90.1, 901.3, 6545.57, 7213.3})
    for (Trial const& trial :
         {Trial{{33, 17}, "nnpp", 1, 1, reaction}, Trial{{65}, "dn", 1, 1, reaction},
          Trial{{12, 9, 14}, "nnddpp", 1, 1e3, reaction}}) {
      auto equation = equation_of(trial);
      auto const size = static_cast<std::size_t>(equation.grid.size());
      std::vector<double> a(size, 1);
      std::fill(a.begin() + a.size() / 3, a.begin() + a.size() / 2, trial.inside);
      auto const field = to_device<double>(stream, a),
                 right = to_device<double>(stream, std::vector<double>(size, 0.4844 * reaction));
      bool const jumps = trial.inside != 1;
      if (jumps) equation.diffusivities = field.data();
      auto u = to_device<double>(stream, std::vector<double>(size, 0));
      Solver<double> solver(stream, equation, false, {.conjugates = jumps, .tolerance = 1e-12});
      for (int times = 0; times < 4; ++times) {
        auto const outcome = solver.solve(stream, right.span(), u.span(), times > 0);
        EXPECT_TRUE(outcome.converged) << trial.sides << ' ' << reaction;
        EXPECT_LE(outcome.cycles, times > 0 ? 6 : 12) << trial.sides << ' ' << reaction;
      }
    }
}

TEST(Multigrid, PreconditionersAreCycles) {
  Stream stream(Device::open(Backend::cpu));
  expect_preconditioner_to_be_a_cycle(stream);
  expect_preconditioner_of_unknowns_alone(stream);
}

TEST(Multigrid, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  auto equation = equation_of({{33, 20}, "dddd"});
  std::vector<double> f(33 * 20, 0), u(f.size() - 1, 3);
  Solver<double> solver(stream, equation, false);
  EXPECT_THROW(solver.solve(stream, f, std::span(u)), std::invalid_argument);
  EXPECT_THROW(solver.solve(stream, f, std::span(f)), std::invalid_argument);
  EXPECT_THROW(Solver<double>(stream, equation, false, {.before = 0}), std::invalid_argument);
  EXPECT_THROW(Solver<double>(stream, equation, false, {.direct = most_direct + 1}),
               std::invalid_argument);
  EXPECT_THROW(Solver<double>(stream, equation, false, {}, "fused"), std::invalid_argument);
  equation.sides[1][0] = SideKind::periodic;
  EXPECT_THROW(Solver<double>(stream, equation, false), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride::multigrid::test

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/multigrid_cases.hpp"
#include "support/shared_cycle_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::multigrid::test {
namespace {

class MultigridGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(MultigridGpu, KnownSolutionsComeBack) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const& row : variants<double>())
    if (row.backend == Backend::cuda) expect_known_solutions(stream, row.name);
}

/// Levels that are cut, with columns and without, before those that are solved by modes.
TEST_F(MultigridGpu, RanksShareCyclesBitByBit) {
  std::vector<SharedTrial> trials;
  for (std::string const variant : {"fused", "steps"})
    for (Cycle const cycle : {Cycle::full, Cycle::w}) {
      trials.push_back({{66, 70, 90}, "dddddd", 0, 2, 0, cycle, variant});
      trials.push_back({{130, 37, 141}, "ppdndn", 0, 3, 0, cycle, variant});
      trials.push_back({{34, 35, 160}, "nnppnn", 0, 3, 0, cycle, variant, 10});
      trials.push_back({{40, 36, 96}, "ddnnpp", 0.5, 2, 0, cycle, variant, 12});
      trials.push_back({{500, 301}, "ddnn", 0, 3, 0, cycle, variant});
      trials.push_back({{130, 256}, "nnpp", 0, 2, 0, cycle, variant});
      trials.push_back({{33, 21, 40}, "ddddpp", 0, 4, 0, cycle, variant});
      trials.push_back({{67, 75, 131}, "ppddnd", 0, 5, nothing_is_cut, cycle, variant});
      trials.push_back({{12, 13, 12}, "nddnnd", 0, 5, 0, cycle, variant});  // a plane of a rank
      trials.push_back({{34, 35, 17}, "ddppnn", 0, 8, 0, cycle, variant});
    }
  expect_shared_trials(Backend::cuda, trials);
}

/// Fields: no level is solved by modes, those of up to a few thousand points by one block. Sums of conjugate
/// directions are of several planes together on the last two.
std::vector<SharedTrial> trials_with_fields(std::string const& variant, Cycle cycle) {
  std::vector<SharedTrial> trials = {
      {{66, 70, 90}, "dddddd", 0, 2, 0, cycle, variant},
      {{65, 37, 141}, "nndndn", 0, 3, 0, cycle, variant},
      {{34, 35, 160}, "nnppnn", 0, 3, 0, cycle, variant},
      {{40, 36, 96}, "ddnnpp", 0.5, 2, 0, cycle, variant},
      {{500, 301}, "ddnn", 0, 3, 0, cycle, variant},
      {{130, 256}, "ppdn", 0, 2, 0, cycle, variant},
      {{33, 21, 40}, "ddddpp", 0, 4, 0, cycle, variant},
      {{67, 75, 131}, "ppddnd", 0, 5, nothing_is_cut, cycle, variant},
      {{67, 35, 141}, "dddddd", 0, 3, 0, cycle, variant},  // every second point of planes is kept
      {{45, 40, 67}, "ddppdd", 0, 3, nothing_is_cut, cycle, variant}};
  if (variant == "fused") {
    trials.push_back({{130, 129, 160}, "dddddd", 0, 3, 0, cycle, variant});
    trials.push_back({{1400, 1200}, "ddnd", 0, 3, 0, cycle, variant});
  }
  std::string const fields[] = {"s", "jk", "k", "sk"};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].fields = fields[(i + (cycle == Cycle::w ? 2 : 0)) % 4];
    if (trials[i].has('j')) trials[i].most_cycles = 6;  // which let residuals grow
    if (cycle == Cycle::w) trials[i].most_cycles = 3;   // which are long
  }
  return trials;
}

/// Residuals of what u comes to, before it is there: of large grids in one process, and not of ranks.
TEST_F(MultigridGpu, RanksShareDirectionsOfLargeGridsBitByBit) {
  for (auto trial : {SharedTrial{{130, 129, 160}, "dddddd", 0, 3, 0},
                     SharedTrial{{129, 130, 131}, "nnppdn", 0, 2, 0},
                     SharedTrial{{128, 131, 132}, "ppdnpp", 0, 2, 0}})
    for (std::string const fields : {"s", "j"}) {
      SCOPED_TRACE(trial.sides + " " + fields);
      trial.fields = fields;
      trial.conjugates = true;
      if (trial.has('j')) trial.most_cycles = 12;  // which are many otherwise
      expect_shared_cycles<double>(Backend::cuda, trial);
    }
}

TEST_F(MultigridGpu, RanksShareFullCyclesWithFieldsBitByBit) {
  expect_shared_trials(Backend::cuda, trials_with_fields("fused", Cycle::full));
}

TEST_F(MultigridGpu, RanksShareLongCyclesWithFieldsBitByBit) {
  expect_shared_trials(Backend::cuda, trials_with_fields("fused", Cycle::w));
}

TEST_F(MultigridGpu, RanksShareCyclesStepByStepWithFieldsBitByBit) {
  for (Cycle const cycle : {Cycle::full, Cycle::w})
    expect_shared_trials(Backend::cuda, trials_with_fields("steps", cycle));
}

/// To the same u as on the host, and by as many cycles where these `count`.
void expect_as_on_host(SharedTrial const& trial, bool count) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  auto const found = solved<double>(stream, trial, nullptr);
  auto const wanted = solved<double>(host, trial, nullptr);
  EXPECT_TRUE(wanted.outcome.converged);
  EXPECT_TRUE(found.outcome.converged);
  // Where thirty of them leave half each, roundings of one come to others after.
  if (count) {
    EXPECT_NEAR(found.outcome.cycles, wanted.outcome.cycles, 1 + wanted.outcome.cycles / 20);
  }
  double largest = 0, differs = 0;
  for (std::size_t i = 0; i < found.u.size(); ++i) {
    largest = std::max(largest, std::abs(wanted.u[i]));
    differs = std::max(differs, std::abs(found.u[i] - wanted.u[i]));
  }
  EXPECT_LE(differs, 1e-9 * largest);
}

/// Directions by columns and by tiles, with a or κ alone a field too: as many as on the host, to the same u.
TEST_F(MultigridGpu, DirectionsAreThoseOfTheHost) {
  for (std::string const fields : {"k", "s", "sk", "j"})
    for (auto const& [points, sides] : {std::pair{std::vector<std::int64_t>{66, 41, 70}, "dddddd"},
                                        {{70, 64, 39}, "dnddpp"},
                                        {{130, 45, 23}, "ppnndd"},
                                        {{150, 90}, "dddd"},
                                        {{128, 77}, "ppnd"}}) {
      if (fields == "j" && points.size() < 3) continue;  // where directions come to nothing
      SharedTrial trial{points, sides, 0, 1, 0};
      trial.fields = fields;
      trial.conjugates = true;
      SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(points, "x"), sides, fields));
      expect_as_on_host(trial, true);
    }
}

/// Of volumes with one unknown along an axis, on the finest level or soon, whose neighbours lie on sides.
TEST_F(MultigridGpu, ThinVolumesAreThoseOfTheHost) {
  for (std::string const fields : {"", "k", "s", "sk", "j"})
    for (auto const& [points, sides] : {std::pair{std::vector<std::int64_t>{33, 35, 3}, "dddddd"},
                                        {{33, 3, 35}, "dndddd"},
                                        {{3, 34, 35}, "ddnddn"},
                                        {{40, 42, 3}, "ppnndd"},
                                        {{40, 3, 42}, "ppddpp"},
                                        {{66, 70, 5}, "ddnddd"},
                                        {{66, 5, 70}, "dndddd"}}) {
      SharedTrial trial{points, sides, 0, 1, 0};
      trial.fields = fields;
      trial.conjugates = !fields.empty();
      SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(points, "x"), sides, fields));
      expect_as_on_host(trial, !fields.empty());  // else modes may solve the finest level on a GPU
    }
}

TEST_F(MultigridGpu, RelaxedSolutionsComeBack) {
  Stream stream(Device::open(Backend::cuda));
  expect_relaxed_solutions(stream);
}

TEST_F(MultigridGpu, PreconditionersAreCycles) {
  Stream stream(Device::open(Backend::cuda));
  expect_preconditioner_to_be_a_cycle(stream);
  expect_preconditioner_of_unknowns_alone(stream);
}

/// Sweeps are those of the host, and have the same bits every time.
TEST_F(MultigridGpu, SweepsAreThoseOfTheHost) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  for (Relaxation const method : {Relaxation::jacobi, Relaxation::in_turn})
    for (Trial const& trial : {Trial{{130, 129}, "ppnd"}, Trial{{33, 30, 31}, "pppppp", 1, 5},
                               Trial{{40, 33, 35}, "dddnnn"}}) {
      Options const options{.most_cycles = 40, .relaxation = method, .factor = 0.95};
      auto const found = cycles_for(stream, trial, options);
      auto const wanted = cycles_for(host, trial, options);
      ASSERT_EQ(found.residuals.size(), 4u);
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(found.residuals[i], wanted.residuals[i], 1e-11 * wanted.residuals[0]);
      EXPECT_EQ(cycles_for(stream, trial, options).residuals, found.residuals);
    }
}

/// How far roundings of corrections take residuals after a cycle: as those of A·u, which has the
/// diagonal of A from each of u and its neighbours. Corrections are in float32 but for boxes
/// of a much larger or smaller a.
double roundings(Trial const& trial, double largest) {
  auto const equation = equation_of(trial);
  double diagonal = equation.reaction;
  for (std::size_t i = 0; i < trial.points.size(); ++i)
    diagonal += 4 * std::max(trial.inside, 1.0) / std::pow(equation.grid.spacing[i], 2);
  bool const unlike = trial.inside < 1e-5 || trial.inside > 1e5;
  double const epsilon =
      unlike ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return 8 * epsilon * diagonal * largest;
}

/// Levels that a block does, and larger ones, by columns; corrections in float32 and in float64.
TEST_F(MultigridGpu, FactorsAreThoseOfTheHost) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  for (auto const& row : variants<double>()) {
    if (row.backend != Backend::cuda) continue;
    for (Cycle const cycle : {Cycle::v, Cycle::w, Cycle::full})
      for (Trial const& trial :
           {Trial{{130, 129}, "ppnd"}, Trial{{33, 30, 31}, "pppppp", 1, 5},
            Trial{{40, 33, 35}, "dddnnn"}, Trial{{129, 100}, "nnnn", 30},
            Trial{{60, 45}, "ddnn", 1, 20}, Trial{{65, 33, 49}, "dddddd"},
            Trial{{48, 20, 25}, "ppddnn"}, Trial{{130, 129}, "ppnd", 1, 7},
            Trial{{129, 100}, "dnnd", 1, 1e6}, Trial{{65, 33, 49}, "dddddd", 1, 5},
            Trial{{48, 20, 25}, "ppddnn", 1, 30, 2.0}, Trial{{47, 38, 33}, "ndpppp", 1, 300},
            Trial{{34, 40, 26}, "pppppp", 1, 8}, Trial{{61, 22, 40}, "dnppdd", 1, 1e-7}}) {
        // Small levels by visits, by modes, and the grid itself by modes.
        for (int const direct : {0, 20, most_direct}) {
          SCOPED_TRACE(fmt::format("{} {} {} {} direct {}", row.name, trial.sides,
                                   fmt::join(trial.points, "x"), trial.inside, direct));
          if (direct > 0 && trial.inside != 1) continue;
          Options options;
          options.cycle = cycle;
          options.direct = direct;
          options.tolerance = 1e-8;  // beyond which roundings of large a are in the factor
          auto const found = cycles_for(stream, trial, options, row.name);
          auto const wanted = cycles_for(host, trial, options);
          EXPECT_TRUE(found.converged);
          EXPECT_NEAR(found.cycles, wanted.cycles, 1);
          EXPECT_NEAR(found.residuals[1], wanted.residuals[1],
                      roundings(trial, wanted.corrections[0]));
          EXPECT_LE(found.factor(), std::max(0.1, 1.1 * wanted.factor()));
          EXPECT_EQ(cycles_for(stream, trial, options, row.name).residuals, found.residuals);
        }
      }
  }
}

/// Places of rows that are no points' are 0 again after a right-hand side that is not a number.
TEST_F(MultigridGpu, FactorsOfLargeGrids) {
  Stream stream(Device::open(Backend::cuda));
  for (Trial const& trial : {Trial{{1025, 1025}, "dddd"}, Trial{{1024, 1025}, "ppnn"},
                             Trial{{257, 257, 257}, "dddddd"}, Trial{{256, 257, 250}, "ppnndn"}})
    expect_factor(stream, trial, 0.1);
  for (Trial const& trial :
       {Trial{{1025, 1025}, "dddd", 1000}, Trial{{257, 257, 257}, "dddddd", 0.001},
        Trial{{1025, 1025}, "dddd", 1, 1e3}, Trial{{257, 257, 257}, "nndddd", 1, 1e-6}})
    expect_factor(stream, trial, 0.2);
  for (double const inside : {1e6, 1e-6}) {
    expect_conjugate_factor(stream, {{1025, 1025}, "dnnd", 1, inside}, 0.2);
    expect_conjugate_factor(stream, {{257, 257, 257}, "dddddd", 1, inside}, 0.2);
  }
}

TEST_F(MultigridGpu, FewDirectionsWhateverJumps) {
  Stream stream(Device::open(Backend::cuda));
  for (std::string_view const variant : {"steps", "fused"})
    expect_few_directions(stream,
                          {{Jumps::ball, {129, 129, 129}, 1e6, 9},
                           {Jumps::chessboard, {65, 65}, 1e6, 11},
                           {Jumps::chessboard, {41, 43, 45}, 1e6, 12},
                           {Jumps::boxes_at_a_corner, {65, 65, 65}, 1e6, 14}},
                          variant);
}

/// Cycles begin before the host knows of it.
TEST_F(MultigridGpu, WhatIsNotANumberIsForgotten) {
  Stream stream(Device::open(Backend::cuda));
  expect_forgotten(stream, false);
  expect_forgotten(stream, true);
}

}  // namespace
}  // namespace gridstride::multigrid::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/multigrid/multigrid.hpp"
#include "kernels/support/rank_planes.hpp"
#include "support/shared_equation_cases.hpp"

/// Cycles that ranks of one process make together, against those that it makes alone.
namespace gridstride::multigrid::test {

struct SharedTrial {
  std::vector<std::int64_t> points;
  std::string sides;
  double reaction;
  int ranks;
  std::int64_t least_cut;  ///< 0: as many levels are cut as can be
  Cycle cycle = Cycle::full;
  std::string variant = "auto";
  int direct = -1;
  int most_cycles = 100;
  bool conjugates = false;
  /// Fields, a letter each: a that is smooth (s), even smoother (e), differs between planes 30 and 31 (c) or
  /// jumps by a thousand both ways (j), and κ (k).
  std::string fields = "";
  double spacing = 1;  ///< along the slowest axis
  int before = 2, after = 1;

  bool has(char field) const { return fields.find(field) != std::string::npos; }
};

/// a, or κ, at all points.
inline std::vector<double> field_of(Grid const& grid, char field) {
  std::vector<double> values;
  for (std::int64_t p = 0; p < grid.size(); ++p) {
    auto const [i, j, k] = grid.indices(p);
    auto const at = static_cast<double>(i + 2 * j + 3 * k);
    if (field == 's') values.push_back(1.2 + std::sin(0.3 * at) + 0.001 * at);
    if (field == 'j') values.push_back(std::pow(10.0, 3 * ((i / 5 + j / 4 + k / 7) % 3 - 1)));
    if (field == 'e') values.push_back(1.2 + 0.3 * std::sin(0.1 * at));
    if (field == 'c') values.push_back(k > 30 ? 2 : 1);
    if (field == 'k') values.push_back(0.3 + std::cos(0.2 * at) * std::cos(0.2 * at));
  }
  return values;
}

/// From 0, and from something else.
struct Solved {
  Outcome outcome;
  std::vector<double> u, from_u;
};

template <class T>
Solved solved(Stream& stream, SharedTrial const& trial, RankPlanes* planes) {
  auto e = poisson::test::shared_equation<T>(trial.points, trial.sides, false, Precision::float64);
  e.grid.spacing[e.grid.dims - 1] = trial.spacing;
  auto const on_device = [&](std::vector<double> const& values) {
    return poisson::test::to_device<T>(
        stream, planes == nullptr ? values : poisson::test::held_planes(*planes, values));
  };
  Buffer<T> a, kappa;
  for (char const field : trial.fields)
    (field == 'k' ? kappa : a) = on_device(field_of(e.grid, field));
  poisson::Equation<T> const equation{.grid = e.grid,
                                      .sides = e.sides,
                                      .diffusivity = 1.5,
                                      .diffusivities = a.size() > 0 ? a.data() : nullptr,
                                      .reaction = trial.reaction,
                                      .reactions = kappa.size() > 0 ? kappa.data() : nullptr,
                                      .ranks = planes};
  bool const singular =
      trial.reaction == 0 && !trial.has('k') && trial.sides.find('d') == std::string::npos;
  Options options;
  options.cycle = trial.cycle;
  options.least_cut = trial.least_cut;
  options.direct = trial.direct;
  options.conjugates = trial.conjugates;
  options.before = trial.before, options.after = trial.after;
  options.most_cycles = trial.most_cycles;
  options.tolerance = sizeof(T) == 4 ? 1e-6 : 1e-11;
  auto const f = on_device(e.right);
  auto x = on_device(std::vector<double>(e.right.size(), 0.25)), y = on_device(e.right);
  Solver<T> solver(stream, equation, singular, options, trial.variant);
  solver.solve(stream, f.span(), y.span(), true);
  Solved found{solver.solve(stream, f.span(), x.span()), {}, {}};
  for (T const value : poisson::test::from_device(stream, x)) found.u.push_back(value);
  for (T const value : poisson::test::from_device(stream, y)) found.from_u.push_back(value);
  return found;
}

/// On its ranks as one process has it, in every bit.
template <class T>
void expect_shared_cycles(Backend backend, SharedTrial const& trial) {
  Stream stream(Device::open(backend));
  auto const alone = solved<T>(stream, trial, nullptr);
  Outcome const& expected = alone.outcome;
  if (!trial.has('j')) {
    EXPECT_EQ(expected.converged, trial.most_cycles == 100);
  }
  auto const planes_of_grid = trial.points.back();
  auto const line = alone.u.size() / static_cast<std::size_t>(planes_of_grid);
  RankCuts cuts;
  auto const e =
      poisson::test::shared_equation<T>(trial.points, trial.sides, false, Precision::float64);
  std::int64_t const together = planes_together(backend, e.grid, e.sides, !trial.fields.empty());
  // The first rank has some less than the others, and one an odd number.
  for (int rank = 0; rank < trial.ranks; ++rank)
    cuts.push_back(rank == 0 ? 0 : (planes_of_grid * rank / trial.ranks - 1) / together * together);
  cuts.push_back(planes_of_grid);
  bool const around = trial.sides[trial.sides.size() - 1] == 'p';
  EXPECT_TRUE(gridstride::test::on_ranks(trial.ranks, [&](Ranks& ranks) {
    Stream own(Device::open(backend));
    RankPlanes planes(ranks, own, cuts, around, line * sizeof(double), 64);
    auto const shared = solved<T>(own, trial, &planes);
    Outcome const& found = shared.outcome;
    EXPECT_EQ(found.converged, expected.converged);
    EXPECT_EQ(found.cycles, expected.cycles);
    EXPECT_EQ(found.error, expected.error);
    EXPECT_EQ(found.residuals, expected.residuals);
    EXPECT_EQ(found.corrections, expected.corrections);
    auto const first = static_cast<std::size_t>(planes.lower()) * line;
    auto const size = static_cast<std::size_t>(planes.upper() - planes.lower()) * line;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < size; ++i)
      differ += (shared.u[line + i] != alone.u[first + i]) +
                (shared.from_u[line + i] != alone.from_u[first + i]);
    EXPECT_EQ(differ, 0u) << "of " << size << ", rank " << ranks.rank();
  }));
}

/// By cycles alone, and by conjugate directions.
inline void expect_shared_trials(Backend backend, std::vector<SharedTrial> const& trials) {
  for (auto trial : trials) {
    SCOPED_TRACE(fmt::format("{} x {} {} on {} ranks, least {}, cycle {}, {} {}", trial.points[0],
                             trial.points.back(), trial.sides, trial.ranks, trial.least_cut,
                             static_cast<int>(trial.cycle), trial.variant, trial.fields));
    expect_shared_cycles<double>(backend, trial);
    expect_shared_cycles<float>(backend, trial);
    trial.conjugates = true;
    expect_shared_cycles<double>(backend, trial);
  }
}

/// Levels that all ranks have as a whole: also with few planes each, and seams.
inline constexpr std::int64_t nothing_is_cut = std::numeric_limits<std::int64_t>::max();

}  // namespace gridstride::multigrid::test

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/multigrid/multigrid.hpp"
#include "support/poisson_kernel_cases.hpp"

/// Cycles through coarser grids, on any device.
namespace gridstride::multigrid::test {

using poisson::test::from_device;
using poisson::test::known_equation;
using poisson::test::to_device;

/// The largest difference from a known solution of random equations, whose matrix is put together
/// face by face; where κ is left out and nothing is given, but for a constant.
template <class T>
double known_error(Stream& stream, std::vector<std::int64_t> const& points,
                   std::string const& sides, bool varies, bool reacts, Options const& options,
                   std::string_view variant) {
  auto const e = known_equation(points, sides, varies);
  auto const size = e.f.size();
  std::vector<double> f(size, 0), start(size, 7);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      double const kappa = i == j && !reacts ? e.kappa[i] : 0;
      if (e.is_unknown(static_cast<std::int64_t>(i))) f[i] += (e.matrix[i][j] - kappa) * e.u[j];
    }
  auto const a = to_device<T>(stream, e.a), kappa = to_device<T>(stream, e.kappa),
             right = to_device<T>(stream, f);
  poisson::Equation<T> equation{
      .grid = e.grid, .sides = e.sides, .diffusivity = e.a[0], .reaction = reacts ? e.kappa[0] : 0};
  if (varies) {
    equation.diffusivities = a.data();
    if (reacts) equation.reactions = kappa.data();
  }
  bool const singular = !reacts && sides.find('d') == std::string::npos;
  auto u = to_device<T>(stream, start);
  Solver<T> solver(stream, equation, singular, options, variant);
  auto const outcome = solver.solve(stream, right.span(), u.span());
  EXPECT_TRUE(outcome.converged) << outcome.cycles << " cycles, factor " << outcome.factor();
  EXPECT_EQ(outcome.residuals.size(), outcome.corrections.size() + 1);
  auto const found = from_device(stream, u);
  double shift = 0, largest = 0;
  if (singular) shift = found[0] - e.u[0];
  for (std::size_t i = 0; i < size; ++i) {
    bool const is_unknown = e.is_unknown(static_cast<std::int64_t>(i));
    if (!is_unknown) {
      EXPECT_EQ(found[i], T(7)) << "a given point is left alone";
    } else {
      largest = std::max(largest, std::abs(found[i] - shift - e.u[i]));
    }
  }
  return largest;
}

/// Every kind of side, one to three axes, sizes of no kind: some of a level alone, and periodic axes
/// of odd numbers of points. Spacings differ, so that axes become coarser one by one.
inline void expect_known_solutions(Stream& stream, std::string_view variant, int direct = -1) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  std::vector<Case> const cases = {
      {{3}, "pp"},           {{3}, "nn"},           {{100}, "dd"},         {{101}, "nn"},
      {{97}, "pp"},          {{66}, "dn"},          {{67}, "nd"},          {{3, 40}, "nnpp"},
      {{13, 17}, "dddd"},    {{12, 11}, "nnnn"},    {{15, 9}, "pppp"},     {{14, 10}, "ppnd"},
      {{9, 8, 7}, "dddddd"}, {{5, 7, 5}, "pppppp"}, {{6, 5, 9}, "nnnnnn"}, {{7, 4, 8}, "ppdnnn"}};
  for (auto const& one : cases)
    for (bool const varies : {false, true})
      for (bool const reacts : {true, false}) {
        SCOPED_TRACE(
            fmt::format("{} {} varies {} reacts {}", one.sides, one.points[0], varies, reacts));
        Options options;
        options.direct = direct;
        options.tolerance = 1e-13;
        // a is in [1/8, 2]; 1/h² is 16 at most, and the longest waves have an eigenvalue above
        // (1/8)·(π/50)²/4 of lines: the condition is below 10^6.
        EXPECT_LE(
            known_error<double>(stream, one.points, one.sides, varies, reacts, options, variant),
            1e-9);
        options.conjugates = true;
        EXPECT_LE(
            known_error<double>(stream, one.points, one.sides, varies, reacts, options, variant),
            1e-9);
        EXPECT_LE(
            known_error<float>(stream, one.points, one.sides, varies, reacts, options, variant),
            2e-2);
      }
}

/// The same by the textbook's methods: every kind of side, seams among them, fields and none.
inline void expect_relaxed_solutions(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    std::string sides;
  };
  std::vector<Case> const cases = {
      {{3}, "pp"},           {{12}, "dn"},          {{15}, "nd"},         {{9}, "nn"},
      {{3, 14}, "nnpp"},     {{13, 9}, "dddd"},     {{12, 11}, "nnnn"},   {{15, 9}, "pppp"},
      {{9, 8, 7}, "dddddd"}, {{5, 7, 5}, "pppppp"}, {{7, 4, 8}, "ppdnnn"}};
  for (auto const& one : cases)
    for (bool const varies : {false, true})
      for (bool const reacts : {true, false})
        for (Relaxation const method : {Relaxation::jacobi, Relaxation::in_turn})
          for (double const factor : {0.9, 1.3}) {
            SCOPED_TRACE(fmt::format("{} {} varies {} reacts {} {}", one.sides, one.points[0],
                                     varies, reacts, factor));
            if (method == Relaxation::jacobi && factor > 1) continue;
            Options const options{
                .tolerance = 1e-11, .most_cycles = 1000000, .relaxation = method, .factor = factor};
            // The condition is below 16·(2·14/π)²; the error is at most about that many times what
            // is left of the right-hand side, or the tolerance.
            EXPECT_LE(
                known_error<double>(stream, one.points, one.sides, varies, reacts, options, "auto"),
                1e-8);
            EXPECT_LE(
                known_error<float>(stream, one.points, one.sides, varies, reacts, options, "auto"),
                1e-2);
          }
}

/// An equation on [0, 1]^dims with random right-hand sides, and what cycles make of it.
struct Trial {
  std::vector<std::int64_t> points;
  std::string sides;
  double stretch = 1;  ///< of the first axis
  double inside = 1;   ///< a in a box, elsewhere 1
  double reaction = 0;
};

inline poisson::Equation<double> equation_of(Trial const& trial) {
  poisson::Equation<double> equation;
  equation.grid.dims = static_cast<int>(trial.points.size());
  for (std::size_t i = 0; i < trial.points.size(); ++i) {
    equation.grid.points[i] = trial.points[i];
    for (std::size_t side = 0; side < 2; ++side)
      equation.sides[i][side] = poisson::test::kind_of(trial.sides[2 * i + side]);
    double const intervals = static_cast<double>(trial.points[i] - (trial.sides[2 * i] != 'p'));
    equation.grid.spacing[i] = (i == 0 ? trial.stretch : 1) / intervals;
  }
  equation.reaction = trial.reaction;
  return equation;
}

inline Outcome cycles_for(Stream& stream, Trial const& trial, Options const& options,
                          std::string_view variant = "auto") {
  auto equation = equation_of(trial);
  auto const size = static_cast<std::size_t>(equation.grid.size());
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> random(-1, 1);
  std::vector<double> f(size), a(size, 1);
  for (double& value : f) value = random(engine);
  for (std::size_t p = 0; p < size; ++p) {
    auto const at = equation.grid.indices(static_cast<std::int64_t>(p));
    bool in_box = true;
    for (std::size_t i = 0; i < trial.points.size(); ++i) {
      double const x = static_cast<double>(at[i]) / static_cast<double>(trial.points[i]);
      in_box = in_box && x > 0.3 && x < 0.62;
    }
    if (in_box) a[p] = trial.inside;
  }
  auto const field = to_device<double>(stream, a);
  if (trial.inside != 1) equation.diffusivities = field.data();
  auto right = to_device<double>(stream, f), u = to_device<double>(stream, f);
  bool const singular = trial.reaction == 0 && trial.sides.find('d') == std::string::npos;
  if (singular) {
    auto const found = poisson::integrate(stream, equation, right.span());
    poisson::shift(stream, -found.sum / found.volume, right.span());
  }
  auto const outcome = Solver<double>(stream, equation, singular, options, variant)
                           .solve(stream, right.span(), u.span());
  // With directions it is carried along, and told as u has it.
  double const left = poisson::measure(stream, equation, u.span(), right.span()).largest;
  if (options.conjugates) {
    EXPECT_NEAR(outcome.residuals.back(), left, 0.5 * left);
  }
  return outcome;
}

/// A preconditioner's u is that of one cycle, but for a power of two.
inline void expect_preconditioner_to_be_a_cycle(Stream& stream) {
  for (Trial const& trial : {Trial{{70}, "dn"}, Trial{{21, 18}, "ppnd", 1, 1, 3.0},
                             Trial{{21, 18}, "dnnd", 1, 1e3}, Trial{{40, 19, 12}, "nnddpp"}}) {
    auto equation = equation_of(trial);
    auto const size = static_cast<std::size_t>(equation.grid.size());
    std::mt19937 engine(3);
    std::uniform_real_distribution<double> random(1, trial.inside + 1);
    std::vector<double> a(size), f(size);
    for (std::size_t p = 0; p < size; ++p) {
      a[p] = random(engine);
      f[p] = 1e-30 * (random(engine) - 1);
    }
    auto const field = to_device<double>(stream, a), right = to_device<double>(stream, f);
    if (trial.inside != 1) equation.diffusivities = field.data();
    std::vector<double> const nothing(size, 0);
    auto u = to_device<double>(stream, nothing), wanted = to_device<double>(stream, nothing);
    Solver<double> solver(stream, equation, false, {.cycle = Cycle::v, .most_cycles = 1});
    solver.solve(stream, right.span(), wanted.span());
    solver.precondition(stream, right.span(), *std::ranges::max_element(f), u.span());
    auto const found = from_device(stream, u), cycle = from_device(stream, wanted);
    auto const place = static_cast<std::size_t>(std::ranges::max_element(cycle) - cycle.begin());
    double const unit = found[place] / cycle[place];
    EXPECT_EQ(unit, std::exp2(std::ilogb(unit)));
    for (std::size_t p = 0; p < size; ++p) ASSERT_EQ(found[p], unit * cycle[p]) << trial.sides;
  }
}

/// Of unknowns alone it is that of arrays with the points on Dirichlet sides.
inline void expect_preconditioner_of_unknowns_alone(Stream& stream) {
  for (Trial const& trial :
       {Trial{{70}, "dn"}, Trial{{21, 18}, "ppnd"}, Trial{{21, 18, 9}, "dddddd"}}) {
    auto const equation = equation_of(trial);
    auto const a = poisson::operator_of(equation);
    auto const size = static_cast<std::size_t>(equation.grid.size());
    std::mt19937 engine(4);
    std::uniform_real_distribution<double> random(-1, 1);
    std::vector<double> all(size, 0), alone;
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < size; ++p) {
      auto const at = equation.grid.indices(static_cast<std::int64_t>(p));
      bool is_unknown = true;
      for (std::size_t i = 0; i < 3; ++i)
        is_unknown = is_unknown && at[i] >= a.first[i] && at[i] < a.first[i] + a.count[i];
      if (!is_unknown) continue;
      places.push_back(p);
      alone.push_back(all[p] = random(engine));
    }
    auto right = to_device<double>(stream, all), unknowns = to_device<double>(stream, alone);
    Solver<double> solver(stream, equation, false, {.cycle = Cycle::v});
    solver.precondition(stream, right.span(), 1, right.span());
    solver.precondition(stream, unknowns.span(), 1, unknowns.span(), true);
    auto const wanted = from_device(stream, right), found = from_device(stream, unknowns);
    ASSERT_EQ(found.size(), places.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], wanted[places[i]]);
  }
}

/// The same with conjugate directions, of the residual that these carry along: what roundings of u leave is in
/// the last one beyond 10⁻⁸, where a is large.
/// A right-hand side with something that is no number in it, or with nothing, changes no bit of what the
/// next one is solved to; of the same a everywhere, or along directions for one that jumps.
inline void expect_forgotten(Stream& stream, bool jumps) {
  auto equation = equation_of({{43, 20, 22}, jumps ? "dddddd" : "ddnndd"});
  auto const size = static_cast<std::size_t>(equation.grid.size());
  std::size_t const inner = 21 + 43 * (10 + 20 * 11);
  std::vector<double> f(size, 1), a(size, 1);
  std::fill_n(a.begin() + static_cast<std::ptrdiff_t>(size / 3), size / 9, 1e4);
  auto const field = to_device<double>(stream, a);
  if (jumps) equation.diffusivities = field.data();
  Solver<double> solver(stream, equation, false, {.conjugates = jumps});
  auto const solved = [&](double all, double one) {
    std::ranges::fill(f, all);
    f[inner] = one;
    auto const right = to_device<double>(stream, f);
    auto u = to_device<double>(stream, a);
    bool const converged = solver.solve(stream, right.span(), u.span()).converged;
    return std::pair{converged, from_device(stream, u)};
  };
  auto const before = solved(1, 2);
  EXPECT_TRUE(before.first);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double const wrong : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(solved(1, wrong).first) << wrong;
    EXPECT_EQ(solved(1, 2), before) << wrong;
  }
  auto const nothing = solved(0, 0);
  EXPECT_TRUE(nothing.first);
  EXPECT_EQ(nothing.second[inner], 0);
  EXPECT_EQ(solved(1, 2), before);
}

inline void expect_conjugate_factor(Stream& stream, Trial const& trial, double most) {
  Options options;
  options.conjugates = true;
  options.tolerance = 1e-8;
  auto const outcome = cycles_for(stream, trial, options);
  EXPECT_TRUE(outcome.converged);
  EXPECT_LE(outcome.factor(), most)
      << fmt::format("{} {} inside {}", trial.sides, fmt::join(trial.points, "x"), trial.inside);
}

/// a as it jumps, from point to point of a grid: 10⁶ in some places, or 10⁻⁶, elsewhere 1.
enum class Jumps { ball, chessboard, boxes_at_a_corner, plate_at_a_side, plates_with_a_gap };
struct Jumping {
  Jumps kind;
  std::vector<std::int64_t> points;
  double inside;
  int most;  ///< directions to 10⁻⁸
};
inline bool is_inside(Jumping const& jumping, std::vector<double> const& x) {
  auto const kind = jumping.kind;
  if (kind == Jumps::plate_at_a_side || kind == Jumps::plates_with_a_gap) {
    // Two points thick, two from the side or from each other.
    bool const is_beside =
        std::all_of(x.begin() + 1, x.end(), [](double one) { return one > 0.2 && one < 0.7; });
    auto const points = static_cast<double>(jumping.points[0]);
    int const i = static_cast<int>(std::lround(x[0] * (points - 1)));
    int const from = kind == Jumps::plate_at_a_side ? 2 : static_cast<int>(0.4 * points);
    bool const in_second = kind == Jumps::plates_with_a_gap && (i - from) / 2 == 2;
    return is_beside && i >= from && (i < from + 2 || in_second);
  }
  double square = 0;
  int fifths = 0;
  bool in_first = true, in_second = true;
  for (double const one : x) {
    square += (one - 0.47) * (one - 0.47);
    fifths += std::min(4, static_cast<int>(5 * one));
    in_first = in_first && one > 0.21 && one <= 0.5;
    in_second = in_second && one > 0.5 && one < 0.79;
  }
  if (kind == Jumps::ball) return square < 0.29 * 0.29;
  if (kind == Jumps::chessboard) return fifths % 2 == 1;
  return in_first || in_second;
}

/// Directions are as few as that, whatever a's jumps are like.
inline void expect_few_directions(Stream& stream, std::vector<Jumping> const& all,
                                  std::string_view variant) {
  for (Jumping const& jumping : all) {
    auto equation = equation_of({jumping.points, std::string(2 * jumping.points.size(), 'd')});
    std::mt19937 engine(5);
    std::uniform_real_distribution<double> random(-1, 1);
    std::vector<double> f(static_cast<std::size_t>(equation.grid.size())), a(f.size(), 1);
    for (std::size_t p = 0; p < f.size(); ++p) {
      auto const at = equation.grid.indices(static_cast<std::int64_t>(p));
      std::vector<double> x;
      for (int axis = 0; axis < equation.grid.dims; ++axis)
        x.push_back(equation.grid.coordinate(axis, at[static_cast<std::size_t>(axis)]));
      if (is_inside(jumping, x)) a[p] = jumping.inside;
      f[p] = random(engine);
    }
    auto const field = to_device<double>(stream, a), right = to_device<double>(stream, f);
    auto u = to_device<double>(stream, std::vector<double>(f.size(), 0));
    equation.diffusivities = field.data();
    Options const options{.conjugates = true, .error_counts = false, .tolerance = 1e-8};
    auto const outcome = Solver<double>(stream, equation, false, options, variant)
                             .solve(stream, right.span(), u.span());
    SCOPED_TRACE(fmt::format("{} {} of {} by {}", static_cast<int>(jumping.kind),
                             fmt::join(jumping.points, "x"), jumping.inside, variant));
    EXPECT_TRUE(outcome.converged);
    EXPECT_LE(outcome.cycles, jumping.most);
  }
}

/// What a cycle leaves of the residual, by V(2,2).
inline void expect_factor(Stream& stream, Trial const& trial, double most) {
  Options options;
  options.cycle = Cycle::v;
  options.after = 2;
  auto const outcome = cycles_for(stream, trial, options);
  EXPECT_TRUE(outcome.converged);
  EXPECT_LE(outcome.factor(), most)
      << fmt::format("{} {} stretch {} inside {}", trial.sides, fmt::join(trial.points, "x"),
                     trial.stretch, trial.inside);
}

}  // namespace gridstride::multigrid::test

#include "kernels/multigrid/inner_precision.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/multigrid/progress.hpp"
#include "kernels/multigrid/rows.hpp"
#include "kernels/support/rank_planes.hpp"

namespace gridstride::multigrid {

namespace {

/// Of the equation's grid what this rank has, or all; with values beside that from where they are held.
struct OwnPoints {
  Extent points;
  std::int64_t first = 0;  ///< of the values held

  template <class T>
  explicit OwnPoints(poisson::Equation<T> const& equation) {
    Grid grid = equation.grid;
    if (equation.ranks != nullptr) {  // its own planes, which are behind one of another rank
      int const slowest = grid.dims - 1;
      first = grid.face_size(slowest);
      grid.points[slowest] = equation.ranks->held() - 2;
    }
    points = {static_cast<int>(grid.points[0]), static_cast<int>(grid.points[1]),
              static_cast<int>(grid.points[2])};
  }
};

/// What a step finds at the points of all ranks. Waits for the stream.
template <class T, class Step>
Found found_by_all(Stream& stream, poisson::Equation<T> const& equation, Step const& step) {
  Buffer<Found> found(stream, MemorySpace::device, 1);
  zero_async(found.span(), stream);
  find(stream, step, found.data());
  std::array<Found, 1> seen;
  copy_async(std::span<Found>(seen), std::as_const(found).span(), stream);
  stream.synchronize();
  if (equation.ranks != nullptr)
    for (Found const& one : of_all_ranks(equation.ranks->ranks(), seen[0])) raise(seen[0], one);
  return seen[0];
}

}  // namespace

template <class T>
Range range_of(Stream& stream, poisson::Equation<T> const& equation, T const* field,
               double constant) {
  if (field == nullptr) return {constant, constant};
  OwnPoints const own(equation);
  Found const found = found_by_all(stream, equation, FindRange<T>{own.points, field + own.first});
  return {1 / std::bit_cast<double>(found.second), std::bit_cast<double>(found.first)};
}

template <class T>
bool has_jump(Stream& stream, poisson::Equation<T> const& equation) {
  // With neighbours 1 and 2 on 257² a sweep less takes a direction more; with 1 and 3 on 129³ none.
  constexpr double most = 1.5;
  if (equation.diffusivities == nullptr || equation.reactions != nullptr) return true;
  OwnPoints const own(equation);
  FindJump<T> step{own.points, equation.diffusivities + own.first, {}, {}};
  auto const slowest = static_cast<std::size_t>(equation.grid.dims) - 1;
  for (std::size_t axis = 0; axis <= slowest; ++axis)
    step.wraps[axis] = equation.sides[axis][0] == SideKind::periodic;
  if (equation.ranks != nullptr) {
    step.goes_on[slowest] = step.wraps[slowest] || equation.ranks->upper() < equation.ranks->all();
    step.wraps[slowest] = false;
  }
  return !(std::bit_cast<double>(found_by_all(stream, equation, step).first) <= most);
}

namespace {

double diagonal_of(std::array<Axis, 3> const& axes, double diffusivity, double reaction) {
  double sum = reaction;
  for (Axis const& axis : axes) sum += 2 * diffusivity * axis.coupling();
  return sum;
}

}  // namespace

double diagonal_bound(Levels const& plan, double diffusivity, double reaction) {
  return diagonal_of(plan.axes.front(), diffusivity, reaction);
}

namespace {

/// 1/length² of the axes, and what those that are held on a side have in the least eigenvalue, or where
/// none is the longest one.
struct Longest {
  std::array<double, 3> squares{};
  double least;
  bool is_held = false;

  explicit Longest(Levels const& plan) {
    double given = 0, longest = none;
    for (std::size_t i = 0; i < 3; ++i) {
      Axis const& axis = plan.axes.front()[i];
      double length = 0;
      for (double const interval : axis.intervals) length += interval;
      if (length == 0) continue;
      squares[i] = 1 / (length * length);
      longest = std::min(longest, squares[i]);
      if (axis.given[0] || axis.given[1]) given += squares[i];
    }
    is_held = given > 0;
    least = is_held ? given : longest;
  }
};

/// Whether the equations of the coarsest level in float32 know of a reaction: where no side holds u, it
/// alone keeps them from being singular.
bool float32_holds_constants(Levels const& plan, Longest const& longest, Range const& a,
                             Range const& reaction) {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  if (longest.is_held || reaction.most == 0) return true;
  return epsilon * diagonal_of(plan.axes.back(), a.most, reaction.most) <= 0.05 * reaction.least;
}

}  // namespace

bool float32_does(Levels const& plan, Range const& a, Range const& reaction) {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  Longest const longest(plan);
  if (!float32_holds_constants(plan, longest, a, reaction)) return false;
  double points = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (longest.squares[i] >= longest.least / 10) points *= plan.axes.front()[i].unknowns();
  double const eigenvalue = a.least * longest.least + reaction.least;
  return epsilon * diagonal_bound(plan, a.most, reaction.most) <=
         0.05 * eigenvalue * std::sqrt(points);
}

bool float32_does_in_directions(Levels const& plan, Range const& a, Range const& reaction) {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  Longest const longest(plan);
  if (!float32_holds_constants(plan, longest, a, reaction)) return false;
  double const eigenvalue = a.least * longest.least + reaction.least;
  return epsilon * epsilon * diagonal_bound(plan, a.most, reaction.most) <= 0.01 * eigenvalue;
}

template bool has_jump(Stream&, poisson::Equation<float> const&);
template bool has_jump(Stream&, poisson::Equation<double> const&);
template Range range_of(Stream&, poisson::Equation<float> const&, float const*, double);
template Range range_of(Stream&, poisson::Equation<double> const&, double const*, double);

}  // namespace gridstride::multigrid

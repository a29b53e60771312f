#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/advect/advect.hpp"

/// Random problems for steps of advection, run on any device and compared on the host.
namespace gridstride::test {

inline constexpr std::array<advect::Scheme, 3> advect_schemes = {
    advect::Scheme::upwind, advect::Scheme::lax_wendroff, advect::Scheme::weno5};

inline char const* name_of(advect::Scheme scheme) {
  static constexpr char const* names[] = {"upwind", "lax_wendroff", "weno5"};
  return names[static_cast<int>(scheme)];
}

struct AdvectCase {
  Grid grid;
  advect::Scheme scheme;
  std::array<bool, 3> periodic;
  std::array<bool, 3> field;   // the velocity along an axis is one
  std::array<double, 3> sign;  // of the velocity where it is constant; 0 for none
  bool base = false;
  bool in_place = false;  // out is the base
  bool reversed = false;

  std::string text() const {
    std::string result = format_points(grid) + " " + name_of(scheme);
    for (int axis = 0; axis < grid.dims; ++axis)
      result += std::string(" ") + (periodic[axis] ? "p" : "o") +
                (field[axis]      ? "f"
                 : sign[axis] > 0 ? "+"
                 : sign[axis] < 0 ? "-"
                                  : "0");
    return result + (base ? " base" : "") + (in_place ? " in place" : "") +
           (reversed ? " reversed" : "");
  }
};

/// Each scheme over sizes that are multiples of nothing and of everything, with all kinds of sides
/// and velocities.
inline std::vector<AdvectCase> advect_cases() {
  static constexpr std::array<std::array<std::int64_t, 3>, 16> sizes = {{
      {3, 1, 1},
      {4, 1, 1},
      {6, 1, 1},
      {7, 1, 1},
      {1023, 1, 1},
      {4096, 1, 1},
      {3, 3, 1},
      {5, 8, 1},
      {33, 31, 1},
      {128, 64, 1},
      {244, 67, 1},
      {257, 255, 1},
      {3, 4, 5},
      {33, 7, 9},
      {64, 32, 16},
      {68, 13, 37},
  }};
  std::vector<AdvectCase> cases;
  for (std::size_t s = 0; s < sizes.size(); ++s)
    for (auto const scheme : advect_schemes)
      for (std::size_t b = 0; b < 8; ++b) {
        AdvectCase one{};
        one.grid.points = sizes[s];
        one.grid.dims = sizes[s][2] > 1 ? 3 : sizes[s][1] > 1 ? 2 : 1;
        one.grid.spacing = {0.5, 0.25, 0.75};
        one.scheme = scheme;
        std::size_t const mix = b + s;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          one.periodic[axis] = b == 0 || (b > 1 && (mix >> axis) % 2 == 0);
          one.field[axis] = b % 4 == 1 || (b % 4 == 3 && (axis + s) % 2 == 0);
          one.sign[axis] = b == 6 && axis == s % 3 ? 0 : ((mix + axis) / 2) % 2 == 0 ? 1 : -1;
        }
        one.base = scheme != advect::Scheme::lax_wendroff && mix % 3 > 0;
        one.in_place = one.base && mix % 3 == 1;
        one.reversed = b % 2 == 1;
        cases.push_back(one);
      }
  return cases;
}

/// A case's arrays on one device, with u in units of `unit`. The Courant numbers are below 0.3
/// along every axis.
template <class T>
class AdvectProblem {
 public:
  AdvectProblem(Stream& stream, AdvectCase const& one, T unit = 1) : stream_(stream), unit_(unit) {
    std::mt19937_64 generator(42);
    auto const size = static_cast<std::size_t>(one.grid.size());
    step_.grid = one.grid;
    step_.scheme = one.scheme;
    step_.factor = 0.1;
    step_.reversed = one.reversed;
    step_.in = array(random_u(size, generator));
    if (one.base) {
      step_.base = array(random_u(size, generator));
      step_.in_weight = 0.25;
    }
    for (int axis = 0; axis < one.grid.dims; ++axis) {
      double const speed = 3 * one.grid.spacing[axis];
      step_.velocity[axis].constant = 0.8 * speed * one.sign[axis];
      if (one.field[axis]) {
        step_.velocity[axis].field = array(random(size, generator, speed));
        step_.velocity[axis].largest = speed;
      }
      for (int side = 0; side < 2; ++side) {
        auto& condition = step_.sides[axis][side];
        condition.periodic = one.periodic[axis];
        if (!one.periodic[axis] && side == 0)
          condition.inflow =
              array(random_u(static_cast<std::size_t>(one.grid.face_size(axis)), generator));
      }
    }
    // Poison: a point that a kernel leaves out is seen.
    T* const poisoned = array(std::vector<T>(size, std::numeric_limits<T>::quiet_NaN()));
    step_.out = one.in_place ? const_cast<T*>(step_.base) : poisoned;
    open_ = !(one.periodic[0] && one.periodic[1] && one.periodic[2]);
  }

  std::vector<T> run(std::string_view variant) {
    advect::advect(stream_, step_, variant);
    return values(step_.out);
  }
  std::vector<T> impose() {
    advect::impose_inflow(stream_, step_);
    return values(step_.out);
  }
  std::vector<T> output() { return values(step_.out); }
  std::vector<T> input() { return values(step_.in); }
  std::vector<T> base() { return values(step_.base); }
  advect::AdvectionStep<T>& step() { return step_; }

  /// Bound on the difference of two evaluations whose operations round differently: their number
  /// times the unit round-off, times what goes into them. A face of weno5 follows its five values
  /// with a factor of at most 20 (its weights turn on those second differences that they weigh),
  /// and beyond open sides these are sums of five with weights of up to 351 in all.
  double tolerance() const {
    double const unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    double magnitude = 2;
    for (int axis = 0; axis < step_.grid.dims; ++axis)
      magnitude += step_.scheme == advect::Scheme::weno5          ? (open_ ? 351 : 1) * 20
                   : step_.scheme == advect::Scheme::lax_wendroff ? 9
                                                                  : 1;
    return 16 * unit * magnitude;
  }

 private:
  static std::vector<T> random(std::size_t size, std::mt19937_64& generator, double largest) {
    std::uniform_real_distribution<double> uniform(-largest, largest);
    std::vector<T> values(size);
    for (auto& value : values) value = static_cast<T>(uniform(generator));
    return values;
  }

  std::vector<T> random_u(std::size_t size, std::mt19937_64& generator) const {
    auto values = random(size, generator, 1);
    for (auto& value : values) value *= unit_;
    return values;
  }

  T* array(std::vector<T> const& values) {
    arrays_.emplace_back(stream_, MemorySpace::device, values.size());
    copy_async(arrays_.back().span(), std::span(values), stream_);
    stream_.synchronize();
    return arrays_.back().data();
  }

  std::vector<T> values(T const* source) {
    std::vector<T> result(static_cast<std::size_t>(step_.grid.size()));
    copy_async(std::span(result), std::span(source, result.size()), stream_);
    stream_.synchronize();
    return result;
  }

  Stream stream_;
  T unit_;
  advect::AdvectionStep<T> step_;
  std::vector<Buffer<T>> arrays_;
  bool open_ = false;
};

/// Whether a point lies within so many of a side that is cut.
template <class T>
bool is_beside_cut(advect::AdvectionStep<T> const& step, std::int64_t place, std::int64_t reach) {
  auto const at = step.grid.indices(place);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto const& sides = step.sides[axis];
    if (sides[0].cut && at[axis] < reach) return true;
    if (sides[1].cut && at[axis] >= step.grid.points[axis] - reach) return true;
  }
  return false;
}

/// Where the grid goes on beyond sides of the slowest axis, of the second slowest one or of both, points
/// within the scheme's reach of these stay as they are, and all others have the bits that they have
/// without a cut.
template <class T>
void expect_cuts(Stream& stream) {
  int compared = 0;
  for (auto one : advect_cases()) {
    auto const slowest = static_cast<std::size_t>(one.grid.dims - 1);
    std::int64_t const reach = one.scheme == advect::Scheme::weno5 ? 3 : 1;
    if (one.grid.size() > 40000) continue;
    for (unsigned const cuts : {1U, 2U, 3U, 4U, 8U, 15U}) {
      if (cuts != 3 && one.grid.size() > 5000) continue;
      if (cuts > 3 && slowest == 0) continue;
      auto open = one;
      if ((cuts & 3) != 0) open.periodic[slowest] = false;
      if (cuts > 3) open.periodic[slowest - 1] = false;
      for (auto const& row : advect::variants<T>()) {
        if (row.backend != stream.backend()) continue;
        auto const whole = AdvectProblem<T>(stream, open).run(row.name);
        AdvectProblem<T> problem(stream, open);
        for (unsigned cut = 0; cut < 4; ++cut)
          if ((cuts >> cut & 1) != 0) problem.step().sides[slowest - cut / 2][cut % 2].cut = true;
        auto const before = problem.output(), found = problem.run(row.name);
        for (std::size_t i = 0; i < found.size(); ++i) {
          bool const is_left = is_beside_cut(problem.step(), static_cast<std::int64_t>(i), reach);
          T const expected = is_left ? before[i] : whole[i];
          ASSERT_TRUE(found[i] == expected || (std::isnan(found[i]) && std::isnan(expected)))
              << row.name << " on " << one.text() << " cut " << cuts << " at " << i;
        }
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, (6 * 3 + 5 * 6 + 4) * 3 * 8 * 2);
}

/// The largest difference, NaN counting as infinite.
template <class T>
double largest_deviation(std::vector<T> const& a, std::vector<T> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

/// Exponents of units in which no number of a step, nor a share of one, is out of range.
template <class T>
std::vector<int> exponents_of_units() {
  return sizeof(T) == 4 ? std::vector<int>{-75, -40, 40, 110}
                        : std::vector<int>{-900, -200, 200, 1000};
}

/// Another unit of u changes no digit, whatever the scheme, the sides and the velocities are.
template <class T>
void expect_no_unit(Stream& stream) {
  int compared = 0;
  for (auto const& one : advect_cases()) {
    if (one.grid.size() > 5000) continue;
    for (auto const& row : advect::variants<T>()) {
      if (row.backend != stream.backend()) continue;
      auto const expected = AdvectProblem<T>(stream, one).run(row.name);
      for (int const exponent : exponents_of_units<T>()) {
        T const unit = std::ldexp(T(1), exponent);
        auto found = AdvectProblem<T>(stream, one, unit).run(row.name);
        for (auto& value : found) value /= unit;
        EXPECT_EQ(expected, found) << row.name << " on " << one.text() << ", u in 2^" << exponent;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 10 * 3 * 8 * 2 * 4);
}

/// A block of ones among zeros after 100 steps of a fifth of a cell by weno5 and the third-order
/// Runge-Kutta method, all in units of `unit` and given back without it.
template <class T>
std::vector<T> carried_block(Stream& stream, std::string_view variant, T unit) {
  constexpr std::size_t n = 128;
  std::vector<T> block(n, 0);
  for (std::size_t i = 30; i < 70; ++i) block[i] = unit;
  Buffer<T> u(stream, MemorySpace::device, n), first(stream, MemorySpace::device, n),
      second(stream, MemorySpace::device, n);
  copy_async(u.span(), std::span<T const>(block), stream);
  advect::AdvectionStep<T> step;
  step.grid.points = {n, 1, 1};
  step.scheme = advect::Scheme::weno5;
  step.velocity[0].constant = 1;
  auto const stage = [&](Buffer<T>& in, Buffer<T>& out, double share) {
    step.in = in.data();
    step.out = out.data();
    step.base = share < 1 ? u.data() : nullptr;
    step.in_weight = share < 1 ? share : 0;
    step.factor = 0.2 * share;
    advect::advect(stream, step, variant);
  };
  for (int i = 0; i < 100; ++i) {
    stage(u, first, 1);
    stage(first, second, 0.25);
    stage(second, u, 2.0 / 3);
  }
  copy_async(std::span(block), u.span(), stream);
  stream.synchronize();
  for (auto& value : block) value /= unit;
  return block;
}

/// Edges stay without ripples wherever a thousandth of u is a normal number.
template <class T>
void expect_no_ripples(Stream& stream) {
  auto const exponents = sizeof(T) == 4 ? std::vector<int>{-112, -63, 0, 63, 120}
                                        : std::vector<int>{-1000, -166, 0, 166, 1010};
  for (auto const& row : advect::variants<T>()) {
    if (row.backend != stream.backend()) continue;
    for (int const exponent : exponents) {
      auto const found = carried_block<T>(stream, row.name, std::ldexp(T(1), exponent));
      for (T const value : found) {
        EXPECT_GE(value, T(-1e-3)) << row.name << ", u in 2^" << exponent;
        EXPECT_LE(value, T(1 + 1e-3)) << row.name << ", u in 2^" << exponent;
      }
    }
  }
}

/// |Σ out − Σ base − in_weight·(Σ in − Σ base)| after a step on a periodic grid, in units of the
/// bound: a few roundings of each value.
template <class T>
double lost_mass(AdvectProblem<T>& problem, std::vector<T> const& out) {
  auto const in = problem.input();
  auto const base = problem.step().base ? problem.base() : in;
  double const weight = problem.step().base ? problem.step().in_weight : 1;
  long double lost = 0, magnitude = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    lost += static_cast<long double>(out[i]) - base[i] -
            static_cast<long double>(weight) * (static_cast<long double>(in[i]) - base[i]);
    magnitude += 1;
  }
  return static_cast<double>(std::abs(lost) / magnitude) /
         (32 * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "equations/modal.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "model/modal_stepper.hpp"

/// Systems in modes that are made by hand, on any device.
namespace gridstride::test {

using equations::Beyond;
using equations::BeyondSides;
using equations::ModalLevel;
using equations::ModalSum;
using equations::ModalSystem;
using equations::Operator;
using equations::StencilProgram;
using equations::Term;
using equations::Terms;

inline constexpr std::array<Beyond, 2> around = {Beyond::periodic, Beyond::periodic};
inline constexpr BeyondSides periodic_sides = {around, around, around};

/// A program of the terms that `make` returns.
inline StencilProgram program(int dims, std::function<std::vector<Term>(Terms&)> const& make) {
  Terms terms;
  auto const results = make(terms);
  return equations::program_of(terms, results, dims);
}

inline ModalSum part(int quantity, Operator const& numerator, Operator const& denominator = {}) {
  return {{quantity, numerator, denominator}};
}
inline Operator const unit = {{{0, 0, 0}, 1}};

/// A grid whose axes have these sides, on [0, length]; periodic axes leave out the last point.
inline Grid modal_grid(std::vector<std::int64_t> const& points, BeyondSides const& sides,
                       double length) {
  Grid grid;
  grid.dims = static_cast<int>(points.size());
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    grid.points[axis] = points[axis];
    bool const wraps = sides[axis][0] == Beyond::periodic;
    grid.spacing[axis] = length / static_cast<double>(points[axis] - (wraps ? 0 : 1));
  }
  return grid;
}

using Formula = std::function<double(double, double, double)>;

template <class T>
std::vector<T> sampled(Grid const& grid, Formula const& formula) {
  std::vector<T> values;
  for (std::int64_t n = 0; n < grid.size(); ++n) {
    auto const [i, j, k] = grid.indices(n);
    values.push_back(static_cast<T>(
        formula(grid.coordinate(0, i), grid.coordinate(1, j), grid.coordinate(2, k))));
  }
  return values;
}

/// A stepper with a clock and its values on the host.
template <class T>
class ModalRun {
 public:
  ModalRun(Stream& stream, Grid const& grid, ModalSystem const& system, std::string_view scheme,
           ModalVariants const& variants = {})
      : stream_(stream),
        grid_(grid),
        stepper_(stream, grid, system, scheme, variants),
        values_(stream, MemorySpace::device, static_cast<std::size_t>(grid.size())),
        clock_(stream, MemorySpace::device, 1) {}

  void set(int component, std::vector<T> const& values) {
    copy_async(values_.span(), std::span<T const>(values), stream_);
    stepper_.to_modes(component, values_.span());
    stream_.synchronize();
  }
  void steps(double step, int count) {
    evaluate::set_clock(stream_, clock_.data(), {time_, step, 0, 0});
    for (int i = 0; i < count; ++i) {
      stepper_.step(step, clock_.data());
      evaluate::advance_clock(stream_, clock_.data());
    }
    time_ += step * count;
  }
  std::vector<T> get(int component) {
    stepper_.to_points(component, values_.span());
    return fetched();
  }
  std::vector<T> held(int number) {
    evaluate::set_clock(stream_, clock_.data(), {time_, 0, 0, 0});
    stepper_.held_to_points(number, clock_.data(), values_.span());
    return fetched();
  }
  ModalStepper<T>& stepper() { return stepper_; }
  double time() const { return time_; }

 private:
  std::vector<T> fetched() {
    std::vector<T> host(values_.size());
    copy_async(std::span(host), std::as_const(values_).span(), stream_);
    stream_.synchronize();
    return host;
  }

  Stream& stream_;
  Grid grid_;
  ModalStepper<T> stepper_;
  Buffer<T> values_;
  Buffer<evaluate::DeviceClock> clock_;
  double time_ = 0;
};

template <class T>
double farthest(std::vector<T> const& a, std::vector<T> const& b) {
  double most = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double const apart = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(most, apart);
  }
  return most;
}

/// All pairs of sides of an axis.
inline constexpr std::array<Beyond, 2> all_sides[] = {around,
                                                      {Beyond::odd, Beyond::odd},
                                                      {Beyond::even, Beyond::even},
                                                      {Beyond::odd, Beyond::even},
                                                      {Beyond::even, Beyond::odd}};

/// A mode on [0, 1] with such sides, differentiated m times.
inline double mode_of(std::array<Beyond, 2> const& sides, double x, int m) {
  bool const wraps = sides[0] == Beyond::periodic;
  double const pi = std::numbers::pi;
  double const k = wraps ? 4 * pi : sides[0] == sides[1] ? 2 * pi : 2.5 * pi;
  double const phase = wraps ? 0.3 : sides[0] == Beyond::odd ? -pi / 2 : 0;
  return std::pow(k, m) * std::cos(k * x + phase + m * pi / 2);
}
inline std::array<Beyond, 2> flipped(std::array<Beyond, 2> sides, int times) {
  for (Beyond& side : sides)
    if (times % 2 != 0 && side != Beyond::periodic)
      side = side == Beyond::odd ? Beyond::even : Beyond::odd;
  return sides;
}

/// Derivatives of modes between all kinds of sides are what calculus says.
template <class T>
void check_derivatives(Stream& stream) {
  std::vector<std::int64_t> const grids[] = {{17}, {12, 15}, {9, 16, 11}};
  for (auto const& points : grids)
    for (auto const& x : all_sides)
      for (auto const& y : all_sides) {
        if (points.size() == 1 && y != around) continue;
        BeyondSides const sides = {x, points.size() > 1 ? y : around, around};
        Grid const grid = modal_grid(points, sides, 1);
        std::vector<std::array<std::int8_t, 3>> const orders = {
            {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {0, 1, 0}, {1, 1, 0}, {2, 1, 0}};
        ModalSystem system{.unknown_sides = {sides}, .linear = {{}}, .rest = {{}}};
        for (auto const& order : orders) {
          if (points.size() == 1 && order[1] > 0) continue;
          system.held.push_back(part(0, {{order, 0.5}}));
          system.held_sides.push_back(
              {flipped(sides[0], order[0]), flipped(sides[1], order[1]), around});
        }
        auto const formula = [&](std::array<std::int8_t, 3> const& m) {
          return [&, m](double at_x, double at_y, double at_z) {
            return mode_of(sides[0], at_x, m[0]) *
                   (grid.dims > 1 ? mode_of(sides[1], at_y, m[1]) : 1) *
                   (grid.dims > 2 ? mode_of(around, at_z, 0) : 1);
          };
        };
        ModalRun<T> run(stream, grid, system, "euler");
        run.set(0, sampled<T>(grid, formula({0, 0, 0})));
        for (std::size_t i = 0; i < system.held.size(); ++i) {
          auto exact = sampled<T>(grid, formula(orders[i]));
          for (T& value : exact) value /= 2;
          // The symbol of the highest mode makes the most of rounding.
          double const highest = std::numbers::pi * 17,
                       bound = 50 * std::numeric_limits<T>::epsilon() *
                               std::pow(highest, orders[i][0] + orders[i][1]);
          EXPECT_LE(farthest(run.held(static_cast<int>(i)), exact), bound)
              << "sides " << static_cast<int>(x[0]) << static_cast<int>(x[1]) << ", "
              << static_cast<int>(y[0]) << static_cast<int>(y[1]) << ", " << points.size()
              << "D, derivative " << i;
        }
      }
}

/// u_t = −2u + cos(t)·u on one mode: u = u0·exp(sin t − 2t).
inline ModalSystem driven() {
  return {
      .unknown_sides = {periodic_sides},
      .linear = {part(0, {{{0, 0, 0}, -2}})},
      .levels = {{{part(0, unit)},
                  program(1,
                          [](Terms& t) {
                            return std::vector{t.multiply(
                                t.operation(expression::Operation::cos, t.time()), t.unknown(0))};
                          }),
                  {periodic_sides},
                  {periodic_sides}}},
      .rest = {part(1, unit)}};
}

/// Errors of schemes at time 1 with steps of 1/16 and 1/32 have the order.
template <class T>
void check_orders(Stream& stream) {
  std::pair<std::string_view, double> const schemes[] = {
      {"euler", 1},      {"ssp_rk2", 2},   {"ssp_rk3", 3}, {"rk4", 4},
      {"imex_euler", 1}, {"imex_bdf2", 2}, {"ark3", 3},    {"etdrk4", 4}};
  Grid const grid = modal_grid({8}, periodic_sides, 1);
  auto const wave = [](double x, double, double) {
    return 1 + 0.5 * std::cos(2 * std::numbers::pi * x);
  };
  for (auto const& [scheme, order] : schemes) {
    double errors[2];
    for (int i = 0; i < 2; ++i) {
      int const steps = 32 << i;
      ModalRun<T> run(stream, grid, driven(), scheme);
      run.set(0, sampled<T>(grid, wave));
      run.steps(1.0 / steps, steps);
      auto exact = sampled<T>(grid, wave);
      for (T& value : exact) value *= static_cast<T>(std::exp(std::sin(1.0) - 2));
      errors[i] = farthest(run.get(0), exact);
    }
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), order, 0.2) << scheme;
  }
}

/// Two fields of which one feeds the other, [−1 −3; 0 −1], and two that turn around each other while
/// they spread: etdrk4 has what the exponential of the matrix says, whatever the step.
template <class T>
void check_coupled(Stream& stream) {
  double const turn = 7;
  Operator const spread = {{{2, 0, 0}, 0.01}, {{0, 2, 0}, 0.01}};
  ModalSystem system{
      .unknown_sides = {periodic_sides, periodic_sides, periodic_sides, periodic_sides},
      .linear = {part(0, spread), part(0, {{{0, 0, 0}, -turn}}), part(2, {{{0, 0, 0}, -1}}),
                 part(3, {{{0, 0, 0}, -1}})},
      .rest = {{}, {}, {}, {}}};
  system.linear[0].push_back({1, {{{0, 0, 0}, turn}}});
  system.linear[1].push_back({1, spread});
  system.linear[2].push_back({3, {{{0, 0, 0}, -3}}});
  Grid const grid = modal_grid({10, 9}, periodic_sides, 1);
  double const k = 2 * std::numbers::pi;
  auto const wave = [k](double x, double y, double) { return std::cos(k * x) * std::sin(k * y); };
  ModalRun<T> run(stream, grid, system, "etdrk4");
  for (int c = 0; c < 4; ++c) run.set(c, sampled<T>(grid, wave));
  run.steps(0.4, 2);
  double const t = 0.8, decay = std::exp(-0.02 * k * k * t);
  double const expected[] = {decay * (std::cos(turn * t) + std::sin(turn * t)),
                             decay * (std::cos(turn * t) - std::sin(turn * t)),
                             std::exp(-t) * (1 - 3 * t), std::exp(-t)};
  for (int c = 0; c < 4; ++c) {
    auto exact = sampled<T>(grid, wave);
    for (T& value : exact) value *= static_cast<T>(expected[c]);
    EXPECT_LE(farthest(run.get(c), exact), 40 * std::numeric_limits<T>::epsilon()) << c;
  }
}

/// u_t = 0.05·Δu − u³ between sides is what it is on a periodic grid that goes on as modes do.
template <class T>
void check_sides(Stream& stream, std::string_view scheme) {
  for (auto const& y : all_sides) {
    if (y == around) continue;
    for (bool const waves : {true, false}) {
      auto const x = waves ? around : std::array{Beyond::even, Beyond::even};
      int const periods = y[0] == y[1] ? 2 : 4, periods_x = waves ? 1 : 2;
      BeyondSides const sides = {x, y, around};
      auto const system_of = [&](BeyondSides const& given) {
        return ModalSystem{
            .unknown_sides = {given},
            .linear = {part(0, {{{2, 0, 0}, 0.05}, {{0, 2, 0}, 0.05}})},
            .levels = {{{part(0, unit)},
                        program(2,
                                [](Terms& t) {
                                  Term const u = t.unknown(0);
                                  return std::vector{t.multiply(u, t.multiply(u, u))};
                                }),
                        {given},
                        {given}}},
            .rest = {part(1, {{{0, 0, 0}, -1}})}};
      };
      constexpr std::int64_t n = 13;
      Grid const grid = modal_grid({waves ? 12 : 13, n}, sides, 1);
      Grid whole = grid;
      whole.points = {12 * periods_x, periods * (n - 1), 1};
      auto const wave = [&](double at_x, double at_y, double) {
        return mode_of(x, at_x, 0) * mode_of(y, at_y, 0) + 0.3 * mode_of(y, at_y, 0);
      };
      ModalRun<T> run(stream, grid, system_of(sides), scheme);
      ModalRun<T> reference(stream, whole, system_of(periodic_sides), scheme);
      run.set(0, sampled<T>(grid, wave));
      reference.set(0, sampled<T>(whole, wave));
      run.steps(0.01, 10);
      reference.steps(0.01, 10);
      auto const found = run.get(0), all = reference.get(0);
      double most = 0;
      for (std::int64_t i = 0; i < grid.size(); ++i) {
        auto const [at_x, at_y, at_z] = grid.indices(i);
        auto const there = static_cast<std::size_t>(at_x + whole.points[0] * at_y);
        most = std::max(most, std::abs(static_cast<double>(found[static_cast<std::size_t>(i)]) -
                                       static_cast<double>(all[there])));
      }
      EXPECT_LE(most, 200 * std::numeric_limits<T>::epsilon())
          << static_cast<int>(y[0]) << static_cast<int>(y[1]) << (waves ? " waves" : "");
    }
  }
}

/// u_t = Δu/20 − u² with two thirds of the frequencies is what it is on twice the points with one third:
/// both have the same modes, and no product has a false one.
template <class T>
void check_dealiased(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    BeyondSides sides;
  };
  std::array<Beyond, 2> const even = {Beyond::even, Beyond::even};
  Case const cases[] = {{{12}, periodic_sides},
                        {{12, 18}, periodic_sides},
                        {{6, 12, 9}, periodic_sides},
                        {{12, 13}, {around, even, around}},
                        {{13, 12, 9}, {even, around, around}},
                        {{13, 10}, {even, even, even}}};
  for (auto const& [points, sides] : cases) {
    int const dims = static_cast<int>(points.size());
    auto const system_of = [&, sides = sides](double keep) {
      return ModalSystem{.unknown_sides = {sides},
                         .linear = {part(0, {{{2, 0, 0}, 0.05}, {{0, 2, 0}, 0.05}})},
                         .levels = {{{part(0, unit)},
                                     program(dims,
                                             [](Terms& t) {
                                               Term const u = t.unknown(0);
                                               return std::vector{t.multiply(u, u)};
                                             }),
                                     {sides},
                                     {sides}}},
                         .rest = {part(1, {{{0, 0, 0}, -1}})},
                         .dealias = {keep, keep, keep}};
    };
    auto finer = points;
    for (std::size_t axis = 0; axis < points.size(); ++axis)
      finer[axis] = 2 * points[axis] - (sides[axis][0] == Beyond::periodic ? 0 : 1);
    Grid const grid = modal_grid(points, sides, 1), fine = modal_grid(finer, sides, 1);
    auto const start = [](double x, double y, double z) {
      double const k = 2 * std::numbers::pi;
      return 0.5 + std::cos(k * x) * (1 + std::cos(k * y)) + 0.5 * std::cos(k * z);
    };
    ModalRun<T> run(stream, grid, system_of(2.0 / 3), "etdrk4"),
        reference(stream, fine, system_of(1.0 / 3), "etdrk4");
    run.set(0, sampled<T>(grid, start));
    reference.set(0, sampled<T>(fine, start));
    run.steps(0.05, 8);
    reference.steps(0.05, 8);
    auto const found = run.get(0), all = reference.get(0);
    std::vector<T> there;
    for (std::int64_t n = 0; n < grid.size(); ++n) {
      auto const [i, j, k] = grid.indices(n);
      there.push_back(
          all[static_cast<std::size_t>(2 * i + fine.points[0] * (2 * j + fine.points[1] * 2 * k))]);
    }
    EXPECT_LE(farthest(found, there), 200 * std::numeric_limits<T>::epsilon())
        << points.size() << "D";
  }
}

/// A vorticity and a tracer that it carries: quotients, four arrays that are read at the points, three
/// products, of which one depends on the time. The tracer's rate has two of them, or each field one.
inline ModalSystem carried_tracer(bool has_own_products, double keep) {
  Operator const laplacian = {{{2, 0, 0}, 1}, {{0, 2, 0}, 1}};
  ModalSystem system{
      .unknown_sides = {periodic_sides, periodic_sides},
      .linear = {part(0, {{{2, 0, 0}, 0.01}, {{0, 2, 0}, 0.01}}),
                 {{1, {{{2, 0, 0}, 0.02}, {{0, 1, 0}, 0.3}}}, {0, {{{1, 0, 0}, 0.1}}}}},
      .levels = {{{part(0, {{{0, 1, 0}, -1}}, laplacian),
                   part(0, {{{1, 0, 0}, 1}}, laplacian),
                   {{0, {{{1, 0, 0}, 1}}}, {1, {{{0, 1, 0}, 0.5}}}},
                   part(1, unit)},
                  program(2,
                          [&](Terms& t) {
                            Term const flow = t.add(t.multiply(t.unknown(0), t.unknown(2)),
                                                    t.multiply(t.unknown(1), t.unknown(3)));
                            Term const source = t.multiply(
                                t.operation(expression::Operation::cos, t.time()), t.unknown(3));
                            std::vector<Term> made = {flow, source};
                            if (!has_own_products)
                              made.push_back(t.multiply(t.unknown(3), t.unknown(3)));
                            return made;
                          }),
                  std::vector(4, periodic_sides),
                  std::vector(has_own_products ? 2 : 3, periodic_sides)}},
      .rest = {part(2, {{{0, 0, 0}, -1}, {{1, 0, 0}, 0.1}}), part(3, unit)},
      .held = {{{0, {{{0, 1, 0}, 0.5}}}, {2, unit}}},
      .held_sides = {periodic_sides},
      .dealias = {keep, keep, keep}};
  if (!has_own_products) system.rest[1].push_back({4, {{{0, 1, 0}, 0.2}}});
  return system;
}

/// Passes that join transforms and products make what transforms and products do one after the other.
template <class T>
void check_joined(Stream& stream) {
  struct Case {
    std::vector<std::int64_t> points;
    char const* scheme;
    bool has_own_products;
    double keep;
  };
  Case const cases[] = {{{12, 18}, "etdrk4", true, 2.0 / 3},
                        {{16, 7}, "rk4", true, 1},
                        {{64, 48}, "rk4", false, 2.0 / 3},
                        {{20, 60}, "ark3", false, 1},
                        {{2048, 6}, "etdrk4", true, 2.0 / 3}};
  for (auto const& [points, scheme, has_own_products, keep] : cases) {
    Grid const grid = modal_grid(points, periodic_sides, 2 * std::numbers::pi);
    auto const system = carried_tracer(has_own_products, keep);
    ModalRun<T> joined(stream, grid, system, scheme),
        apart(stream, grid, system, scheme, {.fft = "blocks"});
    for (int c = 0; c < 2; ++c)
      for (auto* const run : {&joined, &apart})
        run->set(c, sampled<T>(grid, [c](double x, double y, double) {
                   return std::cos(x + c) * std::sin(y) + 0.5 * std::sin(2 * x - y + c);
                 }));
    // A product's derivative takes the shortest waves from the vorticity, by at most
    // |velocity|/10·waves², faster than 0.01·waves² damps them: so short that roundings do not grow.
    double const waves =
        std::max(32.0, 0.5 * static_cast<double>(*std::ranges::max_element(points)));
    for (auto* const run : {&joined, &apart}) run->steps(1 / (4 * waves * waves), 3);
    for (int c = 0; c < 2; ++c)
      EXPECT_LE(farthest(joined.get(c), apart.get(c)), 50 * std::numeric_limits<T>::epsilon())
          << points[0] << "x" << points[1] << ", field " << c;
    // Differentiated once more.
    EXPECT_LE(farthest(joined.held(0), apart.held(0)),
              50 * waves * std::numeric_limits<T>::epsilon())
        << points[0] << "x" << points[1] << ", held";
  }
}

/// The Kuramoto–Sivashinsky equation as by Kassam and Trefethen.
inline ModalSystem kuramoto_sivashinsky() {
  return {.unknown_sides = {periodic_sides},
          .linear = {part(0, {{{2, 0, 0}, -1}, {{4, 0, 0}, -1}})},
          .levels = {{{part(0, unit)},
                      program(1,
                              [](Terms& t) {
                                return std::vector{t.multiply(t.unknown(0), t.unknown(0))};
                              }),
                      {periodic_sides},
                      {periodic_sides}}},
          .rest = {part(1, {{{1, 0, 0}, -0.5}})}};
}
inline Grid kuramoto_sivashinsky_grid() {
  return modal_grid({128}, periodic_sides, 32 * std::numbers::pi);
}
inline double kuramoto_sivashinsky_start(double x, double, double) {
  return std::cos(x / 16) * (1 + std::sin(x / 16));
}

/// At a time, by so many steps.
template <class T>
std::vector<T> kuramoto_sivashinsky_at(double time, Stream& stream, int steps) {
  Grid const grid = kuramoto_sivashinsky_grid();
  ModalRun<T> run(stream, grid, kuramoto_sivashinsky(), "etdrk4");
  run.set(0, sampled<T>(grid, kuramoto_sivashinsky_start));
  run.steps(time / steps, steps);
  return run.get(0);
}

}  // namespace gridstride::test

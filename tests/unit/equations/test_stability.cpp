#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <stdexcept>

#include "equations/eigenvalues.hpp"
#include "equations/stability.hpp"
#include "unit/equations/discretised.hpp"

namespace gridstride::equations {
namespace {

constexpr double extents[] = {2, 2, 2.5127453266183286, 2.785293563405282};

TEST(Eigenvalues, ByHand) {
  using Complex = std::complex<double>;
  auto const sorted = [](Matrix const& matrix) {
    auto found = eigenvalues(matrix);
    std::ranges::sort(found, {}, [](Complex z) { return z.real() + 1e-3 * z.imag(); });
    return found;
  };
  Matrix turn(2);
  turn(0, 1) = 4;
  turn(1, 0) = -1;
  EXPECT_NEAR(std::abs(sorted(turn)[0] - Complex(0, -2)), 0, 1e-14);
  EXPECT_NEAR(std::abs(sorted(turn)[1] - Complex(0, 2)), 0, 1e-14);
  // The companion matrix of (z − 1)(z − 2)(z − 3)(z + i) and a cycle, whose eigenvalues are roots
  // of 1 that the usual shift does not move.
  Matrix companion(4);
  Complex const i(0, 1);
  Complex const last_row[] = {6.0 * i, 6.0 - 11.0 * i, -11.0 + 6.0 * i, 6.0 - i};
  for (std::size_t k = 0; k < 4; ++k) companion(3, k) = last_row[k];
  for (std::size_t k = 0; k < 3; ++k) companion(k, k + 1) = 1;
  auto const found = sorted(companion);
  Complex const expected[] = {-i, 1, 2, 3};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(std::abs(found[k] - expected[k]), 0, 1e-12);
  Matrix cycle(5);
  for (std::size_t k = 0; k < 5; ++k) cycle(k, (k + 1) % 5) = 1;
  for (Complex const& one : eigenvalues(cycle))
    EXPECT_NEAR(std::abs(std::pow(one, 5) - 1.0), 0, 1e-12);
  EXPECT_EQ(eigenvalues(Matrix(3)).size(), 3);
  turn(0, 0) = std::nan("");
  EXPECT_THROW(eigenvalues(turn), std::invalid_argument);
}

TEST(Eigenvalues, OfMatricesWithoutNegativeEntries) {
  EXPECT_NEAR(perron(2, {0, 4, 1, 0}).radius, 2, 1e-7);
  EXPECT_GE(perron(2, {0, 4, 1, 0}).radius, 2);
  EXPECT_NEAR(perron(2, {1, 2, 3, 4}).radius, (5 + std::sqrt(33)) / 2, 1e-7);
  EXPECT_EQ(perron(3, std::vector<double>(9, 0)).radius, 0);
  EXPECT_EQ(perron(1, {5}).radius, 5 * (1 + 1e-9));
}

/// Systems of one to three unknowns on a grid with spacings 0.1 and 0.2.
struct Equations {
  System system{.dims = 2, .terms = {}, .unknowns = {}, .rates = {}};
  Terms& terms = system.terms;
  Term u = terms.unknown(0), v = terms.unknown(1), w = terms.unknown(2);
  Grid grid{.dims = 2, .points = {64, 64, 1}, .origin = {}, .spacing = {0.1, 0.2, 1}};

  Term times(double factor, Term of) { return terms.multiply(terms.number(factor), of); }
  Term laplace(Term of) {
    return terms.add(terms.derivative(of, {2, 0, 0}), terms.derivative(of, {0, 2, 0}));
  }
  Linearisation linearised(std::vector<Term> const& rates) {
    system.rates = rates;
    return Linearisation(discretise(system, grid));
  }
  StepLimit limit(std::vector<Term> const& rates, int order,
                  std::vector<Range> const& ranges = {}) {
    auto const one = linearised(rates);
    EXPECT_EQ(one.coefficients().size(), ranges.size());
    return one.limit(ranges, order);
  }
};

TEST(Stability, DiffusionIsSharp) {
  Equations e;
  for (int order = 1; order <= 4; ++order) {
    auto const found = e.limit({e.times(3, e.laplace(e.u))}, order);
    // |λ| = 4·D·Σ 1/h²
    EXPECT_NEAR(found.fastest, 4 * 3 * (100 + 25), 1e-9);
    EXPECT_NEAR(found.step, extents[order - 1] / 1500, 1e-12) << order;
    EXPECT_NEAR(found.reaction, 0, 1e-10);
    EXPECT_FALSE(found.hopeless);
  }
}

TEST(Stability, TheFourthDerivativeIsSharp) {
  Equations e;
  auto const found = e.limit({e.times(-2, e.laplace(e.laplace(e.u)))}, 1);
  EXPECT_NEAR(found.step, 2 / (2 * std::pow(4 * 125, 2)), 1e-15);
}

/// Whose region holds that of degree 1, and hardly reaches along the imaginary axis.
TEST(Stability, DegreeTwoTakesWhatDegreeOneTakes) {
  Equations e;
  Term const carried = e.terms.derivative(e.u, {0, 1, 0});
  auto const diffuses = e.times(0.722, e.laplace(e.u));
  auto const grows = e.times(0.069, e.u);
  for (auto const& rate :
       {e.terms.add(e.terms.add(diffuses, grows), e.times(0.502, carried)),
        e.terms.subtract(e.times(5, carried), e.laplace(e.laplace(e.u))),
        e.terms.subtract(e.terms.subtract(carried, e.laplace(e.u)), e.laplace(e.laplace(e.u)))}) {
    auto const first = e.limit({rate}, 1), second = e.limit({rate}, 2);
    EXPECT_FALSE(second.hopeless);
    EXPECT_GE(second.step, first.step);
    EXPECT_GT(second.step * second.fastest, 1);
  }
}

TEST(Stability, WavesAreSharpAndNotForEuler) {
  Equations e;
  Term const carried = e.terms.add(e.times(-2, e.terms.derivative(e.u, {1, 0, 0})),
                                   e.times(6, e.terms.derivative(e.u, {0, 1, 0})));
  // |λ| = 2/h_x + 6/h_y, at θ = ±π/2
  EXPECT_TRUE(e.limit({carried}, 1).hopeless);
  EXPECT_TRUE(e.limit({carried}, 2).hopeless);
  EXPECT_NEAR(e.limit({carried}, 3).step, std::sqrt(3) / 50, 1e-6);
  EXPECT_NEAR(e.limit({carried}, 4).step, 2 * std::sqrt(2) / 50, 1e-6);
  // Schrödinger: iψ_t = −∆ψ/2, as two fields.
  std::vector<Term> const real = {e.times(-0.5, e.laplace(e.v)), e.times(0.5, e.laplace(e.u))};
  EXPECT_TRUE(e.limit(real, 1).hopeless);
  EXPECT_NEAR(e.limit(real, 4).step, 2 * std::sqrt(2) / (0.5 * 500), 1e-6);
  EXPECT_NEAR(e.limit(real, 3).fastest, 250, 1e-6);
  // Sound in different units: u_t = −1e6·v_x, v_t = −4e-6·u_x travels at 2.
  std::vector<Term> const sound = {e.times(-1e6, e.terms.derivative(e.v, {1, 0, 0})),
                                   e.times(-4e-6, e.terms.derivative(e.u, {1, 0, 0}))};
  EXPECT_NEAR(e.limit(sound, 4).step, 2 * std::sqrt(2) / 20, 1e-6);
}

/// u_tt = ∆u as two fields: neither what is differenced nor what is not says that it is a wave.
TEST(Stability, AWaveOfSecondOrderIsOne) {
  Equations e;
  std::vector<Term> const rates = {e.v, e.laplace(e.u)};
  EXPECT_TRUE(e.limit(rates, 1).hopeless);
  EXPECT_NEAR(e.limit(rates, 4).fastest, std::sqrt(500), 1e-9);
  EXPECT_NEAR(e.limit(rates, 4).step, 2 * std::sqrt(2) / std::sqrt(500), 1e-6);
  EXPECT_EQ(e.limit(rates, 4).reaction, 0);
  // Nor do reactions make forward Euler stable: those of i·ψ_t = −∆ψ/2 + ψ.
  EXPECT_TRUE(e.limit({e.terms.add(e.times(-0.5, e.laplace(e.v)), e.v),
                       e.terms.subtract(e.times(0.5, e.laplace(e.u)), e.u)},
                      1)
                  .hopeless);
}

TEST(Stability, GlobalsOfConstantCoefficientsAreSharp) {
  Equations e;
  auto const global = [&](Kind kind, Term of) { return e.terms.global(kind, of); };
  // The measure is 6.4·12.8; what differences make has the mean 0.
  Term const with = e.terms.add(e.times(3, e.u), e.laplace(e.u));
  EXPECT_NEAR(e.limit({e.times(-50, global(Kind::mean, with))}, 1).step, 2.0 / 150, 1e-12);
  EXPECT_NEAR(e.limit({e.times(-50, global(Kind::integral, with))}, 1).step,
              2.0 / (150 * 6.4 * 12.8), 1e-12);
  EXPECT_NEAR(e.limit({e.times(-50, global(Kind::mean, e.u))}, 1).reaction, 50, 1e-6);
  // Beside diffusion it does not count twice: −1500 at the shortest wave, −50 at θ = 0.
  auto const both = e.limit(
      {e.terms.subtract(e.times(3, e.laplace(e.u)), e.times(50, global(Kind::mean, e.u)))}, 1);
  EXPECT_NEAR(both.fastest, 1550, 1e-6);
  EXPECT_FALSE(both.hopeless);
  // Growth limits no step by itself.
  EXPECT_FALSE(e.limit({e.times(50, global(Kind::mean, e.u))}, 1).hopeless);
}

TEST(Stability, OfOtherGlobalsThereIsABound) {
  Equations e;
  auto const step = [&](Term rate, std::vector<Range> const& ranges) {
    auto const found = e.limit({rate}, 1, ranges);
    EXPECT_FALSE(found.hopeless);
    return found.step;
  };
  // The extremes of 3u + laplace(u) change by 3 + 4·Σ1/h² times as much as u at most; a disc of
  // that radius R, moved by R: 1/R·2·2/(4 + 1).
  double const radius = 2 * (3 + 4 * 125);
  Term const with = e.terms.add(e.times(3, e.u), e.laplace(e.u));
  EXPECT_NEAR(step(e.times(-2, e.terms.global(Kind::greatest, with)), {}), 0.8 / radius,
              1e-4 / radius);
  // mean(u³) by 3u² ≤ 12; times v nested in another mean as well.
  Term const cube = e.terms.operation(expression::Operation::power, e.u, e.terms.number(3));
  Term const mean = e.terms.global(Kind::mean, cube);
  EXPECT_NEAR(step(mean, {{0, 12}}), 0.8 / 12, 1e-3);
  EXPECT_NEAR(step(e.terms.global(Kind::mean, e.terms.multiply(mean, e.terms.coordinate(0))),
                   {{0, 5}, {0, 12}}),
              0.8 / 60, 1e-3);
}

TEST(Stability, NoiseIsLeftOut) {
  Equations e;
  Term const noise = e.terms.random(Kind::noise, 1);
  EXPECT_EQ(e.limit({noise}, 1).fastest, 0);
  EXPECT_NEAR(e.limit({e.terms.multiply(e.u, e.terms.subtract(noise, e.terms.number(4)))}, 1).step,
              0.5, 1e-12);
}

TEST(Stability, EulerTakesWavesThatDiffuse) {
  Equations e;
  auto const of = [&](double viscosity) {
    return e.limit({e.terms.add(e.times(-1, e.terms.derivative(e.u, {1, 0, 0})),
                                e.times(viscosity, e.terms.derivative(e.u, {2, 0, 0})))},
                   1);
  };
  EXPECT_NEAR(of(0.01).step, 2 * 0.01, 1e-4);     // 2ν/a²
  EXPECT_NEAR(of(1).step, 0.1 * 0.1 / 2, 1e-12);  // h²/(2ν)
  EXPECT_TRUE(of(1e-5).hopeless);
}

TEST(Stability, ComponentsThatDoNotActOnEachOtherAreApart) {
  Equations e;
  // u decides: v acts on u, u does not on v.
  auto const found = e.limit(
      {e.terms.add(e.laplace(e.u), e.times(50, e.laplace(e.v))), e.times(0.5, e.laplace(e.v))}, 1);
  EXPECT_NEAR(found.step, 2 / 500.0, 1e-12);
}

TEST(Stability, ReactionsCountByTheirRadius) {
  Equations e;
  // Decay alone: |λ|·dt ≤ 2.
  EXPECT_NEAR(e.limit({e.times(-10, e.u)}, 1).step, 0.2, 1e-8);
  EXPECT_EQ(e.limit({e.terms.number(7)}, 1).step, std::numeric_limits<double>::infinity());
  // Turning alone: forward Euler spirals outwards, by no more than e^{t·|λ|}.
  auto const turn = e.limit({e.times(-4, e.v), e.times(4, e.u)}, 1);
  EXPECT_NEAR(turn.reaction, 4, 1e-8);
  EXPECT_LE(std::abs(std::complex<double>(1, 4 * turn.step)), std::exp(4 * turn.step));
  EXPECT_GT(turn.step, 0.2);
  // With diffusion: rates add up.
  EXPECT_NEAR(e.limit({e.terms.subtract(e.laplace(e.u), e.times(10, e.u))}, 1).step, 2 / 510.0,
              1e-10);
}

/// Whether forward Euler, or another scheme, keeps waves from growing that only decay.
TEST(Stability, WhatOnlyDampsLetsNothingGrow) {
  Equations e;
  Term const carried = e.times(4, e.terms.derivative(e.v, {1, 0, 0}));  // λ = ±40i at most
  auto const decays = [&](Term of, double rate) { return e.times(-rate, of); };
  // What u does is nothing to v, whether v follows from u or not.
  for (Term const v : {carried, e.terms.add(carried, e.times(50, e.u))}) {
    EXPECT_TRUE(e.limit({decays(e.u, 50), v}, 1).hopeless);
    EXPECT_TRUE(e.limit({decays(e.u, 50), v}, 2).hopeless);
    EXPECT_NEAR(e.limit({decays(e.u, 26), v}, 3).step, std::sqrt(3) / 40, 1e-6);
  }
  // |1 + (−20 ± 40i)·dt| = 1
  EXPECT_NEAR(e.limit({e.terms.number(0), e.terms.add(carried, decays(e.v, 20))}, 1).step,
              40.0 / (400 + 1600), 1e-6);
  // A telegraph: waves are damped by half of what w decays by.
  auto const telegraph = [&](double rate) {
    return e.limit({e.terms.derivative(e.v, {1, 0, 0}),
                    e.terms.add(e.terms.derivative(e.u, {1, 0, 0}), decays(e.v, rate))},
                   1);
  };
  EXPECT_NEAR(telegraph(8).step, 8.0 / 100, 1e-6);  // λ = −4 ± √84·i
}

/// What grows a little without differences, or acts on others a little, lets little grow.
TEST(Stability, WhatGrowsSlowlyLetsNothingGrowFast) {
  Equations e;
  Term const carried = e.times(4, e.terms.derivative(e.v, {1, 0, 0}));
  std::vector<Term> const coupled = {e.terms.add(e.times(-50, e.u), e.times(1e-3, e.v)),
                                     e.terms.add(carried, e.times(1e-3, e.u))};
  EXPECT_TRUE(e.limit(coupled, 1).hopeless);
  EXPECT_NEAR(e.limit(coupled, 3).step, std::sqrt(3) / 40, 1e-5);
  // What decays more here than there makes nothing else grow.
  Term const unevenly = e.terms.multiply(e.terms.coordinate(0), e.u);
  EXPECT_TRUE(
      e.limit({e.terms.add(unevenly, e.times(1e-3, e.v)), coupled[1]}, 1, {{-75, -25}}).hopeless);
  // S between −60 and 0.001
  Term const slope = e.terms.multiply(e.terms.coordinate(0), e.v);
  EXPECT_TRUE(
      e.limit({e.terms.number(0), e.terms.add(carried, slope)}, 1, {{-60, 0.001}}).hopeless);
  // What grows by itself as fast as differences turn it may grow by the scheme, too.
  double const rate = 50;
  auto const found = e.limit({e.terms.number(0), e.terms.add(carried, e.times(rate, e.v))}, 1);
  EXPECT_FALSE(found.hopeless);
  EXPECT_LE(std::abs(std::complex<double>(1 + rate * found.step, 40 * found.step)),
            std::exp(2 * rate * found.step));
}

/// Where a side holds v, u has its own rate alone.
TEST(Stability, WhatASideHoldsIsNotThere) {
  Equations e;
  Term const rate = e.times(3, e.terms.subtract(e.v, e.u));
  e.system.rates = {rate, rate};
  auto stencil = discretise(e.system, e.grid);
  auto const limit = [&](std::vector<std::vector<std::size_t>> held) {
    auto with = stencil;
    with.held = std::move(held);
    return Linearisation(std::move(with)).limit({}, 1);
  };
  EXPECT_EQ(limit({}).step, std::numeric_limits<double>::infinity());
  auto const found = limit({{1}});
  EXPECT_NEAR(found.step, 2 / 3.0, 1e-9);
  EXPECT_EQ(found.components, std::vector<std::size_t>{0});
  EXPECT_EQ(found.growth, limit({}).growth);
  EXPECT_EQ(limit({{0}}).step, std::numeric_limits<double>::infinity());  // v alone grows
  EXPECT_EQ(limit({{0}, {1}}).step, found.step);
}

TEST(Stability, RangesOfCoefficients) {
  Equations e;
  // Diffusion that varies in space: D from 1 to 3 at the faces; its slope as differences see it.
  Term const D = e.terms.add(e.terms.number(2),
                             e.terms.operation(expression::Operation::sin, e.terms.coordinate(0)));
  std::vector<Term> const rates = {
      e.terms.flux(e.terms.multiply(D, e.terms.derivative(e.u, {1, 0, 0})), 0)};
  auto const one = e.linearised(rates);
  ASSERT_EQ(one.coefficients().size(), 3);  // even, odd and the sum, which is 0 but for rounding
  // Where they are what they are for D = 3 everywhere, the limit is that of D = 3.
  std::vector<Range> ranges = {{100, 300}, {-5, 5}, {0, 0}};
  EXPECT_NEAR(one.limit(ranges, 1).fastest, 1200, 1e-6);
  EXPECT_LE(one.limit(ranges, 1).step, 2 / 1200.0 * (1 + 1e-12));
  EXPECT_GT(one.limit(ranges, 1).step, 1.99 / 1200.0);
}

/// Beside what grows by itself slow waves that are hardly damped are no reason to refuse a scheme;
/// fast ones are.
TEST(Stability, BesideWavesThatGrowSlowOnesAreNotRefused) {
  Equations e;
  auto const drift = [&](double speed) {
    return e.times(speed, e.terms.derivative(e.u, {1, 0, 0}));
  };
  Term const rest = e.terms.add(e.laplace(e.u), e.laplace(e.laplace(e.u)));
  auto const limit = e.limit({e.terms.subtract(drift(0.01), rest)}, 1);
  EXPECT_FALSE(limit.hopeless);
  EXPECT_GT(limit.growth, 0);
  EXPECT_NEAR(limit.step * limit.fastest, 2, 0.1);
  EXPECT_TRUE(e.limit({drift(0.01)}, 1).hopeless);
  EXPECT_TRUE(e.limit({e.terms.subtract(drift(1), e.times(1e-5, rest))}, 1).hopeless);
}

/// Where sums are more than numbers hold no step is stable, and least of all any.
TEST(Stability, WhatIsBeyondNumbersIsHopeless) {
  Equations e;
  for (auto const& rates :
       {std::vector<Term>{e.terms.multiply(e.terms.coordinate(0), e.laplace(e.u))},
        {e.terms.multiply(e.terms.coordinate(0), e.laplace(e.v)), e.laplace(e.u)}}) {
    auto const one = e.linearised(rates);
    std::vector<Range> const huge(one.coefficients().size(), Range{-1e308, 1e308});
    for (int const degree : {1, 4}) {
      auto const limit = one.limit(huge, degree);
      EXPECT_TRUE(limit.hopeless);
      EXPECT_EQ(limit.step, 0);
      EXPECT_FALSE(std::isfinite(limit.fastest));
    }
  }
}

/// Shallow water at rest with heights from h to 4h: waves of up to √(4gh).
TEST(Stability, CoupledRangesAreBoundedByTheFastestWave) {
  Equations e;
  double const g = 10;
  Term const pressure = e.times(0.5 * g, e.terms.multiply(e.u, e.u));
  std::vector<Term> const rates = {e.terms.negate(e.terms.flux(e.v, 0)),
                                   e.terms.negate(e.terms.flux(pressure, 0))};
  auto const one = e.linearised(rates);
  std::vector<Range> ranges;
  for (Term const coefficient : one.coefficients()) {
    // h at the points to both sides: of g·(h₊ − h₋)/2h and its like, for h from 1 to 4 that vary
    // slowly: only the odd part is large.
    auto const program = program_of(one.terms(), std::array{coefficient}, 2);
    auto const value = [&](double h) {
      return test::results_of(program, [h](Node const&) { return h; })[0];
    };
    ranges.push_back({std::min(value(1), value(4)), std::max(value(1), value(4))});
  }
  auto const found = one.limit(ranges, 4);
  double const fastest = std::sqrt(g * 4) / 0.1;
  EXPECT_GE(found.fastest, fastest * (1 - 1e-9));
  EXPECT_LE(found.step, 2 * std::sqrt(2) / fastest);
  EXPECT_GE(found.step, 0.6 * 2 * std::sqrt(2) / fastest);
  EXPECT_TRUE(one.limit(ranges, 1).hopeless);
}

/// What the limit promises, tried: a wave and a diffusion just below it stay, just above they grow.
TEST(Stability, TheLimitIsWhereStepsBeginToGrow) {
  Equations e;
  std::vector<Term> const rates = {e.terms.add(e.times(-3, e.terms.derivative(e.u, {1, 0, 0})),
                                               e.times(0.08, e.terms.derivative(e.u, {2, 0, 0})))};
  for (int order = 1; order <= 4; ++order) {
    double const limit = e.limit(rates, order).step;
    auto const largest_growth = [&](double step) {
      double largest = 0;
      for (int k = 0; k <= 2000; ++k) {
        double const theta = std::numbers::pi * k / 2000;
        std::complex<double> const z =
            step * std::complex<double>(-4 * 0.08 * 100 * std::pow(std::sin(theta / 2), 2),
                                        -3 * 10 * std::sin(theta));
        std::complex<double> sum = 1;
        for (int n = order; n >= 1; --n) sum = 1.0 + z / static_cast<double>(n) * sum;
        largest = std::max(largest, std::abs(sum));
      }
      return largest;
    };
    EXPECT_LT(largest_growth(0.99 * limit), 1 + 1e-9) << order;
    EXPECT_GT(largest_growth(1.02 * limit), 1 + 1e-6) << order;
  }
}

}  // namespace
}  // namespace gridstride::equations

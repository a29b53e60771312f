#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "equations/ill_posed.hpp"
#include "equations/stability.hpp"
#include "unit/equations/discretised.hpp"

namespace gridstride::equations {
namespace {

/// Systems of up to three unknowns on a grid with spacings 0.1 and 0.2.
struct Growing {
  System system{
      .dims = 2, .terms = {}, .unknowns = {{"u", 1, 0}, {"v", 1, 1}, {"w", 1, 2}}, .rates = {}};
  Terms& terms = system.terms;
  Term u = terms.unknown(0), v = terms.unknown(1), w = terms.unknown(2);
  Grid grid{.dims = 2, .points = {64, 64, 1}, .origin = {}, .spacing = {0.1, 0.2, 1}};

  Term number(double value) { return terms.number(value); }
  Term times(double factor, Term of) { return terms.multiply(number(factor), of); }
  Term sum(Term a, Term b) { return terms.add(a, b); }
  Term minus(Term a) { return terms.negate(a); }
  Term laplace(Term of) {
    return terms.add(terms.derivative(of, {2, 0, 0}), terms.derivative(of, {0, 2, 0}));
  }
  Term d_dx(Term of) { return terms.derivative(of, {1, 0, 0}); }

  Linearisation linearised(std::vector<Term> rates, double finer = 1) {
    while (rates.size() < 3) rates.push_back(number(0));
    system.rates = rates;
    Grid used = grid;
    for (double& spacing : used.spacing) spacing /= finer;
    return Linearisation(discretise_for_stability(system, used));
  }
  double growth(std::vector<Term> const& rates, std::vector<Range> const& ranges = {}) {
    auto const one = linearised(rates);
    EXPECT_EQ(one.coefficients().size(), ranges.size());
    return one.limit(ranges, 4).growth;
  }
  /// Of what has constant coefficients.
  std::optional<IllPosed> ill_posed(std::vector<Term> const& rates) {
    return find_ill_posed(linearised(rates).constant_wave_growths(),
                          [&] { return linearised(rates, finer_by).constant_wave_growths(); });
  }
  /// Of what has coefficients of the place, where x is in that range.
  std::optional<IllPosed> ill_posed(std::vector<Term> const& rates, Range range) {
    auto const growths = [&](double finer) {
      auto const one = linearised(rates, finer);
      return one.wave_growths(ranges_of(one, range));
    };
    return find_ill_posed(growths(1), [&] { return growths(finer_by); });
  }
  static std::vector<Range> ranges_of(Linearisation const& one, Range x) {
    auto const code = program_of(one.terms(), one.coefficients(), 2);
    auto const at = [&](double place) {
      return test::results_of(code, [place](Node const&) { return place; });
    };
    auto const least = at(x.least), greatest = at(x.greatest);
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < least.size(); ++i)
      ranges.push_back({std::min(least[i], greatest[i]), std::max(least[i], greatest[i])});
    return ranges;
  }
};

TEST(Growth, OfConstantCoefficientsIsThatOfTheFastestWave) {
  Growing g;
  // u' = 5v, v' = 5u: e^{5t}; u' = 5v, v' = −5u turns.
  EXPECT_NEAR(g.growth({g.times(5, g.v), g.times(5, g.u)}), 5, 1e-9);
  EXPECT_NEAR(g.growth({g.times(5, g.v), g.times(-5, g.u)}), 0, 1e-9);
  // (2 + 3·i) as two reals, and in units that are 1e9 apart.
  EXPECT_NEAR(g.growth({g.sum(g.times(2, g.u), g.times(-3e-9, g.v)),
                        g.sum(g.times(2, g.v), g.times(3e9, g.u))}),
              2, 1e-8);
  EXPECT_NEAR(g.growth({g.times(7, g.w), g.times(7, g.u), g.times(7, g.v)}), 7, 1e-9);
  // Turing's instability: growth of waves beside none of what is alike everywhere. With q = k² the
  // matrix (1 − q, −2; 3, −4 − 20q)/2 has its largest eigenvalue between two waves of the grid.
  std::vector<Term> const turing = {
      g.sum(g.sum(g.u, g.times(-2, g.v)), g.times(0.05, g.laplace(g.u))),
      g.sum(g.sum(g.times(3, g.u), g.times(-4, g.v)), g.times(2, g.laplace(g.v)))};
  double most = 0;
  for (double q = 0; q < 200; q += 0.001) {
    double const a = 1 - 0.05 * q, d = -4 - 2 * q;
    double const root = 0.25 * (a - d) * (a - d) - 6;
    most = std::max(most, 0.5 * (a + d) + std::sqrt(std::max(root, 0.0)));
  }
  EXPECT_GT(most, 0.1);
  EXPECT_LE(g.growth(turing), most * (1 + 1e-9));
  // It may be left out, since the step that is stable is short beside it.
  EXPECT_LT(g.linearised(turing).limit({}, 4).step, 0.1 / most);
}

/// u' = 5v(1 − u), v' = 5u(1 − v): where fields go from 0 to 1, e^{5t} at most.
TEST(Growth, OfReactionsIsBoundedByTheirRanges) {
  Growing g;
  auto const rate = [&](Term a, Term b) {
    return g.times(5, g.terms.multiply(a, g.terms.subtract(g.number(1), b)));
  };
  auto const one = g.linearised({rate(g.v, g.u), rate(g.u, g.v)});
  std::vector<Range> ranges;
  for (Term const coefficient : one.coefficients()) {
    bool const falls = one.terms()[coefficient].operation == expression::Operation::negate ||
                       one.terms().contains(coefficient, Kind::unknown, 0) !=
                           one.terms().contains(coefficient, Kind::unknown, 1);
    EXPECT_TRUE(falls);
    ranges.push_back({-5, 5});
  }
  // Of these ranges the diagonal's least and greatest count, too.
  double const growth = one.limit(ranges, 4).growth;
  EXPECT_GE(growth, 5);
  EXPECT_LE(growth, 10 * (1 + 1e-9));
}

/// What is bounded is so for each matrix in the ranges, and of two components it is reached, by both or
/// by one of them alone.
TEST(Growth, NoMatrixInTheRangesGrowsFaster) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> any(-2, 2), part(0, 1);
  for (int size = 2; size <= 3; ++size)
    for (int trial = 0; trial < 60; ++trial) {
      Growing g;
      // Nine coefficients that are different functions of the place.
      std::vector<Term> rates;
      Term const unknowns[] = {g.u, g.v, g.w};
      for (int i = 0; i < size; ++i) {
        Term rate = g.number(0);
        for (int j = 0; j < size; ++j)
          rate = g.sum(
              rate, g.terms.multiply(g.times(1 + 3 * i + j, g.terms.coordinate(0)), unknowns[j]));
        rates.push_back(rate);
      }
      auto const one = g.linearised(rates);
      auto const count = static_cast<std::size_t>(size * size);
      ASSERT_EQ(one.coefficients().size(), count);
      std::vector<Range> ranges;
      for (std::size_t i = 0; i < count; ++i) {
        double const a = any(engine), b = any(engine);
        ranges.push_back({std::min(a, b), std::max(a, b)});
      }
      double const bound = one.limit(ranges, 4).growth;
      double most = 0;
      for (int sample = 0; sample < 200; ++sample) {
        std::vector<Range> exact;
        for (auto const& [least, greatest] : ranges) {
          double const to = sample % 2 == 0 ? part(engine) : std::round(part(engine));
          double const value = least + to * (greatest - least);
          exact.push_back({value, value});
        }
        most = std::max(most, one.limit(exact, 4).growth);
      }
      EXPECT_LE(most, bound * (1 + 1e-6) + 1e-12);
      if (size == 2) {
        most = std::max({most, ranges[0].greatest, ranges[3].greatest});
        EXPECT_GE(most, 0.9 * bound - 1e-12);
      }
    }
}

/// Of waves that are carried along neither differences nor what velocities differ by counts.
TEST(Growth, SoundDoesNotGrow) {
  Growing g;
  EXPECT_NEAR(g.growth({g.times(-1e6, g.d_dx(g.v)), g.times(-4e-6, g.d_dx(g.u))}), 0, 1e-6);
  EXPECT_NEAR(g.growth({g.times(-0.5, g.laplace(g.v)), g.times(0.5, g.laplace(g.u))}), 0, 1e-6);
  EXPECT_NEAR(g.growth({g.v, g.laplace(g.u)}), 0, 1e-6);
}

/// Diffusion of the wrong sign has no scheme; what is damped where it is short has, however fast
/// longer waves grow, and so has what grows alike everywhere.
TEST(IllPosed, WhatGrowsWithoutEndOnFinerGridsIs) {
  Growing g;
  Term const diffusion = g.laplace(g.u), fourth = g.laplace(g.laplace(g.u));
  auto const found = g.ill_posed({g.minus(diffusion)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->growth, 500, 1e-9);  // 4/0.1² + 4/0.2²
  EXPECT_EQ(found->components, std::vector<std::size_t>{0});
  EXPECT_TRUE(g.ill_posed({fourth}));
  EXPECT_TRUE(g.ill_posed({g.terms.subtract(g.minus(diffusion), g.times(100, g.u))}));
  EXPECT_TRUE(g.ill_posed({g.sum(g.minus(diffusion), g.terms.multiply(g.u, g.u))}));
  EXPECT_FALSE(g.ill_posed({diffusion}));
  EXPECT_FALSE(g.ill_posed({g.times(50, g.u)}));
  EXPECT_FALSE(g.ill_posed({g.sum(g.times(50, g.u), g.d_dx(g.u))}));
  EXPECT_FALSE(g.ill_posed({g.sum(g.times(50, g.u), diffusion)}));
  // −∇² − ∇⁴ damps short waves, but where the grid is so coarse that none of them is on it; what is
  // not linear may stop them by itself.
  Term const both = g.terms.subtract(g.minus(diffusion), fourth);
  EXPECT_FALSE(g.ill_posed({both}));
  g.grid.spacing = {4, 4, 1};
  EXPECT_TRUE(g.ill_posed({both}));
  EXPECT_FALSE(g.ill_posed({g.terms.subtract(both, g.terms.multiply(g.u, g.u))}));
}

TEST(IllPosed, SystemsThatGrowByWhatTheyDoToEachOtherAre) {
  Growing g;
  // ±k²; ±k (those of Cauchy and Riemann); a wave equation of the wrong sign.
  auto const found = g.ill_posed({g.laplace(g.v), g.laplace(g.u)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->growth, 500, 1e-6);
  EXPECT_EQ(found->components, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(g.ill_posed({g.d_dx(g.v), g.minus(g.d_dx(g.u))}));
  EXPECT_TRUE(g.ill_posed({g.v, g.minus(g.laplace(g.u))}));
  EXPECT_TRUE(g.ill_posed({g.times(1e6, g.laplace(g.v)), g.times(1e-9, g.laplace(g.u))}));
  EXPECT_TRUE(g.ill_posed({g.laplace(g.v), g.laplace(g.w), g.laplace(g.u)}));
  // Cross diffusion that is stronger than diffusion.
  auto const crossed = [&](double by) {
    return std::vector{g.sum(g.laplace(g.u), g.times(by, g.laplace(g.v))),
                       g.sum(g.laplace(g.v), g.times(by, g.laplace(g.u)))};
  };
  EXPECT_TRUE(g.ill_posed(crossed(1.1)));
  EXPECT_FALSE(g.ill_posed(crossed(0.9)));
  // Schrödinger, sound, a wave, a beam, a wave that is damped; none of them grows.
  EXPECT_FALSE(g.ill_posed({g.minus(g.laplace(g.v)), g.laplace(g.u)}));
  EXPECT_FALSE(g.ill_posed({g.d_dx(g.v), g.d_dx(g.u)}));
  EXPECT_FALSE(g.ill_posed({g.v, g.laplace(g.u)}));
  EXPECT_FALSE(g.ill_posed({g.v, g.minus(g.laplace(g.laplace(g.u)))}));
  EXPECT_FALSE(g.ill_posed({g.v, g.sum(g.laplace(g.u), g.laplace(g.v))}));
  // A beam that is pressed, and Cahn and Hilliard's equation beside another one: fourth derivatives.
  Term const pressed = g.terms.subtract(g.times(-50, g.laplace(g.u)), g.laplace(g.laplace(g.u)));
  EXPECT_FALSE(g.ill_posed({g.v, pressed}));
  EXPECT_FALSE(g.ill_posed({g.sum(pressed, g.v), g.terms.subtract(g.u, g.laplace(g.v))}));
  // One that grows at all lengths alike.
  EXPECT_FALSE(g.ill_posed({g.sum(g.times(9, g.v), g.laplace(g.u)), g.times(9, g.u)}));
  // Dispersion of third order is faster than what ±k² makes, and it is not enough.
  EXPECT_TRUE(g.ill_posed({g.sum(g.laplace(g.v), g.terms.derivative(g.u, {3, 0, 0})),
                           g.sum(g.laplace(g.u), g.terms.derivative(g.v, {3, 0, 0}))}));
}

TEST(IllPosed, CoefficientsThatDifferHaveToSayItEverywhere) {
  Growing g;
  Term const x = g.terms.coordinate(0);
  auto const times_x = [&](Term of) { return g.terms.multiply(x, of); };
  std::vector<Term> const one = {times_x(g.laplace(g.u))};
  EXPECT_TRUE(g.ill_posed(one, {-1.1, -0.9}));
  EXPECT_FALSE(g.ill_posed(one, {-1.1, 0.1}));
  EXPECT_FALSE(g.ill_posed(one, {0.9, 1.1}));
  std::vector<Term> const both = {times_x(g.laplace(g.v)), g.laplace(g.u)};
  EXPECT_TRUE(g.ill_posed(both, {0.5, 2}));
  EXPECT_FALSE(g.ill_posed(both, {-0.1, 2}));
  EXPECT_FALSE(g.ill_posed(both, {-2, -0.5}));
  // What fourth derivatives damp, and what is of first order, which a corner may show that no point has.
  std::vector<Term> const damped = {
      g.terms.subtract(times_x(g.laplace(g.u)), g.laplace(g.laplace(g.u)))};
  EXPECT_FALSE(g.ill_posed(damped, {-50, -40}));
  g.grid.spacing = {3, 3, 1};
  EXPECT_FALSE(g.ill_posed(damped, {-1.1, -0.9}));
  EXPECT_FALSE(g.ill_posed({times_x(g.d_dx(g.v)), g.minus(g.d_dx(g.u))}, {0.5, 2}));
}

}  // namespace
}  // namespace gridstride::equations

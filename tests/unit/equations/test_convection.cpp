#include "equations/convection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "equations/stability.hpp"
#include "unit/equations/discretised.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;
using test::Discretised;

/// Scalars on a grid with spacings 0.1 and 0.2, and terms at a point where they have values.
struct Convected {
  System system;
  Terms& terms = system.terms;
  Grid grid{.dims = 2, .points = {64, 64, 1}, .origin = {}, .spacing = {0.1, 0.2, 1}};

  explicit Convected(int components, int dims = 1) {
    system.dims = dims;
    for (int c = 0; c < components; ++c) {
      system.unknowns.push_back({std::string(1, static_cast<char>('a' + c)), 1, c});
      terms.unknown(c);
    }
  }
  Term u(int c) { return terms.unknown(c); }
  Term times(double factor, Term of) { return terms.multiply(terms.number(factor), of); }
  Term minus_flux(Term of, int axis = 0) { return terms.negate(terms.flux(of, axis)); }
  SplitSystem split(std::vector<Term> const& rates) {
    system.rates = rates;
    return split_convection(system);
  }
  StepLimit limit(std::vector<Term> const& rates, Convection convection, int order,
                  std::vector<Range> const& ranges = {}) {
    system.rates = rates;
    Linearisation const one(
        discretise_for_stability(system, grid, {.order = 2, .convection = convection}));
    EXPECT_EQ(one.coefficients().size(), ranges.size());
    return one.limit(ranges, order);
  }
  /// h, q_x, q_y: −div(q), −div(q q/h + g h²/2), g = 10.
  std::vector<Term> shallow_water() {
    auto const flow = [&](int i, int axis) {
      Term const product = terms.divide(terms.multiply(u(1 + i), u(1 + axis)), u(0));
      return i == axis ? terms.add(product, times(5, terms.multiply(u(0), u(0)))) : product;
    };
    std::vector<Term> rates = {terms.negate(terms.add(terms.flux(u(1), 0), terms.flux(u(2), 1)))};
    for (int i = 0; i < 2; ++i)
      rates.push_back(
          terms.negate(terms.add(terms.flux(flow(i, 0), 0), terms.flux(flow(i, 1), 1))));
    return rates;
  }
};

double value_of(Terms const& terms, Term term, std::vector<double> const& fields) {
  std::array<Term, 1> const root = {term};
  std::vector<double> values;
  for (Node const& node : program_of(terms, root, 3).code) {
    auto const operand = [&](std::size_t i) {
      return node.operands[i] < 0 ? 0 : values[static_cast<std::size_t>(node.operands[i])];
    };
    values.push_back(node.kind == Kind::number ? node.value
                     : node.kind == Kind::unknown
                         ? fields[static_cast<std::size_t>(node.index)]
                         : expression::apply(node.operation, operand(0), operand(1), operand(2)));
  }
  return values.back();
}

TEST(Convection, TheSpeedOfShallowWaterIsExact) {
  Convected one(3, 2);
  auto const split = one.split(one.shallow_water());
  ASSERT_EQ(split.fluxes.size(), 6);
  for (double const q : {-3., 0., 12.})
    for (auto const& flux : split.fluxes) {
      // h = 4: waves of √40 on a flow of q/h along x and of 2/h along y.
      double const flow = flux.axis == 0 ? std::abs(q) / 4 : 0.5;
      EXPECT_NEAR(value_of(split.terms, flux.speed, {4, q, 2}), flow + std::sqrt(40.0), 1e-13);
      EXPECT_EQ(flux.family, 0);
    }
  EXPECT_TRUE(split.couplings.empty());
}

/// Euler's equations, γ = 1.4: the eigenvalues u − c, u and u + c are bounded by |u| + √(4/3)·c.
TEST(Convection, TheSpeedOfAGasIsABound) {
  Convected one(3);
  Terms& terms = one.terms;
  Term const rho = one.u(0), m = one.u(1), energy = one.u(2), u = terms.divide(m, rho);
  Term const p = one.times(0.4, terms.subtract(energy, one.times(0.5, terms.multiply(m, u))));
  auto const split =
      one.split({one.minus_flux(m), one.minus_flux(terms.add(terms.multiply(m, u), p)),
                 one.minus_flux(terms.multiply(terms.add(energy, p), u))});
  ASSERT_EQ(split.fluxes.size(), 3);
  for (double const velocity : {-2., 0., 0.5, 30.}) {
    double const density = 0.7, pressure = 3, c = std::sqrt(1.4 * pressure / density);
    std::vector<double> const state = {density, density * velocity,
                                       pressure / 0.4 + 0.5 * density * velocity * velocity};
    for (auto const& flux : split.fluxes)
      EXPECT_NEAR(value_of(split.terms, flux.speed, state),
                  std::abs(velocity) + std::sqrt(4.0 / 3) * c, 1e-9);
  }
}

TEST(Convection, WhatTurnsIsNotTakenForFast) {
  // A = [[2, −3], [3, 2]] with eigenvalues 2 ± 3i
  Convected one(2);
  Terms& terms = one.terms;
  auto const split =
      one.split({one.minus_flux(terms.subtract(one.times(2, one.u(0)), one.times(3, one.u(1)))),
                 one.minus_flux(terms.add(one.times(3, one.u(0)), one.times(2, one.u(1))))});
  EXPECT_EQ(value_of(split.terms, split.fluxes.at(0).speed, {1, 1}), 2);
}

/// A dye in a flow is smeared as the flow is; the flow does not know of it.
TEST(Convection, WhatIsCarriedHasTheSpeedOfTheFlow) {
  Convected one(3);
  Terms& terms = one.terms;
  Term const h = one.u(0), q = one.u(1), dye = one.u(2), u = terms.divide(q, h);
  auto const split = one.split(
      {one.minus_flux(q),
       one.minus_flux(terms.add(terms.multiply(q, u), one.times(5, terms.multiply(h, h)))),
       one.minus_flux(terms.multiply(dye, u))});
  for (auto const& flux : split.fluxes)
    EXPECT_NEAR(value_of(split.terms, flux.speed, {4, 8, 1}), 2 + std::sqrt(40.0), 1e-13);
  EXPECT_EQ(split.fluxes.at(2).family, 2);
  EXPECT_TRUE(split.couplings.empty());
}

TEST(Convection, ASumIsSplitWhereDerivativesStand) {
  Convected one(2);
  Terms& terms = one.terms;
  Term const u = one.u(0), v = one.u(1);
  Term const slope = terms.derivative(u, {1, 0, 0});
  // −2·∂((3u² − v·∂u/∂x)/2 + x)/∂x + v·∂v/∂x − u·∂u/∂x + u·∂(uv)/∂x
  Term const sum =
      terms.divide(terms.subtract(one.times(3, terms.multiply(u, u)), terms.multiply(v, slope)),
                   terms.number(2));
  Term const flux = terms.flux(terms.add(sum, terms.coordinate(0)), 0);
  Term const product = terms.multiply(u, terms.flux(terms.multiply(u, v), 0));
  Term const rate =
      terms.add(terms.subtract(terms.add(one.times(-2, flux), terms.transport(v, v, 0)),
                               terms.transport(u, u, 0)),
                product);
  auto const split = one.split({rate, terms.number(0)});
  ASSERT_EQ(split.fluxes.size(), 1);
  EXPECT_DOUBLE_EQ(value_of(split.terms, split.fluxes[0].flux, {2, 5}), 12);    // 3u²
  EXPECT_DOUBLE_EQ(value_of(split.terms, split.fluxes[0].speed, {-2, 5}), 12);  // |6u|
  ASSERT_EQ(split.transports.size(), 1);
  EXPECT_DOUBLE_EQ(value_of(split.terms, split.transports[0].velocity, {2, 5}), -2);
  EXPECT_DOUBLE_EQ(value_of(split.terms, split.transports[0].drift, {2, 5}), 2);
  EXPECT_TRUE(split.terms.contains(split.rests[0], Kind::flux));  // of products and derivatives
  EXPECT_TRUE(split.terms.contains(split.rests[0], Kind::transport));  // of another field
}

/// Sums of sums of the same thing: the parts are counted, not the ways to them.
TEST(Convection, SharedSumsAreTakenUpOnce) {
  Convected one(1);
  Term sum = one.terms.flux(one.u(0), 0);
  for (int i = 0; i < 60; ++i) sum = one.terms.add(sum, sum);
  auto const split = one.split({sum});
  ASSERT_EQ(split.fluxes.size(), 1);
  EXPECT_EQ(value_of(split.terms, split.fluxes[0].flux, {1}), -std::exp2(60));
}

TEST(Convection, AConstantStaysAsItIs) {
  for (Convection const convection : {Convection::upwind, Convection::weno5})
    for (double const value : {0.1, 0., -3e5}) {
      Discretised d;
      d.space.convection = convection;
      auto const constant = [&](double, double, double) { return value; };
      Term const square = d.terms.multiply(d.u, d.u);
      EXPECT_EQ(d.rate(d.terms.flux(square, 1), constant), 0);
      EXPECT_EQ(d.rate(d.terms.transport(d.u, d.u, 2), constant), 0);
    }
}

/// How the error falls as the spacing is halved. Where a wave has no slope, the weights of weno5
/// are not as good, so these places are left out.
double observed_order(Convection convection, double sign, bool as_flux) {
  std::array<double, 2> errors = {0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    Discretised d;
    d.space.convection = convection;
    double const h = convection == Convection::weno5 ? 0.04 : 0.004;
    d.grid.spacing.fill(i == 0 ? h : h / 2);
    auto const wave = [](double x, double, double) { return 2 + std::sin(x); };
    Term const rate =
        as_flux
            ? d.terms.multiply(d.terms.number(sign), d.terms.flux(d.terms.multiply(d.u, d.u), 0))
            : d.terms.transport(d.terms.multiply(d.terms.number(sign), d.u), d.u, 0);
    for (double x = -1; x < 1; x += 0.3) {
      d.place[0] = x;
      double const exact = sign * (as_flux ? 2 : 1) * (2 + std::sin(x)) * std::cos(x);
      errors[i] = std::max(errors[i], std::abs(d.rate(rate, wave) - exact));
    }
  }
  return std::log2(errors[0] / errors[1]);
}

TEST(Convection, UpwindIsOfFirstOrderAndWenoOfFifth) {
  for (double const sign : {1., -1.})
    for (bool const as_flux : {false, true}) {
      EXPECT_NEAR(observed_order(Convection::upwind, sign, as_flux), 1, 0.05) << sign << as_flux;
      EXPECT_GT(observed_order(Convection::weno5, sign, as_flux), 4.8) << sign << as_flux;
    }
}

/// Units do not matter, from the smallest to the largest.
TEST(Convection, WenoScalesWithTheField) {
  auto const rate = [](double scale) {
    Discretised d;
    d.space.convection = Convection::weno5;
    auto const step = [&](double x, double, double) { return scale * (x < 0.8 ? 1 + x : 0.3); };
    return d.rate(d.terms.flux(d.u, 0), step) / scale;
  };
  for (int const power : {-900, -150, -66, -10, 66, 120})
    EXPECT_EQ(rate(std::ldexp(1, power)), rate(1)) << power;
}

/// The upwind point counts, with either sign, however the sign is written.
TEST(Convection, ComesFromUpwind) {
  Discretised d;
  d.space.convection = Convection::upwind;
  auto const only_before = [&](double x, double, double) { return x < d.place[0] ? 0. : 1.; };
  double const h = d.grid.spacing[0];
  Term const one = d.terms.number(1), back = d.terms.number(-1);
  auto const of = [&](Term rate) { return d.rate(rate, only_before) * h; };
  EXPECT_EQ(of(d.terms.negate(d.terms.transport(one, d.u, 0))), -1);
  EXPECT_EQ(of(d.terms.transport(back, d.u, 0)), -1);
  EXPECT_EQ(of(d.terms.transport(one, d.u, 0)), 0);
  EXPECT_EQ(of(d.terms.negate(d.terms.flux(d.u, 0))), -1);
  EXPECT_EQ(of(d.terms.flux(d.u, 0)), 0);
  // −∂(−u)/∂x travels to the left, and so does what −u makes of it.
  EXPECT_EQ(of(d.terms.negate(d.terms.transport(one, d.terms.negate(d.u), 0))), 0);
}

TEST(ConvectionStability, OfOneDirectionIsSharp) {
  Convected one(1, 2);
  std::vector<Term> const carried = {
      one.terms.subtract(one.minus_flux(one.times(3, one.u(0))),
                         one.terms.transport(one.terms.number(-4), one.u(0), 1))};
  // 3/h_x + 4/h_y = 50: forward Euler and what is twice it, along the disc of radius 1.
  EXPECT_NEAR(one.limit(carried, Convection::upwind, 1).step, 1 / 50.0, 1e-6);
  EXPECT_GE(one.limit(carried, Convection::upwind, 3).step, 1.25 / 50.0);
  EXPECT_GE(one.limit(carried, Convection::upwind, 4).step, 1.39 / 50.0 * 0.99);
  EXPECT_NEAR(one.limit(carried, Convection::upwind, 1).fastest, 100, 1e-9);
  EXPECT_TRUE(one.limit(carried, Convection::weno5, 1).hopeless);
  EXPECT_FALSE(one.limit(carried, Convection::weno5, 3).hopeless);
}

/// Of what is carried fastest, over all axes.
TEST(ConvectionStability, EdgesOfWenoHaveALimitOfTheirOwn) {
  Convected two(2, 2);
  std::vector<Term> const carried = {
      two.terms.subtract(two.minus_flux(two.times(3, two.u(0))),
                         two.terms.transport(two.terms.number(-4), two.u(0), 1)),
      two.minus_flux(two.u(1))};
  EXPECT_NEAR(two.limit(carried, Convection::weno5, 3).sharp, 0.6 / 50, 1e-15);
  EXPECT_TRUE(std::isinf(two.limit(carried, Convection::upwind, 3).sharp));
  EXPECT_TRUE(std::isinf(
      two.limit({two.terms.negate(two.u(0)), two.terms.number(0)}, Convection::weno5, 3).sharp));
}

/// A wave in one dimension stays just below the limit, whatever its length.
TEST(ConvectionStability, WavesStayBelowTheLimit) {
  Convected one(1);
  std::vector<Term> const carried = {one.minus_flux(one.u(0))};
  for (Convection const convection : {Convection::upwind, Convection::weno5})
    for (int order = convection == Convection::upwind ? 1 : 3; order <= 4; ++order) {
      double const step = one.limit(carried, convection, order).step;
      for (int k = 0; k <= 5000; ++k) {
        double const theta = std::numbers::pi * k / 5000, s = std::sin(theta / 2);
        std::complex<double> z =
            convection == Convection::upwind
                ? std::complex(-2 * s * s, -std::sin(theta))
                : std::complex(
                      -std::pow(2 * s, 6) / 60,
                      -(45 * std::sin(theta) - 9 * std::sin(2 * theta) + std::sin(3 * theta)) / 30);
        z *= 10 * step;
        std::complex<double> sum = 1;
        for (int n = order; n >= 1; --n) sum = 1.0 + z / static_cast<double>(n) * sum;
        EXPECT_LT(std::abs(sum), 1 + 1e-6) << order << ' ' << k;
      }
    }
}

/// Where the flow turns around, forward Euler is as stable as elsewhere.
TEST(ConvectionStability, EulerTakesFlowsThatTurnAround) {
  Convected one(1);
  Term const u = one.u(0);
  for (Term const rate : {one.minus_flux(one.times(0.5, one.terms.multiply(u, u))),
                          one.terms.negate(one.terms.transport(u, u, 0))}) {
    auto const found = one.limit({rate}, Convection::upwind, 1, {{0, 30}});
    EXPECT_FALSE(found.hopeless);
    EXPECT_NEAR(found.step, 1 / 30.0, 1e-6);
  }
  // With diffusion: 30 + 2·D/h² = 30 + 20.
  auto const rate = one.terms.add(one.minus_flux(one.times(0.5, one.terms.multiply(u, u))),
                                  one.times(0.1, one.terms.derivative(u, {2, 0, 0})));
  EXPECT_NEAR(one.limit({rate}, Convection::upwind, 1, {{0, 30}}).step, 1 / 50.0, 1e-6);
}

/// Of each axis that of h and the momentum along it, and that of the other momentum.
TEST(ConvectionStability, ShallowWaterNeedsSpeedsAlone) {
  Convected one(3, 2);
  auto const found =
      one.limit(one.shallow_water(), Convection::upwind, 1, {{1, 60}, {1, 60}, {1, 40}, {1, 40}});
  EXPECT_NEAR(found.step, 1 / 100.0, 1e-6);
  EXPECT_EQ(found.reaction, 0);
}

/// h_t = −∂(hv)/∂x with v_t = −10·∂h/∂x: waves that the speed of the flux knows nothing of.
TEST(ConvectionStability, WhatTheSpeedLeavesOutCounts) {
  Convected one(2);
  Term const h = one.u(0), v = one.u(1);
  std::vector<Term> const rates = {one.minus_flux(one.terms.multiply(h, v)),
                                   one.times(-10, one.terms.derivative(h, {1, 0, 0}))};
  one.system.rates = rates;
  auto const split = split_convection(one.system);
  ASSERT_EQ(split.couplings.size(), 1);
  EXPECT_EQ(split.couplings[0].other, 1);
  Linearisation const linear(discretise_for_stability(
      one.system, one.grid, {.order = 2, .convection = Convection::upwind}));
  std::vector<Range> ranges;
  for (Term const coefficient : linear.coefficients()) {
    double const value = value_of(linear.terms(), coefficient, {4, 0.5});
    ranges.push_back({value, value});
  }
  EXPECT_TRUE(linear.limit(ranges, 1).hopeless);
  EXPECT_NEAR(linear.limit(ranges, 4).fastest, std::sqrt(40) / 0.1 + 2 * 5, 0.1);
}

/// u_t = (∂u/∂x)²: a velocity that is made of slopes of u carries twice as fast as it says.
TEST(ConvectionStability, VelocitiesOfSlopesCount) {
  Convected one(1);
  Term const u = one.u(0);
  std::vector<Term> const rates = {one.terms.transport(one.terms.derivative(u, {1, 0, 0}), u, 0)};
  one.system.rates = rates;
  Linearisation const linear(discretise_for_stability(
      one.system, one.grid, {.order = 2, .convection = Convection::upwind}));
  std::vector<Range> ranges(linear.coefficients().size(), {0, 0});
  EXPECT_GT(ranges.size(), 1);
  // All coefficients are 30 at most; the speed alone would be that of 30.
  for (Range& range : ranges) range = {0, 30};
  EXPECT_GT(linear.limit(ranges, 4).fastest, 60 + 30);
}

/// p = 5h² in shallow water as a name with sides: an array in the fluxes, and a formula for speeds.
TEST(Convection, NamesWithSidesCountAsWhatTheyStandFor) {
  Convected one(2);
  Terms& terms = one.terms;
  Term const h = one.u(0), q = one.u(1), p = one.times(5, terms.multiply(h, h));
  Term const flow = terms.divide(terms.multiply(q, q), h);
  std::vector<Term> const plain = {one.minus_flux(q), one.minus_flux(terms.add(flow, p))};
  one.system.names = {{{"p", 1, 0}, {p}}};
  std::vector<Term> const named = {one.minus_flux(q),
                                   one.minus_flux(terms.add(flow, terms.name(0)))};
  auto const found = one.split(named);
  ASSERT_EQ(found.fluxes.size(), 2);
  EXPECT_TRUE(found.terms.contains(found.fluxes[1].flux, Kind::name));
  for (auto const& flux : found.fluxes)
    EXPECT_NEAR(value_of(found.terms, flux.speed, {4, 8}), 2 + std::sqrt(40), 1e-12);
  for (Convection const convection : {Convection::upwind, Convection::weno5}) {
    Space const space = {.order = 2, .convection = convection};
    EXPECT_EQ(one.limit(named, convection, 3, {{1, 60}}).step,
              one.limit(plain, convection, 3, {{1, 60}}).step);
    one.system.rates = named;
    EXPECT_EQ(whole_program(discretise(one.system, one.grid, space), 1).components, 3);
    auto const stencil = discretise(one.system, one.grid, space);
    EXPECT_EQ(program_of(stencil.terms, stencil.rates, 1).reach[0],
              convection == Convection::upwind ? 1 : 3);
    auto const closed = discretise_for_stability(one.system, one.grid, space);
    EXPECT_LT(whole_program(closed, 1).components, 3);
  }
  one.system.names = {{{"slope", 1, 0}, {terms.derivative(h, {1, 0, 0})}}};
  one.system.rates = {one.minus_flux(terms.name(0)), terms.number(0)};
  EXPECT_FALSE(has_convection(one.system));
}

/// Values over the whole grid are as numbers in speeds, and stand among the operands.
TEST(Convection, GlobalsCountAsNumbersInSpeeds) {
  Convected one(1);
  Term const mean = one.terms.global(Kind::mean, one.u(0));
  one.system.rates = {one.minus_flux(one.terms.multiply(mean, one.u(0)))};
  Space const space = {.order = 2, .convection = Convection::upwind};
  EXPECT_EQ(discretise(one.system, one.grid, space).operands.size(), 1);
  Linearisation const linear(discretise_for_stability(one.system, one.grid, space));
  EXPECT_EQ(linear.operands().size(), 1);
  EXPECT_EQ(linear.coefficients().size(), 1);
  EXPECT_NEAR(linear.limit(std::vector<Range>{{30, 30}}, 1).step, 1 / 30.0, 1e-6);
}

/// Noise that carries counts as 0 in limits.
TEST(ConvectionStability, NoiseCountsAsNothing) {
  Convected one(1);
  Term const noise = one.terms.random(Kind::noise, 1);
  one.system.rates = {one.terms.transport(one.terms.add(noise, one.terms.number(3)), one.u(0), 0)};
  Linearisation const linear(discretise_for_stability(
      one.system, one.grid, {.order = 2, .convection = Convection::upwind}));
  EXPECT_EQ(linear.coefficients().size(), 0);
  EXPECT_NEAR(linear.limit({}, 1).step, one.grid.spacing[0] / 3, 1e-6);
}

TEST(Convection, OnlyOrdersThatThereAreAreTaken) {
  for (int const order : {0, 1, 3, 8}) {
    Discretised d;
    d.space.order = order;
    EXPECT_THROW(d.program(d.terms.derivative(d.u, {1, 0, 0})), std::invalid_argument);
  }
}

TEST(Convection, ReachesAsFarAsItSays) {
  Discretised d;
  d.space.order = 6;
  EXPECT_EQ(d.program(d.terms.derivative(d.u, {0, 2, 0})).reach, (std::array{0, 3, 0}));
  EXPECT_EQ(d.program(d.terms.flux(d.terms.derivative(d.u, {1, 0, 0}), 0)).reach,
            (std::array{5, 0, 0}));
  d.space.order = 4;
  EXPECT_EQ(d.program(d.terms.flux(d.terms.derivative(d.u, {1, 0, 0}), 0)).reach,
            (std::array{3, 0, 0}));
  d.space.convection = Convection::weno5;
  EXPECT_EQ(d.program(d.terms.flux(d.terms.multiply(d.u, d.u), 2)).reach, (std::array{0, 0, 3}));
  EXPECT_EQ(d.program(d.terms.transport(d.v, d.u, 2)).reach, (std::array{0, 0, 3}));
  d.space.convection = Convection::upwind;
  EXPECT_EQ(d.program(d.terms.flux(d.terms.multiply(d.u, d.u), 2)).reach, (std::array{0, 0, 1}));
}

}  // namespace
}  // namespace gridstride::equations

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "equations/eigenvalues.hpp"
#include "equations/rectangles.hpp"
#include "equations/stable_step.hpp"
#include "equations/upwind.hpp"
#include "equations/waves.hpp"

/// What spares most of the work of finding a limit changes nothing in it.
namespace gridstride::equations {
namespace {

using Complex = std::complex<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Random {
  std::mt19937 engine{7};

  double between(double least, double greatest) {
    return std::uniform_real_distribution(least, greatest)(engine);
  }
  /// Of a size that is anything from 1e-3 to 1e3.
  double any() { return (engine() % 2 == 0 ? -1 : 1) * std::pow(10, between(-3, 3)); }
  Rectangle box() {
    double const one = any(), other = engine() % 4 == 0 ? one : any();
    double const imaginary = engine() % 4 == 0 ? 0 : std::abs(any());
    return {std::min(one, other), std::max(one, other), imaginary};
  }
  std::vector<Complex> around() {
    constexpr Convection schemes[] = {Convection::central, Convection::upwind, Convection::weno5};
    auto points = convection_symbol(schemes[engine() % 3]);
    double const speed = std::abs(any());
    for (Complex& point : points) point *= speed;
    return points;
  }
  Tolerance tolerance() {
    if (engine() % 3 == 0) return {};
    return {.reaction = std::abs(any()),
            .growth = engine() % 2 == 0 ? 0 : std::abs(any()),
            .slow = std::abs(any())};
  }
  std::vector<Disc> discs(std::size_t size, bool exact) {
    std::vector<Disc> all(size * size);
    for (Disc& one : all) {
      one = {any(), engine() % 2 == 0 ? 0 : any(), 0, 0};
      if (!exact) one.add_radius(std::abs(any()));
    }
    return all;
  }
};

TEST(StableStep, WhatIsWellInsideIsInTheRegion) {
  Random random;
  for (int degree = 1; degree <= 6; ++degree) {
    Region const& region = region_of(degree);
    int inside = 0, in_all = 0;
    for (int i = 0; i < 20000; ++i) {
      Complex const z(-random.between(0, 4), random.between(0, 4));
      bool const is_in = region.along(z) > std::abs(z);
      in_all += is_in ? 1 : 0;
      if (!region.is_well_inside(z)) continue;
      ++inside;
      EXPECT_TRUE(is_in) << degree << " " << z;
    }
    EXPECT_GT(inside, in_all / 2) << degree;
    EXPECT_FALSE(region.is_well_inside({-infinity, 1}));
    EXPECT_FALSE(region.is_well_inside({std::nan(""), 0}));
    EXPECT_FALSE(region.is_well_inside({1e-9, 0}));
  }
}

TEST(StableStep, ABoundSparesWorkAndChangesNothing) {
  Random random;
  int shorter = 0, spared = 0;
  for (int i = 0; i < 20000; ++i) {
    Rectangle const box = random.box();
    auto const around = random.around();
    auto const tolerance = random.tolerance();
    Region const& region = region_of(1 + i % 6);
    double const whole = tolerant_step(box, around, tolerance, region, infinity);
    double const bound = whole * random.between(0.5, 1.5);
    EXPECT_EQ(tolerant_step(box, around, tolerance, region, bound), std::min(whole, bound));
    shorter += whole < bound ? 1 : 0;
    if (!takes_surely(box, around, tolerance, region, bound)) continue;
    ++spared;
    double const part = random.between(0, 1);
    Rectangle const within = {box.least + part * (box.greatest - box.least), box.greatest,
                              part * box.imaginary};
    for (Rectangle const& one : {box, within})
      EXPECT_EQ(tolerant_step(one, around, tolerance, region, bound), bound);
  }
  EXPECT_GT(shorter, 5000);
  EXPECT_GT(spared, 1000);
}

TEST(StableStep, RectanglesHoldAllEigenvalues) {
  Random random;
  for (int i = 0; i < 4000; ++i) {
    std::size_t const size = 1 + static_cast<std::size_t>(i) % 4;
    auto const discs = random.discs(size, i % 3 == 0);
    std::vector<double> scale(size);
    for (double& one : scale) one = std::abs(random.any());
    std::vector<Rectangle> found;
    find_rectangles(discs, scale, found);
    Rectangle const rough = rough_rectangle(discs, scale);
    for (Rectangle const& one : found) {
      EXPECT_LE(rough.least, one.least);
      EXPECT_GE(rough.greatest, one.greatest);
      EXPECT_GE(rough.imaginary, one.imaginary);
    }
    Matrix matrix(size);
    for (std::size_t at = 0; at < discs.size(); ++at) {
      auto const& [real, imaginary, by_real, by_imaginary] = discs[at];
      matrix.entries[at] = {real + random.between(-by_real, by_real),
                            imaginary + random.between(-by_imaginary, by_imaginary)};
    }
    for (Complex const& one : eigenvalues(matrix))
      EXPECT_TRUE(std::ranges::any_of(found,
                                      [&](Rectangle const& box) {
                                        double const rounding = 1e-9 * rough.size();
                                        return one.real() >= box.least - rounding &&
                                               one.real() <= box.greatest + rounding &&
                                               std::abs(one.imag()) <= box.turning + rounding &&
                                               box.turning <= box.imaginary;
                                      }))
          << size << " " << one;
  }
}

/// What a real entry of the diagonal is not known to turns nothing.
TEST(StableStep, WhatTurnsIsKnownApart) {
  std::vector<Disc> const discs = {{-3, 0, 2, 0}, {1, 0, 0.5, 0}, {-1, 0, 0, 0}, {-7, 0, 5, 0.25}};
  std::vector<Rectangle> found;
  find_rectangles(discs, std::vector{1.0, 1.0}, found);
  ASSERT_EQ(found.size(), 1u);
  // (b − c*)/2 = 1, and the larger eigenvalue of ((0, 0.25), (0.25, 0.25))
  double const more = 0.125 + std::hypot(0.125, 0.25);
  EXPECT_NEAR(found[0].turning, 1 + more, 1e-8);
  EXPECT_GT(found[0].imaginary, 1 + more + 1);
  // forward Euler takes the one, whatever the diagonal is
  Rectangle const box{-10, 0, 3, 1};
  EXPECT_LT(tolerant_step(box, {}, {.reaction = 0.4}, region_of(1), 1), 1e-6);
  EXPECT_GT(tolerant_step(box, {}, {.reaction = 1}, region_of(1), 1), 0.15);
}

/// Of a diagonal matrix that is all there is to know.
TEST(StableStep, ARoughRectangleIsTightWhereNothingIsCoupled) {
  std::vector<Disc> const discs = {{-3, 1, 0.5, 0}, {}, {}, {-7, 0, 0, 0}};
  Rectangle const rough = rough_rectangle(discs, std::vector{1.0, 5.0});
  EXPECT_NEAR(rough.least, -7.5, 1e-4);
  EXPECT_NEAR(rough.greatest, -2.5, 1e-4);
  EXPECT_NEAR(rough.imaginary, 1.5, 1e-4);
}

TEST(Waves, ThoseThatMakeTheSameOfEverySumAreOne) {
  std::vector<Offset> const offsets = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  using Sums = std::vector<Waves::Sum>;
  auto const count = [&](std::size_t axes, Sums const& sums) {
    return Waves({offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(axes)}, sums)
        .size();
  };
  EXPECT_EQ(Waves().size(), 1);
  EXPECT_EQ(count(1, {{false, {0}}}), 33);
  // All cosines apart, and all in one sum.
  EXPECT_EQ(count(2, {{false, {0}}, {false, {1}}}), 17 * 17);
  // Of two along the diagonal, where they add up to the same, one is left.
  EXPECT_EQ(count(2, {{false, {0, 1}}}), 17 * 18 / 2 - 8);
  EXPECT_EQ(count(3, {{false, {0}}, {false, {1}}, {false, {2}}}), 9 * 9 * 9);
  // Sines have a sign: only half are the conjugates of others. Cosines that are each other's
  // negative have the same sum as when they change places.
  EXPECT_EQ(count(2, {{false, {0}}, {false, {1}}, {true, {0}}, {true, {1}}}), 17 * 32);
  EXPECT_EQ(count(2, {{false, {0, 1}}, {true, {0}}, {true, {1}}}), 17 * 32 - 15);
  EXPECT_EQ(count(2, {{false, {0}}, {false, {1}}, {true, {0}}}), 17 * 17);
}

TEST(Waves, FactorsAreThoseOfPairs) {
  std::vector<Offset> const offsets = {{1, 0, 0}, {2, -1, 0}};
  Waves const waves(offsets, {{true, {0}}, {true, {1}}, {false, {1}}});
  for (std::size_t wave = 0; wave < waves.size(); ++wave) {
    auto const [x, y, z] = waves.place(wave);
    double const phases[] = {x, 2 * x - y};
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(waves.factors(wave)[k].even, 2 * (std::cos(phases[k]) - 1), 1e-14);
      EXPECT_NEAR(waves.factors(wave)[k].odd, 2 * std::sin(phases[k]), 1e-14);
    }
  }
}

TEST(Waves, AreEachLookedAtOnce) {
  Waves const waves({{1, 0, 0}, {0, 1, 0}}, {{true, {0}}, {true, {1}}});
  for (double const nanoseconds : {1.0, 1e6}) {
    std::vector<int> seen(waves.size(), 0);
    waves.for_each(nanoseconds, [&](std::size_t wave) { ++seen[wave]; });
    EXPECT_EQ(std::ranges::count(seen, 1), std::ssize(seen));
  }
}

}  // namespace
}  // namespace gridstride::equations

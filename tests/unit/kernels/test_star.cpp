#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/star/star.hpp"
#include "support/star_cases.hpp"

namespace gridstride {
namespace {

using star::LeapfrogStep;

/// Five points of spacing 1/2 with c = 1 and a step of 1/4: the weight of order 2 is 1/4.
struct WaveLine {
  Stream stream{Device::open(Backend::cpu)};
  std::vector<double> in = {0, 1, 4, 9, 16};
  std::vector<double> previous = {0, 0, 2, 6, 12};
  std::vector<double> out = std::vector<double>(5, -1);
  LeapfrogStep<double> step;

  explicit WaveLine(SideKind kind) {
    step.grid.points = {5, 1, 1};
    step.grid.spacing = {0.5, 1, 1};
    step.in = in.data();
    step.previous = previous.data();
    step.out = out.data();
    step.factor = 1.0 / 16;
    step.speed_squared = 1;
    step.sides[0] = {kind, kind};
  }
  std::vector<double> run() {
    star::leapfrog(stream, step, "reference");
    return out;
  }
};

TEST(StarReference, FixedByHand) {
  // 2u − previous + (second difference 2)/4
  EXPECT_EQ(WaveLine(SideKind::fixed).run(), (std::vector<double>{0, 2.5, 6.5, 12.5, 0}));
}

TEST(StarReference, PeriodicByHand) {
  // Left end: 0 + (1 + 16 − 0)/4; right end: 32 − 12 + (9 + 0 − 32)/4.
  EXPECT_EQ(WaveLine(SideKind::periodic).run(), (std::vector<double>{4.25, 2.5, 6.5, 12.5, 14.25}));
}

TEST(StarReference, FreeByHand) {
  // Mirror points: 0 + (1 + 1 − 0)/4 and 32 − 12 + (9 + 9 − 32)/4.
  EXPECT_EQ(WaveLine(SideKind::free).run(), (std::vector<double>{0.5, 2.5, 6.5, 12.5, 16.5}));
}

TEST(StarReference, SpeedSourceAndDampingByHand) {
  WaveLine line(SideKind::fixed);
  std::vector<double> const speed_squared = {9, 0, 2, 3, 9}, source(5, 32), sigma = {0, 0, 1, 4, 0};
  line.step.speed_squared_field = speed_squared.data();
  line.step.source = source.data();
  line.step.damping[0] = sigma.data();
  line.step.damping_time = 0.25;
  line.step.ratio = 0.5;
  // 1: 1 + 1/2 + 0 + 2.  2: 4 + [(3/4)·(1/2)·2 + 2·(2/4) + 2]/(5/4).  3: 9 + [0 + 3·(2/4) + 2]/2.
  EXPECT_EQ(line.run(), (std::vector<double>{0, 3.5, 7, 10.75, 0}));
}

/// Along one axis, the waves that a side allows: their values, and their angle from point to point.
struct Wave {
  SideKind kind;
  double angle;
  double phase;
};

TEST(StarReference, WavesAreEigenvectorsOfEveryOrderAtEverySide) {
  constexpr int n = 17;
  constexpr double pi = std::numbers::pi;
  Stream stream(Device::open(Backend::cpu));
  for (int const order : {2, 4, 6, 8})
    for (auto const& [kind, angle, phase] : {Wave{SideKind::periodic, 2 * pi * 5 / n, 0.3},
                                             Wave{SideKind::fixed, pi * 11 / (n - 1), pi / 2},
                                             Wave{SideKind::free, pi * 7 / (n - 1), 0}}) {
      double eigenvalue = 0;
      auto const weights = star::central_weights(order);
      for (std::size_t k = 0; k < weights.size(); ++k)
        eigenvalue += 2 * weights[k] * (1 - std::cos((static_cast<double>(k) + 1) * angle));
      std::vector<double> in(n), out(n), previous(n, 0);
      for (int i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = std::cos(angle * i - phase);
      LeapfrogStep<double> step;
      step.order = order;
      step.grid.points = {n, 1, 1};
      step.in = in.data();
      step.previous = previous.data();
      step.out = out.data();
      step.ratio = 0;
      step.factor = 0.25;
      step.speed_squared = 1;
      step.sides[0] = {kind, kind};
      star::leapfrog(stream, step, "reference");
      for (std::size_t i = 0; i < n; ++i)
        EXPECT_NEAR(out[i], in[i] * (1 - 0.25 * eigenvalue), 1e-14) << order << " at " << i;
    }
}

TEST(Star, WeightsDifferentiateAllPolynomialsOfTheirOrder) {
  for (int const order : {2, 4, 6, 8}) {
    auto const weights = star::central_weights(order);
    ASSERT_EQ(static_cast<int>(weights.size()), order / 2);
    for (int power = 2; power <= order; power += 2) {
      double sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += 2 * weights[k] * std::pow(static_cast<double>(k) + 1, power);
      EXPECT_NEAR(sum, power == 2 ? 2 : 0, 1e-11) << "x^" << power << " in order " << order;
    }
  }
  EXPECT_THROW(star::central_weights(3), std::invalid_argument);
  EXPECT_THROW(star::central_weights(10), std::invalid_argument);
}

TEST(Star, LargestEigenvalueIsThatOfAlternatingSigns) {
  Grid grid;
  grid.dims = 2;
  grid.spacing = {0.5, 0.25, 1};
  for (int const order : {2, 4, 6, 8}) {
    double largest = 0;
    auto const weights = star::central_weights(order);
    for (int i = 0; i <= 1000; ++i) {
      double symbol = 0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        symbol += 2 * weights[k] *
                  (1 - std::cos((static_cast<double>(k) + 1) * std::numbers::pi * i / 1000));
      largest = std::max(largest, symbol);
    }
    EXPECT_NEAR(star::largest_eigenvalue(grid, order), largest * (4 + 16), 1e-12);
  }
}

template <class T>
void compare_star_variants() {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::star_cases()) {
    auto const expected = test::StarProblem<T>(stream, one).run("reference");
    for (auto const& row : star::variants<T>()) {
      if (row.backend != Backend::cpu) continue;
      test::StarProblem<T> problem(stream, one);
      // The same operations in the same order, and no fused ones.
      EXPECT_EQ(expected, problem.run(row.name)) << row.name << " on " << one.text();
      ++compared;
    }
  }
  EXPECT_GE(compared, 76 * 2);
}

TEST(Star, HostVariantsEqualTheReferenceInFloat32) { compare_star_variants<float>(); }
TEST(Star, HostVariantsEqualTheReferenceInFloat64) { compare_star_variants<double>(); }

TEST(Star, ConstantFieldIsKeptExactly) {
  Stream stream(Device::open(Backend::cpu));
  for (auto one : test::star_cases()) {
    for (auto& sides : one.sides)
      for (auto& kind : sides)
        if (kind == SideKind::fixed) kind = SideKind::free;
    for (auto& [lower, upper] : one.sides)
      if (lower != upper) lower = upper = SideKind::free;
    one.source = one.in_place = false;
    test::StarProblem<float> problem(stream, one);
    auto step = problem.step();
    std::vector<float> const constant(static_cast<std::size_t>(one.grid.size()), 1.1F);
    step.in = step.previous = constant.data();
    star::leapfrog(stream, step);
    EXPECT_EQ(std::vector<float>(step.out, step.out + constant.size()), constant) << one.text();
  }
}

TEST(Star, RepeatedStepsAreThoseOneByOne) {
  WaveLine line(SideKind::free);
  auto now = line.in, before = line.previous;
  star::WaveArrays<double> arrays = {line.in.data(), line.previous.data(), {}};
  star::leapfrog_repeatedly(line.stream, line.step, arrays, 0);
  EXPECT_EQ(arrays.now, line.in.data());
  star::leapfrog_repeatedly(line.stream, line.step, arrays, 5);
  auto step = line.step;
  for (int i = 0; i < 5; ++i) {
    step.in = now.data();
    step.previous = step.out = before.data();
    star::leapfrog(line.stream, step);
    std::swap(now, before);
  }
  EXPECT_EQ(std::vector<double>(arrays.now, arrays.now + 5), now);
  EXPECT_EQ(std::vector<double>(arrays.before, arrays.before + 5), before);
}

/// Of some planes of a grid; `threads` makes no others.
TEST(Star, MakesThePlanesThatAreWanted) {
  Stream stream(Device::open(Backend::cpu));
  for (auto one : test::star_cases()) {
    one.in_place = false;
    std::int64_t const planes = one.grid.points[one.grid.dims - 1], line = one.grid.size() / planes;
    test::StarProblem<double> problem(stream, one);
    auto step = problem.step();
    std::vector<double> const poison(static_cast<std::size_t>(one.grid.size()),
                                     std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t const steps : {1, 2, 3})
      for (auto const& row : star::variants<double>()) {
        if (row.backend != Backend::cpu) continue;
        auto const run = [&](std::array<std::int64_t, 2> const& made) {
          step.made = made;
          std::vector<double> now(step.in, step.in + poison.size()),
              before(step.previous, step.previous + poison.size()), out = poison;
          star::WaveArrays<double> arrays = {now.data(), before.data(), {}};
          if (steps > 1) {
            star::leapfrog_repeatedly(stream, step, arrays, steps, {row.name});
            return std::vector<double>(arrays.now, arrays.now + poison.size());
          }
          auto single = step;
          single.out = out.data();
          star::leapfrog(stream, single, row.name);
          return out;
        };
        auto const expected = run({}), found = run({planes / 3, planes - planes / 3});
        for (std::int64_t i = 0; i < one.grid.size(); ++i) {
          bool const is_wanted = i / line >= planes / 3 && i / line < planes - planes / 3;
          auto const at = static_cast<std::size_t>(i);
          if (is_wanted) {
            EXPECT_EQ(found[at], expected[at]) << row.name << ", " << steps << one.text();
          } else if (steps == 1 && one.grid.dims > 1 && row.name == "threads") {
            EXPECT_TRUE(std::isnan(found[at])) << one.text();
          }
        }
      }
  }
}

TEST(Star, ChoosesSingleStepsOnTheHost) {
  star::StepKind kind;
  kind.grid.dims = 2;
  kind.grid.points = {4096, 4096, 1};
  for (auto const* wanted : {"auto", "reference"}) {
    auto const chosen = star::choose<float>(Device::open(Backend::cpu), kind, {wanted, 2});
    EXPECT_EQ(chosen.row, chosen.single);
    EXPECT_EQ(star::fused_steps(Backend::cpu, kind, {wanted, 2}), 1);
    EXPECT_EQ(chosen.row->name, std::string_view(wanted) == "auto" ? "threads" : wanted);
    EXPECT_EQ(chosen.fused_steps, 1);
  }
}

/// Many steps without source and damping; the energy between any two moments is the same.
TEST(Star, EnergyIsConserved) {
  Stream stream(Device::open(Backend::cpu));
  for (auto one : test::star_cases()) {
    if (one.grid.size() > 4096) continue;
    one.damping = {};
    one.source = one.in_place = false;
    test::StarProblem<double> problem(stream, one);
    auto step = problem.step();
    double const tau = 0.9 * 2 / std::sqrt(star::largest_eigenvalue(one.grid, one.order));
    step.factor = tau * tau;
    auto const size = static_cast<std::size_t>(one.grid.size());
    std::vector<double> a(step.in, step.in + size), b(size), start(size, 0);
    // From rest; this also puts zeros on fixed sides.
    step.in = start.data(), step.previous = a.data(), step.out = b.data(), step.ratio = -1;
    step.factor = 0;
    star::leapfrog(stream, step);
    step.factor = tau * tau, step.ratio = 1;
    a = b;
    std::vector<double> energies;
    for (int i = 0; i < 50; ++i) {
      step.in = b.data(), step.previous = a.data(), step.out = a.data();
      double energy = 0;
      star::energy(stream, step, tau, std::span(&energy, 1));
      energies.push_back(energy);
      star::leapfrog(stream, step);
      std::swap(a, b);
    }
    EXPECT_GT(energies.front(), 0);
    for (double const energy : energies)
      EXPECT_NEAR(energy, energies.front(), 1e-12 * energies.front()) << one.text();
  }
}

TEST(Star, EnergyOfParts) {
  EXPECT_GT(test::compare_energy_of_parts<float>(Backend::cpu), 20);
  EXPECT_GT(test::compare_energy_of_parts<double>(Backend::cpu), 20);
}

TEST(Star, EnergyOfSharesByHand) {
  std::vector<double> shares(star::energy_piece, 0x1p-53);
  shares[0] = 1;
  // One after the other, each is rounded away; on a GPU all but those that thread 0 adds are added first.
  EXPECT_EQ(star::sum_of_shares(Backend::cpu, shares), 1);
  EXPECT_EQ(star::sum_of_shares(Backend::cuda, shares), 1 + 4080 * 0x1p-53);
  EXPECT_EQ(star::sum_of_shares(Backend::cuda, std::vector<double>{1, 2, 4}), 7);
  EXPECT_EQ(star::sum_of_shares(Backend::cuda, {}), 0);
}

TEST(Star, EnergyOfPointsThatAreNotThere) {
  WaveLine line(SideKind::free);
  double sum = 0;
  std::span<double> const one(&sum, 1);
  for (auto const& [first, count] : {std::pair{-1, 2}, std::pair{4, 2}, std::pair{0, 6}})
    EXPECT_THROW(star::energy_pieces(line.stream, line.step, 0.5, {first, count}, one),
                 std::invalid_argument);
  EXPECT_THROW(star::energy_pieces(line.stream, line.step, 0.5, {0, 0}, one),
               std::invalid_argument);
}

TEST(Star, EnergyByHand) {
  WaveLine line(SideKind::free);
  double energy = 0;
  star::energy(line.stream, line.step, 0.5, std::span(&energy, 1));
  // Velocities 0 2 4 6 8, L = 8 8 8 8 −56, weights 1/2 1 1 1 1/2, half a cell 1/4.
  EXPECT_EQ(energy, 0.25 * ((4 + 16 + 36 + 64.0 / 2) - (2 * 8 + 6 * 8 - 12 * 56 / 2.0)));
  line.step.speed_squared = 4;
  star::energy(line.stream, line.step, 0.5, std::span(&energy, 1));
  EXPECT_EQ(energy, 0.25 * ((4 + 16 + 36 + 64.0 / 2) / 4 - (2 * 8 + 6 * 8 - 12 * 56 / 2.0)));
  // A point that cannot move has no kinetic energy.
  std::vector<double> const still(5, 0);
  line.step.speed_squared_field = still.data();
  star::energy(line.stream, line.step, 0.5, std::span(&energy, 1));
  EXPECT_EQ(energy, 0.25 * -(2 * 8 + 6 * 8 - 12 * 56 / 2.0));
}

TEST(Star, RickerSourcesAddUpAtTheirPoints) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> out = {1, 1, 1, 1, 1};
  evaluate::DeviceClock const clock{0.1, 0.05, 2};  // t = 0.2
  auto const terms = test::ricker_terms();
  auto const wavelet = [](double frequency, double since) {
    double const a = std::pow(std::numbers::pi * frequency * since, 2);
    return (1 - 2 * a) * std::exp(-a);
  };
  star::add_ricker<double>(stream, terms, &clock, 0.5, 0.25, out);
  EXPECT_NEAR(out[2], 1 + 0.5 * (3 * wavelet(5, -0.05) - wavelet(7, 0.1)), 1e-15);
  EXPECT_NEAR(out[4], 1 + 0.5 * 2 * wavelet(1, -0.3) / 3, 1e-15);
  for (std::size_t const i : {0, 1, 3}) EXPECT_EQ(out[i], 1);
  EXPECT_THROW(star::add_ricker<double>(stream, terms, nullptr, 1, 0, out), std::invalid_argument);
}

TEST(Star, RefusesBadRepetitions) {
  WaveLine line(SideKind::fixed);
  auto const repeat = [&](std::int64_t steps, star::Repetition const& repetition) {
    star::WaveArrays<double> arrays = {line.in.data(), line.previous.data(), {}};
    star::leapfrog_repeatedly(line.stream, line.step, arrays, steps, repetition);
  };
  EXPECT_NO_THROW(repeat(1, {"auto", 1}));
  EXPECT_THROW(repeat(-1, {}), std::invalid_argument);
  EXPECT_THROW(repeat(1, {"auto", -1}), std::invalid_argument);
  EXPECT_THROW(repeat(1, {"auto", star::most_fused_steps(1, 2) + 1}), std::invalid_argument);
  EXPECT_THROW(repeat(1, {"temporal"}), std::invalid_argument);
}

TEST(Star, RefusesBadArguments) {
  WaveLine line(SideKind::fixed);
  auto const refuses = [&](auto const& spoil) {
    auto step = line.step;
    spoil(step);
    EXPECT_THROW(star::leapfrog(line.stream, step), std::invalid_argument);
  };
  refuses([](auto& step) { step.in = nullptr; });
  refuses([](auto& step) { step.previous = nullptr; });
  refuses([](auto& step) { step.out = nullptr; });
  refuses([&](auto& step) { step.out = line.in.data(); });
  refuses([&](auto& step) { step.out = line.previous.data() + 1; });
  refuses([](auto& step) { step.order = 5; });
  refuses([](auto& step) {
    step.order = 8;
    step.grid.points[0] = 4;
  });
  refuses([](auto& step) { step.sides[0][1] = SideKind::absorbing; });
  refuses([](auto& step) { step.sides[0][1] = SideKind::periodic; });
  EXPECT_THROW(star::leapfrog(line.stream, line.step, "naive"), std::invalid_argument);
  EXPECT_THROW(star::leapfrog(line.stream, line.step, "fastest"), std::invalid_argument);
  double energy = 0;
  EXPECT_THROW(star::energy(line.stream, line.step, 0, std::span(&energy, 1)),
               std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

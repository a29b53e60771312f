#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "model/modal_scheme.hpp"
#include "model/modal_stepper.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/modal_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using namespace test;

class Modal : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};

TEST_F(Modal, DerivativesBetweenAllSides) {
  check_derivatives<double>(stream_);
  check_derivatives<float>(stream_);
}

TEST_F(Modal, Orders) { check_orders<double>(stream_); }

TEST_F(Modal, CoupledFieldsAreExact) {
  check_coupled<double>(stream_);
  check_coupled<float>(stream_);
}

TEST_F(Modal, SidesAreAsPeriodicGridsThatGoOn) {
  for (auto const* const scheme : {"etdrk4", "ark3", "imex_bdf2", "rk4"})
    check_sides<double>(stream_, scheme);
  check_sides<float>(stream_, "etdrk4");
}

// c·A·e, b·A·A·c and so on for all pairs of both parts, to third order; and the implicit part's sums.
TEST(ModalScheme, ConditionsOfArk3) {
  auto const& table = ark3_table();
  constexpr std::size_t n = AdditiveTable::stages;
  auto const near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-15); };
  double sum = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += table.weights[i];
    first += table.weights[i] * table.times[i];
    second += table.weights[i] * table.times[i] * table.times[i];
    for (auto const* const part : {&table.explicit_part, &table.implicit_part}) {
      double row = 0;
      for (std::size_t j = 0; j < n; ++j) row += (*part)[i][j];
      near(row, table.times[i]);
    }
  }
  near(sum, 1);
  near(first, 1.0 / 2);
  near(second, 1.0 / 3);
  for (auto const* const part : {&table.explicit_part, &table.implicit_part}) {
    double third = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        third += table.weights[i] * (*part)[i][j] * table.times[j];
    near(third, 1.0 / 6);
  }
  // The last stage of the implicit part is the step, so that z = −∞ is damped at once.
  for (std::size_t j = 0; j < n; ++j) near(table.implicit_part[n - 1][j], table.weights[j]);
}

// The order of short steps; and with steps of 1/4 the error of the program that Kassam and Trefethen
// published, from a reference of its own.
TEST_F(Modal, KuramotoSivashinskyAsPublished) {
  auto const error = [this](double time, int steps, int of_reference) {
    return farthest(kuramoto_sivashinsky_at<double>(time, stream_, steps),
                    kuramoto_sivashinsky_at<double>(time, stream_, of_reference));
  };
  EXPECT_NEAR(std::log2(error(2, 10, 160) / error(2, 20, 160)), 4, 0.05);
  EXPECT_NEAR(error(20, 80, 1280), 1.2553e-5, 1e-8);
}

// Steps of changing lengths keep the order of two.
TEST_F(Modal, StepsOfTwoLengths) {
  Grid const grid = modal_grid({4}, periodic_sides, 1);
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    ModalRun<double> run(stream_, grid, driven(), "imex_bdf2");
    run.set(0, std::vector<double>(4, 1));
    int const pairs = 40 << i;
    for (int pair = 0; pair < pairs; ++pair) {
      run.steps(0.7 / pairs, 1);
      run.steps(0.3 / pairs, 1);
    }
    errors[i] = std::abs(run.get(0)[0] - std::exp(std::sin(1.0) - 2));
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.2);
}

TEST_F(Modal, LinearWavesAreExact) {
  // u_t = −3·u_x + 0.1·u_xx + 0.02·u_xxx, in one step of any length.
  ModalSystem system{.unknown_sides = {periodic_sides},
                     .linear = {part(0, {{{1, 0, 0}, -3}, {{2, 0, 0}, 0.1}, {{3, 0, 0}, 0.02}})},
                     .rest = {{}}};
  Grid const grid = modal_grid({15}, periodic_sides, 1);
  double const k = 2 * std::numbers::pi, t = 0.7;
  ModalRun<double> run(stream_, grid, system, "etdrk4");
  run.set(0, sampled<double>(grid, [k](double x, double, double) { return std::sin(k * x); }));
  run.steps(t, 1);
  auto const exact = sampled<double>(grid, [k, t](double x, double, double) {
    return std::exp(-0.1 * k * k * t) * std::sin(k * (x - 3 * t) - 0.02 * k * k * k * t);
  });
  EXPECT_LE(farthest(run.get(0), exact), 1e-14);
}

TEST_F(Modal, StiffModesDecayWithoutRinging) {
  ModalSystem system{
      .unknown_sides = {periodic_sides}, .linear = {part(0, {{{2, 0, 0}, 1e6}})}, .rest = {{}}};
  Grid const grid = modal_grid({16}, periodic_sides, 1);
  for (auto const scheme : implicit_modal_schemes()) {
    ModalRun<double> run(stream_, grid, system, scheme);
    std::vector<double> jagged(16);
    for (std::size_t i = 0; i < 16; ++i) jagged[i] = i % 2 == 0 ? 1 : 0.5;
    run.set(0, jagged);
    run.steps(1, 3);
    for (double const value : run.get(0)) EXPECT_NEAR(value, 0.75, 1e-9) << scheme;
  }
}

// A sum of rates would lose what is left of a mode to the rounding of h·L·u, here 1e4 times u.
TEST_F(Modal, StiffModesInFloat32) {
  ModalSystem system{
      .unknown_sides = {periodic_sides}, .linear = {part(0, {{{0, 0, 0}, -1e11}})}, .rest = {{}}};
  Grid const grid = modal_grid({4}, periodic_sides, 1);
  for (auto const scheme : implicit_modal_schemes()) {
    ModalRun<float> run(stream_, grid, system, scheme);
    run.set(0, {1, 1, 1, 1});
    run.steps(1, 5);
    for (float const value : run.get(0)) EXPECT_LE(std::abs(value), 1e-4F) << scheme;
  }
}

// What is no field's, modes of k and −k that are not conjugate, does not grow beside it.
TEST_F(Modal, ModesStayThoseOfRealFields) {
  ModalSystem system = kuramoto_sivashinsky();
  system.linear = {part(0, {{{2, 0, 0}, -2}, {{0, 2, 0}, -2}})};  // all grow
  system.levels.clear();
  system.rest = {{}};
  for (std::int64_t const n : {6, 7}) {
    Grid const grid = modal_grid({n, 10}, periodic_sides, 2 * std::numbers::pi);
    ModalRun<double> run(stream_, grid, system, "etdrk4");
    auto const state = run.stepper().state();
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = std::sin(static_cast<double>(i));
    run.steps(1e-3, 1);
    auto const kept = run.stepper().layout().kept;
    auto const planes =
        n % 2 == 0 ? std::vector<std::int64_t>{0, kept[0] - 1} : std::vector<std::int64_t>{0};
    for (auto const plane : planes)
      for (std::int64_t j = 0; j < kept[1]; ++j) {
        auto const a = static_cast<std::size_t>(2 * (plane + kept[0] * j)),
                   b = static_cast<std::size_t>(2 * (plane + kept[0] * ((kept[1] - j) % kept[1])));
        EXPECT_EQ(state[a], state[b]);
        EXPECT_EQ(state[a + 1], -state[b + 1]);
      }
    // Other modes are not touched by it: all of them grow.
    EXPECT_NE(state[2 + 1], 0);
  }
}

TEST_F(Modal, ProductsOfLaterLevels) {
  // N = u·∇⁻²(u²): of cos x that is −(cos x + cos 3x)/16.
  Operator const laplacian = {{{2, 0, 0}, 1}};
  auto const one = [](int a, int b) {
    return program(1,
                   [=](Terms& t) { return std::vector{t.multiply(t.unknown(a), t.unknown(b))}; });
  };
  ModalSystem system{
      .unknown_sides = {periodic_sides},
      .linear = {{}},
      .levels = {{{part(0, unit)}, one(0, 0), {periodic_sides}, {periodic_sides}},
                 {{part(1, unit, laplacian)}, one(0, 1), {periodic_sides}, {periodic_sides}}},
      .rest = {part(2, unit)},
      .held = {part(1, unit, laplacian)},
      .held_sides = {periodic_sides}};
  Grid const grid = modal_grid({16}, periodic_sides, 2 * std::numbers::pi);
  ModalRun<double> run(stream_, grid, system, "euler");
  run.set(0, sampled<double>(grid, [](double x, double, double) { return std::cos(x); }));
  EXPECT_LE(
      farthest(run.held(0), sampled<double>(grid, [](double x, double,
                                                     double) { return -std::cos(2 * x) / 8; })),
      1e-15);
  run.steps(0.5, 1);
  EXPECT_LE(farthest(run.get(0), sampled<double>(grid,
                                                 [](double x, double, double) {
                                                   return std::cos(x) -
                                                          (std::cos(x) + std::cos(3 * x)) / 32;
                                                 })),
            1e-15);
}

TEST_F(Modal, DealiasedModes) {
  auto const kept = [](std::int64_t n, double keep) {
    return modes::layout_of(modal_grid({n, n}, periodic_sides, 1), periodic_sides, {keep, keep, 1});
  };
  auto const twelve = kept(12, 2.0 / 3);  // |k| < 4
  EXPECT_EQ(twelve.kept, (std::array<std::int64_t, 3>{4, 7, 1}));
  EXPECT_EQ(twelve.below, (std::array<std::int64_t, 3>{4, 4, 1}));
  EXPECT_EQ(kept(13, 2.0 / 3).kept, (std::array<std::int64_t, 3>{5, 9, 1}));
  EXPECT_EQ(kept(4096, 2.0 / 3).kept, (std::array<std::int64_t, 3>{1366, 2731, 1}));
  EXPECT_EQ(kept(12, 1).kept, (std::array<std::int64_t, 3>{7, 12, 1}));
  // Of n = 12, k = 3: its square has k = 6, which goes, and no other mode.
  Grid const grid = modal_grid({12}, periodic_sides, 2 * std::numbers::pi);
  auto system = kuramoto_sivashinsky();
  system.dealias = {2.0 / 3, 2.0 / 3, 2.0 / 3};
  system.linear = {{}};
  system.rest = {part(1, unit)};
  ModalRun<double> run(stream_, grid, system, "euler");
  run.set(0, sampled<double>(
                 grid, [](double x, double, double) { return std::cos(3 * x) + std::cos(5 * x); }));
  run.steps(1, 1);
  EXPECT_LE(
      farthest(run.get(0), sampled<double>(grid, [](double x, double,
                                                    double) { return std::cos(3 * x) + 0.5; })),
      1e-14);
}

TEST_F(Modal, DealiasedAsOnMorePoints) {
  check_dealiased<double>(stream_);
  check_dealiased<float>(stream_);
}

TEST_F(Modal, CheckpointsGoOnWithTheSameBits) {
  Grid const grid = kuramoto_sivashinsky_grid();
  for (auto const* const scheme : {"imex_bdf2", "etdrk4", "ark3", "imex_euler", "rk4"}) {
    double const step = 1e-3;
    ModalRun<double> run(stream_, grid, kuramoto_sivashinsky(), scheme);
    run.set(0, sampled<double>(grid, kuramoto_sivashinsky_start));
    run.steps(step, 3);
    run.steps(step / 2, 1);
    MemoryCheckpoint checkpoint;
    run.stepper().save(checkpoint);
    ModalRun<double> other(stream_, grid, kuramoto_sivashinsky(), scheme);
    other.stepper().load(checkpoint);
    for (auto* const one : {&run, &other}) one->steps(step, 4);
    EXPECT_EQ(run.get(0), other.get(0)) << scheme;
  }
}

// As a graph needs it: the same step again takes nothing new.
TEST_F(Modal, StepsBecomeSteady) {
  Grid const grid = kuramoto_sivashinsky_grid();
  ModalRun<double> run(stream_, grid, kuramoto_sivashinsky(), "imex_bdf2");
  run.set(0, sampled<double>(grid, kuramoto_sivashinsky_start));
  EXPECT_FALSE(run.stepper().is_steady(0.01));
  run.steps(0.01, 1);
  EXPECT_FALSE(run.stepper().is_steady(0.01));
  run.steps(0.01, 1);
  EXPECT_TRUE(run.stepper().is_steady(0.01));
  EXPECT_FALSE(run.stepper().is_steady(0.02));
}

TEST_F(Modal, DifferencesAreThoseOfTheGrid) {
  // The Laplacian of second order of cos kx has −4/h²·sin²(kh/2), and its first derivative sin(kh)/h.
  for (int const order : {2, 4, 6}) {
    Grid const grid = modal_grid({20}, periodic_sides, 1);
    ModalSystem system{.symbols = equations::Symbols::differences,
                       .order = order,
                       .unknown_sides = {periodic_sides},
                       .linear = {{}},
                       .rest = {{}},
                       .held = {part(0, {{{2, 0, 0}, 1}}), part(0, {{{1, 0, 0}, 1}})},
                       .held_sides = {periodic_sides, periodic_sides}};
    ModalRun<double> run(stream_, grid, system, "euler");
    auto const u = sampled<double>(grid, [](double x, double, double) {
      return std::exp(std::sin(2 * std::numbers::pi * x));
    });
    run.set(0, u);
    double const h = grid.spacing[0];
    std::vector<double> const w1 = order == 2   ? std::vector{0.5}
                                   : order == 4 ? std::vector{8.0 / 12, -1.0 / 12}
                                                : std::vector{45.0 / 60, -9.0 / 60, 1.0 / 60},
                              w2 = order == 2   ? std::vector{1.0}
                                   : order == 4 ? std::vector{16.0 / 12, -1.0 / 12}
                                                : std::vector{270.0 / 180, -27.0 / 180, 2.0 / 180};
    std::vector<double> first(20), second(20);
    for (std::size_t i = 0; i < 20; ++i)
      for (std::size_t k = 1; k <= w1.size(); ++k) {
        double const up = u[(i + k) % 20], down = u[(i + 20 - k) % 20];
        first[i] += w1[k - 1] * (up - down) / h;
        second[i] += w2[k - 1] * (up - 2 * u[i] + down) / (h * h);
      }
    EXPECT_LE(farthest(run.held(0), second), 1e-11) << order;
    EXPECT_LE(farthest(run.held(1), first), 1e-12) << order;
  }
}

TEST_F(Modal, Refusals) {
  Grid const grid = modal_grid({9}, periodic_sides, 1);
  ModalSystem system{.unknown_sides = std::vector<BeyondSides>(5, periodic_sides),
                     .linear = std::vector<ModalSum>(5),
                     .rest = std::vector<ModalSum>(5)};
  for (int field = 0; field + 1 < 5; ++field)
    system.linear[static_cast<std::size_t>(field)] = part(field + 1, unit);
  EXPECT_EQ(
      refusal([&] { ModalStepper<double>(stream_, grid, system, "etdrk4"); }),
      "modes: etdrk4 takes up to 4 fields that linear terms couple to each other, here are 5");
  EXPECT_EQ(ModalStepper<double>::refusal(grid, system, "rk4"), "");
  BeyondSides const mixed = {{{Beyond::odd, Beyond::even}, around, around}},
                    even = {{{Beyond::even, Beyond::even}, around, around}};
  system.unknown_sides = {mixed, even, mixed, mixed, mixed};
  EXPECT_EQ(ModalStepper<double>::refusal(grid, system, "rk4"),
            "fields have modes of several kinds along x: where one has a Dirichlet and a Neumann "
            "side, all have");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/stencil/stencil.hpp"
#include "support/stencil_cases.hpp"

namespace gridstride {
namespace {

using stencil::DiffusionStep;

/// Five points of spacing 1/2 with α = 1 and a step of 1/16: each weight is 1/4.
struct HeatLine {
  Stream stream{Device::open(Backend::cpu)};
  std::vector<double> in = {0, 1, 4, 9, 16};
  std::vector<double> out = std::vector<double>(5, -1);
  double lower = 0, upper = 0;
  DiffusionStep<double> step;

  HeatLine(SideKind kind) {
    step.grid.points = {5, 1, 1};
    step.grid.spacing = {0.5, 1, 1};
    step.in = in.data();
    step.out = out.data();
    step.factor = 1.0 / 16;
    step.diffusivity = 1;
    step.sides[0] = {{{kind, &lower}, {kind, &upper}}};
  }
  std::vector<double> run() {
    stencil::diffuse(stream, step, "reference");
    return out;
  }
};

TEST(StencilReference, DirichletByHand) {
  HeatLine line(SideKind::dirichlet);
  line.lower = -3;
  line.upper = 20;
  // Inside: u + (second difference 2)/4.
  EXPECT_EQ(line.run(), (std::vector<double>{-3, 1.5, 4.5, 9.5, 20}));
}

TEST(StencilReference, PeriodicByHand) {
  HeatLine line(SideKind::periodic);
  // Left end: 0 + (1 + 16 - 0)/4; right end: 16 + (9 + 0 - 32)/4.
  EXPECT_EQ(line.run(), (std::vector<double>{4.25, 1.5, 4.5, 9.5, 10.25}));
}

TEST(StencilReference, NeumannByHand) {
  HeatLine line(SideKind::neumann);
  line.lower = 2;
  line.upper = -4;
  // Half cells: 0 + 2·(1 − 0)/4 + (1/16)·(2/0.5)·2, and 16 + 2·(9 − 16)/4 − (1/16)·4·4.
  EXPECT_EQ(line.run(), (std::vector<double>{1, 1.5, 4.5, 9.5, 11.5}));
}

TEST(StencilReference, VariableDiffusivityAveragesAtFaces) {
  HeatLine line(SideKind::dirichlet);
  std::vector<double> const alpha = {1, 3, 5, 1, 1};
  line.step.diffusivity_field = alpha.data();
  // Point 1: faces (1+3)/2 and (3+5)/2: 1 + (4·3 − 2·1)/4. Point 2: faces 4 and 3.
  // Point 3: faces 3 and 1: 9 + (7·1 − 5·3)/4.
  EXPECT_EQ(line.run(), (std::vector<double>{0, 3.5, 4.75, 7, 0}));
}

TEST(StencilReference, SourceBaseAndTermsByHand) {
  HeatLine line(SideKind::dirichlet);
  std::vector<double> const source(5, 32), base(5, 2), term(5, 10);
  line.step.source = source.data();
  line.step.base = base.data();
  line.step.in_weight = 0.5;
  line.step.terms[1] = {term.data(), 0.25};
  // 2 + 1/2 + 32/16 + (u - 2)/2 + (10 - 2)/4
  EXPECT_EQ(line.run(), (std::vector<double>{0, 6, 7.5, 10, 0}));
}

TEST(StencilReference, FirstAxisCountsWhereDirichletSidesMeet) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const in(9, 0), x_side(3, 1), y_side(3, 2);
  std::vector<double> out(9, -1);
  DiffusionStep<double> step;
  step.grid.dims = 2;
  step.grid.points = {3, 3, 1};
  step.in = in.data();
  step.out = out.data();
  step.sides[0] = {{{SideKind::dirichlet, x_side.data()}, {SideKind::dirichlet, x_side.data()}}};
  step.sides[1] = {{{SideKind::dirichlet, y_side.data()}, {SideKind::dirichlet, y_side.data()}}};
  stencil::diffuse(stream, step, "reference");
  EXPECT_EQ(out, (std::vector<double>{1, 2, 1, 1, 0, 1, 1, 2, 1}));
}

template <class T>
void compare_stencil_variants() {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::stencil_cases()) {
    test::StencilProblem<T> reference(stream, one);
    auto const expected = reference.run("reference");
    for (auto const& row : stencil::variants<T>()) {
      if (row.backend != Backend::cpu) continue;
      test::StencilProblem<T> problem(stream, one);
      EXPECT_LE(test::largest_difference(expected, problem.run(row.name)), problem.tolerance())
          << row.name << " on " << one.text();
      ++compared;
    }
  }
  EXPECT_GE(compared, 90 * 2);
}

TEST(Stencil, HostVariantsEqualTheReferenceInFloat32) { compare_stencil_variants<float>(); }
TEST(Stencil, HostVariantsEqualTheReferenceInFloat64) { compare_stencil_variants<double>(); }

/// Several steps of every host variant against single steps of the reference.
template <class T>
void repeat_variants() {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::repeated_cases(false)) {
    test::StencilProblem<T> problem(stream, one);
    auto step = problem.step();
    for (std::int64_t const steps : {1, 2, 7}) {
      problem.repeat(0, {});  // the initial values
      step.in = problem.step().in;
      step.out = problem.step().out;
      for (std::int64_t i = 0; i < steps; ++i) {
        stencil::diffuse(stream, step, "reference");
        step.in = std::exchange(step.out, const_cast<T*>(step.in));
      }
      std::vector<T> const expected(step.in, step.in + one.grid.size());
      for (auto const& row : stencil::variants<T>()) {
        if (row.backend != Backend::cpu) continue;
        EXPECT_EQ(problem.repeat(steps, {row.name}), expected)
            << row.name << ", " << steps << " steps on " << one.text();
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 75 * 3 * 2);
}

TEST(Stencil, RepeatedStepsEqualSingleOnesInFloat32) { repeat_variants<float>(); }
TEST(Stencil, RepeatedStepsEqualSingleOnesInFloat64) { repeat_variants<double>(); }

TEST(Stencil, RepeatedStepsTakeASourceAndAField) {
  Stream stream(Device::open(Backend::cpu));
  test::StencilCase one = test::repeated_cases(false)[40];
  one.source = one.variable = true;
  test::StencilProblem<double> problem(stream, one);
  auto step = problem.step();
  auto const twice = problem.repeat(2, {});
  problem.repeat(0, {});
  stencil::diffuse(stream, step);
  step.in = std::exchange(step.out, const_cast<double*>(step.in));
  stencil::diffuse(stream, step);
  EXPECT_EQ(std::vector<double>(step.out, step.out + one.grid.size()), twice);
}

/// What so many steps make of a step's `in`, beside what they leave as it is.
std::vector<double> run_from(Stream& stream, DiffusionStep<double> const& step, std::size_t size,
                             std::int64_t steps, std::string_view variant) {
  std::vector<double> first(step.in, step.in + size),
      second(size, std::numeric_limits<double>::quiet_NaN());
  auto const* const end =
      stencil::diffuse_repeatedly(stream, step, first.data(), second.data(), steps, {variant});
  return {end, end + size};
}

/// Of some planes of a grid; `threads` makes no others.
TEST(Stencil, MakesThePlanesThatAreWanted) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& one : test::repeated_cases(false)) {
    test::StencilProblem<double> problem(stream, one);
    auto const size = static_cast<std::size_t>(one.grid.size());
    auto step = problem.step();
    std::int64_t const planes = one.grid.points[one.grid.dims - 1], line = one.grid.size() / planes;
    for (std::array<std::int64_t, 2> const made :
         {std::array{std::int64_t{1}, planes - 1}, {0, 1}, {planes - 1, planes}})
      for (std::int64_t const steps : {1, 2, 3})
        for (auto const& row : stencil::variants<double>()) {
          if (row.backend != Backend::cpu) continue;
          step.made = {};
          auto const expected = run_from(stream, step, size, steps, row.name);
          step.made = made;
          auto const found = run_from(stream, step, size, steps, row.name);
          for (std::int64_t i = 0; i < one.grid.size(); ++i) {
            bool const is_wanted = i / line >= made[0] && i / line < made[1];
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

TEST(Stencil, ChoosesSingleStepsOnTheHost) {
  HeatLine line(SideKind::dirichlet);
  for (auto const* wanted : {"auto", "reference"}) {
    auto const chosen =
        stencil::choose<double>(line.stream.device(), stencil::kind_of(line.step), {wanted, 2});
    EXPECT_EQ(chosen.row, chosen.single);
    EXPECT_EQ(chosen.row->name, std::string_view(wanted) == "auto" ? "threads" : wanted);
    EXPECT_EQ(chosen.fused_steps, 1);
  }
}

TEST(Stencil, RefusesBadRepetitions) {
  HeatLine line(SideKind::dirichlet);
  auto const repeat = [&](DiffusionStep<double> const& step, std::int64_t steps,
                          stencil::Repetition const& repetition) {
    stencil::diffuse_repeatedly(line.stream, step, line.in.data(), line.out.data(), steps,
                                repetition);
  };
  EXPECT_NO_THROW(repeat(line.step, 0, {}));
  EXPECT_THROW(repeat(line.step, -1, {}), std::invalid_argument);
  EXPECT_THROW(repeat(line.step, 1, {"auto", -1}), std::invalid_argument);
  EXPECT_THROW(repeat(line.step, 1, {"auto", stencil::most_fused_steps(1) + 1}),
               std::invalid_argument);
  EXPECT_THROW(repeat(line.step, 1, {"temporal"}), std::invalid_argument);
  auto step = line.step;
  step.base = line.out.data();
  EXPECT_THROW(repeat(step, 1, {}), std::invalid_argument);
  step = line.step;
  step.terms[1].values = line.out.data();
  EXPECT_THROW(repeat(step, 1, {}), std::invalid_argument);
  EXPECT_THROW(
      stencil::diffuse_repeatedly(line.stream, line.step, line.in.data(), line.in.data(), 1),
      std::invalid_argument);
}

TEST(Stencil, ConstantFieldIsKeptExactly) {
  for (auto const& one : test::stencil_cases()) {
    if (one.source || one.base) continue;
    Stream stream(Device::open(Backend::cpu));
    auto const size = static_cast<std::size_t>(one.grid.size());
    std::vector<double> const in(size, 3.25), alpha = [&] {
      std::mt19937_64 generator(1);
      return test::random_values<double>(size, generator, 0.5, 1.5);
    }();
    std::vector<double> const zero(size, 0);
    std::vector<double> out(size);
    DiffusionStep<double> step;
    step.grid = one.grid;
    step.in = in.data();
    step.out = out.data();
    step.factor = 0.125;
    step.diffusivity_field = alpha.data();
    for (int axis = 0; axis < one.grid.dims; ++axis)
      for (int side = 0; side < 2; ++side)
        step.sides[axis][side] = {
            one.kinds[axis][side],
            one.kinds[axis][side] == SideKind::dirichlet ? in.data() : zero.data()};
    stencil::diffuse(stream, step);
    EXPECT_EQ(out, in) << one.text();
  }
}

TEST(Stencil, ImposesDirichletSidesOnly) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const side = {7, 8};
  std::vector<double> values = {0, 1, 2, 3, 4};
  Grid grid;
  grid.points = {5, 1, 1};
  std::array<std::array<DiffusionStep<double>::Side, 2>, 3> sides;
  sides[0] = {{{SideKind::dirichlet, &side[0]}, {SideKind::neumann, &side[1]}}};
  stencil::impose_dirichlet(stream, grid, sides, values.data());
  EXPECT_EQ(values, (std::vector<double>{7, 1, 2, 3, 4}));
}

TEST(Stencil, EulerLimit) {
  Grid grid;
  grid.dims = 2;
  grid.points = {11, 11, 1};
  grid.spacing = {0.1, 0.2, 1};
  EXPECT_DOUBLE_EQ(stencil::euler_limit(grid, 2), 1 / (2 * 2 * (100.0 + 25.0)));
}

TEST(Stencil, RefusesBadArguments) {
  HeatLine line(SideKind::dirichlet);
  auto const refuses = [&](auto const& spoil) {
    auto step = line.step;
    spoil(step);
    EXPECT_THROW(stencil::diffuse(line.stream, step), std::invalid_argument);
  };
  refuses([](auto& step) { step.in = nullptr; });
  refuses([](auto& step) { step.out = nullptr; });
  refuses([&](auto& step) { step.out = line.in.data(); });
  refuses([](auto& step) { step.grid.points[0] = 2; });
  refuses([](auto& step) { step.sides[0][1].values = nullptr; });
  refuses([](auto& step) { step.in_weight = 1; });
  EXPECT_THROW(stencil::diffuse(line.stream, line.step, "naive"), std::invalid_argument);
  EXPECT_THROW(stencil::diffuse(line.stream, line.step, "fastest"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "kernels/stencil/stencil.hpp"
#include "support/stencil_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
void compare_variants() {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : test::stencil_cases()) {
    test::StencilProblem<T> reference(host, one);
    auto const expected = reference.run("reference");
    auto const imposed = test::StencilProblem<T>(host, one).impose();
    std::vector<T> first;  // of the device's variants
    for (auto const& row : stencil::variants<T>()) {
      if (row.backend != Backend::cuda) continue;
      test::StencilProblem<T> problem(device, one);
      auto const once = problem.run(row.name);
      EXPECT_LE(test::largest_difference(expected, once), problem.tolerance())
          << row.name << " on " << one.text();
      if (first.empty()) first = once;
      EXPECT_EQ(first, once) << row.name << " has its own bits on " << one.text();
      test::StencilProblem<T> again(device, one);
      EXPECT_EQ(once, again.run(row.name)) << row.name << " repeats on " << one.text();
      ++compared;
    }
    auto const on_device = test::StencilProblem<T>(device, one).impose();
    for (std::size_t i = 0; i < imposed.size(); ++i)
      ASSERT_TRUE(imposed[i] == on_device[i] ||
                  (imposed[i] != imposed[i] && on_device[i] != on_device[i]))
          << "impose_dirichlet on " << one.text() << " at " << i;
  }
  EXPECT_GE(compared, 90 * 5);
}

TEST(StencilGpu, VariantsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_variants<float>();
}

TEST(StencilGpu, VariantsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_variants<double>();
}

TEST(StencilGpu, RepeatedStepsHaveTheBitsOfSingleOnes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  auto const cases = test::repeated_cases(false);
  for (std::size_t i = 0; i < cases.size(); i += 6) {  // all kinds of sides
    test::StencilProblem<float> problem(device, cases[i]);
    auto const expected = problem.repeat(11, {"naive"});
    for (auto const* variant : {"temporal", "resident"})
      EXPECT_EQ(problem.repeat(11, {variant}), expected) << variant << " on " << cases[i].text();
  }
}

/// Several steps of every variant against `naive` to the bit, and against the host but for
/// rounding: errors of single steps add up. Cases take turns with the numbers of steps, and of
/// fused ones.
template <class T>
void repeat_variants(bool large) {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  auto const cases = test::repeated_cases(large);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto const& one = cases[i];
    test::StencilProblem<T> reference(host, one), problem(device, one);
    int const most = stencil::most_fused_steps(one.grid.dims);
    for (std::size_t s = i % 3; s < test::repeated_steps.size(); s += 3) {
      std::int64_t const steps = test::repeated_steps[s];
      auto const expected = problem.repeat(steps, {"naive"});
      EXPECT_LE(test::largest_difference(reference.repeat(steps, {}), expected),
                static_cast<double>(steps) * problem.tolerance())
          << steps << " steps on " << one.text();
      for (auto const* variant : {"auto", "shared", "register_queue", "resident"})
        EXPECT_EQ(problem.repeat(steps, {variant}), expected)
            << variant << ", " << steps << " steps on " << one.text();
      for (int fused = 1 + static_cast<int>(i % 5); fused <= most; fused += most > 8 ? 5 : 1)
        EXPECT_EQ(problem.repeat(steps, {"temporal", fused}), expected)
            << fused << " fused of " << steps << " steps on " << one.text();
    }
  }
}

TEST(StencilRepeatGpu, SmallGridsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat_variants<float>(false);
}

TEST(StencilRepeatGpu, SmallGridsInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat_variants<double>(false);
}

TEST(StencilRepeatGpu, LargeGridsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat_variants<float>(true);
}

TEST(StencilRepeatGpu, LargeGridsInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat_variants<double>(true);
}

/// Passes of every number of steps over sizes about a tile's, also where arrays are not aligned.
template <class T>
void compare_tiles() {
  Stream device(Device::open(Backend::cuda));
  unsigned number = 0;
  for (auto const& one : test::tile_cases()) {
    test::StencilProblem<T> aligned(device, one);
    test::StencilProblem<T> shifted(device, one, number % 3 != 0 ? 1 : 0, number % 3 != 1 ? 1 : 0);
    ++number;
    for (int const fused : {2, 4, 7, 8, 16, 31, 32}) {
      if (fused > stencil::most_fused_steps(one.grid.dims)) break;
      // In 3D the first pass, and only that, takes the values of Dirichlet sides.
      int const steps = one.grid.dims == 3 ? 2 * fused : fused;
      auto const expected = aligned.repeat(steps, {"naive"});
      EXPECT_EQ(aligned.repeat(steps, {"temporal", fused}), expected)
          << fused << " fused steps on " << one.text();
      EXPECT_EQ(shifted.repeat(steps, {"temporal", fused}), expected)
          << fused << " fused steps, not aligned, on " << one.text();
    }
  }
}

TEST(StencilRepeatGpu, TilesInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_tiles<float>();
}

TEST(StencilRepeatGpu, TilesInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_tiles<double>();
}

/// Thousands of exchanges between the blocks of a cluster.
TEST(StencilRepeatGpu, ManySteps) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  for (auto const& one : test::repeated_cases(true)) {
    if (one.grid.size() > 40000) continue;
    test::StencilProblem<float> problem(device, one);
    EXPECT_EQ(problem.repeat(20011, {"resident"}), problem.repeat(20011, {"register_queue"}))
        << one.text();
  }
}

TEST(StencilRepeatGpu, CanBeCaptured) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Grid grid;
  grid.dims = 2;
  grid.points = {64, 64, 1};
  std::vector<float> const values(64 * 64, 1), zero(64, 0);
  auto first = test::to_device(std::span(values), stream);
  auto second = test::to_device(std::span(values), stream);
  auto const face = test::to_device(std::span(zero), stream);
  stencil::DiffusionStep<float> step;
  step.grid = grid;
  step.factor = 0.1;
  step.diffusivity = 1;
  for (auto& axis : step.sides) axis.fill({SideKind::dirichlet, face.data()});
  for (auto const* variant : {"register_queue", "temporal", "resident"}) {
    copy_async(first.span(), std::span(values), stream);
    float const* result = nullptr;
    auto const graph = Graph::capture(stream, [&] {
      result =
          stencil::diffuse_repeatedly(stream, step, first.data(), second.data(), 21, {variant});
    });
    graph.launch(stream);
    auto const captured = test::to_host(std::span(result, values.size()), stream);
    copy_async(first.span(), std::span(values), stream);
    result = stencil::diffuse_repeatedly(stream, step, first.data(), second.data(), 21, {"naive"});
    EXPECT_EQ(captured, test::to_host(std::span(result, values.size()), stream)) << variant;
  }
}

TEST(StencilRepeatGpu, ChoosesByTheGrid) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Device const device = Device::open(Backend::cuda);
  stencil::DiffusionStep<float> step;
  step.grid.dims = 2;
  step.grid.points = {8192, 8192, 1};
  auto const large = stencil::choose(device, step, {});
  EXPECT_EQ(large.variant, "temporal");
  EXPECT_GT(large.fused_steps, 1);
  step.grid.points = {64, 64, 1};
  EXPECT_EQ(stencil::choose(device, step, {"auto", 2}).variant, "temporal");
  step.grid.points = {8192, 8192, 1};
  EXPECT_EQ(stencil::choose(device, step, {"resident"}).variant, "temporal");
  EXPECT_EQ(stencil::choose(device, step, {"register_queue", 2}).fused_steps, 1);
  // In 3D single steps keep longer what has open sides.
  std::vector<float> const any(1);
  step.grid.dims = 3;
  step.grid.points = {160, 160, 160};
  EXPECT_EQ(stencil::choose(device, step, {}).variant, "temporal");
  for (auto& axis : step.sides) axis.fill({SideKind::dirichlet, any.data()});
  EXPECT_EQ(stencil::choose(device, step, {}).variant, "register_queue");
  step.grid.points = {256, 256, 256};
  EXPECT_EQ(stencil::choose(device, step, {}).variant, "temporal");
  step.source = any.data();
  EXPECT_EQ(stencil::choose(device, step, {}).variant, "register_queue");
  EXPECT_EQ(stencil::choose(device, step, {"temporal", 2}).fused_steps, 1);
}

}  // namespace
}  // namespace gridstride

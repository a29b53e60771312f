#include <gtest/gtest.h>

#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/kernel_info.hpp"
#include "kernels/stencil/stencil.hpp"
#include "support/stencil_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
void compare_stencil_variants() {
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
      if (row.name == "temporal" || row.name == "resident") {  // these make several steps at once
        EXPECT_THROW(problem.run(row.name), std::invalid_argument) << row.name;
        continue;
      }
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
  EXPECT_GE(compared, 90 * 3);
}

TEST(StencilGpu, VariantsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_stencil_variants<float>();
}

TEST(StencilGpu, VariantsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_stencil_variants<double>();
}

/// Whether the variant that is wanted makes a case's steps.
template <class T>
bool takes(Stream const& stream, test::StencilProblem<T> const& problem,
           stencil::Repetition const& wanted) {
  try {
    stencil::choose<T>(stream.device(), stencil::kind_of(problem.step()), wanted);
    return true;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

/// A variant that was asked for runs or is refused; then it gives what is expected.
template <class T>
void expect_or_refuse(Stream const& stream, test::StencilProblem<T>& problem, std::int64_t steps,
                      stencil::Repetition const& wanted, std::vector<T> const& expected,
                      std::string const& text) {
  bool const taken = takes(stream, problem, wanted);
  if (wanted.variant != "resident") {
    EXPECT_EQ(taken, wanted.variant != "temporal" || wanted.fused_steps != 1) << text;
  }
  if (problem.step().grid.dims == 3) {
    EXPECT_EQ(taken, wanted.variant != "resident" && taken) << text;
  }
  if (taken) {
    EXPECT_EQ(problem.repeat(steps, wanted), expected)
        << wanted.variant << ' ' << wanted.fused_steps << ", " << steps << " steps on " << text;
  } else {
    EXPECT_THROW(problem.repeat(steps, wanted), std::invalid_argument) << wanted.variant << text;
  }
}

TEST(StencilGpu, RepeatedStepsHaveTheBitsOfSingleOnes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  auto const cases = test::repeated_cases(false);
  for (std::size_t i = 0; i < cases.size(); i += 6) {  // all kinds of sides
    test::StencilProblem<float> problem(device, cases[i]);
    auto const expected = problem.repeat(11, {"naive"});
    for (auto const* variant : {"temporal", "resident"})
      expect_or_refuse(device, problem, 11, {variant}, expected, cases[i].text());
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
        expect_or_refuse(device, problem, steps, {variant}, expected, one.text());
      for (int fused = 1 + static_cast<int>(i % 5); fused <= most; fused += most > 8 ? 5 : 1)
        expect_or_refuse(device, problem, steps, {"temporal", fused}, expected, one.text());
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
  int compared = 0;
  for (auto const& one : test::repeated_cases(true)) {
    if (one.grid.size() > 40000) continue;
    test::StencilProblem<float> problem(device, one);
    if (!takes(device, problem, {"resident"})) continue;
    EXPECT_EQ(problem.repeat(20011, {"resident"}), problem.repeat(20011, {"register_queue"}))
        << one.text();
    ++compared;
  }
  if (device.device().capabilities().clusters) {
    EXPECT_GT(compared, 0);
  }
}

/// Planes on all multiprocessors: widths that are multiples of nothing, few and many lines for a tile,
/// every pair of kinds of sides, and tiles that trade often.
template <class T>
void compare_resident_planes() {
  Stream device(Device::open(Backend::cuda));
  constexpr SideKind p = SideKind::periodic, d = SideKind::dirichlet, n = SideKind::neumann;
  constexpr std::array<std::array<SideKind, 2>, 5> pairs = {
      {{p, p}, {d, d}, {n, n}, {d, n}, {n, d}}};
  constexpr std::array<std::array<std::int64_t, 2>, 10> sizes = {{{260, 9},
                                                                  {515, 64},
                                                                  {300, 1100},
                                                                  {1025, 300},
                                                                  {1000, 777},
                                                                  {2047, 96},
                                                                  {1201, 1403},
                                                                  {96, 600},
                                                                  {1999, 1801},
                                                                  {2048, 1024}}};
  int compared = 0;
  for (std::size_t s = 0; s < sizes.size(); ++s)
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      test::StencilCase one;
      one.grid.dims = 2;
      one.grid.points = {sizes[s][0], sizes[s][1], 1};
      one.grid.spacing = {0.5, 0.25, 0.75};
      one.kinds = {pairs[b], pairs[(s + 2 * b) % 5], pairs[0]};
      test::StencilProblem<T> problem(device, one);
      if (!takes(device, problem, {"resident"})) continue;
      std::int64_t const steps = b == 1 ? 3011 : 45 + static_cast<std::int64_t>(s);
      EXPECT_EQ(problem.repeat(steps, {"resident"}), problem.repeat(steps, {"register_queue"}))
          << steps << " steps on " << one.text();
      ++compared;
    }
  if (device.device().capabilities().clusters) {
    EXPECT_GT(compared, 20);
  }
}

TEST(StencilRepeatGpu, ResidentPlanesInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_resident_planes<float>();
}

TEST(StencilRepeatGpu, ResidentPlanesInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_resident_planes<double>();
}

/// As runs of a sweep do: each of several threads has a stream of its own, on which planes that need all
/// multiprocessors come between steps of other kernels. None may wait for what another one keeps.
TEST(StencilRepeatGpu, ResidentPlanesGoSideBySide) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  constexpr int count = 6;
  std::vector<std::jthread> threads;
  for (int number = 0; number < count; ++number)
    threads.emplace_back([number] {
      Stream device(Device::open(Backend::cuda));
      test::StencilCase one;
      one.grid.dims = 2;
      one.grid.points = {512 + 16 * number, 400 + number, 1};
      one.grid.spacing = {0.5, 0.25, 0.75};
      one.kinds[0].fill(SideKind::dirichlet);
      one.kinds[1].fill(SideKind::neumann);
      test::StencilProblem<float> problem(device, one);
      if (!takes(device, problem, {"resident"})) return;
      auto const expected = problem.repeat(301, {"register_queue"});
      for (int again = 0; again < 30; ++again)
        EXPECT_EQ(problem.repeat(301, {"resident"}), expected) << one.text();
    });
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
  stencil::StepKind kind{{}, {}};
  kind.grid.dims = 2;
  kind.grid.points = {8192, 8192, 1};
  auto const choose = [&](stencil::Repetition const& wanted) {
    return stencil::choose<float>(device, kind, wanted);
  };
  auto const refusal = [&](stencil::Repetition const& wanted) -> std::string {
    try {
      choose(wanted);
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(choose({}).row->name, "temporal");
  EXPECT_EQ(choose({}).single->name, "register_queue");
  EXPECT_GT(choose({}).fused_steps, 1);
  EXPECT_NE(refusal({"resident"}).find("stencil: 'resident' keeps small lines and planes"),
            std::string::npos);
  EXPECT_EQ(choose({"register_queue", 2}).fused_steps, 1);
  kind.grid.points = {3000, 2777, 1};
  EXPECT_NE(refusal({"resident"}), "");
  kind.grid.points = {1000, 777, 1};
  if (device.capabilities().clusters && device.processors() >= 132) {
    EXPECT_EQ(choose({}).row->name, "resident");
  }
  kind.cut = true;
  EXPECT_NE(choose({}).row->name, "resident");
  kind.cut = false;
  kind.grid.points = {64, 64, 1};
  EXPECT_EQ(choose({"auto", 2}).row->name, "temporal");
  EXPECT_EQ(choose({"auto", 1}).row->name, "register_queue");
  EXPECT_NE(refusal({"temporal", 1}), "");
  kind.grid.points = {3, 2'200'000'000, 1};
  EXPECT_EQ(choose({}).row->name, "register_queue");
  EXPECT_NE(refusal({"temporal"}).find("points along an axis"), std::string::npos);
  kind.grid.points = {64, 64, 1};
  kind.variable = true;
  EXPECT_EQ(choose({}).row->name, "register_queue");
  for (auto const* variant : {"temporal", "resident"})
    EXPECT_NE(refusal({variant}).find("diffusivity"), std::string::npos) << variant;
  kind.variable = false;
  kind.alike = false;
  EXPECT_EQ(choose({"auto", 2}).row->name, "register_queue");
  for (auto const* variant : {"temporal", "resident"}) EXPECT_NE(refusal({variant}), "") << variant;
  // In 3D single steps keep longer what has open sides.
  kind.alike = true;
  kind.grid.dims = 3;
  kind.grid.points = {160, 160, 160};
  EXPECT_EQ(choose({}).row->name, "temporal");
  EXPECT_NE(refusal({"resident"}), "");
  for (auto& axis : kind.sides) axis.fill(SideKind::dirichlet);
  EXPECT_EQ(choose({}).row->name, "register_queue");
  kind.grid.points = {256, 256, 256};
  EXPECT_EQ(choose({}).row->name, "temporal");
  kind.source = true;
  EXPECT_EQ(choose({}).row->name, "register_queue");
  EXPECT_NE(refusal({"temporal", 2}).find("source"), std::string::npos);
}

/// What the steps of a chosen row launch.
std::vector<KernelInfo> kernels_of(Stream& stream, std::string_view variant) {
  test::StencilCase one;
  one.grid.dims = 2;
  one.grid.points = {64, 48, 1};
  for (auto& kinds : one.kinds) kinds.fill(SideKind::periodic);
  test::StencilProblem<float> problem(stream, one);
  auto const& step = problem.step();
  return captured_kernels(stream, [&] {
    stencil::diffuse_repeatedly(stream, step, const_cast<float*>(step.in), step.out, 16, {variant});
  });
}

TEST(StencilRepeatGpu, RowsLaunchKernelsOfTheirOwn) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::map<std::string_view, std::vector<KernelInfo>> launched;
  for (auto const& row : stencil::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    if (!missing(stream.device().capabilities(), row.needs).empty()) continue;
    for (auto const& [name, kernels] : launched)
      EXPECT_NE(kernels, kernels_of(stream, row.name)) << row.name << " runs " << name;
    launched[row.name] = kernels_of(stream, row.name);
    auto const own = row.name == "resident" ? "plane_kernel" : std::string(row.name);
    EXPECT_NE(launched[row.name].back().name.find(own), std::string::npos)
        << launched[row.name].back().name << " of " << row.name;
  }
  EXPECT_GE(launched.size(), 4u);
}

}  // namespace
}  // namespace gridstride

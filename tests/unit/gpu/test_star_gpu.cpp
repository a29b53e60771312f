#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <vector>

#include "core/kernel_info.hpp"
#include "kernels/star/star.hpp"
#include "support/star_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
void compare_star_variants() {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : test::star_cases()) {
    auto const expected = test::StarProblem<T>(host, one).run("reference");
    std::vector<T> first;
    for (auto const& row : star::variants<T>()) {
      if (row.backend != Backend::cuda) continue;
      test::StarProblem<T> problem(device, one);
      if (row.name == "temporal") {  // makes several steps at once
        EXPECT_THROW(problem.run(row.name), std::invalid_argument) << one.text();
        continue;
      }
      auto const found = problem.run(row.name);
      EXPECT_LE(test::largest_difference(expected, found), problem.tolerance())
          << row.name << " on " << one.text();
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << row.name << " gives other bits on " << one.text();
      ++compared;
    }
  }
  EXPECT_GE(compared, 76 * 2);
}

TEST(StarGpu, VariantsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_star_variants<float>();
}

TEST(StarGpu, VariantsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_star_variants<double>();
}

/// Passes of several steps against single ones, bit for bit, also where a step is left over.
template <class T>
void compare_fused_steps() {
  Stream device(Device::open(Backend::cuda));
  for (auto const& one : test::repeated_cases()) {
    star::Repetition const wanted = {"temporal"};
    star::StepKind const kind{one.grid, one.order, one.variable};
    auto const chosen = star::choose<T>(device.device(), kind, wanted);
    ASSERT_EQ(chosen.row->name, "temporal");
    ASSERT_EQ(chosen.single->name, "register_queue");
    ASSERT_GT(chosen.fused_steps, 1);
    for (int const steps : {chosen.fused_steps, 2 * chosen.fused_steps + 1}) {
      auto const expected = test::StarProblem<T>(device, one).repeat(steps, {"register_queue"});
      EXPECT_EQ(test::StarProblem<T>(device, one).repeat(steps, wanted), expected)
          << steps << " steps, " << chosen.fused_steps << " a pass, " << one.text();
    }
  }
}

TEST(StarGpu, FusedStepsGiveTheBitsOfSingleOnesInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_fused_steps<float>();
}

TEST(StarGpu, FusedStepsGiveTheBitsOfSingleOnesInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_fused_steps<double>();
}

TEST(StarGpu, FusedStepsNeedTwoSpareArrays) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  std::vector<float> const zeros(64 * 64, 0.0F);
  auto now = test::to_device(std::span(zeros), device);
  auto before = test::to_device(std::span(zeros), device);
  auto spare = test::to_device(std::span(zeros), device);
  star::LeapfrogStep<float> step;
  step.grid.dims = 2;
  step.grid.points = {64, 64, 1};
  for (auto& sides : step.sides) sides.fill(SideKind::periodic);
  auto const repeat = [&](std::array<float*, 2> spares) {
    star::WaveArrays<float> arrays = {now.data(), before.data(), spares};
    int const steps = star::most_fused_steps(2, step.order);
    star::leapfrog_repeatedly(device, step, arrays, steps, {"temporal"});
  };
  EXPECT_THROW(repeat({}), std::invalid_argument);
  EXPECT_THROW(repeat({spare.data(), nullptr}), std::invalid_argument);
  EXPECT_THROW(repeat({spare.data(), spare.data()}), std::invalid_argument);
  EXPECT_THROW(repeat({spare.data(), now.data()}), std::invalid_argument);
}

TEST(StarGpu, RefusesFusedStepsWhereThereAreNone) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Device const device = Device::open(Backend::cuda);
  star::StepKind kind;
  kind.grid.dims = 2;
  kind.grid.points = {4096, 4096, 1};
  auto const name = [&](star::Repetition const& wanted) {
    return star::choose<float>(device, kind, wanted).row->name;
  };
  EXPECT_EQ(name({}), "temporal");
  EXPECT_EQ(name({"auto", 1}), "register_queue");  // a pass makes more
  EXPECT_THROW(name({"temporal", 1}), std::invalid_argument);
  kind.plain = false;
  EXPECT_EQ(name({}), "register_queue");
  EXPECT_THROW(name({"temporal"}), std::invalid_argument);
  kind.plain = true;
  kind.grid.dims = 3;
  kind.grid.points = {256, 256, 256};
  EXPECT_EQ(name({}), "register_queue");
  EXPECT_THROW(name({"temporal"}), std::invalid_argument);
}

TEST(StarGpu, RowsLaunchKernelsOfTheirOwn) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const one = test::repeated_cases().front();
  std::map<std::string_view, std::vector<KernelInfo>> launched;
  for (auto const& row : star::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    test::StarProblem<float> problem(stream, one);
    auto const& step = problem.step();
    std::vector<float> const zeros(static_cast<std::size_t>(one.grid.size()), 0.0F);
    auto now = test::to_device(std::span(zeros), stream);
    auto before = test::to_device(std::span(zeros), stream);
    auto spare = test::to_device(std::span(zeros), stream);
    auto other = test::to_device(std::span(zeros), stream);
    star::WaveArrays<float> arrays = {now.data(), before.data(), {spare.data(), other.data()}};
    int const fused =
        star::fused_steps(Backend::cuda, {one.grid, one.order, one.variable}, {row.name});
    auto const kernels = captured_kernels(
        stream, [&] { star::leapfrog_repeatedly(stream, step, arrays, 2 * fused, {row.name}); });
    ASSERT_FALSE(kernels.empty()) << row.name;
    EXPECT_NE(kernels.front().name.find(row.name), std::string::npos) << kernels.front().name;
    for (auto const& [name, others] : launched)
      EXPECT_NE(kernels, others) << row.name << " runs " << name;
    launched[row.name] = kernels;
  }
  EXPECT_GE(launched.size(), 3u);
}

TEST(StarGpu, EnergyEqualsTheHosts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  for (auto const& one : test::star_cases()) {
    double const expected = test::StarProblem<float>(host, one).energy();
    double const found = test::StarProblem<float>(device, one).energy();
    // Of sums of values of both signs: a bound by the number of points would be far larger.
    EXPECT_NEAR(found, expected, 1e-11 * std::abs(expected) + 1e-9) << one.text();
    EXPECT_EQ(test::StarProblem<float>(device, one).energy(), found) << one.text();
  }
}

TEST(StarGpu, EnergyOfParts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  EXPECT_GT(test::compare_energy_of_parts<float>(Backend::cuda), 20);
  EXPECT_GT(test::compare_energy_of_parts<double>(Backend::cuda), 20);
}

TEST(StarGpu, RickerSourcesEqualTheHosts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  auto const terms = test::ricker_terms();
  std::vector<evaluate::DeviceClock> const clock = {{0.1, 0.05, 2}};
  std::vector<double> expected = {1, 1, 1, 1, 1};
  auto out = test::to_device(std::span(expected), device);
  star::add_ricker<double>(host, terms, clock.data(), 0.5, 0.25, expected);
  auto const device_terms = test::to_device(std::span(terms), device);
  auto const device_clock = test::to_device(std::span(clock), device);
  star::add_ricker(device, device_terms.span(), device_clock.data(), 0.5, 0.25, out.span());
  auto const found = test::to_host(out.span(), device);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
}

}  // namespace
}  // namespace gridstride

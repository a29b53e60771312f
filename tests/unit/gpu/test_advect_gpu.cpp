#include <gtest/gtest.h>

#include "kernels/advect/advect.hpp"
#include "support/advect_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
void compare_advect_variants() {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : test::advect_cases()) {
    test::AdvectProblem<T> reference(host, one);
    auto const expected = reference.run("reference");
    bool const closed = one.periodic[0] && one.periodic[1] && one.periodic[2];
    for (auto const& row : advect::variants<T>()) {
      if (row.backend != Backend::cuda) continue;
      test::AdvectProblem<T> problem(device, one);
      auto const once = problem.run(row.name);
      EXPECT_LE(test::largest_deviation(expected, once), problem.tolerance())
          << row.name << " on " << one.text();
      if (closed && !one.in_place) {
        EXPECT_LE(test::lost_mass(problem, once), 1) << row.name << " on " << one.text();
      }
      test::AdvectProblem<T> again(device, one);
      EXPECT_EQ(once, again.run(row.name)) << row.name << " repeats on " << one.text();
      ++compared;
    }
    auto const imposed = test::AdvectProblem<T>(host, one).impose();
    auto const on_device = test::AdvectProblem<T>(device, one).impose();
    for (std::size_t i = 0; i < imposed.size(); ++i)
      ASSERT_TRUE(imposed[i] == on_device[i] ||
                  (imposed[i] != imposed[i] && on_device[i] != on_device[i]))
          << "impose_inflow on " << one.text() << " at " << i;
  }
  EXPECT_GE(compared, 16 * 3 * 8 * 2);
}

TEST(AdvectGpu, VariantsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_advect_variants<float>();
}

TEST(AdvectGpu, VariantsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_advect_variants<double>();
}

TEST(AdvectGpu, HasNoUnit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_no_unit<float>(stream);
  test::expect_no_unit<double>(stream);
}

TEST(AdvectGpu, LeavesWhatLiesBesideCuts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_cuts<float>(stream);
  test::expect_cuts<double>(stream);
}

TEST(AdvectGpu, AxesBeyondTwoToThe31) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t rows = (std::int64_t{1} << 31) + 5, width = 3, some = 8;
  constexpr std::size_t size = width * rows;
  if (stream.device().free_memory() < 2 * size * sizeof(float) + (std::size_t{1} << 30))
    GTEST_SKIP() << "the device has too little free memory";
  Buffer<float> in(stream, MemorySpace::device, size), out(stream, MemorySpace::device, size);
  zero_async(in.span(), stream);
  std::vector<float> bump(some * width);
  for (std::size_t i = 0; i < bump.size(); ++i) bump[i] = static_cast<float>(i % 7) + 1;
  auto const at = [](Buffer<float>& u, std::int64_t row) {
    return u.span().subspan(static_cast<std::size_t>(row * width), some * width);
  };
  constexpr std::int64_t places[] = {0, rows / 2, (std::int64_t{1} << 31) - some, rows - some};
  for (std::int64_t const row : places)
    copy_async(at(in, row), std::span<float const>(bump), stream);
  advect::AdvectionStep<float> step;
  step.grid = {.dims = 2, .points = {width, rows, 1}};
  step.in = in.data();
  step.out = out.data();
  step.factor = 0.25;
  step.velocity[0].constant = 0.5;
  step.velocity[1].constant = 1;
  for (auto const scheme : {advect::Scheme::upwind, advect::Scheme::weno5}) {
    step.scheme = scheme;
    auto const made_by = [&](char const* variant) {
      zero_async(out.span(), stream);
      advect::advect(stream, step, variant);
      std::vector<std::vector<float>> made;
      for (std::int64_t const row : places) made.push_back(test::to_host(at(out, row), stream));
      return made;
    };
    auto const naive = made_by("naive"), streaming = made_by("streaming");
    for (std::size_t p = 0; p < naive.size(); ++p)
      for (std::size_t i = 0; i < bump.size(); ++i)
        ASSERT_NEAR(naive[p][i], streaming[p][i], 1e-5)
            << test::name_of(scheme) << " from row " << places[p] << ", value " << i;
  }
}

TEST(AdvectGpu, WenoLimitsInAnyUnit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_no_ripples<float>(stream);
  test::expect_no_ripples<double>(stream);
}

}  // namespace
}  // namespace gridstride

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

TEST(AdvectGpu, WenoLimitsInAnyUnit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_no_ripples<float>(stream);
  test::expect_no_ripples<double>(stream);
}

}  // namespace
}  // namespace gridstride

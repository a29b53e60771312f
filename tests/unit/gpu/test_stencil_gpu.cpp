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
    for (auto const& row : stencil::variants<T>()) {
      if (row.backend != Backend::cuda) continue;
      test::StencilProblem<T> problem(device, one);
      auto const once = problem.run(row.name);
      EXPECT_LE(test::largest_difference(expected, once), problem.tolerance())
          << row.name << " on " << one.text();
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
  compare_variants<float>();
}

TEST(StencilGpu, VariantsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_variants<double>();
}

}  // namespace
}  // namespace gridstride

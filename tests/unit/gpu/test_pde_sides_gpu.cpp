#include <cmath>

#include "support/pde_sides_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(PdeSidesGpu, AllKindsAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const& text :
       {test::antiperiodic_pde(11), test::walled_pde(13),
        test::manufactured_pde("0.05*(laplace(#) + d2_dxdy(#))", 2, "rrnr", 9, "rk4"),
        test::manufactured_pde("div((0.02 + 0.01*#^2)*grad(#))", 3, "rdpprr", 6, "ssprk3"),
        test::separation("periodic", true), test::separation("{neumann: \"0.01*cos(t)\"}", true),
        test::separation("{dirichlet: \"0.5 + 0.01*t\"}", true)}) {
    auto const host = test::run_pde(text, Backend::cpu), gpu = test::run_pde(text, Backend::cuda);
    EXPECT_EQ(host.steps, gpu.steps) << text;
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        // Some thousand steps, each of which rounds values of about 1 a few times.
        ASSERT_NEAR(gpu.fields[f][i], host.fields[f][i], 1e-11) << text << " at " << i;
  }
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "support/pde_lasting_cases.hpp"
#include "unit/gpu/gpu.hpp"

/// Formulas of space that become arrays.
namespace gridstride {
namespace {

using test::run_pde;

/// The arithmetic of T, with a few hundred roundings of values of some ten in rates, for three
/// steps of 1e-6 with differences of up to 10^4: next to nothing but the roundings of the values.
TEST(PdeLastingGpu, RowsHaveTheSameBitsNearThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::mt19937 random(11);
  for (int n = 0; n < 12; ++n) {
    auto const one = test::random_lasting_case(random);
    auto const text = test::lasting_text(one, true);
    auto const points = run_pde(text + "kernels: {system: points}\n", Backend::cuda).fields;
    EXPECT_EQ(run_pde(text + "kernels: {system: interpreter}\n", Backend::cuda).fields, points)
        << text;
    EXPECT_EQ(run_pde(text, Backend::cuda).fields, points) << text;  // `auto`: march, planes
    auto const host = run_pde(text).fields;
    double const tolerance = one.precision == "float32" ? 1e-5 : 1e-13;
    for (std::size_t i = 0; i < host[0].size(); ++i)
      ASSERT_NEAR(points[0][i], host[0][i], tolerance) << text << i;
  }
}

/// Grids that are wide enough for all that threads may have, of no multiples; steps for long passes
/// and what is left over.
TEST(PdeLastingGpu, PassesHaveTheBitsOfSingleSteps) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* precision : {"float32", "float64"})
    for (char const* boundary :
         {"{x: periodic, y: periodic}", "{x: {neumann: 0.1}, y: {dirichlet: 1}}"}) {
      auto const text = fmt::format(
          "simulation: pde\nprecision: {}\ngrid: {{points: [1804, 907], upper: [9, 7]}}\n"
          "boundary: {}\nequations: {{u: \"div((1 + 0.5*sin(x)*cos(y))*grad(u))/1e4\"}}\n"
          "initial: {{u: \"sin(3*x)*cos(2*y)\"}}\ntime: {{scheme: euler, end: 0.23, step: 0.01}}\n",
          precision, boundary);
      auto const points = run_pde(text + "kernels: {system: points}\n", Backend::cuda).fields;
      EXPECT_TRUE(run_pde(text + "kernels: {system: march}\n", Backend::cuda).fields == points)
          << text;
    }
}

}  // namespace
}  // namespace gridstride

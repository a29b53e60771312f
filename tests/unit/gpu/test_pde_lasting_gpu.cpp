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

}  // namespace
}  // namespace gridstride

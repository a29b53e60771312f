#include <stdexcept>

#include "support/implicit_cases.hpp"

namespace gridstride {
namespace {

TEST(Implicit, FollowsItsFormulas) { test::check_implicit(Backend::cpu); }

TEST(Implicit, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  stencil::Diffusion<double> diffusion;
  diffusion.grid.points = {3, 1, 1};
  double step = 1, values[3] = {};
  stencil::Residual<double> residual = {.in = values, .out = values};
  EXPECT_THROW(stencil::find_residual(stream, diffusion, residual), std::invalid_argument);
  diffusion.step = &step;
  EXPECT_THROW(stencil::find_residual(stream, diffusion, residual), std::invalid_argument);
  residual.out = nullptr;
  EXPECT_THROW(stencil::find_residual(stream, diffusion, residual), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

#include <stdexcept>
#include <string>
#include <vector>

#include "support/implicit_cases.hpp"

namespace gridstride {
namespace {

TEST(Implicit, FollowsItsFormulas) { test::check_implicit(Backend::cpu); }

/// θ·dt·α/h² = −1/2 makes 0 of the diagonal.
TEST(Implicit, TellsWhichAxisHasNoSolution) {
  Stream stream(Device::open(Backend::cpu));
  double const step = 1;
  stencil::Diffusion<double> diffusion;
  diffusion.grid.dims = 2;
  diffusion.grid.points = {4, 5, 1};
  diffusion.grid.spacing = {2, 1, 1};
  diffusion.diffusivity = 1;
  diffusion.step = &step;
  double const zero[5] = {};
  for (auto& axis : diffusion.sides)
    axis = {{{SideKind::neumann, zero}, {SideKind::neumann, zero}}};
  stencil::AxisSystems<double> systems(stream, diffusion.grid, false);
  std::vector<double> x(20, 1);
  systems.solve(stream, diffusion, -0.5, nullptr, x.data(), x.data());
  std::string const fault = systems.fault(stream);
  EXPECT_TRUE(fault.starts_with("the equations along y: ")) << fault;
}

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

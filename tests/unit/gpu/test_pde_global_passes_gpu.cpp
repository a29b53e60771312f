#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "support/pde_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::run_pde;

/// A case of steps that look at values over the grid: they are made by passes and by stages.
struct GlobalCase {
  char const* equations;
  char const* scheme;
  char const* boundary;
  char const* points;
  int steps = 20;
};

/// Sides of each kind; values of fields, of differences, of each other, of the time and of x; that are
/// wider than what stages look at; rows of more than one tile, parts of several rows, grids narrower than
/// a strip and lower than what all stages reach.
constexpr GlobalCase cases[] = {
    {"{u: 0.001*laplace(u) - mean(u), v: u*min(v)}", "rk4", "{x: periodic, y: periodic}",
     "[130, 67]"},
    {"{u: 0.001*laplace(u) - mean(u), v: u*min(v)}", "euler", "{x: periodic, y: periodic}",
     "[257, 1100]"},
    {"{u: 0.001*laplace(u) - integral(u*v), v: u - max(v)/mean(1 + v^2)}", "ssprk3",
     "{x: {dirichlet: y}, y: {neumann: 0.1}}", "[67, 45]"},
    {"{u: \"-d_dx(u)*mean(u) + 0.1*sin(t)*integral(cos(9*t)*x*u)\", v: v - mean((v - mean(v))^2)}",
     "rk4", "{x: outflow, y: {robin: [1, x]}}", "[67, 45]"},
    {"{u: u - max(d_dx(u)^2 + d_dy(v)^2), v: 0.1*v/(1 + u^2) - integral(laplace(u))}", "ssprk2",
     "{x: wall, y: wall}", "[300, 131]"},
    {"{u: 0.001*laplace(u) - min(laplace(laplace(u)))*1e-6, v: u - mean(u)}", "ssprk2",
     "{x: antiperiodic, y: antiperiodic}", "[70, 33]"},
    {"{u: 0.001*laplace(u - 0.001*laplace(u)) - mean(u^3), v: \"-v*integral(t*y*u)\"}", "ssprk3",
     "{x: {dirichlet: 0}, y: periodic}", "[36, 700]"},
    {"{u: 0.001*laplace(u) - mean(u), v: u*max(u)}", "rk4", "{x: {neumann: 0}, y: {dirichlet: x}}",
     "[5, 6]"},
    {"{u: u - mean(u), v: mean(u)*v}", "euler", "{x: periodic, y: periodic}", "[40000, 9]", 3},
};

std::string text_of(GlobalCase const& one, char const* precision, char const* row) {
  return fmt::format(
      "simulation: pde\nprecision: {}\ngrid: {{points: {}}}\nboundary: {}\n"
      "equations: {}\ninitial: {{u: \"sin(3*x)*cos(2*y) + 0.3\", v: x*y + 0.1}}\n"
      "kernels: {{system: {}}}\n"
      "time: {{scheme: {}, step: 1e-7, end: {}e-7}}\noutput: {{every: {{time: {}e-7}}}}\n",
      precision, one.points, one.boundary, one.equations, row, one.scheme, one.steps,
      one.steps * 0.55);
}

TEST(PdeGlobalPassesGpu, HaveTheBitsOfStages) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* precision : {"float64", "float32"})
    for (auto const& one : cases) {
      auto const passes = run_pde(text_of(one, precision, "march"), Backend::cuda);
      auto const stages = run_pde(text_of(one, precision, "points"), Backend::cuda);
      EXPECT_EQ(passes.fields, stages.fields) << precision << ' ' << one.equations;
    }
}

TEST(PdeGlobalPassesGpu, AgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& one : cases) {
    auto const host = run_pde(text_of(one, "float64", "auto"));
    auto const device = run_pde(text_of(one, "float64", "march"), Backend::cuda);
    for (std::size_t f = 0; f < 2; ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        ASSERT_NEAR(device.fields[f][i], host.fields[f][i],
                    1e-12 * (1 + std::abs(host.fields[f][i])))
            << one.equations << ' ' << f << ' ' << i;
  }
}

TEST(PdeGlobalPassesGpu, BitsDoNotDependOnHowStepsAreQueued) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto one = cases[3];
  one.steps = 150;
  auto const text = text_of(one, "float64", "march");
  auto const once = run_pde(text, Backend::cuda).fields;
  for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{37}, std::int64_t{1} << 40})
    EXPECT_EQ(run_pde(text, Backend::cuda, slice).fields, once) << slice;
}

}  // namespace
}  // namespace gridstride

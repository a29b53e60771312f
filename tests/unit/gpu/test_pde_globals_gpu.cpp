#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/pde_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::run_pde;

/// Globals within each other, of time and of noise; random fields beyond sides; enough steps for
/// graphs.
std::string system_of(char const* precision, char const* boundary) {
  return fmt::format(
      "simulation: pde\nprecision: {}\ngrid: {{points: [67, 45]}}\nboundary: {}\n"
      "let: {{f: u - u^3}}\n"
      "equations:\n"
      "  u: 0.001*laplace(u + normal(3)/99) + f - mean(f) + sin(t)*integral((u - mean(u))^2) + "
      "0.1*noise(5)\n"
      "  v: uniform(2) - max(v)*v + min(d_dx(u)) + mean(noise(6))\n"
      "initial: {{u: \"sin(3*x)*cos(2*y)\", v: x*y}}\n"
      "time: {{scheme: euler, step: 0.001, end: 0.3}}\noutput: {{every: {{time: 0.11}}}}\n",
      precision, boundary);
}

TEST(PdeGlobalsGpu, AgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // 300 steps with a few roundings of values of about 1 each, which nothing makes grow by more than
  // e^0.3 or so.
  for (auto const& [precision, tolerance] : {std::pair("float64", 1e-12), {"float32", 5e-4}})
    for (char const* boundary : {"{x: periodic, y: periodic}", "{x: periodic, y: {neumann: 0}}",
                                 "{x: {dirichlet: 0}, y: outflow}"}) {
      auto const text = system_of(precision, boundary);
      auto const host = run_pde(text), device = run_pde(text, Backend::cuda);
      for (std::size_t f = 0; f < 2; ++f)
        for (std::size_t i = 0; i < host.fields[f].size(); ++i)
          ASSERT_NEAR(device.fields[f][i], host.fields[f][i], tolerance)
              << precision << ' ' << boundary << ' ' << f << ' ' << i;
    }
}

TEST(PdeGlobalsGpu, BitsDependNeitherOnTheRunNorOnHowStepsAreQueued) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* precision : {"float32", "float64"}) {
    auto const text = system_of(precision, "{x: periodic, y: {neumann: 0}}");
    auto const once = run_pde(text, Backend::cuda).fields;
    for (std::int64_t const slice : {std::int64_t{1}, std::int64_t{37}, std::int64_t{1} << 40})
      EXPECT_EQ(run_pde(text, Backend::cuda, slice).fields, once) << slice;
  }
}

}  // namespace
}  // namespace gridstride

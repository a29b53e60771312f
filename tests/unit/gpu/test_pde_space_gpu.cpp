#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/pde_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Waves in shallow water with a dye, by all differences: as on the host.
TEST(PdeSpaceGpu, AgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const precision : {"float64", "float32"})
    for (std::string const space :
         {"{order: 4}", "{order: 6}", "{convection: upwind}", "{convection: weno5, order: 6}"}) {
      if (precision == "float32" && space == "{order: 4}") continue;  // as order 6
      auto const text = fmt::format(
          "simulation: pde\nprecision: {}\ngrid: {{points: [70, 33]}}\n"
          "boundary: {{x: periodic, y: outflow}}\nfields: {{q: vector}}\n"
          "equations:\n  h: -div(q)\n"
          "  q: div(0.001*h*grad(q/h) - outer(q, q)/h - h^2/2*identity)\n"
          "  c: -advect(q/h, c)\n"
          "initial: {{h: \"if(abs(x - 0.5) < 0.2, 1.5, 1)\", q: {{x: 0.1, y: 0}}, c: y}}\n"
          "space: {}\ntime: {{scheme: ssprk3, end: 0.1, step: 1e-3}}\n",
          precision, space);
      auto const host = test::run_pde(text, Backend::cpu), gpu = test::run_pde(text, Backend::cuda);
      // Rounding of a hundred steps, where a step in h may grow it a few times.
      double const tolerance = precision == "float64" ? 1e-11 : 5e-3;
      EXPECT_EQ(host.steps, gpu.steps);
      for (std::size_t f = 0; f < host.fields.size(); ++f)
        for (std::size_t i = 0; i < host.fields[f].size(); ++i)
          ASSERT_NEAR(gpu.fields[f][i], host.fields[f][i], tolerance)
              << precision << ' ' << space << ' ' << f << ' ' << i;
    }
}

}  // namespace
}  // namespace gridstride

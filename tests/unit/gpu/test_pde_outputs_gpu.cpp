#include <gtest/gtest.h>

#include <cmath>

#include "support/pde_outputs.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Derived fields and formulas of diagnostics have the host's values but for rounding: some hundred
/// operations on values of about 10.
TEST(PdeOutputsGpu, AreThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [precision, tolerance] : {std::pair{"float32", 1e-3}, {"float64", 1e-11}}) {
    auto const yaml = fmt::format(
        "simulation: pde\nprecision: {}\nfields: {{q: vector}}\ngrid: {{points: [33, 29]}}\n"
        "boundary: {{u: {{x: {{neumann: t}}}}, q: {{x: {{neumann: {{x: t, y: 0}}}}}}, y: "
        "periodic}}\n"
        "let: {{f: u^2}}\nequations: {{u: 0.1*laplace(u), q: \"0.1*laplace(q) - advect(q, q)\"}}\n"
        "initial: {{u: sin(2*pi*y) + x, q: {{x: cos(2*pi*y), y: x}}}}\n"
        "time: {{scheme: rk4, end: 0.005, step: 5e-4}}\n"
        "output: {{derived: {{speed: norm(q) + t, slope: grad(u), turn: curl(q)}}}}\n"
        "diagnostics: [{{integral: f}}, {{maximum: norm2(grad(u))}}]\n",
        precision);
    test::Ended host(yaml), gpu(yaml, Backend::cuda);
    for (char const* name : {"u", "speed", "slope", "turn"}) {
      auto const expected = host.values(name), found = gpu.values(name);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance) << name << ' ' << i;
    }
    for (char const* name : {"integral(f)", "maximum(norm2(grad(u)))"})
      EXPECT_NEAR(gpu.measured(name), host.measured(name), 10 * tolerance) << name;
  }
}

}  // namespace
}  // namespace gridstride

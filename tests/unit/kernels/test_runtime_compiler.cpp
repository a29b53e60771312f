#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "expression/source.hpp"
#include "expression/transform.hpp"
#include "kernels/evaluate/rows.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/support/runtime_files.hpp"

namespace gridstride {
namespace {

using expression::Expression;

/// The cubin of a source; none where NVRTC is missing.
std::optional<std::string> cubin_of(RuntimeSource const& source, int compute_capability) {
  try {
    return compile_cubin(source, compute_capability);
  } catch (RuntimeCompilerMissing const&) {
    return std::nullopt;
  }
}

#define GRIDSTRIDE_SKIP_WITHOUT_NVRTC()                                \
  try {                                                                \
    compile_cubin({.name = "nothing", .text = "", .options = {}}, 90); \
  } catch (RuntimeCompilerMissing const& missing) {                    \
    GTEST_SKIP() << missing.what();                                    \
  }

TEST(RuntimeFiles, HoldWhatTheyInclude) {
  std::set<std::string_view> paths;
  for (RuntimeFile const& file : runtime_files()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path << " twice";
    EXPECT_FALSE(file.text.empty()) << file.path;
  }
  for (std::string_view const path :
       {"core/host_device.hpp", "expression/operations.hpp", "kernels/evaluate/compiled.cuh"})
    EXPECT_TRUE(paths.contains(path)) << path;
}

TEST(RuntimeCompiler, CompilesForEachArchitecture) {
  GRIDSTRIDE_SKIP_WITHOUT_NVRTC();
  RuntimeSource const source = {
      .name = "fill",
      .text =
          "#include \"core/host_device.hpp\"\n"
          "extern \"C\" __global__ void fill(double* out, double value) { *out = value; }\n",
      .options = {}};
  std::set<std::string> cubins;
  for (int const capability : {75, 80, 90, 120})
    cubins.insert(cubin_of(source, capability).value_or("none"));
  EXPECT_EQ(cubins.size(), 4u);
  for (std::string const& cubin : cubins) EXPECT_EQ(cubin.substr(1, 3), "ELF");
  EXPECT_EQ(cubin_of(source, 90), cubin_of(source, 90)) << "the same source, the same bits";
}

TEST(RuntimeCompiler, ShowsWhatTheCompilerSays) {
  GRIDSTRIDE_SKIP_WITHOUT_NVRTC();
  try {
    compile_cubin({.name = "broken", .text = "\nthis is no code", .options = {}}, 90);
    FAIL() << "compiled";
  } catch (Error const& error) {
    std::string const message = error.what();
    EXPECT_NE(message.find("NVRTC refused broken"), std::string::npos) << message;
    EXPECT_NE(message.find("broken(2): error"), std::string::npos) << message;
  }
  EXPECT_THROW(compile_cubin({.name = "standard", .text = "#include <vector>", .options = {}}, 90),
               Error);
}

TEST(RuntimeCompiler, IsForGpusOnly) {
  EXPECT_THROW(compile(Device::open(Backend::cpu), {}), std::invalid_argument);
}

/// A formula of every operation.
Expression everything(int variables) {
  Expression sum(1.0);
  for (int i = 2; i < expression::operation_count; ++i)
    sum = sum + apply(static_cast<expression::Operation>(i), Expression::variable(i % variables),
                      Expression::variable((i + 1) % variables), Expression(0.3));
  return sum;
}

TEST(RuntimeCompiler, TakesEveryOperation) {
  GRIDSTRIDE_SKIP_WITHOUT_NVRTC();
  EXPECT_NO_THROW(compile_cubin(evaluate::source_of(everything(4)), 75));
  quadrature::Integrand const integrand{everything(5), 3, 2};
  std::string const kernel =
      "extern \"C\" __global__ void at(Real const* v, Real* out) { *out = integrand(v, v + 3); }\n";
  for (auto source : {quadrature::source_of<float>(integrand, "core/host_device.hpp"),
                      quadrature::source_of<double>(integrand, "core/host_device.hpp")}) {
    source.text += kernel;
    EXPECT_NO_THROW(compile_cubin(source, 90));
  }
}

TEST(QuadratureIntegrand, StandsBeforeTheFile) {
  std::array const definitions = {std::string("BLOCK 256"), std::string("RULE 3")};
  quadrature::Integrand const integrand{Expression::parse("x*y + 0.5"), 1, 1};
  EXPECT_EQ(quadrature::source_of<float>(integrand, "a/b.cuh", definitions).text,
            "#include \"expression/operations.hpp\"\n"
            "#define BLOCK 256\n"
            "#define RULE 3\n"
            "using Real = float;\n"
            "constexpr int dimensions = 1, parameters = 1;\n"
            "__device__ __forceinline__ Real integrand(Real const* v, Real const* p) {\n"
            "Real const t0 = p[0] * v[0];\n"
            "Real const t1 = 0x1p-1f + t0;\n"
            "return t1;\n"
            "}\n"
            "#include \"a/b.cuh\"\n");
}

TEST(QuadratureIntegrand, ChecksItsVariables) {
  Expression const formula = Expression::parse("x + z");
  EXPECT_NO_THROW(quadrature::check({formula, 3, 0}));
  EXPECT_NO_THROW(quadrature::check({formula, 1, 2}));
  EXPECT_THROW(quadrature::check({formula, 1, 1}), std::invalid_argument);
  EXPECT_THROW(quadrature::check({formula, 0, 4}), std::invalid_argument);
  EXPECT_THROW(quadrature::check({formula, quadrature::max_dimensions + 1, 0}),
               std::invalid_argument);
  EXPECT_THROW(quadrature::check({formula, 3, quadrature::max_parameters + 1}),
               std::invalid_argument);
  EXPECT_THROW(quadrature::check({formula, 3, -1}), std::invalid_argument);
  EXPECT_THROW(quadrature::HostIntegrand({formula, 1, 0}), std::invalid_argument);
}

TEST(QuadratureIntegrand, IsEvaluatedOnTheHost) {
  quadrature::HostIntegrand const integrand({Expression::parse("x*1 + 10*y + 100*z"), 2, 1});
  EXPECT_EQ(integrand.dimensions(), 2);
  EXPECT_EQ(integrand.parameters(), 1);
  std::array const place = {1.0, 2.0};
  std::array const given = {3.0};
  EXPECT_EQ(integrand(place.data(), given.data()), 321);
  EXPECT_EQ(quadrature::HostIntegrand({Expression::parse("x"), 1, 0})(place.data()), 1);
  std::vector<double> x(1000), y(1000), k(1000, 3), result(1000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i);
    y[i] = 0.5 * static_cast<double>(i);
  }
  std::array<double const*, 3> const variables = {x.data(), y.data(), k.data()};
  integrand.evaluate(variables, 1000, result.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::array const point = {x[i], y[i]};
    ASSERT_EQ(result[i], integrand(point.data(), given.data())) << i;
  }
}

}  // namespace
}  // namespace gridstride

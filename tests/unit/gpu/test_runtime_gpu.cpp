#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/graph.hpp"
#include "expression/expression.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "tests/unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

RuntimeSource const source = {.name = "axpy",
                              .text = R"(
struct Shift { double by; char unused; };
extern "C" __global__ void axpy(double* y, int size, float a, double const* x, Shift shift) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) y[i] += a * x[i] + shift.by;
}
extern "C" __global__ void through_shared(double* y) {
  extern __shared__ double values[];
  values[(threadIdx.x + 1) % blockDim.x * 64] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = values[threadIdx.x * 64];
}
extern "C" __global__ void place(int* out) {
  int const block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int const threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = block * threads + thread;
}
)",
                              .options = {"--fmad=true"}};

struct Shift {
  double by;
  char unused;
};

class RuntimeGpu : public testing::Test {
 protected:
  void SetUp() override {
    GRIDSTRIDE_SKIP_WITHOUT_GPU();
    stream_.emplace(Device::open(Backend::cuda));
    try {
      module_ = compile(stream_->device(), source);
    } catch (RuntimeCompilerMissing const& missing) {
      GTEST_SKIP() << missing.what();
    }
  }

  std::optional<Stream> stream_;
  std::shared_ptr<RuntimeModule const> module_;
};

TEST_F(RuntimeGpu, PassesArgumentsByValue) {
  std::vector<double> const x = {1, 2, 3, 4, 5};
  auto const in = test::to_device(std::span(x), *stream_);
  auto out = test::to_device(std::span(x), *stream_);
  module_->launch(*stream_, "axpy", {2, 3}, out.data(), 5, 10.0F, in.data(), Shift{0.5, 'x'});
  EXPECT_EQ(test::to_host(out.span(), *stream_),
            (std::vector<double>{11.5, 22.5, 33.5, 44.5, 55.5}));
}

TEST_F(RuntimeGpu, ChecksTheArgumentsOfAKernel) {
  double* const none = nullptr;
  double const* const no_input = nullptr;
  Shift const shift{0, 'x'};
  EXPECT_THROW(module_->launch(*stream_, "axpy", {1, 32}, none, 0, 1.0F, no_input),
               std::invalid_argument);
  EXPECT_THROW(module_->launch(*stream_, "axpy", {1, 32}, none, 0, 1.0, no_input, shift),
               std::invalid_argument)
      << "a double for a float";
  EXPECT_THROW(module_->launch(*stream_, "axpy", {1, 32}, none, 0, 1.0F, no_input, shift, 1),
               std::invalid_argument);
  EXPECT_THROW(module_->launch(*stream_, "no_such_kernel", {1, 32}), CudaError);
  EXPECT_NO_THROW(module_->launch(*stream_, "axpy", {1, 32}, none, 0, 1.0F, no_input, shift));
  EXPECT_THROW(module_->launch(*stream_, "axpy", {1, 4096}, none, 0, 1.0F, no_input, shift),
               CudaError);
  EXPECT_NO_THROW(stream_->synchronize());
}

TEST_F(RuntimeGpu, UsesLargeSharedMemoryAndAllExtents) {
  std::vector<double> y(128);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i);
  auto values = test::to_device(std::span(y), *stream_);
  module_->launch(*stream_, "through_shared", {1, 128, 128 * 64 * sizeof(double)}, values.data());
  auto const turned = test::to_host(values.span(), *stream_);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(turned[i], y[(i + 127) % 128]);

  std::vector<int> const empty(2 * 3 * 4 * 5 * 2 * 3, -1);
  auto out = test::to_device(std::span(empty), *stream_);
  module_->launch(*stream_, "place", {{2, 3, 4}, {5, 2, 3}}, out.data());
  auto const places = test::to_host(out.span(), *stream_);
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], static_cast<int>(i));
}

TEST_F(RuntimeGpu, IsCapturedFromTheFirstLaunchOn) {
  RuntimeSource fresh = source;
  fresh.text += "// another module, of which nothing was launched yet\n";
  auto const module = compile(stream_->device(), fresh);
  EXPECT_NE(module, module_);
  EXPECT_EQ(compile(stream_->device(), fresh), module) << "compiled once";
  std::vector<double> const x = {1, 2, 3};
  auto const in = test::to_device(std::span(x), *stream_);
  auto out = test::to_device(std::span(x), *stream_);
  Graph const graph = Graph::capture(*stream_, [&] {
    module->launch(*stream_, "axpy", {1, 32}, out.data(), 3, 1.0F, in.data(), Shift{0, 'x'});
  });
  for (int i = 0; i < 3; ++i) graph.launch(*stream_);
  EXPECT_EQ(test::to_host(out.span(), *stream_), (std::vector<double>{4, 8, 12}));
}

TEST_F(RuntimeGpu, RefusesWhatIsNoCubin) {
  EXPECT_THROW(
      RuntimeModule(stream_->device(), "this is no cubin").launch(*stream_, "axpy", {1, 32}),
      CudaError);
  EXPECT_NO_THROW(stream_->synchronize());
}

/// How far the device's value may lie from the host's, in ulp of float64: CUDA's and glibc's
/// documented largest errors together.
struct Integrand {
  std::string_view formula;
  int ulps;
};

constexpr Integrand integrands[] = {
    {"x*y - 0.1*k", 0},
    {"x/y", 0},
    {"mod(7*x, y)", 0},
    {"if(x < y, x, k)", 0},
    {"sqrt(abs(x))", 0},
    {"floor(3*x) + ceil(y)*sign(x)", 0},
    {"min(x, y) + step(x)", 0},
    {"x^2", 0},
    {"max(x, k)", 0},
    {"exp(x)", 2},
    {"log(abs(x))", 2},
    {"sin(x)", 3},
    {"erfc(x)", 10},
    {"abs(x)^y", 3},
    {"x^5", 5},
    {"y^-3", 5},
};

template <class T>
std::vector<T> on_device(Stream& stream, quadrature::Integrand const& integrand,
                         std::span<T const> points) {
  auto program = quadrature::source_of<T>(integrand, "core/host_device.hpp");
  program.text +=
      "extern \"C\" __global__ void at(Real const* points, Real k, Real* out, int size) {\n"
      "  int const i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < size) out[i] = integrand(points + 2 * i, &k);\n"
      "}\n";
  program.options = {"--fmad=false"};
  auto const module = compile(stream.device(), program);
  auto const in = test::to_device(points, stream);
  int const size = static_cast<int>(points.size() / 2);
  Buffer<T> out(stream, MemorySpace::device, static_cast<std::size_t>(size));
  module->launch(stream, "at", {static_cast<unsigned>(size + 127) / 128, 128}, in.data(), T(0.75),
                 out.data(), size);
  return test::to_host(out.span(), stream);
}

TEST_F(RuntimeGpu, IntegrandsAgreeWithTheHost) {
  std::vector<double> points;
  for (int i = 0; i < 1000; ++i) {
    points.push_back(-2 + 0.0041 * i);
    points.push_back(0.25 + 0.0017 * i);
  }
  std::vector<float> const rounded(points.begin(), points.end());
  for (auto const& [text, ulps] : integrands) {
    constexpr expression::Variable names[] = {{"x", 0}, {"y", 1}, {"k", 2}};
    quadrature::Integrand const integrand{expression::Expression::parse(text, {}, names), 2, 1};
    quadrature::HostIntegrand const host(integrand);
    auto const wide = on_device<double>(*stream_, integrand, points);
    auto const narrow = on_device<float>(*stream_, integrand, rounded);
    double const k = 0.75;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      double const value = host(&points[2 * i], &k);
      double const ulp = std::nextafter(std::abs(value), INFINITY) - std::abs(value);
      ASSERT_LE(std::abs(wide[i] - value), ulps * ulp) << text << " at point " << i;
      // Each operation in float32 errs by a few of its own ulp; what cancels is of size 10.
      double const at[] = {rounded[2 * i], rounded[2 * i + 1]};
      double const near = host(at, &k);
      bool const jumps = text.find("floor") != text.npos || text.find("mod") != text.npos;
      if (jumps) continue;
      ASSERT_NEAR(narrow[i], near, 16 * 0x1p-23 * (10 + std::abs(near)))
          << text << " at point " << i;
    }
  }
}

}  // namespace
}  // namespace gridstride

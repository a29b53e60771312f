#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "support/formulas_cases.hpp"
#include "tests/unit/gpu/gpu.hpp"

namespace gridstride::evaluate {
namespace {

using expression::Expression;
using expression::Operation;

/// One formula and how far two right implementations may lie apart.
///
/// Each library documents a largest error per function in float64: CUDA in the appendix on
/// mathematical functions of its programming guide, in ulp from the rightly rounded result; glibc
/// in "Known Maximum Errors in Math Functions" for x86-64, likewise. Two results then differ by at
/// most the sum. The operations that IEEE 754 rounds, and those that choose or compare, have 0.
/// x runs over [-2, 2] and y over [-3, 3]; formulas map these to where the function is defined.
struct Case {
  std::string_view formula;
  int cuda_ulp, glibc_ulp;
};

constexpr Case cases[] = {
    {"0.1", 0, 0},
    {"x", 0, 0},
    {"y", 0, 0},
    {"z", 0, 0},
    {"t", 0, 0},
    {"-x", 0, 0},
    {"x + y", 0, 0},
    {"x - y", 0, 0},
    {"x*y", 0, 0},
    {"x*y + z", 0, 0},  // two roundings: the operations must not be fused
    {"x/y", 0, 0},
    {"x^2", 0, 0},
    {"x^3", 2, 1},
    {"abs(x)^y", 2, 1},
    {"x < y", 0, 0},
    {"x <= y", 0, 0},
    {"x > y", 0, 0},
    {"x >= y", 0, 0},
    {"floor(x) == floor(y)", 0, 0},
    {"floor(x) != floor(y)", 0, 0},
    {"if(x < y, x, z)", 0, 0},
    {"exp(10*x)", 1, 1},
    {"log(abs(x))", 1, 1},
    {"sin(10*x)", 2, 1},
    {"cos(10*x)", 2, 1},
    {"tan(x)", 2, 1},
    {"asin(x/2)", 2, 1},
    {"acos(x/2)", 2, 1},
    {"atan(5*x)", 2, 1},
    {"sinh(5*x)", 2, 2},
    {"cosh(5*x)", 1, 2},
    {"tanh(x)", 1, 2},
    {"sqrt(abs(x))", 0, 0},
    {"cbrt(x)", 1, 4},
    {"abs(x)", 0, 0},
    {"sign(floor(x))", 0, 0},
    {"min(x, y, z)", 0, 0},
    {"max(x, y, z)", 0, 0},
    {"floor(3*x)", 0, 0},
    {"ceil(3*x)", 0, 0},
    {"mod(x, 0.3)", 0, 0},
    {"mod(7*x, y)", 0, 0},
    {"erf(x)", 2, 1},
    {"erfc(3*x)", 5, 5},
    {"atan2(y, x)", 2, 1},
    {"step(x)", 0, 0},
    {"sqrt(x)", 0, 0},     // NaN where x < 0
    {"1/floor(x)", 0, 0},  // infinite where floor(x) is 0
};

/// The distance of two neighbours of the size of `value`; the next binade, where it is near.
double ulp(double value) {
  double const size = std::abs(value) * (1 + 16 * std::numeric_limits<double>::epsilon());
  return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
}

/// Results in float32 are rounded from values that differ far less than their own spacing, so they
/// are equal or neighbours; equal where the operation is exact.
template <class T>
bool close(T actual, T expected, int ulps) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || ulps == 0) return actual == expected;
  if constexpr (std::is_same_v<T, float>)
    return actual == expected || std::nextafter(expected, actual) == actual;
  else
    return std::abs(actual - expected) <= ulps * ulp(expected);
}

Grid plane(std::int64_t nx, std::int64_t ny, std::int64_t nz = 1) {
  return {.dims = 3,
          .points = {nx, ny, nz},
          .origin = {-2, -3, 0.625},
          .spacing = {4.0 / static_cast<double>(std::max<std::int64_t>(nx - 1, 1)),
                      6.0 / static_cast<double>(std::max<std::int64_t>(ny - 1, 1)), 0.3}};
}

template <class T>
EvaluateFunction<T>* reference() {
  for (auto const& variant : variants<T>())
    if (variant.name == "reference") return variant.run;
  return nullptr;
}

template <class T>
class EvaluateGpu : public testing::Test {
 protected:
  void SetUp() override {
    GRIDSTRIDE_SKIP_WITHOUT_GPU();
    gpu_.emplace(Device::open(Backend::cuda));
  }

  Stream& gpu() { return *gpu_; }

  std::vector<T> on_gpu(EvaluateFunction<T>* variant, Expression const& formula, Grid const& grid) {
    Program const program(gpu(), formula);
    auto const clock = test::to_device(std::span(&clock_, 1), gpu());
    // One value more than the grid: nothing may be written behind it.
    std::vector<T> const before(static_cast<std::size_t>(grid.size()) + 1, T(-77));
    auto result = test::to_device(std::span(before), gpu());
    variant(gpu(), {.program = &program,
                    .grid = grid,
                    .clock = clock.data(),
                    .fraction = 0.5,
                    .result = result.data()});
    std::vector<T> host = test::to_host(result.span(), gpu());
    EXPECT_EQ(host.back(), T(-77));
    host.pop_back();
    return host;
  }

  std::vector<T> on_host(Expression const& formula, Grid const& grid) {
    Program const program(cpu_, formula);
    std::vector<T> result(static_cast<std::size_t>(grid.size()));
    reference<T>()(cpu_, {.program = &program,
                          .grid = grid,
                          .clock = &clock_,
                          .fraction = 0.5,
                          .result = result.data()});
    return result;
  }

  /// Compares every CUDA variant with the reference.
  void compare(Expression const& formula, Grid const& grid, int ulps) {
    std::vector<T> const expected = on_host(formula, grid);
    int count = 0;
    for (auto const& variant : variants<T>()) {
      if (variant.backend != Backend::cuda) continue;
      ++count;
      std::vector<T> const actual = on_gpu(variant.run, formula, grid);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_TRUE(close(actual[k], expected[k], ulps))
            << variant.name << ", " << formula.to_string() << ", point " << k << " of "
            << format_points(grid) << ": " << testing::PrintToString(actual[k]) << " for "
            << testing::PrintToString(expected[k]);
    }
    EXPECT_GT(count, 0);
  }

  DeviceClock const clock_{.origin = 0.1, .step_size = 0.3, .steps = 7};
  Stream cpu_{Device::open(Backend::cpu)};
  std::optional<Stream> gpu_;
};

using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(EvaluateGpu, Precisions);

TYPED_TEST(EvaluateGpu, EveryOperationAgreesWithTheReference) {
  for (Case const& row : cases)
    this->compare(Expression::parse(row.formula), plane(127, 61, 3), row.cuda_ulp + row.glibc_ulp);
}

TYPED_TEST(EvaluateGpu, CompiledHasTheBitsOfTheInterpreter) {
  auto const bits = [&](std::string_view variant, Expression const& formula) {
    auto const values =
        this->on_gpu(find_variant("evaluate", variants<TypeParam>(), Backend::cuda, variant).run,
                     formula, plane(301, 77, 2));
    std::vector<unsigned char> bytes(values.size() * sizeof(TypeParam));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  for (Case const& row : cases) {
    Expression const formula = Expression::parse(row.formula);
    EXPECT_EQ(bits("compiled", formula), bits("interpreter", formula)) << row.formula;
  }
}

TYPED_TEST(EvaluateGpu, FormulasOfTimeAreCompiled) {
  Expression const still = Expression::parse("x*y"), moving = Expression::parse("x*t");
  EXPECT_EQ(Program(this->gpu(), still).variant(), "interpreter");
  EXPECT_EQ(Program(this->gpu(), moving, "interpreter").variant(), "interpreter");
  Program const program(this->gpu(), moving);
  if (program.variant() == "compiled") {
    EXPECT_EQ(program.fallback(), "");
    EXPECT_EQ(Program(this->gpu(), still, "compiled").variant(), "compiled");
  } else {  // what is asked for by name does not give way
    EXPECT_NE(program.fallback().find("libnvrtc"), std::string::npos) << program.fallback();
    EXPECT_THROW(Program(this->gpu(), still, "compiled"), RuntimeCompilerMissing);
  }
  EXPECT_EQ(Program(this->cpu_, moving).variant(), "separated");
}

TYPED_TEST(EvaluateGpu, AwkwardSizesAgreeWithTheReference) {
  Expression const formula = Expression::parse("x*y + z/t - mod(x, 0.7)");
  for (std::int64_t const size : {0, 1, 31, 32, 33, 127, 128, 129, 1023, 65'537}) {
    this->compare(formula, plane(size, 1), 0);
    this->compare(formula, plane(1, size), 0);
    this->compare(formula, plane(1, 1, size), 0);
  }
  this->compare(formula, plane(1, 37, 41), 0);
  this->compare(formula, plane(37, 1, 41), 0);
  this->compare(formula, plane(2'000, 1'501), 0);  // more points than threads
}

TYPED_TEST(EvaluateGpu, ArraysAreReadAtThePoint) {
  constexpr expression::Variable names[] = {{"x", 0}, {"y", 1}, {"z", 2},
                                            {"t", 3}, {"u", 4}, {"v", 5}};
  Grid const grid = plane(1'301, 77, 2);
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<float> u(size);
  std::vector<double> v(size);
  for (std::size_t i = 0; i < size; ++i) {
    u[i] = 0.25F * static_cast<float>(i);
    v[i] = 1e-9 * static_cast<double>(i) - 3;
  }
  auto const on_device = test::to_device(std::span<float const>(u), this->gpu());
  auto const other = test::to_device(std::span<double const>(v), this->gpu());
  ArrayView const host[] = {{u.data(), Precision::float32}, {v.data(), Precision::float64}};
  ArrayView const device[] = {{on_device.data(), Precision::float32},
                              {other.data(), Precision::float64}};
  std::string deep = "u*v";
  for (int i = 0; i < 20; ++i) deep = "x - (" + deep + ")";
  for (std::string const& text : {std::string("u*v + x"), std::string("v - y*(u - x*(v - t))"),
                                  std::string("u - (y - (v - (x - (u - (v - (y - (x - (u - "
                                              "z))))))))"),
                                  deep}) {
    Expression const formula = Expression::parse(text, {}, names);
    std::vector<TypeParam> expected(size);
    evaluate(this->cpu_, Program(this->cpu_, formula, "reference"), grid, &this->clock_, 0,
             std::span(expected), host);
    auto const clock = test::to_device(std::span(&this->clock_, 1), this->gpu());
    for (std::string_view const variant : {"interpreter", "compiled"}) {
      Program const program(this->gpu(), formula, variant);
      Buffer<TypeParam> result(this->gpu(), MemorySpace::device, size);
      evaluate(this->gpu(), program, grid, clock.data(), 0, result.span(), device);
      EXPECT_EQ(test::to_host(result.span(), this->gpu()), expected) << variant << ' ' << text;
    }
  }
}

TYPED_TEST(EvaluateGpu, FormulasTogetherAreAsOneAfterTheOther) {
  for (auto const variant : {"interpreter", "compiled"})
    test::expect_formulas_together<TypeParam>(this->gpu(), variant);
  Formulas const chosen(this->gpu(), test::five_formulas(), 2);
  EXPECT_EQ(chosen.variant() == "compiled", chosen.fallback().empty()) << chosen.fallback();
}

/// Functions, too: the same code, with and without the interpreter.
TYPED_TEST(EvaluateGpu, FormulasTogetherHaveTheBitsOfTheInterpreter) {
  Grid const grid = plane(733, 91);
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<Formula> const formulas = {{Expression::parse("sin(3*x) + exp(y)"), {}},
                                         {test::formula_of_three("p^3 + cbrt(x)"), {0}},
                                         {test::formula_of_three("mod(p*q, 0.7)"), {0, 1}}};
  std::vector<std::vector<TypeParam>> found;
  for (auto const variant : {"interpreter", "compiled"}) {
    Formulas const together(this->gpu(), formulas, 0, variant);
    Buffer<TypeParam> values(this->gpu(), MemorySpace::device, 3 * size);
    TypeParam* const results[] = {values.data(), values.data() + size, values.data() + 2 * size};
    evaluate<TypeParam>(this->gpu(), together, grid, results, {});
    found.push_back(test::to_host(values.span(), this->gpu()));
  }
  EXPECT_EQ(std::memcmp(found[0].data(), found[1].data(), 3 * size * sizeof(TypeParam)), 0);
}

TYPED_TEST(EvaluateGpu, EveryStackCapacityWorks) {
  for (int const depth : {1, 2, 7, 8, 9, 15, 16, 17, 63, 64}) {
    std::string text = "x*y";
    if (depth == 1) text = "x";
    for (int i = 2; i < depth; ++i) text = "x - (" + text + ")";
    Expression const formula = Expression::parse(text);
    ASSERT_EQ(formula.stack_depth(), depth);
    this->compare(formula, plane(129, 3), 0);
  }
}

TYPED_TEST(EvaluateGpu, TheClockAdvancesOnTheDevice) {
  DeviceClock const start{.origin = 1, .step_size = 0.25, .steps = 4};
  auto clock = test::to_device(std::span(&start, 1), this->gpu());
  Program const program(this->gpu(), Expression::parse("t"));
  Buffer<TypeParam> result(this->gpu(), MemorySpace::device, 1);
  advance_clock(this->gpu(), clock.data());
  advance_clock(this->gpu(), clock.data());
  evaluate(this->gpu(), program, {}, clock.data(), 0.5, result.span());
  advance_clock(this->gpu(), clock.data());
  EXPECT_EQ(test::to_host(result.span(), this->gpu()).at(0), TypeParam(2.625));
  EXPECT_EQ(test::to_host(clock.span(), this->gpu()).at(0).steps, 7);
}

TYPED_TEST(EvaluateGpu, EveryVariantReadsTheClockInAGraph) {
  for (std::string_view const variant : {"interpreter", "compiled"}) {
    DeviceClock const start{.origin = 1, .step_size = 0.25, .steps = 0};
    auto clock = test::to_device(std::span(&start, 1), this->gpu());
    Program const program(this->gpu(), Expression::parse("10*t"), variant);
    Buffer<TypeParam> result(this->gpu(), MemorySpace::device, 1);
    Graph const graph = Graph::capture(this->gpu(), [&] {
      advance_clock(this->gpu(), clock.data());
      evaluate(this->gpu(), program, {}, clock.data(), 0, result.span());
    });
    for (double const expected : {12.5, 15.0, 17.5}) {
      graph.launch(this->gpu());
      EXPECT_EQ(test::to_host(result.span(), this->gpu()).at(0), TypeParam(expected)) << variant;
    }
  }
}

TYPED_TEST(EvaluateGpu, SetsTheClock) {
  DeviceClock const start{1, 2, 3}, set{0.5, 0.25, 7};
  auto clock = test::to_device(std::span(&start, 1), this->gpu());
  set_clock(this->gpu(), clock.data(), set);
  EXPECT_EQ(test::to_host(clock.span(), this->gpu()).at(0).time(0), set.time(0));
}

TYPED_TEST(EvaluateGpu, TheSameInputGivesTheSameBits) {
  Expression const formula = Expression::parse("exp(sin(x)*cos(y))^z + erfc(x)");
  for (auto const& variant : variants<TypeParam>()) {
    if (variant.backend != Backend::cuda) continue;
    EXPECT_EQ(this->on_gpu(variant.run, formula, plane(301, 77)),
              this->on_gpu(variant.run, formula, plane(301, 77)))
        << variant.name;
  }
}

TEST(EvaluateGpuCases, CoverEveryOperation) {
  std::set<Operation> covered;
  for (Case const& row : cases) {
    Expression const formula = Expression::parse(row.formula);
    for (expression::Node const& node : formula.nodes()) covered.insert(node.operation);
  }
  for (int i = 0; i < expression::operation_count; ++i)
    EXPECT_TRUE(covered.contains(static_cast<Operation>(i))) << i;
}

}  // namespace
}  // namespace gridstride::evaluate

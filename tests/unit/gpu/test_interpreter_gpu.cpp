#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/support/runtime_compiler.hpp"
#include "kernels/support/without_runtime_compiler.hpp"
#include "kernels/system/system.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/environment.hpp"
#include "support/pde_cases.hpp"
#include "support/replaced.hpp"
#include "support/system_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Every operation, of values in (0.1, 0.9).
template <class T>
void expect_operations() {
  Stream gpu(Device::open(Backend::cuda));
  Grid const grid{.dims = 1, .points = {777, 1, 1}};
  using expression::Operation;
  for (int n = static_cast<int>(Operation::negate); n < expression::operation_count; ++n) {
    equations::Terms terms;
    auto const operation = static_cast<Operation>(n);
    auto const u = terms.unknown(0), v = terms.unknown(1);
    int const operands = expression::operand_count(operation);
    auto const rate =
        terms.operation(operation, operands == 3 ? terms.operation(Operation::less, u, v) : u,
                        operands > 1 ? v : -1, operands > 2 ? u : -1);
    auto const program = equations::program_of(terms, std::vector{rate}, 1);
    auto const run = [&](std::string_view variant) {
      std::mt19937 random(5);
      std::uniform_real_distribution<double> uniform(0.1, 0.9);
      std::vector<Buffer<T>> arrays;
      system::Step<T> step;
      step.program = &program;
      step.grid = grid;
      step.is_stage = false;
      for (int c = 0; c < 3; ++c) {
        std::vector<T> values(static_cast<std::size_t>(grid.size()));
        for (T& value : values) value = static_cast<T>(uniform(random));
        arrays.emplace_back(gpu, MemorySpace::device, values.size());
        copy_async(arrays.back().span(), std::span<T const>(values), gpu);
        gpu.synchronize();
      }
      step.inputs = {{.values = arrays[0].data()}, {.values = arrays[1].data()}};
      step.outputs = {{.values = arrays[2].data()}};
      system::advance(gpu, step, variant);
      std::vector<T> found(arrays[2].size());
      copy_async(std::span(found), std::as_const(arrays[2]).span(), gpu);
      gpu.synchronize();
      return found;
    };
    EXPECT_EQ(run("interpreter"), run("points")) << n;
  }
}

TEST(InterpreterGpu, HasEveryOperation) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_operations<float>();
  expect_operations<double>();
}

/// a / b of both variants.
template <class T>
void expect_quotients(std::vector<T> const& a, std::vector<T> const& b, double least) {
  Stream gpu(Device::open(Backend::cuda));
  auto const size = std::ssize(a);
  equations::Terms terms;
  auto const rate = terms.divide(terms.unknown(0), terms.unknown(1));
  auto const program = equations::program_of(terms, std::vector{rate}, 1);
  Buffer<T> of_a(gpu, MemorySpace::device, a.size()), of_b(gpu, MemorySpace::device, a.size()),
      result(gpu, MemorySpace::device, a.size());
  copy_async(of_a.span(), std::span(a), gpu);
  copy_async(of_b.span(), std::span(b), gpu);
  std::vector<T> first;
  for (std::string_view const variant : {"points", "interpreter"}) {
    system::Step<T> step;
    step.program = &program;
    step.grid = {.dims = 1, .points = {size, 1, 1}};
    step.is_stage = false;
    step.inputs = {{.values = of_a.data()}, {.values = of_b.data()}};
    step.outputs = {{.values = result.data()}};
    system::advance(gpu, step, variant);
    std::vector<T> found(a.size());
    copy_async(std::span(found), std::as_const(result).span(), gpu);
    gpu.synchronize();
    for (std::size_t i = 0; i < a.size(); ++i) {
      T const expected = a[i] / b[i];
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found[i])) << a[i] << " / " << b[i];
      } else if ((std::abs(a[i]) >= least && std::isnormal(expected)) || std::isinf(expected)) {
        EXPECT_EQ(found[i], expected) << a[i] << " / " << b[i];
      } else {
        T const next = std::nextafter(std::abs(expected), std::numeric_limits<T>::infinity());
        EXPECT_LE(std::abs(found[i] - expected), next - std::abs(expected))
            << a[i] << " / " << b[i];
      }
    }
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(found[i] == first[i] || std::isnan(found[i])) << i;
  }
}

/// Of all sizes of a and b, of 0, infinity and what is no number: rounded as IEEE says, but for the
/// last bit of what is tiny.
template <class T>
void expect_quotients(double least) {
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(11);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(Limits::min_exponent - Limits::digits,
                                              Limits::max_exponent - 1),
      usual(-60, 60);
  std::vector<T> a, b;
  for (int i = 0; i < 60000; ++i) {
    bool const wide = i % 3 == 0;
    a.push_back(static_cast<T>(
        std::ldexp(mantissa(random), i % 3 == 2 ? usual(random) : exponent(random))));
    b.push_back(
        static_cast<T>(std::ldexp(mantissa(random), wide ? exponent(random) : usual(random))));
    if (i % 2) a.back() = -a.back();
    if (i % 5 < 2) b.back() = -b.back();
  }
  T const odd[] = {0,
                   1,
                   -3,
                   Limits::infinity(),
                   -Limits::infinity(),
                   Limits::quiet_NaN(),
                   Limits::denorm_min(),
                   Limits::min(),
                   Limits::max()};
  for (T const one : odd)
    for (T const other : odd) {
      a.push_back(one);
      b.push_back(other);
    }
  expect_quotients<T>(a, b, least);
}

TEST(InterpreterGpu, QuotientsAreThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_quotients<float>(0x1p-90);
  expect_quotients<double>(0x1p-800);
}

/// Names with sides, values over the whole grid, noise, events, an end that is asked for, first
/// values of other fields, all of which have programs of their own.
std::string whole_run(char const* precision, char const* variant) {
  return fmt::format(
      "simulation: pde\nprecision: {}\ngrid: {{points: [37, 29]}}\n"
      "boundary: {{x: periodic, y: {{neumann: 0.1}}, p: {{y: {{neumann: 0}}}}}}\n"
      "let: {{p: u^2 - 0.1*laplace(u)}}\n"
      "equations:\n"
      "  u: 0.01*laplace(p) - 0.1*(u - mean(u)) + 0.1*noise(5)\n"
      "  v: 0.01*laplace(v) + sin(t)*u - v^3 + 0.01*normal(3)\n"
      "initial: {{u: \"0.5 + 0.1*sin(6.28*x)\", v: \"1 - u + 0.1*uniform(2)\"}}\n"
      "events: [{{at: 0.004, set: {{v: \"v + exp(-u^2)/max(v)\"}}}}]\n"
      "stop: {{when: \"min(u) > 100\"}}\n"
      "time: {{scheme: euler, step: 2e-5, end: 0.01}}\nkernels: {{system: {}}}\n",
      precision, variant);
}

struct Outcome {
  test::PdeResult result;
  std::vector<std::string> fallbacks;
  std::string row;
};
Outcome outcome_of(std::string const& yaml) {
  auto const config = test::config_of(yaml);
  Stream stream(Device::open(Backend::cuda));
  auto const simulation = entry_of(config).make(config, stream, {});
  while (!simulation->finished()) simulation->advance(std::int64_t{1} << 40, config.time.end);
  Outcome outcome;
  for (Field const& field : simulation->fields()) {
    auto const host = test::to_host(field, stream);
    auto& values = outcome.result.fields.emplace_back();
    for (std::int64_t i = 0; i < field.values(); ++i) values.push_back(test::value_at(host, i));
  }
  outcome.fallbacks = simulation->fallbacks();
  for (auto const& text : simulation->chosen())
    if (text.text.find("points") != std::string::npos ||
        text.text.find("interpreter") != std::string::npos ||
        text.text.find("march") != std::string::npos)
      outcome.row = text.text;
  return outcome;
}

TEST(InterpreterGpu, RunsWholeSystemsWithoutNvrtc) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* precision : {"float32", "float64"}) {
    auto const compiled = outcome_of(whole_run(precision, "auto"));
    auto const named = outcome_of(whole_run(precision, "interpreter"));
    EXPECT_EQ(compiled.fallbacks, std::vector<std::string>{});
    EXPECT_EQ(named.fallbacks, std::vector<std::string>{});
    WithoutRuntimeCompiler const hidden;
    auto const without = outcome_of(whole_run(precision, "auto"));
    EXPECT_EQ(compiled.row, "points");
    EXPECT_EQ(named.row, "interpreter");
    EXPECT_EQ(without.row, "interpreter");
    EXPECT_EQ(named.result.fields, compiled.result.fields);
    EXPECT_EQ(without.result.fields, compiled.result.fields);
    ASSERT_EQ(without.fallbacks.size(), 1U);
    EXPECT_EQ(without.fallbacks.front().find("system: points gave way to interpreter (formulas "
                                             "cannot be compiled for the GPU: libnvrtc.so.13"),
              0U)
        << without.fallbacks.front();
    EXPECT_THROW(outcome_of(whole_run(precision, "points")), RuntimeCompilerMissing);
  }
}

/// Who names it wants nothing compiled: nor events, ends, extremes, and what is derived.
TEST(InterpreterGpu, ByNameCompilesNothing) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::RunDirectory const folder;
  test::KeptVariable const cache("GRIDSTRIDE_CACHE");
  setenv("GRIDSTRIDE_CACHE", folder.path().c_str(), 1);
  auto const compiled = [&](char const* variant, double constant) {
    // A constant that no other run has, or what is compiled were known.
    outcome_of(fmt::format(
        "simulation: pde\ngrid: {{points: [37, 29]}}\nboundary: {{x: periodic, y: periodic}}\n"
        "equations: {{u: {0}*laplace(u) - {0}*u^3 - 0.1*(u - mean(u^2))}}\n"
        "initial: {{u: \"0.5 + 0.1*sin(6.28*x)\"}}\noutput: {{derived: {{w: {0}*laplace(u)}}}}\n"
        "events: [{{at: 0.004, set: {{u: \"{0}*u/max(u)\"}}}}]\n"
        "stop: {{when: \"min({0}*u^2) > 100\"}}\ntime: {{scheme: euler, end: 0.01}}\n"
        "kernels: {{system: {1}, evaluate: interpreter}}\n",
        constant, variant));
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  };
  EXPECT_EQ(compiled("interpreter", 0.0123), 0);
  EXPECT_GT(compiled("points", 0.0124), 3);
}

TEST(InterpreterGpu, RunsWhatWouldMarch) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::string const text =
      "simulation: pde\ngrid: {points: [64, 48]}\nboundary: {x: periodic, y: periodic}\n"
      "equations: {u: 0.001*laplace(u) - u*v, v: 0.002*laplace(v) + u*v}\n"
      "initial: {u: sin(6.28318*x), v: \"1 - u\"}\ntime: {scheme: rk4, end: 0.01}\n";
  auto const marched = outcome_of(text);
  EXPECT_EQ(marched.row, "march");
  WithoutRuntimeCompiler const hidden;
  auto const without = outcome_of(text);
  EXPECT_EQ(without.row, "interpreter");
  EXPECT_EQ(without.result.fields, marched.result.fields);
}

/// Steps that follow their error, waves of order 2, limiters, by graphs of many steps.
TEST(InterpreterGpu, RunsTheInputs) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& [name, end] :
       {std::pair("sod", "0.02"), {"shallow_water", "0.01"}, {"gray_scott", "100"}}) {
    auto const path = fmt::format("inputs/pde/{}.yaml", name);
    std::ifstream file(path);  // of a folder made by tools/bundle
    if (!file) file.open(fmt::format("{}/{}", GRIDSTRIDE_SOURCE_DIR, path));
    ASSERT_TRUE(file) << name;
    std::stringstream text;
    text << file.rdbuf();
    auto const shorter = [&, end = end](char const* variant) {
      auto yaml = test::replaced(text.str(), ", end: [0-9.]+", fmt::format(", end: {}", end));
      return yaml + fmt::format("kernels: {{system: {}}}\n", variant);
    };
    EXPECT_EQ(outcome_of(shorter("interpreter")).result.fields,
              outcome_of(shorter("points")).result.fields)
        << name;
  }
  std::string const adaptive =
      "simulation: pde\ngrid: {points: 101}\nboundary: {x: periodic}\n"
      "equations: {u: \"0.001*laplace(u) - u*d_dx(u)\"}\ninitial: {u: sin(6.28318*x)}\n"
      "time: {scheme: rk45, end: 0.1, step: adaptive}\nkernels: {system: ";
  EXPECT_EQ(outcome_of(adaptive + "interpreter}\n").result.fields,
            outcome_of(adaptive + "points}\n").result.fields);
}

/// More values at a time than any block has room for.
TEST(InterpreterGpu, RefusesWhatDoesNotFit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  constexpr int values = 20'000;
  equations::StencilProgram program;
  program.components = 1;
  program.code.push_back({.kind = equations::Kind::unknown});
  auto const apply = [&](expression::Operation operation, int a, int b) {
    program.code.push_back(
        {.kind = equations::Kind::operation, .operation = operation, .operands = {a, b, -1}});
  };
  for (int n = 0; n < values; ++n) apply(expression::Operation::divide, n, 0);
  int sum = values;
  for (int n = 1; n < values; ++n) {
    apply(expression::Operation::add, sum, n);
    sum = static_cast<int>(program.code.size()) - 1;
  }
  program.results = {sum};
  Stream gpu(Device::open(Backend::cuda));
  Buffer<double> in(gpu, MemorySpace::device, 5), out(gpu, MemorySpace::device, 5);
  system::Step<double> step;
  step.program = &program;
  step.grid = {.dims = 1, .points = {5, 1, 1}};
  step.is_stage = false;
  step.inputs = {{.values = in.data()}};
  step.outputs = {{.values = out.data()}};
  try {
    system::advance(gpu, step, "interpreter");
    ADD_FAILURE() << "took it";
  } catch (Error const& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("system: 'interpreter' keeps 20000 values at a time for each point of "
                        "these equations, and "),
              0U)
        << error.what();
  }
}

}  // namespace
}  // namespace gridstride

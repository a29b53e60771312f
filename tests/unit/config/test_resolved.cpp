#include "run_reading.hpp"

namespace gridstride::config {
namespace {

using Resolved = RunReading;

TEST_F(Resolved, HasEveryDefault) {
  EXPECT_EQ(resolved_yaml(read(minimal_heat)),
            R"(simulation: heat
device: auto
precision: float64
grid: {points: [8, 8], lower: [0, 0], upper: [1, 1]}
boundary:
  x: {dirichlet: 0}
  y: {dirichlet: 0}
initial: {u: 0}
parameters: {diffusivity: 1, source: 0}
time: {scheme: ftcs, end: 1, step: auto, safety: 0.9}
output:
  directory: outputs/run
  formats: [vti, hdf5]
  every: {count: 10}
  fields: [u]
  precision: auto
  every_nth_point: [1, 1]
  compression: 0
checkpoint: {keep: 2}
diagnostics: [norms]
verify: {rtol: 1e-10, atol: 1e-12}
kernels: {stencil: auto, evaluate: auto, reduce: auto, fused_steps: auto}
)");
}

void expect_same(Formula const& a, Formula const& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.expression, b.expression);
}

void expect_same(Cadence const& a, Cadence const& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.count, b.count);
}

void expect_same(RunConfig const& a, RunConfig const& b) {
  EXPECT_EQ(a.simulation, b.simulation);
  EXPECT_EQ(a.device.backend, b.device.backend);
  EXPECT_EQ(a.device.ordinal, b.device.ordinal);
  EXPECT_EQ(a.device.has_ordinal, b.device.has_ordinal);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.constants, b.constants);
  EXPECT_EQ(a.grid, b.grid);
  EXPECT_EQ(a.fields, b.fields);
  for (int axis = 0; axis < a.grid.dims; ++axis) {
    for (int side = 0; side < 2; ++side) {
      EXPECT_EQ(a.sides_of("u")[axis][side].kind, b.sides_of("u")[axis][side].kind);
      expect_same(a.sides_of("u")[axis][side].value, b.sides_of("u")[axis][side].value);
    }
  }
  for (auto const& [name, source] : a.initial) {
    expect_same(source.formula, b.initial.at(name).formula);
    EXPECT_EQ(source.file, b.initial.at(name).file);
    EXPECT_EQ(source.dataset, b.initial.at(name).dataset);
  }
  EXPECT_EQ(a.time.scheme, b.time.scheme);
  EXPECT_EQ(a.time.end, b.time.end);
  EXPECT_EQ(a.time.step, b.time.step);
  EXPECT_EQ(a.time.safety, b.time.safety);
  EXPECT_EQ(a.output.directory, b.output.directory);
  EXPECT_EQ(a.output.formats, b.output.formats);
  EXPECT_EQ(a.output.fields, b.output.fields);
  expect_same(a.output.every, b.output.every);
  expect_same(a.checkpoint.every, b.checkpoint.every);
  EXPECT_EQ(a.checkpoint.keep, b.checkpoint.keep);
  ASSERT_EQ(a.diagnostics.size(), b.diagnostics.size());
  for (std::size_t i = 0; i < a.diagnostics.size(); ++i) {
    EXPECT_EQ(a.diagnostics[i].kind, b.diagnostics[i].kind);
    EXPECT_EQ(a.diagnostics[i].options->gives(), b.diagnostics[i].options->gives());
  }
  ASSERT_EQ(a.verify.exact.size(), b.verify.exact.size());
  for (std::size_t i = 0; i < a.verify.exact.size(); ++i) {
    EXPECT_EQ(a.verify.exact[i].first, b.verify.exact[i].first);
    expect_same(a.verify.exact[i].second, b.verify.exact[i].second);
  }
  EXPECT_EQ(a.verify.l2_tolerance, b.verify.l2_tolerance);
  EXPECT_EQ(a.verify.max_tolerance, b.verify.max_tolerance);
  EXPECT_EQ(a.verify.reference, b.verify.reference);
  EXPECT_EQ(a.verify.rtol, b.verify.rtol);
  EXPECT_EQ(a.verify.atol, b.verify.atol);
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(resolved_yaml(a), resolved_yaml(b));
}

TEST_F(Resolved, ReadsBackToTheSameRun) {
  write("", "start.h5");
  RunConfig const run = read(R"(simulation: heat
device: cuda:1
precision: float32
constants: {kappa: 5 mm^2/s, third: 1/3}
grid: {points: [11, 12, 13], lower: [-0.1, third, 1e-3], upper: [third, 0.7, 20 cm]}
boundary: {x: periodic, y: {lower: {dirichlet: "x *\tt"}, upper: {neumann: 0.01}}, z: {neumann: t}}
initial: {u: {file: start.h5, dataset: /u}}
parameters: {diffusivity: kappa*(1+x), source: 1e-2 1/min}
time: {scheme: rk4, end: 20 min, step: 0.1, safety: 0.5}
output: {directory: "out dir/1", formats: [hdf5], every: {time: 0.05}, fields: []}
checkpoint: {every: {steps: 1000}, keep: 3}
diagnostics:
- norms
- {probe: {at: [0, 0.5, 0.1]}}
- {quantiles: {at: [0.05, 0.95]}}
- {probe: {at: [0.1, 0.6, 0.1]}}
- {histogram: {bins: 12, range: [-0.1, third]}}
- {quantiles: {at: third}}
verify: {exact: {u: x*t}, tolerance: {max: 1e-4}, reference: ../reference.h5, rtol: 0, atol: 1e-9}
kernels: {stencil: naive, reduce: threads}
)");
  RunConfig const again =
      read_run_config(write(resolved_yaml(run), "again.yaml"), {}, fake_simulations());
  expect_same(run, again);
  auto const& parameters = dynamic_cast<FakeHeatParameters const&>(*run.parameters);
  auto const& parameters_again = dynamic_cast<FakeHeatParameters const&>(*again.parameters);
  expect_same(parameters.diffusivity, parameters_again.diffusivity);
  expect_same(parameters.source, parameters_again.source);
}

TEST_F(Resolved, ReadsBackParametersOfEveryType) {
  RunConfig const run = read(
      minimal_everything,
      {{"parameters.limited", "false"}, {"parameters.speed", "1/3"}, {"parameters.order", "1e0"}});
  RunConfig const again =
      read_run_config(write(resolved_yaml(run), "again.yaml"), {}, fake_simulations());
  EXPECT_EQ(resolved_yaml(run), resolved_yaml(again));
  auto const& parameters = dynamic_cast<FakeEverythingParameters const&>(*again.parameters);
  EXPECT_EQ(parameters.speed, 1.0 / 3);
  EXPECT_EQ(parameters.order, 1);
  EXPECT_FALSE(parameters.limited);
}

TEST_F(Resolved, WhatDecidesTheStateLeavesDiagnosticsOut) {
  std::string const problem = problem_yaml(read(minimal_heat));
  EXPECT_EQ(problem_yaml(read(minimal_heat + "kernels: {reduce: reference}\n")), problem);
  EXPECT_EQ(problem_yaml(read(minimal_heat + "diagnostics: {histogram: {bins: 3}}\n")), problem);
  EXPECT_NE(problem_yaml(read(minimal_heat + "kernels: {stencil: naive}\n")), problem);
}

}  // namespace
}  // namespace gridstride::config

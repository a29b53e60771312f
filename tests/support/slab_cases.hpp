#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/restart_runs.hpp"

/// Grids that a limit makes go through the device in slabs, beside the same ones in its memory.
namespace gridstride::test {

/// The text of a name in what a simulation tells of itself; empty where there is none.
inline std::string text_of(std::vector<NamedText> const& texts, std::string_view name) {
  auto const found = std::ranges::find(texts, name, &NamedText::name);
  return found == texts.end() ? std::string() : found->text;
}

/// A section for slabs of so many planes and trips of so many steps. The limit is a byte below what
/// the arrays of the run take.
inline std::string slab_limits(std::string const& yaml, std::int64_t planes, std::int64_t steps,
                               Backend backend) {
  auto const run = config_of(yaml);
  auto const memory = memory_of(entry_of(run), run, {}, backend);
  std::int64_t const all = run.grid.points[static_cast<std::size_t>(run.grid.dims - 1)];
  std::size_t const plane = memory.field_bytes / static_cast<std::size_t>(all);
  return fmt::format("limits: {{device_memory: {}, chunk: {}, trip_steps: {}}}\n",
                     memory.bytes() - 1, plane * static_cast<std::size_t>(planes), steps);
}

/// A run in slabs has the bits of `expected` and tells of them.
inline void expect_bits_in_slabs(std::string const& yaml, HostField const& expected,
                                 Backend backend, std::int64_t planes, std::int64_t steps,
                                 std::int64_t max_steps) {
  SCOPED_TRACE(fmt::format("slabs of {}, {} steps a trip, queued {} at a time\n{}", planes, steps,
                           max_steps, yaml));
  auto const run = config_of(yaml + slab_limits(yaml, planes, steps, backend));
  Stream stream(Device::open(backend));
  auto const simulation = entry_of(run).make(run, stream, {});
  while (!simulation->finished()) simulation->advance(max_steps, run.time.end);
  EXPECT_EQ(to_host(simulation->fields()[0], stream).memory, expected.memory);
  auto const chosen = simulation->chosen();
  EXPECT_TRUE(text_of(chosen, "slabs").starts_with(fmt::format("{} of ", planes)));
  EXPECT_NE(text_of(chosen, "trips").find(fmt::format(" {} steps", steps)), std::string::npos);
}

/// So that slabs are thinner than halos, no multiples, and trips are cut short.
inline void expect_bits_in_slabs(std::string const& yaml, Backend backend) {
  auto const expected = solve(config_of(yaml), backend);
  for (auto const& [planes, steps] : {std::pair{1, 1}, {2, 3}, {5, 2}, {1, 5}, {3, 4}})
    expect_bits_in_slabs(yaml, expected, backend, planes, steps, std::int64_t{1} << 40);
  for (std::int64_t const slice : {1, 7})
    expect_bits_in_slabs(yaml, expected, backend, 2, 3, slice);
}

/// A wave with a plane more than others along its last axis.
inline std::string long_wave(int dims, std::string const& boundary, int order,
                             std::string const& more = "") {
  std::string points;
  for (int axis = 0; axis < dims; ++axis)
    points += axis + 1 < dims ? fmt::format("{}, ", 8 + axis) : dims == 1 ? "150" : "70";
  return fmt::format(
      "simulation: wave\ngrid: {{points: [{}]}}\nboundary: {{{}}}\n"
      "initial: {{u: \"sin(5*x) + cos(3*{})\"}}\n"
      "parameters: {{speed: 1.5, order: {}, initial_velocity: \"x - 0.3\"{}}}\n"
      "time: {{end: 0.05}}\noutput: {{every: {{count: 3}}}}\n",
      points, boundary,
      dims == 1   ? "x"
      : dims == 2 ? "y"
                  : "z",
      order, more);
}

/// Whole runs in slabs: outputs, diagnostics and checkpoints in the midst of trips, and restarts
/// with and without slabs.
inline void expect_runs_in_slabs(Backend backend) {
  std::string const device = fmt::format("device: {}\n", name_of(backend));
  std::string const heat =
      device +
      "simulation: heat\ngrid: {points: [9, 8, 90]}\n"
      "boundary: {x: {lower: {dirichlet: \"sin(z)\"}, upper: {neumann: y}}, y: periodic, z: "
      "periodic}\ninitial: {u: \"x + sin(2*pi*z)*cos(4*pi*y)\"}\n"
      "parameters: {diffusivity: 0.01}\ntime: {end: 0.05}\n";
  std::string const wave = device + long_wave(3, "x: free, y: periodic, z: fixed", 4) +
                           "checkpoint: {every: {time: 0.02}, keep: 9}\n";
  std::string const looks =
      "diagnostics: [norms, {probe: {at: [0.3, 0.6, 0.51]}}, {histogram: {bins: 16}}, "
      "{quantiles: {at: [0.1, 0.5]}}, {integral: u^2}, {maximum: {of: u, where: true}}]\n";
  for (auto yaml : {heat + "output: {every: {time: 0.0101}, formats: [vti, hdf5]}\n"
                           "checkpoint: {every: {steps: 7}, keep: 99}\n",
                    wave}) {
    SCOPED_TRACE(yaml);
    yaml += looks;
    RunDirectory const directory;
    auto const limits = slab_limits(yaml, 3, 5, backend);
    auto const in_core = directory.run("core", yaml), slabs = directory.run("slabs", yaml + limits);
    expect_same_bits(slabs, in_core);
    expect_same_series(slabs / "case.h5", in_core / "case.h5", 0);
    std::vector<std::filesystem::path> checkpoints;
    for (auto const& entry : std::filesystem::directory_iterator(in_core))
      if (entry.path().extension() == ".checkpoint") checkpoints.push_back(entry.path());
    std::ranges::sort(checkpoints);
    ASSERT_GE(checkpoints.size(), 2U);
    auto const& middle = checkpoints[checkpoints.size() / 2];
    // From either one's checkpoint, the other way.
    for (auto const& [from, text] : {std::pair{in_core, yaml + limits}, {slabs, yaml}}) {
      RunOptions const go_on{
          .quiet = true, .restart = true, .checkpoint = from / middle.filename()};
      directory.run(from.filename(), text, go_on);
      expect_same_bits(from, from == in_core ? slabs : in_core);
    }
  }
}

}  // namespace gridstride::test

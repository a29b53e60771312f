#include "run_reading.hpp"

namespace gridstride::config {
namespace {

using Reader = RunReading;

/// What the resolved config says of a key of the top level.
std::string stated(RunConfig const& run, std::string const& key) {
  std::string const text = resolved_yaml(run);
  std::size_t const begin = text.find("\n" + key + ":") + 1;
  std::size_t end = text.find('\n', begin);
  while (end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '-'))
    end = text.find('\n', end + 1);
  return text.substr(begin, end - begin);
}

TEST_F(Reader, FillsInDefaults) {
  RunConfig const run = read(minimal_heat);
  EXPECT_EQ(run.name, "run");
  EXPECT_EQ(run.text, minimal_heat);
  EXPECT_EQ(run.simulation, &fake_simulations()[0]);
  EXPECT_FALSE(run.device.backend);
  EXPECT_EQ(run.precision, Precision::float64);
  EXPECT_EQ(run.grid, (Grid{2, {8, 8, 1}, {0, 0, 0}, {1.0 / 7, 1.0 / 7, 1}}));
  EXPECT_EQ(run.sides_of("u")[1][1].kind, SideKind::dirichlet);
  EXPECT_EQ(run.sides_of("u")[1][1].value.expression.evaluate(0), 0);
  EXPECT_EQ(run.time.scheme, "ftcs");
  EXPECT_FALSE(run.time.step);
  EXPECT_EQ(run.time.safety, 0.9);
  EXPECT_EQ(run.output.directory, "outputs/run");
  EXPECT_EQ(run.output.formats, (std::vector<std::string>{"vti", "hdf5"}));
  EXPECT_EQ(run.output.every.count, 10);
  EXPECT_EQ(run.output.fields, std::vector<std::string>{"u"});
  EXPECT_FALSE(run.checkpoint.every.time || run.checkpoint.every.steps ||
               run.checkpoint.every.count);
  EXPECT_EQ(run.checkpoint.keep, 2);
  ASSERT_EQ(run.diagnostics.size(), 1U);
  EXPECT_EQ(run.diagnostics[0].kind, "norms");
  EXPECT_TRUE(run.verify.exact.empty() && run.verify.reference.empty());
  EXPECT_EQ(run.kernels.at("stencil"), "auto");
}

TEST_F(Reader, ReadsTheSimulationsOwnParameters) {
  RunConfig const run = read(
      "simulation: everything\ngrid: {points: 8}\ninitial: {p: 1 bar, v: x}\n"
      "parameters: {speed: 36 km/h, width: 5 mm, order: 1e0, modes: 3, limited: false, shape: "
      "2*x}\n"
      "time: {end: 1}\n");
  auto const& parameters = dynamic_cast<FakeEverythingParameters const&>(*run.parameters);
  EXPECT_EQ(parameters.speed, 10);
  EXPECT_EQ(parameters.width, 0.005);
  EXPECT_EQ(parameters.order, 1);
  EXPECT_EQ(parameters.modes, 3);
  EXPECT_FALSE(parameters.limited);
  EXPECT_EQ(parameters.shape.expression.evaluate(3), 6);
  EXPECT_EQ(parameters.shape.text, "2*x");
  EXPECT_EQ(parameters.shape.location.line, 4);
  EXPECT_EQ(parameters.shape.location.path, "parameters.shape");
  EXPECT_EQ(run.initial.at("p").formula.expression.evaluate(0), 1e5);
}

TEST_F(Reader, ChecksTheSimulationsOwnParameters) {
  EXPECT_EQ(faults("simulation: everything\ngrid: {points: 8}\ninitial: {p: 0, v: 0}\n"
                   "parameters: {speed: 101, order: 9, limited: yes, shape: y}\ntime: {end: 1}\n"),
            "run:4:13: parameters.width: is missing (it has no default)\n"
            "run:4:13: parameters.modes: is missing (it has no default)\n"
            "run:4:21: parameters.speed: '101' is out of range (must be <= 100)\n"
            "run:4:33: parameters.order: '9' is out of range (must be >= 1 and <= 8)\n"
            "run:4:45: parameters.limited: 'yes' is neither true nor false; did you mean 'true'?\n"
            "run:4:57: parameters.shape: the formula depends on 'y' (it may depend on 'x')\n");
}

TEST_F(Reader, PeriodicAxesLeaveOutTheLastPoint) {
  RunConfig const run = read(minimal_heat + "boundary: {x: periodic, y: {neumann: 2}}\n");
  EXPECT_EQ(run.grid.spacing[0], 1.0 / 8);
  EXPECT_EQ(run.grid.spacing[1], 1.0 / 7);
  EXPECT_EQ(run.sides_of("u")[0][0].kind, SideKind::periodic);
  EXPECT_EQ(run.sides_of("u")[1][0].kind, SideKind::neumann);
  EXPECT_EQ(run.sides_of("u")[1][1].value.expression.evaluate(0), 2);
}

TEST_F(Reader, SidesMayDiffer) {
  RunConfig const run =
      read(minimal_heat + "boundary: {y: {lower: {dirichlet: x*t}, upper: {neumann: -1}}}\n");
  EXPECT_EQ(run.sides_of("u")[0][0].kind, SideKind::dirichlet);
  EXPECT_EQ(run.sides_of("u")[1][0].kind, SideKind::dirichlet);
  EXPECT_EQ(run.sides_of("u")[1][0].value.expression.evaluate(2, 0, 0, 3), 6);
  EXPECT_EQ(run.sides_of("u")[1][1].kind, SideKind::neumann);
}

TEST_F(Reader, ReadsDevices) {
  EXPECT_EQ(read(minimal_heat + "device: cpu\n").device.backend, Backend::cpu);
  RunConfig const run = read(minimal_heat + "device: cuda:12\n");
  EXPECT_EQ(run.device.backend, Backend::cuda);
  EXPECT_EQ(run.device.ordinal, 12);
}

TEST_F(Reader, ConstantsWorkEverywhere) {
  RunConfig const run = read(
      "simulation: heat\nconstants: {kappa: 5 mm^2/s, period: 2*pi, half: period/2}\n"
      "grid: {points: [8, 8], upper: [period, half]}\ninitial: {u: sin(x*half)}\n"
      "parameters: {diffusivity: 2*kappa}\ntime: {end: half, step: period/1000}\n");
  EXPECT_EQ(run.constants.at("kappa"), 5e-6);
  EXPECT_EQ(run.grid_options.upper[1], run.constants.at("half"));
  EXPECT_EQ(run.time.end, run.constants.at("half"));
  EXPECT_EQ(run.time.step, run.constants.at("period") / 1000);
  EXPECT_EQ(run.time.step_location.line, 6);
  auto const& parameters = dynamic_cast<FakeHeatParameters const&>(*run.parameters);
  EXPECT_EQ(parameters.diffusivity.expression.evaluate(0), 1e-5);
}

TEST_F(Reader, CadencesReplaceTheDefault) {
  RunConfig const run = read(minimal_heat +
                             "output: {every: {steps: 5}, formats: hdf5}\n"
                             "checkpoint: {every: {time: 2 min}}\n");
  EXPECT_EQ(run.output.every.steps, 5);
  EXPECT_FALSE(run.output.every.count);
  EXPECT_EQ(run.output.formats, std::vector<std::string>{"hdf5"});
  EXPECT_EQ(run.checkpoint.every.time, 120);
  EXPECT_TRUE(read(minimal_heat + "output: {formats: []}\n").output.formats.empty());
}

TEST_F(Reader, ReadsDiagnostics) {
  RunConfig const run =
      read(minimal_everything +
           "diagnostics: [{probe: {at: 0.5, field: v}}, {probe: {at: [1], field: p}}]\n");
  EXPECT_EQ(stated(run, "diagnostics"),
            "diagnostics: [{probe: {at: [0.5], field: v}}, {probe: {at: [1], field: p}}]");
  EXPECT_TRUE(read(minimal_heat + "diagnostics: []\n").diagnostics.empty());
  EXPECT_EQ(faults(minimal_everything + "diagnostics: {probe: {at: 2}}\n"),
            "run:6:22: diagnostics.probe.field: is missing (it has no default)\n"
            "run:6:27: diagnostics.probe.at: 2 is outside of the grid (x goes from 0 to 1)\n");
}

TEST_F(Reader, ReadsHistogramsAndQuantiles) {
  RunConfig const run = read(minimal_everything +
                             "diagnostics:\n"
                             "- histogram: {field: v, bins: 1e2, range: [-5 km/h, 1/4]}\n"
                             "- {quantiles: {field: p, at: [0.05, 1, 0]}}\n"
                             "- {histogram: {field: p}}\n"
                             "- {quantiles: {field: p, at: 1/2}}\n");
  EXPECT_EQ(stated(run, "diagnostics"),
            "diagnostics: [{histogram: {field: v, bins: 100, range: [-1.3888888888888888, 0.25]}}, "
            "{histogram: {field: p, bins: 64}}, {quantiles: {field: p, at: [0.05, 1, 0]}}, "
            "{quantiles: {field: p, at: [0.5]}}]");
  EXPECT_EQ(stated(read(minimal_heat + "diagnostics: {histogram: {bins: 8192}}\n"), "diagnostics"),
            "diagnostics: [{histogram: {field: u, bins: 8192}}]");
  EXPECT_EQ(faults(minimal_heat + "kernels: {reduce: thread}\n"),
            "run:6:19: kernels.reduce: unknown value 'thread' ('auto', 'reference', 'threads' or "
            "'vectorized' expected); did you mean 'threads'?\n");
  // As narrow as float64 can divide, but not float32.
  std::string const narrow = "diagnostics: {histogram: {range: [1, 1.000001]}}\n";
  EXPECT_EQ(faults(minimal_heat + narrow), "");
  EXPECT_EQ(faults("precision: float32\n" + minimal_heat + narrow),
            "run:7:34: diagnostics.histogram.range: 1 to 1.000001 cannot be divided into 64 bins "
            "of float32\n");
}

TEST_F(Reader, ReadsFormulasOfFieldsAsDiagnostics) {
  RunConfig const run = read(minimal_everything +
                             "constants: {k: 2}\n"
                             "diagnostics:\n"
                             "- {maximum: {of: abs(p*v), where: true, name: peak}}\n"
                             "- {integral: k*v^2 + x}\n"
                             "- {minimum: {of: t*p}}\n"
                             "- {maximum: v}\n");
  EXPECT_EQ(stated(run, "diagnostics"),
            "diagnostics: [{integral: \"k*v^2 + x\"}, {minimum: \"t*p\"}, {maximum: {of: "
            "\"abs(p*v)\", where: true, name: peak}}, {maximum: v}]");
  RunConfig const again =
      read_run_config(write(resolved_yaml(run), "again.yaml"), {}, fake_simulations());
  EXPECT_EQ(resolved_yaml(again), resolved_yaml(run));
  // What follows knows the fields no longer.
  EXPECT_EQ(
      faults(minimal_everything + "diagnostics: {integral: p}\nverify: {exact: {p: v}}\n"),
      "run:7:21: verify.exact.p: unknown name 'v' (a formula knows x, y, z, t, pi, e, functions "
      "and names defined for it)\n");
}

TEST_F(Reader, InputPathsAreRelativeToTheConfig) {
  write("", "start.h5");
  RunConfig const run = read(
      "simulation: heat\ngrid: {points: [8, 8]}\ninitial: {u: {file: start.h5, dataset: /u}}\n"
      "parameters: {diffusivity: 1}\ntime: {end: 1}\nverify: {reference: sub/reference.h5}\n");
  EXPECT_EQ(run.initial.at("u").file, folder_ / "start.h5");
  EXPECT_EQ(run.initial.at("u").dataset, "/u");
  EXPECT_EQ(run.initial.at("u").location.line, 3);
  EXPECT_EQ(run.initial_location.path, "initial");
  EXPECT_EQ(run.verify.reference, folder_ / "sub/reference.h5");
}

TEST_F(Reader, FieldsMayComeFromAMomentOfAnotherRun) {
  write("", "old.h5");
  auto const with = [](std::string const& keys) {
    return "simulation: heat\ngrid: {points: [8, 8]}\ninitial: {u: {file: old.h5" + keys +
           "}}\nparameters: {diffusivity: 1}\ntime: {end: 1}\n";
  };
  auto const source = [&](std::string const& keys) {
    RunConfig const run = read(with(keys));
    RunConfig const again =
        read_run_config(write(resolved_yaml(run), "again.yaml"), {}, fake_simulations());
    EXPECT_EQ(resolved_yaml(run), resolved_yaml(again));
    return again.initial.at("u");
  };
  FieldSource const last = source(", time: last");
  ASSERT_TRUE(last.moment);
  EXPECT_FALSE(last.moment->time || last.moment->step);
  EXPECT_EQ(last.dataset, "u");
  FieldSource const at = source(", time: 30 min, dataset: T");
  ASSERT_TRUE(at.moment && at.moment->time);
  EXPECT_EQ(*at.moment->time, 1800);
  EXPECT_EQ(at.dataset, "T");
  EXPECT_EQ(source(", time: 0").moment->time, 0.0);
  EXPECT_EQ(source(", step: 1e3").moment->step, 1000.0);
  EXPECT_FALSE(source(", dataset: /u").moment);
  EXPECT_EQ(faults(with("")), "run:3:14: initial.u.dataset: is missing (it has no default)\n");
  EXPECT_EQ(faults(with(", time: last, step: 3")),
            "run:3:47: initial.u.step: cannot stand beside 'time' (either tells the moment)\n");
  EXPECT_EQ(faults(with(", step: 0.5")), "run:3:35: initial.u.step: 0.5 is not a whole number\n");
  EXPECT_EQ(faults(with(", step: -1")),
            "run:3:35: initial.u.step: '-1' is out of range (must be >= 0 and <= "
            "9000000000000000)\n");
  EXPECT_NE(faults(with(", time: lsat")), "");
}

TEST_F(Reader, AxesThatVtkCannotCountGoToHdf5Alone) {
  std::string const text =
      "simulation: heat\ngrid: {points: 3e9}\ninitial: {u: 0}\nparameters: {diffusivity: 1}\n"
      "time: {end: 1}\n";
  EXPECT_EQ(faults(text + "output: {formats: [hdf5]}\n"), "");
  EXPECT_NE(faults(text).find("output.formats: a .vti has at most 2147483647 points along an axis"),
            std::string::npos);
}

TEST_F(Reader, ReadsVerification) {
  RunConfig const run =
      read(minimal_everything + "verify: {exact: {v: x*t}, tolerance: {l2: 1e-4}, rtol: 0}\n");
  ASSERT_EQ(run.verify.exact.size(), 1);
  EXPECT_EQ(run.verify.exact[0].first, "v");
  EXPECT_EQ(run.verify.l2_tolerance, 1e-4);
  EXPECT_FALSE(run.verify.max_tolerance);
  EXPECT_EQ(run.verify.rtol, 0);
  RunConfig const untold = read(minimal_everything + "verify: {exact: {v: x*t}}\n");
  EXPECT_EQ(untold.verify.exact.size(), 1);
  EXPECT_FALSE(untold.verify.l2_tolerance || untold.verify.max_tolerance);
}

TEST_F(Reader, GoesOnWithTheSimulationProbablyMeant) {
  EXPECT_EQ(faults("simulation: haet\ntime: {end: -1}\n"),
            "run:1:1: grid.points: is missing (it has no default)\n"
            "run:1:1: parameters.diffusivity: is missing (it has no default)\n"
            "run:1:1: initial.u: is missing (it has no default)\n"
            "run:1:13: simulation: unknown value 'haet' ('heat', 'everything', 'species' or 'flow' "
            "expected); did you mean 'heat'?\n"
            "run:2:13: time.end: '-1' is out of range (must be > 0)\n");
}

TEST_F(Reader, ReportsNoMoreThanAPageful) {
  std::string text = minimal_heat;
  for (int i = 0; i < 500; ++i) text += "key" + std::to_string(i) + ": 1\n";
  std::string const all = faults(text);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 101);
  EXPECT_NE(all.find("run: and 400 more problems\n"), std::string::npos);
}

TEST_F(Reader, LaterFaultsHaveAPlaceToo) {
  RunConfig const run = read(minimal_heat, {{"time.step", "0.5"}});
  EXPECT_EQ(run.problem(run.initial_location, "wrong").text(),
            (folder_ / "run.yaml").string() + ":3:10: initial: wrong");
  EXPECT_EQ(run.problem(run.time.step_location, "too large").text(),
            "--set time.step=0.5: time.step: too large");
  EXPECT_EQ(run.location("grid.points.1").column, 20);
  EXPECT_EQ(run.location("time.safety").line, 5);  // of `time`
  EXPECT_EQ(run.location("device").line, 1);       // of the whole
  EXPECT_EQ(run.location("device").path, "device");
}

TEST_F(Reader, RefusesFilesThatCannotBeRead) {
  auto const fault = [](std::filesystem::path const& file) -> std::string {
    try {
      read_run_config(file, {}, fake_simulations());
    } catch (ConfigError const& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("no_such.yaml"), "no_such.yaml: no such file");
  EXPECT_EQ(fault(folder_), folder_.string() + ": is a directory, not a config file");
  std::filesystem::path const large = write(std::string(2'000'000, '#'), "large.yaml");
  EXPECT_EQ(fault(large), large.string() + ": is larger than 1 MiB, too large for a config");
}

}  // namespace
}  // namespace gridstride::config

#include "config/run_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/boundary_section.hpp"
#include "config/derived_sections.hpp"
#include "config/diagnostics_section.hpp"
#include "config/file_source.hpp"
#include "config/limits.hpp"
#include "config/run_fields.hpp"
#include "config/spatial_sections.hpp"
#include "config/sweep_section.hpp"
#include "config/time_section.hpp"
#include "config/verify_section.hpp"

namespace gridstride::config {
namespace {

std::vector<Choice> choices_of(std::vector<std::string_view> const& names) {
  std::vector<Choice> choices;
  for (std::string_view const name : names) choices.push_back({name});
  return choices;
}

void declare_device(Visitor& visitor, DeviceChoice& device) {
  constexpr std::string_view words[] = {"auto", "cpu", "cuda"};
  std::string text = "auto";
  if (device.backend) text = name_of(*device.backend);
  if (device.has_ordinal) text += fmt::format(":{}", device.ordinal);
  visitor.text(
      {.name = "device",
       .documentation = "What the run computes on: `cpu`, `cuda` (the first GPU; of several "
                        "processes each has one of its own as far as there are), `cuda:1` (the "
                        "second), or `auto`: as `cuda` if there is a GPU, else the host."},
      {.meaning = "'auto', 'cpu', 'cuda' or 'cuda:N'", .words = words, .numbered = "cuda:"}, text);
  std::size_t const colon = text.find(':');
  device = {};
  if (text != "auto") device.backend = text == "cpu" ? Backend::cpu : Backend::cuda;
  device.has_ordinal = colon != std::string::npos;
  if (device.has_ordinal)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), device.ordinal);
}

void declare_precision(Visitor& visitor, Precision& precision) {
  constexpr Choice choices[] = {{"float32", "4 bytes a value, 7 digits"},
                                {"float64", "8 bytes a value, 16 digits"}};
  std::string name(name_of(precision));
  visitor.choice({.name = "precision", .documentation = "The element type of all fields."}, choices,
                 name);
  precision = name == "float32" ? Precision::float32 : Precision::float64;
}

void declare_parameters(Visitor& visitor, RunOptions const& run, ParameterSet& parameters) {
  if (run.simulation->has_own_sections) return parameters.fields(visitor, run);
  visitor.section({.name = "parameters", .documentation = "The simulation's own parameters."},
                  [&](Visitor& v) { parameters.fields(v, run); });
}

void refuse_grid(Visitor& visitor, SimulationInfo const& simulation) {
  std::string const why =
      simulation.in_place_of_grid.empty()
          ? fmt::format("{} has no grid: its parameters tell its size", simulation.name)
          : fmt::format("there is no grid: {} tells the size", simulation.in_place_of_grid);
  for (auto const* section : {"grid", "boundary"}) visitor.refuse(section, why);
}

void refuse_shared(Visitor& visitor, SimulationInfo const& simulation) {
  std::vector<std::string_view> sections;
  if (simulation.has_own_sections) sections = {"parameters"};
  if (simulation.has_own_results) sections.insert(sections.end(), {"boundary", "diagnostics"});
  for (std::string_view const section : sections)
    visitor.refuse(section,
                   fmt::format("{0} has sections of its own in place of it (`gridstride describe "
                               "{0}` tells them)",
                               simulation.name));
}

void refuse_time(Visitor& visitor, SimulationInfo const& simulation) {
  constexpr std::pair<std::string_view, std::string_view> sections[] = {
      {"initial", "there are no initial fields"},
      {"time", "it is computed in one go"},
      {"checkpoint", "it is computed in one go, and leaves no state to go on from"}};
  for (auto const& [section, why] : sections)
    visitor.refuse(section, fmt::format("{} has no time: {}", simulation.name, why));
}

/// The forms of a cadence; at most one of its values is set.
void declare_cadence(Visitor& visitor, std::string_view documentation, Cadence& cadence) {
  double time = cadence.time.value_or(required_number);
  std::int64_t steps = cadence.steps.value_or(required_integer);
  std::int64_t count = cadence.count.value_or(required_integer);
  auto const by_time = [&](Visitor& v) {
    v.visit({.name = "time",
             .unit = "s",
             .documentation = "Each time that this much time has passed.",
             .minimum = 0,
             .exclusive_minimum = true},
            time);
  };
  auto const by_steps = [&](Visitor& v) {
    v.visit({.name = "steps", .documentation = "Each so many steps.", .minimum = 1}, steps);
  };
  auto const by_count = [&](Visitor& v) {
    v.visit(
        {.name = "count", .documentation = "So many times, evenly spaced in time.", .minimum = 1},
        count);
  };
  Form const forms[] = {{.kind = Form::Kind::mapping, .body = by_time},
                        {.kind = Form::Kind::mapping, .body = by_steps},
                        {.kind = Form::Kind::mapping, .body = by_count}};
  int chosen = cadence.time ? 0 : cadence.steps ? 1 : cadence.count ? 2 : -1;
  visitor.forms({.name = "every", .documentation = documentation}, Presence::optional, forms,
                chosen);
  cadence = {};
  if (chosen == 0) cadence.time = time;
  if (chosen == 1) cadence.steps = steps;
  if (chosen == 2) cadence.count = count;
}

void declare_formats(Visitor& visitor, SimulationInfo const& simulation,
                     std::vector<std::string>& formats) {
  std::vector<Choice> choices;
  for (OutputFormat const& format : simulation.formats)
    choices.push_back({format.name, format.documentation});
  std::vector<std::string> chosen = formats;
  visitor.subset({.name = "formats", .documentation = "File formats; `[]` writes no fields."},
                 choices, chosen);
  formats.clear();
  for (OutputFormat const& format : simulation.formats)
    if (std::ranges::find(chosen, format.name) != chosen.end()) formats.emplace_back(format.name);
}

void declare_written_precision(Visitor& visitor, Precision of_run,
                               std::optional<Precision>& precision) {
  constexpr Choice choices[] = {{"auto", "that of the run"},
                                {"float32", "4 bytes a value, rounded to nearest"},
                                {"float64", "8 bytes a value"}};
  std::string name(precision ? name_of(*precision) : "auto");
  visitor.choice({.name = "precision",
                  .documentation = "The type of what results hold; checkpoints and diagnostics "
                                   "have the run's."},
                 choices, name);
  precision = {};
  if (name == "float32") precision = Precision::float32;
  if (name == "float64") precision = Precision::float64;
  if (precision == Precision::float64 && of_run == Precision::float32)
    visitor.fault("precision",
                  "the run computes in float32, which has no more to write (leave it out, or "
                  "choose precision: float64 for the run)");
}

/// A number for all axes, or one for each.
void declare_thinning(Visitor& v, RunOptions const& run, std::vector<std::int64_t>& every) {
  auto const& points = run.grid_options.points;
  std::size_t const axes = points.empty() ? most_axes : points.size();
  if (every.empty()) every.assign(axes, 1);
  bool const usable =
      v.list({.name = "every_nth_point",
              .documentation = "Only the points 0, n, 2n, … of each axis are written: one n for "
                               "all axes, or one for each. Fields on grids of their own are "
                               "written whole.",
              .minimum = 1},
             {1, axes, 1.0}, every);
  if (!usable || points.empty()) return;
  bool const for_all = every.size() == 1 && axes > 1;
  if (for_all) every.assign(axes, every.front());
  if (every.size() != axes)
    return v.fault("every_nth_point",
                   fmt::format("1 or {} values expected, here are {}", axes, every.size()));
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (every[axis] > 1 && every[axis] >= points[axis]) {
      v.fault("every_nth_point",
              fmt::format("n = {} leaves one point of {} along {} (at most {} is possible)",
                          every[axis], points[axis], axis_names[axis], points[axis] - 1));
      if (for_all) return;
    }
}

void declare_output(Visitor& visitor, RunOptions& run) {
  OutputOptions& output = run.output;
  SimulationInfo const& simulation = *run.simulation;
  visitor.section(
      {.name = "output", .documentation = "What is written, where and how often."},
      [&](Visitor& v) {
        std::string directory = output.directory.string();
        declare_path(v,
                     {.name = "directory",
                      .documentation = "Directory of the results, relative to the working "
                                       "directory; NAME is the config file's name without its "
                                       "ending."},
                     Presence::optional, directory);
        output.directory = directory;

        declare_formats(v, simulation, output.formats);
        if (simulation.has_time)
          declare_cadence(v,
                          "How often fields are written; the start and the end are written always.",
                          output.every);
        else
          v.refuse("every",
                   fmt::format("{} has no time: its result is written once", simulation.name));
        declare_derived(v, run);
        std::vector<Choice> fields;
        for (FieldInfo const& field : run.fields)
          fields.push_back({.name = field.name, .any_name = field.any_name});
        v.subset({.name = "fields", .documentation = "The fields that are written."}, fields,
                 output.fields);
        declare_written_precision(v, run.precision, output.precision);
        if (run.has_grid)
          declare_thinning(v, run, output.every_nth_point);
        else
          v.refuse("every_nth_point",
                   fmt::format("{} has no grid: its results are written whole", simulation.name));
        v.visit({.name = "compression",
                 .documentation = "How hard files are packed, by deflate: 0 not at all, 1 fast, 9 "
                                  "small.",
                 .minimum = 0,
                 .maximum = 9},
                output.compression);
      });
}

void check_formats(Visitor& visitor, RunOptions const& run) {
  for (OutputFormat const& format : run.simulation->formats)
    if (format.check && run.output.has_format(format.name)) format.check(visitor, run);
}

void declare_checkpoint(Visitor& visitor, CheckpointOptions& checkpoint) {
  visitor.section({.name = "checkpoint", .documentation = "States that a run can go on from."},
                  [&](Visitor& v) {
                    declare_cadence(
                        v,
                        "How often the state is saved; when left out, only when a signal stops the "
                        "run.",
                        checkpoint.every);
                    v.visit({.name = "keep",
                             .documentation = "How many of the latest checkpoints stay.",
                             .minimum = 1},
                            checkpoint.keep);
                  });
}

void declare_fused_steps(Visitor& visitor, RunOptions& run) {
  visitor.visit(
      {.name = "fused_steps",
       .documentation = "How many time steps one pass over memory makes, where the scheme "
                        "and the problem allow more than one; the result is the same.",
       .minimum = 1,
       .maximum = static_cast<double>(run.simulation->most_fused_steps)},
      run.fused_steps, "auto");
  if (run.fused_steps && *run.fused_steps != std::floor(*run.fused_steps))
    visitor.fault("fused_steps", fmt::format("{} is not a whole number", *run.fused_steps));
}

void declare_kernels(Visitor& visitor, RunOptions& run) {
  visitor.section({.name = "kernels",
                   .documentation = "Kernel variants by name (`gridstride list kernels`); `auto` "
                                    "is the fastest that gives the same bits each run."},
                  [&](Visitor& v) {
                    for (auto const& family : run.simulation->kernels) {
                      std::vector<Choice> choices = choices_of(family.variants);
                      choices.insert(choices.begin(), Choice{"auto"});
                      std::string const name(family.name);
                      v.choice(
                          {.name = family.name, .documentation = "Variant of this kernel family."},
                          choices, run.kernels[name]);
                    }
                    if (run.simulation->most_fused_steps > 0) declare_fused_steps(v, run);
                  });
}

/// Cut along the slowest axis, and where there is time along the others.
void declare_ranks(Visitor& visitor, RunOptions& run) {
  bool const usable = visitor.list(
      {.name = "ranks",
       .documentation =
           "How many processes share the steps (docs/cluster.md): a number, or the "
           "parts of the grid along each axis. Where it is given, another number of processes "
           "is refused.",
       .minimum = 1,
       .maximum = 1 << 20},
      {1, 3, std::nullopt, Presence::optional}, run.parts);
  auto const& parts = run.parts;
  std::size_t const axes = run.grid_options.points.size();
  if (!usable || parts.size() < 2 || axes == 0) return;
  if (parts.size() != axes)
    visitor.fault("ranks",
                  fmt::format("has parts along {} axes, the grid has {} (a number alone is "
                              "that of the processes)",
                              parts.size(), axes));
  else if (auto const first = std::ranges::find_if(parts, [](auto count) { return count > 1; });
           !run.simulation->has_time && parts.end() - first > 1)
    visitor.fault("ranks",
                  fmt::format("parts along {} are not possible, only along {} (as {} instead)",
                              axis_names[static_cast<std::size_t>(first - parts.begin())],
                              axis_names[axes - 1], *run.wanted_ranks()));
}

}  // namespace

std::optional<std::int64_t> RunOptions::wanted_ranks() const {
  if (parts.empty()) return {};
  std::int64_t count = 1;
  for (std::int64_t const along : parts) count *= along;
  return count;
}

std::vector<std::string> default_formats(SimulationInfo const& simulation) {
  std::vector<std::string> formats;
  for (OutputFormat const& format : simulation.formats) formats.emplace_back(format.name);
  return formats;
}

RunConfig default_run(SimulationInfo const& simulation, std::string const& name) {
  RunConfig run;
  run.name = name;
  run.simulation = &simulation;
  run.has_grid = simulation.has_grid;
  run.variables = simulation.variables;
  run.parameters = simulation.make_parameters();
  run.language = run.parameters->language();
  if (!simulation.schemes.empty()) run.time.scheme = simulation.schemes.front();
  run.time.end = simulation.has_time ? required_number : 0;
  run.output.directory = std::filesystem::path("outputs") / name;
  run.output.formats = default_formats(simulation);
  if (simulation.has_time) run.output.every.count = 10;
  run.diagnostics = default_diagnostics(simulation);
  for (auto const& family : simulation.kernels) run.kernels[std::string(family.name)] = "auto";
  take_fields(run, simulation.fields);
  return run;
}

void declare_simulation(Visitor& visitor, std::span<SimulationInfo const> simulations,
                        std::string& name) {
  std::vector<Choice> choices;
  for (auto const& simulation : simulations)
    choices.push_back({simulation.name, simulation.summary});
  visitor.choice({.name = "simulation", .documentation = "What is computed."}, choices, name);
}

void declare_run(Visitor& visitor, RunOptions& run, ParameterSet& parameters) {
  SimulationInfo const& simulation = *run.simulation;
  std::string_view const instead = simulation.in_place_of_grid;
  if (!instead.empty() && visitor.given(instead)) {
    run.has_grid = false;
    run.variables = simulation.variables_without_grid;
  }
  visitor.variables(run.variables);
  declare_device(visitor, run.device);
  declare_precision(visitor, run.precision);
  visitor.constants({.name = "constants",
                     .documentation = "Names for numbers, for use in every formula and in place of "
                                      "every number but whole ones: a number (with a unit, "
                                      "converted to SI) or a formula of the names before."},
                    run.constants);
  if (simulation.has_time) declare_sweep(visitor, run);
  refuse_shared(visitor, simulation);
  if (run.has_grid)
    declare_grid(visitor, run);
  else if (!simulation.has_own_results)
    refuse_grid(visitor, simulation);
  declare_parameters(visitor, run, parameters);
  declare_fields(visitor, run, parameters);
  if (run.has_grid) declare_boundary(visitor, run, parameters);
  if (simulation.has_time) declare_initial(visitor, run, parameters);
  if (simulation.has_time)
    declare_time(visitor, run.time, simulation);
  else
    refuse_time(visitor, simulation);
  declare_output(visitor, run);
  check_formats(visitor, run);
  if (simulation.has_time) declare_checkpoint(visitor, run.checkpoint);
  if (!simulation.has_own_results) declare_diagnostics(visitor, run);
  declare_verify(visitor, run);
  if (simulation.takes_ranks)
    declare_ranks(visitor, run);
  else
    visitor.refuse("ranks", fmt::format("{} is computed by one process", simulation.name));
  check_beside_sweep(visitor, run);
  declare_kernels(visitor, run);
  if (simulation.limits == SimulationInfo::LimitsOf::data) declare_limits(visitor, run.limits);
  if (simulation.limits == SimulationInfo::LimitsOf::grid) declare_grid_limits(visitor, run.limits);
}

Declaration collect_run(RunOptions& run, ParameterSet& parameters) {
  Declaration root = collect([&](Visitor& v) {
    std::string name(run.simulation->name);
    declare_simulation(v, {run.simulation, 1}, name);
    declare_run(v, run, parameters);
  });
  auto& keys = root.children;
  auto const place = [&](std::string_view name) {
    return std::ranges::find(keys, name, &Declaration::name);
  };
  auto const of_simulation = place("parameters");
  for (std::string_view const early : {"boundary", "initial"}) {
    auto const key = place(early);
    if (key != keys.end() && of_simulation != keys.end())
      std::rotate(place("parameters"), key, key + 1);
  }
  root.value = section_value(root);
  return root;
}

}  // namespace gridstride::config

#include "driver/prepare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <span>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/text.hpp"
#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"
#include "driver/formulas.hpp"
#include "driver/output_paths.hpp"
#include "driver/result_source.hpp"
#include "io/dataset.hpp"
#include "io/matrix_market.hpp"
#include "io/result.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/families.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "model/values.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace fs = std::filesystem;

Device choose_device(config::RunConfig const& run, std::vector<std::string>& fallbacks) {
  auto const& choice = run.device;
  if (!choice.backend) {
    auto const devices = Device::available();
    if (devices.size() > 1) return devices[1];
    fallbacks.push_back("device: auto took the cpu (" + Device::cuda_unavailable_reason() + ")");
    return devices[0];
  }
  try {
    return Device::open(*choice.backend, choice.ordinal);
  } catch (Error const& error) {
    throw ConfigError({run.problem(
        run.location("device"), fmt::format("{}; 'auto' or 'cpu' run on the host", error.what()))});
  }
}

namespace {

/// Why the formulas of a run cannot be compiled on a device; empty when they can.
std::string compiler_refusal(Device const& device) {
  try {
    Stream stream(device);
    evaluate::Program(stream, expression::Expression::parse("x"), "compiled");
  } catch (RuntimeCompilerMissing const& missing) {
    return missing.what();
  }
  return {};
}

std::vector<Problem> variant_problems(config::RunConfig const& run, Device const& device) {
  std::vector<Problem> problems;
  for (auto const& family : kernel_families()) {
    auto const chosen = run.kernels.find(family.name);
    if (chosen == run.kernels.end() || chosen->second == "auto") continue;
    std::vector<std::string_view> usable;
    std::string needs;
    for (auto const& row : family.rows) {
      if (row.backend != device.backend() || !row.in_build) continue;
      auto const lacking = missing(device.capabilities(), row.needs);
      if (device.backend() == Backend::cpu || lacking.empty())
        usable.push_back(row.name);
      else if (row.name == chosen->second)
        needs = fmt::format("needs {}; ", lacking);
    }
    auto const location = run.location(fmt::format("kernels.{}", family.name));
    if (std::find(usable.begin(), usable.end(), chosen->second) == usable.end())
      problems.push_back(run.problem(
          location, fmt::format("'{}' does not run on this device ({}{} has {})", chosen->second,
                                needs, name_of(device.backend()), format_choices(usable))));
    else if (auto const lack = chosen->second == "compiled" ? compiler_refusal(device) : "";
             !lack.empty())
      problems.push_back(
          run.problem(location, fmt::format("'compiled' cannot be used ({})", lack)));
    else if (auto const why = diagnostics_refusal(family.name, chosen->second, device);
             !why.empty())
      problems.push_back(run.problem(
          location, fmt::format("'{}' cannot serve the diagnostics ({})", chosen->second, why)));
  }
  return problems;
}

std::vector<std::int64_t> shape_of(config::FieldSource const& source) {
  if (source.dataset.empty()) {
    auto const shape = io::inspect_matrix_market(source.file);
    return {shape.begin(), shape.end()};
  }
  auto const info = io::inspect_dataset(source.file, source.dataset);
  if (info.numeric) return info.shape;
  throw IoError(source.file, fmt::format("dataset '{}' holds {} (numbers are needed)",
                                         source.dataset, info.type));
}

/// A cell of the grid, or what stands at that place of an array without one: `[3][5]`.
std::string format_place(config::RunConfig const& run, config::FieldSource const& source,
                         std::int64_t index) {
  if (run.simulation->has_grid)
    return fmt::format(
        "cell ({}){}", fmt::join(run.grid.indices(index / source.numbers), ", "),
        source.numbers > 1 ? fmt::format(", component {}", index % source.numbers) : "");
  auto place = shape_of(source);
  for (auto& extent : std::views::reverse(place)) {
    std::int64_t const lines = index / extent;
    extent = index % extent;
    index = lines;
  }
  return format_shape(place);
}

void read_values(config::FieldSource const& source, std::span<double> values) {
  if (source.moment)
    read_result(source, values);
  else if (source.dataset.empty())
    io::read_matrix_market(source.file, values);
  else
    io::read_dataset(source.file, source.dataset, values);
}

/// What the grid says of the initial datasets' shapes.
std::vector<Problem> dataset_problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> problems;
  for (auto const& [name, source] : run.initial) {
    try {
      auto const fault = shape_fault(run, source, inputs);
      if (!fault.empty()) problems.push_back(run.problem(source.location, fault));
    } catch (ConfigError const& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  return problems;
}

/// A run that writes over its config, or is compared with itself.
std::vector<Problem> own_output_problems(config::RunConfig const& run) {
  std::vector<Problem> problems;
  OutputPaths const paths(run);
  if (paths.owns(run.file))
    problems.push_back(
        run.problem(run.location("output.directory"), "the run would write over its own config"));
  if (!run.verify.reference.empty() && paths.owns(run.verify.reference))
    problems.push_back(
        run.problem(run.location("verify.reference"),
                    fmt::format("{} is what this very run writes, and always equal to it",
                                run.verify.reference.string())));
  return problems;
}

}  // namespace

Inputs inputs_of(config::RunConfig const& run) {
  /// What a file has wrong is wrong at the place of the config that names it.
  auto const located = [&run](config::FieldSource const& source, auto const& use) {
    if (OutputPaths(run).owns(source.file))
      throw ConfigError({run.problem(
          source.location, fmt::format("{} is written by this very run, which would destroy what "
                                       "it begins with; give another name or output.directory",
                                       source.file.string()))});
    try {
      return use();
    } catch (IoError const& error) {
      throw ConfigError({run.problem(source.location, error.what())});
    }
  };
  auto const shape = [&run, located](config::FieldSource const& source) {
    return located(source,
                   [&] { return source.moment ? result_shape(run, source) : shape_of(source); });
  };
  auto const read = [&run, located](config::FieldSource const& source, std::span<double> values) {
    located(source, [&] { read_values(source, values); });
    auto const bad = std::find_if(values.begin(), values.end(),
                                  [](double value) { return !std::isfinite(value); });
    if (bad != values.end())
      throw ConfigError({run.problem(
          source.location,
          fmt::format("{} has {} at {} (all values have to be finite)", describe(source), *bad,
                      format_place(run, source, bad - values.begin())))});
  };
  return {shape, read};
}

void check_on_device(config::RunConfig const& run, Device const& device) {
  auto const& entry = entry_of(run);
  auto const inputs = inputs_of(run);
  auto problems = variant_problems(run, device);
  auto const append = [&](std::vector<Problem> const& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  append(dataset_problems(run, inputs));
  append(own_output_problems(run));
  if (entry.problems) append(entry.problems(run, inputs));
  if (problems.empty()) append(variant_problems(entry, run, inputs, device));
  if (!problems.empty()) throw ConfigError(problems);
}

namespace {

/// What keeps results from being written where the config says.
std::vector<Problem> place_problems(config::RunConfig const& run) {
  OutputPaths const paths(run);
  std::vector<Problem> problems;
  auto const fault = [&](fs::path const& path, std::string_view why) {
    problems.push_back(
        run.problem(run.location("output.directory"), fmt::format("'{}' {}", path.string(), why)));
  };
  std::error_code error;
  fs::path const folder = nearest_existing(paths.directory);
  if (!fs::is_directory(folder, error))
    fault(folder, "is not a folder");
  else if (access(folder.c_str(), W_OK | X_OK) != 0)
    fault(folder, fmt::format("cannot be written to ({})", std::strerror(errno)));
  std::vector<fs::path> files;
  for (FormatRow const& row : format_rows()) files.push_back(paths.file(row.file));
  files.push_back(paths.log);
  for (fs::path const& file : files) {
    if (!fs::exists(file, error)) continue;
    if (!fs::is_regular_file(file, error))
      fault(file, "is in the way (it is not a file)");
    else if (access(file.c_str(), W_OK) != 0)
      fault(file, fmt::format("cannot be written to ({})", std::strerror(errno)));
  }
  return problems;
}

}  // namespace

Forecast check_before_run(config::RunConfig const& run, Stream& stream) {
  Device const& device = stream.device();
  // A grid of which not one field fits has too many points to look at.
  double const field =
      static_cast<double>(run.grid.size()) * static_cast<double>(size_of(run.precision));
  if (run.simulation->has_grid && field > static_cast<double>(device.free_memory()))
    forecast(run, device);
  check_on_device(run, device);
  if (auto problems = place_problems(run); !problems.empty()) throw ConfigError(problems);
  auto const expected = forecast(run, device);
  if (auto problems = formula_problems(run, stream); !problems.empty()) throw ConfigError(problems);
  return expected;
}

void check_start(config::RunConfig const& run, Stream& stream) {
  auto const simulation = entry_of(run).make(run, stream, inputs_of(run));
  if (run.simulation->has_time) require_finite_start(run, *simulation, stream);
}

void check_reference(config::RunConfig const& run) {
  auto const& path = run.verify.reference;
  if (path.empty()) return;
  auto const refuse = [&](std::string message) {
    throw ConfigError({run.problem(run.location("verify.reference"), std::move(message))});
  };
  std::error_code error;
  if (!fs::exists(path, error))
    refuse(fmt::format("there is no file {} (`verify --update` stores the run's result there)",
                       path.lexically_normal().string()));
  try {
    io::ResultFile const reference(path);
    if (run.simulation->has_grid && reference.grid() != run.grid)
      refuse(fmt::format("{} holds a grid of {} points, or other ends (the run has {})",
                         path.lexically_normal().string(), format_points(reference.grid()),
                         format_points(run.grid)));
  } catch (IoError const& failed) {
    refuse(failed.what());
  }
}

}  // namespace gridstride

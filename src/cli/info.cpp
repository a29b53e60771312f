#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <numeric>

#include "cli/commands.hpp"
#include "driver/run_log.hpp"
#include "io/result.hpp"

namespace gridstride::cli {

namespace {

void print_histogram(io::Histogram const& last) {
  fmt::print("last       {} = {} values in {} bins from {} to {}\n", last.name,
             std::accumulate(last.counts.begin(), last.counts.end(), std::int64_t{0}),
             last.counts.size(), last.edges.front(), last.edges.back());
}

int print_info(std::string const& path) {
  io::ResultFile const result(path);
  auto const& from = result.provenance();
  Grid const& grid = result.grid();
  fmt::print("{}: {}\n", result.path().string(), run_state(result));
  fmt::print("written    {} by gridstride {} ({})\n", from.created, from.version, from.git_hash);
  fmt::print("device     {}\n", from.device);
  fmt::print("grid       {}\n", format_points(grid));
  for (int axis = 0; axis < grid.dims; ++axis)
    fmt::print("  {}        from {} to {}, spacing {}\n", axis_names[axis], grid.origin[axis],
               grid.coordinate(axis, grid.points[axis] - 1), grid.spacing[axis]);
  for (auto const& field : result.fields())
    fmt::print("field      {} [{}] {}\n", field.name, field.unit, name_of(field.precision));
  auto const& times = result.times();
  if (!times.empty())
    fmt::print("times      {}, from {} to {} (step {})\n", times.size(), times.front(),
               times.back(), result.steps().back());
  for (auto const& [name, text] : from.chosen) fmt::print("chosen     {} {}\n", name, text);
  for (auto const& series : result.diagnostics())
    if (!series.values.empty())
      fmt::print("last       {} = {}\n", series.name, series.values.back());
  for (auto const& info : result.histograms())
    if (!times.empty()) print_histogram(result.read_histogram(info.name, times.size() - 1));
  for (NamedValue const& phase : result.wall_times())
    fmt::print("wall time  {} {:.3f} s\n", phase.name, phase.value);
  for (auto const& fallback : from.fallbacks) fmt::print("fallback   {}\n", fallback);
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  auto const path = std::make_shared<std::string>();
  auto* command = app.add_subcommand("info", "What a result holds and where it comes from");
  command->add_option("output", *path, "An .h5 file, or a run's directory")->required();
  command->callback([path, &action] { action = [path] { return print_info(*path); }; });
}

}  // namespace gridstride::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <memory>
#include <numeric>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "driver/run_log.hpp"
#include "io/checkpoint.hpp"
#include "io/result.hpp"

namespace gridstride::cli {

namespace {

void print_histogram(Histogram const& last) {
  fmt::print("last       {} = {} values in {} bins from {} to {}\n", last.name,
             std::accumulate(last.counts.begin(), last.counts.end(), std::int64_t{0}),
             last.counts.size(), last.edges.front(), last.edges.back());
}

Json json_checkpoint(io::CheckpointFile const& checkpoint) {
  Json values = Json::object();
  for (auto const& [name, size] : checkpoint.inspect()) values[name] = size;
  auto const& [problem, step, time] = checkpoint.origin();
  return {{"file", checkpoint.path().string()},
          {"step", step},
          {"time", json_number(time)},
          {"values", std::move(values)},
          {"problem", problem}};
}

void print_checkpoint(io::CheckpointFile const& checkpoint) {
  auto const values = checkpoint.inspect();
  auto const& [problem, step, time] = checkpoint.origin();
  fmt::print("{}: intact checkpoint\nstep       {}\ntime       {}\n", checkpoint.path().string(),
             step, time);
  for (auto const& [name, size] : values) fmt::print("holds      {} [{}]\n", name, size);
  fmt::print("problem\n{}", problem);
}

Json json_grid(Grid const& grid) {
  Json points = Json::array(), origin = Json::array(), spacing = Json::array();
  for (int axis = 0; axis < grid.dims; ++axis) {
    points.push_back(grid.points[axis]);
    origin.push_back(grid.origin[axis]);
    spacing.push_back(grid.spacing[axis]);
  }
  return {{"points", points}, {"origin", origin}, {"spacing", spacing}};
}

Json json_field(io::FieldInfo const& field) {
  Json json = {{"name", field.name}, {"unit", field.unit}, {"precision", name_of(field.precision)}};
  if (field.components > 1) json["components"] = field.components;
  if (field.own_grid) json["grid"] = json_grid(*field.own_grid);
  return json;
}

std::string_view type_of(io::ColumnInfo const& column) {
  return column.whole ? "int64" : "float64";
}

/// How many rows a table has at each step.
std::vector<std::int64_t> rows_of(io::ResultFile const& result, io::TableInfo const& table) {
  std::vector<std::int64_t> rows;
  for (std::size_t step = 0; step < result.times().size(); ++step)
    rows.push_back(result.rows(table.name, step));
  return rows;
}

Json json_table(io::ResultFile const& result, io::TableInfo const& table) {
  Json columns = Json::array();
  for (auto const& column : table.columns)
    columns.push_back({{"name", column.name}, {"unit", column.unit}, {"type", type_of(column)}});
  return {{"name", table.name}, {"columns", columns}, {"rows", rows_of(result, table)}};
}

Json json_info(io::ResultFile const& result) {
  auto const& from = result.provenance();
  Json fields = Json::array(), diagnostics = Json::object(), histograms = Json::object();
  Json tables = Json::array();
  for (auto const& field : result.fields()) fields.push_back(json_field(field));
  for (auto const& table : result.tables()) tables.push_back(json_table(result, table));
  for (auto const& series : result.diagnostics())
    diagnostics[series.name] = json_numbers(series.values);
  for (auto const& info : result.histograms()) {
    if (result.times().empty()) continue;
    auto const last = result.read_histogram(info.name, result.times().size() - 1);
    histograms[info.name] = {{"counts", last.counts}, {"edges", json_numbers(last.edges)}};
  }
  return {{"file", result.path().string()},
          {"complete", result.complete() && result.ended().empty()},
          {"state", run_state(result)},
          {"version", from.version},
          {"git_hash", from.git_hash},
          {"created", from.created},
          {"device", from.device},
          {"precision", from.precision},
          {"grid", json_grid(result.grid())},
          {"fields", std::move(fields)},
          {"tables", std::move(tables)},
          {"times", json_numbers(result.times())},
          {"steps", result.steps()},
          {"diagnostics", std::move(diagnostics)},
          {"last_histograms", std::move(histograms)},
          {"resolved_config", from.resolved_config},
          {"chosen", json_named(from.chosen)},
          {"wall_times", json_named(result.wall_times())},
          {"fallbacks", from.fallbacks}};
}

void print_axes(Grid const& grid) {
  for (int axis = 0; axis < grid.dims; ++axis)
    fmt::print("  {}        from {} to {}, spacing {}\n", axis_names[axis], grid.origin[axis],
               grid.coordinate(axis, grid.points[axis] - 1), grid.spacing[axis]);
}

void print_field(io::FieldInfo const& field) {
  fmt::print("field      {} [{}] {}{}{}\n", field.name, field.unit, name_of(field.precision),
             field.components > 1 ? fmt::format(", {} components", field.components) : "",
             field.own_grid
                 ? fmt::format(", on a grid of its own: {}", format_points(*field.own_grid))
                 : "");
  if (field.own_grid) print_axes(*field.own_grid);
}

void print_table(io::ResultFile const& result, io::TableInfo const& table) {
  std::vector<std::string> columns;
  for (auto const& column : table.columns)
    columns.push_back(fmt::format("{} [{}] {}", column.name, column.unit, type_of(column)));
  auto const rows = rows_of(result, table);
  fmt::print("table      {}: {}", table.name, fmt::join(columns, ", "));
  if (!rows.empty()) fmt::print("; {} rows at the end", rows.back());
  fmt::print("\n");
}

void print_info(io::ResultFile const& result) {
  auto const& from = result.provenance();
  fmt::print("{}: {}\n", result.path().string(), run_state(result));
  fmt::print("written    {} by gridstride {} ({})\n", from.created, from.version, from.git_hash);
  fmt::print("device     {}\n", from.device);
  fmt::print("grid       {}\n", format_points(result.grid()));
  print_axes(result.grid());
  for (auto const& field : result.fields()) print_field(field);
  for (auto const& table : result.tables()) print_table(result, table);
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
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  struct Options {
    std::string path;
    bool json = false;
  };
  auto const options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("info", "What a result or a checkpoint holds, and where it comes from");
  command->add_option("output", options->path, "An .h5 file, a checkpoint, or a run's directory")
      ->required();
  command->add_flag("--json", options->json, "As JSON, with all values of the diagnostics");
  command->callback([options, &action] {
    action = [options] {
      if (io::is_checkpoint(options->path)) {
        io::CheckpointFile const checkpoint(options->path);
        if (options->json)
          print_json(json_checkpoint(checkpoint));
        else
          print_checkpoint(checkpoint);
        return 0;
      }
      io::ResultFile const result(options->path);
      if (options->json)
        print_json(json_info(result));
      else
        print_info(result);
      return 0;
    };
  });
}

}  // namespace gridstride::cli

#include "driver/output_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "driver/reduction.hpp"
#include "driver/run_log.hpp"

namespace gridstride {

namespace {

bool is_chosen(config::RunConfig const& run, Field const& field) {
  auto const& names = run.output.fields;
  return std::find(names.begin(), names.end(), field.name) != names.end();
}

/// The points of the grid of the file that are written, or where there is none the grid of the first
/// field.
Grid main_grid(config::RunConfig const& run, std::vector<Field> const& fields) {
  return run.has_grid || fields.empty() ? written_grid(run) : fields.front().grid;
}

/// The fields of a run that are written, in the simulation's order.
std::vector<Field> chosen(config::RunConfig const& run, std::vector<Field> const& fields) {
  std::vector<Field> result;
  std::copy_if(fields.begin(), fields.end(), std::back_inserter(result),
               [&](Field const& field) { return is_chosen(run, field); });
  return result;
}

}  // namespace

OutputFiles::OutputFiles(config::RunConfig const& run, Snapshot const& first,
                         io::Provenance const& provenance, std::optional<Resumed> resumed)
    : run_(run),
      paths_(run),
      contents_{main_grid(run, first.fields),
                {},
                diagnostic_names(run, first.fields),
                provenance,
                histogram_infos(run, first.fields),
                {},
                static_cast<int>(run.output.compression)},
      resumed_(resumed) {
  for (Field const& field : chosen(run, first.fields))
    contents_.fields.push_back(io::info_of(written_form(run, field), contents_.grid));
  for (Table const& table : first.tables) contents_.tables.push_back(io::info_of(table));
  for (auto const& found : first.diagnostics) add_own_name(found.name);
  for (auto const& number : first.numbers) add_own_name(number.name);
  for (FormatRow const& row : format_rows())
    if (row.writes(run)) writers_.push_back(row.open({paths_, contents_, resumed_}));
  if (resumed_) require_no_other_formats();
}

/// What a restart does not go on with would end before the run does, and tell that it is complete.
void OutputFiles::require_no_other_formats() const {
  for (FormatRow const& row : format_rows()) {
    if (row.writes(run_)) continue;
    auto const refuse = [&](std::filesystem::path const& file) {
      if (!std::filesystem::exists(file)) return;
      bool const is_left_out = !run_.output.has_format(row.format.name);
      throw ConfigError({run_.problem(
          run_.location(is_left_out ? "output.formats" : "output.fields"),
          fmt::format("{} of the first part of the run would not be gone on with ({}); move it "
                      "elsewhere, or have it written",
                      file.string(),
                      is_left_out ? fmt::format("'{}' is left out", row.format.name)
                                  : "no fields are written"))});
    };
    refuse(paths_.file(row.file));
    if (!row.aside.empty()) refuse(paths_.file(row.aside));
    for (config::FieldInfo const& field : run_.fields)
      if (!row.series.empty()) refuse(paths_.of_field(field.name).file(row.file));
  }
}

/// A number of the simulation's own.
void OutputFiles::add_own_name(std::string const& name) {
  auto& names = contents_.diagnostics;
  if (std::ranges::find(names, name) != names.end())
    throw ConfigError({run_.problem(
        run_.location("diagnostics"),
        fmt::format("'{}' is the name of a number that {} itself gives (choose another)", name,
                    run_.simulation->name))});
  names.push_back(name);
}

void OutputFiles::begin() {
  std::string const removed = resumed_ ? remove_later_checkpoints() : std::string();
  for (auto const& writer : writers_) writer->begin();
  errno = 0;
  log_.open(paths_.log, resumed_ ? std::ios::app : std::ios::trunc);
  if (!log_) fail_log();
  if (!resumed_) remove_stale();
  if (!removed.empty()) log(removed);
}

/// Before any output goes: a restart that took one of them later would leave a gap in front of it.
/// Returns a line for the log, empty where there were none.
std::string OutputFiles::remove_later_checkpoints() const {
  auto const later = paths_.checkpoints_after(resumed_->clock.step);
  std::vector<std::string> names;
  for (auto const& path : later) {
    remove_earlier(path);
    names.push_back(path.filename().string());
  }
  if (names.empty()) return {};
  return fmt::format("removed, as of later steps than {}, from which the run goes on: {}",
                     resumed_->clock.step, fmt::join(names, ", "));
}

/// What this run does not replace. The checkpoints go last.
void OutputFiles::remove_stale() {
  for (FormatRow const& row : format_rows()) {
    if (row.writes(run_)) continue;
    remove_earlier(paths_.file(row.file));
    if (!row.aside.empty()) remove_earlier(paths_.file(row.aside));
    if (row.series.empty()) continue;
    for (auto const& path : paths_.all_numbered(row.series)) remove_earlier(path);
    for (auto const& paths : paths_.of_fields()) {
      remove_earlier(paths.file(row.file));
      for (auto const& path : paths.all_numbered(row.series)) remove_earlier(path);
    }
  }
  for (auto const& writer : writers_) writer->remove_stale();
  for (auto const& path : paths_.checkpoints()) remove_earlier(path);
}

bool OutputFiles::writes(Field const& field) const {
  return !writers_.empty() && is_chosen(run_, field);
}

std::vector<std::vector<FieldSink*>> OutputFiles::begin_steps(Clock const& clock) {
  std::vector<std::vector<FieldSink*>> all;
  for (auto const& writer : writers_) all.push_back(writer->begin_step(clock));
  return all;
}

std::vector<FieldTarget> OutputFiles::begin_snapshot(Clock const& clock,
                                                     std::vector<Field> const& fields) {
  begun_ = begin_steps(clock);
  rounding_.clear();
  std::vector<FieldTarget> targets;
  auto const written = chosen(run_, fields);
  for (auto const& sinks : begun_)
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i].data != nullptr) continue;
      FieldSink* sink = sinks[i];
      if (written_form(run_, written[i]).precision != written[i].precision)
        sink = rounding_.emplace_back(rounding_sink(run_, *sink, written[i], clock)).get();
      targets.push_back({written[i].name, sink});
    }
  return targets;
}

void OutputFiles::write(Snapshot const& snapshot, Measurement const& measured, io::Slabs& slabs,
                        Stream& copies, std::function<void()> const& copied_out) {
  auto const begun = begun_.empty() ? begin_steps(snapshot.clock) : std::exchange(begun_, {});
  auto const fields = chosen(run_, snapshot.fields);
  Reducer reducer(run_, copies, fields.size());
  std::vector<io::Slabs::Output> outputs;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    io::Slabs::Output output{static_cast<std::byte const*>(fields[i].data),
                             written_form(run_, fields[i]).bytes(),
                             {},
                             reducer.make(fields[i])};
    for (auto const& sinks : begun) {
      output.sinks.push_back(sinks[i]);
      bytes_ += static_cast<std::int64_t>(sinks[i]->bytes());
    }
    if (fields[i].data != nullptr) outputs.push_back(std::move(output));
  }
  slabs.write(outputs);
  reducer.check(snapshot.clock);
  copied_out();
  auto values = measured.values;
  values.insert(values.end(), snapshot.diagnostics.begin(), snapshot.diagnostics.end());
  for (auto const& writer : writers_)
    writer->commit_step(snapshot.clock, values, measured.histograms, snapshot.tables);
  std::string line = fmt::format("step {} time {}", snapshot.clock.step, snapshot.clock.time);
  for (auto const& found : values) line += fmt::format(" {} {}", found.name, found.value);
  log(line);
}

std::int64_t OutputFiles::count() const {
  std::int64_t files = 1;  // the log
  for (auto const& writer : writers_) files += writer->files();
  return files;
}

void OutputFiles::finish(io::Ending const& ending) {
  for (auto const& writer : writers_) writer->finish(ending);
}

void OutputFiles::note_end(std::string const& why) {
  auto const attempt = [](auto const& work) {
    try {
      work();
    } catch (IoError const&) {  // what ended the run is on its way to the user
    }
  };
  if (why != run_is_done)
    for (auto const& writer : writers_) attempt([&] { writer->stop(why); });
  attempt([&] { log(logged_ending(why)); });
}

void OutputFiles::fail_log() const {
  throw IoError(paths_.log, fmt::format("cannot be written ({})",
                                        errno != 0 ? std::strerror(errno) : "unknown reason"));
}

void OutputFiles::log(std::string const& line) {
  errno = 0;
  log_ << line << '\n' << std::flush;
  if (!log_) fail_log();
}

}  // namespace gridstride

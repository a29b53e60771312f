#include "driver/output_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.hpp"
#include "io/result.hpp"

namespace gridstride {

namespace fs = std::filesystem;

OutputPaths::OutputPaths(config::RunConfig const& run)
    : directory(run.output.directory),
      name(run.name),
      hdf5(directory / (name + ".h5")),
      pvd(directory / (name + ".pvd")),
      log(directory / (name + ".log")) {}

fs::path OutputPaths::vti(std::int64_t number) const {
  return directory / fmt::format("{}_{:06}.vti", name, number);
}

fs::path OutputPaths::checkpoint(std::int64_t step) const {
  return directory / fmt::format("{}_{:012}.checkpoint", name, step);
}

namespace {

/// The files NAME_<digits>EXTENSION of the directory, which may be missing.
std::vector<fs::path> numbered_files(OutputPaths const& paths, std::string const& extension) {
  std::vector<fs::path> found;
  std::string const prefix = paths.name + "_";
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::error_code missing;
  for (auto const& entry : fs::directory_iterator(paths.directory, missing)) {
    std::string const stem = entry.path().stem().string();
    if (entry.path().extension() != extension || !stem.starts_with(prefix)) continue;
    auto const number = std::string_view(stem).substr(prefix.size());
    if (!number.empty() && std::all_of(number.begin(), number.end(), is_digit))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Where a result goes while a restart carries over what it holds.
fs::path aside(fs::path const& result) { return result.string() + ".previous"; }

void remove_earlier(fs::path const& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) throw IoError(path, "of an earlier run cannot be removed (" + failed.message() + ")");
}

bool is_chosen(config::RunConfig const& run, Field const& field) {
  auto const& names = run.output.fields;
  return std::find(names.begin(), names.end(), field.name) != names.end();
}

/// The fields of a run that are written, in the simulation's order.
std::vector<Field> chosen(config::RunConfig const& run, std::vector<Field> const& fields) {
  std::vector<Field> result;
  std::copy_if(fields.begin(), fields.end(), std::back_inserter(result),
               [&](Field const& field) { return is_chosen(run, field); });
  return result;
}

/// What a result holds of one step's histograms, as far as it has them with as many bins.
std::vector<io::Histogram> histograms_of(io::ResultFile const& result, std::size_t step,
                                         std::vector<io::HistogramInfo> const& wanted) {
  std::vector<io::Histogram> found;
  for (auto const& info : wanted)
    if (std::count(result.histograms().begin(), result.histograms().end(), info) > 0)
      found.push_back(result.read_histogram(info.name, step));
  return found;
}

}  // namespace

std::vector<fs::path> OutputPaths::checkpoints() const {
  auto files = numbered_files(*this, ".checkpoint");
  std::reverse(files.begin(), files.end());  // of equally old files the one of the later step
  std::stable_sort(files.begin(), files.end(), [](fs::path const& a, fs::path const& b) {
    return fs::last_write_time(a) > fs::last_write_time(b);
  });
  return files;
}

OutputFiles::OutputFiles(config::RunConfig const& run, Snapshot const& first,
                         io::Provenance const& provenance, std::optional<Clock> resumed)
    : run_(run), paths_(run) {
  io::ResultContents contents{first.fields[0].grid,
                              {},
                              diagnostic_names(run.diagnostics, first.fields),
                              provenance,
                              histogram_infos(run.diagnostics, first.fields)};
  for (Field const& field : chosen(run, first.fields))
    contents.fields.push_back({field.name, field.unit, field.precision});
  for (auto const& found : first.diagnostics) contents.diagnostics.push_back(found.name);

  std::error_code failed;
  fs::create_directories(paths_.directory, failed);
  if (failed) throw IoError(paths_.directory, "cannot be created (" + failed.message() + ")");
  if (resumed) {
    carry_over_series(*resumed);
    carry_over_hdf5(*resumed, contents);
  } else {
    remove_stale();
  }
  if (run.output.hdf5 && !hdf5_) hdf5_.emplace(paths_.hdf5, contents);
  log_.open(paths_.log, resumed ? std::ios::app : std::ios::trunc);
  if (!log_) throw IoError(paths_.log, "cannot be written");
}

void OutputFiles::remove_stale() {
  for (auto const* extension : {".vti", ".checkpoint"})
    for (auto const& path : numbered_files(paths_, extension)) remove_earlier(path);
  for (auto const& path : {paths_.pvd, paths_.hdf5, aside(paths_.hdf5)}) remove_earlier(path);
}

void OutputFiles::carry_over_series(Clock const& resumed) {
  if (!run_.output.vti || !fs::exists(paths_.pvd)) return;
  std::set<std::string> kept;
  for (double const time : io::read_pvd_times(paths_.pvd)) {
    if (time >= resumed.time) continue;
    auto const file = paths_.vti(static_cast<std::int64_t>(series_.size())).filename().string();
    series_.push_back({time, file});
    kept.insert(file);
  }
  // The others are of a later time, and this run may write fewer.
  io::write_pvd(paths_.pvd, series_);
  for (auto const& path : numbered_files(paths_, ".vti"))
    if (!kept.contains(path.filename().string())) remove_earlier(path);
}

void OutputFiles::carry_over_hdf5(Clock const& resumed, io::ResultContents const& contents) {
  if (!run_.output.hdf5) return;
  // A restart that was killed while it carried over has left the whole of it aside.
  fs::path const previous = aside(paths_.hdf5);
  fs::path const source = fs::exists(previous) ? previous : paths_.hdf5;
  if (!fs::exists(source)) return;
  io::ResultFile const old(source);
  if (old.grid() != contents.grid ||
      !std::is_permutation(old.fields().begin(), old.fields().end(), contents.fields.begin(),
                           contents.fields.end()))
    throw IoError(source, "holds another grid or other fields than this run");
  if (source != previous) fs::rename(source, previous);
  hdf5_.emplace(paths_.hdf5, contents);
  for (std::size_t i = 0; i < old.steps().size() && old.steps()[i] < resumed.step; ++i) {
    std::vector<NamedValue> diagnostics;
    for (auto const& series : old.diagnostics())
      if (std::count(contents.diagnostics.begin(), contents.diagnostics.end(), series.name) > 0)
        diagnostics.push_back({series.name, series.values[i]});
    std::vector<Field> fields;
    std::deque<std::vector<double>> doubles;
    std::deque<std::vector<float>> floats;
    for (auto const& info : contents.fields) {
      auto const& values = doubles.emplace_back(old.read(info.name, i));
      void const* data = values.data();
      if (info.precision == Precision::float32)
        data = floats.emplace_back(values.begin(), values.end()).data();
      fields.push_back({info.name, info.unit, contents.grid, info.precision, data});
    }
    hdf5_->append(old.steps()[i], old.times()[i], fields, diagnostics,
                  histograms_of(old, i, contents.histograms));
  }
  fs::remove(previous);
}

bool OutputFiles::writes(Field const& field) const {
  return (run_.output.vti || run_.output.hdf5) && is_chosen(run_, field);
}

void OutputFiles::write(Snapshot const& snapshot, Measurement const& measured) {
  auto const fields = chosen(run_, snapshot.fields);
  auto const& [step, time] = snapshot.clock;
  auto values = measured.values;
  values.insert(values.end(), snapshot.diagnostics.begin(), snapshot.diagnostics.end());
  std::int64_t payload = 0;
  for (Field const& field : fields) payload += static_cast<std::int64_t>(field.bytes());
  if (run_.output.vti && !fields.empty()) {
    auto const path = paths_.vti(static_cast<std::int64_t>(series_.size()));
    io::write_vti(path, fields[0].grid, fields, time, step);
    series_.push_back({time, path.filename().string()});
    io::write_pvd(paths_.pvd, series_);
    ++vti_files_;
    bytes_ += payload;
  }
  if (hdf5_) {
    hdf5_->append(step, time, fields, values, measured.histograms);
    bytes_ += payload;
  }
  std::string line = fmt::format("step {} time {}", step, time);
  for (auto const& found : values) line += fmt::format(" {} {}", found.name, found.value);
  log(line);
}

std::int64_t OutputFiles::count() const {
  return vti_files_ + (vti_files_ > 0 ? 1 : 0) + (hdf5_ ? 1 : 0) + 1;
}

void OutputFiles::finish(io::Ending const& ending) {
  if (hdf5_) hdf5_->finish(ending);
}

void OutputFiles::log(std::string const& line) {
  log_ << line << '\n' << std::flush;
  if (!log_) throw IoError(paths_.log, "cannot be written");
}

}  // namespace gridstride

#include "driver/output_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/changes.hpp"
#include "driver/diagnostics.hpp"
#include "driver/run_log.hpp"
#include "io/vti.hpp"

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

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether a file is called NAME_<digits>EXTENSION.
bool is_numbered(std::string_view file, std::string const& name, std::string_view extension) {
  if (!file.starts_with(name + "_") || !file.ends_with(extension)) return false;
  file.remove_prefix(name.size() + 1);
  return file.size() > extension.size() &&
         is_number(file.substr(0, file.size() - extension.size()));
}

/// The files NAME_<digits>EXTENSION of the directory, which may be missing.
std::vector<fs::path> numbered_files(OutputPaths const& paths, std::string const& extension) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (auto const& entry : fs::directory_iterator(paths.directory, missing))
    if (is_numbered(entry.path().filename().string(), paths.name, extension))
      found.push_back(entry.path());
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

/// What may differ between two parts of a run; variants of kernels are the checkpoint's affair.
constexpr std::array<std::string_view, 7> free_to_change = {
    "device", "time.end", "output", "checkpoint", "diagnostics", "verify", "kernels"};

/// Every run writes its start, before its first checkpoint.
void require_new_series(fs::path const& missing, OutputFiles::Resumed const& resumed) {
  if (resumed.new_series || resumed.clock.step == 0) return;
  throw IoError(missing,
                fmt::format("{}; --new-series begins it anew from the checkpoint on",
                            fs::exists(missing) ? "holds nothing of the first part of the run"
                                                : "of the first part of the run is missing"));
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

bool OutputPaths::names(std::string const& file) const {
  for (auto const& path : {hdf5, pvd, log, aside(hdf5)})
    if (path.filename() == file) return true;
  return is_numbered(file, name, ".vti") || is_numbered(file, name, ".checkpoint");
}

bool OutputPaths::owns(fs::path const& path) const {
  std::error_code failed;
  auto const place = fs::weakly_canonical(path, failed);
  if (names(place.filename().string()) &&
      place.parent_path() == fs::weakly_canonical(directory, failed))
    return true;
  for (auto const& entry : fs::directory_iterator(directory, failed))
    if (names(entry.path().filename().string()) && fs::equivalent(entry.path(), path, failed))
      return true;
  return false;
}

/// They are called FILE.<process>.part.
void OutputPaths::remove_unfinished() const {
  for (auto const& entry : fs::directory_iterator(directory)) {
    fs::path const file = entry.path().filename();
    fs::path const process = file.stem().extension();
    if (file.extension() == ".part" && process.string().size() > 1 &&
        is_number(process.string().substr(1)) && names(file.stem().stem().string()))
      remove_earlier(entry.path());
  }
}

OutputFiles::OutputFiles(config::RunConfig const& run, Snapshot const& first,
                         io::Provenance const& provenance, std::optional<Resumed> resumed)
    : run_(run),
      paths_(run),
      contents_{first.fields[0].grid,
                {},
                diagnostic_names(run.diagnostics, first.fields),
                provenance,
                histogram_infos(run.diagnostics, first.fields)},
      resumed_(resumed) {
  for (Field const& field : chosen(run, first.fields))
    contents_.fields.push_back({field.name, field.unit, field.precision});
  for (auto const& found : first.diagnostics) contents_.diagnostics.push_back(found.name);
  for (auto const& number : first.numbers) contents_.diagnostics.push_back(number.name);
  if (!resumed_) return;
  find_series();
  find_hdf5();
}

/// What cannot be found again is not begun anew unless the user said so.
void OutputFiles::find_series() {
  if (!run_.output.vti || contents_.fields.empty()) return;
  if (fs::exists(paths_.pvd)) {
    for (double const time : io::read_pvd_times(paths_.pvd))
      if (time < resumed_->clock.time)
        earlier_series_.push_back(
            {time, paths_.vti(std::ssize(earlier_series_)).filename().string()});
    if (earlier_series_.empty()) require_new_series(paths_.pvd, *resumed_);
    return;
  }
  require_new_series(paths_.pvd, *resumed_);
  if (auto const images = numbered_files(paths_, ".vti"); !images.empty())
    throw IoError(paths_.pvd, fmt::format("is missing, but not the images that it listed (as {}); "
                                          "move them elsewhere to begin a new series",
                                          images.front().filename().string()));
}

void OutputFiles::find_hdf5() {
  if (!run_.output.hdf5) return;
  // A restart that was killed while it carried over has left the whole of it aside.
  fs::path const previous = aside(paths_.hdf5);
  fs::path const source = fs::exists(previous) ? previous : paths_.hdf5;
  if (!fs::exists(source)) return require_new_series(paths_.hdf5, *resumed_);
  earlier_.emplace(source);
  if (earlier_->grid() != contents_.grid ||
      !std::is_permutation(earlier_->fields().begin(), earlier_->fields().end(),
                           contents_.fields.begin(), contents_.fields.end()))
    throw IoError(source, "holds another grid or other fields than this run");
  if (earlier_->steps().empty() || earlier_->steps().front() >= resumed_->clock.step)
    require_new_series(source, *resumed_);
  auto const changes = config::describe_changes(
      earlier_->provenance().resolved_config, contents_.provenance.resolved_config, free_to_change);
  if (!changes.empty())
    throw IoError(source, fmt::format("is the result of another problem ({})", changes));
}

void OutputFiles::begin() {
  if (resumed_) {
    carry_over_series();
    carry_over_hdf5();
  }
  if (run_.output.hdf5 && !hdf5_) hdf5_.emplace(paths_.hdf5, contents_);
  errno = 0;
  log_.open(paths_.log, resumed_ ? std::ios::app : std::ios::trunc);
  if (!log_) fail_log();
  if (!resumed_) remove_stale();
}

/// What this run does not replace. The checkpoints go last.
void OutputFiles::remove_stale() {
  if (!run_.output.hdf5) remove_earlier(paths_.hdf5);
  for (auto const& path : {paths_.pvd, aside(paths_.hdf5)}) remove_earlier(path);
  for (auto const* extension : {".vti", ".checkpoint"})
    for (auto const& path : numbered_files(paths_, extension)) remove_earlier(path);
}

void OutputFiles::carry_over_series() {
  if (!run_.output.vti || contents_.fields.empty() || !fs::exists(paths_.pvd)) return;
  std::set<std::string> kept;
  for (auto const& entry : earlier_series_) kept.insert(entry.file);
  // The others are of a later time, and this run may write fewer.
  series_.emplace(paths_.pvd, std::move(earlier_series_));
  for (auto const& path : numbered_files(paths_, ".vti"))
    if (!kept.contains(path.filename().string())) remove_earlier(path);
}

void OutputFiles::carry_over_hdf5() {
  if (!earlier_) return;
  auto const& old = *earlier_;
  fs::path const previous = aside(paths_.hdf5);
  if (old.path() != previous) fs::rename(old.path(), previous);
  hdf5_.emplace(paths_.hdf5, contents_);
  for (std::size_t i = 0; i < old.steps().size() && old.steps()[i] < resumed_->clock.step; ++i) {
    std::vector<NamedValue> diagnostics;
    for (auto const& series : old.diagnostics())
      if (std::count(contents_.diagnostics.begin(), contents_.diagnostics.end(), series.name) > 0)
        diagnostics.push_back({series.name, series.values[i]});
    std::vector<Field> fields;
    std::deque<std::vector<double>> doubles;
    std::deque<std::vector<float>> floats;
    for (auto const& info : contents_.fields) {
      auto const& values = doubles.emplace_back(old.read(info.name, i));
      void const* data = values.data();
      if (info.precision == Precision::float32)
        data = floats.emplace_back(values.begin(), values.end()).data();
      fields.push_back({info.name, info.unit, contents_.grid, info.precision, data});
    }
    hdf5_->append(old.steps()[i], old.times()[i], fields, diagnostics,
                  histograms_of(old, i, contents_.histograms));
  }
  earlier_.reset();
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
    auto const path = paths_.vti(series_ ? static_cast<std::int64_t>(series_->size()) : 0);
    io::write_vti(path, fields[0].grid, fields, time, step);
    io::SeriesEntry entry{time, path.filename().string()};
    if (series_)
      series_->append(std::move(entry));
    else
      series_.emplace(paths_.pvd, std::vector{std::move(entry)});
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
  if (series_) series_->finish();
  if (hdf5_) hdf5_->finish(ending);
}

void OutputFiles::note_end(std::string const& why) {
  try {
    if (hdf5_ && why != run_is_done) hdf5_->stop(why);
    log(logged_ending(why));
  } catch (IoError const&) {  // what ended the run is on its way to the user
  }
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

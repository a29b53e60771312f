#include "driver/output_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "driver/formats/format.hpp"

namespace gridstride {

namespace fs = std::filesystem;

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

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

/// FIELD of a file that is called NAME.FIELDending or NAME.FIELD_<digits>series; else empty.
std::string_view word_of(std::string_view file, std::string const& name, FormatRow const& row) {
  if (row.series.empty() || !file.starts_with(name + ".")) return {};
  file.remove_prefix(name.size() + 1);
  if (file.ends_with(row.file)) {
    file.remove_suffix(row.file.size());
  } else {
    auto const mark = file.rfind('_');
    if (mark == std::string_view::npos ||
        !is_numbered(file, std::string(file.substr(0, mark)), row.series))
      return {};
    file = file.substr(0, mark);
  }
  return is_word(file) ? file : std::string_view();
}

constexpr std::string_view checkpoint_ending = ".checkpoint";

}  // namespace

OutputPaths::OutputPaths(config::RunConfig const& run)
    : directory(run.output.directory), name(run.name), log(file(".log")) {}

fs::path OutputPaths::file(std::string_view ending) const {
  return directory / fmt::format("{}{}", name, ending);
}

fs::path OutputPaths::numbered(std::int64_t number, std::string_view ending) const {
  return directory / fmt::format("{}_{:06}{}", name, number, ending);
}

fs::path OutputPaths::checkpoint(std::int64_t step) const {
  return directory / fmt::format("{}_{:012}{}", name, step, checkpoint_ending);
}

std::vector<fs::path> OutputPaths::all_numbered(std::string_view ending) const {
  std::vector<fs::path> found;
  std::error_code missing;
  for (auto const& entry : fs::directory_iterator(directory, missing))
    if (is_numbered(entry.path().filename().string(), name, ending)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> OutputPaths::checkpoints() const {
  auto files = all_numbered(checkpoint_ending);
  std::reverse(files.begin(), files.end());  // of equally old files the one of the later step
  std::stable_sort(files.begin(), files.end(), [](fs::path const& a, fs::path const& b) {
    return fs::last_write_time(a) > fs::last_write_time(b);
  });
  return files;
}

std::vector<fs::path> OutputPaths::checkpoints_after(std::int64_t step) const {
  auto const place = [](fs::path const& path) {  // numbers have 12 digits, or more from 10^12 on
    auto file = path.filename().string();
    return std::pair(file.size(), std::move(file));
  };
  auto files = all_numbered(checkpoint_ending);
  std::erase_if(files, [&, last = place(checkpoint(step))](fs::path const& path) {
    return place(path) <= last;
  });
  std::ranges::sort(files, std::greater(), place);
  return files;
}

OutputPaths OutputPaths::of_field(std::string_view field) const {
  OutputPaths paths = *this;
  paths.name = fmt::format("{}.{}", name, field);
  return paths;
}

/// The field of whose series a file is; empty for other files.
std::string OutputPaths::field_of(std::string const& written) const {
  for (FormatRow const& row : format_rows())
    if (auto const field = word_of(written, name, row); !field.empty())
      return fs::exists(of_field(field).file(".log")) ? std::string() : std::string(field);
  return {};
}

std::vector<OutputPaths> OutputPaths::of_fields() const {
  std::set<std::string> fields;
  std::error_code missing;
  for (auto const& entry : fs::directory_iterator(directory, missing))
    if (auto field = field_of(entry.path().filename().string()); !field.empty())
      fields.insert(std::move(field));
  std::vector<OutputPaths> all;
  for (auto const& field : fields) all.push_back(of_field(field));
  return all;
}

bool OutputPaths::names(std::string const& written) const {
  if (!field_of(written).empty()) return true;
  if (log.filename() == written || is_numbered(written, name, checkpoint_ending)) return true;
  return std::ranges::any_of(format_rows(), [&](FormatRow const& row) {
    return file(row.file).filename() == written ||
           (!row.aside.empty() && file(row.aside).filename() == written) ||
           (!row.series.empty() && is_numbered(written, name, row.series));
  });
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

void remove_earlier(fs::path const& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) throw IoError(path, "of an earlier run cannot be removed (" + failed.message() + ")");
}

}  // namespace gridstride

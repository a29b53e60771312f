#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "driver/formats/format.hpp"

namespace gridstride {

// One row for each format; `NAME_row()` stands at the end of its file.
#define GRIDSTRIDE_FORMATS(ROW) \
  ROW(vti)                      \
  ROW(hdf5)

#define GRIDSTRIDE_DECLARE_FORMAT(NAME) FormatRow NAME##_row();
GRIDSTRIDE_FORMATS(GRIDSTRIDE_DECLARE_FORMAT)

std::span<FormatRow const> format_rows() {
#define GRIDSTRIDE_FORMAT_ROW(NAME) NAME##_row(),
  static std::vector<FormatRow> const rows = {GRIDSTRIDE_FORMATS(GRIDSTRIDE_FORMAT_ROW)};
  return rows;
}

std::span<config::OutputFormat const> output_formats() {
  static std::vector<config::OutputFormat> const formats = [] {
    std::vector<config::OutputFormat> all;
    for (FormatRow const& row : format_rows()) all.push_back(row.format);
    return all;
  }();
  return formats;
}

/// Every run writes its start, before its first checkpoint.
void require_new_series(std::filesystem::path const& missing, Resumed const& resumed) {
  if (resumed.clock.step == 0) return;
  begin_anew(missing,
             std::filesystem::exists(missing) ? "holds nothing of the first part of the run"
                                              : "of the first part of the run is missing",
             resumed);
}

void begin_anew(std::filesystem::path const& file, std::string const& why, Resumed const& resumed,
                std::string_view series) {
  if (resumed.new_series) return;
  throw IoError(file,
                fmt::format("{}; --new-series begins {} anew from the checkpoint on", why, series));
}

bool read_or_begin_anew(std::filesystem::path const& file, Resumed const& resumed,
                        std::function<void()> const& read, std::string_view series) {
  try {
    read();
    return true;
  } catch (IoError const& error) {
    std::string_view message = error.what();
    if (auto const prefix = file.string() + ": "; message.starts_with(prefix))
      message.remove_prefix(prefix.size());
    begin_anew(file, std::string(message), resumed, series);
    return false;
  }
}

}  // namespace gridstride

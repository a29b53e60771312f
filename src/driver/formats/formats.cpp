#include <fmt/format.h>

#include <vector>

#include "core/error.hpp"
#include "driver/formats/format.hpp"

namespace gridstride {

// One function per format, at the end of its file.
FormatRow vti_row();
FormatRow hdf5_row();

std::span<FormatRow const> format_rows() {
  static std::vector<FormatRow> const rows = {
      vti_row(),
      hdf5_row(),
  };
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
  if (resumed.new_series || resumed.clock.step == 0) return;
  throw IoError(missing, fmt::format("{}; --new-series begins it anew from the checkpoint on",
                                     std::filesystem::exists(missing)
                                         ? "holds nothing of the first part of the run"
                                         : "of the first part of the run is missing"));
}

}  // namespace gridstride

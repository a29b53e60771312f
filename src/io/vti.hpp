#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "grid/grid.hpp"

namespace gridstride::io {

/// Writes one step as VTK ImageData with VTK's own writer: appended raw, not compressed, with
/// `TimeValue` and `Step` in the field data. The fields must lie in host memory, on `grid`; their
/// memory is not copied. The file is complete or absent. Throws `IoError`.
void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step);

/// One file of a time series.
struct SeriesEntry {
  double time;
  std::string file;  ///< relative to the .pvd file's folder
};

/// Writes the whole collection file anew, all of it or nothing.
void write_pvd(std::filesystem::path const& path, std::span<SeriesEntry const> entries);

/// The times of a collection that `write_pvd` wrote. Throws `IoError` when the file is missing, cut
/// or another program's.
std::vector<double> read_pvd_times(std::filesystem::path const& path);

}  // namespace gridstride::io

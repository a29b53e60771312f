#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "grid/grid.hpp"

namespace gridstride::io {

/// Writes one step as VTK ImageData with VTK's own writer: appended raw, not compressed, with
/// `TimeValue` and `Step` in the field data. The fields must lie in host memory, on `grid`; their
/// memory is not copied. The file is complete or absent. Throws `IoError`.
void write_vti(std::filesystem::path const& path, Grid const& grid,
               std::span<Field const> host_fields, double time, std::int64_t step);

}  // namespace gridstride::io

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "grid/grid.hpp"
#include "io/hdf5.hpp"
#include "io/result_info.hpp"

/// What the writer and the reader of result files agree on.
namespace gridstride::io::layout {

inline constexpr char const* root = "VTKHDF";
inline constexpr char const* home = "gridstride";
inline constexpr std::size_t fallback_bytes = 512;
/// Why a run ended early.
inline constexpr char const* ended = "ended";
/// Fields on grids of their own.
inline constexpr char const* own_fields = "fields";
/// Tables, and where the rows of each step end.
inline constexpr char const* tables = "tables";
inline constexpr char const* table_ends = "table_ends";
/// The parts of a histogram.
inline constexpr char const* counts = "counts";
inline constexpr char const* edges = "edges";

using Member = std::string Provenance::*;

/// Short texts, attributes of `home`.
inline constexpr std::array<std::pair<std::string_view, Member>, 5> attributes = {{
    {"version", &Provenance::version},
    {"git_hash", &Provenance::git_hash},
    {"device", &Provenance::device},
    {"precision", &Provenance::precision},
    {"created", &Provenance::created},
}};

/// Long texts, datasets in `home`.
inline constexpr std::array<std::pair<std::string_view, Member>, 2> texts = {{
    {"config", &Provenance::config},
    {"resolved_config", &Provenance::resolved_config},
}};

inline hid_t type_of(Precision precision) {
  return precision == Precision::float32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
}

/// One step of a field, slowest axis first, the components of a vector last. As VTK has it, the
/// axes that hold a single point are left out from the slow end.
inline hdf5::Shape shape_of(Grid const& grid, int components = 1) {
  hdf5::Shape shape;
  for (int axis = 2; axis >= 0; --axis)
    if (axis == 0 || !shape.empty() || grid.points[axis] > 1)
      shape.push_back(static_cast<hsize_t>(grid.points[axis]));
  if (components > 1) shape.push_back(static_cast<hsize_t>(components));
  return shape;
}

inline std::uint64_t bytes_of(hdf5::Shape const& shape, std::size_t value_bytes) {
  std::uint64_t bytes = value_bytes;
  for (hsize_t const extent : shape) bytes *= extent;
  return bytes;
}

}  // namespace gridstride::io::layout

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/named_value.hpp"
#include "core/precision.hpp"
#include "grid/grid.hpp"
#include "grid/histogram.hpp"
#include "grid/table.hpp"

namespace gridstride::io {

/// A field as a result file describes it.
struct FieldInfo {
  std::string name;
  std::string unit;
  Precision precision = Precision::float64;
  int components = 1;                 ///< of a vector 2 or 3
  std::optional<Grid> own_grid = {};  ///< where it is not the result's

  bool operator==(FieldInfo const&) const = default;
};

struct ColumnInfo {
  std::string name;
  std::string unit = "1";
  bool whole = false;  ///< int64, else float64

  bool operator==(ColumnInfo const&) const = default;
};

/// A table that a result holds at each of its steps, with other rows.
struct TableInfo {
  std::string name;
  std::vector<ColumnInfo> columns;

  bool operator==(TableInfo const&) const = default;
};

/// What a result whose grid is `main` says of a field.
FieldInfo info_of(Field const& field, Grid const& main);
TableInfo info_of(Table const& table);

struct NamedSeries {
  std::string name;
  std::vector<double> values;  ///< one per written step
};

/// A histogram that a result holds at each of its steps.
struct HistogramInfo {
  std::string name;
  std::int64_t bins = 0;

  bool operator==(HistogramInfo const&) const = default;
};

/// Where a result comes from.
struct Provenance {
  std::string config;           ///< the text of the config file
  std::string resolved_config;  ///< with overrides and defaults
  std::string version;
  std::string git_hash;
  std::string device;
  std::string precision;
  std::string created;                 ///< ISO 8601, UTC; the writer fills it in when it is empty
  std::vector<std::string> fallbacks;  ///< what was done otherwise than asked
  std::vector<NamedText> chosen = {};  ///< what was left to the run; known at its end
};

/// What is known of a run at its end.
struct Ending {
  std::vector<NamedValue> wall_times;       ///< in seconds
  std::vector<NamedText> chosen = {};       ///< of the provenance
  std::vector<std::string> fallbacks = {};  ///< of the provenance, beside those that it has
};

}  // namespace gridstride::io

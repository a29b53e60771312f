#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_sink.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"

namespace gridstride::io {

/// What is known of a result before its first step.
struct ResultContents {
  Grid grid;
  std::vector<FieldInfo> fields;
  std::vector<std::string> diagnostics;  ///< names of the time series, without '/'
  Provenance provenance;
  std::vector<HistogramInfo> histograms = {};  ///< their names differ from those of the series
  std::vector<TableInfo> tables = {};          ///< names of letters, digits and `_`
  int compression = 0;  ///< level of deflate, of the fields' bytes shuffled; 0: none
};

/// Writes a result file that grows by one step at a time: temporal VTKHDF ImageData, which ParaView
/// 5.12 and later open, and all else in the group `/gridstride`.
///
/// The file has its name from the start, in place of an older one. After a kill, a full disk or
/// any other failure it opens and holds every step whose `append` returned. Others may read it
/// while it grows. All functions throw `IoError`; after one did, the file takes no more.
///
///     /VTKHDF                          Version, Type, WholeExtent, Origin, Spacing, Direction
///       PointData/FIELD                [steps][nz][ny][nx], fewer axes in 1D and 2D, of a vector
///                                      [components] behind them; `unit`
///       Steps                          NSteps; Values; PointDataOffsets/FIELD
///     /gridstride                      version, git_hash, device, precision, created, dims,
///                                      complete (0 or 1)
///       config, resolved_config, fallbacks, step, wall_times/NAME, chosen/NAME,
///       ended                      why the run ended early, when it did and could tell
///       diagnostics/NAME               [steps], or for a histogram
///         counts, edges                [steps][bins], [steps][bins + 1]
///       fields/FIELD                   a field on a grid of its own, as in PointData; `unit`,
///                                      `dims`, and along x, y, z `points`, `origin`, `spacing`
///       tables/TABLE/COLUMN            the rows of all steps one after another; `unit`
///       table_ends/TABLE               [steps], where the rows of each step end
///
/// Readers of VTKHDF take a file of one step for one without a time axis. Until there is a second
/// step, `Steps` therefore names the first one twice; `/gridstride/step` tells the true number.
class ResultWriter {
 public:
  ResultWriter(std::filesystem::path path, ResultContents contents);
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) noexcept;
  ~ResultWriter();

  /// Begins a step: a place for each of the contents' fields, in their order, until `commit_step`
  /// adds the step with all that was written there.
  std::vector<FieldSink*> begin_step();
  /// Tables are those of the contents, in their order. A diagnostic that is not given is NaN at
  /// this step; so are the edges of a histogram, whose
  /// counts are then zero.
  void commit_step(std::int64_t step, double time, std::span<NamedValue const> diagnostics,
                   std::span<Histogram const> histograms = {}, std::span<Table const> tables = {});
  /// Both, with fields in host memory.
  void append(std::int64_t step, double time, std::span<Field const> host_fields,
              std::span<NamedValue const> diagnostics, std::span<Histogram const> histograms = {},
              std::span<Table const> tables = {});

  /// Ends the file, with the mark that the run is complete.
  void finish(Ending const& ending);
  /// Notes in a file that stays incomplete why the run ended.
  void stop(std::string_view why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gridstride::io

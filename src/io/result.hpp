#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_source.hpp"
#include "grid/grid.hpp"
#include "io/result_info.hpp"

namespace gridstride::io {

/// A result file that `ResultWriter` wrote, opened for reading. What the file lists is read and
/// checked once; the fields are read on demand. Throws `IoError` for files that are missing, cut,
/// damaged or foreign. A run that was killed leaves a file that holds its complete steps.
class ResultFile {
 public:
  /// `path` is the file, or a run's output directory with exactly one `.h5` in it.
  explicit ResultFile(std::filesystem::path const& path);
  ResultFile(ResultFile&&) noexcept;
  ResultFile& operator=(ResultFile&&) noexcept;
  ~ResultFile();

  std::filesystem::path const& path() const;
  Grid const& grid() const;
  /// In alphabetic order, but those on grids of their own behind the others.
  std::vector<FieldInfo> const& fields() const;
  Grid const& grid_of(FieldInfo const& field) const;
  /// Throws `IoError` that tells which there are.
  FieldInfo const& field(std::string_view name) const;
  std::vector<double> const& times() const;
  std::vector<std::int64_t> const& steps() const;
  std::vector<NamedSeries> const& diagnostics() const;
  std::vector<HistogramInfo> const& histograms() const;
  /// In alphabetic order.
  std::vector<TableInfo> const& tables() const;
  std::vector<NamedValue> const& wall_times() const;
  Provenance const& provenance() const;
  /// Whether the run came to its end.
  bool complete() const;
  /// Why the run ended early; empty when it did not, or could not tell.
  std::string const& ended() const;

  /// Where in `times()` a moment stands: of a time, equal to rounding; of a step; the end of a run
  /// that came to it. Throws `IoError` that tells the nearest ones.
  std::size_t index_of_time(double time) const;
  std::size_t index_of_step(std::int64_t step) const;
  std::size_t index_of_end() const;

  /// How many numbers a field has at a time.
  std::size_t values_of(FieldInfo const& field) const;
  /// One field at one of `times()`, x fastest, the components of a vector side by side.
  std::vector<double> read(std::string_view field, std::size_t time_index) const;
  void read(std::string_view field, std::size_t time_index, std::span<double> out) const;
  /// The same as it is stored; this object may go meanwhile.
  std::unique_ptr<NumberSource> open(std::string_view field, std::size_t time_index) const;
  /// One of `histograms()` at one of `times()`.
  Histogram read_histogram(std::string_view name, std::size_t time_index) const;
  /// How many rows one of `tables()` has at one of `times()`, and the table itself.
  std::int64_t rows(std::string_view table, std::size_t time_index) const;
  Table read_table(std::string_view table, std::size_t time_index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file itself, or the one `.h5` in the directory. Throws `IoError` when there is none or more.
std::filesystem::path find_result_file(std::filesystem::path const& path);

}  // namespace gridstride::io

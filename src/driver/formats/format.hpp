#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/field_sink.hpp"
#include "driver/output_paths.hpp"
#include "io/result_info.hpp"
#include "io/vtkhdf.hpp"
#include "model/simulation.hpp"

/// What a format of results is made of. Each is a file of this folder and a row of `formats.cpp`.
namespace gridstride {

/// Where and how to go on with what an earlier part of a run wrote.
struct Resumed {
  Clock clock;
  bool new_series = false;  ///< files that cannot be gone on with are begun anew
};

/// The files of one run in one format, written one snapshot at a time. Throws `IoError`.
class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  /// Makes the files; when resumed, keeps what the earlier part wrote.
  virtual void begin() = 0;
  /// When not resumed: removes what an earlier run of this name left there and `begin` did not
  /// replace.
  virtual void remove_stale() = 0;
  /// Begins a snapshot: a place for each field of the contents, in their order. Once all is written
  /// there, `commit_step` brings the snapshot to the disk and makes it visible; tables are those of
  /// the contents.
  virtual std::vector<FieldSink*> begin_step(Clock const& clock) = 0;
  virtual void commit_step(Clock const& clock, std::span<NamedValue const> values,
                           std::span<Histogram const> histograms,
                           std::span<Table const> tables) = 0;
  virtual void finish(io::Ending const& ending) = 0;
  /// Notes why a run ended that did not come to its end.
  virtual void stop(std::string const& /*why*/) {}
  /// How many files there are.
  virtual std::int64_t files() const = 0;
};

/// What a writer has to know. All of it outlives the writer.
struct WriterSetting {
  OutputPaths const& paths;
  io::ResultContents const& contents;
  std::optional<Resumed> const& resumed;
};

/// One row of the table of formats.
struct FormatRow {
  config::OutputFormat format;
  std::string_view file;         ///< ending of the file that every result has, `NAME.h5`
  std::string_view aside = "";   ///< of what a restart sets aside for a while
  std::string_view series = "";  ///< of files that are numbered
  bool fields_alone = false;     ///< nothing is written of a run that writes no fields
  double overhead = 0;           ///< bytes that a snapshot takes on the disk beside its fields
  /// Changes nothing, but throws `IoError` where the files of the earlier part of the run cannot be
  /// gone on with.
  std::unique_ptr<FormatWriter> (*open)(WriterSetting const& setting) = nullptr;

  /// Whether a run writes this format.
  bool writes(config::RunOptions const& run) const {
    return run.output.has_format(format.name) && !(fields_alone && run.output.fields.empty());
  }
};

/// Every format there is, in the order in which they are written.
std::span<FormatRow const> format_rows();

/// The same as configs know them.
std::span<config::OutputFormat const> output_formats();

/// Throws `IoError` for a file of which the earlier part of a run has left nothing, unless the
/// user said that it is begun anew.
void require_new_series(std::filesystem::path const& missing, Resumed const& resumed);

/// Throws `IoError` for a file of the earlier part that cannot be gone on with, and why, unless the
/// user said that it is begun anew, or the `series` that it is of.
void begin_anew(std::filesystem::path const& file, std::string const& why, Resumed const& resumed,
                std::string_view series = "it");

/// The same for what `read` throws of the file. Returns whether it threw nothing.
bool read_or_begin_anew(std::filesystem::path const& file, Resumed const& resumed,
                        std::function<void()> const& read, std::string_view series = "it");

}  // namespace gridstride

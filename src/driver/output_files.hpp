#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"
#include "driver/output_paths.hpp"
#include "io/result_info.hpp"
#include "io/slabs.hpp"
#include "io/vtkhdf.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// A moment of a run.
struct Snapshot {
  Clock clock;
  std::vector<Field> fields;
  std::vector<NamedValue> diagnostics = {};  ///< the simulation's own
  std::vector<DeviceNumber> numbers = {};    ///< the same, still in the device's memory
  std::vector<Table> tables = {};
  std::vector<Field> quantities = {};  ///< which diagnostics alone look at
  /// Of a run whose processes each have parts of the fields: what its diagnostics found.
  std::optional<Measurement> measured = {};
};

/// The files of one run, written one snapshot at a time in each of its formats.
class OutputFiles {
 public:
  /// Changes nothing, but throws `IoError` where the files of the earlier part cannot be gone on
  /// with, and `ConfigError` for a name that the config and the simulation give to two numbers. Of
  /// `first`, the fields' grid and all names count.
  OutputFiles(config::RunConfig const& run, Snapshot const& first, io::Provenance const& provenance,
              std::optional<Resumed> resumed);
  // The writers refer to what stands here.
  OutputFiles(OutputFiles const&) = delete;
  OutputFiles& operator=(OutputFiles const&) = delete;

  /// Makes the files, and removes what an earlier run of this name left there; when resumed, keeps
  /// what it wrote up to then.
  void begin();

  /// Whether files will hold any field.
  bool has_fields() const { return !writers_.empty() && !contents_.fields.empty(); }
  /// Whether files will hold the field.
  bool writes(Field const& field) const;
  /// Begins the snapshot of a moment to come. Returns where its fields without data go, which have
  /// to be there when `write` brings the rest.
  std::vector<FieldTarget> begin_snapshot(Clock const& clock, std::vector<Field> const& fields);
  /// The fields lie in the memory of the slabs' device, of which `copies` is a stream, and
  /// `copied_out` is called once they are needed no more.
  void write(Snapshot const& snapshot, Measurement const& measured, io::Slabs& slabs,
             Stream& copies, std::function<void()> const& copied_out);
  /// Marks the result as complete.
  void finish(io::Ending const& ending);
  /// Notes why the run ended, as far as the disk still takes it.
  void note_end(std::string const& why);
  void log(std::string const& line);

  /// Files of this run, and bytes of fields written to them.
  std::int64_t count() const;
  std::int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail_log() const;
  void require_no_other_formats() const;
  void remove_stale();
  std::string remove_later_checkpoints() const;
  void add_own_name(std::string const& name);
  std::vector<std::vector<FieldSink*>> begin_steps(Clock const& clock);

  config::RunConfig const& run_;
  OutputPaths paths_;
  io::ResultContents contents_;
  std::optional<Resumed> resumed_;
  std::vector<std::unique_ptr<FormatWriter>> writers_;
  std::ofstream log_;
  std::vector<std::vector<FieldSink*>> begun_;        // of each writer, for the next snapshot
  std::vector<std::unique_ptr<FieldSink>> rounding_;  // in front of some of these
  std::int64_t bytes_ = 0;
};

}  // namespace gridstride

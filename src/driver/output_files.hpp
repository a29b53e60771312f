#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "driver/diagnostics.hpp"
#include "io/pvd.hpp"
#include "io/result.hpp"
#include "io/result_info.hpp"
#include "io/vtkhdf.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// What the files of a run are called: `DIRECTORY/NAME.h5` and so on.
struct OutputPaths {
  explicit OutputPaths(config::RunConfig const& run);
  std::filesystem::path vti(std::int64_t number) const;
  std::filesystem::path checkpoint(std::int64_t step) const;
  /// This run's checkpoints, the newest first.
  std::vector<std::filesystem::path> checkpoints() const;
  /// Whether the path leads to a file that the run writes or removes.
  bool owns(std::filesystem::path const& path) const;
  /// Removes what runs that were killed left of files they had not finished. There must be no other
  /// run of this name.
  void remove_unfinished() const;

  std::filesystem::path directory;
  std::string name;
  std::filesystem::path hdf5;
  std::filesystem::path pvd;
  std::filesystem::path log;

 private:
  bool names(std::string const& file) const;
};

/// A moment of a run.
struct Snapshot {
  Clock clock;
  std::vector<Field> fields;
  std::vector<NamedValue> diagnostics = {};  ///< the simulation's own
  std::vector<DeviceNumber> numbers = {};    ///< the same, still in the device's memory
};

/// The files of one run, written one snapshot at a time.
class OutputFiles {
 public:
  /// Where and how to go on with what an earlier part of the run wrote.
  struct Resumed {
    Clock clock;
    bool new_series = false;  ///< files that are missing are begun anew
  };

  /// Changes nothing, but throws `IoError` where the files of the earlier part cannot be gone on
  /// with. Of `first`, the fields' grid and all names count.
  OutputFiles(config::RunConfig const& run, Snapshot const& first, io::Provenance const& provenance,
              std::optional<Resumed> resumed);

  /// Makes the files, and removes what an earlier run of this name left there; when resumed, keeps
  /// what it wrote up to then.
  void begin();

  /// Whether files will hold the field.
  bool writes(Field const& field) const;
  /// Of the snapshot's fields, those that files will hold lie in host memory.
  void write(Snapshot const& snapshot, Measurement const& measured);
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
  void find_series();
  void find_hdf5();
  void remove_stale();
  void carry_over_series();
  void carry_over_hdf5();

  config::RunConfig const& run_;
  OutputPaths paths_;
  io::ResultContents contents_;
  std::optional<Resumed> resumed_;
  std::optional<io::ResultFile> earlier_;  ///< the result to carry over
  std::optional<io::ResultWriter> hdf5_;
  std::vector<io::SeriesEntry> earlier_series_;  ///< the entries to carry over
  std::optional<io::Collection> series_;         ///< once there is a .vti
  std::ofstream log_;
  std::int64_t vti_files_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace gridstride

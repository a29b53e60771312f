#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"

namespace gridstride {

/// What the files of a run are called: `DIRECTORY/NAME.h5` and so on.
struct OutputPaths {
  explicit OutputPaths(config::RunConfig const& run);
  /// `DIRECTORY/NAME` and an ending, as `.h5`.
  std::filesystem::path file(std::string_view ending) const;
  /// `DIRECTORY/NAME_000042` and an ending, as `.vti`.
  std::filesystem::path numbered(std::int64_t number, std::string_view ending) const;
  /// The files NAME_<digits> with this ending that there are, in the order of their names.
  std::vector<std::filesystem::path> all_numbered(std::string_view ending) const;
  std::filesystem::path checkpoint(std::int64_t step) const;
  /// This run's checkpoints, the newest first.
  std::vector<std::filesystem::path> checkpoints() const;
  /// Those of later steps than this one, the latest first.
  std::vector<std::filesystem::path> checkpoints_after(std::int64_t step) const;
  /// What files of a field on a grid of its own are called: NAME.FIELD in place of NAME.
  OutputPaths of_field(std::string_view field) const;
  /// Those of all such fields that have files of numbered series. A run that is called so itself,
  /// which its log shows, owns its files.
  std::vector<OutputPaths> of_fields() const;
  /// Whether the path leads to a file that the run writes or removes.
  bool owns(std::filesystem::path const& path) const;
  /// Removes what runs that were killed left of files they had not finished. There must be no other
  /// run of this name.
  void remove_unfinished() const;

  std::filesystem::path directory;
  std::string name;
  std::filesystem::path log;

 private:
  bool names(std::string const& file) const;
  std::string field_of(std::string const& file) const;
};

/// Removes a file of an earlier run, if it is there. Throws `IoError`.
void remove_earlier(std::filesystem::path const& path);

}  // namespace gridstride

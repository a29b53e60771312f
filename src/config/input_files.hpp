#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/run_config.hpp"

namespace gridstride::config {

/// What stands under the keys `file` of a run's config, as it stands there, and where that is: names are
/// relative to the config's folder. A field that is called so is among them.
std::map<std::string, std::filesystem::path> input_files(RunConfig const& run);

/// Whether a path leads to a file that a run reads: its config, or one of those.
bool is_input(RunConfig const& run, std::filesystem::path const& path);

}  // namespace gridstride::config

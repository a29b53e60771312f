#pragma once

#include <filesystem>

#include "config/run_config.hpp"

namespace gridstride::config {

/// Whether a path leads to a file that a run reads: its config, or what is under a key `file`
/// anywhere in it.
bool is_input(RunConfig const& run, std::filesystem::path const& path);

}  // namespace gridstride::config

#pragma once

#include <string>

#include "core/ranks.hpp"
#include "driver/output_paths.hpp"

namespace gridstride {

/// Why not all ranks of a run can put bytes into files that the first one makes there, the same on all of
/// them; empty where they can. All of them call it, and try: each finds in a file what the first one has
/// put there, and that one what each has.
std::string lack_of_files(Ranks& ranks, OutputPaths const& paths);

}  // namespace gridstride

#pragma once

#include <optional>
#include <string>

#include "config/run_config.hpp"
#include "driver/output_paths.hpp"
#include "driver/run.hpp"
#include "io/checkpoint.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// From where a run goes on.
struct Beginning {
  std::optional<io::CheckpointFile> checkpoint;  ///< empty: from the start
  std::string older;                             ///< the checkpoint before that one, if any
  bool done = false;                             ///< this very run came to its end before
  std::string ending;                            ///< then: why before `time.end`, if so
  std::string remark;                            ///< what a restart did otherwise than asked
};

/// Looks at what earlier runs of this name left, and changes nothing. Throws `ConfigError` where
/// the run would replace checkpoints without being told, or the checkpoint is not of this problem
/// or of a later time than the end; `IoError` for checkpoints that cannot be read.
Beginning choose_beginning(config::RunConfig const& config, RunOptions const& options,
                           OutputPaths const& paths);

/// Gives the simulation the checkpoint's state.
void resume(Beginning const& beginning, Simulation& simulation);

}  // namespace gridstride

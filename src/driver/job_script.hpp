#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gridstride {

/// What a job of Slurm is asked for.
struct Job {
  std::string program;  ///< its path
  std::string file;
  std::string name;
  int nodes = 1;
  int tasks = 1;          ///< processes on each node
  int gpus = 0;           ///< of each node
  int cpus = 8;           ///< processors of each process
  std::string time;       ///< as Slurm has it; empty: that of the partition
  std::string partition;  ///< empty: the default one
};

/// Seconds of a limit as Slurm writes them: `90` (minutes), `90:30`, `2:00:00`, `1-12`, `1-12:30`,
/// `1-12:30:15`. Nothing where it is none of these.
std::optional<std::int64_t> slurm_seconds(std::string_view limit);

/// A word that bash takes as it is.
std::string shell_word(std::string_view word);

/// How long before its end a job is told to stop, in seconds.
inline constexpr int seconds_to_stop = 120;

/// The script for `sbatch`: runs the file with `--restart`, has it stop before the job's time is
/// over, and has the job queued again then, until the run has come to its end.
std::string job_script(Job const& job);

}  // namespace gridstride

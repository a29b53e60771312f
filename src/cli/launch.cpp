#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/ranks.hpp"
#include "driver/launch.hpp"

namespace gridstride::cli {

namespace {

[[noreturn]] void refuse_ranks(int count, std::string why) {
  throw ConfigError({{fmt::format("--ranks {}", count), 0, 0, "", std::move(why)}});
}

/// How many processes a launcher has started; 0 without one.
int started_by_launcher() {
  int const count = launched_ranks();
  bool const is_one = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;  // mpirun -n 1
  return count > 1 || is_one ? count : 0;
}

}  // namespace

void require_processes(int count) {
  int const processors = available_processors();
  int const most = std::max(64, 4 * processors);
  if (count < 1 || count > most)
    refuse_ranks(count, fmt::format("is no number of processes for this machine (1 to {}: {} "
                                    "processors may be used here)",
                                    most, processors));
}

void RanksOption::add_to(CLI::App& command) {
  given = command.add_option("--ranks", count, "Start so many processes here, through mpirun")
              ->type_name("N");
}

bool RanksOption::must_launch() const {
  if (given->count() == 0) return false;
  require_processes(count);
  int const started = started_by_launcher();
  if (started == count) return false;  // they are here
  if (started > 0)
    refuse_ranks(count,
                 fmt::format("a launcher has started {} already; leave out one of the two",
                             started == 1 ? "1 process" : fmt::format("{} processes", started)));
  if (count == 1) return false;
  if (is_launched())
    refuse_ranks(count,
                 "mpirun has not told this process of the others: it belongs to another "
                 "MPI than this program does");
  if (auto const lack = ranks_lacking(); !lack.empty())
    refuse_ranks(count, fmt::format("this program is for one process ({})", lack));
  return true;
}

int RanksOption::launch(std::vector<std::string> words) const {
  auto const mpirun = find_program("mpirun");
  if (mpirun.empty())
    refuse_ranks(count,
                 "there is no mpirun on PATH (Debian's is in the package openmpi-bin; on a "
                 "cluster load the module of its MPI)");
  words.front() = std::filesystem::read_symlink("/proc/self/exe");
  return run_launch(compose_launch(mpirun, words, count, launch_place()));
}

}  // namespace gridstride::cli

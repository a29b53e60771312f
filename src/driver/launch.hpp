#pragma once

#include <string>
#include <utility>
#include <vector>

/// Several processes of this program on this machine, started by `mpirun`.
namespace gridstride {

struct Launch {
  std::vector<std::string> words;  ///< the first is the path of mpirun
  /// What is set for it, but for variables that are set already.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What a launch has to know of the machine.
struct LaunchPlace {
  int processors = 1;
  bool is_root = false;
  bool reads_processes = true;  ///< whether a process may read another one's memory
};
LaunchPlace launch_place();

/// `words`, a command line whose first is the program, as `count` processes, which share the
/// processors of the machine without being bound to any. Open MPI's settings are variables, which
/// another mpirun does not see.
Launch compose_launch(std::string mpirun, std::vector<std::string> const& words, int count,
                      LaunchPlace const& place);

/// The first file of that name in the folders of PATH that can be executed; empty without one.
std::string find_program(std::string const& name);

/// Starts it and waits for its end. A signal that asks a program to end comes to the processes as
/// SIGUSR1, which mpirun passes on, where it would kill them a moment after another; more than a
/// second later another SIGINT, SIGTERM or SIGHUP ends them at once. Returns the exit code of the
/// first process, or 128 + the signal; where mpirun has failed, its own. Throws `Error` where it
/// cannot be started.
int run_launch(Launch const& launch);

/// Whether `run_launch` of another process started this one.
bool is_launched();

/// For the end of the first process: where `run_launch` started it, gives the exit code to that one
/// and returns 0, since mpirun would tell of any other at length. Else returns it.
int hand_over(int exit_code);

}  // namespace gridstride

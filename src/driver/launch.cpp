#include "driver/launch.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/error.hpp"
#include "core/processors.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr char code_variable[] = "GRIDSTRIDE_EXIT_CODE";  // names a file

constexpr std::array stops = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};

/// In containers the call may be forbidden, even for the memory of the caller.
bool may_read_processes() {
  char from = 0, to = 0;
  iovec const there = {&from, 1}, here = {&to, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/// A file for the exit code, which the processes started meanwhile know, as long as this lives.
class CodeFile {
 public:
  CodeFile() : path_(fs::temp_directory_path() / "gridstride_XXXXXX") {
    int const file = mkstemp(path_.data());
    if (file < 0) throw IoError(path_, fmt::format("cannot be made ({})", std::strerror(errno)));
    close(file);
    setenv(code_variable, path_.c_str(), 1);
  }
  CodeFile(CodeFile const&) = delete;
  CodeFile& operator=(CodeFile const&) = delete;
  ~CodeFile() {
    unsetenv(code_variable);
    unlink(path_.c_str());
  }

  /// What was handed over, or `otherwise`.
  int code(int otherwise) const {
    std::ifstream file(path_);
    int code = 0;
    return file >> code ? code : otherwise;
  }

 private:
  std::string path_;
};

/// The signals that are waited for: those of an end, a checkpoint, and of a child that has ended.
/// One that is ignored stays so, as SIGHUP under nohup.
sigset_t signals_to_take() {
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  sigaddset(&taken, SIGUSR2);
  for (int const signal : stops) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&taken, signal);
  }
  return taken;
}

/// In the new process: becomes mpirun. It is in no group of the terminal, whose keys are for the
/// process that waits, and ends with that one.
[[noreturn]] void become(std::vector<char*> const& words, sigset_t const& signals_before,
                         pid_t parent) {
  sigprocmask(SIG_SETMASK, &signals_before, nullptr);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  int const nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  execv(words.front(), words.data());
  _exit(127);
}

pid_t start(Launch const& launch, sigset_t const& signals_before) {
  std::vector<char*> words;
  for (auto const& word : launch.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t const parent = getpid();
  pid_t const child = fork();
  if (child < 0)
    throw Error(
        fmt::format("{} cannot be started ({})", launch.words.front(), std::strerror(errno)));
  if (child == 0) become(words, signals_before, parent);
  return child;
}

/// Passes signals on until the child has ended; returns how it did, and the first signal that asked
/// for it, or 0.
std::pair<int, int> attend(pid_t child, sigset_t const& taken) {
  using Clock = std::chrono::steady_clock;
  int first = 0;
  Clock::time_point first_came;
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return {status, first};
    int signal = 0;
    if (sigwait(&taken, &signal) != 0 || signal == SIGCHLD) continue;
    if (signal == SIGUSR2) {
      kill(child, SIGUSR2);
    } else if (first == 0) {
      first = signal;
      first_came = Clock::now();
      kill(child, SIGUSR1);
    } else if (Clock::now() - first_came > std::chrono::seconds(1) && signal != SIGXCPU &&
               signal != SIGUSR1) {
      kill(child, SIGTERM);
    }
  }
}

}  // namespace

LaunchPlace launch_place() {
  return {available_processors(), geteuid() == 0, may_read_processes()};
}

Launch compose_launch(std::string mpirun, std::vector<std::string> const& words, int count,
                      LaunchPlace const& place) {
  Launch launch;
  launch.words = {std::move(mpirun), "-n", std::to_string(count)};
  launch.words.insert(launch.words.end(), words.begin(), words.end());
  int const threads = std::max(1, place.processors / count);
  launch.environment = {{"OMP_NUM_THREADS", std::to_string(threads)},
                        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                        // this machine alone, whatever a batch system would give
                        {"OMPI_MCA_plm", "isolated"},
                        {"OMPI_MCA_ras", "^slurm,tm,lsf,gridengine,alps"},
                        // all that talks to other machines would be opened first
                        {"OMPI_MCA_pml", "ob1"},
                        {"OMPI_MCA_btl", "self,vader"},
                        // mpirun would open all GPUs by OpenCL to see where they are
                        {"HWLOC_COMPONENTS", "-opencl"}};
  auto const set = [&](char const* name, char const* value) {
    launch.environment.emplace_back(name, value);
  };
  if (count > place.processors) set("OMPI_MCA_mpi_yield_when_idle", "1");
  if (!place.reads_processes) set("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  if (place.is_root) {
    set("OMPI_ALLOW_RUN_AS_ROOT", "1");
    set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return launch;
}

std::string find_program(std::string const& name) {
  char const* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    auto const folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    fs::path const found = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code none;
    if (fs::is_regular_file(found, none) && access(found.c_str(), X_OK) == 0) return found;
  }
  return {};
}

int run_launch(Launch const& launch) {
  CodeFile const file;
  for (auto const& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 0);
  sigset_t const taken = signals_to_take();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &taken, &before);
  auto const [status, signal] = attend(start(launch, before), taken);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int const own = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  int const code = own == 0 ? file.code(-1) : own;
  if (code < 0)
    throw Error(
        fmt::format("{} has ended, and no process of this program told how: it belongs to "
                    "another MPI than this program does",
                    launch.words.front()));
  return signal != 0 && code == 128 + SIGUSR1 ? 128 + signal : code;
}

bool is_launched() { return std::getenv(code_variable) != nullptr; }

int hand_over(int exit_code) {
  char const* const path = std::getenv(code_variable);
  if (path == nullptr) return exit_code;
  std::ofstream file(path);
  file << exit_code << std::flush;
  return file ? 0 : exit_code;
}

}  // namespace gridstride

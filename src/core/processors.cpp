#include "core/processors.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace gridstride {

namespace {

namespace fs = std::filesystem;

/// The processors of the affinity.
int bound_processors() {
  for (int room = 1024; room <= 1 << 20; room *= 4) {
    std::vector<cpu_set_t> sets(static_cast<std::size_t>(room) / CPU_SETSIZE);
    std::size_t const bytes = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, sets.data()) == 0)
      return CPU_COUNT_S(static_cast<int>(bytes), sets.data());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// The processors that a quota of time gives, or infinity. Version 2 has both numbers in one file,
/// `max 100000` where there is no limit; version 1 has a file for each, and -1.
double quota_of(fs::path const& group) {
  double quota = 0, period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period) return quota / period;
  std::ifstream first(group / "cpu.cfs_quota_us"), second(group / "cpu.cfs_period_us");
  if (first >> quota && second >> period && quota > 0) return quota / period;
  return std::numeric_limits<double>::infinity();
}

/// The least quota of the control groups that this process is in, and of those around them.
double group_quota() {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // as 4:cpu,cpuacct:/jobs/17 or 0::/jobs/17
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    fs::path const root = "/sys/fs/cgroup";
    for (auto const& mount : {root, root / "unified", root / "cpu", root / "cpu,cpuacct"})
      for (fs::path group = path; !group.empty(); group = group.parent_path()) {
        least = std::min(least, quota_of(mount / group.relative_path()));
        if (group == group.root_path()) break;
      }
  }
  return least;
}

int threads_asked_for() {
  char const* const setting = std::getenv("OMP_NUM_THREADS");
  int const processors = available_processors();
  if (setting == nullptr || *setting == '\0') return processors;
  // A list names the threads of nested loops, of which there are none here.
  std::string_view const text(setting);
  std::string_view const first = text.substr(0, text.find(','));
  int count = 0;
  auto const [end, fault] = std::from_chars(first.data(), first.data() + first.size(), count);
  int const most = std::max(256, 8 * processors);
  if (fault == std::errc() && end == first.data() + first.size() && count >= 1 && count <= most)
    return count;
  throw Error(
      fmt::format("OMP_NUM_THREADS is '{}' (1 to {} threads: {} processors may be used here)", text,
                  most, processors));
}

/// 0 until it is known.
std::atomic<int> threads_in_use = 0;

thread_local HostShare share_of_thread;

}  // namespace

int available_processors() {
  static int const count = [] {
    double const quota = std::ceil(group_quota());
    int const bound = bound_processors();
    return std::max(1, quota < bound ? static_cast<int>(quota) : bound);
  }();
  return count;
}

int host_threads() {
  if (share_of_thread.threads > 0) return share_of_thread.threads;
  int count = threads_in_use.load(std::memory_order_relaxed);
  if (count == 0) threads_in_use = count = threads_asked_for();
  return count;
}

HostShare host_share() { return share_of_thread; }

void set_host_share(HostShare share) { share_of_thread = share; }

void set_host_threads(int count) { threads_in_use = count; }

void require_stack() {
  constexpr rlim_t least = rlim_t{1} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least) return;
  throw Error(fmt::format("the stack may not grow beyond {} KiB (1 MiB is needed: ulimit -s 8192)",
                          limit.rlim_cur / 1024));
}

}  // namespace gridstride

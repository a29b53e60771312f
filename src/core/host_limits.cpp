#include "core/host_limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

std::optional<std::size_t> parse_number(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  std::size_t value = 0;
  auto const end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// The number that a file begins with; none where it begins with a word, as `max`, or is missing.
std::optional<std::size_t> number_in(fs::path const& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return parse_number(line);
}

/// The number after `key` at the start of a line.
std::optional<std::size_t> number_after(fs::path const& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return parse_number(std::string_view(line).substr(key.size()));
  return std::nullopt;
}

std::size_t difference(std::size_t limit, std::size_t used) {
  return limit > used ? limit - used : 0;
}

/// How one version of control groups calls its files.
struct GroupFiles {
  char const *limit, *used, *statistics;
  std::string_view reclaimable;  ///< memory that holds copies of files, and is given up when needed
};
constexpr GroupFiles version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat",
                                  "total_inactive_file "};
constexpr GroupFiles version_2 = {"memory.max", "memory.current", "memory.stat", "inactive_file "};

/// What a group and those around it leave. A group that is not seen under `mount`, as from within a
/// container, is that of `mount` itself.
std::size_t left_by_groups(fs::path const& mount, std::string_view group, GroupFiles const& files) {
  std::size_t left = unlimited;
  for (fs::path below = fs::path(group).relative_path();; below = below.parent_path()) {
    fs::path const folder = mount / below;
    if (auto const limit = number_in(folder / files.limit)) {
      auto const used = number_in(folder / files.used).value_or(0);
      auto const files_kept = number_after(folder / files.statistics, files.reclaimable);
      left = std::min(left, difference(*limit, difference(used, files_kept.value_or(0))));
    }
    if (below.empty()) return left;
  }
}

/// Lines of /proc/self/cgroup are `NUMBER:CONTROLLERS:GROUP`; version 2 has no controllers there.
std::size_t left_by_groups(fs::path const& root) {
  fs::path const mounts = root / "sys/fs/cgroup";
  std::error_code error;
  bool const mixed = fs::exists(mounts / "unified", error);
  std::ifstream file(root / "proc/self/cgroup");
  std::size_t left = unlimited;
  for (std::string line; std::getline(file, line);) {
    std::size_t const first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string_view const group = std::string_view(line).substr(second + 1);
    if (controllers == ",,")
      left = std::min(left, left_by_groups(mixed ? mounts / "unified" : mounts, group, version_2));
    else if (controllers.find(",memory,") != std::string::npos)
      left = std::min(left, left_by_groups(mounts / "memory", group, version_1));
  }
  return left;
}

/// `key` as in /proc/self/status.
std::size_t left_by_limit(int resource, fs::path const& root, std::string_view key) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return unlimited;
  auto const kilobytes = number_after(root / "proc/self/status", key);
  return difference(limit.rlim_cur, kilobytes.value_or(0) * 1024);
}

/// Bytes that a quota leaves; infinite where there is none, or the system does not tell.
double left_by_quota([[maybe_unused]] int folder, [[maybe_unused]] int kind,
                     [[maybe_unused]] unsigned id) {
#ifdef SYS_quotactl_fd
  dqblk found{};
  if (syscall(SYS_quotactl_fd, folder, QCMD(Q_GETQUOTA, kind), id, &found) == 0) {
    constexpr double block = 1024;
    auto const blocks = found.dqb_bhardlimit > 0 ? found.dqb_bhardlimit : found.dqb_bsoftlimit;
    auto const used = static_cast<double>(found.dqb_curspace);
    if (blocks > 0) return std::max(0.0, static_cast<double>(blocks) * block - used);
  }
#endif
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::size_t free_host_memory(fs::path const& root) {
  auto const available = number_after(root / "proc/meminfo", "MemAvailable:");
  return std::min({available.value_or(0) * 1024, left_by_groups(root),
                   left_by_limit(RLIMIT_AS, root, "VmSize:"),
                   left_by_limit(RLIMIT_DATA, root, "VmData:")});
}

fs::path nearest_existing(fs::path const& path) {
  std::error_code error;
  fs::path nearest = fs::absolute(path, error).lexically_normal();
  while (!fs::exists(nearest, error) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  return nearest;
}

std::string folder_fault(fs::path const& folder) {
  std::error_code error;
  fs::path const nearest = nearest_existing(folder);
  if (!fs::is_directory(nearest, error))
    return fmt::format("'{}' is not a folder", nearest.string());
  if (access(nearest.c_str(), W_OK | X_OK) == 0) return {};
  return fmt::format("'{}' cannot be written to ({})", nearest.string(), std::strerror(errno));
}

DiskRoom disk_room(fs::path const& path) {
  fs::path const place = nearest_existing(path);
  std::error_code failed;
  auto const space = fs::space(place, failed);
  DiskRoom room{failed ? std::numeric_limits<double>::infinity()
                       : static_cast<double>(space.available)};
  int const folder = open(place.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return room;
  double const quota = std::min(left_by_quota(folder, USRQUOTA, getuid()),
                                left_by_quota(folder, GRPQUOTA, getgid()));
  close(folder);
  return quota < room.bytes ? DiskRoom{quota, true} : room;
}

}  // namespace gridstride

#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

/// What the system lets this process take on the host.
namespace gridstride {

/// Bytes of memory that can be allocated now: what the machine has available, what the limits of
/// the process's control groups (version 1 and 2) leave, and what `ulimit -v` and `-d` leave,
/// whichever is least. Tests give another `root` for /proc and /sys.
std::size_t free_host_memory(std::filesystem::path const& root = "/");

/// Bytes that can be written to the file system of a path, of which the last parts may be missing.
struct DiskRoom {
  double bytes = 0;
  bool quota = false;  ///< whether the user's or the group's quota, and not the disk, is the bound
};
DiskRoom disk_room(std::filesystem::path const& path);

/// The path itself, or the nearest folder above it that exists.
std::filesystem::path nearest_existing(std::filesystem::path const& path);

/// Why no file can be put into a folder that is made where there is none: `'/a/b' is not a folder`;
/// empty where one can.
std::string folder_fault(std::filesystem::path const& folder);

}  // namespace gridstride

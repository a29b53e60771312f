#pragma once

#include <filesystem>
#include <vector>

#include "kernels/machine/machine.hpp"

namespace gridstride::bench {

inline constexpr std::string_view disk_write_roof = "disk_write";
inline constexpr std::string_view disk_read_roof = "disk_read";
inline constexpr std::string_view cached_read_roof = "cached_read";

/// Rates of a file in `folder` that no other program sees, of up to 1 GiB, or a quarter of what is
/// free: written, with the time until it is on the disk; read after the system was asked to forget
/// it, which it need not do; and read again. By as many threads as files are good for. Throws
/// `IoError`.
std::vector<machine::Roof> disk_roofs(std::filesystem::path const& folder);

}  // namespace gridstride::bench

#include "core/host_limits.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gridstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mebi = std::size_t{1} << 20;

/// A /proc and a /sys of our own, with a machine that has 8 GiB available.
class HostLimits : public testing::Test {
 protected:
  HostLimits() { write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"); }
  ~HostLimits() override { fs::remove_all(root_); }

  void write(fs::path const& path, std::string_view text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::size_t free() const { return free_host_memory(root_); }

  fs::path root_ = fs::temp_directory_path() / fmt::format("gridstride_limits_{}", getpid());
};

TEST_F(HostLimits, WithoutLimitsTheMachineDecides) {
  EXPECT_EQ(free(), 8192 * mebi);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(free(), 8192 * mebi);
}

TEST_F(HostLimits, GroupsOfVersion2) {
  write("proc/self/cgroup", "0::/batch/job_7/step\n");
  write("sys/fs/cgroup/batch/job_7/memory.max", "1073741824\n");
  write("sys/fs/cgroup/batch/job_7/memory.current", "314572800\n");
  write("sys/fs/cgroup/batch/job_7/memory.stat", "anon 4096\ninactive_file 104857600\n");
  write("sys/fs/cgroup/batch/job_7/step/memory.max", "max\n");
  EXPECT_EQ(free(), 824 * mebi);  // 1024 − 300, and 100 that can be had back
  write("sys/fs/cgroup/batch/memory.max", "209715200\n");
  write("sys/fs/cgroup/batch/memory.current", "204472320\n");
  EXPECT_EQ(free(), 5 * mebi);
  write("sys/fs/cgroup/batch/memory.current", "304472320\n");
  EXPECT_EQ(free(), 0);
}

TEST_F(HostLimits, GroupsOfVersion1) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/a\n");
  write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(free(), 8192 * mebi);
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "94371840\n");
  write("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 0\ntotal_inactive_file 1048576\n");
  EXPECT_EQ(free(), 11 * mebi);
}

/// In a container the group's own folder may be the root of what is mounted.
TEST_F(HostLimits, AGroupThatIsNotSeenIsThatOfTheMount) {
  write("proc/self/cgroup", "0::/docker/0123456789ab\n");
  write("sys/fs/cgroup/memory.max", "536870912\n");
  write("sys/fs/cgroup/memory.current", "0\n");
  EXPECT_EQ(free(), 512 * mebi);
}

TEST_F(HostLimits, BothVersionsAtOnce) {
  write("proc/self/cgroup", "4:memory:/a\n0::/b\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/unified/b/memory.max", "536870912\n");
  EXPECT_EQ(free(), 512 * mebi);
}

TEST_F(HostLimits, RoomOnTheDiskIsThatOfTheNearestFolder) {
  EXPECT_EQ(nearest_existing(root_ / "not/there/yet"), root_);
  auto const room = disk_room(root_ / "not/there/yet");
  EXPECT_GT(room.bytes, 0);
  EXPECT_LE(room.bytes, static_cast<double>(fs::space(root_).capacity));
}

}  // namespace
}  // namespace gridstride

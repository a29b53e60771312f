#include "io/write_at.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "io/placed_file.hpp"
#include "io/transaction_file.hpp"
#include "support.hpp"

namespace {

/// Advice of the system, in the order in which it came to know it.
constexpr int populate = 23, collapse = 25;
int first_refused = std::numeric_limits<int>::max();
int refusals = 0;

}  // namespace

/// Stands in for the C library's in this program, to refuse some.
extern "C" int madvise(void* address, size_t size, int advice) noexcept {
  if (advice < first_refused) return static_cast<int>(syscall(SYS_madvise, address, size, advice));
  ++refusals;
  errno = EINVAL;
  return -1;
}

namespace gridstride::io {
namespace {

using namespace test;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// On any disk, and on one in memory.
std::vector<std::filesystem::path> const disks = {std::filesystem::temp_directory_path(),
                                                  "/dev/shm"};

/// Up to 32 MiB, which differ from page to page.
std::span<std::byte const> random_bytes(std::size_t size, std::size_t seed) {
  static auto const all = [] {
    std::vector<std::byte> made(33 * mebibyte);
    unsigned state = 0;
    for (auto& byte : made)
      byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    return made;
  }();
  return std::span(all).subspan(seed * 4099, size);
}

class OpenFile {
 public:
  OpenFile(std::filesystem::path const& path, int how)
      : descriptor_(open(path.c_str(), how, 0600)) {
    EXPECT_GE(descriptor_, 0);
  }
  OpenFile(OpenFile const&) = delete;
  OpenFile& operator=(OpenFile const&) = delete;
  ~OpenFile() { close(descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

bool holds(std::filesystem::path const& path, std::span<std::byte const> expected) {
  PlacedFile const file(path, path, PlacedFile::How::read);
  if (file.size() != expected.size()) return false;
  std::vector<std::byte> bytes(expected.size());
  file.read(0, bytes);
  return std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0;
}

void expect_bytes_at_their_place(std::filesystem::path const& disk) {
  TemporaryFolder const folder(disk);
  auto const path = folder / "a";
  auto const before = random_bytes(4 * mebibyte, 1);
  for (int const how : {O_RDWR, O_WRONLY})
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, 2 * mebibyte - 1, 2 * mebibyte,
                                   2 * mebibyte + 1, 9 * mebibyte + 4097})
      for (std::size_t const place : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                      std::size_t{4096}, 3 * mebibyte + 7}) {
        auto const bytes = random_bytes(size, 2);
        std::vector<std::byte> expected(size > 0 ? std::max(before.size(), place + size)
                                                 : before.size());
        std::memcpy(expected.data(), before.data(), before.size());
        std::memcpy(expected.data() + place, bytes.data(), size);
        OpenFile const file(path, how | O_CREAT | O_TRUNC);
        ASSERT_EQ(write_at(file.descriptor(), 0, before), 0);
        ASSERT_EQ(write_at(file.descriptor(), place, bytes), 0);
        EXPECT_TRUE(holds(path, expected)) << disk << ' ' << size << " at " << place;
      }
}

TEST(WriteAt, PutsBytesAtTheirPlaceAndNowhereElse) {
  for (auto const& disk : disks) expect_bytes_at_their_place(disk);
}

/// As an older system does, or one that has no large page left.
TEST(WriteAt, WhereTheSystemTakesNoAdvice) {
  for (int const first : {populate, collapse}) {
    int const status = run_in_child([&] {
      first_refused = first;
      expect_bytes_at_their_place("/dev/shm");
      std::exit(refusals == 0 || testing::Test::HasFailure() ? 1 : 0);
    });
    EXPECT_EQ(status, 0) << first;
  }
}

constexpr std::size_t part = 3 * mebibyte + 1;  // so that neighbours share pages

void write_part(int descriptor, std::span<std::byte const> all, std::size_t first) {
  auto const bytes = all.subspan(first, std::min(part, all.size() - first));
  EXPECT_EQ(write_at(descriptor, first, bytes), 0);
}

TEST(WriteAt, SeveralThreadsAtATime) {
  auto const expected = random_bytes(24 * mebibyte + 12345, 3);
  for (auto const& disk : disks) {
    TemporaryFolder const folder(disk);
    {
      OpenFile const file(folder / "a", O_RDWR | O_CREAT);
      std::vector<std::jthread> threads;
      for (std::size_t first = 0; first < expected.size(); first += part)
        threads.emplace_back([&, first] { write_part(file.descriptor(), expected, first); });
    }
    EXPECT_TRUE(holds(folder / "a", expected)) << disk;
  }
}

/// In a file that has its length before, as ranks find it, and in one that gets longer.
TEST(WriteAt, SeveralProcessesAtATime) {
  auto const expected = random_bytes(24 * mebibyte + 12345, 3);
  for (auto const& disk : disks)
    for (bool const is_long : {true, false}) {
      TemporaryFolder const folder(disk);
      {
        PlacedFile const file(folder / "a", "a", PlacedFile::How::created);
        if (is_long) file.resize(expected.size());
      }
      std::vector<pid_t> children;
      for (std::size_t process = 0; process < 3; ++process) {
        children.push_back(fork());
        if (children.back() > 0) continue;
        OpenFile const file(folder / "a", O_RDWR);
        for (std::size_t first = process * part; first < expected.size(); first += 3 * part)
          write_part(file.descriptor(), expected, first);
        _exit(testing::Test::HasFailure() ? 1 : 0);
      }
      for (pid_t const child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
      }
      EXPECT_TRUE(holds(folder / "a", expected)) << disk << ' ' << is_long;
    }
}

TEST(WriteAt, TellsWhatFailed) {
  for (auto const& disk : disks) {
    TemporaryFolder const folder(disk);
    auto const bytes = random_bytes(8 * mebibyte, 4);
    { OpenFile const created(folder / "a", O_WRONLY | O_CREAT); }
    OpenFile const file(folder / "a", O_RDONLY);
    EXPECT_EQ(write_at(file.descriptor(), 0, bytes), EBADF);
    int const status = run_in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const most = {5 * mebibyte, 5 * mebibyte};
      setrlimit(RLIMIT_FSIZE, &most);
      PlacedFile const target(folder / "b", "b", PlacedFile::How::created);
      try {
        target.write(0, bytes);
        std::exit(1);
      } catch (IoError const& error) {
        bool const named =
            std::string_view(error.what()).ends_with("writing failed (File too large)");
        std::exit(named ? 0 : 2);
      }
    });
    EXPECT_EQ(status, 0) << disk;
    EXPECT_LE(std::filesystem::file_size(folder / "b"), 5 * mebibyte);
  }
}

/// What a thread that finds the disk full gives back, others are copying to.
TEST(WriteAt, ADiskInMemoryThatIsFullEndsNoProcess) {
  TemporaryFolder const folder;
  constexpr int not_permitted = 77;
  int const status = run_in_child([&] {
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.path().c_str(), "tmpfs", 0, "size=20m") != 0)
      std::exit(not_permitted);
    auto const bytes = random_bytes(8 * mebibyte, 5);
    for (int trial = 0; trial < 20; ++trial) {
      std::atomic<int> refused = 0;
      hdf5::TransactionFile file((folder / "a").c_str(), H5F_ACC_CREAT | H5F_ACC_TRUNC);
      file.set_end(8 * bytes.size());
      file.extend();
      {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < 8; ++i)
          threads.emplace_back([&, i] {
            try {
              file.write_raw(i * bytes.size(), bytes);
            } catch (std::runtime_error const& error) {
              if (std::string_view(error.what()) == "writing: No space left on device") ++refused;
            }
          });
      }
      if (refused == 0) std::exit(1);
    }
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_permitted)
    GTEST_SKIP() << "nothing may be mounted here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gridstride::io

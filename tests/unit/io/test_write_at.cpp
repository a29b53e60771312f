#include "io/write_at.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "io/placed_file.hpp"
#include "io/transaction_file.hpp"
#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// On any disk, and on one in memory.
std::vector<std::filesystem::path> const disks = {std::filesystem::temp_directory_path(),
                                                  "/dev/shm"};

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes)
    byte = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
  return bytes;
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

std::vector<std::byte> all_of(std::filesystem::path const& path) {
  PlacedFile const file(path, path, PlacedFile::How::read);
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

TEST(WriteAt, PutsBytesAtTheirPlaceAndNowhereElse) {
  for (auto const& disk : disks) {
    TemporaryFolder const folder(disk);
    auto const path = folder / "a";
    for (int const how : {O_RDWR, O_WRONLY})
      for (std::size_t const size : {std::size_t{0}, std::size_t{1}, 2 * mebibyte - 1, 2 * mebibyte,
                                     2 * mebibyte + 1, 5 * mebibyte + 4097})
        for (std::size_t const place : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                        std::size_t{4096}, 3 * mebibyte + 7}) {
          auto expected = random_bytes(4 * mebibyte, 1);
          auto const bytes = random_bytes(size, 2);
          OpenFile const file(path, how | O_CREAT | O_TRUNC);
          ASSERT_EQ(write_at(file.descriptor(), 0, expected), 0);
          ASSERT_EQ(write_at(file.descriptor(), place, bytes), 0);
          if (size > 0) expected.resize(std::max(expected.size(), place + size));
          std::ranges::copy(bytes, expected.begin() + static_cast<std::ptrdiff_t>(place));
          EXPECT_TRUE(all_of(path) == expected) << disk << ' ' << size << " at " << place;
        }
  }
}

TEST(WriteAt, SeveralThreadsAtATime) {
  for (auto const& disk : disks) {
    TemporaryFolder const folder(disk);
    auto const expected = random_bytes(24 * mebibyte + 12345, 3);
    constexpr std::size_t part = 3 * mebibyte + 1;  // so that neighbours share pages
    {
      OpenFile const file(folder / "a", O_RDWR | O_CREAT);
      std::vector<std::jthread> threads;
      for (std::size_t first = 0; first < expected.size(); first += part)
        threads.emplace_back([&, first] {
          auto const bytes =
              std::span(expected).subspan(first, std::min(part, expected.size() - first));
          EXPECT_EQ(write_at(file.descriptor(), first, bytes), 0);
        });
    }
    EXPECT_TRUE(all_of(folder / "a") == expected) << disk;
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

#include "bench/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "core/pipeline.hpp"
#include "core/timer.hpp"

namespace gridstride::bench {

namespace {

constexpr std::size_t chunk_bytes = Pipeline::chunk_bytes;
constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// A file that goes when it is closed, however the program ends.
class NamelessFile {
 public:
  explicit NamelessFile(std::filesystem::path const& folder)
      : name_((folder / ".gridstride_XXXXXX").string()), number_(mkstemp(name_.data())) {
    if (number_ < 0) fail("cannot be made");
    unlink(name_.c_str());
  }
  ~NamelessFile() { close(number_); }
  NamelessFile(NamelessFile const&) = delete;
  NamelessFile& operator=(NamelessFile const&) = delete;

  int number() const { return number_; }

  void transfer(auto const& call, std::byte* bytes, std::size_t count, std::size_t place) const {
    while (count > 0) {
      ssize_t const done = call(number_, bytes, count, static_cast<off_t>(place));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot be written and read");
      auto const moved = static_cast<std::size_t>(done);
      bytes += moved;
      count -= moved;
      place += moved;
    }
  }

  [[noreturn]] void fail(std::string const& what) const {
    throw IoError(name_, what + " (" + std::strerror(errno) + ")");
  }

 private:
  std::string name_;
  int number_;
};

std::size_t bytes_for(std::filesystem::path const& folder) {
  std::error_code error;
  auto const space = std::filesystem::space(folder, error);
  if (error) throw IoError(folder.string(), "is no folder to measure (" + error.message() + ")");
  auto const quarter = static_cast<std::size_t>(space.available / 4);
  std::size_t const bytes = std::min(most_bytes, quarter) / chunk_bytes * chunk_bytes;
  if (bytes == 0) throw IoError(folder.string(), "has no room for a file of 8 MiB and its rest");
  return bytes;
}

}  // namespace

std::vector<machine::Roof> disk_roofs(std::filesystem::path const& folder) {
  std::size_t const bytes = bytes_for(folder);
  auto const chunks = static_cast<std::int64_t>(bytes / chunk_bytes);
  NamelessFile const file(folder);
  Pipeline pipeline(Stream(Device::open(Backend::cpu)),
                    Pipeline::lanes_for(LaneUse::files, chunks));
  std::vector<Slab> slabs;
  for (Lane& lane : pipeline.lanes()) {
    slabs.emplace_back(lane.stream(), chunk_bytes);
    std::ranges::fill(slabs.back().host<std::byte>(chunk_bytes), std::byte{1});
  }
  auto const seconds_of = [&](auto const& call) {
    auto const each = [&](Lane& lane, std::int64_t chunk) {
      auto const slab = slabs[lane.index()].host<std::byte>(chunk_bytes);
      file.transfer(call, slab.data(), slab.size(), static_cast<std::size_t>(chunk) * chunk_bytes);
    };
    return pipeline.run(chunks, {{"disk", StageKind::host, each}}).seconds;
  };

  Timer writing;
  seconds_of([](auto... arguments) { return pwrite(arguments...); });
  if (fsync(file.number()) != 0) file.fail("cannot be written");
  double const written = writing.seconds();
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  auto const read = [](auto... arguments) { return pread(arguments...); };
  double const first = seconds_of(read), again = seconds_of(read);
  auto const size = static_cast<double>(bytes);
  return {{disk_write_roof, "B/s", size / written, "one file by several threads, and fsync"},
          {disk_read_roof, "B/s", size / first, "the same file, after POSIX_FADV_DONTNEED"},
          {cached_read_roof, "B/s", size / again, "the same file once more"}};
}

}  // namespace gridstride::bench

#include "driver/seen_files.hpp"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/error.hpp"
#include "core/rank_sums.hpp"
#include "core/token.hpp"
#include "io/placed_file.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

using io::PlacedFile;

/// File systems, by Linux's numbers, of which machines that see the same one see the same bytes at any
/// time, and write no others than they were given; or of which one machine has each alone.
constexpr std::array<std::uint32_t, 10> known_ones = {0x0bd00bd0,   // Lustre
                                                      0x47504653,   // GPFS
                                                      0x00c36400,   // Ceph
                                                      0x01161970,   // GFS2
                                                      0x7461636f,   // OCFS2
                                                      0xef53,       // ext4
                                                      0x58465342,   // XFS
                                                      0x9123683e,   // Btrfs
                                                      0x01021994,   // a disk in memory
                                                      0x794c7630};  // layers of these

/// What others keep for a while may come back over what another machine has written.
bool is_known(fs::path const& directory) {
  struct statfs found = {};
  if (::statfs(directory.c_str(), &found) != 0) return false;
  return std::ranges::count(known_ones, static_cast<std::uint32_t>(found.f_type)) > 0;
}

std::uint64_t place_of(int rank) { return static_cast<std::uint64_t>(rank) * sizeof(Token); }

void put(PlacedFile const& file, int rank, Token const& token) {
  file.write(place_of(rank), std::as_bytes(std::span(&token, 1)));
  file.synchronize();
}

void require(PlacedFile const& file, fs::path const& path, int rank, Token const& token) {
  Token found = {};
  file.read(place_of(rank), std::as_writable_bytes(std::span(&found, 1)));
  if (found != token) throw IoError(path, "is another file there");
}

/// What this rank finds to be lacking; it goes on with the others all the same.
template <class Work>
void attempt(Ranks& ranks, std::string& lack, Work const& work) {
  if (!lack.empty()) return;
  try {
    work();
  } catch (IoError const& error) {
    lack = fmt::format("rank {}: {}", ranks.rank(), error.what());
  }
}

}  // namespace

std::string lack_of_files(Ranks& ranks, OutputPaths const& paths) {
  bool const is_one_machine = ranks.local_count() == ranks.count();
  // A name that files of this run have before they are complete.
  int process = static_cast<int>(::getpid());
  ranks.broadcast(std::as_writable_bytes(std::span(&process, 1)));
  fs::path const path = paths.file(fmt::format(".h5.{}.part", process));
  Token const own = draw_token();
  auto const tokens = of_all_ranks(ranks, own);
  std::string lack;
  if (!is_one_machine && !is_known(paths.directory))
    lack =
        fmt::format("ranks are on several machines, which may not see the same of {} at any time",
                    paths.directory.string());
  std::unique_ptr<PlacedFile> file;
  auto const make = [&](PlacedFile::How how) {
    file = std::make_unique<PlacedFile>(path, path, how);
  };
  if (ranks.is_first())
    attempt(ranks, lack, [&] {
      make(PlacedFile::How::created);
      put(*file, 0, own);
    });
  lack = first_text(ranks, lack);
  if (!ranks.is_first())
    attempt(ranks, lack, [&] {
      make(PlacedFile::How::written);
      require(*file, path, 0, tokens.front());
      put(*file, ranks.rank(), own);
    });
  lack = first_text(ranks, lack);
  if (ranks.is_first())
    for (int rank = 1; rank < ranks.count(); ++rank)
      attempt(ranks, lack,
              [&] { require(*file, path, rank, tokens[static_cast<std::size_t>(rank)]); });
  lack = first_text(ranks, lack);
  std::error_code ignored;
  if (ranks.is_first()) fs::remove(path, ignored);
  return lack;
}

}  // namespace gridstride

#include "kernels/support/runtime_cache.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".kernels";
constexpr std::string_view unfinished = ".partial";

std::string digest_of(std::string_view content) {
  Digest digest;
  digest.add(content);
  return digest.text();
}

/// The first line of a file: what it is, whose key, how long and which content follow.
std::string header_of(std::string const& key, std::string_view content) {
  return fmt::format("gridstride kernels 1 {} {} {}\n", key, content.size(), digest_of(content));
}

std::string environment(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Code that another user put there is not for this one to run.
bool is_own(fs::path const& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 && status.st_uid == geteuid();
}

}  // namespace

void Digest::add_word(std::uint64_t word) {
  constexpr Wide golden = (Wide{0x9e3779b97f4a7c15} << 64) | 0xf39cc0605cedc835;  // 2^128/φ
  state_ = (state_ ^ word) * golden;
  state_ ^= state_ >> 64;  // a product carries upwards alone
}

void Digest::add(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); i += sizeof(std::uint64_t)) {
    auto const part = text.substr(i, sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, part.data(), part.size());
    add_word(word);
  }
  add_word(text.size());
}

std::string Digest::text() const {
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                     static_cast<std::uint64_t>(state_));
}

fs::path cache_folder() {
  if (auto const folder = environment("GRIDSTRIDE_CACHE"); !folder.empty()) return folder;
  if (auto const folder = environment("XDG_CACHE_HOME"); !folder.empty())
    return fs::path(folder) / "gridstride";
  if (auto const folder = environment("HOME"); !folder.empty())
    return fs::path(folder) / ".cache" / "gridstride";
  return {};
}

fs::path RuntimeCache::file_of(std::string const& key) const {
  return folder_ / (key + std::string(extension));
}

std::optional<std::string> RuntimeCache::find(std::string const& key) const {
  fs::path const path = file_of(key);
  std::ifstream file(path, std::ios::binary);
  if (!file || !is_own(path)) return std::nullopt;
  std::string header;
  std::getline(file, header);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (header + '\n' != header_of(key, content)) return std::nullopt;
  std::error_code ignored;  // in a folder that cannot be written, it only looks unused
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return content;
}

std::string RuntimeCache::store(std::string const& key, std::string_view content) const {
  static std::atomic<int> count = 0;
  if (folder_.empty()) return "neither GRIDSTRIDE_CACHE nor HOME names a folder for it";
  std::error_code status;
  if (fs::create_directories(folder_, status)) {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
  }
  if (status) return fmt::format("{}: {}", folder_.string(), status.message());
  fs::path const partial = folder_ / fmt::format("{}.{}.{}{}", key, getpid(), ++count, unfinished);
  {
    std::ofstream file(partial, std::ios::binary);
    file << header_of(key, content) << content;
    file.close();
    if (!file) {
      fs::remove(partial, status);
      return fmt::format("{} cannot be written", folder_.string());
    }
  }
  fs::rename(partial, file_of(key), status);
  if (status) return fmt::format("{}: {}", file_of(key).string(), status.message());
  remove_oldest();
  return {};
}

void RuntimeCache::remove_oldest() const {
  struct File {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  // Other processes change the folder meanwhile: what is gone already is no fault.
  std::error_code status;
  auto const an_hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator entry(folder_, status), end; !status && entry != end;
       entry.increment(status)) {
    std::error_code gone;
    File const file = {entry->last_write_time(gone), entry->file_size(gone), entry->path()};
    if (gone) continue;
    if (file.path.extension() == unfinished && file.used < an_hour_ago)
      fs::remove(file.path, gone);  // of a process that did not live to rename it
    if (file.path.extension() != extension) continue;
    total += file.bytes;
    files.push_back(file);
  }
  std::ranges::sort(files, {}, &File::used);
  for (auto file = files.begin(); file != files.end() && total > limit_; ++file) {
    std::error_code gone;
    fs::remove(file->path, gone);
    total -= file->bytes;
  }
}

}  // namespace gridstride

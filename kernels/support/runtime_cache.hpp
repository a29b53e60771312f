#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gridstride {

/// A 128-bit digest of texts, each with its length, so that their borders count.
class Digest {
 public:
  void add(std::string_view text);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  __extension__ using Wide = unsigned __int128;
  void add_word(std::uint64_t word);
  Wide state_ = (Wide{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
};

/// Where compiled kernels are kept: the folder in `GRIDSTRIDE_CACHE`, or gridstride/ in
/// `XDG_CACHE_HOME`, or in ~/.cache. Empty when none of these is known.
std::filesystem::path cache_folder();

/// Compiled kernels on disk, one file for each key (a digest). Several processes may use one folder
/// at a time: a file appears whole, under its name, or not at all. A file that is damaged, or is
/// another user's, counts as missing.
class RuntimeCache {
 public:
  static constexpr std::uintmax_t default_limit = std::uintmax_t{256} << 20;

  /// Beyond `limit` bytes, the files that were not used for longest are removed.
  explicit RuntimeCache(std::filesystem::path folder, std::uintmax_t limit = default_limit)
      : folder_(std::move(folder)), limit_(limit) {}

  std::optional<std::string> find(std::string const& key) const;

  /// Returns why it could not be stored; empty when it is. Nothing is lost but time.
  std::string store(std::string const& key, std::string_view content) const;

 private:
  std::filesystem::path file_of(std::string const& key) const;
  void remove_oldest() const;

  std::filesystem::path folder_;
  std::uintmax_t limit_;
};

}  // namespace gridstride

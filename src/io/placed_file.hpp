#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/field_sink.hpp"

namespace gridstride::io {

/// A file that is written or read at any place, by several threads at a time. Throws `IoError` that
/// names it `shown`.
class PlacedFile {
 public:
  enum class How { read, written, created };
  PlacedFile(std::filesystem::path const& path, std::filesystem::path shown, How how);
  PlacedFile(PlacedFile const&) = delete;
  PlacedFile& operator=(PlacedFile const&) = delete;
  ~PlacedFile();

  std::uint64_t size() const;
  /// For other processes, that put bytes there.
  FilePlaces places(std::vector<Stretch> stretches) const;
  void write(std::uint64_t place, std::span<std::byte const> bytes) const;
  void write(std::uint64_t place, std::string_view text) const {
    write(place, std::as_bytes(std::span(text.data(), text.size())));
  }
  /// Throws where the file ends before.
  void read(std::uint64_t place, std::span<std::byte> bytes) const;
  /// Of a file that was created: moves bytes to a lower place.
  void move_down(std::uint64_t from, std::uint64_t to, std::uint64_t size) const;
  void resize(std::uint64_t size) const;
  void synchronize() const;

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_, shown_;
  int descriptor_;
};

}  // namespace gridstride::io

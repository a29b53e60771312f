#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <vector>

namespace gridstride {

/// Bytes of a field that lie in a file one behind the other, as they were given.
struct Stretch {
  std::uint64_t first_byte = 0, bytes = 0;  ///< of the field
  std::uint64_t place = 0;                  ///< in the file
};

/// Where all bytes of a field lie in a file, so that other processes can put some of them there.
struct FilePlaces {
  std::filesystem::path file;   ///< empty: they lie in none as they were given
  std::filesystem::path shown;  ///< what messages call it
  /// That tell it from others of this machine; device 0: of whatever machine.
  std::uint64_t device = 0, inode = 0;
  std::vector<Stretch> stretches;  ///< in the order of the field, without gaps
  /// Bytes of the slabs that each have a checksum, found by who writes them; 0: they have none.
  std::uint64_t checked = 0;
};

/// Parts of a field that go to files by themselves begin at multiples of so many bytes, and have so many
/// but for the last one.
inline constexpr std::size_t slab_of_files = std::size_t{8} << 20;

/// That of one of them.
struct SlabChecksum {
  std::uint64_t slab;  ///< its number
  std::int64_t checksum;
};

/// Where the bytes of one field at one moment go: its values in the order of memory, x fastest, the
/// components of a vector side by side. Whoever gave it makes them visible once all are written.
class FieldSink {
 public:
  explicit FieldSink(std::uint64_t bytes) : bytes_(bytes) {}
  FieldSink(FieldSink const&) = delete;
  FieldSink& operator=(FieldSink const&) = delete;
  virtual ~FieldSink() = default;

  /// Puts bytes in their place. Several threads may do so at a time, in any order and in pieces of
  /// any size; no byte is given twice. Throws `IoError`; the moment is then given up.
  void write(std::uint64_t first_byte, std::span<std::byte const> bytes) {
    if (first_byte > bytes_ || bytes.size() > bytes_ - first_byte)
      throw std::out_of_range("FieldSink: beyond the end of the field");
    try {
      put(first_byte, bytes);
    } catch (...) {
      has_failed_ = true;
      throw;
    }
    written_ += bytes.size();
  }
  std::uint64_t bytes() const { return bytes_; }
  /// How many were given.
  std::uint64_t written() const { return written_; }
  /// Whether bytes that were given did not come to their place.
  bool has_failed() const { return has_failed_; }
  /// Where other processes of this machine may put bytes until `settle`; no file where they cannot.
  virtual FilePlaces share() { return {}; }
  /// Others are done, who have put so many bytes in their place, unless one of them failed in it, and
  /// have found the checksums of these slabs.
  void settle(std::uint64_t others_bytes, bool others_failed,
              std::span<SlabChecksum const> checksums = {}) {
    end_sharing(others_failed);
    take_checksums(checksums);
    written_ += others_bytes;
  }
  /// Of what another process writes: those of the slabs that it was given.
  virtual std::vector<SlabChecksum> checksums() const { return {}; }
  /// Throws `std::logic_error` unless every byte was given.
  void require_whole() const {
    if (written_ != bytes_) throw std::logic_error("FieldSink: a part of the field is missing");
  }

 private:
  virtual void put(std::uint64_t first_byte, std::span<std::byte const> bytes) = 0;
  virtual void end_sharing(bool /*others_failed*/) {}
  virtual void take_checksums(std::span<SlabChecksum const>) {}

  std::uint64_t bytes_;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace gridstride

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace gridstride {

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
    put(first_byte, bytes);
    written_ += bytes.size();
  }
  std::uint64_t bytes() const { return bytes_; }
  /// Throws `std::logic_error` unless every byte was given.
  void require_whole() const {
    if (written_ != bytes_) throw std::logic_error("FieldSink: a part of the field is missing");
  }

 private:
  virtual void put(std::uint64_t first_byte, std::span<std::byte const> bytes) = 0;

  std::uint64_t bytes_;
  std::atomic<std::uint64_t> written_ = 0;
};

}  // namespace gridstride

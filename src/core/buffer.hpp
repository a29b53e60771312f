#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/stream.hpp"

namespace gridstride {

/// Where memory lives. On a CPU stream all four are plain host memory.
enum class MemorySpace {
  host,     ///< pageable
  pinned,   ///< page-locked: copies to and from a GPU overlap other work
  device,   ///< the GPU's own, from the device's pool, ordered by the stream it was made on
  managed,  ///< migrates on demand
};

namespace detail {
/// Uninitialised memory, 64-byte aligned, released in stream order when the handle goes.
/// Throws `Error` that names the size asked for and the memory there is.
std::shared_ptr<void> allocate(Stream const& stream, MemorySpace space, std::size_t bytes);
void copy_bytes_async(void* target, void const* source, std::size_t bytes, Stream& stream);
void zero_bytes_async(void* target, std::size_t bytes, Stream& stream);
}  // namespace detail

/// Owning, move-only, uninitialised memory for `size()` values of `T`.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Stream const& stream, MemorySpace space, std::size_t size)
      : memory_(detail::allocate(stream, space, size * sizeof(T))), size_(size), space_(space) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }

  T* data() { return static_cast<T*>(memory_.get()); }
  T const* data() const { return static_cast<T const*>(memory_.get()); }
  std::size_t size() const { return size_; }
  MemorySpace space() const { return space_; }
  std::span<T> span() { return {data(), size_}; }
  std::span<T const> span() const { return {data(), size_}; }
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(space_, other.space_);
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
  MemorySpace space_ = MemorySpace::host;
};

/// Whether the host reads and writes this memory itself, which work on the stream may use.
bool is_on_host(void const* memory, Stream const& stream);

/// Copies `source` to `target` in stream order, whatever spaces they are in. The sizes must agree.
template <class T>
void copy_async(std::span<T> target, std::span<std::type_identity_t<T> const> source,
                Stream& stream) {
  if (target.size() != source.size()) throw std::invalid_argument("copy_async: sizes differ");
  detail::copy_bytes_async(target.data(), source.data(), source.size_bytes(), stream);
}

/// Sets every byte to zero in stream order. On a GPU's stream not for pageable host memory.
template <class T>
void zero_async(std::span<T> target, Stream& stream) {
  detail::zero_bytes_async(target.data(), target.size_bytes(), stream);
}

}  // namespace gridstride

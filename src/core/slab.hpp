#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "core/buffer.hpp"

namespace gridstride {

/// Pinned memory of the host beside as much memory of the device, between which a chunk travels. On
/// the CPU both are the same memory, and copies have nothing to do.
class Slab {
 public:
  Slab(Stream const& stream, std::size_t bytes)
      : host_(stream, MemorySpace::pinned, bytes),
        device_(stream, MemorySpace::device, stream.backend() == Backend::cuda ? bytes : 0) {}

  /// Bytes of each side.
  std::size_t bytes() const { return host_.size(); }

  /// The first `size` values. Throws `std::out_of_range` beyond the slab.
  template <class T>
  std::span<T> host(std::size_t size) {
    return view<T>(host_, size);
  }
  template <class T>
  std::span<T> device(std::size_t size) {
    return view<T>(device_.size() > 0 ? device_ : host_, size);
  }

  /// Queue copies of the first `bytes` from side to side.
  void to_device(std::size_t bytes, Stream& stream) {
    if (device_.size() > 0) copy_async(device<std::byte>(bytes), host<std::byte>(bytes), stream);
  }
  void to_host(std::size_t bytes, Stream& stream) {
    if (device_.size() > 0) copy_async(host<std::byte>(bytes), device<std::byte>(bytes), stream);
  }

 private:
  template <class T>
  static std::span<T> view(Buffer<std::byte>& buffer, std::size_t size) {
    if (size > buffer.size() / sizeof(T)) throw std::out_of_range("a slab is too small");
    return {reinterpret_cast<T*>(buffer.data()), size};
  }

  Buffer<std::byte> host_, device_;
};

}  // namespace gridstride

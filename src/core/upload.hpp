#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "core/stream.hpp"

namespace gridstride {

namespace detail {
void upload_bytes(std::byte* target, std::byte const* source, std::size_t bytes, Stream& stream);
}  // namespace detail

/// Copies memory of the host to the device, after what is queued on the stream. Much of it goes through
/// pinned slabs that all threads fill, at the rate of the bus: of pageable memory the driver copies with
/// one thread. Done when this returns. The sizes must agree.
template <class T>
void upload(std::span<T> target, std::span<std::type_identity_t<T> const> source, Stream& stream) {
  if (target.size() != source.size()) throw std::invalid_argument("upload: sizes differ");
  detail::upload_bytes(reinterpret_cast<std::byte*>(target.data()),
                       reinterpret_cast<std::byte const*>(source.data()), source.size_bytes(),
                       stream);
}

}  // namespace gridstride

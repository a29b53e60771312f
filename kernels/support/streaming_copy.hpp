#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/support/parallel_for.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/// Copies within the host's memory of more than caches hold.
namespace gridstride {

/// With stores past the caches, where the processor has them: what is written is not read first.
inline void copy_past_caches(std::byte* target, std::byte const* source, std::size_t bytes) {
#ifdef __x86_64__
  constexpr std::size_t width = sizeof(__m128i);
  std::size_t const misaligned = reinterpret_cast<std::uintptr_t>(target) % width;
  std::size_t const head = std::min(bytes, (width - misaligned) % width);
  std::memcpy(target, source, head);
  std::size_t place = head;
  for (; place + width <= bytes; place += width)
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + place),
                     _mm_loadu_si128(reinterpret_cast<__m128i const*>(source + place)));
  _mm_sfence();
  std::memcpy(target + place, source + place, bytes - place);
#else
  std::memcpy(target, source, bytes);
#endif
}

template <class T>
void copy_past_caches(std::span<T const> source, T* target) {
  copy_past_caches(reinterpret_cast<std::byte*>(target),
                   reinterpret_cast<std::byte const*>(source.data()), source.size_bytes());
}

/// The same, shared among the host's threads.
template <class T>
void copy_shared(std::span<T const> source, T* target) {
  constexpr std::int64_t piece = (1 << 20) / sizeof(T);
  std::int64_t const size = std::ssize(source);
  parallel_for((size + piece - 1) / piece, [&](std::int64_t p) {
    auto const first = static_cast<std::size_t>(p * piece);
    auto const count = static_cast<std::size_t>(std::min(piece, size - p * piece));
    copy_past_caches(source.subspan(first, count), target + first);
  });
}

}  // namespace gridstride

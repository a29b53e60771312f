#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/machine/machine.hpp"

namespace gridstride::test {

/// Random values as any device makes them. They begin one element into their memory.
template <class T>
std::vector<T> filled(Stream& stream, std::int64_t size, std::uint64_t seed,
                      machine::Distribution const& distribution = {}) {
  auto const count = static_cast<std::size_t>(size);
  Buffer<T> memory(stream, MemorySpace::device, count + 1);
  auto const values = memory.span().subspan(1);
  machine::fill_random(stream, values, seed, distribution);
  std::vector<T> result(count);
  copy_async(std::span(result), values, stream);
  stream.synchronize();
  return result;
}

}  // namespace gridstride::test

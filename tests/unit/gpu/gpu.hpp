#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/device.hpp"
#include "core/graph.hpp"
#include "core/stream.hpp"

/// Ends the test (in `SetUp` or the body) as skipped, with the reason, where there is no GPU.
#define GRIDSTRIDE_SKIP_WITHOUT_GPU()                                             \
  if (std::string const reason = ::gridstride::Device::cuda_unavailable_reason(); \
      reason.empty()) {                                                           \
  } else                                                                          \
    GTEST_SKIP() << reason

namespace gridstride::test {

/// A copy of `values` in the memory of the stream's device, there when the call returns.
template <class T>
Buffer<std::remove_const_t<T>> to_device(std::span<T> values, Stream& stream) {
  Buffer<std::remove_const_t<T>> buffer(stream, MemorySpace::device, values.size());
  copy_async(buffer.span(), values, stream);
  stream.synchronize();
  return buffer;
}

/// A copy of device memory on the host, after all queued work.
template <class T>
std::vector<std::remove_const_t<T>> to_host(std::span<T> values, Stream& stream) {
  std::vector<std::remove_const_t<T>> host(values.size());
  copy_async(std::span(host), values, stream);
  stream.synchronize();
  return host;
}

}  // namespace gridstride::test

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stream.hpp"

namespace gridstride {

/// What the driver says about a kernel that a GPU would run, and how it is launched.
struct KernelInfo {
  std::string name;   ///< without namespaces, template arguments and parameters
  int registers = 0;  ///< of a thread
  std::size_t static_shared_bytes = 0;
  std::size_t dynamic_shared_bytes = 0;
  std::size_t local_bytes = 0;  ///< of a thread: spilled registers, and arrays in local memory
  int block_threads = 0;
  double occupancy = 0;  ///< warps that fit a multiprocessor at a time, of those it can hold
  int launches = 1;

  bool operator==(KernelInfo const&) const = default;
};

/// The kernels that `work` queues on a GPU's stream, each once with the number of its launches, in
/// the order of their first. `work` is captured, not run. Throws where it cannot be captured, as
/// when it waits for the device; the stream is as before then.
std::vector<KernelInfo> captured_kernels(Stream& stream, std::function<void()> const& work);

/// `fill_kernel` of `void ns::(anonymous namespace)::fill_kernel<float>(float*, long)`, mangled
/// or not.
std::string short_kernel_name(char const* name);

}  // namespace gridstride

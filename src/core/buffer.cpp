#include "core/buffer.hpp"

#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/text.hpp"

namespace gridstride::detail {

namespace {

std::shared_ptr<void> allocate_host(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = rounded >= bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
  if (memory == nullptr)
    throw Error(format_bytes(static_cast<double>(bytes)) + " of host memory are needed, " +
                format_bytes(static_cast<double>(Device::open(Backend::cpu).free_memory())) +
                " are free");
  return {memory, std::free};
}

}  // namespace

std::shared_ptr<void> allocate(Stream const& stream, MemorySpace space, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  Device const& device = stream.device();
  if (device.backend() == Backend::cpu || space == MemorySpace::host) return allocate_host(bytes);
  switch (space) {
    case MemorySpace::pinned:
      return gpu::allocate_pinned(bytes);
    case MemorySpace::managed:
      return gpu::allocate_managed(device.ordinal(), bytes);
    default:
      return gpu::allocate_device(stream.owner(), device.ordinal(), bytes);
  }
}

void copy_bytes_async(void* target, void const* source, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  if (stream.native() == nullptr)
    std::memmove(target, source, bytes);
  else
    gpu::copy_async(target, source, bytes, stream.native());
}

void zero_bytes_async(void* target, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  if (stream.native() == nullptr)
    std::memset(target, 0, bytes);
  else
    gpu::zero_async(target, bytes, stream.native());
}

}  // namespace gridstride::detail

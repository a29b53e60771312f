#include "core/buffer.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/memory_use.hpp"
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

std::shared_ptr<void> allocate_in(Stream const& stream, MemorySpace space, std::size_t bytes) {
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

/// What the buffers of a memory space hold.
struct Count {
  std::atomic<std::size_t> now = 0, peak = 0;

  void add(std::size_t bytes) {
    std::size_t const sum = now += bytes;
    for (std::size_t most = peak; sum > most && !peak.compare_exchange_weak(most, sum);) {
    }
  }
};

Count& count_of(MemorySpace space) {
  static std::array<Count, 4> counts;
  return counts[static_cast<std::size_t>(space)];
}

}  // namespace

std::shared_ptr<void> allocate(Stream const& stream, MemorySpace space, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  auto memory = allocate_in(stream, space, bytes);
  count_of(space).add(bytes);
  void* const address = memory.get();
  return {address, [memory = std::move(memory), space, bytes](void*) mutable {
            memory.reset();
            count_of(space).now -= bytes;
          }};
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

namespace gridstride {

MemoryUse memory_use(MemorySpace space) {
  auto const& count = detail::count_of(space);
  return {count.now, count.peak};
}

void restart_peak(MemorySpace space) {
  auto& count = detail::count_of(space);
  count.peak = count.now.load();
}

}  // namespace gridstride

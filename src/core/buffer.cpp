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

/// What many buffers hold.
struct Count {
  std::atomic<std::size_t> now = 0, peak = 0;

  void add(std::size_t bytes) {
    std::size_t const sum = now += bytes;
    for (std::size_t most = peak; sum > most && !peak.compare_exchange_weak(most, sum);) {
    }
  }
};

Count& count_of(Backend owner) {
  static std::array<Count, 2> counts;
  return counts[static_cast<std::size_t>(owner)];
}

/// Whose memory it is.
Backend owner_of(Stream const& stream, MemorySpace space) {
  bool const of_host = space == MemorySpace::host || space == MemorySpace::pinned;
  return of_host ? Backend::cpu : stream.backend();
}

}  // namespace

std::shared_ptr<void> allocate(Stream const& stream, MemorySpace space, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  auto memory = allocate_in(stream, space, bytes);
  Backend const owner = owner_of(stream, space);
  count_of(owner).add(bytes);
  void* const address = memory.get();
  return {address, [memory = std::move(memory), owner, bytes](void*) mutable {
            memory.reset();
            count_of(owner).now -= bytes;
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

bool is_on_host(void const* memory, Stream const& stream) {
  return stream.backend() == Backend::cpu || gpu::is_on_host(memory);
}

MemoryUse memory_use(Backend owner) {
  auto const& count = detail::count_of(owner);
  return {count.now, count.peak};
}

void restart_peak(Backend owner) {
  auto& count = detail::count_of(owner);
  count.peak = count.now.load();
}

}  // namespace gridstride

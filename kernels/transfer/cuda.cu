// Host memory to the GPU, y = a·x + b, and back, as a ladder. The arithmetic takes next to no time;
// the roof is the link between host and GPU, which carries s = sizeof(T) bytes per element in
// either direction, and both directions at once. In every rung one thread computes one element.
//
//   pageable    Three steps on one stream: copy in, compute in place, copy out. Pageable memory may
//               move, so the driver copies it through pinned memory of its own, on the host's
//               time, and the call waits.
//   pinned      The same three steps from page-locked memory, which the copy engine reads and
//               writes by itself: no staging, and the host goes on. One direction at a time.
//   mapped      No copies and no device memory. The kernel reads and writes pinned host memory over
//               the link, a warp 32 neighbouring elements at once; the loads of thousands of
//               threads hide the latency. Both directions at once; right for what is used once.
//   managed     One pointer for host and GPU; pages travel. Prefetches move x and y in one go each
//               instead of by a fault per page, and both home again, so that the next call finds
//               them where this one did: twice the bytes of a copy. A GPU that cannot prefetch
//               brings pages on demand.
//   pitched     The array as rows of 4000 elements, each of which begins at a multiple of 512 bytes
//               of device memory: the layout that keeps rows of any length aligned. One block
//               per row. The engine copies row by row; what is left of the array is the last row.
//   constant    The input through the 64 KiB of constant memory, a piece at a time. Constant memory
//               serves a warp that reads one address in one go, and one that reads 32 addresses, as
//               here, in 32: the right memory for coefficients, the wrong one for arrays.
//   overlapped  Pieces, with a stream for each way and one for the kernels: while one piece is
//               computed, the next comes in and the one before goes out, so that both directions of
//               the link and the multiprocessors work at once, and each copy engine has one queue,
//               in which copies follow each other sooner than across streams. There is device
//               memory for a few pieces only, so the arrays may be larger than it.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"
#include "kernels/transfer/rows.hpp"

namespace gridstride::transfer {

namespace {

// ---------------------------------------------------------------------- what the rungs stand on

constexpr int block_threads = 256;

cudaPointerAttributes attributes_of(void const* p) {
  cudaPointerAttributes attributes{};
  GRIDSTRIDE_CUDA(cudaPointerGetAttributes(&attributes, p));
  return attributes;
}

std::string text_of(cudaMemoryType type) {
  switch (type) {
    case cudaMemoryTypeHost:
      return "pinned";
    case cudaMemoryTypeDevice:
      return "device";
    case cudaMemoryTypeManaged:
      return "managed";
    default:
      return "pageable";
  }
}

/// Throws where an array lies in memory that a variant cannot work with. `needed` is pinned,
/// managed, or host for all but the device's own.
template <class T>
void require_memory(std::string const& variant, Arguments<T> const& arguments, MemorySpace needed) {
  auto const check = [&](std::string const& array, void const* p) {
    cudaMemoryType const type = attributes_of(p).type;
    auto const refuse = [&](std::string const& memory) {
      throw std::invalid_argument("transfer: " + array + " lies in " + text_of(type) + " memory (" +
                                  variant + " needs " + memory + " memory)");
    };
    if (needed == MemorySpace::pinned && type != cudaMemoryTypeHost) refuse("pinned");
    if (needed == MemorySpace::managed && type != cudaMemoryTypeManaged) refuse("managed");
    if (type == cudaMemoryTypeDevice) refuse("host");
  };
  check("x", arguments.x);
  check("y", arguments.y);
}

/// A copy from pageable memory may go on after the call that queued it, as CUDA leaves open.
void wait_until_read(Stream& stream, void const* x) {
  if (attributes_of(x).type == cudaMemoryTypeUnregistered && !is_capturing(stream))
    stream.synchronize();
}

template <class T>
__device__ T affine(T a, T x, T b) {
  return sum(product(a, x), b);
}

template <class T>
__global__ void affine_kernel(T a, T b, T const* x, T* y, std::int64_t size) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < size) y[i] = affine(a, x[i], b);
}

template <class T>
void launch_affine(Stream& stream, T a, T b, T const* x, T* y, std::int64_t size) {
  affine_kernel<<<blocks_for(size, block_threads), block_threads, 0, native(stream)>>>(a, b, x, y,
                                                                                       size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "transfer");
}

/// The three steps, one after the other.
template <class T>
void copy_compute_copy(Stream& stream, Arguments<T> const& arguments) {
  auto const size = static_cast<std::size_t>(arguments.size);
  Buffer<T> values(stream, MemorySpace::device, size);
  copy_async(values.span(), std::span(arguments.x, size), stream);
  launch_affine(stream, arguments.a, arguments.b, static_cast<T const*>(values.data()),
                values.data(), arguments.size);
  copy_async(std::span(arguments.y, size), std::span<T const>(values.span()), stream);
}

}  // namespace

// ------------------------------------------------------------------------------ pageable, pinned

template <class T>
void cuda_pageable(Stream& stream, Arguments<T> const& arguments) {
  require_memory("pageable", arguments, MemorySpace::host);
  copy_compute_copy(stream, arguments);
  wait_until_read(stream, arguments.x);
}

template <class T>
void cuda_pinned(Stream& stream, Arguments<T> const& arguments) {
  require_memory("pinned", arguments, MemorySpace::pinned);
  copy_compute_copy(stream, arguments);
}

// ---------------------------------------------------------------------------------------- mapped

namespace {

/// The address by which the device knows pinned host memory.
template <class T>
T* device_address(std::string const& array, T* p) {
  void* const address = attributes_of(p).devicePointer;
  if (address == nullptr)
    throw std::invalid_argument("transfer: " + array +
                                " lies in pinned memory that is not mapped (mapped needs the "
                                "device to reach it)");
  return static_cast<T*>(address);
}

}  // namespace

template <class T>
void cuda_mapped(Stream& stream, Arguments<T> const& arguments) {
  require_memory("mapped", arguments, MemorySpace::pinned);
  launch_affine(stream, arguments.a, arguments.b, device_address("x", arguments.x),
                device_address("y", arguments.y), arguments.size);
}

// --------------------------------------------------------------------------------------- managed

namespace {

/// Managed memory beyond what the device has free can hang it. What of the arrays is there already
/// is not known, and so not counted.
void require_free_memory(Device const& device, std::size_t bytes) {
  std::size_t const free = device.free_memory();
  if (bytes > free / 2)
    throw Error("transfer: managed needs 2 x " + format_bytes(static_cast<double>(bytes)) +
                ", the device has " + format_bytes(static_cast<double>(free)) + " free");
}

}  // namespace

template <class T>
void cuda_managed(Stream& stream, Arguments<T> const& arguments) {
  require_memory("managed", arguments, MemorySpace::managed);
  if (is_capturing(stream))
    throw std::invalid_argument(
        "transfer: managed cannot be captured in a graph (what memory is free then is not known)");
  auto const bytes = static_cast<std::size_t>(arguments.size) * sizeof(T);
  int migrates = 0;
  int const ordinal = stream.device().ordinal();
  GRIDSTRIDE_CUDA(cudaDeviceGetAttribute(&migrates, cudaDevAttrConcurrentManagedAccess, ordinal));
  // Elsewhere managed memory has its place on the device from the start.
  if (migrates) require_free_memory(stream.device(), bytes);
  auto const prefetch = [&](void const* p, cudaMemLocation const& to) {
    if (migrates) GRIDSTRIDE_CUDA(cudaMemPrefetchAsync(p, bytes, to, 0, native(stream)));
  };
  cudaMemLocation const device{cudaMemLocationTypeDevice, ordinal},
      home{cudaMemLocationTypeHost, 0};
  prefetch(arguments.x, device);
  prefetch(arguments.y, device);
  launch_affine(stream, arguments.a, arguments.b, arguments.x, arguments.y, arguments.size);
  prefetch(arguments.y, home);
  prefetch(arguments.x, home);
}

// --------------------------------------------------------------------------------------- pitched

namespace {

constexpr std::int64_t row_length = 4000;  // elements

/// Bytes from row to row: the row's own, rounded up to a multiple of 512.
template <class T>
constexpr std::size_t pitch = (row_length * sizeof(T) + 511) / 512 * 512;

template <class T>
__global__ void __launch_bounds__(block_threads)
    pitched_kernel(T a, T b, std::byte* plane, std::int64_t size) {
  std::int64_t const row = blockIdx.x, rest = size - row * row_length;
  T* const values = reinterpret_cast<T*>(plane + row * pitch<T>);
  int const count = static_cast<int>(rest < row_length ? rest : row_length);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads)
    values[i] = affine(a, values[i], b);
}

}  // namespace

template <class T>
void cuda_pitched(Stream& stream, Arguments<T> const& arguments) {
  require_memory("pitched", arguments, MemorySpace::host);
  auto const size = static_cast<std::size_t>(arguments.size);
  constexpr std::size_t length = row_length, width = length * sizeof(T);
  std::size_t const rows = size / length, rest = size % length;
  std::size_t const blocks = rows + (rest > 0 ? 1 : 0);
  Buffer<std::byte> plane(stream, MemorySpace::device, blocks * pitch<T>);
  std::span const last_row(reinterpret_cast<T*>(plane.data() + rows * pitch<T>), rest);
  auto const copy_rows = [&](void* to, std::size_t to_pitch, void const* from,
                             std::size_t from_pitch) {
    if (rows > 0)
      GRIDSTRIDE_CUDA(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows,
                                        cudaMemcpyDefault, native(stream)));
  };

  copy_rows(plane.data(), pitch<T>, arguments.x, width);
  copy_async(last_row, std::span(arguments.x + rows * length, rest), stream);
  pitched_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, native(stream)>>>(
      arguments.a, arguments.b, plane.data(), arguments.size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "transfer pitched");
  copy_rows(arguments.y, width, plane.data(), pitch<T>);
  copy_async(std::span(arguments.y + rows * length, rest), std::span<T const>(last_row), stream);
  wait_until_read(stream, arguments.x);
}

// -------------------------------------------------------------------------------------- constant

namespace {

constexpr std::size_t constant_bytes = 65536;
__constant__ __align__(16) std::byte constant_piece[constant_bytes];

template <class T>
__global__ void constant_kernel(T a, T b, T* y, std::int64_t count) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < count) y[i] = affine(a, reinterpret_cast<T const*>(constant_piece)[i], b);
}

/// Each device has one `constant_piece`, which all streams share. So calls take turns: one thread
/// queues at a time, and its work waits on the device until that of the call before is done.
struct ConstantTurns {
  std::mutex mutex;
  std::map<int, Event> last;  ///< the end of the last call's work on each device
};

ConstantTurns& constant_turns() {
  static ConstantTurns turns;
  return turns;
}

}  // namespace

template <class T>
void cuda_constant(Stream& stream, Arguments<T> const& arguments) {
  require_memory("constant", arguments, MemorySpace::host);
  if (is_capturing(stream))
    throw std::invalid_argument(
        "transfer: constant cannot be captured in a graph (all streams share its constant memory)");
  auto const size = static_cast<std::size_t>(arguments.size);
  constexpr std::size_t piece = constant_bytes / sizeof(T);
  Buffer<T> results(stream, MemorySpace::device, size);
  {
    auto& turns = constant_turns();
    std::lock_guard const lock(turns.mutex);
    int const ordinal = stream.device().ordinal();
    Event& turn = turns.last.try_emplace(ordinal, stream.device()).first->second;
    stream.wait(turn);
    for (std::size_t first = 0; first < size; first += piece) {
      std::size_t const count = std::min(piece, size - first);
      GRIDSTRIDE_CUDA(cudaMemcpyToSymbolAsync(constant_piece, arguments.x + first,
                                              count * sizeof(T), 0, cudaMemcpyDefault,
                                              native(stream)));
      auto const elements = static_cast<std::int64_t>(count);
      constant_kernel<<<blocks_for(elements, block_threads), block_threads, 0, native(stream)>>>(
          arguments.a, arguments.b, results.data() + first, elements);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "transfer constant");
    }
    stream.record(turn);
  }
  copy_async(std::span(arguments.y, size), results.span(), stream);
  wait_until_read(stream, arguments.x);
}

// ------------------------------------------------------------------------------------ overlapped

namespace {

/// A point in a stream, without a time: those with one cost the copy engines more.
class Point {
 public:
  Point() {
    cudaEvent_t event = nullptr;
    GRIDSTRIDE_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    event_.reset(event);
  }
  void record(Stream& stream) { GRIDSTRIDE_CUDA(cudaEventRecord(event_.get(), native(stream))); }
  void hold(Stream& stream) {
    GRIDSTRIDE_CUDA(cudaStreamWaitEvent(native(stream), event_.get(), 0));
  }
  /// What is queued on `to` from now on comes after what is queued on `from` until now.
  void pass(Stream& from, Stream& to) {
    record(from);
    hold(to);
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy> event_;
};

/// A stream for each way and one for the kernels, and how far each piece on the device has come.
/// They are kept, for making them takes longer than a small round trip; and each thread has its
/// own, so that no two calls queue on one at the same time.
struct Belt {
  struct Piece {
    Point there, computed, back;
  };
  Stream in, work, out;
  std::array<Piece, most_pieces> pieces;
  Point end;
  explicit Belt(Device const& device) : in(device), work(device), out(device) {}
};

Belt& belt_of(Device const& device) {
  thread_local std::map<int, Belt> all;
  return all.try_emplace(device.ordinal(), device).first->second;
}

/// Elements of a piece: a 32nd of the array, so that the first copy in and the last one out, which
/// run alone, are a small part. Not below 256 KiB, where starting a copy costs as much as the copy,
/// and not above 32 MiB, where it costs next to nothing.
template <class T>
std::size_t piece_size(std::size_t size) {
  constexpr std::size_t least = (std::size_t{256} << 10) / sizeof(T);
  return std::min(size, std::clamp((size + 31) / 32, least, 128 * least));
}

}  // namespace

template <class T>
void cuda_overlapped(Stream& stream, Arguments<T> const& arguments) {
  require_memory("overlapped", arguments, MemorySpace::host);
  // The streams work for other calls too, and must not become part of a graph.
  if (is_capturing(stream)) return copy_compute_copy(stream, arguments);
  auto const size = static_cast<std::size_t>(arguments.size);
  auto const together = static_cast<std::size_t>(arguments.pieces);
  std::size_t const length = piece_size<T>(size), count = (size + length - 1) / length;
  auto& [in, work, out, pieces, end] = belt_of(stream.device());
  end.pass(stream, in);
  std::vector<Buffer<T>> values;
  for (std::size_t k = 0; k < std::min(count, together); ++k)
    values.emplace_back(in, MemorySpace::device, length);
  for (std::size_t n = 0; n < count; ++n) {
    auto& [there, computed, back] = pieces[n % together];
    std::size_t const first = n * length, elements = std::min(length, size - first);
    auto const piece = values[n % together].span().first(elements);
    if (n >= together) back.hold(in);
    copy_async(piece, std::span(arguments.x + first, elements), in);
    there.pass(in, work);
    launch_affine(work, arguments.a, arguments.b, static_cast<T const*>(piece.data()), piece.data(),
                  static_cast<std::int64_t>(elements));
    computed.pass(work, out);
    copy_async(std::span(arguments.y + first, elements), std::span<T const>(piece), out);
    back.record(out);
  }
  end.record(out);
  end.hold(stream);
  end.hold(in);  // where the memory of the pieces is freed
  wait_until_read(stream, arguments.x);
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template void cuda_pageable(Stream&, Arguments<T> const&); \
  template void cuda_pinned(Stream&, Arguments<T> const&);   \
  template void cuda_mapped(Stream&, Arguments<T> const&);   \
  template void cuda_managed(Stream&, Arguments<T> const&);  \
  template void cuda_pitched(Stream&, Arguments<T> const&);  \
  template void cuda_constant(Stream&, Arguments<T> const&); \
  template void cuda_overlapped(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::transfer

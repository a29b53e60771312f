// What a GPU can do at most, and what else a measurement needs of it.
//
//   copy_kernel     a block takes a tile of 16 KiB: each thread loads four words of 16 bytes, 4 KiB
//                   apart, all in flight at once, and stores them. 2·16 bytes moved a word.
//   read_kernel     the pass of the fastest reductions (support/tiles.cuh), eight loads in flight;
//                   they are combined into one number, and only one that cannot be is stored.
//   fma_kernel      every thread has eight independent chains x = x·a + b in registers: with 64
//                   warps on a multiprocessor each scheduler always has one that is ready.
//   fill_kernel     a thread draws the values a grid apart, each from its index alone.
//   occupy_kernel   one thread watches the clock.
//
// The tensor cores are in cuda_tensor.cu.

#include <algorithm>
#include <memory>

#include "core/buffer.hpp"
#include "kernels/machine/cuda_parts.cuh"
#include "kernels/support/tiles.cuh"

namespace gridstride::machine {

namespace {

constexpr int threads = 256;

// ---------------------------------------------------------------------------------------- memory

constexpr int copied_together = 4;

__global__ void __launch_bounds__(threads)
    copy_kernel(uint4* __restrict__ target, uint4 const* __restrict__ source) {
  std::int64_t const first =
      static_cast<std::int64_t>(blockIdx.x) * (threads * copied_together) + threadIdx.x;
  uint4 word[copied_together];
#pragma unroll
  for (int k = 0; k < copied_together; ++k) word[k] = __ldcs(source + first + k * threads);
#pragma unroll
  for (int k = 0; k < copied_together; ++k) __stcs(target + first + k * threads, word[k]);
}

constexpr int read_threads = 512;
constexpr int read_together = 8;

/// The source holds zeros.
__global__ void __launch_bounds__(read_threads)
    read_kernel(std::int32_t const* source, VectorCut cut, std::int32_t* never) {
  std::int32_t any = 0;
  std::int32_t const* const sources[1] = {source};
  for_each_vector<read_threads, read_together, vector_width<std::int32_t>>(
      sources, cut, [&]<int width>(Vector<std::int32_t, width> const(&v)[1], std::int64_t) {
        for (int j = 0; j < width; ++j) any |= v[0].at[j];
      });
  if (any != 0) *never = any;
}

/// Bytes of an array: far more than a cache holds, a multiple of what blocks take, and no more than
/// a small GPU has to spare.
std::int64_t array_bytes(Device const& device) {
  constexpr std::int64_t tile =
      read_threads * read_together * static_cast<std::int64_t>(sizeof(uint4));
  std::int64_t const wanted = std::int64_t{1} << 30;
  auto const free = static_cast<std::int64_t>(device.free_memory());
  return std::max(tile, std::min(wanted, free / 8) / tile * tile);
}

void add_memory_probes(std::vector<Probe>& probes, Stream& stream) {
  struct Arrays {
    Buffer<std::byte> source, target;
  };
  std::int64_t const bytes = array_bytes(stream.device());
  auto const size = static_cast<std::size_t>(bytes);
  auto const arrays = std::make_shared<Arrays>(
      Arrays{{stream, MemorySpace::device, size}, {stream, MemorySpace::device, size}});
  zero_async(arrays->source.span(), stream);
  zero_async(arrays->target.span(), stream);
  auto const words = bytes / static_cast<std::int64_t>(sizeof(uint4));
  probes.push_back(
      {{copy_roof, "B/s", 0, "a kernel of 16-byte loads and stores"},
       2.0 * static_cast<double>(bytes),
       [=](Stream& s) {
         copy_kernel<<<blocks_for(words, threads * copied_together), threads, 0, native(s)>>>(
             reinterpret_cast<uint4*>(arrays->target.data()),
             reinterpret_cast<uint4 const*>(arrays->source.data()));
         GRIDSTRIDE_CHECK_LAUNCH(s, "machine copy");
       }});
  probes.push_back(
      {{copy_roof, "B/s", 0, "cudaMemcpyAsync, device to device"},
       2.0 * static_cast<double>(bytes),
       [=](Stream& s) { copy_async(arrays->target.span(), arrays->source.span(), s); }});
  probes.push_back(
      {{read_roof, "B/s", 0, "a kernel of 16-byte loads"},
       static_cast<double>(bytes),
       [=](Stream& s) {
         auto const* const source = reinterpret_cast<std::int32_t const*>(arrays->source.data());
         auto const cut = VectorCut::make(source, bytes / 4, vector_width<std::int32_t>);
         auto const blocks = blocks_of_pass<read_threads, read_together>(s, read_kernel, cut, 16);
         read_kernel<<<blocks, read_threads, 0, native(s)>>>(
             source, cut, reinterpret_cast<std::int32_t*>(arrays->target.data()));
         GRIDSTRIDE_CHECK_LAUNCH(s, "machine read");
       }});
}

void add_link_probes(std::vector<Probe>& probes, Stream& stream) {
  struct Arrays {
    Buffer<std::byte> host, device;
  };
  constexpr std::size_t size = std::size_t{256} << 20;
  auto const arrays = std::make_shared<Arrays>(
      Arrays{{stream, MemorySpace::pinned, size}, {stream, MemorySpace::device, size}});
  std::fill_n(arrays->host.data(), size, std::byte{1});
  zero_async(arrays->device.span(), stream);
  probes.push_back({{to_device_roof, "B/s", 0, "cudaMemcpyAsync from pinned memory"},
                    1.0 * size,
                    [=](Stream& s) { copy_async(arrays->device.span(), arrays->host.span(), s); }});
  probes.push_back({{to_host_roof, "B/s", 0, "cudaMemcpyAsync to pinned memory"},
                    1.0 * size,
                    [=](Stream& s) { copy_async(arrays->host.span(), arrays->device.span(), s); }});
  // The way back needs a stream and arrays of its own.
  struct Back {
    Stream stream;
    Event start, stop;
    Buffer<std::byte> host, device;
  };
  Device const& device = stream.device();
  auto const back = std::make_shared<Back>(Back{Stream(device),
                                                Event(device),
                                                Event(device),
                                                {stream, MemorySpace::pinned, size},
                                                {stream, MemorySpace::device, size}});
  probes.push_back(
      {{duplex_roof, "B/s", 0, "both at once, on two streams"}, 2.0 * size, [=](Stream& s) {
         s.record(back->start);
         back->stream.wait(back->start);
         copy_async(arrays->device.span(), arrays->host.span(), s);
         copy_async(back->host.span(), back->device.span(), back->stream);
         back->stream.record(back->stop);
         s.wait(back->stop);
       }});
}

// ------------------------------------------------------------------------------------ arithmetic

constexpr int chains = 8;
constexpr int rounds = 8192;
constexpr int blocks_per_processor = 8;

template <class T>
__global__ void __launch_bounds__(threads) fma_kernel(T a, T b, T* out) {
  T x[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) x[c] = static_cast<T>(threadIdx.x + c);
#pragma unroll 16
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int c = 0; c < chains; ++c) x[c] = fma(x[c], a, b);
  }
  T sum = 0;
#pragma unroll
  for (int c = 0; c < chains; ++c) sum += x[c];
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

template <class T>
Probe fma_probe(Stream& stream, std::string_view name) {
  unsigned const blocks = blocks_per_processor * stream.device().processors();
  auto const out = std::make_shared<Buffer<T>>(stream, MemorySpace::device, blocks * threads);
  return {{name, "FLOP/s", 0, "fused multiply-adds in registers"},
          2.0 * chains * rounds * blocks * threads,
          [=](Stream& s) {
            fma_kernel<<<blocks, threads, 0, native(s)>>>(T(0.5), T(1), out->data());
            GRIDSTRIDE_CHECK_LAUNCH(s, "machine fma");
          }};
}

// ---------------------------------------------------------------------------------- the measured

template <class T>
__global__ void __launch_bounds__(threads)
    fill_kernel(T* __restrict__ target, std::int64_t size, Generator<T> const generator) {
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < size;
       i += stride)
    target[i] = generator(i);
}

__device__ std::uint64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void occupy_kernel(std::uint64_t nanoseconds) {
  std::uint64_t const start = global_nanoseconds();
  while (global_nanoseconds() - start < nanoseconds) __nanosleep(200);
}

}  // namespace

template <class T>
void cuda_fill(Stream& stream, std::span<T> values, Generator<T> const& generator) {
  auto const size = static_cast<std::int64_t>(values.size());
  auto const most = std::int64_t{16} * stream.device().processors();
  auto const blocks = static_cast<unsigned>(std::min(most, (size + threads - 1) / threads));
  fill_kernel<<<blocks, threads, 0, native(stream)>>>(values.data(), size, generator);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "machine fill");
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void cuda_fill(Stream&, std::span<T>, Generator<T> const&);
GRIDSTRIDE_INSTANTIATE(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::uint32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

void cuda_occupy(Stream& stream, double seconds) {
  occupy_kernel<<<1, 1, 0, native(stream)>>>(static_cast<std::uint64_t>(seconds * 1e9));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "machine occupy");
}

std::size_t cuda_cache_bytes(Device const& device) {
  int bytes = 0;
  GRIDSTRIDE_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.ordinal()));
  return static_cast<std::size_t>(bytes);
}

std::vector<Probe> cuda_probes(Stream& stream) {
  std::vector<Probe> probes;
  add_memory_probes(probes, stream);
  add_link_probes(probes, stream);
  probes.push_back(fma_probe<float>(stream, float32_roof));
  probes.push_back(fma_probe<double>(stream, float64_roof));
  add_tensor_probes(probes, stream);
  return probes;
}

}  // namespace gridstride::machine

// What lies between and beside the roofs of a GPU.
//
//   l2_kernel       every block reads the tiles of an array that a quarter of L2 holds, one after
//                   the other from a place of its own, past L1; four words of 16 bytes in flight.
//   shared_kernel   each thread reads words of 16 bytes from shared memory, a warp 512 bytes in a
//                   row, which no two lanes take from the same bank at a time.
//   chain_kernel    one thread follows indices from line to line, each load in the way of the next.
//                   The step is large and coprime to the number of lines, so that no line comes
//                   again before all others were seen.
//   empty_kernel    nothing, which shows what a launch takes.

#include <algorithm>
#include <memory>

#include "core/buffer.hpp"
#include "kernels/machine/cuda_parts.cuh"

namespace gridstride::machine {

namespace {

// ------------------------------------------------------------------------------------- bandwidth

constexpr int threads = 512;
constexpr int together = 4;
constexpr int tile_words = threads * together;  // of 16 bytes
constexpr int tiles_read = 2048;                // by a block
constexpr int blocks_per_processor = 4;

__device__ uint4 load_past_l1(uint4 const* p) {
  uint4 word;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(p));
  return word;
}

/// Volatile for the assembler too, which would load once what rounds have in common.
__device__ uint4 load_shared(unsigned address) {
  uint4 word;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "r"(address));
  return word;
}

__device__ unsigned any_bit(uint4 const& word) { return word.x | word.y | word.z | word.w; }

/// The source holds zeros.
__global__ void __launch_bounds__(threads)
    l2_kernel(uint4 const* source, unsigned tiles, unsigned* never) {
  // Blocks that lie together on the chip begin far from each other: what neighbours read at the same
  // time may be fetched for both at once.
  unsigned const first = blockIdx.x * 61;
  unsigned any = 0;
  for (unsigned round = 0; round < tiles_read; ++round) {
    uint4 const* const tile =
        source + static_cast<std::size_t>((first + round) % tiles) * tile_words + threadIdx.x;
    uint4 word[together];
#pragma unroll
    for (int k = 0; k < together; ++k) word[k] = load_past_l1(tile + k * threads);
#pragma unroll
    for (int k = 0; k < together; ++k) any |= any_bit(word[k]);
  }
  if (any != 0) *never = any;
}

__global__ void __launch_bounds__(threads) shared_kernel(unsigned* never) {
  __shared__ uint4 tile[tile_words];
  for (int k = 0; k < together; ++k) tile[threadIdx.x + k * threads] = uint4{};
  __syncthreads();
  auto const first = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
  unsigned any = 0;
#pragma unroll 4
  for (int round = 0; round < tiles_read; ++round) {
#pragma unroll
    for (int k = 0; k < together; ++k)
      any |= any_bit(load_shared(first + k * threads * sizeof(uint4)));
  }
  if (any != 0) *never = any;
}

void add_bandwidths(std::vector<Probe>& probes, Stream& stream) {
  struct Arrays {
    Buffer<std::byte> source;
    Buffer<unsigned> never;
  };
  constexpr std::size_t tile_bytes = tile_words * sizeof(uint4);
  std::size_t const tiles =
      std::max<std::size_t>(1, cuda_cache_bytes(stream.device()) / 4 / tile_bytes);
  auto const arrays = std::make_shared<Arrays>(
      Arrays{{stream, MemorySpace::device, tiles * tile_bytes}, {stream, MemorySpace::device, 1}});
  zero_async(arrays->source.span(), stream);
  auto const blocks = static_cast<unsigned>(blocks_per_processor * stream.device().processors());
  double const read = 1.0 * blocks * tiles_read * tile_bytes;
  probes.push_back(
      {{l2_roof, "B/s", 0, "a quarter of it, read by every block"}, read, [=](Stream& s) {
         l2_kernel<<<blocks, threads, 0, native(s)>>>(
             reinterpret_cast<uint4 const*>(arrays->source.data()), static_cast<unsigned>(tiles),
             arrays->never.data());
         GRIDSTRIDE_CHECK_LAUNCH(s, "machine l2");
       }});
  probes.push_back(
      {{shared_roof, "B/s", 0, "16-byte loads without conflicts"}, read, [=](Stream& s) {
         shared_kernel<<<blocks, threads, 0, native(s)>>>(arrays->never.data());
         GRIDSTRIDE_CHECK_LAUNCH(s, "machine shared");
       }});
}

// --------------------------------------------------------------------------------------- latency

constexpr unsigned words_of_line = 32;  // 128 bytes
constexpr int loads = 1 << 15;

/// Word 0 of each line is the place of the line that comes next.
__global__ void __launch_bounds__(threads) link_kernel(unsigned* words, unsigned lines) {
  unsigned const line = blockIdx.x * threads + threadIdx.x;
  constexpr std::uint64_t step = 1'000'003;  // a prime, and lines are a power of two
  if (line < lines)
    words[static_cast<std::size_t>(line) * words_of_line] =
        static_cast<unsigned>((line + step) % lines) * words_of_line;
}

/// Goes on from `*place`.
__global__ void chain_kernel(unsigned const* words, unsigned* place) {
  unsigned at = *place;
  for (int i = 0; i < loads; ++i)
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(words + at));
  *place = at;
}

constexpr unsigned shared_lines = 256;

__global__ void shared_chain_kernel(unsigned* place) {
  __shared__ unsigned words[shared_lines];
  for (unsigned i = 0; i < shared_lines; ++i)
    words[i] = static_cast<unsigned>(__cvta_generic_to_shared(words + (i + 37) % shared_lines));
  auto at = static_cast<unsigned>(__cvta_generic_to_shared(words));
  for (int i = 0; i < loads; ++i) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at));
  *place = at;
}

/// Loads that wait for each other in an array of 2^k bytes, at most `bytes`.
Probe chain_probe(Stream& stream, std::string_view name, std::size_t bytes) {
  struct Arrays {
    Buffer<unsigned> words, place;
  };
  unsigned lines = 1;
  while (2 * lines * words_of_line * sizeof(unsigned) <= bytes) lines *= 2;
  auto const arrays = std::make_shared<Arrays>(
      Arrays{{stream, MemorySpace::device, std::size_t{lines} * words_of_line},
             {stream, MemorySpace::device, 1}});
  zero_async(arrays->place.span(), stream);
  link_kernel<<<blocks_for(lines, threads), threads, 0, native(stream)>>>(arrays->words.data(),
                                                                          lines);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "machine link");
  return {{name, "1/s", 0, "a chain of loads, each from another line"}, loads, [=](Stream& s) {
            chain_kernel<<<1, 1, 0, native(s)>>>(arrays->words.data(), arrays->place.data());
            GRIDSTRIDE_CHECK_LAUNCH(s, "machine chain");
          }};
}

void add_latencies(std::vector<Probe>& probes, Stream& stream) {
  std::size_t const cache = cuda_cache_bytes(stream.device());
  std::size_t const large =
      std::min<std::size_t>(std::size_t{1} << 30, stream.device().free_memory() / 4);
  probes.push_back(chain_probe(stream, memory_latency, large));
  probes.push_back(chain_probe(stream, l2_latency, cache / 8));
  auto const place = std::make_shared<Buffer<unsigned>>(stream, MemorySpace::device, 1);
  probes.push_back({{shared_latency, "1/s", 0, "a chain of loads"}, loads, [=](Stream& s) {
                      shared_chain_kernel<<<1, 1, 0, native(s)>>>(place->data());
                      GRIDSTRIDE_CHECK_LAUNCH(s, "machine shared chain");
                    }});
}

// ---------------------------------------------------------------------------------------- launch

__global__ void empty_kernel() {}

void launch_empty(Stream& stream) {
  empty_kernel<<<1, 32, 0, native(stream)>>>();
  GRIDSTRIDE_CHECK_LAUNCH(stream, "machine empty");
}

void add_launches(std::vector<Probe>& probes) {
  constexpr int many = 4000, some = 200;
  probes.push_back(
      {{launch_latency, "1/s", 0, "empty kernels, one after the other"}, many, [](Stream& s) {
         for (int i = 0; i < many; ++i) launch_empty(s);
       }});
  probes.push_back(
      {{wait_latency, "1/s", 0, "an empty kernel, waited for by the host"}, some, [](Stream& s) {
         for (int i = 0; i < some; ++i) {
           launch_empty(s);
           s.synchronize();
         }
       }});
}

}  // namespace

std::vector<Probe> cuda_detail_probes(Stream& stream) {
  std::vector<Probe> probes;
  add_bandwidths(probes, stream);
  add_latencies(probes, stream);
  add_launches(probes);
  return probes;
}

}  // namespace gridstride::machine

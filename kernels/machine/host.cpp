// What the host can do at most, on all its threads.
//
//   copy              a piece of an array for each thread, with memcpy, and with streaming stores
//                     where the processor has them
//   read              the same pieces added up
//   float32, float64  chains of fused multiply-adds in registers, in the widest vectors there are
//   memory_latency    a chain of loads, each from a cache line of its own in more than caches hold
//   launch            a loop of an item for each thread, shared out and done

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/buffer.hpp"
#include "kernels/machine/parts.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/streaming_copy.hpp"

namespace gridstride::machine {

template <class T>
void host_fill(Stream&, std::span<T> values, Generator<T> const& generator) {
  T* const target = values.data();
  parallel_for(static_cast<std::int64_t>(values.size()), 4,
               [&](std::int64_t i) { target[i] = generator(i); });
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void host_fill(Stream&, std::span<T>, Generator<T> const&);
GRIDSTRIDE_INSTANTIATE(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::uint32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

namespace {

// --------------------------------------------------------------------------------------- memory

/// More than caches hold, and a multiple of what the threads take at a time.
constexpr std::int64_t array_bytes = std::int64_t{256} << 20;
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
constexpr std::int64_t pieces = array_bytes / piece_bytes;

void copy_piece(std::byte* target, std::byte const* source) {
  std::memcpy(target, source, piece_bytes);
}

void stream_piece(std::byte* target, std::byte const* source) {
  copy_past_caches(target, source, piece_bytes);
}

std::uint64_t add_piece(std::byte const* source) {
  auto const* words = reinterpret_cast<std::uint64_t const*>(source);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < piece_bytes / 8; ++i) sum += words[i];
  return sum;
}

void add_memory_probes(std::vector<Probe>& probes, Stream& stream) {
  struct Arrays {
    Buffer<std::byte> source, target;
    std::vector<std::uint64_t> sums;
  };
  auto const arrays = std::make_shared<Arrays>(Arrays{
      {stream, MemorySpace::host, array_bytes}, {stream, MemorySpace::host, array_bytes}, {}});
  arrays->sums.resize(pieces);
  // The threads that use a piece also touch it first, so that it lies near them.
  parallel_for(pieces, [&](std::int64_t i) {
    std::memset(arrays->source.data() + i * piece_bytes, 1, piece_bytes);
    std::memset(arrays->target.data() + i * piece_bytes, 0, piece_bytes);
  });
  auto const copy = [arrays](auto const& each) {
    return [arrays, each](Stream&) {
      parallel_for(pieces, [&](std::int64_t i) {
        each(arrays->target.data() + i * piece_bytes, arrays->source.data() + i * piece_bytes);
      });
    };
  };
  constexpr double moved = 2.0 * array_bytes;
  probes.push_back({{copy_roof, "B/s", 0, "memcpy on every thread"}, moved, copy(copy_piece)});
  probes.push_back(
      {{copy_roof, "B/s", 0, "streaming stores on every thread"}, moved, copy(stream_piece)});
  probes.push_back(
      {{read_roof, "B/s", 0, "a sum on every thread"}, 1.0 * array_bytes, [arrays](Stream&) {
         parallel_for(pieces, [&](std::int64_t i) {
           arrays->sums[static_cast<std::size_t>(i)] =
               add_piece(arrays->source.data() + i * piece_bytes);
         });
       }});
}

// ----------------------------------------------------------------------------------- arithmetic

/// Independent chains of a thread: as many as hide the latency and leave registers for the rest.
constexpr int chains = 10;
constexpr std::int64_t rounds = 4'000'000;

/// A loop of x = x·a + b in vectors, and the numbers that a vector holds.
template <class T>
struct FmaLoop {
  T (*run)();
  int width;
  std::string_view how;
};

template <class T>
T plain_loop() {
  T x[chains] = {};
  for (std::int64_t r = 0; r < rounds; ++r)
    for (T& value : x) {
#ifdef __FP_FAST_FMA
      value = std::fma(value, T(0.5), T(1));
#else
      value = value * T(0.5) + T(1);
#endif
    }
  T sum = 0;
  for (T const value : x) sum += value;
  return sum;
}

#ifdef __x86_64__
#define GRIDSTRIDE_FMA_LOOP(name, isa, T, Vector, bits, suffix)                   \
  __attribute__((target(isa))) T name() {                                         \
    Vector const half = _mm##bits##_set1_##suffix(T(0.5));                        \
    Vector const one = _mm##bits##_set1_##suffix(T(1));                           \
    Vector x[chains];                                                             \
    for (auto& value : x) value = one;                                            \
    for (std::int64_t r = 0; r < rounds; ++r)                                     \
      for (auto& value : x) value = _mm##bits##_fmadd_##suffix(value, half, one); \
    for (auto const& value : x) x[0] = _mm##bits##_add_##suffix(x[0], value);     \
    return x[0][0];                                                               \
  }
GRIDSTRIDE_FMA_LOOP(avx512_float, "avx512f", float, __m512, 512, ps)
GRIDSTRIDE_FMA_LOOP(avx512_double, "avx512f", double, __m512d, 512, pd)
GRIDSTRIDE_FMA_LOOP(avx2_float, "avx2,fma", float, __m256, 256, ps)
GRIDSTRIDE_FMA_LOOP(avx2_double, "avx2,fma", double, __m256d, 256, pd)
#endif

template <class T>
FmaLoop<T> widest_loop() {
#ifdef __x86_64__
  constexpr bool single = sizeof(T) == 4;
  if (__builtin_cpu_supports("avx512f")) {
    if constexpr (single)
      return {avx512_float, 16, "fused multiply-adds in AVX-512 registers"};
    else
      return {avx512_double, 8, "fused multiply-adds in AVX-512 registers"};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    if constexpr (single)
      return {avx2_float, 8, "fused multiply-adds in AVX2 registers"};
    else
      return {avx2_double, 4, "fused multiply-adds in AVX2 registers"};
  }
#endif
  return {plain_loop<T>, 1, "multiply and add, as the compiler makes it"};
}

template <class T>
Probe fma_probe(std::string_view name) {
  auto const loop = widest_loop<T>();
  int const threads = host_threads();
  auto const sums = std::make_shared<std::vector<T>>(threads);
  return {{name, "FLOP/s", 0, loop.how},
          2.0 * chains * static_cast<double>(rounds) * loop.width * threads,
          [=](Stream&) {
            parallel_for(threads, [&](std::int64_t i) {
              (*sums)[static_cast<std::size_t>(i)] = loop.run();
            });
          }};
}

}  // namespace

std::vector<Probe> host_probes(Stream& stream) {
  std::vector<Probe> probes;
  add_memory_probes(probes, stream);
  probes.push_back(fma_probe<float>(float32_roof));
  probes.push_back(fma_probe<double>(float64_roof));
  return probes;
}

std::vector<Probe> host_detail_probes() {
  constexpr std::uint32_t lines = array_bytes / 64, step = 2'718'281, loads = 100'000;
  struct alignas(64) Line {
    std::uint32_t next;
  };
  struct Chain {
    std::vector<Line> lines;
    std::uint32_t place = 0;  // a run goes on where the one before ended, among lines not yet seen
  };
  auto const chain = std::make_shared<Chain>();
  chain->lines.resize(lines);
  for (std::uint32_t i = 0; i < lines; ++i) chain->lines[i].next = (i + step) % lines;
  constexpr int loops = 1000;
  return {{{memory_latency, "1/s", 0, "a chain of loads, each from another line"},
           loads,
           [chain](Stream&) {
             for (std::uint32_t i = 0; i < loads; ++i)
               chain->place = chain->lines[chain->place].next;
           }},
          {{launch_latency, "1/s", 0, "loops shared out among the threads"}, loops, [](Stream&) {
             std::atomic<std::int64_t> items = 0;
             for (int i = 0; i < loops; ++i)
               parallel_for(host_threads(), [&](std::int64_t) { ++items; });
           }}};
}

}  // namespace gridstride::machine

// The rung `decoupled_lookback` of the ladder in cuda.cu: flags are read once, and the values that
// are selected once, in one pass (D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA 2016). Counts are integers, so that it does not matter which of the
// earlier tiles' counts a tile happens to find.
//
// Thread-to-data: a block draws the number of its tile, so that every tile before it is under way
// or done. A warp owns a contiguous part of the tile, in rows of 32 vectors of 16 bytes; a thread
// has four vectors of flags under way, keeps a bit of each flag, and then loads those vectors of
// values of which any is selected. The first warp publishes the tile's count and looks back, 32
// tiles at a time, to the nearest one that knows its own place; meanwhile the warps put what they
// selected together in shared memory, so that it leaves in whole rows, whatever the flags are.
//
// A status is a state and a count in one 64-bit word, so that no fence is needed.
//
// Bytes: n·sizeof(T) of flags, and for each selected value sizeof(T) read, sizeof(T) + 8 written.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/select/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::select {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;
/// Flags of a thread: 64 bytes.
template <class T>
constexpr int flags_per_thread = 64 / static_cast<int>(sizeof(T));
template <class T>
constexpr int warp_part = warp_size* flags_per_thread<T>;
template <class T>
constexpr int tile_size = threads* flags_per_thread<T>;

// ---------------------------------------------------------------------------------------- status

/// What a tile has published: nothing, its own count, or the count of all tiles up to it.
constexpr unsigned long long own_count = 1ull << 62, count_up_to = 2ull << 62;
constexpr unsigned long long count_bits = own_count - 1;

/// In device memory, all zero before the pass begins.
struct Status {
  unsigned long long* tiles;
  unsigned* drawn;  ///< tile numbers given out
};

__device__ void publish(unsigned long long* status, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(status), "l"(word) : "memory");
}

/// Waits until the status is published.
__device__ unsigned long long await(unsigned long long const* status) {
  unsigned long long word = 0;
  while (word == 0)
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(status) : "memory");
  return word;
}

/// For one whole warp: how many flags are set in the tiles before `tile`, which has published its
/// own count.
__device__ std::int64_t look_back(unsigned long long const* tiles, std::int64_t tile) {
  std::int64_t before = 0;
  for (std::int64_t nearest = tile - 1; nearest >= 0; nearest -= warp_size) {
    std::int64_t const other = nearest - lane_index();
    unsigned long long const word = other >= 0 ? await(tiles + other) : count_up_to;
    unsigned const know = __ballot_sync(whole_warp, (word & count_up_to) != 0);
    int const last = know != 0 ? __ffs(static_cast<int>(know)) - 1 : warp_size - 1;
    auto const part = static_cast<std::int64_t>(lane_index() <= last ? word & count_bits : 0);
    before += warp_reduce(part, [](std::int64_t a, std::int64_t b) { return a + b; });
    if (know != 0) break;
  }
  return before;
}

// -------------------------------------------------------------------------------------- selecting

/// A thread's vector of a row, of which `rest` elements exist; zeros stand for the others.
template <int width, class T>
__device__ Vector<T, width> load(T const* source, int at, std::int64_t rest) {
  if (at + width <= rest) return load_once<width>(source + at);
  Vector<T, width> vector = {};
  for (int j = 0; j < width; ++j)
    if (at + j < rest) vector.at[j] = source[at + j];
  return vector;
}

/// What a block has in shared memory.
template <class T>
struct Tile {
  T values[tile_size<T>];              ///< of each warp, those that it selected
  std::uint16_t places[tile_size<T>];  ///< and where they are in the tile
  int counts[warps];
  unsigned drawn;
  std::int64_t before;
};

/// Puts what the warp selected of its rows together, in order; bit r·width + j of `bits` is flag j
/// of the thread's vector in row r.
template <int width, class T>
__device__ void gather(Tile<T>& tile, T const* values, std::int64_t rest, unsigned bits) {
  constexpr int rows = flags_per_thread<T> / width;
  constexpr unsigned row_bits = (1u << width) - 1;
  int const part = warp_index() * warp_part<T>;
  unsigned const lower_lanes = (1u << lane_index()) - 1;
  Vector<T, width> loaded[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r)
    if ((bits >> (r * width) & row_bits) != 0)
      loaded[r] = load<width>(values, (r * warp_size + lane_index()) * width, rest);
  int first = part;  // of the row
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    int rank = first;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      unsigned const votes = __ballot_sync(whole_warp, (bits >> (r * width + j) & 1) != 0);
      rank += __popc(votes & lower_lanes);
      first += __popc(votes);
    }
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if ((bits >> (r * width + j) & 1) == 0) continue;
      tile.values[rank] = loaded[r].at[j];
      tile.places[rank] =
          static_cast<std::uint16_t>(part + (r * warp_size + lane_index()) * width + j);
      ++rank;
    }
  }
}

template <int width, class T>
__global__ void __launch_bounds__(threads) lookback_kernel(Arguments<T> a, Status status) {
  constexpr int rows = flags_per_thread<T> / width;
  __shared__ Tile<T> tile;
  if (threadIdx.x == 0) tile.drawn = atomicAdd(status.drawn, 1u);
  __syncthreads();
  std::int64_t const number = tile.drawn, first_of_tile = number * tile_size<T>;
  std::int64_t const first = first_of_tile + warp_index() * warp_part<T>;
  std::int64_t const rest = a.size - first;

  Vector<T, width> flags[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r)
    flags[r] = load<width>(a.flags + first, (r * warp_size + lane_index()) * width, rest);
  unsigned bits = 0;
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int j = 0; j < width; ++j) bits |= (flags[r].at[j] != 0 ? 1u : 0u) << (r * width + j);
  auto const add = [](int x, int y) { return x + y; };
  int const own = warp_reduce(__popc(bits), add);
  if (lane_index() == 0) tile.counts[warp_index()] = own;
  __syncthreads();

  int const counted = lane_index() < warps ? tile.counts[lane_index()] : 0;
  int const up_to_warp = warp_inclusive_scan(counted, add);
  int const total = shuffle(up_to_warp, warps - 1);
  int const before_warp = shuffle(up_to_warp, warp_index()) - own;
  if (threadIdx.x == 0)
    publish(status.tiles + number,
            (number == 0 ? count_up_to : own_count) | static_cast<unsigned>(total));
  gather<width>(tile, a.values + first, rest, bits);
  if (warp_index() == 0) {
    std::int64_t const before = look_back(status.tiles, number);
    if (lane_index() == 0) {
      if (number > 0)
        publish(status.tiles + number,
                count_up_to | static_cast<unsigned long long>(before + total));
      if (number == gridDim.x - 1) *a.count = before + total;
      tile.before = before;
    }
  }
  __syncthreads();

  std::int64_t const place = tile.before + before_warp;
  int const part = warp_index() * warp_part<T>;
  for (int k = lane_index(); k < own; k += warp_size) {
    a.selected[place + k] = tile.values[part + k];
    if (a.indices != nullptr)
      a.indices[place + k] = a.first + first_of_tile + tile.places[part + k];
  }
}

template <int width, class T>
void launch(Stream& stream, Arguments<T> const& a) {
  unsigned const tiles = blocks_for(a.size, tile_size<T>);
  Buffer<unsigned long long> memory(stream, MemorySpace::device, std::size_t{tiles} + 1);
  zero_async(memory.span(), stream);
  Status const status{memory.data(), reinterpret_cast<unsigned*>(memory.data() + tiles)};
  lookback_kernel<width><<<tiles, threads, 0, native(stream)>>>(a, status);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "select decoupled_lookback");
}

}  // namespace

template <class T>
void cuda_lookback(Stream& stream, Arguments<T> const& a) {
  if (misalignment(a.values) == 0 && misalignment(a.flags) == 0)
    launch<vector_width<T>>(stream, a);
  else
    launch<1>(stream, a);
}

template void cuda_lookback(Stream&, Arguments<float> const&);
template void cuda_lookback(Stream&, Arguments<double> const&);

}  // namespace gridstride::select

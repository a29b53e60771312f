// Elimination along an axis on the GPU where coefficients are the same everywhere and the lines
// short enough to stay on the chip: each value is read once and written once, 2·sizeof(T) bytes for
// each unknown.
//
// Thread-to-data: a block takes 16 systems that are neighbours along x, in 32 chunks of up to 17
// rows. A thread eliminates all rows of its chunk but the last in registers, two numbers for each:
// its value, and what it takes of the next one. What the chunk's last unknown is depends on those of
// the chunks beside it; these are a system of 32 in the lanes of a warp, solved by parallel cyclic
// reduction without barriers. Then values follow, from two. A chunk looks the same from both sides,
// so that what its first unknown takes of the last one is what elimination came to at its end.
// Blocks stay: the next systems' values come to shared memory, each thread its own, once those of
// the present ones are in registers.
//
// As in elimination.hpp no pivot comes from a difference, also not in the reduction: of each unknown
// three shares are carried that add up to one, of the unknown before, the one behind, and nothing.

#include <algorithm>

#include "kernels/poisson/elimination.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::poisson {

namespace {

constexpr int chip_systems = 16, chip_chunks = warp_size, chip_threads = chip_systems * chip_chunks;

/// Of each chunk of the block's systems: (lower + upper + own)·x − lower·x_before − upper·x_first =
/// right for its last unknown, with the first one of the next chunk, which is constant +
/// through·x_last and a share of the one before; at last the unknown.
struct ChipLasts {
  double lower[chip_systems][chip_chunks + 1], upper[chip_systems][chip_chunks + 1],
      own[chip_systems][chip_chunks + 1], right[chip_systems][chip_chunks + 1];
  double constant[chip_systems][chip_chunks + 1], through[chip_systems][chip_chunks + 1],
      lost[chip_systems][chip_chunks + 1];
  double x[chip_systems][chip_chunks + 1];
};

template <int rows, class T>
struct ChipMemory {
  T values[rows][chip_threads];
  ChipLasts lasts;
};

/// x_k = value + upper·x_(k+1) + a share of the unknown before the chunk.
template <int rows>
struct ChipRows {
  double value[rows - 1], upper[rows - 1];
};

/// Eliminates rows [begin, begin + size) but the last.
template <int rows, class T>
__device__ void eliminate_chunk(LayerSystem<true, T> const& system, std::int64_t begin, int size,
                                T const (&values)[rows][chip_threads], bool singular,
                                ChipRows<rows>& chunk, ChipLasts& lasts) {
  int const thread = static_cast<int>(threadIdx.x);
  int const s = thread % chip_systems, c = thread / chip_systems;
  Eliminated state = c == 0 ? Eliminated{1, 0} : Eliminated{0, 1};
  double value = 0;
#pragma unroll
  for (int k = 0; k < rows; ++k) {
    if (k >= size) continue;
    double const right = system.w.scale * values[k][thread];
    if (k + 1 == size) {
      auto const [lower, upper, own] = system.row(begin + k);
      lasts.lower[s][c] = lower * state.closing;
      lasts.upper[s][c] = upper;
      lasts.own[s][c] = own + lower * state.share;
      lasts.right[s][c] = right + lower * value;
    } else if (k + 1 < rows) {
      auto row = next_row<true>(system, begin + k, 0, state);
      value = (right + row.lower * value) * row.inverse;
      if (singular && begin + k == 0) {  // its first unknown is 0
        state = {1, 0};
        value = row.upper = 0;
      }
      chunk.value[k] = value;
      chunk.upper[k] = row.upper;
    }
  }
  double first = 0;
#pragma unroll
  for (int k = rows - 2; k >= 0; --k)
    if (k + 1 < size) first = chunk.value[k] + chunk.upper[k] * first;
  lasts.constant[s][c] = first;
  lasts.through[s][c] = state.closing;
  lasts.lost[s][c] = state.share;
}

/// The last unknowns of all chunks of system s: those of a warp's lanes.
__device__ void solve_lasts(ChipLasts& lasts, int s, int chunks) {
  int const c = lane_index();
  // x = constant + lower·(one before) + upper·(one behind), and own is the rest of 1.
  double lower = 0, upper = 0, own = 1, constant = 0;
  auto const scale = [&] {
    double const inverse = 1 / (lower + upper + own);
    lower *= inverse;
    upper *= inverse;
    own *= inverse;
    constant *= inverse;
  };
  if (c < chunks) {
    double const above = lasts.upper[s][c];
    bool const inner = c + 1 < chunks;
    lower = lasts.lower[s][c];
    upper = inner ? above * lasts.through[s][c + 1] : 0;
    own = lasts.own[s][c] + (inner ? above * lasts.lost[s][c + 1] : above);
    constant = lasts.right[s][c] + (inner ? above * lasts.constant[s][c + 1] : 0);
  }
  scale();
  for (int distance = 1; distance < chip_chunks; distance *= 2) {
    double const below_lower = shuffle_up(lower, distance), below_own = shuffle_up(own, distance),
                 below_constant = shuffle_up(constant, distance),
                 above_upper = shuffle_down(upper, distance),
                 above_own = shuffle_down(own, distance),
                 above_constant = shuffle_down(constant, distance);
    // Of lanes that have none at this distance, the share is 0.
    own += lower * below_own + upper * above_own;
    constant += lower * below_constant + upper * above_constant;
    lower *= below_lower;
    upper *= above_upper;
    scale();
  }
  lasts.x[s][c] = constant;
}

/// A chunk's unknowns, from its last one and that before it.
template <int rows, class T>
__device__ void substitute_chunk(LayerSystem<true, T> const& system, std::int64_t begin, int size,
                                 ChipRows<rows>& chunk, double before, double last) {
#pragma unroll
  for (int k = 0; k < rows - 1; ++k)
    if (k + 1 < size) chunk.value[k] += before *= chunk.upper[k];
  if (size > 0) system.value(begin + size - 1) = static_cast<T>(last);
#pragma unroll
  for (int k = rows - 2; k >= 0; --k) {
    if (k + 1 >= size) continue;
    last = chunk.value[k] + chunk.upper[k] * last;
    system.value(begin + k) = static_cast<T>(last);
  }
}

template <int rows, class T>
__global__ void __launch_bounds__(chip_threads)
    on_chip_kernel(__grid_constant__ Layers<T> const w, std::int64_t tiles) {
  extern __shared__ __align__(16) unsigned char chip_memory[];
  auto& memory = *reinterpret_cast<ChipMemory<rows, T>*>(chip_memory);
  int const thread = static_cast<int>(threadIdx.x);
  int const s = thread % chip_systems, c = thread / chip_systems;
  std::int64_t const count = w.a.count[w.axis], of_p = w.a.count[w.others[0]];
  std::int64_t const across = (of_p + chip_systems - 1) / chip_systems, begin = c * rows;
  int const left = static_cast<int>(count - begin), size = left < rows ? left : rows;
  int const chunks = static_cast<int>((count + rows - 1) / rows);
  auto const p_of = [&](std::int64_t tile) { return tile % across * chip_systems + s; };
  auto const bring = [&](std::int64_t tile) {
    if (tile < tiles && p_of(tile) < of_p) {
      LayerSystem<true, T> const system(w, p_of(tile), tile / across);
      for (int k = 0; k < rows; ++k)
        if (k < size)
          begin_copy<sizeof(T)>(
              static_cast<unsigned>(__cvta_generic_to_shared(&memory.values[k][thread])),
              &system.value(begin + k));
    }
    close_group();
  };
  bring(blockIdx.x);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    std::int64_t const p = p_of(tile), q = tile / across;
    bool const active = p < of_p;
    LayerSystem<true, T> const system(w, active ? p : 0, q);
    ChipRows<rows> chunk;
    await_groups<0>();
    if (active && size > 0)
      eliminate_chunk(system, begin, size, memory.values, w.singular && p == 0 && q == 0, chunk,
                      memory.lasts);
    bring(tile + gridDim.x);
    __syncthreads();
    static_assert(chip_systems == chip_threads / warp_size);
    solve_lasts(memory.lasts, warp_index(), chunks);
    __syncthreads();
    if (active && size > 0)
      substitute_chunk(system, begin, size, chunk, c > 0 ? memory.lasts.x[s][c - 1] : 0.0,
                       memory.lasts.x[s][c]);
  }
}

template <int rows, class T>
void launch(Stream& stream, Layers<T> const& w) {
  auto* const kernel = on_chip_kernel<rows, T>;
  constexpr auto bytes = sizeof(ChipMemory<rows, T>);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)));
  int blocks = 0;
  GRIDSTRIDE_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, chip_threads, bytes));
  std::int64_t const of_p = w.a.count[w.others[0]];
  std::int64_t const tiles = (of_p + chip_systems - 1) / chip_systems * w.a.count[w.others[1]];
  std::int64_t const most = std::int64_t{blocks} * stream.device().processors();
  kernel<<<static_cast<unsigned>(std::min(tiles, most)), chip_threads, bytes, native(stream)>>>(
      w, tiles);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson on chip");
}

constexpr int few_rows = 9, many_rows = 17;

}  // namespace

template <class T>
bool stays_on_chip(Device const& device, Layers<T> const& w) {
  constexpr std::int64_t least = 128;  // nearly half of the threads have rows
  std::int64_t const count = w.a.count[w.axis];
  return device.compute_capability() >= 80 &&  // for copies past the registers
         w.axis != 0 && w.a.side[w.axis][0] != Rule::periodic && w.a.diffusivities == nullptr &&
         w.a.reactions == nullptr && count >= least && count <= many_rows * chip_chunks &&
         sizeof(ChipMemory<many_rows, T>) <= device.capabilities().shared_bytes;
}

template <class T>
void cuda_eliminate_on_chip(Stream& stream, Layers<T> const& w) {
  if (w.a.count[w.axis] <= few_rows * chip_chunks) return launch<few_rows>(stream, w);
  launch<many_rows>(stream, w);
}

template bool stays_on_chip(Device const&, Layers<float> const&);
template bool stays_on_chip(Device const&, Layers<double> const&);
template void cuda_eliminate_on_chip(Stream&, Layers<float> const&);
template void cuda_eliminate_on_chip(Stream&, Layers<double> const&);

}  // namespace gridstride::poisson

// The pass along y: lines lie across rows of memory.
//
// Thread-to-data: a block takes 512 rows of 128 bytes, a cluster of up to sixteen blocks the whole
// lines of such a strip. A thread has 32 rows of a line in registers (64 of float32); the next
// strip's rows come to shared memory while this one is solved. Threads exchange their sums in the
// block, where neighbouring lanes have those of a line, and blocks theirs in each other's shared
// memory: one barrier of the cluster for each strip.
//
// Bytes, of n unknowns: 2·n·sizeof(T). The roof is the copy bandwidth.

#include <cooperative_groups.h>

#include <algorithm>

#include "kernels/stencil/alternating.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

namespace {

namespace cg = cooperative_groups;

constexpr int threads = threads_of_block;

template <class T>
struct Layout {
  static constexpr int width = piece_bytes / static_cast<int>(sizeof(T));
  static constexpr int columns = 128 / static_cast<int>(sizeof(T)), chunks = threads / columns;
  static constexpr int rows = rows_of_thread<T>(1);
  static constexpr std::size_t bytes = sizeof(T) * rows_of_block * columns;
  static_assert(rows * chunks == rows_of_block);
};

/// What a block tells the others of each of its lines, and what those at the ends tell.
template <class T>
struct Told {
  T forward, backward;
};
template <class T>
struct ToldAtEnd {
  T given, z;
};

template <class T>
struct Exchange {
  using L = Layout<T>;
  T forward[L::chunks][L::columns + 1], backward[L::chunks][L::columns + 1];
  T first[L::columns], last[L::columns], at_end[L::columns];
  Told<T> told[2][most_parts][L::columns];
  ToldAtEnd<T> ends[2][2][L::columns];
};

/// Begins to bring a strip's rows [begin, begin + count).
template <class T>
__device__ void bring_strip(LineSweep<T> const& sweep, T* memory, std::int64_t strip,
                            std::int64_t begin, int count) {
  using L = Layout<T>;
  constexpr int in_row = L::columns / L::width, stride = threads / in_row;
  int const thread = static_cast<int>(threadIdx.x), column = thread % in_row * L::width;
  std::int64_t const first = strip * L::columns + column;
  auto const address = static_cast<unsigned>(__cvta_generic_to_shared(memory + column));
  T const* const from = sweep.in + begin * sweep.lines + first;
  for (int row = thread / in_row; row < count; row += stride) {
    unsigned const to = address + static_cast<unsigned>(row * L::columns * sizeof(T));
    if (sweep.vectors) {
      if (first < sweep.lines) begin_copy<piece_bytes>(to, from + row * sweep.lines);
    } else {
      for (int j = 0; j < L::width; ++j)
        if (first + j < sweep.lines)
          begin_copy<sizeof(T)>(to + j * sizeof(T), from + row * sweep.lines + j);
    }
  }
  close_group();
}

template <bool whole, class T>
__global__ void __launch_bounds__(threads, 2)
    columns_kernel(__grid_constant__ LineSweep<T> const sweep) {
#if __CUDA_ARCH__ >= 900
  using L = Layout<T>;
  extern __shared__ __align__(16) unsigned char columns_memory[];
  __shared__ Exchange<T> shared;
  T* const memory = reinterpret_cast<T*>(columns_memory);
  auto const cluster = cg::this_cluster();
  auto const& m = sweep.matrix;
  constexpr int rows = L::rows;
  int const thread = static_cast<int>(threadIdx.x), column = thread % L::columns,
            chunk = thread / L::columns, part = static_cast<int>(cluster.block_rank());
  std::int64_t const begin = std::int64_t{part} * rows_of_block;
  int const count =
      sweep.size - begin < rows_of_block ? static_cast<int>(sweep.size - begin) : rows_of_block;
  bool const periodic = sweep.ends[0] == SideRule::periodic;
  std::int64_t const k = begin + chunk * rows;
  bool const opens = k == 0, ends = k < sweep.size && k + rows >= sweep.size;
  int const end = ends ? sweep.last_row : -1;
  int const last_chunk = part + 1 == sweep.parts ? (count - 1) / rows : -1;
  T const from_first = power(m, static_cast<double>(k));
  T const from_last =
      k + rows > sweep.size ? T{0} : power(m, static_cast<double>(sweep.size - k - rows));
  T const in_block = power(m, chunk * rows),
          to_block_end = power(m, (L::chunks - 1 - chunk) * rows);
  // The same threads, as lanes for which a line's chunks lie side by side.
  int const lane_chunk = thread % L::chunks, lane_column = thread / L::chunks;

  std::int64_t const strips = (sweep.lines + L::columns - 1) / L::columns;
  std::int64_t const clusters = gridDim.x / sweep.parts;
  std::int64_t strip = blockIdx.x / sweep.parts;
  int turn = 0;
  cluster.sync();  // all blocks are there
  bring_strip(sweep, memory, strip, begin, count);
  for (; strip < strips; strip += clusters, turn ^= 1) {
    std::int64_t const x = strip * L::columns + column;
    bool const live = x < sweep.lines;
    int const side = x == 0 ? 0 : x == sweep.lines - 1 ? 1 : -1;
    bool const held = side >= 0 && sweep.sides[side] == SideRule::dirichlet;
    await_groups<0>();
    __syncthreads();
    T e[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      e[i] = memory[(chunk * rows + i) * L::columns + column] * sweep.center;
      if (whole ? k >= sweep.size : k + i >= sweep.size) e[i] = 0;
    }
    __syncthreads();
    if (strip + clusters < strips) bring_strip(sweep, memory, strip + clusters, begin, count);
    if (!periodic && opens && live) {
      T first = sweep.end_values[0][x];
      if (sweep.ends[0] == SideRule::neumann) first = e[0] + m.end_weight * first;
      shared.first[column] = first;
      e[0] = 0;
    }
    if (!periodic && ends && live) {
      T last = sweep.end_values[1][x];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole ? i == rows - 1 : i == end) {
          if (sweep.ends[1] == SideRule::neumann) last = e[i] + m.end_weight * last;
          e[i] = 0;
        }
      shared.last[column] = last;
    }
    T forward, backward;
    sum_rows(m.q, e, forward, backward);
    shared.forward[chunk][column] = forward;
    shared.backward[chunk][column] = backward;
    if (ends) {
      T at_end = forward;
      if (!whole) {
        at_end = 0;
#pragma unroll
        for (int i = 0; i < rows; ++i)
          if (i <= end) at_end = m.q * at_end + e[i];
      }
      shared.at_end[column] = at_end;
    }
    __syncthreads();

    auto const carries =
        sum_chunks(m.chunk_powers, shared.forward[lane_chunk][lane_column],
                   shared.backward[lane_chunk][lane_column], lane_chunk, L::chunks);
    constexpr unsigned all = 0xffffffffu;
    Told<T> const told{__shfl_sync(all, carries.up_to, L::chunks - 1, L::chunks),
                       __shfl_sync(all, carries.from, 0, L::chunks)};
    T const to_end = __shfl_sync(all, carries.before, last_chunk < 0 ? 0 : last_chunk, L::chunks);
    shared.forward[lane_chunk][lane_column] = carries.before;
    shared.backward[lane_chunk][lane_column] = carries.after;
    for (int p = lane_chunk; p < sweep.parts; p += L::chunks) {
      auto* const there = cluster.map_shared_rank(&shared, p);
      there->told[turn][part][lane_column] = told;
      if (part == 0) there->ends[turn][0][lane_column].given = shared.first[lane_column];
      if (part + 1 == sweep.parts)
        there->ends[turn][1][lane_column] = {shared.last[lane_column],
                                             shared.at_end[lane_column] + m.last_chunk * to_end};
    }
    cluster.sync();

    auto const& all_told = shared.told[turn];
    T before = 0, after = 0, forward_to_last = 0, z_first = 0;
    for (int p = 0; p < sweep.parts; ++p) {
      if (p == part) before = forward_to_last;
      if (p + 1 < sweep.parts)
        forward_to_last = m.part_powers[0] * forward_to_last + all_told[p][column].forward;
    }
    for (int p = sweep.parts - 1; p >= 0; --p) {
      if (p == part) after = z_first;
      z_first = m.part_powers[0] * z_first + all_told[p][column].backward;
    }
    auto const at_end = shared.ends[turn][1][column];
    T const z_last = at_end.z + m.last_part * forward_to_last;
    T const first = shared.ends[turn][0][column].given, last = at_end.given;
    auto const [alpha, beta] = ends_of(m, periodic, first, last, z_first, z_last);
    solve_rows<whole>(
        m, e, m.q * (shared.forward[chunk][column] + in_block * before) + from_first * alpha,
        m.q * (shared.backward[chunk][column] + to_block_end * after) + from_last * beta, end,
        beta);
    if (opens && sweep.ends[0] == SideRule::dirichlet) e[0] = first;
    if (ends && sweep.ends[1] == SideRule::dirichlet) {
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole ? i == rows - 1 : i == end) e[i] = last;
    }
    if (live && k < sweep.size) {
      T* const to = sweep.out + k * sweep.lines + x;
      T const* const given = held ? sweep.side_values[side] + k : nullptr;
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole || k + i < sweep.size) to[i * sweep.lines] = held ? given[i] : e[i];
    }
  }
#endif
}

template <bool whole, class T>
void launch_columns(Stream& stream, LineSweep<T> const& sweep) {
  using L = Layout<T>;
  auto* const kernel = columns_kernel<whole, T>;
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(L::bytes)));
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  std::int64_t const strips = (sweep.lines + L::columns - 1) / L::columns;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(sweep.parts), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(strips * sweep.parts));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = L::bytes;
  config.stream = native(stream);
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
  config.gridDim =
      dim3(static_cast<unsigned>(std::clamp<std::int64_t>(clusters, 1, strips) * sweep.parts));
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(&config, kernel, sweep));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil alternating columns");
}

}  // namespace

template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep) {
  if (sweep.last_row + 1 == Layout<T>::rows)
    launch_columns<true>(stream, sweep);
  else
    launch_columns<false>(stream, sweep);
}

template void cuda_alternating_columns(Stream&, LineSweep<float> const&);
template void cuda_alternating_columns(Stream&, LineSweep<double> const&);

}  // namespace gridstride::stencil

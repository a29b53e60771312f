// The pass along y: lines lie across rows of memory.
//
// Thread-to-data: a block takes 512 rows of 128 bytes, a cluster of up to sixteen blocks the whole
// lines of such a strip. A thread has 32 rows of a line in registers (64 of float32); the next
// strip's rows come to shared memory while this one is solved. Threads exchange their sums in the
// block, where neighbouring lanes have those of a line, and blocks theirs in each other's shared
// memory: one barrier of the cluster for each strip.
//
// Of a rank a cluster has its part of the lines. What blocks tell goes to the memory of the other
// ranks' GPUs, too, where those wait for it, while another block of the multiprocessor solves and the
// next strip comes; all ranks take strips in the same order. Where GPUs do not reach each other, a
// kernel makes what is told, and once that is gathered another one goes over the strips again.
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

template <class T>
struct Exchange {
  using L = Layout<T>;
  T forward[L::chunks][L::columns + 1], backward[L::chunks][L::columns + 1];
  T first[L::columns], last[L::columns], at_end[L::columns];
  Told<T> told[2][told_of_line(most_parts)][L::columns];
};

/// Whose lines a kernel solves, and how far.
enum class Way {
  alone,   ///< a cluster has whole lines
  joined,  ///< other ranks have clusters, too
  tells,   ///< what is told of a rank's parts, and no more
  solves,  ///< once all is told
};

/// What a block of some parts knows of all that is told.
struct Tellers {
  int parts, first_part, own_parts;

  /// Whether one of those parts tells it.
  __device__ bool have(int told) const {
    if (told == parts) return first_part == 0;
    if (told == parts + 1) return first_part + own_parts == parts;
    return told >= first_part && told < first_part + own_parts;
  }
};

__device__ void send_line(ToldLine* to, unsigned low, unsigned high, unsigned number) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to), "r"(low), "r"(number),
               "r"(high)
               : "memory");
}
__device__ ToldLine await_line(ToldLine const* from, unsigned number) {
  ToldLine line;
  do {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(line.low), "=r"(line.low_number), "=r"(line.high), "=r"(line.high_number)
                 : "l"(from)
                 : "memory");
  } while (line.low_number != number || line.high_number != number);
  return line;
}
__device__ void send_told(ToldLine* to, Told<float> const& told, unsigned number) {
  send_line(to, __float_as_uint(told.forward), __float_as_uint(told.backward), number);
}
__device__ void send_told(ToldLine* to, Told<double> const& told, unsigned number) {
  send_line(to, static_cast<unsigned>(__double2loint(told.forward)),
            static_cast<unsigned>(__double2hiint(told.forward)), number);
  send_line(to + 1, static_cast<unsigned>(__double2loint(told.backward)),
            static_cast<unsigned>(__double2hiint(told.backward)), number);
}
__device__ void await_told(ToldLine const* from, Told<float>& told, unsigned number) {
  auto const line = await_line(from, number);
  told = {__uint_as_float(line.low), __uint_as_float(line.high)};
}
__device__ void await_told(ToldLine const* from, Told<double>& told, unsigned number) {
  auto const forward = await_line(from, number), backward = await_line(from + 1, number);
  told = {__hiloint2double(static_cast<int>(forward.high), static_cast<int>(forward.low)),
          __hiloint2double(static_cast<int>(backward.high), static_cast<int>(backward.low))};
}

/// Where something told of a line lies among all.
template <class T>
__device__ std::int64_t place_of_told(LineSweep<T> const& sweep, int told, std::int64_t line) {
  return told * sweep.lines + line;
}

/// Brings what all parts tell of a strip's lines, or what those of other ranks do.
template <Way way, class T>
__device__ void take_told(LineSweep<T> const& sweep, ColumnShare<T> const& share,
                          Tellers const& own, std::int64_t strip,
                          Told<T> (&all_told)[told_of_line(most_parts)][Layout<T>::columns]) {
  constexpr int columns = Layout<T>::columns;
  for (int i = static_cast<int>(threadIdx.x); i < told_of_line(sweep.parts) * columns;
       i += threads) {
    int const told = i / columns, column = i % columns;
    std::int64_t const line = strip * columns + column, at = place_of_told(sweep, told, line);
    if (line >= sweep.lines) continue;
    if constexpr (way == Way::solves)
      all_told[told][column] = share.told[at];
    else if (!own.have(told))
      await_told(share.boxes[share.rank] + at * lines_of_told<T>, all_told[told][column],
                 share.number);
  }
}

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

template <bool whole, Way way, class T>
__global__ void __launch_bounds__(threads, 2)
    columns_kernel(__grid_constant__ LineSweep<T> const sweep,
                   __grid_constant__ ColumnShare<T> const share) {
#if __CUDA_ARCH__ >= 900
  using L = Layout<T>;
  extern __shared__ __align__(16) unsigned char columns_memory[];
  __shared__ Exchange<T> shared;
  T* const memory = reinterpret_cast<T*>(columns_memory);
  constexpr bool clusters_of_blocks = way == Way::alone || way == Way::joined;
  auto const cluster = cg::this_cluster();
  auto const& m = sweep.matrix;
  constexpr int rows = L::rows;
  int const own_parts = way == Way::alone ? sweep.parts : share.parts;
  int const first_part = way == Way::alone ? 0 : share.first_part;
  Tellers const own{sweep.parts, first_part, own_parts};
  int const thread = static_cast<int>(threadIdx.x), column = thread % L::columns,
            chunk = thread / L::columns,
            part = first_part + static_cast<int>(blockIdx.x) % own_parts;
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
  std::int64_t const clusters = gridDim.x / static_cast<unsigned>(own_parts);
  std::int64_t strip = blockIdx.x / static_cast<unsigned>(own_parts);
  int turn = 0;
  if constexpr (clusters_of_blocks) cluster.sync();  // all blocks are there
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
      e[i] = product(memory[(chunk * rows + i) * L::columns + column], sweep.center);
      if (whole ? k >= sweep.size : k + i >= sweep.size) e[i] = 0;
    }
    __syncthreads();
    if (strip + clusters < strips) bring_strip(sweep, memory, strip + clusters, begin, count);
    if (!periodic && opens && live) {
      T first = sweep.end_values[0][x];
      if (sweep.ends[0] == SideRule::neumann) first = multiply_add(m.end_weight, first, e[0]);
      shared.first[column] = first;
      e[0] = 0;
    }
    if (!periodic && ends && live) {
      T last = sweep.end_values[1][x];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole ? i == rows - 1 : i == end) {
          if (sweep.ends[1] == SideRule::neumann) last = multiply_add(m.end_weight, last, e[i]);
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
          if (i <= end) at_end = multiply_add(m.q, at_end, e[i]);
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
    Told<T> const at_first{shared.first[lane_column], T{0}};
    Told<T> const at_last{shared.last[lane_column],
                          multiply_add(m.last_chunk, to_end, shared.at_end[lane_column])};
    std::int64_t const lane_line = strip * L::columns + lane_column;
    auto const tell = [&](auto const& put) {
      put(part, told);
      if (part == 0) put(sweep.parts, at_first);
      if (part + 1 == sweep.parts) put(sweep.parts + 1, at_last);
    };
    if constexpr (way == Way::tells) {
      if (lane_chunk == 0 && lane_line < sweep.lines)
        tell([&](int which, Told<T> const& what) {
          share.told[place_of_told(sweep, which, lane_line)] = what;
        });
      continue;
    }
    if constexpr (way == Way::joined)
      for (int rank = lane_chunk; rank < share.ranks; rank += L::chunks)
        if (rank != share.rank && lane_line < sweep.lines)
          tell([&](int which, Told<T> const& what) {
            send_told(share.boxes[rank] + place_of_told(sweep, which, lane_line) * lines_of_told<T>,
                      what, share.number);
          });
    if constexpr (clusters_of_blocks)
      for (int p = lane_chunk; p < own_parts; p += L::chunks) {
        auto* const there = cluster.map_shared_rank(&shared, p);
        tell([&](int which, Told<T> const& what) { there->told[turn][which][lane_column] = what; });
      }
    if constexpr (way != Way::alone) take_told<way>(sweep, share, own, strip, shared.told[turn]);
    if constexpr (clusters_of_blocks)
      cluster.sync();
    else
      __syncthreads();

    auto const& all_told = shared.told[turn];
    T before = 0, after = 0, forward_to_last = 0, z_first = 0;
    for (int p = 0; p < sweep.parts; ++p) {
      if (p == part) before = forward_to_last;
      if (p + 1 < sweep.parts)
        forward_to_last =
            multiply_add(m.part_powers[0], forward_to_last, all_told[p][column].forward);
    }
    for (int p = sweep.parts - 1; p >= 0; --p) {
      if (p == part) after = z_first;
      z_first = multiply_add(m.part_powers[0], z_first, all_told[p][column].backward);
    }
    auto const [last, z_in_part] = all_told[sweep.parts + 1][column];
    T const z_last = multiply_add(m.last_part, forward_to_last, z_in_part);
    T const first = all_told[sweep.parts][column].forward;
    auto const [alpha, beta] = ends_of(m, periodic, first, last, z_first, z_last);
    solve_rows<whole>(
        m, e,
        multiply_add(m.q, multiply_add(in_block, before, shared.forward[chunk][column]),
                     product(from_first, alpha)),
        multiply_add(m.q, multiply_add(to_block_end, after, shared.backward[chunk][column]),
                     product(from_last, beta)),
        end, beta);
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

template <bool whole, Way way, class T>
void launch_columns(Stream& stream, LineSweep<T> const& sweep, ColumnShare<T> const& share) {
  using L = Layout<T>;
  constexpr bool clusters_of_blocks = way == Way::alone || way == Way::joined;
  auto* const kernel = columns_kernel<whole, way, T>;
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(L::bytes)));
  std::int64_t const strips = (sweep.lines + L::columns - 1) / L::columns, parts = share.parts;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(parts), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(strips * parts));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = L::bytes;
  config.stream = native(stream);
  int together = 0;  // groups of blocks that have all parts
  if (clusters_of_blocks) {
    GRIDSTRIDE_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    config.attrs = &cluster;
    config.numAttrs = 1;
    GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveClusters(&together, kernel, &config));
  } else {
    GRIDSTRIDE_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, kernel, threads, L::bytes));
    together = together * stream.device().processors() / static_cast<int>(parts);
  }
  config.gridDim =
      dim3(static_cast<unsigned>(std::clamp<std::int64_t>(together, 1, strips) * parts));
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(&config, kernel, sweep, share));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil alternating columns");
}

template <Way way, class T>
void launch_columns(Stream& stream, LineSweep<T> const& sweep, ColumnShare<T> const& share) {
  if (sweep.last_row + 1 == Layout<T>::rows)
    launch_columns<true, way>(stream, sweep, share);
  else
    launch_columns<false, way>(stream, sweep, share);
}

}  // namespace

template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep) {
  ColumnShare<T> all;
  all.parts = sweep.parts;
  launch_columns<Way::alone>(stream, sweep, all);
}

template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep,
                              ColumnShare<T> const& share) {
  if (share.told == nullptr)
    launch_columns<Way::joined>(stream, sweep, share);
  else
    launch_columns<Way::solves>(stream, sweep, share);
}

template <class T>
void cuda_tell_columns(Stream& stream, LineSweep<T> const& sweep, ColumnShare<T> const& share) {
  launch_columns<Way::tells>(stream, sweep, share);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                              \
  template void cuda_alternating_columns(Stream&, LineSweep<T> const&);                        \
  template void cuda_alternating_columns(Stream&, LineSweep<T> const&, ColumnShare<T> const&); \
  template void cuda_tell_columns(Stream&, LineSweep<T> const&, ColumnShare<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "core/device.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/bulk_copy.cuh"
#include "kernels/tridiagonal/relation.hpp"

/// Systems in tiles of rows, each of which a block brings to its shared memory: what `hybrid`,
/// `constant` and `pivoted` have in common, and `hybrid` of family `pentadiagonal`. `Work` is what
/// the caller gives.
namespace gridstride::tridiagonal {

/// Systems of a block, at most.
constexpr int most_systems = 128;

/// Arrays of coefficients, and one of them.
template <class T>
constexpr int arrays_of(Arguments<T> const*) {
  return 3;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE T const* coefficients_of(Arguments<T> const& work, int which) {
  return which == 0 ? work.lower : which == 1 ? work.diagonal : work.upper;
}
template <class Work>
constexpr int arrays = arrays_of(static_cast<Work const*>(nullptr));

/// Systems of one level: those of the caller, or of the last unknowns of another level's tiles.
template <class T, class Work = Arguments<T>>
struct Level {
  Work work;  ///< of the caller; of another level only the solution counts
  Places places;
  T const* rows;           ///< what `reduce` has left of another level, or null
  T* reduced;              ///< of `reduce`
  T const* separators;     ///< for `substitute`: the last unknowns of all tiles
  std::int64_t tile_rows;  ///< of all tiles of a system but the last
  std::int64_t tiles;      ///< of a system
  int systems;             ///< of a block
  int chunks;              ///< of a whole tile
  int pitch;               ///< in shared memory, from a tile to that of the next system
  int exchange;  ///< elements in which threads give each other numbers, in the place of a, b and c
  bool across;   ///< whether systems lie side by side
  bool vectors;  ///< whether rows lie in aligned vectors
  bool bulk;     ///< whether a thread brings all rows of a system by itself
  std::int64_t named_size, named_rows;  ///< of the caller's systems, and of what is a row here
};

/// Elements of shared memory before the right-hand side, and in all.
template <class T, class Work>
GRIDSTRIDE_HOST_DEVICE int elements_before_right(Level<T, Work> const& level) {
  int const rows = arrays<Work> * level.systems * level.pitch;
  return ((rows > level.exchange ? rows : level.exchange) + 3) / 4 * 4;
}
template <class T, class Work>
GRIDSTRIDE_HOST_DEVICE int shared_elements(Level<T, Work> const& level) {
  return elements_before_right(level) + (level.systems * level.pitch + 3) / 4 * 4;
}

/// What a block keeps of each of its systems, behind the rows: where it begins, and the unknowns
/// before and at the end of its tile.
template <class T>
struct Begins {
  std::int64_t *coefficients, *values;
  T *before, *last;

  template <class Work>
  __device__ Begins(Level<T, Work> const& level, T* memory)
      : coefficients(reinterpret_cast<std::int64_t*>(memory + shared_elements(level))),
        values(coefficients + level.systems),
        before(reinterpret_cast<T*>(values + level.systems)),
        last(before + level.systems) {}
};
template <class T, class Work>
std::size_t shared_bytes(Level<T, Work> const& level) {
  return shared_elements(level) * sizeof(T) +
         static_cast<std::size_t>(level.systems) * 2 * (sizeof(std::int64_t) + sizeof(T));
}

/// A block's part of a level: a tile of up to `systems` systems in shared memory.
template <class T, class Work = Arguments<T>>
struct Tile {
  Level<T, Work> const& level;
  T* memory;
  std::int64_t index, first_row, first_system;
  int rows, systems;

  __device__ Tile(Level<T, Work> const& l, T* shared, unsigned block) : level(l), memory(shared) {
    unsigned const tiles = static_cast<unsigned>(l.tiles);
    index = block % tiles;
    first_row = index * l.tile_rows;
    first_system = std::int64_t{block / tiles} * l.systems;
    std::int64_t const rows_left = l.places.size - first_row;
    std::int64_t const systems_left = l.places.count - first_system;
    rows = static_cast<int>(rows_left < l.tile_rows ? rows_left : l.tile_rows);
    systems = static_cast<int>(systems_left < l.systems ? systems_left : l.systems);
  }

  /// The coefficients, and behind them the right-hand side.
  __device__ T* array(int which) const {
    return memory + (which < arrays<Work> ? which * level.systems * level.pitch
                                          : elements_before_right(level));
  }

  /// Calls `body(system, row)` for all places of the tile, or only for every `step`th row, so that
  /// neighbouring threads have neighbouring places in memory.
  template <class Body>
  __device__ void each_place(int step, Body const& body) const {
    int const threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    if (level.across) {
      // As many threads as a multiple of the systems: each stays with one.
      int const system = thread % level.systems;
      if (system >= systems) return;
      for (int row = thread / level.systems * step; row < rows;
           row += threads / level.systems * step)
        body(system, row);
      return;
    }
    int const steps = (rows + step - 1) / step;
    int i = thread % steps, system = thread / steps;
    int const next_i = threads % steps, next_system = threads / steps;
    while (system < systems) {
      body(system, i * step);
      i += next_i;
      system += next_system;
      if (i >= steps) {
        i -= steps;
        ++system;
      }
    }
  }
};

/// Begins a copy to shared memory. With `neighbours`, other blocks will soon want what lies beside
/// it: 256 bytes come to the cache.
template <int bytes, bool neighbours = false>
__device__ void bring(void* target, void const* source) {
#if __CUDA_ARCH__ >= 800
  auto const to = static_cast<unsigned>(__cvta_generic_to_shared(target));
  if constexpr (neighbours)
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %2;" ::"r"(to), "l"(source),
                 "n"(bytes)
                 : "memory");
  else
    begin_copy<bytes>(to, source);
#else
  memcpy(__builtin_assume_aligned(target, bytes), __builtin_assume_aligned(source, bytes), bytes);
#endif
}

/// Finds where the systems begin.
template <class T, class Work>
__device__ void find_systems(Tile<T, Work> const& tile, Begins<T> const& begins) {
  int const s = static_cast<int>(threadIdx.x);
  if (s >= tile.systems) return;
  begins.coefficients[s] = tile.level.places.coefficients(tile.first_system + s);
  begins.values[s] = tile.level.places.values(tile.first_system + s);
}

/// Begins to bring elements of several arrays to shared memory, all from the same place on.
template <class T, int count>
struct Sources {
  T const* from[count];
  T* to[count];

  template <int bytes, bool neighbours = false>
  __device__ void bring_from(std::int64_t source, int target) const {
#pragma unroll
    for (int i = 0; i < count; ++i) bring<bytes, neighbours>(to[i] + target, from[i] + source);
  }
};

/// Begins to bring the tile's rows of arrays that lie alike.
template <class T, class Work, int count>
__device__ void bring_rows(Tile<T, Work> const& tile, Sources<T, count> const& sources,
                           std::int64_t const* begins, std::int64_t stride) {
  auto const& level = tile.level;
  constexpr int size = static_cast<int>(sizeof(T)), width = 16 / size;
  std::int64_t const first = tile.first_row * stride;
  tile.each_place(level.vectors ? width : 1, [&](int system, int row) {
    int const to = system * level.pitch + row;
    std::int64_t const from = first + begins[system] + row * stride;
    if (level.vectors && row + width <= tile.rows) {
      sources.template bring_from<16>(from, to);
    } else if (level.across) {
      sources.template bring_from<size, true>(from, to);
    } else {
      int const end = level.vectors ? tile.rows : row + 1;
      for (int r = row; r < end; ++r)
        sources.template bring_from<size>(from + (r - row) * stride, to + (r - row));
    }
  });
}

/// What bulk copies can move of a system's rows of the tile: all but the last few.
template <class T>
struct BulkRows {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  int rest;  ///< the first of the others
  int bytes;

  __device__ explicit BulkRows(int rows)
      : rest(rows / width * width), bytes(rest * static_cast<int>(sizeof(T))) {}
};

/// Makes the barrier on which rows come in bulk. All threads then synchronise.
template <class T, class Work>
__device__ void make_barrier([[maybe_unused]] Tile<T, Work> const& tile,
                             [[maybe_unused]] std::uint64_t& barrier) {
#if __CUDA_ARCH__ >= 900
  if (!tile.level.bulk || threadIdx.x != 0) return;
  barrier_init(shared_address(&barrier), tile.systems);
  publish_barriers();
#endif
}

/// Begins to bring all arrays in bulk, by a thread for each system.
template <class T, class Work>
__device__ void bring_in_bulk([[maybe_unused]] Tile<T, Work> const& tile,
                              [[maybe_unused]] Begins<T> const& begins,
                              [[maybe_unused]] std::uint64_t& barrier) {
#if __CUDA_ARCH__ >= 900
  int const s = static_cast<int>(threadIdx.x);
  if (s >= tile.systems) return;
  auto const& work = tile.level.work;
  BulkRows<T> const bulk(tile.rows);
  unsigned const address = shared_address(&barrier);
  auto const each_array = [&](auto const& body) {
    std::int64_t const at = begins.coefficients[s] + tile.first_row;
    int const to = s * tile.level.pitch;
#pragma unroll
    for (int i = 0; i < arrays<Work>; ++i) body(tile.array(i) + to, coefficients_of(work, i) + at);
    body(tile.array(arrays<Work>) + to, work.right + begins.values[s] + tile.first_row);
  };
  each_array([&](T* to, T const* from) {
    for (int row = bulk.rest; row < tile.rows; ++row) to[row] = from[row];
  });
  barrier_arrive_expecting(address, (arrays<Work> + 1) * bulk.bytes);
  if (bulk.bytes > 0)
    each_array([&](T* to, T const* from) { begin_bulk_copy(to, from, bulk.bytes, address); });
#endif
}

/// Begins to bring the tile's rows of the caller's arrays to shared memory.
template <class T, class Work>
__device__ void bring_arrays(Tile<T, Work> const& tile, Begins<T> const& begins,
                             std::uint64_t& barrier) {
  auto const& level = tile.level;
  auto const& places = level.places;
  if (level.bulk) return bring_in_bulk(tile, begins, barrier);
  Sources<T, arrays<Work>> coefficients;
#pragma unroll
  for (int i = 0; i < arrays<Work>; ++i) {
    coefficients.from[i] = coefficients_of(level.work, i);
    coefficients.to[i] = tile.array(i);
  }
  bring_rows(tile, coefficients, begins.coefficients, places.coefficient_stride);
  bring_rows(tile, Sources<T, 1>{{level.work.right}, {tile.array(arrays<Work>)}}, begins.values,
             places.value_stride);
  close_group();
}

/// Waits for them.
template <class T, class Work>
__device__ void await_arrays(Level<T, Work> const& level, [[maybe_unused]] std::uint64_t& barrier) {
#if __CUDA_ARCH__ >= 900
  if (level.bulk) return barrier_wait(shared_address(&barrier), 0);
#endif
  await_groups<0>();
  __syncthreads();
}

/// Writes the tile's rows of the solution from shared memory. A barrier before it.
template <class T, class Work>
__device__ void write_solution(Tile<T, Work> const& tile, T const* source,
                               std::int64_t const* begins) {
  auto const& level = tile.level;
  if (level.bulk) publish_to_copies();
  __syncthreads();
  if (level.bulk) {
    int const s = static_cast<int>(threadIdx.x);
    if (s >= tile.systems) return;
    BulkRows<T> const bulk(tile.rows);
    T* const to = level.work.solution + begins[s] + tile.first_row;
    T const* const from = source + s * level.pitch;
    if (bulk.bytes > 0) begin_bulk_write(to, from, bulk.bytes);
    for (int row = bulk.rest; row < tile.rows; ++row) to[row] = from[row];
    return await_bulk_reads();
  }
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  struct alignas(16) Several {
    T at[width];
  };
  std::int64_t const stride = level.places.value_stride;
  T* const target = level.work.solution + tile.first_row * stride;
  tile.each_place(level.vectors ? width : 1, [&](int system, int row) {
    T const* const from = source + system * level.pitch + row;
    T* const to = target + begins[system] + row * stride;
    if (level.vectors && row + width <= tile.rows) {
      *reinterpret_cast<Several*>(to) = *reinterpret_cast<Several const*>(from);
    } else {
      int const end = level.vectors ? tile.rows : row + 1;
      for (int r = row; r < end; ++r) to[(r - row) * stride] = from[r - row];
    }
  });
}

// ------------------------------------------------------------------------------------- on the host

/// How a rung cuts systems.
struct Cut {
  int chunk_rows;     ///< rows of a thread
  int threads;        ///< of a block, about, where a tile is not a whole system
  int exchange;       ///< elements of `Level::exchange` for each thread, and two more
  int least_systems;  ///< of a block, where they lie side by side
};

/// A level in tiles of `chunks` chunks at most.
template <class T, class Work>
Level<T, Work> in_tiles(Level<T, Work> level, Cut const& cut, std::int64_t chunks) {
  std::int64_t const needed = (level.places.size + cut.chunk_rows - 1) / cut.chunk_rows;
  level.chunks = static_cast<int>(std::min(chunks, needed));
  level.tile_rows = std::min(std::int64_t{level.chunks} * cut.chunk_rows, level.places.size);
  level.tiles = (level.places.size + level.tile_rows - 1) / level.tile_rows;
  int const rows = static_cast<int>(level.tile_rows);
  level.pitch = level.across ? rows | 1 : (rows + 3) / 4 * 4;
  level.systems = std::clamp(cut.threads / level.chunks, 1, most_systems);
  if (level.across) {
    level.systems = most_systems;
    while (level.systems > cut.least_systems && level.systems * level.chunks > cut.threads)
      level.systems /= 2;
  }
  level.exchange = cut.exchange * (level.systems * level.chunks + 2);
  return level;
}

/// Whether systems, not rows, lie next to each other.
inline bool lie_across(Places const& places) {
  return places.values_of[0] > 0 && places.values_of[0] < places.value_stride;
}

/// Whether an array with such strides lies in vectors of 16 bytes.
template <class T>
bool in_vectors(T const* array, Places const& places, std::int64_t stride,
                std::int64_t const (&of)[3]) {
  constexpr std::int64_t width = 16 / sizeof(T);
  std::int64_t const systems[3] = {places.systems[0], places.systems[1],
                                   places.count / (places.systems[0] * places.systems[1])};
  bool aligned = stride == 1 && reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
  for (int axis = 0; axis < 3; ++axis)
    aligned = aligned && (systems[axis] == 1 || of[axis] % width == 0);
  return aligned;
}

/// Whether all tiles do.
template <class T, class Work>
bool tiles_in_vectors(Level<T, Work> const& level, bool with_coefficients) {
  auto const& places = level.places;
  auto const& work = level.work;
  bool aligned = !level.across && (level.tiles == 1 || level.tile_rows % 4 == 0);
  for (T const* array : std::initializer_list<T const*>{work.right, work.solution})
    aligned = aligned && in_vectors(array, places, places.value_stride, places.values_of);
  for (int i = 0; with_coefficients && i < arrays<Work>; ++i)
    aligned = aligned && in_vectors(coefficients_of(work, i), places, places.coefficient_stride,
                                    places.coefficients_of);
  return aligned;
}

template <class T, class Work>
int threads_of(Level<T, Work> const& level) {
  return (level.systems * level.chunks + 31) / 32 * 32;
}

template <class T, class Work>
bool fits(Device const& device, Level<T, Work> const& level, int most_threads) {
  return threads_of(level) <= most_threads &&
         shared_bytes(level) <= device.capabilities().shared_bytes;
}

/// The blocks of a level.
template <class T, class Work>
unsigned blocks_of(Level<T, Work> const& level) {
  return static_cast<unsigned>((level.places.count + level.systems - 1) / level.systems *
                               level.tiles);
}

}  // namespace gridstride::tridiagonal

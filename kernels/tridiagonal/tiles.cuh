#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "core/device.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/tridiagonal/relation.hpp"

/// Systems in tiles of rows, each of which a block brings to its shared memory: what `hybrid` and
/// `pivoted` have in common.
namespace gridstride::tridiagonal {

/// Systems of a block, at most.
constexpr int most_systems = 128;

/// Systems of one level: those of the caller, or of the last unknowns of another level's tiles.
template <class T>
struct Level {
  Arguments<T> work;  ///< of the caller; of another level only the solution counts
  Places places;
  T const* rows;           ///< `reduced_arrays` of another level, or null
  T* reduced;              ///< of `reduce`
  T const* separators;     ///< for `substitute`: the last unknowns of all tiles
  std::int64_t tile_rows;  ///< of all tiles of a system but the last
  std::int64_t tiles;      ///< of a system
  int systems;             ///< of a block
  int chunks;              ///< of a whole tile
  int pitch;               ///< in shared memory, from a tile to that of the next system
  int gap_shift, gap;  ///< a row lies `gap` elements further for each time 2^gap_shift go into it
  int exchange;        ///< elements in which threads give each other numbers, at least
  bool ahead;          ///< whether they are apart from a, b and c
  bool across;         ///< whether systems lie side by side
  bool vectors;        ///< whether rows lie in aligned vectors
  std::int64_t named_size, named_rows;  ///< of the caller's systems, and of what is a row here
};

/// Elements of shared memory before d, before those of `exchange`, and in all.
template <class T>
GRIDSTRIDE_HOST_DEVICE int elements_before_right(Level<T> const& level) {
  int const arrays = 3 * level.systems * level.pitch;
  return ((arrays > level.exchange || level.ahead ? arrays : level.exchange) + 3) / 4 * 4;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE int elements_before_exchange(Level<T> const& level) {
  return level.ahead ? elements_before_right(level) + (level.systems * level.pitch + 3) / 4 * 4 : 0;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE int shared_elements(Level<T> const& level) {
  int const rows = level.systems * level.pitch;
  if (!level.ahead) return elements_before_right(level) + (rows + 3) / 4 * 4;
  return elements_before_exchange(level) +
         ((level.exchange > rows ? level.exchange : rows) + 3) / 4 * 4;
}

/// Words of eight bytes of a `Begins`; there are two where rows come ahead.
template <class T>
GRIDSTRIDE_HOST_DEVICE int begins_words(Level<T> const& level) {
  return level.systems * 2 * static_cast<int>(sizeof(std::int64_t) + sizeof(T)) / 8;
}

/// What a block keeps of each of its systems, behind the rows: where it begins, and the unknowns
/// before and at the end of its tile.
template <class T>
struct Begins {
  std::int64_t *coefficients, *values;
  T *before, *last;

  __device__ Begins(Level<T> const& level, T* memory, int turn = 0)
      : coefficients(reinterpret_cast<std::int64_t*>(memory + shared_elements(level)) +
                     turn * begins_words(level)),
        values(coefficients + level.systems),
        before(reinterpret_cast<T*>(values + level.systems)),
        last(before + level.systems) {}
};
template <class T>
std::size_t shared_bytes(Level<T> const& level) {
  return shared_elements(level) * sizeof(T) +
         static_cast<std::size_t>((level.ahead ? 2 : 1) * begins_words(level)) * 8;
}

/// A block's part of a level: a tile of up to `systems` systems in shared memory.
template <class T>
struct Tile {
  Level<T> const& level;
  T* memory;
  std::int64_t index, first_row, first_system;
  int rows, systems;

  __device__ Tile(Level<T> const& l, T* shared, unsigned block) : level(l), memory(shared) {
    unsigned const tiles = static_cast<unsigned>(l.tiles);
    index = block % tiles;
    first_row = index * l.tile_rows;
    first_system = std::int64_t{block / tiles} * l.systems;
    std::int64_t const rows_left = l.places.size - first_row;
    std::int64_t const systems_left = l.places.count - first_system;
    rows = static_cast<int>(rows_left < l.tile_rows ? rows_left : l.tile_rows);
    systems = static_cast<int>(systems_left < l.systems ? systems_left : l.systems);
  }

  /// Array 0 to 3 is a, b, c or d.
  __device__ T* array(int which) const {
    return memory +
           (which < 3 ? which * level.systems * level.pitch : elements_before_right(level));
  }

  /// Calls `body(system, row)` for all places of the tile, or only for every `step`th row, so that
  /// neighbouring threads have neighbouring places in memory.
  template <class Body>
  __device__ void each_place(int step, Body const& body) const {
    int const threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    int const steps = (rows + step - 1) / step;
    int const fast = level.across ? level.systems : steps, slow = level.across ? steps : systems;
    int i = thread % fast, j = thread / fast;
    int const next_i = threads % fast, next_j = threads / fast;
    while (j < slow) {
      int const system = level.across ? i : j, row = (level.across ? j : i) * step;
      if (system < systems) body(system, row);
      i += next_i;
      j += next_j;
      if (i >= fast) {
        i -= fast;
        ++j;
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
template <class T>
__device__ void find_systems(Tile<T> const& tile, Begins<T> const& begins) {
  int const s = static_cast<int>(threadIdx.x);
  if (s >= tile.systems) return;
  begins.coefficients[s] = tile.level.places.coefficients(tile.first_system + s);
  begins.values[s] = tile.level.places.values(tile.first_system + s);
}

/// Where a row lies in shared memory, from the first of its system on.
template <class T>
GRIDSTRIDE_HOST_DEVICE int shared_place(Level<T> const& level, int row) {
  return row + (row >> level.gap_shift) * level.gap;
}

/// Begins to bring elements of several arrays to shared memory, all from the same place on.
template <class T, int arrays>
struct Sources {
  T const* from[arrays];
  T* to[arrays];

  template <int bytes, bool neighbours = false>
  __device__ void bring_from(std::int64_t source, int target) const {
#pragma unroll
    for (int i = 0; i < arrays; ++i) bring<bytes, neighbours>(to[i] + target, from[i] + source);
  }
};

/// Begins to bring the tile's rows of arrays that lie alike.
template <class T, int arrays>
__device__ void bring_rows(Tile<T> const& tile, Sources<T, arrays> const& sources,
                           std::int64_t const* begins, std::int64_t stride) {
  auto const& level = tile.level;
  constexpr int size = static_cast<int>(sizeof(T)), width = 16 / size;
  std::int64_t const first = tile.first_row * stride;
  tile.each_place(level.vectors ? width : 1, [&](int system, int row) {
    int const to = system * level.pitch + shared_place(level, row);
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

/// The same for all of the caller's arrays.
template <class T>
__device__ void bring_arrays(Tile<T> const& tile, Begins<T> const& begins) {
  auto const& level = tile.level;
  auto const& places = level.places;
  Sources<T, 3> const coefficients{{level.work.lower, level.work.diagonal, level.work.upper},
                                   {tile.array(0), tile.array(1), tile.array(2)}};
  bring_rows(tile, coefficients, begins.coefficients, places.coefficient_stride);
  bring_rows(tile, Sources<T, 1>{{level.work.right}, {tile.array(3)}}, begins.values,
             places.value_stride);
}

/// Writes the tile's rows of the solution from shared memory.
template <class T>
__device__ void write_solution(Tile<T> const& tile, T const* source, std::int64_t const* begins) {
  auto const& level = tile.level;
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  struct alignas(16) Several {
    T at[width];
  };
  std::int64_t const stride = level.places.value_stride;
  T* const target = level.work.solution + tile.first_row * stride;
  tile.each_place(level.vectors ? width : 1, [&](int system, int row) {
    T const* const from = source + system * level.pitch + shared_place(level, row);
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
  int gap_shift;      ///< `Level::gap_shift`: no gaps with 31
  int threads;        ///< of a block, about, where a tile is not a whole system
  int exchange;       ///< elements of `Level::exchange` for each thread
  int least_systems;  ///< of a block, where they lie side by side
  int gap = 1;        ///< `Level::gap`: vectors lie in rows with gaps of 16 bytes
};

/// A level in tiles of `chunks` chunks at most.
template <class T>
Level<T> in_tiles(Level<T> level, Cut const& cut, std::int64_t chunks) {
  std::int64_t const needed = (level.places.size + cut.chunk_rows - 1) / cut.chunk_rows;
  level.chunks = static_cast<int>(std::min(chunks, needed));
  level.tile_rows = std::min(std::int64_t{level.chunks} * cut.chunk_rows, level.places.size);
  level.tiles = (level.places.size + level.tile_rows - 1) / level.tile_rows;
  level.gap_shift = cut.gap_shift;
  level.gap = cut.gap;
  int const rows = shared_place(level, static_cast<int>(level.tile_rows));
  level.pitch = level.across ? rows | 1 : (rows + 3) / 4 * 4;
  level.systems = std::clamp(cut.threads / level.chunks, 1, most_systems);
  if (level.across) {
    level.systems = most_systems;
    while (level.systems > cut.least_systems && level.systems * level.chunks > cut.threads)
      level.systems /= 2;
  }
  level.exchange = cut.exchange * level.systems * level.chunks;
  return level;
}

/// Whether systems, not rows, lie next to each other.
inline bool lie_across(Places const& places) {
  return places.values_of[0] > 0 && places.values_of[0] < places.value_stride;
}

/// Whether arrays with such strides, of which one begins there, lie in vectors of 16 bytes.
template <class T>
bool in_vectors(T const* array, std::int64_t stride, std::int64_t const (&of)[3]) {
  constexpr std::int64_t width = 16 / sizeof(T);
  bool aligned = stride == 1 && reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
  for (std::int64_t const step : of) aligned = aligned && step % width == 0;
  return aligned;
}

/// Whether all tiles do.
template <class T>
bool tiles_in_vectors(Level<T> const& level, bool with_coefficients) {
  auto const& places = level.places;
  auto const& work = level.work;
  bool const gaps_fit = level.gap_shift == 31 || level.gap * sizeof(T) % 16 == 0;
  bool aligned = !level.across && gaps_fit && (level.tiles == 1 || level.tile_rows % 4 == 0);
  for (T const* array : std::initializer_list<T const*>{work.right, work.solution})
    aligned = aligned && in_vectors(array, places.value_stride, places.values_of);
  for (T const* array : std::initializer_list<T const*>{work.lower, work.diagonal, work.upper})
    aligned = aligned && (!with_coefficients ||
                          in_vectors(array, places.coefficient_stride, places.coefficients_of));
  return aligned;
}

template <class T>
int threads_of(Level<T> const& level) {
  return (level.systems * level.chunks + 31) / 32 * 32;
}

template <class T>
bool fits(Device const& device, Level<T> const& level, int most_threads) {
  return threads_of(level) <= most_threads &&
         shared_bytes(level) <= device.capabilities().shared_bytes;
}

/// The blocks of a level.
template <class T>
unsigned blocks_of(Level<T> const& level) {
  return static_cast<unsigned>((level.places.count + level.systems - 1) / level.systems *
                               level.tiles);
}

}  // namespace gridstride::tridiagonal

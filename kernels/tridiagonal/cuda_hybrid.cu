// The rung `hybrid` of the ladder in cuda.cu: each number is read once, and for systems that no block
// holds once more (relation.hpp has the arithmetic, hybrid.cuh the kernel; after L. Chang et al.,
// "A scalable, numerically stable, high-performance tridiagonal solver using GPUs", SC 2012, and
// E. László, M. Giles and J. Appleyard, "Manycore algorithms for batch scalar and block tridiagonal
// solvers", ACM TOMS 42, 2016, with one unknown of a chunk instead of two in the reduced system).
//
// Thread-to-data: a block has a tile of rows of one or several systems in shared memory, where
// asynchronous copies bring it, neighbouring threads neighbouring addresses, whether rows or systems
// lie side by side. A thread takes nine rows to registers and eliminates eight of them, down and up;
// what is left is a row for each thread, solved by parallel cyclic reduction in the shared memory
// that is free by then. Then all unknowns follow from two.
//
// Systems that no block holds are cut into tiles. A first pass leaves seven numbers of each tile; the
// tiles' last unknowns are a system again, solved by the same means; a second pass reads the tile
// again and finishes it, the last tiles first, of which the cache still has some. A periodic system
// is one whose first tile comes after its last.
//
// Bytes, of n unknowns: 5·n·sizeof(T) where a block holds a system; 9·n·sizeof(T) else. The roof is
// the copy bandwidth.

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/tridiagonal/hybrid.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// Side by side: 64 bytes of float64.
constexpr Cut cut{chunk_rows, 31, 128, 9, 8}, cut_across{chunk_rows, 31, 256, 9, 8};

/// The level with its tiles chosen, by size and strides alone: a system's bits depend on them.
template <class T>
Level<T> planned(Device const& device, Level<T> level) {
  level.across = lie_across(level.places);
  auto const& how = level.across ? cut_across : cut;
  auto result = in_tiles(level, how, most_threads);
  if (result.tiles > 1 || !fits(device, result, most_threads))
    result = in_tiles(level, how, level.across ? how.threads / how.least_systems : how.threads);
  while (!fits(device, result, most_threads) && result.chunks > 1)
    result = in_tiles(level, how, result.chunks / 2);
  result.vectors = tiles_in_vectors(result, true);
  return result;
}

template <Task task, class T>
void launch(Stream& stream, Level<T> const& level) {
  auto const bytes = shared_bytes(level);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(hybrid_kernel<task, T>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)));
  hybrid_kernel<task, T><<<blocks_of(level), threads_of(level), bytes, native(stream)>>>(level);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal hybrid");
}

template <class T>
void solve_level(Stream& stream, Level<T> const& given) {
  Level<T> level = planned(stream.device(), given);
  if (level.tiles == 1) return launch<Task::whole>(stream, level);
  std::int64_t const count = level.places.count, separators = count * level.tiles;
  Buffer<T> reduced(stream, MemorySpace::device,
                    static_cast<std::size_t>(reduced_arrays * separators));
  Buffer<T> known(stream, MemorySpace::device, static_cast<std::size_t>(separators));
  level.reduced = reduced.data();
  level.separators = known.data();
  launch<Task::reduce>(stream, level);

  Level<T> next{};
  next.work.solution = known.data();
  next.work.findings = level.work.findings;
  next.places = {
      level.tiles,          count, {count, 1}, 1, 1, {level.tiles, 0, 0}, {level.tiles, 0, 0},
      level.places.periodic};
  next.rows = reduced.data();
  next.named_size = level.named_size;
  next.named_rows = level.named_rows * level.tile_rows;
  solve_level(stream, next);
  launch<Task::substitute>(stream, level);
}

}  // namespace

template <class T>
void cuda_hybrid(Stream& stream, Arguments<T> const& work) {
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.named_size = level.places.size;
  level.named_rows = 1;
  solve_level(stream, level);
}

template void cuda_hybrid(Stream&, Arguments<float> const&);
template void cuda_hybrid(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

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
// The rung `ahead` keeps the blocks: the rows of a tile are in registers after a third of its time,
// and the next ones come to shared memory meanwhile, for which what threads give each other has
// memory of its own. Systems that lie side by side come 128 bytes at a time instead of 64.
//
// Bytes, of n unknowns: 5·n·sizeof(T) where a block holds a system; 9·n·sizeof(T) else. The roof is
// the copy bandwidth.

#include <algorithm>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/tridiagonal/hybrid.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// Side by side: 64 bytes of float64, or 128.
constexpr Cut cut{chunk_rows, 31, 128, 9, 8}, cut_across{chunk_rows, 31, 256, 9, 8},
    cut_wide{chunk_rows, 31, 512, 9, 16};

/// The level with its tiles chosen, by size and strides alone: a system's bits depend on them.
template <class T>
Level<T> planned(Device const& device, Level<T> level) {
  level.across = lie_across(level.places);
  int const most = level.ahead ? most_ahead_threads : most_threads;
  auto const tiled = [&](Cut const& how) {
    return in_tiles(level, how, level.across ? how.threads / how.least_systems : how.threads);
  };
  bool const wide = level.ahead && level.across && fits(device, tiled(cut_wide), most);
  auto const& how = wide ? cut_wide : level.across ? cut_across : cut;
  auto result = in_tiles(level, how, most);
  if (result.tiles > 1 || !fits(device, result, most)) result = tiled(how);
  while (!fits(device, result, most) && result.chunks > 1)
    result = in_tiles(level, how, result.chunks / 2);
  result.vectors = tiles_in_vectors(result, true);
  return result;
}

template <Task task, class T>
void launch(Stream& stream, Level<T> const& level) {
  auto const bytes = shared_bytes(level);
  unsigned const tiles = blocks_of(level);
  int const threads = threads_of(level), most_bytes = static_cast<int>(bytes);
  constexpr auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (level.ahead) {
    auto* const kernel = ahead_kernel<task, T>;
    int blocks = 0;
    GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, attribute, most_bytes));
    GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
    auto const most = static_cast<unsigned>(blocks * stream.device().processors());
    kernel<<<std::min(tiles, most), threads, bytes, native(stream)>>>(level, tiles);
  } else {
    GRIDSTRIDE_CUDA(cudaFuncSetAttribute(hybrid_kernel<task, T>, attribute, most_bytes));
    hybrid_kernel<task, T><<<tiles, threads, bytes, native(stream)>>>(level);
  }
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

template <class T>
void solve_all(Stream& stream, Arguments<T> const& work, bool ahead) {
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.named_size = level.places.size;
  level.named_rows = 1;
  level.ahead = ahead;
  solve_level(stream, level);
}

}  // namespace

template <class T>
void cuda_hybrid(Stream& stream, Arguments<T> const& work) {
  solve_all(stream, work, false);
}

template <class T>
void cuda_ahead(Stream& stream, Arguments<T> const& work) {
  solve_all(stream, work, true);
}

template void cuda_hybrid(Stream&, Arguments<float> const&);
template void cuda_hybrid(Stream&, Arguments<double> const&);
template void cuda_ahead(Stream&, Arguments<float> const&);
template void cuda_ahead(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

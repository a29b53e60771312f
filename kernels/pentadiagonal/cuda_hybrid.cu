// The rung `hybrid`: each number is read once, and for systems that no block holds once more
// (hybrid.cuh has the kernel, blocks.hpp the arithmetic; it is `hybrid` of family `tridiagonal` with
// pairs of unknowns for unknowns and blocks of 2 x 2 for numbers).
//
// Thread-to-data: a block has a tile of rows of one or several systems in shared memory, where bulk
// copies bring it, or, where systems lie side by side, asynchronous ones of 8 bytes. A thread goes
// down nine pairs of rows, and leaves in their place what each pair is related to, the next one and
// the one before its rows; the last pairs of all threads are a system again, for parallel cyclic
// reduction in the place of the coefficients e; then every thread goes up.
//
// Systems that no block holds are cut into tiles. A first pass leaves 24 numbers of each tile; the
// tiles' last pairs are a system again, for the same kernels; a second pass reads the tile again and
// finishes it, the last tiles first, of which the cache still has some.
//
// Bytes, of n unknowns: 7·n·sizeof(T) where a block holds a system; 13·n·sizeof(T) else. The roof is
// the copy bandwidth.

#include <algorithm>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/pentadiagonal/hybrid.cuh"
#include "kernels/pentadiagonal/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::pentadiagonal {

namespace {

using tridiagonal::Cut;

/// Side by side: 64 bytes of float64.
constexpr Cut cut{chunk_rows, 64, 0, 8}, cut_across{chunk_rows, 128, 0, 8};

template <class T>
TileLevel<T> in_tiles(TileLevel<T> const& given, Cut const& how, std::int64_t chunks) {
  auto level = tridiagonal::in_tiles(given, how, chunks);
  // Pairs have to be aligned. Side by side, what a warp writes lies in different banks.
  if (level.across) level.pitch = (level.pitch + 13) / 16 * 16 + 2;
  level.exchange = 4 * level.systems * level.pitch + 20 * (level.systems * level.chunks + 2);
  return level;
}

/// The level with its tiles chosen, by size and strides alone: a system's bits depend on them.
template <class T>
TileLevel<T> planned(Device const& device, TileLevel<T> level) {
  level.across = tridiagonal::lie_across(level.places);
  auto const& how = level.across ? cut_across : cut;
  auto result = in_tiles(level, how, most_threads);
  if (result.tiles > 1 || !fits(device, result, most_threads))
    result = in_tiles(level, how, level.across ? how.threads / how.least_systems : how.threads);
  while (!fits(device, result, most_threads) && result.chunks > 1)
    result = in_tiles(level, how, result.chunks / 2);
  bool const given = level.rows == nullptr;
  result.vectors = tiles_in_vectors(result, given);
  result.bulk = given && result.vectors && device.capabilities().bulk_copies;
  return result;
}

template <TileTask task, bool given, class T>
void launch_kernel(Stream& stream, TileLevel<T> const& level) {
  auto const bytes = shared_bytes(level);
  auto* const kernel = hybrid_kernel<task, given, T>;
  allow_shared_bytes(kernel, bytes);
  kernel<<<blocks_of(level), threads_of(level), bytes, native(stream)>>>(level);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "pentadiagonal hybrid");
}
template <TileTask task, class T>
void launch(Stream& stream, TileLevel<T> const& level) {
  if (level.rows == nullptr)
    launch_kernel<task, true>(stream, level);
  else
    launch_kernel<task, false>(stream, level);
}

template <class T>
void solve_tiles(Stream& stream, TileLevel<T> const& given) {
  auto level = planned(stream.device(), given);
  if (level.tiles == 1) return launch<TileTask::whole>(stream, level);
  std::int64_t const count = level.places.count, separators = count * level.tiles;
  Buffer<T> reduced(stream, MemorySpace::device,
                    static_cast<std::size_t>(reduced_numbers * separators));
  Buffer<T> known(stream, MemorySpace::device, static_cast<std::size_t>(2 * separators));
  level.reduced = reduced.data();
  level.separators = known.data();
  launch<TileTask::reduce>(stream, level);

  TileLevel<T> next{};
  next.work.solution = known.data();
  next.work.findings = level.work.findings;
  std::int64_t const rows = 2 * level.tiles;
  next.places = {rows, count, {count, 1}, 1, 1, {rows, 0, 0}, {rows, 0, 0}, false};
  next.rows = reduced.data();
  next.named_size = level.named_size;
  next.named_rows = level.named_rows * (level.tile_rows / 2);
  solve_tiles(stream, next);
  launch<TileTask::substitute>(stream, level);
}

}  // namespace

template <class T>
void cuda_hybrid(Stream& stream, Arguments<T> const& work) {
  TileLevel<T> level{};
  level.work = work;
  level.places = tridiagonal::places_of(work.shape);
  level.named_size = level.places.size;
  level.named_rows = 2;
  solve_tiles(stream, level);
}

template void cuda_hybrid(Stream&, Arguments<float> const&);
template void cuda_hybrid(Stream&, Arguments<double> const&);

}  // namespace gridstride::pentadiagonal

// The rung `hybrid` of the ladder in cuda.cu: each number is read once, and for systems that no block
// holds once more (relation.hpp has the arithmetic, hybrid.cuh the kernel; after L. Chang et al.,
// "A scalable, numerically stable, high-performance tridiagonal solver using GPUs", SC 2012, and
// E. László, M. Giles and J. Appleyard, "Manycore algorithms for batch scalar and block tridiagonal
// solvers", ACM TOMS 42, 2016, with one unknown of a chunk instead of two in the reduced system).
//
// Thread-to-data: a block has a tile of rows of one or several systems. Where rows lie next to each
// other, one thread asks for all of a system's rows in shared memory by a few bulk copies (TMA), or,
// on older GPUs and for unaligned rows, all threads by asynchronous ones of neighbouring addresses.
// Where systems lie side by side, each thread loads its rows straight into registers, neighbouring
// threads those of neighbouring systems. A thread eliminates all rows of its chunk but one, down and
// up; what is left is a row for each thread, solved by parallel cyclic reduction in the shared
// memory that is free by then. Then all unknowns follow from two.
//
// Systems that no block holds are cut into tiles. A first pass leaves seven numbers of each tile; the
// tiles' last unknowns are a system again, solved by the same means; a second pass reads the tile
// again and finishes it, the last tiles first, of which the cache still has some. A periodic system
// is one whose first tile comes after its last.
//
// Bytes, of n unknowns: 5·n·sizeof(T) where a block holds a system; 9·n·sizeof(T) else. The roof is
// the copy bandwidth; what kept rows waiting before was the number of instructions, of which most
// were for copies and for cyclic reduction.

#include <algorithm>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/tridiagonal/hybrid.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// An odd number of rows, so that those that the threads of a warp read from shared memory at the
/// same time lie in different banks; and, for systems side by side, as many as registers hold.
using Lines = Form<9, 640, 1, false>;
using Columns = Form<8, 512, 1, true>;
constexpr Cut cut{Lines::rows, 128, 9, 8}, cut_across{Lines::rows, 256, 9, 8};

template <class T>
struct Plan {
  Level<T> level;
  bool columns;  ///< `Columns`, not `Lines`
};

template <class T>
bool is_whole(Device const& device, Level<T> const& level, int most_threads) {
  return level.tiles == 1 && fits(device, level, most_threads);
}

/// Systems side by side: in registers, 128 bytes of neighbours or 64; else in shared memory; else in
/// tiles of registers.
template <class T>
Plan<T> planned_across(Device const& device, Level<T> const& level) {
  constexpr int wide = 128 / static_cast<int>(sizeof(T));
  auto const columns = [&](int systems, std::int64_t chunks) {
    auto result = in_tiles(level, Cut{Columns::rows, 256, 9, systems}, chunks);
    result.pitch = 0;
    return result;
  };
  for (int const systems : {wide, wide / 2}) {
    auto const whole = columns(systems, Columns::most_threads);
    if (is_whole(device, whole, Columns::most_threads)) return {whole, true};
  }
  auto const lines = in_tiles(level, cut_across, Lines::most_threads);
  if (is_whole(device, lines, Lines::most_threads)) return {lines, false};
  return {columns(wide, Columns::most_threads / wide), true};
}

/// The level with its tiles chosen, by size and strides alone: a system's bits depend on them.
template <class T>
Plan<T> planned(Device const& device, Level<T> level) {
  level.across = lie_across(level.places);
  if (level.across) return planned_across(device, level);
  auto result = in_tiles(level, cut, Lines::most_threads);
  for (std::int64_t chunks = cut.threads; !is_whole(device, result, Lines::most_threads) &&
                                          !(result.tiles > 1 && fits(device, result, cut.threads));
       chunks /= 2)
    result = in_tiles(level, cut, chunks);
  bool const given = level.rows == nullptr;
  result.vectors = tiles_in_vectors(result, given);
  result.bulk = given && result.vectors && device.capabilities().bulk_copies;
  return {result, false};
}

template <Task task, class Form, class T>
void launch_form(Stream& stream, Level<T> const& level) {
  auto const bytes = shared_bytes(level);
  auto* const kernel = hybrid_kernel<task, Form, T>;
  allow_shared_bytes(kernel, bytes);
  kernel<<<blocks_of(level), threads_of(level), bytes, native(stream)>>>(level);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal hybrid");
}
template <Task task, class T>
void launch(Stream& stream, Plan<T> const& plan) {
  if (plan.columns)
    launch_form<task, Columns>(stream, plan.level);
  else
    launch_form<task, Lines>(stream, plan.level);
}

template <class T>
void solve_level(Stream& stream, Level<T> const& given) {
  auto plan = planned(stream.device(), given);
  auto& level = plan.level;
  if (level.tiles == 1) return launch<Task::whole>(stream, plan);
  std::int64_t const count = level.places.count, separators = count * level.tiles;
  Buffer<T> reduced(stream, MemorySpace::device,
                    static_cast<std::size_t>(reduced_arrays * separators));
  Buffer<T> known(stream, MemorySpace::device, static_cast<std::size_t>(separators));
  level.reduced = reduced.data();
  level.separators = known.data();
  launch<Task::reduce>(stream, plan);

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
  launch<Task::substitute>(stream, plan);
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

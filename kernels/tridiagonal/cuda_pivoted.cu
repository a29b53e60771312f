// The rung `pivoted` of the ladder in cuda.cu: any system that is not singular, by exchanges of rows,
// and yet the work is shared out (equations.hpp has the arithmetic).
//
// Thread-to-data: a thread has 32 rows in shared memory and goes through them once. It carries two
// equations along, takes the largest of three elements as the next pivot, each compared with the
// size of its row, and comes to what its rows say about the unknowns at both ends: a piece, ten
// numbers in global memory. Eight pieces of a level become one of the next, until one is left for
// each system, which gives its ends; then the way back. At last a thread goes through its rows once
// more, now with what is before them known, and finds all unknowns from behind.
//
// Bytes, of n unknowns: 9·n·sizeof(T), and a tenth more for the pieces. The roof is the copy bandwidth.

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/tridiagonal/pivoted.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

constexpr Cut cut{pivoted_chunk_rows, pivoted_gap_shift, 32, 0, 8};

template <PivotedTask task, class T>
void launch(Stream& stream, Level<T> const& level, Pieces<T> const& pieces) {
  auto const bytes = shared_bytes(level);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(pivoted_kernel<task, T>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)));
  pivoted_kernel<task, T>
      <<<blocks_of(level), threads_of(level), bytes, native(stream)>>>(level, pieces);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal pivoted");
}

/// Pieces and their memory.
template <class T>
struct PiecesMemory {
  Buffer<T> values;
  Pieces<T> pieces;

  PiecesMemory(Stream& stream, std::int64_t size, std::int64_t count, std::int64_t rows)
      : values(stream, MemorySpace::device, static_cast<std::size_t>(12 * size * count)),
        pieces{values.data(),
               values.data() + 10 * size * count,
               values.data() + 11 * size * count,
               size,
               size * count,
               rows} {}
};

/// Finds the ends of all pieces.
template <class T>
void solve_pieces(Stream& stream, Pieces<T> const& pieces, Names const& names, bool periodic) {
  std::int64_t const count = pieces.all / pieces.size;
  std::int64_t const groups = (pieces.size + joined_pieces - 1) / joined_pieces;
  PiecesMemory<T> const joint(stream, groups, count, pieces.rows * joined_pieces);
  unsigned const blocks = blocks_for(groups * count, join_threads);
  join_kernel<T>
      <<<blocks, join_threads, 0, native(stream)>>>(pieces, joint.pieces, names, periodic);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal join");
  if (groups > 1) solve_pieces(stream, joint.pieces, names, periodic);
  part_kernel<T>
      <<<blocks, join_threads, 0, native(stream)>>>(pieces, joint.pieces, names, periodic);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal part");
}

}  // namespace

template <class T>
void cuda_pivoted(Stream& stream, Arguments<T> const& work) {
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.across = lie_across(level.places);
  level = in_tiles(level, cut, level.across ? cut.threads / cut.least_systems : cut.threads);
  std::int64_t const size = level.places.size;
  PiecesMemory<T> const chunks(stream, (size + pivoted_chunk_rows - 1) / pivoted_chunk_rows,
                               level.places.count, pivoted_chunk_rows);
  launch<PivotedTask::reduce>(stream, level, chunks.pieces);
  solve_pieces(stream, chunks.pieces, {work.findings, size}, level.places.periodic);
  launch<PivotedTask::substitute>(stream, level, chunks.pieces);
}

template void cuda_pivoted(Stream&, Arguments<float> const&);
template void cuda_pivoted(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

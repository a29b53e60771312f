// The rung `pivoted` of the ladder in cuda.cu: any system that is not singular, by exchanges of rows,
// and yet the work is shared out (equations.hpp has the arithmetic).
//
// Thread-to-data: a piece is 34 rows, for two threads, in shared memory. On the way there a thread
// goes through its half once. It carries two equations along, takes the largest of three elements as
// the next pivot, each compared with the size of its row, and comes to what its rows say about the
// unknowns at both ends; the first thread joins the halves: a piece, ten numbers in global memory.
// A thread puts eight pieces together and a block of 128 threads 1024, by a tree, until one is left
// for each system, which gives its ends; then the way back. At last, with the unknowns at both ends
// known, one thread eliminates down from the first and the other up from the last; in the middle
// they have four equations of two unknowns, and each goes back where it came from. Where rows are
// judged, they come once more from the cache while the solution is still on the chip.
//
// Bytes, of n unknowns: 9·n·sizeof(T), and a tenth more for the pieces. The roof is the copy
// bandwidth.

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/tridiagonal/pivoted.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// 544 rows of a warp; side by side 64 bytes of float64.
constexpr Cut cut{piece_rows, warp_size / 2, 0, 8};

template <PivotedTask task, class T>
void launch(Stream& stream, Level<T> const& level, Pieces<T> const& pieces) {
  auto const bytes = shared_bytes(level);
  allow_shared_bytes(pivoted_kernel<task, T>, bytes);
  pivoted_kernel<task, T><<<blocks_of(level), warp_size, bytes, native(stream)>>>(level, pieces);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal pivoted");
}

/// Pieces and their memory.
template <class T>
struct PiecesMemory {
  Buffer<StoredPiece<T>> stored;
  Buffer<T> ends;
  Pieces<T> pieces;

  PiecesMemory(Stream& stream, std::int64_t size, std::int64_t count, std::int64_t rows)
      : stored(stream, MemorySpace::device, static_cast<std::size_t>(size * count)),
        ends(stream, MemorySpace::device, static_cast<std::size_t>(2 * size * count)),
        pieces{stored.data(), ends.data(), ends.data() + size * count, size, size * count, rows} {}
};

template <TreeTask task, class T>
void launch(Stream& stream, Pieces<T> const& pieces, Pieces<T> const& joint, Names const& names,
            int span, bool periodic) {
  tree_kernel<task, T>
      <<<blocks_for(joint.all * span, tree_threads), tree_threads, 0, native(stream)>>>(
          pieces, joint, names, span, periodic);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal tree");
}

/// Finds the ends of all pieces.
template <class T>
void solve_pieces(Stream& stream, Pieces<T> const& pieces, Names const& names, bool periodic) {
  int span = 1;
  while (span < tree_threads && span * joined_pieces < pieces.size) span *= 2;
  std::int64_t const of_tree = std::int64_t{span} * joined_pieces;
  std::int64_t const trees = (pieces.size + of_tree - 1) / of_tree;
  std::int64_t const count = pieces.all / pieces.size;
  if (trees == 1)
    return launch<TreeTask::whole>(stream, pieces, {nullptr, nullptr, nullptr, 1, count, 0}, names,
                                   span, periodic);
  PiecesMemory<T> const joint(stream, trees, count, pieces.rows * of_tree);
  launch<TreeTask::join>(stream, pieces, joint.pieces, names, span, periodic);
  solve_pieces(stream, joint.pieces, names, periodic);
  launch<TreeTask::part>(stream, pieces, joint.pieces, names, span, periodic);
}

}  // namespace

template <class T>
void cuda_pivoted(Stream& stream, Arguments<T> const& work) {
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.across = lie_across(level.places);
  level = in_tiles(level, cut, level.across ? cut.threads / cut.least_systems : cut.threads);
  level.vectors = tiles_in_vectors(level, true);
  level.bulk = level.vectors && stream.device().capabilities().bulk_copies;
  std::int64_t const size = level.places.size;
  PiecesMemory<T> const chunks(stream, (size + piece_rows - 1) / piece_rows, level.places.count,
                               piece_rows);
  launch<PivotedTask::reduce>(stream, level, chunks.pieces);
  solve_pieces(stream, chunks.pieces, {work.findings, size}, level.places.periodic);
  launch<PivotedTask::substitute>(stream, level, chunks.pieces);
}

template void cuda_pivoted(Stream&, Arguments<float> const&);
template void cuda_pivoted(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

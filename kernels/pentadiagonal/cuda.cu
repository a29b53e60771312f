// Pentadiagonal systems on a GPU.
//
// pieces: a thread eliminates sixteen rows by pairs (pieces.hpp), keeping seven pairs and blocks in
//   registers, and leaves what they say of its last pair and its first one; the last pairs of all
//   threads are a block tridiagonal system again, an eighth as long, solved by the same kernels; a
//   second pass reads the rows again, now with the pairs at both ends known. Neighbouring threads
//   have neighbouring systems where these lie side by side, else neighbouring pieces, whose rows
//   they read from the same lines of the cache.
//
// Bytes, of n unknowns: 6·n read twice and n written, and 24 numbers of each sixteen rows written and
// read: 16·n·sizeof(T) and, for all levels behind the first, a third more. The roof is the copy
// bandwidth.

#include <algorithm>
#include <cstdint>

#include "kernels/pentadiagonal/pieces.hpp"
#include "kernels/pentadiagonal/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::pentadiagonal {

namespace {

constexpr int piece_pairs = 8, piece_threads = 64, measure_threads = 256;

template <Task task, class T>
__global__ void __launch_bounds__(piece_threads)
    pieces_kernel(__grid_constant__ Level<T> const level) {
  std::int64_t const index = std::int64_t{blockIdx.x} * piece_threads + threadIdx.x;
  std::int64_t const pieces = level.pieces(), count = level.places.count;
  if (index >= pieces * count) return;
  std::int64_t const number = level.across ? index % count : index / pieces;
  std::int64_t const piece = level.across ? index / count : index % pieces;
  if (task == Task::reduce) return reduce_piece(level, number, piece);
  Step<T> steps[piece_pairs - 1];
  solve_piece<piece_pairs - 1>(level, number, piece, steps);
}

template <Task task, class T>
void launch(Stream& stream, Level<T> const& level) {
  pieces_kernel<task, T><<<blocks_for(level.pieces() * level.places.count, piece_threads),
                           piece_threads, 0, native(stream)>>>(level);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "pentadiagonal pieces");
}

/// If rows are to be judged at all, a block for one window after the other: first for the largest
/// unknown, then for the rows.
template <class T>
__global__ void __launch_bounds__(measure_threads)
    judge_kernel(Arguments<T> const work, tridiagonal::Places const places) {
  __shared__ double shared[measure_threads / warp_size];
  __shared__ T shared_largest[measure_threads / warp_size];
  if (work.findings->measured == 0) return;
  auto const larger = [](auto a, auto b) { return b > a ? b : a; };
  std::int64_t const size = places.size, rows = tridiagonal::window_rows;
  std::int64_t const windows = (size + rows - 1) / rows;
  double error = 0;
  for (std::int64_t at = blockIdx.x; at < windows * places.count; at += gridDim.x) {
    std::int64_t const number = at / windows, first = at % windows * rows;
    std::int64_t const last = first + rows < size ? first + rows : size;
    std::int64_t const coefficients = places.coefficients(number), values = places.values(number);
    T largest = 0;
    for (std::int64_t i = first + threadIdx.x; i < last; i += measure_threads)
      largest = larger(largest, fabs(work.solution[values + i * places.value_stride]));
    largest = block_reduce<measure_threads>(largest, larger, shared_largest);
    for (std::int64_t i = first + threadIdx.x; i < last; i += measure_threads)
      error = larger(error, backward_error(work, places, coefficients, values, i, largest));
  }
  if (work.right == work.solution) error = __builtin_huge_val();
  error = block_reduce<measure_threads>(error, larger, shared);
  if (threadIdx.x == 0)
    tridiagonal::raise(work.findings->backward_error,
                       static_cast<std::uint64_t>(__double_as_longlong(error)));
}

}  // namespace

template <class T>
void cuda_pieces(Stream& stream, Arguments<T> const& work) {
  solve_level(stream, level_of(work, piece_pairs), [&](Task task, Level<T> const& level) {
    if (task == Task::reduce)
      launch<Task::reduce>(stream, level);
    else
      launch<Task::substitute>(stream, level);
  });
}

template <class T>
void cuda_measure(Stream& stream, Arguments<T> const& work) {
  auto const places = tridiagonal::places_of(work.shape);
  unsigned const most = 8 * static_cast<unsigned>(stream.device().processors());
  unsigned const wanted = blocks_for(places.size * places.count, measure_threads);
  judge_kernel<<<std::min(most, wanted), measure_threads, 0, native(stream)>>>(work, places);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "pentadiagonal judge");
}

#define GRIDSTRIDE_INSTANTIATE(T)                          \
  template void cuda_pieces(Stream&, Arguments<T> const&); \
  template void cuda_measure(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::pentadiagonal

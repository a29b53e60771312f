// The rung `pivoted` of the ladder in cuda.cu: rows are exchanged wherever the next one has the larger
// element, compared with its own size (scaled partial pivoting), and yet the work is shared out
// (after C. Klein and R. Strzodka, "Tridiagonal GPU solver with scaled partial pivoting at maximum
// bandwidth", ICPP 2021).
//
// Thread-to-data: a thread has 32 rows in shared memory. It walks through them down and up at once,
// carries a row along in each direction, and comes to the rows of its last and its first unknown
// without those between. These, two of each thread, are a system again, a sixteenth as long, in
// global memory. Once they are known, the thread eliminates all between once more, now in the place
// of the rows, and finds them on the way back. Systems of at most 32 unknowns a thread solves by
// itself.
//
// Not every choice of rows is open to a thread: it cannot take one of another's. Where the rows
// between its first and its last one are singular by themselves, it may meet a zero pivot although
// the system is not singular, and says so. A diagonal of zeros is met in an even number of rows,
// which is not singular.
//
// Bytes, of n unknowns: 9·n·sizeof(T), and a tenth more for the systems of ends. The roof is the copy
// bandwidth.

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/tridiagonal/pivoted.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

constexpr Cut cut{pivoted_chunk_rows, pivoted_gap_shift, 32, 0, 8};

template <PivotedTask task, class T>
void launch(Stream& stream, Level<T> const& level, Ancestors const& ancestors) {
  auto const bytes = shared_bytes(level);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(pivoted_kernel<task, T>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)));
  pivoted_kernel<task, T>
      <<<blocks_of(level), threads_of(level), bytes, native(stream)>>>(level, ancestors);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal pivoted");
}

template <class T>
void solve_level(Stream& stream, Level<T> level, Ancestors ancestors) {
  level.across = lie_across(level.places);
  level = in_tiles(level, cut, level.across ? cut.threads / cut.least_systems : cut.threads);
  std::int64_t const size = level.places.size, count = level.places.count;
  if (size <= pivoted_chunk_rows) return launch<PivotedTask::whole>(stream, level, ancestors);
  std::int64_t const reduced = reduced_size(size), all = reduced * count;
  Buffer<T> rows(stream, MemorySpace::device, static_cast<std::size_t>(4 * all));
  Buffer<T> known(stream, MemorySpace::device, static_cast<std::size_t>(all));
  level.reduced = rows.data();
  level.separators = known.data();
  launch<PivotedTask::reduce>(stream, level, ancestors);

  T const* const ends = rows.data();
  Level<T> next{};
  next.work = {
      {}, ends, ends + all, ends + 2 * all, ends + 3 * all, known.data(), level.work.findings};
  next.places = {reduced, count, {count, 1}, 1, 1, {reduced, 0, 0}, {reduced, 0, 0}, false};
  next.named_size = level.named_size;
  Ancestors more = ancestors;
  more.sizes[more.count++] = size;
  solve_level(stream, next, more);
  launch<PivotedTask::substitute>(stream, level, ancestors);
}

}  // namespace

template <class T>
void cuda_pivoted(Stream& stream, Arguments<T> const& work) {
  require_open("pivoted", work.shape);
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.named_size = level.places.size;
  solve_level(stream, level, {});
}

template void cuda_pivoted(Stream&, Arguments<float> const&);
template void cuda_pivoted(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

// Element-by-element work on the GPU, as a ladder. There is next to no arithmetic, so the roof is
// the bandwidth of memory. Bytes moved, with s = sizeof(T), in every rung: 3·s per element for
// `add`, `axpy` and `matrix_add`, 2·s for `scale`, s for `fill`, 7·s for `dot3`. What separates the
// rungs is how many instructions a byte costs, and how many bytes each thread has under way.
//
//   naive        One thread per element, blocks of 256; `matrix_add` in blocks of 16 x 16 threads,
//                x along the columns. Neighbouring threads touch neighbouring elements, so a warp's
//                load is a few whole lines of 128 bytes. A thread has one load per array under way.
//                `dot3` reads structs of three: three loads with gaps between a warp's threads,
//                which only L1 puts together again.
//   grid_stride  The same accesses from a grid that just fills the GPU; a thread goes on by the
//                size of the grid. Blocks are started once and indices computed once, but each
//                round waits for the one before.
//   vectorized   A thread owns four vectors of 16 bytes, a block's width apart, and loads all of
//                them from every array before it uses the first: 128 bytes under way per thread for
//                two inputs, a quarter of the instructions. Nothing is used twice, so loads and
//                stores tell the caches not to keep it. In a file of its own: cuda_vectorized.cu.
//
// `dot3` of `vectorized` is the naive one: L1 leaves nothing to gain, and vectors that were staged
// in shared memory lost 5 % on an H200.
//
// `gather` is one kernel for all of them: one thread per element. Its reads go wherever the indices
// say, 32 bytes each at worst, and no arrangement of the threads changes that: 8 bytes of index, s
// written, and from s to 32 read per element. So are `component` and `magnitude` of vectors, whose
// components lie side by side: a warp reads whole lines, of which L1 keeps what its threads take one
// after another; n·s read and s written per vector.

#include <algorithm>

#include "kernels/elementwise/bodies.cuh"
#include "kernels/elementwise/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/length.hpp"

namespace gridstride::elementwise {

namespace {

constexpr int block_threads = 256;

__device__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// ---------------------------------------------------------------------------------------- naive

template <class Body, class T>
__global__ void naive_kernel(Body const body, T const* x, T const* y, T* output,
                             std::int64_t size) {
  std::int64_t const i = thread_index();
  if (i < size) output[i] = value_at(body, x, y, i);
}

constexpr int matrix_block = 16;

/// The grid has at most 65,535 blocks along y, so that a tall matrix is taken in several rounds.
template <class T>
__global__ void naive_matrix_kernel(__grid_constant__ Matrices<T> const m) {
  std::int64_t const column = thread_index();
  if (column >= m.columns) return;
  std::int64_t const step = static_cast<std::int64_t>(gridDim.y) * matrix_block;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * matrix_block + threadIdx.y;
       row < m.rows; row += step)
    m.add_at(row, column);
}

template <class T>
__global__ void naive_dot3_kernel(T const* a, T const* b, T* c, std::int64_t size) {
  std::int64_t const i = thread_index();
  if (i < size) c[i] = dot3_at(a, b, i);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = blocks_for(a.size, block_threads);
  if (gathers(a.operation)) return cuda_gather(stream, a);
  if (a.operation == Operation::matrix_add) {
    dim3 const grid(blocks_for(a.columns, matrix_block),
                    std::min(blocks_for(a.rows, matrix_block), 65535u));
    naive_matrix_kernel<<<grid, dim3(matrix_block, matrix_block), 0, native(stream)>>>(
        Matrices<T>(a));
  } else if (a.operation == Operation::dot3) {
    naive_dot3_kernel<<<blocks, block_threads, 0, native(stream)>>>(a.x, a.y, a.output, a.size);
  } else {
    with_body(a, [&](auto const& body) {
      naive_kernel<<<blocks, block_threads, 0, native(stream)>>>(body, a.x, a.y, a.output, a.size);
    });
  }
  GRIDSTRIDE_CHECK_LAUNCH(stream, "elementwise naive");
}

// ----------------------------------------------------------------------------------- grid_stride

namespace {

/// Blocks of 256 threads that a multiprocessor holds at once.
constexpr unsigned blocks_per_processor = 8;

template <class Body, class T>
__global__ void __launch_bounds__(block_threads)
    grid_stride_kernel(Body const body, T const* x, T const* y, T* output, std::int64_t size) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = thread_index(); i < size; i += step) output[i] = value_at(body, x, y, i);
}

/// Threads of a block along the columns; the others of its 256 hold further rows.
constexpr int matrix_columns = 32, matrix_rows = block_threads / matrix_columns;

/// Strides in both directions, so that no thread has to divide.
template <class T>
__global__ void __launch_bounds__(block_threads)
    grid_stride_matrix_kernel(__grid_constant__ Matrices<T> const m) {
  std::int64_t const row_step = static_cast<std::int64_t>(gridDim.y) * matrix_rows;
  std::int64_t const column_step = static_cast<std::int64_t>(gridDim.x) * matrix_columns;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * matrix_rows + threadIdx.y;
       row < m.rows; row += row_step)
    for (std::int64_t column = thread_index(); column < m.columns; column += column_step)
      m.add_at(row, column);
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    grid_stride_dot3_kernel(T const* a, T const* b, T* c, std::int64_t size) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = thread_index(); i < size; i += step) c[i] = dot3_at(a, b, i);
}

}  // namespace

template <class T>
void cuda_grid_stride(Stream& stream, Arguments<T> const& a) {
  unsigned const most = blocks_per_processor * static_cast<unsigned>(stream.device().processors());
  unsigned const blocks = std::min(blocks_for(a.size, block_threads), most);
  if (gathers(a.operation)) return cuda_gather(stream, a);
  if (a.operation == Operation::matrix_add) {
    unsigned const across = std::min(blocks_for(a.columns, matrix_columns), most);
    dim3 const grid(across, std::min(blocks_for(a.rows, matrix_rows), std::max(1u, most / across)));
    grid_stride_matrix_kernel<<<grid, dim3(matrix_columns, matrix_rows), 0, native(stream)>>>(
        Matrices<T>(a));
  } else if (a.operation == Operation::dot3) {
    grid_stride_dot3_kernel<<<blocks, block_threads, 0, native(stream)>>>(a.x, a.y, a.output,
                                                                          a.size);
  } else {
    with_body(a, [&](auto const& body) {
      grid_stride_kernel<<<blocks, block_threads, 0, native(stream)>>>(body, a.x, a.y, a.output,
                                                                       a.size);
    });
  }
  GRIDSTRIDE_CHECK_LAUNCH(stream, "elementwise grid_stride");
}

// ---------------------------------------------------------------------------------------- gather

namespace {

template <class T>
__global__ void gather_kernel(T const* x, std::int64_t const* index, T* output, std::int64_t size) {
  std::int64_t const i = thread_index();
  if (i < size) output[i] = x[index[i]];
}

template <class T>
__global__ void component_kernel(T const* x, std::int64_t components, T* output,
                                 std::int64_t size) {
  std::int64_t const i = thread_index();
  if (i < size) output[i] = x[i * components];
}

template <class T>
__global__ void magnitude_kernel(T const* x, std::int64_t components, T* output,
                                 std::int64_t size) {
  std::int64_t const i = thread_index();
  T const* const vector = x + i * components;
  if (i < size) output[i] = length_of<T>([=](std::int64_t k) { return vector[k]; }, components);
}

}  // namespace

template <class T>
void cuda_gather(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = blocks_for(a.size, block_threads);
  if (a.operation == Operation::component)
    component_kernel<<<blocks, block_threads, 0, native(stream)>>>(a.x, a.strides[0], a.output,
                                                                   a.size);
  else if (a.operation == Operation::magnitude)
    magnitude_kernel<<<blocks, block_threads, 0, native(stream)>>>(a.x, a.strides[0], a.output,
                                                                   a.size);
  else
    gather_kernel<<<blocks, block_threads, 0, native(stream)>>>(a.x, a.index, a.output, a.size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "elementwise gather");
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template void cuda_naive(Stream&, Arguments<T> const&);       \
  template void cuda_grid_stride(Stream&, Arguments<T> const&); \
  template void cuda_gather(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::elementwise

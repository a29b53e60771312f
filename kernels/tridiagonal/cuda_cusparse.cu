// The rows `cusparse` and `cusparse_pivoted`: cuSPARSE, to compare with. It solves in the place of
// the right-hand sides, wants zeros beyond the ends of a system, and destroys the coefficients of
// systems that lie side by side: so it works on copies, 6·n·sizeof(T) and more bytes beside its own.
// It says nothing of pivots and rows.

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/buffer.hpp"
#include "kernels/support/cusparse.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/tridiagonal/relation.hpp"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// Calls a function of the library for float or double.
#define GRIDSTRIDE_CUSPARSE(T, name, ...)                     \
  do {                                                        \
    if constexpr (std::is_same_v<T, double>)                  \
      GRIDSTRIDE_CUSPARSE_CALL(cusparseD##name, __VA_ARGS__); \
    else                                                      \
      GRIDSTRIDE_CUSPARSE_CALL(cusparseS##name, __VA_ARGS__); \
  } while (false)

/// Neither gaps nor shared coefficients, and sizes that an int counts.
enum class Lies { one_after_the_other, side_by_side };

Lies lie_of(std::string_view variant, Shape const& shape) {
  auto const refuse = [&](char const* why) -> Lies {
    throw std::invalid_argument("tridiagonal: '" + std::string(variant) + "' takes " + why);
  };
  require_open(variant, shape);
  if (shape.size < 3 || shape.size * shape.count() > std::numeric_limits<int>::max())
    return refuse("3 to 2^31 unknowns");
  if (shape.systems[1] * shape.systems[2] != 1) return refuse("systems along one axis only");
  auto const like = [&](Shape const& plain) {
    for (auto const* strides : {&shape.coefficients, &shape.values})
      if (strides->element != plain.values.element ||
          (shape.count() > 1 && strides->of[0] != plain.values.of[0]))
        return false;
    return true;
  };
  if (like(contiguous(shape.size, shape.count()))) return Lies::one_after_the_other;
  if (like(interleaved(shape.size, shape.count()))) return Lies::side_by_side;
  return refuse("systems without gaps, each with its own coefficients");
}

template <class T>
__global__ void zero_ends_kernel(T* lower, T* upper, std::int64_t size, std::int64_t count,
                                 std::int64_t element, std::int64_t system) {
  std::int64_t const s = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (s >= count) return;
  lower[s * system] = 0;
  upper[s * system + (size - 1) * element] = 0;
}

template <class T>
Buffer<T> copy_of(Stream& stream, T const* source, std::size_t size) {
  Buffer<T> copy(stream, MemorySpace::device, size);
  copy_async(copy.span(), std::span(source, size), stream);
  return copy;
}

/// Calls `measure(bytes*)`, then `work(memory)`.
template <class Measure, class Work>
void with_memory(Stream& stream, Measure const& measure, Work const& work) {
  std::size_t bytes = 0;
  measure(&bytes);
  Buffer<std::byte> memory(stream, MemorySpace::device, bytes);
  work(memory.data());
}

/// Copies of a, b and c, with zeros beyond the ends, and of d in the place of x.
template <class T>
struct Copies {
  Buffer<T> lower, diagonal, upper;

  Copies(Stream& stream, Arguments<T> const& w, bool with_diagonal) {
    auto const& shape = w.shape;
    auto const all = static_cast<std::size_t>(shape.size * shape.count());
    lower = copy_of(stream, w.lower, all);
    upper = copy_of(stream, w.upper, all);
    if (with_diagonal) diagonal = copy_of(stream, w.diagonal, all);
    if (w.right != w.solution)
      copy_async(std::span(w.solution, all), std::span(w.right, all), stream);
    zero_ends_kernel<<<blocks_for(shape.count(), 256), 256, 0, native(stream)>>>(
        lower.data(), upper.data(), shape.size, shape.count(), shape.values.element,
        shape.values.of[0]);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "zero_ends_kernel");
  }
};

template <class T, bool pivoted>
void solve_one(Stream& stream, Arguments<T> const& w) {
  Copies<T> const copies(stream, w, false);
  auto const handle = cusparse_handle(stream);
  int const m = static_cast<int>(w.shape.size), columns = 1;
  T const *const lower = copies.lower.data(), *const upper = copies.upper.data();
  T const* const diagonal = w.diagonal;
  T* const x = w.solution;
  with_memory(
      stream,
      [&](std::size_t* bytes) {
        T const* const source = x;
        if constexpr (pivoted)
          GRIDSTRIDE_CUSPARSE(T, gtsv2_bufferSizeExt, handle, m, columns, lower, diagonal, upper,
                              source, m, bytes);
        else
          GRIDSTRIDE_CUSPARSE(T, gtsv2_nopivot_bufferSizeExt, handle, m, columns, lower, diagonal,
                              upper, source, m, bytes);
      },
      [&](std::byte* bytes) {
        void* const memory = bytes;
        if constexpr (pivoted)
          GRIDSTRIDE_CUSPARSE(T, gtsv2, handle, m, columns, lower, diagonal, upper, x, m, memory);
        else
          GRIDSTRIDE_CUSPARSE(T, gtsv2_nopivot, handle, m, columns, lower, diagonal, upper, x, m,
                              memory);
      });
}

template <class T>
void solve_batch(Stream& stream, Arguments<T> const& w) {
  Copies<T> const copies(stream, w, false);
  auto const handle = cusparse_handle(stream);
  int const m = static_cast<int>(w.shape.size), count = static_cast<int>(w.shape.count());
  T const *const lower = copies.lower.data(), *const upper = copies.upper.data();
  T const* const diagonal = w.diagonal;
  T* const x = w.solution;
  with_memory(
      stream,
      [&](std::size_t* bytes) {
        T const* const source = x;
        GRIDSTRIDE_CUSPARSE(T, gtsv2StridedBatch_bufferSizeExt, handle, m, lower, diagonal, upper,
                            source, count, m, bytes);
      },
      [&](std::byte* bytes) {
        void* const memory = bytes;
        GRIDSTRIDE_CUSPARSE(T, gtsv2StridedBatch, handle, m, lower, diagonal, upper, x, count, m,
                            memory);
      });
}

/// `algorithm` 0 is Thomas's, 1 LU with exchanges of rows, which takes four rows at a time and writes
/// a fourth one behind systems of three (compute-sanitizer, cuSPARSE of CUDA 13.0).
template <class T>
void solve_side_by_side(Stream& stream, Arguments<T> const& w, int algorithm) {
  if (algorithm == 1 && w.shape.size < 4)
    throw std::invalid_argument(
        "tridiagonal: 'cusparse_pivoted' takes 4 or more unknowns of systems side by side");
  Copies<T> copies(stream, w, true);
  auto const handle = cusparse_handle(stream);
  int const m = static_cast<int>(w.shape.size), count = static_cast<int>(w.shape.count());
  T *const lower = copies.lower.data(), *const diagonal = copies.diagonal.data(),
           *const upper = copies.upper.data(), *const x = w.solution;
  with_memory(
      stream,
      [&](std::size_t* bytes) {
        GRIDSTRIDE_CUSPARSE(T, gtsvInterleavedBatch_bufferSizeExt, handle, algorithm, m, lower,
                            diagonal, upper, x, count, bytes);
      },
      [&](std::byte* bytes) {
        void* const memory = bytes;
        GRIDSTRIDE_CUSPARSE(T, gtsvInterleavedBatch, handle, algorithm, m, lower, diagonal, upper,
                            x, count, memory);
      });
}

}  // namespace

template <class T>
void cuda_cusparse(Stream& stream, Arguments<T> const& w) {
  auto const lie = lie_of("cusparse", w.shape);
  if (w.shape.count() == 1) return solve_one<T, false>(stream, w);
  if (lie == Lies::side_by_side) return solve_side_by_side(stream, w, 0);
  solve_batch(stream, w);
}

template <class T>
void cuda_cusparse_pivoted(Stream& stream, Arguments<T> const& w) {
  auto const lie = lie_of("cusparse_pivoted", w.shape);
  if (w.shape.count() == 1) return solve_one<T, true>(stream, w);
  if (lie == Lies::side_by_side) return solve_side_by_side(stream, w, 1);
  throw std::invalid_argument(
      "tridiagonal: 'cusparse_pivoted' takes one system, or systems side by side");
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template void cuda_cusparse(Stream&, Arguments<T> const&); \
  template void cuda_cusparse_pivoted(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::tridiagonal

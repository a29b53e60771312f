// Element-by-element work on the host.
//
// `reference` is the formulas of elementwise.hpp, one element after the other: the oracle.
// `threads` cuts the work into contiguous pieces of 16,384 elements (matrices: of one row), shares
// them among the threads, and runs each piece through a loop without branches that the compiler
// vectorises. Work of a single piece stays on the calling thread.

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/rows.hpp"
#include "kernels/support/length.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::elementwise {

namespace {

template <class T>
T length_at(T const* vector, std::int64_t components) {
  return length_of<T>([=](std::int64_t k) { return vector[k]; }, components);
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  auto const [x_stride, y_stride, stride] = a.strides;
  for (std::int64_t i = 0; i < a.size; ++i) switch (a.operation) {
      case Operation::add:
        a.output[i] = a.x[i] + a.y[i];
        break;
      case Operation::axpy:
        a.output[i] = a.scalar * a.x[i] + a.y[i];
        break;
      case Operation::scale:
        a.output[i] = a.scalar * a.x[i];
        break;
      case Operation::fill:
        a.output[i] = a.scalar;
        break;
      case Operation::matrix_add: {
        std::int64_t const row = i / a.columns, column = i % a.columns;
        a.output[row * stride + column] =
            a.x[row * x_stride + column] + a.y[row * y_stride + column];
        break;
      }
      case Operation::dot3:
        a.output[i] = a.x[3 * i] * a.y[3 * i] + a.x[3 * i + 1] * a.y[3 * i + 1] +
                      a.x[3 * i + 2] * a.y[3 * i + 2];
        break;
      case Operation::gather:
        a.output[i] = a.x[a.index[i]];
        break;
      case Operation::component:
        a.output[i] = a.x[i * x_stride];
        break;
      case Operation::magnitude:
        a.output[i] = length_at(a.x + i * x_stride, x_stride);
        break;
    }
}

namespace {

constexpr std::int64_t piece = 16384;

template <class T>
void add_piece(T const* x, T const* y, T* output, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) output[i] = x[i] + y[i];
}

/// Calls `body(first, last)` for pieces of [0, size).
template <class Body>
void for_pieces(std::int64_t size, Body const& body) {
  parallel_for((size + piece - 1) / piece, piece,
               [&](std::int64_t p) { body(p * piece, std::min(size, (p + 1) * piece)); });
}

template <class T>
void add_matrices(Arguments<T> const& a) {
  auto const [x_stride, y_stride, stride] = a.strides;
  std::int64_t const pieces = (a.columns + piece - 1) / piece;
  auto const one = [&, x_stride = x_stride, y_stride = y_stride, stride = stride](std::int64_t p) {
    std::int64_t const row = p / pieces, first = p % pieces * piece;
    add_piece(a.x + row * x_stride + first, a.y + row * y_stride + first,
              a.output + row * stride + first, std::min(piece, a.columns - first));
  };
  parallel_for(a.rows * pieces, std::min(piece, a.columns), one);
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  // Copies, which the compiler knows that no store changes.
  T const scalar = a.scalar;
  T const *const x = a.x, *const y = a.y;
  T* const output = a.output;
  std::int64_t const* const index = a.index;
  std::int64_t const components = a.strides[0];
  switch (a.operation) {
    case Operation::add:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
        add_piece(x + first, y + first, output + first, last - first);
      });
    case Operation::axpy:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
#pragma omp simd
        for (std::int64_t i = first; i < last; ++i) output[i] = scalar * x[i] + y[i];
      });
    case Operation::scale:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
#pragma omp simd
        for (std::int64_t i = first; i < last; ++i) output[i] = scalar * x[i];
      });
    case Operation::fill:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
        std::fill(output + first, output + last, scalar);
      });
    case Operation::matrix_add:
      return add_matrices(a);
    case Operation::dot3:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
#pragma omp simd
        for (std::int64_t i = first; i < last; ++i)
          output[i] =
              x[3 * i] * y[3 * i] + x[3 * i + 1] * y[3 * i + 1] + x[3 * i + 2] * y[3 * i + 2];
      });
    case Operation::gather:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) output[i] = x[index[i]];
      });
    case Operation::component:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) output[i] = x[i * components];
      });
    case Operation::magnitude:
      return for_pieces(a.size, [=](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
          output[i] = length_at(x + i * components, components);
      });
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::elementwise

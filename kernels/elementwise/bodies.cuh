#pragma once

#include <cuda_runtime.h>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/support/vector.cuh"

/// What the operations do with one element, on the GPU; for the family's own files only.
namespace gridstride::elementwise {

/// `inputs` tells how many of x and y an operation reads.
template <class T>
struct Add {
  static constexpr int inputs = 2;
  __device__ T operator()(T x, T y) const { return sum(x, y); }
};

template <class T>
struct Axpy {
  static constexpr int inputs = 2;
  T a;
  __device__ T operator()(T x, T y) const { return sum(product(a, x), y); }
};

template <class T>
struct Scale {
  static constexpr int inputs = 1;
  T a;
  __device__ T operator()(T x, T) const { return product(a, x); }
};

template <class T>
struct Fill {
  static constexpr int inputs = 0;
  T a;
  __device__ T operator()(T, T) const { return a; }
};

/// The value at element i.
template <class Body, class T>
__device__ T value_at(Body const& body, T const* x, T const* y, std::int64_t i) {
  return body(Body::inputs > 0 ? x[i] : T{}, Body::inputs > 1 ? y[i] : T{});
}

/// The work of `matrix_add`.
template <class T>
struct Matrices {
  T const* x;
  T const* y;
  T* output;
  std::int64_t rows, columns;
  std::int64_t x_stride, y_stride, output_stride;

  explicit Matrices(Arguments<T> const& a)
      : x(a.x),
        y(a.y),
        output(a.output),
        rows(a.rows),
        columns(a.columns),
        x_stride(a.strides[0]),
        y_stride(a.strides[1]),
        output_stride(a.strides[2]) {}

  __device__ void add_at(std::int64_t row, std::int64_t column) const {
    output[row * output_stride + column] =
        sum(x[row * x_stride + column], y[row * y_stride + column]);
  }
};

/// Three components as they lie in memory.
template <class T>
struct Triple {
  T x, y, z;
};

template <class T>
__device__ T dot(Triple<T> const& a, Triple<T> const& b) {
  return sum(sum(product(a.x, b.x), product(a.y, b.y)), product(a.z, b.z));
}

/// The dot product of the vectors number i.
template <class T>
__device__ T dot3_at(T const* a, T const* b, std::int64_t i) {
  return dot(reinterpret_cast<Triple<T> const*>(a)[i], reinterpret_cast<Triple<T> const*>(b)[i]);
}

/// Calls `launch` with the body of one of `add`, `axpy`, `scale` and `fill`.
template <class T, class Launch>
void with_body(Arguments<T> const& a, Launch const& launch) {
  if (a.operation == Operation::axpy)
    launch(Axpy<T>{a.scalar});
  else if (a.operation == Operation::scale)
    launch(Scale<T>{a.scalar});
  else if (a.operation == Operation::fill)
    launch(Fill<T>{a.scalar});
  else
    launch(Add<T>{});
}

}  // namespace gridstride::elementwise

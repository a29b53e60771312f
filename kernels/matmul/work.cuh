#pragma once

#include "kernels/matmul/element.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

/// What the textbook's rungs of `matmul` share.
namespace gridstride::matmul {

/// A piece of work with its operands as strides: what a kernel gets.
template <class T>
struct Work {
  std::int64_t m, n, k;
  T alpha, beta;
  Strided<T> a, b;
  T* c;
  std::int64_t ldc;

  explicit Work(Arguments<T> const& x)
      : m(x.m),
        n(x.n),
        k(x.k),
        alpha(x.alpha),
        beta(x.beta),
        a(strided(x.op_a, x.a, x.lda)),
        b(strided(x.op_b, x.b, x.ldb)),
        c(x.c),
        ldc(x.ldc) {}

  __device__ void store(std::int64_t i, std::int64_t j, T sum) const {
    T* const element = c + i * ldc + j;
    *element = combine(alpha, sum, beta, element);
  }
};

/// The block's place among tiles of C of `rows` x `columns`: blocks side by side have tiles in one
/// row of tiles. One number per block, for a grid is long in its first dimension only.
struct Place {
  std::int64_t i, j;

  __device__ Place(std::int64_t n, int rows, int columns) {
    std::int64_t const across = (n + columns - 1) / columns;
    i = blockIdx.x / across * rows;
    j = blockIdx.x % across * columns;
  }
  static unsigned blocks(std::int64_t m, std::int64_t n, int rows, int columns) {
    return blocks_for(m, rows) * blocks_for(n, columns);
  }
};

/// Whether a matrix can be read 16 bytes at a time, in every one of its rows in memory.
template <class T>
bool aligned(T const* data, std::int64_t leading) {
  return misalignment(data) == 0 && leading % vector_width<T> == 0;
}

}  // namespace gridstride::matmul

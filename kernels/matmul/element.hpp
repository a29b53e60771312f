#pragma once

#include "core/host_device.hpp"
#include "kernels/matmul/matmul.hpp"

/// What the rungs of `matmul` share.
namespace gridstride::matmul {

/// op(X) by its elements: (i, j) is data[i·row + j·column].
template <class T>
struct Strided {
  T const* data;
  std::int64_t row, column;

  GRIDSTRIDE_HOST_DEVICE T const* at(std::int64_t i, std::int64_t j) const {
    return data + i * row + j * column;
  }
  GRIDSTRIDE_HOST_DEVICE T operator()(std::int64_t i, std::int64_t j) const { return *at(i, j); }
};

template <class T>
Strided<T> strided(Op op, T const* data, std::int64_t leading) {
  return op == Op::none ? Strided<T>{data, leading, 1} : Strided<T>{data, 1, leading};
}

template <class T>
GRIDSTRIDE_HOST_DEVICE Strided<T> transposed(Strided<T> const& x) {
  return {x.data, x.column, x.row};
}

/// An element of C from its sum of products: `c` is read only where β is not 0.
template <class T>
GRIDSTRIDE_HOST_DEVICE T combine(T alpha, T sum, T beta, T const* c) {
  return beta == T(0) ? alpha * sum : alpha * sum + beta * *c;
}

}  // namespace gridstride::matmul

#pragma once

#include <type_traits>
#include <utility>

#include "core/host_device.hpp"
#include "kernels/difference/difference.hpp"

/// The functions behind the rows of the family's table, and what they have in common; for the
/// family's own files only. None is called without results to compute.
namespace gridstride::difference {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_naive(Stream&, Arguments<T> const&);
template <class T>
void cuda_marching(Stream&, Arguments<T> const&);

/// The order-th difference of order + 1 values, which are used up.
template <int order, class T>
GRIDSTRIDE_HOST_DEVICE T difference_of(T (&x)[order + 1]) {
  for (int step = 0; step < order; ++step)
    for (int i = 0; i < order - step; ++i) x[i] = x[i + 1] - x[i];
  return x[0];
}

/// The array as `slabs` slabs, each of which gives one of the result: element q of a slab's result
/// comes from its elements q, q + stride, …, q + order·stride.
struct Slabs {
  std::int64_t stride, slab, result, slabs;

  template <class T>
  static Slabs of(Arguments<T> const& a) {
    auto const& shape = a.shape;
    std::int64_t const stride = shape.stride();
    std::int64_t const slab = stride * shape.length();
    return {stride, slab, slab - a.order * stride, shape.size() / slab};
  }
};

/// Calls `body` with the order as a `std::integral_constant`.
template <class Body>
void with_order(int order, Body const& body) {
  [&]<int... less>(std::integer_sequence<int, less...>) {
    ((order == less + 1 ? body(std::integral_constant<int, less + 1>{}) : void()), ...);
  }
  (std::make_integer_sequence<int, max_order>{});
}

}  // namespace gridstride::difference

#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/host_device.hpp"
#include "kernels/reduce/pieces.hpp"
#include "kernels/reduce/reduce.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::reduce {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_global(Stream&, Arguments<T> const&);
template <class T>
void cuda_atomic(Stream&, Arguments<T> const&);
template <class T>
void cuda_interleaved(Stream&, Arguments<T> const&);
template <class T>
void cuda_interleaved_strided(Stream&, Arguments<T> const&);
template <class T>
void cuda_sequential(Stream&, Arguments<T> const&);
template <class T>
void cuda_first_add_on_load(Stream&, Arguments<T> const&);
template <class T>
void cuda_unroll_last_warp(Stream&, Arguments<T> const&);
template <class T>
void cuda_unrolled(Stream&, Arguments<T> const&);
template <class T>
void cuda_grid_stride(Stream&, Arguments<T> const&);
template <class T>
void cuda_warp_shuffle(Stream&, Arguments<T> const&);
template <class T>
void cuda_cooperative_groups(Stream&, Arguments<T> const&);
template <class T>
void cuda_vectorized(Stream&, Arguments<T> const&);
template <class T>
void cuda_blocks(Stream&, Arguments<T> const&);
template <class T>
void cuda_cub(Stream&, Arguments<T> const&);

/// `block_moments` of so many values, or lengths of vectors, the first of which has index `offset`.
template <class T>
void cuda_block_moments(Stream&, T const* x, std::int64_t size, std::int64_t offset,
                        Moments<T>* blocks);
template <class T>
void cuda_block_moments(Stream&, Lengths<T> const& lengths, std::int64_t size, std::int64_t offset,
                        Moments<T>* blocks);

/// Throws the `std::invalid_argument` of a row that does not take the operation.
[[noreturn]] void refuse(std::string_view row, Operation operation);

/// What is made of a finished sum.
enum class Derived { quotient, square_root };

/// The sum divided by the number of elements, or its square root.
template <class S>
GRIDSTRIDE_HOST_DEVICE double derive(Derived what, S sum, std::int64_t size) {
  auto const value = static_cast<double>(sum);
  return what == Derived::quotient ? value / static_cast<double>(size) : std::sqrt(value);
}

/// Queues result = derive(what, sum, size); `sum` and `result` may be the same place.
template <class S>
void cuda_derive(Stream&, Derived what, S const* sum, std::int64_t size, double* result);

}  // namespace gridstride::reduce

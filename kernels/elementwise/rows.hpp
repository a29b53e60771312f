#pragma once

#include "kernels/elementwise/elementwise.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. All of
/// them take work of at least one element.
namespace gridstride::elementwise {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_naive(Stream&, Arguments<T> const&);
template <class T>
void cuda_grid_stride(Stream&, Arguments<T> const&);
template <class T>
void cuda_vectorized(Stream&, Arguments<T> const&);
/// `gather`, `component` and `magnitude` in every row.
template <class T>
void cuda_gather(Stream&, Arguments<T> const&);

/// Whether `cuda_gather` does the work.
inline bool gathers(Operation operation) {
  return operation == Operation::gather || operation == Operation::component ||
         operation == Operation::magnitude;
}

/// Whether the matrices have no gaps between their rows, and so are arrays of `size` elements.
template <class T>
bool is_contiguous(Arguments<T> const& a) {
  for (auto const stride : a.strides)
    if (a.rows > 1 && stride != a.columns) return false;
  return true;
}

}  // namespace gridstride::elementwise

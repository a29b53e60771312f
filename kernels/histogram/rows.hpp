#pragma once

#include "kernels/histogram/histogram.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. None is
/// called without values.
namespace gridstride::histogram {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_global_atomic(Stream&, Arguments<T> const&);
template <class T>
void cuda_shared_atomic(Stream&, Arguments<T> const&);
template <class T>
void cuda_privatized(Stream&, Arguments<T> const&);
template <class T>
void cuda_cub(Stream&, Arguments<T> const&);

}  // namespace gridstride::histogram

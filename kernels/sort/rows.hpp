#pragma once

#include "kernels/sort/sort.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. None is
/// called with fewer than two keys.
namespace gridstride::sort {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_bitonic(Stream&, Arguments<T> const&);
template <class T>
void cuda_quicksort_dynamic(Stream&, Arguments<T> const&);
template <class T>
void cuda_cub(Stream&, Arguments<T> const&);

}  // namespace gridstride::sort

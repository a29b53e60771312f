#pragma once

#include "kernels/scan/scan.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. None is
/// called with empty arrays.
namespace gridstride::scan {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_hillis_steele_global(Stream&, Arguments<T> const&);
template <class T>
void cuda_hillis_steele(Stream&, Arguments<T> const&);
template <class T>
void cuda_blelloch(Stream&, Arguments<T> const&);
template <class T>
void cuda_blelloch_padded(Stream&, Arguments<T> const&);
template <class T>
void cuda_reduce_then_scan(Stream&, Arguments<T> const&);
template <class T>
void cuda_decoupled_lookback(Stream&, Arguments<T> const&);
template <class T>
void cuda_cub(Stream&, Arguments<T> const&);

}  // namespace gridstride::scan

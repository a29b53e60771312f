#pragma once

#include "kernels/scan/scan.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. None is
/// called with empty arrays.
namespace gridstride::scan {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

/// Elements after which every piece but the last has to end that is given with a carry.
template <class T>
std::int64_t host_carried_multiple();
template <class T>
std::int64_t cuda_carried_multiple(Device const&);

/// The increments of an integral by the trapezoidal rule: output_i = (h/2)·(x_(i−1) + x_i), with
/// `before` as what is before the first one; there is no increment there where it is null.
template <class T>
struct Increments {
  T const* input;
  T* output;
  std::int64_t size;
  T const* before;
  T spacing;
};
template <class T>
void host_increments(Increments<T> const&);
template <class T>
void cuda_increments(Stream&, Increments<T> const&);

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

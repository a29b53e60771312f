#pragma once

#include "core/host_device.hpp"
#include "kernels/select/select.hpp"

/// The functions behind the rows of the family's table; for the family's own files only. None is
/// called with empty arrays.
namespace gridstride::select {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_atomic(Stream&, Arguments<T> const&);
template <class T>
void cuda_ballot(Stream&, Arguments<T> const&);
template <class T>
void cuda_lookback(Stream&, Arguments<T> const&);
template <class T>
void cuda_cub(Stream&, Arguments<T> const&);

/// Writes the value at place i as number k of those selected.
template <class T>
GRIDSTRIDE_HOST_DEVICE void take(Arguments<T> const& a, std::int64_t i, std::int64_t k) {
  a.selected[k] = a.values[i];
  if (a.indices != nullptr) a.indices[k] = a.first + i;
}

}  // namespace gridstride::select

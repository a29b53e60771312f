#pragma once

#include "kernels/factorize/factorize.hpp"

/// The rungs, for the family's table alone.
namespace gridstride::factorize {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_lapack(Stream&, Arguments<T> const&);
/// Whether the library behind `lapack` is there.
bool lapack_available();

template <class T>
void cuda_blocked(Stream&, Arguments<T> const&);
template <class T>
void cuda_look_ahead(Stream&, Arguments<T> const&);
template <class T>
void cuda_cusolver(Stream&, Arguments<T> const&);

/// The side of the blocks on the diagonal in an update of Cholesky's method on a GPU, which are
/// computed aside.
inline constexpr int cholesky_square = 512;

}  // namespace gridstride::factorize

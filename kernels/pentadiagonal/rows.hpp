#pragma once

#include "kernels/pentadiagonal/pentadiagonal.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::pentadiagonal {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);
/// Finds the backward errors where `findings` ask for it.
template <class T>
void host_measure(Arguments<T> const&);

template <class T>
void cuda_pieces(Stream&, Arguments<T> const&);
template <class T>
void cuda_hybrid(Stream&, Arguments<T> const&);
template <class T>
void cuda_measure(Stream&, Arguments<T> const&);

}  // namespace gridstride::pentadiagonal

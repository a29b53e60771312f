#pragma once

#include "kernels/fft/fft.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::fft {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);
template <class T>
void cuda_stages(Stream&, Arguments<T> const&);
template <class T>
void cuda_blocks(Stream&, Arguments<T> const&);
template <class T>
void cuda_cufft(Stream&, Arguments<T> const&);

}  // namespace gridstride::fft

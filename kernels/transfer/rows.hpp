#pragma once

#include "kernels/transfer/transfer.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::transfer {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_pageable(Stream&, Arguments<T> const&);
template <class T>
void cuda_pinned(Stream&, Arguments<T> const&);
template <class T>
void cuda_mapped(Stream&, Arguments<T> const&);
template <class T>
void cuda_managed(Stream&, Arguments<T> const&);
template <class T>
void cuda_pitched(Stream&, Arguments<T> const&);
template <class T>
void cuda_constant(Stream&, Arguments<T> const&);
template <class T>
void cuda_overlapped(Stream&, Arguments<T> const&);

}  // namespace gridstride::transfer

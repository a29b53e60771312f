#pragma once

#include "kernels/tridiagonal/tridiagonal.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::tridiagonal {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);
template <class T>
void host_pivoted(Stream&, Arguments<T> const&);
/// Finds the backward errors where `findings` ask for it.
template <class T>
void host_measure(Arguments<T> const&);

template <class T>
void cuda_thomas_batch(Stream&, Arguments<T> const&);
template <class T>
void cuda_cyclic_reduction(Stream&, Arguments<T> const&);
template <class T>
void cuda_parallel_cyclic_reduction(Stream&, Arguments<T> const&);
template <class T>
void cuda_hybrid(Stream&, Arguments<T> const&);
template <class T>
void cuda_constant(Stream&, Arguments<T> const&);
template <class T>
void cuda_pivoted(Stream&, Arguments<T> const&);
template <class T>
void cuda_cusparse(Stream&, Arguments<T> const&);
template <class T>
void cuda_cusparse_pivoted(Stream&, Arguments<T> const&);
template <class T>
void cuda_measure(Stream&, Arguments<T> const&);

/// Throws `std::invalid_argument` unless the system is open: what rows without a way to close a
/// circle call first.
void require_open(std::string_view variant, Shape const& shape);
/// The same for systems of more unknowns than the row takes.
void require_at_most(std::string_view variant, Shape const& shape, std::int64_t most);

}  // namespace gridstride::tridiagonal

#pragma once

#include <type_traits>

#include "kernels/modes/modes.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::modes {

template <class T>
void host_reference(Stream&, Work<T> const&);
template <class T>
void host_threads(Stream&, Work<T> const&);
template <class T>
void cuda_each(Stream&, Work<T> const&);

/// What `cuda_each` does for tables.
template <class T>
void cuda_tabulate(Stream&, Tabulation<T> const&);

/// Calls `body` with the block's size as a type.
template <class Body>
void with_size(int size, Body const& body) {
  if (size == 1) body(std::integral_constant<int, 1>());
  if (size == 2) body(std::integral_constant<int, 2>());
  if (size == 3) body(std::integral_constant<int, 3>());
  if (size == 4) body(std::integral_constant<int, 4>());
}

}  // namespace gridstride::modes

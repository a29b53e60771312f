#pragma once

#include <type_traits>

#include "kernels/stencil/stencil.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::stencil {

template <class T>
void host_reference(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void host_threads(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void host_impose(Stream&, int dims, DiffusionArguments<T> const&);

template <class T>
void cuda_naive(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void cuda_shared(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void cuda_register_queue(Stream&, int dims, DiffusionArguments<T> const&);
template <class T>
void cuda_impose(Stream&, int dims, DiffusionArguments<T> const&);

/// Calls `body` with the number of dimensions and whether α is a field as compile-time constants.
template <class T, class Body>
void with_shape(int dims, DiffusionArguments<T> const& arguments, Body const& body) {
  auto const with_dims = [&](auto variable) {
    if (dims == 1)
      body(std::integral_constant<int, 1>{}, variable);
    else if (dims == 2)
      body(std::integral_constant<int, 2>{}, variable);
    else
      body(std::integral_constant<int, 3>{}, variable);
  };
  if (arguments.diffusivity)
    with_dims(std::true_type{});
  else
    with_dims(std::false_type{});
}

}  // namespace gridstride::stencil

#pragma once

#include <type_traits>

#include "kernels/advect/advect.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::advect {

template <class T>
void host_reference(Stream&, int dims, Scheme, AdvectionArguments<T> const&);
template <class T>
void host_threads(Stream&, int dims, Scheme, AdvectionArguments<T> const&);
template <class T>
void host_threads_subnormal(Stream&, int dims, Scheme, AdvectionArguments<T> const&);
template <class T>
void host_impose(Stream&, int dims, AdvectionArguments<T> const&);

template <class T>
void cuda_naive(Stream&, int dims, Scheme, AdvectionArguments<T> const&);
template <class T>
void cuda_streaming(Stream&, int dims, Scheme, AdvectionArguments<T> const&);
template <class T>
void cuda_streaming_weno(Stream&, int dims, AdvectionArguments<T> const&);
template <class T>
void cuda_impose(Stream&, int dims, AdvectionArguments<T> const&);

/// Calls `body` with the number of dimensions and whether a velocity is a field as compile-time
/// constants.
template <class T, class Body>
void with_shape(int dims, AdvectionArguments<T> const& a, Body const& body) {
  auto const with_dims = [&](auto variable) {
    if (dims == 1)
      body(std::integral_constant<int, 1>{}, variable);
    else if (dims == 2)
      body(std::integral_constant<int, 2>{}, variable);
    else
      body(std::integral_constant<int, 3>{}, variable);
  };
  if (a.velocity[0] || a.velocity[1] || a.velocity[2])
    with_dims(std::true_type{});
  else
    with_dims(std::false_type{});
}

/// The same with the scheme.
template <class T, class Body>
void with_scheme(int dims, Scheme scheme, AdvectionArguments<T> const& a, Body const& body) {
  with_shape(dims, a, [&](auto rank, auto variable) {
    if (scheme == Scheme::upwind)
      body(rank, variable, std::integral_constant<Scheme, Scheme::upwind>{});
    else if (scheme == Scheme::lax_wendroff)
      body(rank, variable, std::integral_constant<Scheme, Scheme::lax_wendroff>{});
    else
      body(rank, variable, std::integral_constant<Scheme, Scheme::weno5>{});
  });
}

}  // namespace gridstride::advect

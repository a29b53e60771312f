#pragma once

#include <type_traits>

#include "kernels/convert/convert.hpp"
#include "kernels/convert/thin.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::convert {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_naive(Stream&, Arguments<T> const&);
template <class T>
void cuda_vectorized(Stream&, Arguments<T> const&);

template <class T, class F>
void host_thin_reference(Stream&, ThinArguments<T, F> const&);
template <class T, class F>
void host_thin_threads(Stream&, ThinArguments<T, F> const&);

template <class T, class F>
void cuda_thin_naive(Stream&, ThinArguments<T, F> const&);
template <class T, class F>
void cuda_thin_vectorized(Stream&, ThinArguments<T, F> const&);

/// What `use` makes of the width of a stored number, as a constant.
template <class Use>
void with_width(int bytes, Use const& use) {
  switch (bytes) {
    case 1:
      return use(std::integral_constant<int, 1>());
    case 2:
      return use(std::integral_constant<int, 2>());
    case 4:
      return use(std::integral_constant<int, 4>());
    default:
      return use(std::integral_constant<int, 8>());
  }
}

}  // namespace gridstride::convert

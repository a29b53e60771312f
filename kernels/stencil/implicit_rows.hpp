#pragma once

#include <type_traits>

#include "kernels/stencil/implicit_point.cuh"
#include "kernels/stencil/rows.hpp"

/// What implicit steps are made of; for the family's own files only.
namespace gridstride::stencil {

/// `residual_point` at all points, `hold_point` on the two faces of an axis, `write_row` for all rows.
template <class T>
void host_residual(Stream&, int dims, ImplicitArguments<T> const&);
template <class T>
void host_hold(Stream&, int dims, ImplicitArguments<T> const&);
template <class T>
void host_rows_of_axis(Stream&, ImplicitArguments<T> const&);
template <class T>
void cuda_residual(Stream&, int dims, ImplicitArguments<T> const&);
template <class T>
void cuda_hold(Stream&, int dims, ImplicitArguments<T> const&);
template <class T>
void cuda_rows_of_axis(Stream&, ImplicitArguments<T> const&);

/// Calls `body` with the number of dimensions, whether α is a field, and the axis that is solved for
/// as compile-time constants.
template <class T, class Body>
void with_axis(int dims, ImplicitArguments<T> const& w, Body const& body) {
  with_shape(dims, w.given, [&](auto rank, auto variable) {
    if (w.axis == 0) body(rank, variable, std::integral_constant<int, 0>{});
    if constexpr (rank() > 1)
      if (w.axis == 1) body(rank, variable, std::integral_constant<int, 1>{});
    if constexpr (rank() > 2)
      if (w.axis == 2) body(rank, variable, std::integral_constant<int, 2>{});
  });
}

/// The points of the two faces of the axis that is solved for.
template <class T>
long long face_points(ImplicitArguments<T> const& w) {
  auto const& points = w.given.points;
  return 2 * (points[0] * points[1] * points[2] / points[w.axis]);
}

/// The rows of that axis: of every point, or, where α is a number, of one line for all.
template <class T>
long long row_count(ImplicitArguments<T> const& w) {
  auto const& points = w.given.points;
  return w.given.diffusivity ? points[0] * points[1] * points[2] : points[w.axis];
}

}  // namespace gridstride::stencil

#pragma once

#include <cstdint>

#include "kernels/poisson/conjugate_steps.hpp"

/// The rows of R·(scale·V·A)·R for all points, those of known ones empty, a point each. For the family's
/// own files only.
namespace gridstride::poisson {

/// Calls `take(place, face)` for each other unknown in a point's equation, once, and returns the diagonal.
template <class T, class Take>
GRIDSTRIDE_HOST_DEVICE double for_each_coupling(Operator<T> const& a, std::int64_t const (&at)[3],
                                                Take const& take) {
  std::int64_t const place = place_of(a, at);
  double diagonal = a.reaction_at(place);
  for (int axis = 0; axis < a.dims; ++axis) {
    Faces const faces = faces_of(a, axis, at[axis], place);
    diagonal += faces.lower + faces.upper;
    bool const known_below = a.side[axis][0] == Rule::dirichlet && at[axis] == 1;
    bool const known_above = a.side[axis][1] == Rule::dirichlet && at[axis] == a.points[axis] - 2;
    bool const are_one = faces.lower_place == faces.upper_place && !known_below && !known_above;
    if (!known_below) take(faces.lower_place, faces.lower + (are_one ? faces.upper : 0));
    if (!known_above && !are_one) take(faces.upper_place, faces.upper);
  }
  return diagonal;
}

/// The elements of each row.
template <class T>
struct CountElements {
  Operator<T> a;  ///< with what is known
  std::int64_t* counts;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t count = 0;
    if (!is_known(a, at)) {
      for_each_coupling(a, at, [&](std::int64_t, double) { ++count; });
      ++count;
    }
    counts[place_of(a, at)] = count;
  }
};

/// The elements, the diagonal's first, and what constants are in the unknowns of the scaled matrix.
template <class T>
struct StoreElements {
  Operator<T> a;  ///< with what is known
  double scale;
  double const* roots;  ///< R, or null
  std::int64_t const* offsets;
  std::int32_t* columns;
  double *values, *constants;

  GRIDSTRIDE_HOST_DEVICE double root(std::int64_t place) const {
    return roots == nullptr ? 1.0 : roots[place];
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t const place = place_of(a, at);
    bool const is_empty = is_known(a, at);
    constants[place] = is_empty ? 1.0 : 1 / root(place);
    if (is_empty) return;
    double const factor = root(place) * (scale * share_of(a, at));
    std::int64_t const first = offsets[place];
    std::int64_t element = first + 1;
    double const diagonal = for_each_coupling(a, at, [&](std::int64_t other, double face) {
      columns[element] = static_cast<std::int32_t>(other);
      values[element++] = -factor * face * root(other);
    });
    columns[first] = static_cast<std::int32_t>(place);
    values[first] = factor * diagonal * root(place);
  }
};

/// What visits there are of it, for those who instantiate them.
#define GRIDSTRIDE_MATRIX_VISITS(visit, T) visit(CountElements<T>) visit(StoreElements<T>)

}  // namespace gridstride::poisson

#pragma once

#include "core/stream.hpp"
#include "kernels/poisson/point.hpp"

/// What is computed at a point of the grid for several vectors at once, on the host and on the GPU;
/// for the family's own files only.
namespace gridstride::eigen {

/// y ← scale·A·x of so many rows, which are 0 on Dirichlet sides.
template <class T>
struct GridProduct {
  poisson::Operator<T> a;
  double scale;
  int rows;
  double const* x;
  double* y;

  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
    std::int64_t const size = a.points[0] * a.points[1] * a.points[2];
    poisson::Faces faces[3];
    for (int axis = 0; axis < a.dims; ++axis)
      faces[axis] = poisson::faces_of(a, axis, at[axis], place);
    double const reaction = a.reaction_at(place);
    for (int row = 0; row < rows; ++row) {
      double const* const u = x + row * size;
      double const center = u[place];
      double sum = reaction * center;
      for (int axis = 0; axis < a.dims; ++axis)
        sum += faces[axis].lower * (center - u[faces[axis].lower_place]) -
               faces[axis].upper * (u[faces[axis].upper_place] - center);
      y[row * size + place] = scale * sum;
    }
  }
};

/// The share of each unknown's cell, where there is one.
template <class T>
struct GridWeights {
  poisson::Operator<T> a;
  double* weights;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t const (&at)[3]) const {
    weights[at[0] + at[1] * a.stride[1] + at[2] * a.stride[2]] = poisson::share_of(a, at);
  }
};

/// Queues a step for all unknowns.
template <class Step>
void cuda_for_unknowns(Stream&, Step const&);

}  // namespace gridstride::eigen

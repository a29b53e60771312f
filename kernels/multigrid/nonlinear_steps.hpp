#pragma once

#include "kernels/multigrid/outer.hpp"

/// The steps of nonlinear.hpp at a point each; for the family's own files only.
namespace gridstride::multigrid {

/// ∇·(a∇u) − r; finds its largest magnitude, and that of what it is made of.
struct TakeDefect {
  poisson::Operator<double> a;  ///< with a at the points, and no reaction
  Extent points;
  double const *u, *r;
  double* defect;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
    std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
    double const center = u[place];
    double sum = -r[place], size = std::fabs(r[place]);
    bool is_positive = a.diffusivities[place] > 0;
    for (int axis = 0; axis < a.dims; ++axis) {
      auto const faces = poisson::faces_of(a, axis, at[axis], place);
      double const below = u[faces.lower_place], above = u[faces.upper_place];
      sum += faces.upper * (above - center) - faces.lower * (center - below);
      size += faces.upper * (std::fabs(above) + std::fabs(center)) +
              faces.lower * (std::fabs(center) + std::fabs(below));
      is_positive = is_positive && a.diffusivities[faces.lower_place] > 0 &&
                    a.diffusivities[faces.upper_place] > 0;
    }
    defect[place] = sum;
    double const found = is_positive || sum != sum ? sum : HUGE_VAL;
    return {poisson::bits_of_magnitude(found), poisson::bits_of_magnitude(size)};
  }
};

/// u += factor·p; finds the largest change, and the largest |u|.
struct GoAlong {
  Extent points;
  Places places;
  double const* p;
  double* u;
  double factor;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    std::int64_t const place = places(i, j, k);
    double const change = factor * p[place], sum = u[place] + change;
    u[place] = sum;
    return {poisson::bits_of_magnitude(change), poisson::bits_of_magnitude(sum)};
  }
};

/// y = −∇·(a∇v) − ∇·(d·v∇u) + s·v
struct ApplyLinearised {
  poisson::Operator<double> a;  ///< the same
  Extent points;
  double const *u, *d, *s, *v;
  double* y;

  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
    std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
    double const own = v[place], slope = d[place] * own;
    double sum = s[place] * own;
    for (int axis = 0; axis < a.dims; ++axis) {
      auto const faces = poisson::faces_of(a, axis, at[axis], place);
      std::int64_t const below = faces.lower_place, above = faces.upper_place;
      // Of arrays the weight is that of half a sum, for slopes as for a.
      sum += faces.lower * (own - v[below]) - faces.upper * (v[above] - own);
      sum += a.weight[axis] * ((slope + d[below] * v[below]) * (u[place] - u[below]) -
                               (slope + d[above] * v[above]) * (u[above] - u[place]));
    }
    y[place] = sum;
  }
};

}  // namespace gridstride::multigrid

#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"
#include "kernels/integrand/two_term_sum.hpp"
#include "kernels/poisson/point.hpp"

/// What is computed at a point of a line, on the host and on the GPU. For the family's own files
/// only.
namespace gridstride::poisson {

/// The equation of a point.
template <class T>
GRIDSTRIDE_HOST_DEVICE void fill_row(Operator<T> const& a, std::int64_t i, double* lower,
                                     double* diagonal, double* upper) {
  LineRow const row = row_of(a, 0, i, i);
  lower[i] = row.lower;
  diagonal[i] = row.diagonal;
  upper[i] = row.upper;
}

/// sum += x·y with nothing lost but what its second number loses.
GRIDSTRIDE_HOST_DEVICE inline void add_product(quadrature::TwoTermSum& sum, double x, double y) {
  double const product = rounded_product(x, y);
  sum.add(product);
  sum.low += std::fma(x, y, -product);
}

template <class T>
GRIDSTRIDE_HOST_DEVICE double line_residual_of(Operator<T> const& a, double const* u,
                                               T const* right, std::int64_t i) {
  Faces const faces = faces_of(a, 0, i, i);
  bool const known_below = a.side[0][0] == Rule::dirichlet && i == 1;
  bool const known_above = a.side[0][1] == Rule::dirichlet && i == a.points[0] - 2;
  quadrature::TwoTermSum residual;
  residual.add(double{right[i]});
  add_product(residual, -a.reaction_at(i), u[i]);
  add_product(residual, -faces.lower, u[i]);
  add_product(residual, -faces.upper, u[i]);
  if (!known_below) add_product(residual, faces.lower, u[faces.lower_place]);
  if (!known_above) add_product(residual, faces.upper, u[faces.upper_place]);
  return residual.result();
}

template <class T>
void host_fill_coefficients(Stream&, Operator<T> const&, double* lower, double* diagonal,
                            double* upper);
template <class T>
void host_line_residual(Stream&, Operator<T> const&, double const* u, T const* right,
                        double* residual);
template <class T>
void host_correct(Stream&, std::int64_t size, double const* correction, double* u, T* rounded);

template <class T>
void cuda_fill_coefficients(Stream&, Operator<T> const&, double* lower, double* diagonal,
                            double* upper);
template <class T>
void cuda_line_residual(Stream&, Operator<T> const&, double const* u, T const* right,
                        double* residual);
template <class T>
void cuda_correct(Stream&, std::int64_t size, double const* correction, double* u, T* rounded);

}  // namespace gridstride::poisson

#pragma once

#include <cmath>

#include "core/host_device.hpp"

/// Complex numbers of float64 on the host and on the GPU. Sums of reals stay real to the bit.
namespace gridstride::modes {

struct Complex {
  double re = 0, im = 0;
};

GRIDSTRIDE_HOST_DEVICE inline Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
GRIDSTRIDE_HOST_DEVICE inline Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
GRIDSTRIDE_HOST_DEVICE inline Complex operator-(Complex a) { return {-a.re, -a.im}; }
GRIDSTRIDE_HOST_DEVICE inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
GRIDSTRIDE_HOST_DEVICE inline Complex operator*(double a, Complex b) {
  return {a * b.re, a * b.im};
}
GRIDSTRIDE_HOST_DEVICE inline Complex conjugate(Complex a) { return {a.re, -a.im}; }
GRIDSTRIDE_HOST_DEVICE inline double magnitude(Complex a) {
  return a.im == 0 ? std::fabs(a.re) : hypot(a.re, a.im);
}
/// Without overflow in between (R. Smith, Commun. ACM 5 (1962)).
GRIDSTRIDE_HOST_DEVICE inline Complex operator/(Complex a, Complex b) {
  if (b.im == 0) return {a.re / b.re, a.im / b.re};
  if (std::fabs(b.re) >= std::fabs(b.im)) {
    double const r = b.im / b.re, d = b.re + b.im * r;
    return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  double const r = b.re / b.im, d = b.re * r + b.im;
  return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}
GRIDSTRIDE_HOST_DEVICE inline Complex square_root(Complex a) {
  if (a.im == 0) {
    double const root = std::sqrt(std::fabs(a.re));
    return a.re < 0 ? Complex{0, root} : Complex{root, 0};
  }
  double const half = std::sqrt((std::fabs(a.re) + magnitude(a)) / 2);
  if (a.re >= 0) return {half, a.im / (2 * half)};
  return {std::fabs(a.im) / (2 * half), a.im < 0 ? -half : half};
}
GRIDSTRIDE_HOST_DEVICE inline Complex exponential(Complex a) {
  double const size = std::exp(a.re);
  if (a.im == 0) return {size, 0};
  return {size * std::cos(a.im), size * std::sin(a.im)};
}

}  // namespace gridstride::modes

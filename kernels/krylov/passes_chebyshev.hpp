#pragma once

#include "kernels/krylov/state.hpp"

/// Passes of Chebyshev's preconditioner (chebyshev.cpp); all right-hand sides share D⁻¹.
namespace gridstride::krylov {

/// d ← factor·D⁻¹·r, z ← d.
template <class T>
struct ChebyshevBegin {
  static constexpr int sums = 0;
  T factor;
  T const *inverse, *r;
  T *d, *z;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, std::int64_t k, double*) const {
    z[i] = d[i] = factor * inverse[k] * r[i];
  }
};

/// d ← old·d + factor·D⁻¹·(r − w), z ← z + d, with w = A·z.
template <class T>
struct ChebyshevStep {
  static constexpr int sums = 0;
  T old, factor;
  T const *inverse, *r, *w;
  T *d, *z;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, std::int64_t k, double*) const {
    T const next = old * d[i] + factor * inverse[k] * (r[i] - w[i]);
    d[i] = next;
    z[i] += next;
  }
};

}  // namespace gridstride::krylov

#pragma once

#include "kernels/krylov/state.hpp"

/// Passes of BiCGSTAB (bicgstab.cpp).
namespace gridstride::krylov {

/// The first shadow residual r̂ is r.
struct BicgBegin {
  GRIDSTRIDE_HOST_DEVICE void finish(double const*, State& state) const {
    state.rho = exact(state.norm, state.norm);
    state.shadow = state.norm;
    state.beta = 0;
  }
};

/// p ← r + β·(p − ω·v).
template <class T>
struct BicgDirection {
  static constexpr int sums = 0;
  T const *r, *v;
  T* p;
  struct Factors {
    T beta, omega;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const {
    return {static_cast<T>(state.beta), static_cast<T>(state.omega)};
  }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double*) const {
    p[i] = f.beta == T{0} ? r[i] : r[i] + f.beta * (p[i] - f.omega * v[i]);
  }
};

/// α = ρ/(r̂·v).
template <class T>
struct BicgAlpha {
  static constexpr int sums = 2;
  T const *shadow, *v;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(shadow[i], v[i]);
    sum[1] += exact(v[i], v[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    if (!(sum[1] <= std::numeric_limits<double>::max()))
      state.stop = Stop::not_finite;
    else if (!(std::abs(sum[0]) > state.epsilon * state.epsilon * state.shadow * std::sqrt(sum[1])))
      state.stop = Stop::breakdown;
    else
      state.alpha = state.rho / sum[0];
  }
};

/// s ← r − α·v, in the place of r.
template <class T>
struct BicgHalf {
  static constexpr int sums = 0;
  T const* v;
  T* r;
  GRIDSTRIDE_HOST_DEVICE T begin(State const& state) const { return static_cast<T>(state.alpha); }
  GRIDSTRIDE_HOST_DEVICE void each(T alpha, std::int64_t i, double*) const { r[i] -= alpha * v[i]; }
};

/// ω = t·s/(t·t). Where s is small enough already, ω = 0 ends the iteration with it.
template <class T>
struct BicgOmega {
  static constexpr int sums = 3;
  T const *s, *t;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(t[i], s[i]);
    sum[1] += exact(t[i], t[i]);
    sum[2] += exact(s[i], s[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    state.omega = 0;
    if (std::sqrt(sum[2]) <= state.target) return;
    if (!(sum[1] <= std::numeric_limits<double>::max()))
      state.stop = Stop::not_finite;
    else if (!(std::abs(sum[0]) > state.epsilon * std::sqrt(sum[1]) * std::sqrt(sum[2])))
      state.stop = Stop::breakdown;
    else
      state.omega = sum[0] / sum[1];
  }
};

/// x ← x + α·M⁻¹p + ω·M⁻¹s, r ← s − ω·t, and r·r, r̂·r with ρ and β of the next iteration.
template <class T>
struct BicgStep {
  static constexpr int sums = 2;
  T const *p, *s_direction, *t, *shadow;
  T *x, *r;
  struct Factors {
    T alpha, omega;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const {
    return {static_cast<T>(state.alpha), static_cast<T>(state.omega)};
  }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double* sum) const {
    // Without a preconditioner `s_direction` is r, which holds s until it is written.
    x[i] += f.alpha * p[i] + f.omega * s_direction[i];
    T const r_next = r[i] - f.omega * t[i];
    r[i] = r_next;
    sum[0] += exact(r_next, r_next);
    sum[1] += exact(shadow[i], r_next);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    double const norm = std::sqrt(sum[0]);
    record(state, norm);
    if (state.stop != Stop::running) return;
    if (!(std::abs(sum[1]) > state.epsilon * state.epsilon * state.shadow * norm)) {
      state.stop = Stop::breakdown;
      return;
    }
    state.beta = sum[1] / state.rho * (state.alpha / state.omega);
    state.rho = sum[1];
  }
};

}  // namespace gridstride::krylov

#pragma once

#include "kernels/krylov/state.hpp"

/// Passes of MINRES (minres.cpp).
namespace gridstride::krylov {

/// δ = z·A·z of the vector z, whose γ it still has to be divided by.
template <class T>
struct LanczosDelta {
  static constexpr int sums = 1;
  T const *z, *q;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(z[i], q[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    state.delta = sum[0] / (state.gamma * state.gamma);
    if (!(std::abs(state.delta) <= std::numeric_limits<double>::max()))
      state.stop = Stop::not_finite;
  }
};

/// The next Lanczos vector, in the place of the one before the last: q/γ − δ/γ·v − γ/γ₋·v₋.
template <class T>
struct LanczosVector {
  static constexpr int sums = 0;
  T const *q, *v;
  T* before;
  struct Factors {
    T of_product, of_last, of_before;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const {
    return {static_cast<T>(1 / state.gamma), static_cast<T>(state.delta / state.gamma),
            static_cast<T>(state.first != 0 ? 0 : state.gamma / state.gamma_before)};
  }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double*) const {
    T const next = f.of_product * q[i] - f.of_last * v[i];
    before[i] = f.of_before == T{0} ? next : next - f.of_before * before[i];
  }
};

/// γ of the next vector, and the rotation that makes the tridiagonal matrix triangular.
template <class T>
struct LanczosRotation {
  static constexpr int sums = 1;
  T const *v, *z;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(v[i], z[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    if (!(std::abs(sum[0]) <= std::numeric_limits<double>::max())) {
      state.stop = Stop::not_finite;
      return;
    }
    if (sum[0] < 0) {
      state.stop = Stop::negative;
      return;
    }
    double const next = std::sqrt(sum[0]), here = state.first != 0 ? 0 : state.gamma;
    double const size = std::abs(state.delta) + here + next;
    if (size > state.largest) state.largest = size;
    double const diagonal = state.c * state.delta - state.c_before * state.s * here;
    // ‖A·r‖ over ‖r‖ (Choi, Paige and Saunders, "MINRES-QLP", SIAM J. Sci. Comput. 33 (2011)).
    double const gradient =
        std::sqrt(exact(diagonal, diagonal) + exact(state.c * next, state.c * next));
    if (gradient <= nothing(state) * state.largest) {
      state.stop = Stop::singular;
      return;
    }
    double const root = std::sqrt(exact(diagonal, diagonal) + exact(next, next));
    state.of_z = 1 / (state.gamma * root);
    state.of_last = (state.s * state.delta + state.c_before * state.c * here) / root;
    state.of_before = state.s_before * here / root;
    state.c_before = state.c;
    state.s_before = state.s;
    state.c = diagonal / root;
    state.s = next / root;
    state.step = state.c * state.eta;
    state.eta *= -state.s;
    state.gamma_before = state.gamma;
    state.gamma = next;
  }
};

/// The next search direction, in the place of the one before the last, and the step along it.
template <class T>
struct MinresStep {
  static constexpr int sums = 0;
  T const *z, *last;
  T *before, *x;
  struct Factors {
    T of_z, of_last, of_before, step;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const {
    return {static_cast<T>(state.of_z), static_cast<T>(state.of_last),
            static_cast<T>(state.of_before), static_cast<T>(state.step)};
  }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double*) const {
    // Directions that are not there yet have factors of 0, whatever the memory holds.
    T next = f.of_z * z[i];
    if (f.of_last != T{0}) next -= f.of_last * last[i];
    if (f.of_before != T{0}) next -= f.of_before * before[i];
    before[i] = next;
    x[i] += f.step * next;
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const*, State& state) const {
    record(state, std::abs(state.eta) * state.scale);
  }
};

/// The first Lanczos vector is the residual: γ = √(r·z), and all rotations begin anew.
template <class T>
struct LanczosBegin {
  static constexpr int sums = 1;
  T const *r, *z;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(r[i], z[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    if (!(sum[0] > 0)) {
      state.stop = Stop::negative;
      return;
    }
    state.gamma = state.eta = std::sqrt(sum[0]);
    state.scale = state.norm / state.gamma;
    state.c = state.c_before = 1;
    state.s = state.s_before = 0;
  }
};

}  // namespace gridstride::krylov

#pragma once

#include "kernels/krylov/state.hpp"

/// Passes of conjugate gradients (cg.cpp).
namespace gridstride::krylov {

/// Whether γ = r·u and δ = w·u allow another step; else why not goes to the state.
GRIDSTRIDE_HOST_DEVICE inline bool cg_goes_on(double gamma, double delta, double square,
                                              State& state) {
  double const quotient = delta / square;
  if (!(std::abs(gamma) + std::abs(delta) <= std::numeric_limits<double>::max())) {
    state.stop = Stop::not_finite;
    return false;
  }
  if (gamma <= 0) {
    state.stop = Stop::negative;
    return false;
  }
  if (std::abs(quotient) > state.largest) state.largest = std::abs(quotient);
  if (std::abs(quotient) <= 16 * state.epsilon * state.largest) {
    state.stop = Stop::singular;
    return false;
  }
  return true;
}

/// α, of a direction with p·A·p = `curvature`.
GRIDSTRIDE_HOST_DEVICE inline void take_cg_step(double gamma, double beta, double curvature,
                                                State& state) {
  state.beta = beta;
  state.gamma = gamma;
  if (curvature > 0)
    state.alpha = gamma / curvature;
  else
    state.stop = Stop::indefinite;
}

/// γ = r·u, δ = w·u with w = A·u, and from them α and β of the next step: p·A·p follows from δ and
/// what is known of the last step, so that these sums are the only ones to wait for.
/// Source: Chronopoulos and Gear, "s-step iterative methods for symmetric linear systems", J. Comput.
/// Appl. Math. 25 (1989).
template <class T>
struct CgSums {
  static constexpr int sums = 3;
  T const *r, *u, *w;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    T const direction = u[i];
    sum[0] += exact(r[i], direction);
    sum[1] += exact(w[i], direction);
    sum[2] += exact(direction, direction);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    double const gamma = sum[0], delta = sum[1];
    if (!cg_goes_on(gamma, delta, sum[2], state)) return;
    double const beta = state.first != 0 ? 0 : gamma / state.gamma;
    double const curvature = state.first != 0 ? delta : delta - beta * gamma / state.alpha;
    take_cg_step(gamma, beta, curvature, state);
  }
};

/// The same where M⁻¹ need not be symmetric: β = −s·u/(p·s) makes the next p conjugate to the last
/// one, of which p·s is known, and of which r has nothing left.
template <class T>
struct FlexibleCgSums {
  static constexpr int sums = 4;
  T const *r, *u, *w, *s;
  struct Factors {
    bool first;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const { return {state.first != 0}; }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double* sum) const {
    T const direction = u[i];
    sum[0] += exact(r[i], direction);
    sum[1] += exact(w[i], direction);
    sum[2] += exact(direction, direction);
    if (!f.first) sum[3] += exact(s[i], direction);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    double const gamma = sum[0], delta = sum[1];
    if (!cg_goes_on(gamma, delta, sum[2], state)) return;
    double const last = state.gamma / state.alpha;
    double const beta = state.first != 0 ? 0 : -sum[3] / last;
    double const curvature = state.first != 0 ? delta : delta - beta * beta * last;
    take_cg_step(gamma, beta, curvature, state);
  }
};

/// p ← u + β·p, s ← w + β·s (which is A·p), x ← x + α·p, r ← r − α·s, and r·r.
template <class T>
struct CgStep {
  static constexpr int sums = 1;
  T const *u, *w;
  T *p, *s, *x, *r;
  struct Factors {
    T alpha, beta;
  };
  GRIDSTRIDE_HOST_DEVICE Factors begin(State const& state) const {
    return {static_cast<T>(state.alpha), static_cast<T>(state.beta)};
  }
  GRIDSTRIDE_HOST_DEVICE void each(Factors f, std::int64_t i, double* sum) const {
    // In the first step there is no p yet, whatever the memory holds.
    T const p_next = f.beta == T{0} ? u[i] : u[i] + f.beta * p[i];
    T const s_next = f.beta == T{0} ? w[i] : w[i] + f.beta * s[i];
    T const r_next = r[i] - f.alpha * s_next;
    p[i] = p_next;
    s[i] = s_next;
    x[i] += f.alpha * p_next;
    r[i] = r_next;
    sum[0] += exact(r_next, r_next);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    record(state, std::sqrt(sum[0]));
  }
};

/// Of an operator that takes whole steps: what comes before the first of them.
struct FusedBegin {
  GRIDSTRIDE_HOST_DEVICE void finish(double const*, State& state) const {
    state.gamma = exact(state.norm, state.norm);
    state.beta = 0;
  }
};

/// α from q·A·q.
struct FusedAlpha {
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    if (!(std::abs(sum[0]) <= std::numeric_limits<double>::max()))
      state.stop = Stop::not_finite;
    else if (!(sum[0] > 0))
      state.stop = Stop::indefinite;
    else
      state.alpha = state.gamma / sum[0];
  }
};

/// And β from r·r.
struct FusedBeta {
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    state.beta = sum[0] / state.gamma;
    state.gamma_before = state.gamma;
    state.gamma = sum[0];
    record(state, std::sqrt(sum[0]));
  }
};

/// Of iterations in float32: what x is to be changed by goes to x, and begins anew.
struct TakeChange {
  static constexpr int sums = 0;
  float* change;
  double* x;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double*) const {
    x[i] += static_cast<double>(change[i]);
    change[i] = 0;
  }
};

/// And r = b − w is rounded, with β as the rounded one has it; where that is not what was carried
/// along, the direction before means nothing any more.
struct RoundResidual {
  static constexpr int sums = 1;
  double const *b, *w;
  float* r;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    auto const left = static_cast<float>(b[i] - w[i]);
    r[i] = left;
    sum[0] += exact(static_cast<double>(left), static_cast<double>(left));
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    bool const goes_on = state.first == 0 && sum[0] <= 2 * state.gamma;
    state.beta = goes_on ? sum[0] / state.gamma_before : 0;
    state.gamma = sum[0];
    state.norm = std::sqrt(sum[0]);
  }
};

}  // namespace gridstride::krylov

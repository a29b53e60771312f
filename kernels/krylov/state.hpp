#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.hpp"

/// What the methods do with vectors, element by element, and with the sums that follow: the same
/// code for the host and the GPU. A pass has
///
///   sums                 how many sums it takes
///   begin(state)         the factors that all elements need
///   each(f, i, sum)      what is done at element i, and added to the sums
///   finish(sum, state)   where it has this, what follows of the sums, when all elements are done
///
/// Of several right-hand sides i counts on from one vector to the next; a pass with an array that all of
/// them share has each(f, i, k, sum) with the element k of that. Each has its state.
///
/// Products that are summed are rounded in float64. Once a state has stopped, passes do nothing.
namespace gridstride::krylov {

/// Why a method has stopped.
enum class Stop : int {
  running,
  resting,     ///< another right-hand side's turn
  reached,     ///< the norm that it carries is small enough
  exhausted,   ///< the space of the residual's powers is used up
  indefinite,  ///< p·A·p ≤ 0 as it seems from other sums
  negative,    ///< r·M⁻¹·r ≤ 0
  diverged,    ///< the norm that it carries is above `most`
  breakdown,   ///< a denominator is 0
  singular,    ///< A·r is 0 as far as rounding tells
  not_finite,
};

inline constexpr int most_kept_norms = 64;

/// The scalars of a method, in device memory.
struct State {
  Stop stop = Stop::running;
  int first = 1;                                          ///< nothing before this iteration
  std::int64_t iteration = 0;                             ///< of all that were done
  double target = 0;                                      ///< of the norm that is carried
  double most = std::numeric_limits<double>::infinity();  ///< what that may be
  double epsilon = 0;                                     ///< of the vectors' type
  double norm = 0;
  double norms[most_kept_norms] = {};  ///< that of iteration k at k % most_kept_norms
  double alphas[most_kept_norms] = {}, betas[most_kept_norms] = {};  ///< the same of α and β
  double largest = 0;  ///< of what ‖A‖ cannot be less than
  double alpha = 0, beta = 0, gamma = 0, omega = 0, rho = 0;
  double shadow = 0;  ///< ‖r̂‖ of BiCGSTAB
  // MINRES: of the Lanczos vectors (`scale` makes a residual's 2-norm of what they tell), of the last
  // rotation and the one before it, and of the next search direction.
  double delta = 0, gamma_before = 0, eta = 0, scale = 1;
  double c = 1, s = 0, c_before = 1, s_before = 0;
  double of_z = 0, of_before = 0, of_last = 0, step = 0;
};

/// The end of an iteration, with the norm that it leaves.
GRIDSTRIDE_HOST_DEVICE inline void record(State& state, double norm) {
  state.norm = norm;
  ++state.iteration;
  state.norms[state.iteration % most_kept_norms] = norm;
  state.alphas[state.iteration % most_kept_norms] = state.alpha;
  state.betas[state.iteration % most_kept_norms] = state.beta;
  state.first = 0;
  if (!(norm <= std::numeric_limits<double>::max()))
    state.stop = Stop::not_finite;
  else if (norm <= state.target)
    state.stop = Stop::reached;
  else if (norm > state.most)
    state.stop = Stop::diverged;
}

/// What is small enough, beside the largest, to be what rounding has made of a 0 in the sums of long
/// recurrences: ε^(3/4).
GRIDSTRIDE_HOST_DEVICE inline double nothing(State const& state) {
  return std::sqrt(state.epsilon * std::sqrt(state.epsilon));
}

GRIDSTRIDE_HOST_DEVICE inline double exact(double a, double b) { return a * b; }

/// Of passes that need no factors.
struct NoFactors {};

/// r ← b − w and ‖r‖; ‖b‖ in `gamma`, Σ|b| in `delta`.
template <class T>
struct Residual {
  static constexpr int sums = 3;
  T const *b, *w;
  T* r;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    T const right = b[i], left = right - w[i];
    r[i] = left;
    sum[0] += exact(left, left);
    sum[1] += exact(right, right);
    sum[2] += std::abs(static_cast<double>(right));
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    state.norm = std::sqrt(sum[0]);
    state.gamma = std::sqrt(sum[1]);
    state.delta = sum[2];
  }
};

/// a·b, in `gamma`.
template <class T>
struct Dot {
  static constexpr int sums = 1;
  T const *a, *b;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double* sum) const {
    sum[0] += exact(a[i], b[i]);
  }
  GRIDSTRIDE_HOST_DEVICE void finish(double const* sum, State& state) const {
    state.gamma = sum[0];
  }
};

/// r ← b − w, without a look at its norm.
template <class T>
struct Replace {
  static constexpr int sums = 0;
  T const *b, *w;
  T* r;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, double*) const { r[i] = b[i] - w[i]; }
};

/// z ← d·r, element by element, with one d for all right-hand sides.
template <class T>
struct Multiply {
  static constexpr int sums = 0;
  T const *d, *r;
  T* z;
  GRIDSTRIDE_HOST_DEVICE NoFactors begin(State const&) const { return {}; }
  GRIDSTRIDE_HOST_DEVICE void each(NoFactors, std::int64_t i, std::int64_t k, double*) const {
    z[i] = d[k] * r[i];
  }
};

}  // namespace gridstride::krylov

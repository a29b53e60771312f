#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gridstride {

/// One stage of an explicit scheme for u_t = L(u, t), with a step dt from t, over buffers numbered
/// from that of the state, 0:
///
///   out = base + factor·dt·L(in) + in_weight·(in − base) + Σ weight·(buffer − base)
struct Stage {
  int in = 0;
  int base = 0;
  int out = 1;
  double factor = 1;
  double in_weight = 0;
  std::vector<std::pair<int, double>> terms = {};  ///< buffer, weight
  double time = 0;  ///< that coefficients and derivatives on sides are taken at: t + time·dt
  /// What u is on sides where it is given: weights of those values at t, t + dt/2 and t + dt.
  std::array<double, 3> sides = {0, 0, 1};
  bool sides_at_time = false;  ///< instead: that value at `time`
};

/// An explicit scheme: the new state is in buffer 0, or in 1 where the two alternate.
struct Scheme {
  std::string_view name;
  int buffers;
  bool alternates;
  double stability_extent;  ///< for u_t = λu it is stable with real dt·λ in [−extent, 0]
  std::vector<Stage> stages;

  /// Buffers beside that of the state and one for the new state.
  int scratch() const { return buffers - (alternates ? 2 : 1); }
  /// Whether values on sides are mixed from several moments.
  bool mixes_sides() const;
};

/// A stage of a scheme that keeps its slopes k_i = L(y_i): y_i = y + dt·Σ weight·k over the slopes
/// before it.
struct SlopeStage {
  Stage moment;                 ///< its `time`, and what u is on sides where it is given
  int slope = 0;                ///< the place of k_i
  std::vector<double> weights;  ///< of the stages before it
};

/// An explicit Runge-Kutta scheme by its slopes, with an estimate of the error of a step:
///
///   y' = y + dt·Σ weight·k,   error = dt·Σ error·k
///
/// Buffers: 0 has the state, 1 the value of a stage, the others the slopes by their places.
struct SlopeScheme {
  Scheme scheme;  ///< its name and buffers; of each stage the moment alone
  std::vector<SlopeStage> stages;
  /// Empty: the value of the last stage is the new state, and its slope the next step's first.
  std::vector<double> weights;
  std::vector<double> error;
  int error_order;  ///< the error goes with dt^error_order
  int degree;       ///< of the polynomial that tells where it is stable

  bool first_is_last() const { return weights.empty(); }
};

/// Those schemes of `schemes()` that steps may follow the error of, `rk45` and `leapfrog`, which are
/// by their slopes alone. The order of the state is that of the scheme; the second estimate comes from
///
///   euler    Heun's method, with the slope of the new state
///   ssp_rk2  forward Euler
///   ssp_rk3  Heun's method, in the same stages
///   rk4      order 3 with a stage more at 3/4 of the step (Zonneveld; Hairer, Nørsett and Wanner,
///            Solving Ordinary Differential Equations I, table II.4.2)
///   rk45     order 4 (Dormand and Prince, J. Comput. Appl. Math. 6 (1980))
///
/// `leapfrog` is for u_tt = L(u, t) alone, and has no second estimate: of its two slopes the first is
/// L at the beginning of a step and the second at the end,
///
///   v = u_t + dt/2·L(u),   u' = u + dt·v,   u_t' = v + dt/2·L(u')
///
/// (velocity Verlet). Its u are those of u'' − 2u' + u = dt²·L(u'). It is stable for ω·dt ≤ 2 where
/// L is −ω².
SlopeScheme const& find_slope_scheme(std::string_view name);

/// Every scheme: `euler` (forward Euler), `midpoint` (the same with coefficients at the middle of
/// the step), `ssp_rk2` (Heun's method) and `ssp_rk3` (Shu and Osher, J. Comput. Phys. 77 (1988)),
/// `rk4` (the classical Runge-Kutta method). But for `midpoint`, each has the order of its number of
/// stages.
std::span<Scheme const> schemes();

/// Throws `std::invalid_argument` for a name that there is not.
Scheme const& find_scheme(std::string_view name);

}  // namespace gridstride

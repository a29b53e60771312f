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
};

/// An explicit scheme: the new state is in buffer 0, or in 1 where the two alternate.
struct Scheme {
  std::string_view name;
  int buffers;
  bool alternates;
  double stability_extent;  ///< for u_t = λu it is stable with real dt·λ in [−extent, 0]
  std::vector<Stage> stages;

  /// Whether values on sides are mixed from several moments.
  bool mixes_sides() const;
};

/// Every scheme: `euler` (forward Euler), `midpoint` (the same with coefficients at the middle of
/// the step), `ssp_rk2` (Heun's method) and `ssp_rk3` (Shu and Osher, J. Comput. Phys. 77 (1988)),
/// `rk4` (the classical Runge-Kutta method). But for `midpoint`, each has the order of its number of
/// stages.
std::span<Scheme const> schemes();

/// Throws `std::invalid_argument` for a name that there is not.
Scheme const& find_scheme(std::string_view name);

}  // namespace gridstride

#pragma once

#include <string>
#include <vector>

#include "equations/system.hpp"

/// What of a system implicit steps may take field by field: how each diffuses and decays by itself,
/// with coefficients that differ from place to place.
namespace gridstride::equations {

/// ∇·(D∇u) − κ·u of a component u; D is a formula of space and time, κ one of space.
struct OwnDiffusion {
  Term coefficient = -1;  ///< D; −1: the component has none, and no κ
  Term decay = -1;        ///< κ, nowhere negative

  bool is_there() const { return coefficient >= 0; }
};

struct DiffusionSplit {
  System rest;                      ///< with what is left of the rates
  std::vector<OwnDiffusion> own;    ///< of each component, in terms of `rest`
  std::vector<std::string> faults;  ///< why one cannot be taken so; else empty

  bool has_diffusion() const;
};

/// Splits the rates: rest + ∇·(D∇u) − κ·u = rate. D comes from terms `div(D*grad(u))`, and
/// `D*laplace(u)` where D is a number, along all axes alike; κ from terms of u alone, times formulas
/// of space: of c·u that is max(−c, 0), and max(c, 0)·u is left. Sums, differences, and what
/// multiplies or divides them are gone into. What sides give of a flux is left; such a flux is the only
/// diffusion along its axis, and ∇·(D∇u) has no flux through these sides then. A component is at fault where its rate has derivatives
/// of its own of second order or higher that are not of this form.
DiffusionSplit split_diffusion(System const& system);

}  // namespace gridstride::equations

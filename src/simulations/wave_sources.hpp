#pragma once

#include <array>
#include <span>
#include <vector>

#include "grid/grid.hpp"
#include "kernels/star/star.hpp"
#include "simulations/wave_parameters.hpp"

namespace gridstride::wave {

/// The point sources as terms of `star::add_ricker`, ordered by their points. A source between
/// points is shared among the 2^dims around it with the weights of multilinear interpolation, so
/// that the integral of what they add, by the trapezoidal rule, is the amplitude; of sides that are
/// fixed nothing is left. `sigma` is the damping along each axis, empty where there is none.
std::vector<star::RickerTerm> ricker_terms(std::span<Ricker const> sources, Grid const& grid,
                                           std::array<std::array<SideKind, 2>, 3> const& sides,
                                           std::array<std::vector<double>, 3> const& sigma);

}  // namespace gridstride::wave

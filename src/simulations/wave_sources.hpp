#pragma once

#include <vector>

#include "kernels/star/star.hpp"
#include "simulations/wave_parameters.hpp"

namespace gridstride::wave {

/// The point sources as terms of `star::add_ricker`, ordered by their points. A source between
/// points is shared among the 2^dims around it with the weights of multilinear interpolation, so
/// that the integral of what they add, by the trapezoidal rule, is the amplitude; of sides that are
/// fixed nothing is left.
std::vector<star::RickerTerm> ricker_terms(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::wave

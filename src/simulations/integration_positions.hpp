#pragma once

#include "kernels/reduce/running_operations.hpp"
#include "simulations/transform_chain.hpp"

/// Integrals of samples at any distances, as arrays of a chain.
namespace gridstride::integration {

/// Places of arrays in a chain.
struct Positions {
  int file;       ///< the positions
  int distances;  ///< of each from the one before, without the first
  int parts;      ///< these add up to the integral
};

/// Appends what the integral of the samples at `samples` needs, by trapezoid or simpson, for n ≥ 2
/// positions p. With h = p_i − p_(i−1) and k = p_(i+1) − p_i, as scipy.integrate has them:
///
///   trapezoid  each i has ½·(h + k)·f_i, where a distance beyond an end is 0
///   simpson    each odd i has the integral of the parabola through i − 1, i and i + 1; where n is
///              even, the last interval has that of the parabola through the last three
Positions append_positions(transform::Chain& chain, int samples, config::FieldSource const& source,
                           reduce::Rule rule);

}  // namespace gridstride::integration

#pragma once

#include "kernels/multigrid/level.hpp"
#include "kernels/multigrid/multigrid.hpp"

/// The textbook's methods on a level. For the family's own files only.
namespace gridstride::multigrid {

/// Queues so many sweeps from u = 0. The level's r is used, too.
void relax(Stream& stream, Level<double> const& level, Relaxation method, double factor,
           int sweeps);

/// What a sweep leaves of the smooth errors that it takes least from, where a and κ are the same everywhere; 0 where
/// there are none.
double slowest_rate(Relaxation method, double factor, Grid const& grid, poisson::Sides const& sides,
                    double diffusivity, double reaction);

/// By which the error of what sweeps have come to is found: to a thousandth, which is enough to tell whether it is
/// small.
inline Options options_of_error() { return {.conjugates = true, .tolerance = 1e-3}; }

}  // namespace gridstride::multigrid

// Jacobi's method takes all points at once, from one array to the other. Gauss and Seidel's takes a
// colour after the other, each from what the one before has come to; with a factor other than 1 it is
// successive over-relaxation. Both depend on where they are alone, so that going on from a correction
// of the residual, which is found anew in float64, is the same as going on.

#include "kernels/multigrid/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/multigrid/rows.hpp"
#include "kernels/poisson/transform.hpp"

namespace gridstride::multigrid {

void relax(Stream& stream, Level<double> const& level, Relaxation method, double factor,
           int sweeps) {
  auto const size = static_cast<std::size_t>(2 * level.colour);
  if (method == Relaxation::in_turn) {
    zero_async(std::span(level.u, size), stream);
    int const phases = level.has_seam() ? RelaxPhase<double>::phases : 2;
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (int phase = 0; phase < phases; ++phase)
        each(stream, Sweep<double>{level, phase, factor, level.u, level.u});
    return;
  }
  // So that the last one goes to u.
  double *from = sweeps % 2 == 0 ? level.u : level.r, *to = sweeps % 2 == 0 ? level.r : level.u;
  zero_async(std::span(from, size), stream);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    each(stream, Sweep<double>{level, Sweep<double>::all, factor, from, to});
    std::swap(from, to);
  }
}

namespace {

/// 1 − μ, μ the largest eigenvalue of Jacobi's matrix that is no constant's.
double least_share(Grid const& grid, poisson::Sides const& sides, double diffusivity,
                   double reaction) {
  // The least eigenvalue of −∇·(a∇u) that is no constant's, as a sum over the axes.
  double least = 0, next = std::numeric_limits<double>::infinity(), diagonal = reaction;
  for (int axis = 0; axis < grid.dims; ++axis) {
    auto of_axis = poisson::eigenvalues(grid, sides, axis);
    std::ranges::sort(of_axis);
    double const h = grid.spacing[axis];
    least += diffusivity * of_axis[0];
    diagonal += 2 * diffusivity / (h * h);
    if (of_axis.size() > 1) next = std::min(next, diffusivity * of_axis[1]);
  }
  return (least + reaction > 0 ? least + reaction : next) / diagonal;
}

}  // namespace

double optimal_factor(Grid const& grid, poisson::Sides const& sides, double diffusivity,
                      double reaction) {
  double const share = least_share(grid, sides, diffusivity, reaction);
  return 2 / (1 + std::sqrt(share * (2 - share)));
}

double slowest_rate(Relaxation method, double factor, Grid const& grid, poisson::Sides const& sides,
                    double diffusivity, double reaction) {
  double const share = least_share(grid, sides, diffusivity, reaction);
  if (!(share > 0 && share < 1)) return 0;
  if (method == Relaxation::jacobi) return 1 - factor * share;
  // λ + ω − 1 = ω·μ·√λ (Young, Trans. AMS 76 (1954)).
  double const half = factor * (1 - share) / 2, square = half * half - (factor - 1);
  if (square <= 0) return factor - 1;
  double const root = half + std::sqrt(square);
  return root * root;
}

}  // namespace gridstride::multigrid

#pragma once

// Which sample of a composite rule is the first that is not finite: a second look at one integral
// whose sum was not. A thread takes every T-th sample, and the least number wins, which is the
// leftmost sample, for a rule's nodes are in ascending order. 8 bytes are written.

#include "kernels/riemann/team.cuh"

namespace gridstride::quadrature {

/// `first` holds the largest number before, and the least number of a sample that is not finite
/// after. Number `count` is the sample at the upper end of a closed rule.
extern "C" __global__ void __launch_bounds__(largest_block)
    locate(Samples s, double const* parameter_row, unsigned long long* first) {
  Team const team(static_cast<int>(gridDim.x));
  ParameterRow const row(parameter_row, 0);
  Place const step(team.threads, s.nodes);
  Place place(team.thread, s.nodes);
  for (long long i = team.thread; i < s.count(); i += team.threads) {
    if (!isfinite(value_at(position(s, place), row))) {
      atomicMin(first, static_cast<unsigned long long>(i));
      return;
    }
    place.advance(step, s.nodes);
  }
  if (team.thread == 0 && s.closed() && !isfinite(value_at(static_cast<Real>(s.upper), row)))
    atomicMin(first, static_cast<unsigned long long>(s.count()));
}

}  // namespace gridstride::quadrature

// The panels of a running integral: a thread has a panel and takes all its samples, which do not
// depend on each other. 16 bytes are written for a panel; family `scan` adds the panels up.

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/integrand/block_totals.cuh"

namespace gridstride::quadrature {

/// Value and error of panel i go to place i + 1; place 0 becomes 0.
extern "C" __global__ void integrate_panels(double lower, double upper, long long panels,
                                            double const* parameter_row, double* values,
                                            double* errors) {
  long long const i = thread_number();
  if (i == 0) values[0] = errors[0] = 0;
  if (i >= panels) return;
  ParameterRow const row(parameter_row, 0);
  Panel const panel = panel_of(lower, upper, i, panels);
  constexpr int count = kronrod_samples<KRONROD_POINTS>;
  Real samples[count];
#pragma unroll 3
  for (int k = 0; k < count; ++k) {
    Real const x = static_cast<Real>(kronrod_place<KRONROD_POINTS>(panel.lower, panel.upper, k));
    samples[k] = integrand(&x, row.values);
  }
  IntervalEstimate const estimate =
      kronrod_estimate<KRONROD_POINTS>(samples, panel.lower, panel.upper);
  values[i + 1] = estimate.value;
  errors[i + 1] = estimate.error;
}

}  // namespace gridstride::quadrature

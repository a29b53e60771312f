// Double exponential integration of many integrals at once.
//
// A block has an integral and takes level after level until the change is small enough: its threads
// share the new samples of a level, and the totals of all threads are added in a fixed order, so
// that every thread takes the same decision. Nothing is written but the result. A sample costs the
// integrand and two exponentials for its place; they are computed where they are needed, which
// costs less than a table would that is read from memory by each integral.

#include "kernels/adaptive/tanh_sinh.hpp"
#include "kernels/integrand/block_totals.cuh"

namespace gridstride::quadrature {

extern "C" __global__ void integrate_tanh_sinh(DoubleExponential map, double const* parameter_rows,
                                               Goal goal, int max_level, IntegralResult* results) {
  ParameterRow const row(parameter_rows, blockIdx.x);
  DoubleExponentialSums all;
  DoubleExponentialHistory history;
  HalfwayPlaces const halfway = halfway_places<Real>(map);
  for (int level = DoubleExponentialLevel::start;; ++level) {
    DoubleExponentialLevel const nodes = level_of<Real>(map, level);
    DoubleExponentialSums own;
    for (long long i = threadIdx.x; i < nodes.count; i += blockDim.x) {
      DoubleExponentialNode const node = node_at(map, nodes.t(i));
      Real const x = static_cast<Real>(node.x);
      if (is_inside(map, x)) own.add(nodes.t(i), node.weight, integrand(&x, row.values), halfway);
    }
    all.add(added_in_block(own));
    __syncthreads();
    IntegralResult const result =
        take_level<Real>(history, all, map, nodes.step, goal, level == max_level);
    if (result.verdict == Verdict::go_on) continue;
    if (threadIdx.x == 0) results[blockIdx.x] = result;
    return;
  }
}

}  // namespace gridstride::quadrature

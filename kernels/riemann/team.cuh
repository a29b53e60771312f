#pragma once

// What the kernels of composite rules share: which threads work on which integral, the sums of a
// warp and a block, and the pass that makes results of them. Comes after the generated `Real`,
// `parameters` and `integrand`.

#include "kernels/integrand/block_totals.cuh"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/samples.hpp"

namespace gridstride::quadrature {

constexpr int largest_block = 256;

/// The threads of `blocks` successive blocks, which work on one integral.
struct Team {
  long long integral;
  long long thread;   ///< of this team
  long long threads;  ///< a multiple of 32

  __device__ explicit Team(int blocks)
      : integral(blockIdx.x / blocks),
        thread(static_cast<long long>(blockIdx.x % blocks) * blockDim.x + threadIdx.x),
        threads(static_cast<long long>(blocks) * blockDim.x) {}
};

/// A sample by its number: cell number / nodes, node number mod nodes. Where the number grows by
/// the same again and again, its parts do too, and nothing is divided.
struct Place {
  long long cell;
  int node;

  __device__ Place(long long number, int nodes)
      : cell(number / nodes), node(static_cast<int>(number - cell * nodes)) {}
  __device__ void advance(Place const& step, int nodes) {
    cell += step.cell;
    node += step.node;
    if (node >= nodes) {
      node -= nodes;
      ++cell;
    }
  }
};

__device__ inline Real position(Samples const& s, Place const& place) {
  return static_cast<Real>(s.at(static_cast<double>(place.cell), s.offsets[place.node]));
}

/// f with the library's functions. A function of its own, for it is needed where little time is
/// spent, and a copy of the formula at each place takes time to compile.
__device__ __noinline__ Real value_at(Real x, ParameterRow const& row) {
  return integrand(&x, row.values);
}

/// The sum of a warp in lane 0, as a tree.
__device__ inline Sums warp_total(Sums sums) {
  for (int distance = 1; distance < 32; distance *= 2) {
    Sums other;
    other.fine.high = __shfl_down_sync(~0u, sums.fine.high, distance);
    other.fine.low = __shfl_down_sync(~0u, sums.fine.low, distance);
    other.coarse.high = __shfl_down_sync(~0u, sums.coarse.high, distance);
    other.coarse.low = __shfl_down_sync(~0u, sums.coarse.low, distance);
    other.magnitude = __shfl_down_sync(~0u, sums.magnitude, distance);
    sums.add(other);
  }
  return sums;
}

/// The sum of a block in thread 0: each warp by shuffles, then its warps one after the other.
__device__ inline Sums block_total(Sums const& own) {
  __shared__ double memory[largest_block / 32 * sizeof(Sums) / sizeof(double)];
  auto* const of_warps = reinterpret_cast<Sums*>(memory);
  Sums total = warp_total(own);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int warp = 1; warp < static_cast<int>(blockDim.x) / 32; ++warp) total.add(of_warps[warp]);
  return total;
}

/// The last pass: a block for each integral adds the `count` partial sums there are of it, always
/// in the same order, and makes value and error of them.
extern "C" __global__ void __launch_bounds__(largest_block)
    finish(Samples s, double const* parameter_rows, Sums const* partials, long long count,
           IntegralResult* results) {
  long long const integral = blockIdx.x;
  Sums sums;
  for (long long i = threadIdx.x; i < count; i += blockDim.x)
    sums.add(partials[integral * count + i]);
  sums = block_total(sums);
  if (threadIdx.x > 0) return;
  ParameterRow const row(parameter_rows, integral);
  double const f_lower = s.closed() ? value_at(static_cast<Real>(s.lower), row) : 0;
  double const f_upper = s.closed() ? value_at(static_cast<Real>(s.upper), row) : 0;
  RuleValue const result = rule_value(s, sums, f_lower, f_upper);
  results[integral] = {result.value, result.error, s.evaluations,
                       result.finite ? Verdict::reached : Verdict::non_finite, result.rounding};
}

}  // namespace gridstride::quadrature

#pragma once

// The ladder of sums below `compensated` (compensated.cuh). Nothing is read but weights; what
// differs is who adds, and where the sums of threads meet. The work of a sample is the formula's,
// about 50 float64 instructions for exp(x)*sin(x) with the library's functions.
//
//   naive        a thread for each sample, which adds to three numbers in global memory: atomic
//                additions to one address come one after the other
//   grid_stride  as many threads as the GPU holds, each with every T-th sample; a thread writes its
//                sum of 40 bytes, and a second kernel adds those in a fixed order
//   unrolled     four samples a turn, independent of each other, so that one's latency hides
//                another's
//   warp         the sums of a warp meet in registers, and it writes one
//   shared       those of a block meet in shared memory, as a tree, and it writes one

#include "kernels/riemann/team.cuh"

namespace gridstride::quadrature {

/// One sample into plain sums.
__device__ inline void take(Sums& sums, Samples const& s, ParameterRow const& row,
                            Place const& place) {
  Real const x = position(s, place);
  double const f = integrand(&x, row.values);
  sums.fine.high += s.fine[place.node] * f;
  sums.coarse.high += s.coarse[place.node] * f;
  sums.magnitude += s.fine[place.node] * fabs(f);
}

__device__ inline void combine(Sums& sums, Sums const& other) {
  sums.fine.high += other.fine.high;
  sums.coarse.high += other.coarse.high;
  sums.magnitude += other.magnitude;
}

/// A thread's samples, `unroll` of them a turn.
template <int unroll>
__device__ Sums sum_of_thread(Samples const& s, ParameterRow const& row, Team const& team) {
  Sums sums[unroll];
  Place const step(team.threads, s.nodes);
  Place place(team.thread, s.nodes);
  long long i = team.thread;
  for (; i + (unroll - 1) * team.threads < s.count(); i += unroll * team.threads)
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      take(sums[u], s, row, place);
      place.advance(step, s.nodes);
    }
  for (; i < s.count(); i += team.threads) {
    take(sums[0], s, row, place);
    place.advance(step, s.nodes);
  }
#pragma unroll
  for (int u = 1; u < unroll; ++u) combine(sums[0], sums[u]);
  return sums[0];
}

extern "C" __global__ void __launch_bounds__(largest_block)
    naive(Samples s, double const* parameter_rows, int blocks, Sums* partials) {
  Team const team(blocks);
  if (team.thread >= s.count()) return;
  Sums own;
  take(own, s, ParameterRow(parameter_rows, team.integral), Place(team.thread, s.nodes));
  atomicAdd(&partials[team.integral].fine.high, own.fine.high);
  atomicAdd(&partials[team.integral].coarse.high, own.coarse.high);
  atomicAdd(&partials[team.integral].magnitude, own.magnitude);
}

extern "C" __global__ void __launch_bounds__(largest_block)
    grid_stride(Samples s, double const* parameter_rows, int blocks, Sums* partials) {
  Team const team(blocks);
  ParameterRow const row(parameter_rows, team.integral);
  partials[thread_number()] = sum_of_thread<1>(s, row, team);
}

extern "C" __global__ void __launch_bounds__(largest_block)
    unrolled(Samples s, double const* parameter_rows, int blocks, Sums* partials) {
  Team const team(blocks);
  ParameterRow const row(parameter_rows, team.integral);
  partials[thread_number()] = sum_of_thread<4>(s, row, team);
}

extern "C" __global__ void __launch_bounds__(largest_block)
    warp(Samples s, double const* parameter_rows, int blocks, Sums* partials) {
  Team const team(blocks);
  ParameterRow const row(parameter_rows, team.integral);
  Sums const sums = warp_total(sum_of_thread<4>(s, row, team));
  if (threadIdx.x % 32 == 0) partials[thread_number() / 32] = sums;
}

extern "C" __global__ void __launch_bounds__(largest_block)
    shared(Samples s, double const* parameter_rows, int blocks, Sums* partials) {
  __shared__ double memory[largest_block * sizeof(Sums) / sizeof(double)];
  auto* const of_threads = reinterpret_cast<Sums*>(memory);
  Team const team(blocks);
  ParameterRow const row(parameter_rows, team.integral);
  int const thread = static_cast<int>(threadIdx.x);
  of_threads[thread] = sum_of_thread<4>(s, row, team);
  for (int size = static_cast<int>(blockDim.x); size > 1;) {
    int const half = (size + 1) / 2;  // a block need not have a power of two of threads
    __syncthreads();
    if (thread < size - half) combine(of_threads[thread], of_threads[thread + half]);
    size = half;
  }
  if (thread == 0) partials[blockIdx.x] = of_threads[0];
}

}  // namespace gridstride::quadrature

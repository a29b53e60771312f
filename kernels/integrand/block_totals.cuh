#pragma once

// What the kernels of integrals to a tolerance share: threads and their parameters, totals of a
// block. Comes after the generated `Real`, `parameters` and `integrand`.

namespace gridstride::quadrature {

__device__ inline long long thread_number() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// The parameters of one integral, from an array with a row for each.
struct ParameterRow {
  Real values[parameters + 1];

  __device__ ParameterRow(double const* rows, long long integral) {
    for (int k = 0; k < parameters; ++k)
      values[k] = static_cast<Real>(rows[integral * parameters + k]);
  }
};

/// The sum of all threads' totals, in every thread, in a fixed order. The block has a power of two
/// of threads, and dynamic shared memory for a `Totals` of each; nobody may still read it.
template <class Totals>
__device__ Totals added_in_block(Totals const& own) {
  extern __shared__ double shared_memory[];
  auto* const totals = reinterpret_cast<Totals*>(shared_memory);
  int const thread = static_cast<int>(threadIdx.x);
  totals[thread] = own;
  for (int distance = static_cast<int>(blockDim.x) / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance) totals[thread].add(totals[thread + distance]);
  }
  __syncthreads();
  return totals[0];
}

}  // namespace gridstride::quadrature

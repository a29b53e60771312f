// Elimination along an axis on the GPU: a thread for each system, down and up, with what it needs of
// its unknowns in memory, side by side with that of others. Where the axis is not x, neighbouring
// threads read neighbouring values too. 2·sizeof(T) + 32 bytes for each unknown, or 48 of a periodic
// axis; coefficients are the same for all threads, and come from the caches.

#include <cuda_runtime_api.h>

#include "kernels/poisson/elimination.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::poisson {

namespace {

constexpr int threads_of_layers = 128;

template <class T>
__global__ void __launch_bounds__(threads_of_layers) eliminate_kernel(Layers<T> w, double* work) {
  std::int64_t const of_p = w.a.count[w.others[0]], systems = of_p * w.a.count[w.others[1]];
  std::int64_t const system = std::int64_t{blockIdx.x} * threads_of_layers + threadIdx.x;
  if (system >= systems) return;
  std::int64_t const q = system / of_p;
  eliminate(w, system - q * of_p, q, work + system, systems);
}

}  // namespace

template <class T>
void cuda_eliminate(Stream& stream, Layers<T> const& w, double* work) {
  std::int64_t const systems = w.a.count[w.others[0]] * w.a.count[w.others[1]];
  eliminate_kernel<<<blocks_for(systems, threads_of_layers), threads_of_layers, 0,
                     native(stream)>>>(w, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson layers");
}

template void cuda_eliminate(Stream&, Layers<float> const&, double*);
template void cuda_eliminate(Stream&, Layers<double> const&, double*);

}  // namespace gridstride::poisson

// Elimination along an axis on the GPU, of lines that do not stay on the chip (cuda_on_chip.cu): a
// thread for each system, down and up, eight rows at a time,
// which it has loaded before it needs the first. On the way down values take the place of right-hand
// sides, and a number for every eight rows is kept: pivots are made once more on the way up, which
// is less than to read them. 4·sizeof(T) + 2 bytes for each unknown, or 4 of a periodic axis. Where
// the axis is not x, neighbouring threads have neighbouring values; coefficients are the same for
// all threads, and come from the caches.

#include <cuda_runtime_api.h>

#include "kernels/poisson/elimination.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::poisson {

namespace {

constexpr int threads_of_layers = 128;

/// Of so few registers that five blocks are on a multiprocessor.
template <bool periodic, bool same, class T>
__global__ void __launch_bounds__(threads_of_layers, 5)
    eliminate_kernel(__grid_constant__ Layers<T> const w, std::int64_t first, std::int64_t last,
                     double* kept) {
  std::int64_t const index = std::int64_t{blockIdx.x} * threads_of_layers + threadIdx.x;
  std::int64_t const system = first + index, of_p = w.a.count[w.others[0]];
  if (system >= last) return;
  std::int64_t const q = system / of_p;
  eliminate<periodic, same>(w, system - q * of_p, q, kept + index, last - first);
}

}  // namespace

template <class T>
void cuda_eliminate(Stream& stream, Layers<T> const& w, double* kept) {
  if (stays_on_chip(stream.device(), w)) return cuda_eliminate_on_chip(stream, w);
  for_all_systems(w, [&](auto periodic, auto same, std::int64_t first, std::int64_t last) {
    if (last == first) return;
    eliminate_kernel<periodic(), same()>
        <<<blocks_for(last - first, threads_of_layers), threads_of_layers, 0, native(stream)>>>(
            w, first, last, kept);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson layers");
  });
}

template void cuda_eliminate(Stream&, Layers<float> const&, double*);
template void cuda_eliminate(Stream&, Layers<double> const&, double*);

}  // namespace gridstride::poisson

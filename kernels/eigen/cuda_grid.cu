// Differences on a grid for several vectors at once: a thread for each point, whose faces it finds
// once, then one vector after the other. Neighbours along x come from the same lines, those along y
// and z from the caches, so that each vector is read once and written once.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/eigen/grid_rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::eigen {

namespace {

constexpr int width = 64, height = 4;

template <class Step>
__global__ void __launch_bounds__(width* height)
    unknowns_kernel(__grid_constant__ Step const step) {
  auto const& a = step.a;
  std::int64_t const i = std::int64_t{blockIdx.x} * width + threadIdx.x;
  if (i >= a.count[0]) return;
  std::int64_t const first = std::int64_t{blockIdx.y} * height + threadIdx.y;
  for (std::int64_t k = blockIdx.z; k < a.count[2]; k += gridDim.z)
    for (std::int64_t j = first; j < a.count[1]; j += std::int64_t{gridDim.y} * height) {
      std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
      step(at);
    }
}

}  // namespace

template <class Step>
void cuda_for_unknowns(Stream& stream, Step const& step) {
  constexpr std::int64_t most = 65535;
  auto const& a = step.a;
  dim3 const grid(blocks_for(a.count[0], width),
                  static_cast<unsigned>(std::min((a.count[1] + height - 1) / height, most)),
                  static_cast<unsigned>(std::min(a.count[2], most)));
  unknowns_kernel<<<grid, dim3(width, height), 0, native(stream)>>>(step);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen grid");
}

template void cuda_for_unknowns(Stream&, GridProduct<float> const&);
template void cuda_for_unknowns(Stream&, GridProduct<double> const&);
template void cuda_for_unknowns(Stream&, GridWeights<float> const&);
template void cuda_for_unknowns(Stream&, GridWeights<double> const&);

}  // namespace gridstride::eigen

// The kernel `lines`: a pass, of which each block has its lines. For NVRTC, which finds the constants
// of blocks.cuh before this.

#include "kernels/fft/blocks/blocks.cuh"

namespace gridstride::fft {

extern "C" __global__ void __launch_bounds__(threads, resident_blocks())
    lines(__grid_constant__ LineWork<Real> const work) {
  extern __shared__ __align__(16) unsigned char memory[];
  run_lines(work, memory, static_cast<long long>(blockIdx.x) * block_lines);
}

}  // namespace gridstride::fft

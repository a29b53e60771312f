#pragma once

#include <cuda_runtime_api.h>

#include "kernels/support/launch.cuh"

/// Kernels of cycles one behind the other. For the family's own files only.
namespace gridstride::multigrid {

/// To be called by all threads of a kernel that is launched by `follow`, before they look at what the one
/// before has written, and write themselves. What is older lies there, too: that kernel has waited
/// before it.
__device__ inline void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Launches a kernel whose blocks may take their places, and load what never changes, while the one before
/// ends: a launch takes as long as a small level.
template <class... Parameters, class... Arguments>
void follow(Stream& stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, Arguments const&... arguments) {
  // Of older GPUs, or compiled for them, kernels do not wait, and must not begin.
  cudaFuncAttributes attributes{};
  GRIDSTRIDE_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = grid;
  configuration.blockDim = block;
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = native(stream);
  configuration.attrs = &early;
  configuration.numAttrs = attributes.ptxVersion >= 90 ? 1 : 0;
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(&configuration, kernel, Parameters(arguments)...));
}

}  // namespace gridstride::multigrid

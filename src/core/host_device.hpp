#pragma once

/// Marks a function that runs on the host and, compiled by nvcc or NVRTC, on the GPU too.
#ifdef __CUDACC__
#define GRIDSTRIDE_HOST_DEVICE __host__ __device__
#else
#define GRIDSTRIDE_HOST_DEVICE
#endif

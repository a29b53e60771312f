// Dense symmetric matrices on the GPU, by cuSOLVER, which is loaded when it is first called. It has
// matrices by columns: a symmetric one is the same by rows, and modes in columns are rows.

#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/vendor_library.hpp"
#include "kernels/eigen/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::eigen {

namespace {

VendorLibrary const& cusolver() {
  static VendorLibrary const library("libcusolver.so.12");
  return library;
}

void check(cusolverStatus_t status, char const* call, int line) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw CudaError(call, __FILE__, line, "status " + std::to_string(static_cast<int>(status)));
}

#define GRIDSTRIDE_CUSOLVER(name, ...)                                        \
  do {                                                                        \
    static auto* const function = cusolver().function<decltype(name)>(#name); \
    check(function(__VA_ARGS__), #name, __LINE__);                            \
  } while (false)

/// What every call wants to be given, kept for the rest of the program.
struct Handles {
  cusolverDnHandle_t solver = nullptr;
  cusolverDnParams_t parameters = nullptr;
};

Handles const& handles(Stream& stream) {
  thread_local std::map<int, Handles> of_devices;
  Handles& h = of_devices[stream.device().ordinal()];
  if (h.parameters == nullptr) {
    GRIDSTRIDE_CUSOLVER(cusolverDnCreate, &h.solver);
    GRIDSTRIDE_CUSOLVER(cusolverDnCreateParams, &h.parameters);
  }
  GRIDSTRIDE_CUSOLVER(cusolverDnSetStream, h.solver, native(stream));
  return h;
}

}  // namespace

void cuda_cusolver(Stream& stream, std::int64_t n, double* matrix, double* values) {
  if (is_capturing(stream))
    throw std::invalid_argument("eigen: 'cusolver' waits for the device, as no graph can");
  auto const& h = handles(stream);
  std::size_t bytes = 0, host_bytes = 0;
  GRIDSTRIDE_CUSOLVER(cusolverDnXsyevd_bufferSize, h.solver, h.parameters, CUSOLVER_EIG_MODE_VECTOR,
                      CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, matrix, n, CUDA_R_64F, values,
                      CUDA_R_64F, &bytes, &host_bytes);
  Buffer<std::byte> work(stream, MemorySpace::device, bytes);
  std::vector<std::byte> host_work(host_bytes);
  Buffer<int> info(stream, MemorySpace::device, 1);
  GRIDSTRIDE_CUSOLVER(cusolverDnXsyevd, h.solver, h.parameters, CUSOLVER_EIG_MODE_VECTOR,
                      CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, matrix, n, CUDA_R_64F, values,
                      CUDA_R_64F, work.data(), bytes, host_work.data(), host_bytes, info.data());
  std::vector<int> said(1);
  copy_async(std::span(said), std::as_const(info).span(), stream);
  stream.synchronize();
  if (said[0] != 0)
    throw NumericalError("eigen: cuSOLVER's syevd ends with info = " + std::to_string(said[0]));
}

}  // namespace gridstride::eigen

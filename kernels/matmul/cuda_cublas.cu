// cuBLAS, NVIDIA's library, to compare with: `cublas` in true float32 and float64, `cublas_tf32`
// with float32 operands rounded to TF32 on the tensor cores. It is loaded when it is first called.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <map>

#include "core/buffer.hpp"
#include "core/vendor_library.hpp"
#include "kernels/matmul/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::matmul {

namespace {

/// What is called of the library. The header renames functions to their current versions, so that
/// types and names are given with the version.
struct Cublas {
  VendorLibrary library{"libcublas.so.13"};
  decltype(cublasCreate_v2)* create = of<decltype(cublasCreate_v2)>("cublasCreate_v2");
  decltype(cublasSetStream_v2)* set_stream = of<decltype(cublasSetStream_v2)>("cublasSetStream_v2");
  decltype(cublasSetWorkspace_v2)* set_workspace =
      of<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
  decltype(cublasSetMathMode)* set_math_mode = of<decltype(cublasSetMathMode)>("cublasSetMathMode");
  decltype(cublasGetStatusString)* status_string =
      of<decltype(cublasGetStatusString)>("cublasGetStatusString");
  decltype(cublasSgemm_v2_64)* sgemm = of<decltype(cublasSgemm_v2_64)>("cublasSgemm_v2_64");
  decltype(cublasDgemm_v2_64)* dgemm = of<decltype(cublasDgemm_v2_64)>("cublasDgemm_v2_64");

  template <class Signature>
  Signature* of(char const* name) const {
    return library.function<Signature>(name);
  }
};

Cublas const& cublas() {
  static Cublas const functions;
  return functions;
}

void check(cublasStatus_t status, char const* call, int line) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(call, __FILE__, line, cublas().status_string(status));
}
#define GRIDSTRIDE_CUBLAS(function, ...) \
  check(cublas().function(__VA_ARGS__), "cuBLAS: " #function, __LINE__)

/// The thread's own handle for the current device, made once. They last as long as the program: at
/// its end CUDA may be gone before them.
cublasHandle_t handle_of(Device const& device) {
  static thread_local std::map<int, cublasHandle_t> handles;
  auto const found = handles.find(device.ordinal());
  if (found != handles.end()) return found->second;
  // Making one allocates memory, which must not count as a part of a graph that is being captured.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  GRIDSTRIDE_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  cublasHandle_t handle = nullptr;
  cublasStatus_t const status = cublas().create(&handle);
  GRIDSTRIDE_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  check(status, "cuBLAS: create", __LINE__);
  return handles[device.ordinal()] = handle;
}

void gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,
          std::int64_t n, std::int64_t k, float const* alpha, float const* a, std::int64_t lda,
          float const* b, std::int64_t ldb, float const* beta, float* c, std::int64_t ldc) {
  GRIDSTRIDE_CUBLAS(sgemm, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,
          std::int64_t n, std::int64_t k, double const* alpha, double const* a, std::int64_t lda,
          double const* b, std::int64_t ldb, double const* beta, double* c, std::int64_t ldc) {
  GRIDSTRIDE_CUBLAS(dgemm, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void multiply_by_cublas(Stream& stream, Arguments<T> const& x, cublasMath_t math) {
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS asks for on Hopper
  cublasHandle_t const handle = handle_of(stream.device());
  Buffer<std::byte> workspace(stream, MemorySpace::device, workspace_bytes);
  GRIDSTRIDE_CUBLAS(set_stream, handle, native(stream));
  GRIDSTRIDE_CUBLAS(set_workspace, handle, workspace.data(), workspace_bytes);
  GRIDSTRIDE_CUBLAS(set_math_mode, handle, math);
  // It has matrices by columns. A row-major matrix, read like that, is its transpose, and
  // Cᵀ = op(B)ᵀ·op(A)ᵀ.
  auto const code = [](Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; };
  gemm(handle, code(x.op_b), code(x.op_a), x.n, x.m, x.k, &x.alpha, x.b, x.ldb, x.a, x.lda, &x.beta,
       x.c, x.ldc);
}

}  // namespace

template <class T>
void cuda_cublas(Stream& stream, Arguments<T> const& x) {
  multiply_by_cublas(stream, x, CUBLAS_DEFAULT_MATH);
}

void cuda_cublas_tf32(Stream& stream, Arguments<float> const& x) {
  multiply_by_cublas(stream, x, CUBLAS_TF32_TENSOR_OP_MATH);
}

template void cuda_cublas(Stream&, Arguments<float> const&);
template void cuda_cublas(Stream&, Arguments<double> const&);

}  // namespace gridstride::matmul

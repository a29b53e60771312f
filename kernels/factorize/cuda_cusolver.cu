// The rung `cusolver`: factorizations of cuSOLVER, triangular solves of cuBLAS. Their matrices are
// column-major, and a row-major matrix is its transpose there. LU with exchanges of rows needs a
// transposed copy; the lower triangle of a symmetric matrix is the upper one of the same matrix. A
// solve takes the factors as they are, and a transposed copy of B.

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/vendor_library.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

// ---------------------------------------------------------------------------- the libraries' calls

VendorLibrary const& cublas() {
  static VendorLibrary const library("libcublas.so.13");
  return library;
}
VendorLibrary const& cusolver() {
  static VendorLibrary const library("libcusolver.so.12");
  return library;
}

template <class Status>
void check(Status status, char const* call, int line) {
  if (static_cast<int>(status) != 0)
    throw CudaError(call, __FILE__, line, "status " + std::to_string(static_cast<int>(status)));
}

/// Calls a function of a library by its name, with the type that its header declares.
#define GRIDSTRIDE_CALL(library, name, ...)                                  \
  do {                                                                       \
    static auto* const function = library().function<decltype(name)>(#name); \
    check(function(__VA_ARGS__), #name, __LINE__);                           \
  } while (false)

/// What the libraries want to be given in every call. They are kept for the rest of the program.
struct Handles {
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  cusolverDnParams_t parameters = nullptr;
  std::vector<std::byte> host_workspace;
};

Handles& handles(Stream& stream) {
  thread_local std::map<int, Handles> of_devices;
  Handles& h = of_devices[stream.device().ordinal()];
  if (h.parameters == nullptr) {
    GRIDSTRIDE_CALL(cublas, cublasCreate_v2, &h.blas);
    GRIDSTRIDE_CALL(cusolver, cusolverDnCreate, &h.solver);
    GRIDSTRIDE_CALL(cusolver, cusolverDnCreateParams, &h.parameters);
  }
  GRIDSTRIDE_CALL(cublas, cublasSetStream_v2, h.blas, native(stream));
  GRIDSTRIDE_CALL(cusolver, cusolverDnSetStream, h.solver, native(stream));
  return h;
}

template <class T>
constexpr bool is_double = std::is_same_v<T, double>;
template <class T>
constexpr cudaDataType data_type = is_double<T> ? CUDA_R_64F : CUDA_R_32F;

// ------------------------------------------------------------------------------ column-major work

/// A column-major matrix: element (i, j) is data[i + j·leading].
template <class T>
struct Columns {
  T* data;
  std::int64_t rows, columns, leading;
};

/// The same memory, which is the transposed matrix.
template <class T>
Columns<T> transposed(Matrix<T> const& m) {
  return {m.data, m.columns, m.rows, m.leading};
}

/// target = sourceᵀ
template <class T>
void transpose(Stream& stream, Columns<T> const& source, Columns<T> const& target) {
  using Geam = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, std::int64_t,
                              std::int64_t, T const*, T const*, std::int64_t, T const*, T const*,
                              std::int64_t, T*, std::int64_t);
  static char const* const name = is_double<T> ? "cublasDgeam_64" : "cublasSgeam_64";
  static auto* const geam = cublas().function<Geam>(name);
  T const one = 1, zero = 0;
  check(geam(handles(stream).blas, CUBLAS_OP_T, CUBLAS_OP_N, target.rows, target.columns, &one,
             source.data, source.leading, &zero, target.data, target.leading, target.data,
             target.leading),
        name, __LINE__);
}

/// Calls `body(columns)` with a column-major copy of a row-major matrix, and copies it back.
template <class T, class Body>
void by_columns(Stream& stream, Matrix<T> const& m, Body const& body) {
  Buffer<T> memory(stream, MemorySpace::device, static_cast<std::size_t>(m.rows * m.columns));
  Columns<T> const columns{memory.data(), m.rows, m.columns, m.rows};
  transpose(stream, transposed(m), columns);
  body(columns);
  transpose(stream, columns, transposed(m));
}

/// Queues a factorization: `measure(bytes, host_bytes)` finds what memory it needs, and
/// `factor(work, bytes, host_work, host_bytes)` is it.
template <class Measure, class Factor>
void with_workspace(Stream& stream, Measure const& measure, Factor const& factor) {
  std::size_t bytes = 0, host_bytes = 0;
  measure(&bytes, &host_bytes);
  auto& host_work = handles(stream).host_workspace;
  if (host_work.size() < host_bytes) host_work.resize(host_bytes);
  Buffer<std::byte> work(stream, MemorySpace::device, bytes);
  factor(work.data(), bytes, host_work.data(), host_bytes);
}

// ----------------------------------------------------------------------------- pivots and status

constexpr int threads = 1024;

struct Least {
  __device__ std::int32_t operator()(std::int32_t a, std::int32_t b) const { return min(a, b); }
};

/// The status of a factorization with U or L in `a`: of the first pivot that is of no use, or what
/// the library says when that is an earlier one. One block.
template <class T>
__global__ void __launch_bounds__(threads)
    status_kernel(Matrix<T> const a, bool positive, std::int32_t const* said,
                  std::int32_t* status) {
  __shared__ std::int32_t shared[threads / warp_size];
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int32_t first = *said > 0 ? *said : none;
  for (std::int64_t i = threadIdx.x; i < a.rows; i += threads) {
    T const pivot = a.data[i * a.leading + i];
    bool const good = positive ? pivot > 0 : pivot == pivot && pivot != 0;
    if (!good) first = min(first, static_cast<std::int32_t>(i + 1));
  }
  first = block_reduce<threads>(first, Least{}, shared);
  if (threadIdx.x == 0) *status = first == none ? 0 : first;
}

template <class T>
void set_status(Stream& stream, Arguments<T> const& w, bool positive, Buffer<std::int32_t>& said) {
  status_kernel<<<1, threads, 0, native(stream)>>>(w.a, positive, said.data(), w.status);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize status");
}

/// target_i = source_i + shift
template <class From, class To>
__global__ void renumber_kernel(From const* source, To* target, std::int64_t size, int shift) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < size) target[i] = static_cast<To>(source[i] + shift);
}

template <class From, class To>
void renumber(Stream& stream, From const* source, To* target, std::int64_t size, int shift) {
  renumber_kernel<<<blocks_for(size, threads), threads, 0, native(stream)>>>(source, target, size,
                                                                             shift);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize renumber");
}

// --------------------------------------------------------------------------------------- the tasks

template <class T>
void factor_lu(Stream& stream, Arguments<T> const& w) {
  std::int64_t const n = w.a.rows;
  auto const& h = handles(stream);
  bool const exchanges = w.task == Task::lu;  // the library makes none where it gets no pivots
  Buffer<std::int64_t> pivots(stream, MemorySpace::device,
                              exchanges ? static_cast<std::size_t>(n) : 0);
  Buffer<std::int32_t> said(stream, MemorySpace::device, 1);
  by_columns(stream, w.a, [&](Columns<T> const& a) {
    with_workspace(
        stream,
        [&](std::size_t* bytes, std::size_t* host_bytes) {
          GRIDSTRIDE_CALL(cusolver, cusolverDnXgetrf_bufferSize, h.solver, h.parameters, n, n,
                          data_type<T>, a.data, n, data_type<T>, bytes, host_bytes);
        },
        [&](auto... workspace) {
          GRIDSTRIDE_CALL(cusolver, cusolverDnXgetrf, h.solver, h.parameters, n, n, data_type<T>,
                          a.data, n, pivots.data(), data_type<T>, workspace..., said.data());
        });
  });
  if (exchanges) renumber(stream, pivots.data(), w.pivots, n, -1);
  set_status(stream, w, false, said);
}

template <class T>
void factor_cholesky(Stream& stream, Arguments<T> const& w) {
  std::int64_t const n = w.a.rows;
  auto const& h = handles(stream);
  Buffer<std::int32_t> said(stream, MemorySpace::device, 1);
  with_workspace(
      stream,
      [&](std::size_t* bytes, std::size_t* host_bytes) {
        GRIDSTRIDE_CALL(cusolver, cusolverDnXpotrf_bufferSize, h.solver, h.parameters,
                        CUBLAS_FILL_MODE_UPPER, n, data_type<T>, w.a.data, w.a.leading,
                        data_type<T>, bytes, host_bytes);
      },
      [&](auto... workspace) {
        GRIDSTRIDE_CALL(cusolver, cusolverDnXpotrf, h.solver, h.parameters, CUBLAS_FILL_MODE_UPPER,
                        n, data_type<T>, w.a.data, w.a.leading, data_type<T>, workspace...,
                        said.data());
      });
  set_status(stream, w, true, said);
}

/// b = op(A)⁻¹·b, for a triangle of the row-major matrix.
template <class T>
void substitute(Stream& stream, Triangle triangle, Op op, Diagonal diagonal, Matrix<T> const& a,
                Columns<T> const& b) {
  using Trsm = cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, std::int64_t, std::int64_t, T const*, T const*,
                              std::int64_t, T*, std::int64_t);
  static char const* const name = is_double<T> ? "cublasDtrsm_v2_64" : "cublasStrsm_v2_64";
  static auto* const trsm = cublas().function<Trsm>(name);
  T const one = 1;
  check(trsm(handles(stream).blas, CUBLAS_SIDE_LEFT,
             triangle == Triangle::lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
             op == Op::none ? CUBLAS_OP_T : CUBLAS_OP_N,
             diagonal == Diagonal::unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, b.rows,
             b.columns, &one, a.data, a.leading, b.data, b.leading),
        name, __LINE__);
}

/// Exchanges row i of b with row pivots_i, in rising order of i or in falling order.
template <class T>
void exchange_rows(Stream& stream, std::int32_t const* pivots, bool rising, Columns<T> const& b) {
  using Laswp = cusolverStatus_t(cusolverDnHandle_t, int, T*, int, int, int, int const*, int);
  static char const* const name = is_double<T> ? "cusolverDnDlaswp" : "cusolverDnSlaswp";
  static auto* const laswp = cusolver().function<Laswp>(name);
  if (b.rows > std::numeric_limits<int>::max() || b.columns > std::numeric_limits<int>::max())
    throw std::invalid_argument("lu_solve: cusolver counts rows and columns in 32 bits");
  Buffer<std::int32_t> from_one(stream, MemorySpace::device, static_cast<std::size_t>(b.rows));
  renumber(stream, pivots, from_one.data(), b.rows, 1);
  auto const rows = static_cast<int>(b.rows);
  check(laswp(handles(stream).solver, static_cast<int>(b.columns), b.data, rows, 1, rows,
              from_one.data(), rising ? 1 : -1),
        name, __LINE__);
}

template <class T>
void solve_lu(Stream& stream, Arguments<T> const& w, Columns<T> const& b) {
  if (w.op == Op::none) {
    exchange_rows(stream, w.pivots, true, b);
    substitute(stream, Triangle::lower, Op::none, Diagonal::unit, w.a, b);
    substitute(stream, Triangle::upper, Op::none, Diagonal::general, w.a, b);
  } else {
    substitute(stream, Triangle::upper, Op::transpose, Diagonal::general, w.a, b);
    substitute(stream, Triangle::lower, Op::transpose, Diagonal::unit, w.a, b);
    exchange_rows(stream, w.pivots, false, b);
  }
}

}  // namespace

template <class T>
void cuda_cusolver(Stream& stream, Arguments<T> const& w) {
  switch (w.task) {
    case Task::lu:
    case Task::lu_unpivoted:
      return factor_lu(stream, w);
    case Task::cholesky:
      return factor_cholesky(stream, w);
    case Task::lu_solve:
      return by_columns(stream, w.b, [&](auto const& b) { solve_lu(stream, w, b); });
    case Task::cholesky_solve:
      return by_columns(stream, w.b, [&](auto const& b) {
        substitute(stream, Triangle::lower, Op::none, Diagonal::general, w.a, b);
        substitute(stream, Triangle::lower, Op::transpose, Diagonal::general, w.a, b);
      });
    case Task::triangular_solve:
      return by_columns(stream, w.b, [&](auto const& b) {
        substitute(stream, w.triangle, w.op, w.diagonal, w.a, b);
      });
  }
}

template void cuda_cusolver(Stream&, Arguments<float> const&);
template void cuda_cusolver(Stream&, Arguments<double> const&);

}  // namespace gridstride::factorize

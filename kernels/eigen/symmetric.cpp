// Dense symmetric matrices on the host.
//
// `reference`: reflections and rotations (kernels/support/symmetric.cpp), on one thread; small
// problems within the methods of this family are solved by them, too.
// `lapack`: dsyevd of OpenBLAS (divide and conquer), on one thread, for the same bits on all hosts'
// numbers of threads.

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"
#include "kernels/eigen/rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/openblas.hpp"
#include "kernels/support/symmetric.hpp"

namespace gridstride::eigen {

using Index = std::int64_t;

void host_reference(Stream&, Index n, double* matrix, double* values) {
  diagonalise(n, matrix, values);
}

std::vector<double> decompose_small(Small& matrix) {
  std::vector<double> values(static_cast<std::size_t>(matrix.rows));
  diagonalise(matrix.rows, matrix.values.data(), values.data());
  return values;
}

bool lapack_available() { return openblas().available(); }

namespace {

/// As long as it lives OpenBLAS works on one thread.
class OneThread {
 public:
  OneThread() : threads_(openblas().function<int()>("openblas_get_num_threads")()) { set(1); }
  ~OneThread() { set(threads_); }
  OneThread(OneThread const&) = delete;
  OneThread& operator=(OneThread const&) = delete;

 private:
  static void set(int threads) {
    openblas().function<void(int)>("openblas_set_num_threads")(threads);
  }
  int threads_;
};

}  // namespace

void host_lapack(Stream&, Index n, double* matrix, double* values) {
  if (n > std::numeric_limits<int>::max())
    throw std::invalid_argument(fmt::format("eigen: lapack takes no matrix of {} rows", n));
  using Syevd = void(char const*, char const*, int const*, double*, int const*, double*, double*,
                     int const*, int*, int const*, int*);
  auto* const syevd = openblas().function<Syevd>("dsyevd_");
  OneThread const one;
  int const size = static_cast<int>(n), ask = -1;
  int info = 0, integers = 0;
  double numbers = 0;
  // A row-major symmetric matrix is the same by columns, and modes by columns are rows.
  syevd("V", "U", &size, matrix, &size, values, &numbers, &ask, &integers, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(numbers));
  std::vector<int> whole(static_cast<std::size_t>(integers));
  int const work_size = static_cast<int>(work.size()), whole_size = static_cast<int>(whole.size());
  syevd("V", "U", &size, matrix, &size, values, work.data(), &work_size, whole.data(), &whole_size,
        &info);
  if (info != 0)
    throw NumericalError(fmt::format("eigen: LAPACK's dsyevd ends with info = {}", info));
}

std::span<Variant<Function> const> variants() {
  static Variant<Function> const rows[] = {
      {"reference", Backend::cpu, host_reference,
       "reflections to three diagonals, then rotations with shifts, on one thread"},
      {"lapack", Backend::cpu, host_lapack,
       "LAPACK's dsyevd in OpenBLAS, on one thread; the default where it is installed"},
      {"cusolver", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusolver), "cuSOLVER's Xsyevd"}};
  return rows;
}

std::string_view default_variant(Backend backend) {
  if (backend == Backend::cuda) return "cusolver";
  return lapack_available() ? "lapack" : "reference";
}

void decompose(Stream& stream, Index n, std::span<double> matrix, std::span<double> values,
               std::string_view variant) {
  require_size("decompose", named("matrix", matrix), static_cast<std::size_t>(n * n));
  require_size("decompose", named("values", values), static_cast<std::size_t>(n));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("eigen", variants(), stream.device(), variant);
  if (n > 0) row.run(stream, n, matrix.data(), values.data());
}

}  // namespace gridstride::eigen

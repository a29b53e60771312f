#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/support/matrix.hpp"

/// Kernel family `matmul`: the product of dense matrices. T is float or double.
///
///   C = α·op(A)·op(B) + β·C      op(A): m × k, op(B): k × n, C: m × n, all row-major
///
/// Matrices lie in the stream's device memory. Nothing synchronises. As in BLAS, C is not read
/// where β = 0, nor A and B where α = 0. Each element's error is at most k·ε·Σ|a||b| in every order
/// of summation, but for the variants that round their operands (`tf32`, `cublas_tf32`: ε = 2^−10).
/// The same call on the same device gives the same bits every time. Throws
/// `std::invalid_argument` for shapes that do not fit, a leading dimension that is too small, C
/// sharing memory with A or B, and a variant that this backend or T does not have.
namespace gridstride::matmul {

template <class T>
struct Operand {
  Matrix<T const> matrix;
  Op op = Op::none;

  Operand(Matrix<T const> of, Op how = Op::none) : matrix(of), op(how) {}
  Operand(Matrix<T> of, Op how = Op::none) : matrix(of), op(how) {}
  std::int64_t rows() const { return op == Op::none ? matrix.rows : matrix.columns; }
  std::int64_t columns() const { return op == Op::none ? matrix.columns : matrix.rows; }
};

/// `spared` multiprocessors are left to other streams by the variants that occupy a GPU for long at
/// once (`tf32`, `tf32x3`).
template <class T>
void multiply(Stream& stream, std::type_identity_t<T> alpha, std::type_identity_t<Operand<T>> a,
              std::type_identity_t<Operand<T>> b, std::type_identity_t<T> beta, Matrix<T> c,
              std::string_view variant = "auto", int spared = 0);

/// One piece of work for a rung: m, n, k ≥ 1 and α ≠ 0 (the others are done before a rung is
/// asked).
template <class T>
struct Arguments {
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  Op op_a = Op::none;
  T const* a = nullptr;
  std::int64_t lda = 0;
  Op op_b = Op::none;
  T const* b = nullptr;
  std::int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  int spared = 0;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// Whether `tf32` and `tf32x3` run on this device, in this build.
bool has_tf32(Device const& device);

/// What `auto` means for large matrices: the fastest that neither rounds the operands nor changes
/// from run to run, on a device of the newest architecture.
template <class T>
std::string_view default_variant(Backend backend);

/// What `auto` means for this work on this device.
template <class T>
std::string_view choose(Device const& device, Arguments<T> const& arguments);

}  // namespace gridstride::matmul

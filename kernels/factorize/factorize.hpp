#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/support/matrix.hpp"

/// Kernel family `factorize`: dense LU and Cholesky factorizations and the solves with their
/// factors. T is float or double; matrices are row-major in the stream's device memory, as are
/// pivots and status. Nothing synchronises.
///
///   lu:         P·A = L·U, L unit lower triangular, U upper triangular, in place of A. Row i was
///               exchanged with row pivots_i ≥ i, for i = 0, 1, …: the row of largest magnitude in
///               column i, the first of several. `status` is 0, or 1 + the first i whose pivot U_ii
///               is zero or not a number, as one may be behind a subnormal one (the factors are of no use then).
///   lu_unpivoted: A = L·U without exchanges of rows, in place of A, for matrices whose diagonal is
///               good enough: the error grows with the largest |L| and |U|, which nothing bounds
///               here. `status` as for lu. After the first panel, `go_on(columns)`, if given, is
///               asked whether the rest is of use: the first `columns` columns of L are queued
///               then.
///   cholesky:   A = L·Lᵀ for symmetric positive definite A, L in place of A's lower triangle; the
///               upper one is neither read nor changed. `status` is 0, or 1 + the first i whose
///               pivot is not positive.
///   lu_solve:   B becomes op(A)⁻¹·B.       cholesky_solve: B becomes A⁻¹·B.
///   triangular_solve: B becomes op(A)⁻¹·B for the given triangle of A; the other is not read.
///
/// The same call on the same device gives the same bits every time. Throws
/// `std::invalid_argument` for shapes that do not fit and for a variant that the backend lacks.
/// Method: blocked right-looking, Golub and Van Loan, "Matrix Computations", 4th ed., 3.2.11, 3.4
/// and 4.2.
namespace gridstride::factorize {

enum class Triangle { lower, upper };
enum class Diagonal { general, unit };

/// Which rows of the tables work: of this family, and of `matmul` within it.
struct Variants {
  std::string_view factorize = "auto";
  std::string_view matmul = "auto";
};

template <class T>
void lu(Stream& stream, Matrix<T> a, std::span<std::int32_t> pivots, std::span<std::int32_t> status,
        Variants const& variants = {});
template <class T>
void lu_unpivoted(Stream& stream, Matrix<T> a, std::span<std::int32_t> status,
                  Variants const& variants = {},
                  std::function<bool(std::int64_t)> const& go_on = {});
template <class T>
void cholesky(Stream& stream, Matrix<T> a, std::span<std::int32_t> status,
              Variants const& variants = {});
template <class T>
void lu_solve(Stream& stream, Op op, std::type_identity_t<Matrix<T const>> lu,
              std::span<std::int32_t const> pivots, Matrix<T> b, Variants const& variants = {});
template <class T>
void cholesky_solve(Stream& stream, std::type_identity_t<Matrix<T const>> l, Matrix<T> b,
                    Variants const& variants = {});
template <class T>
void triangular_solve(Stream& stream, Triangle triangle, Op op, Diagonal diagonal,
                      std::type_identity_t<Matrix<T const>> a, Matrix<T> b,
                      Variants const& variants = {});

/// Bytes of device memory that a factorization of n rows takes beside its arguments, at most, with
/// elements of so many bytes; the vendors' take a copy of the matrix instead.
std::size_t factor_bytes(Backend backend, std::int64_t n, std::size_t element_bytes);

enum class Task { lu, lu_unpivoted, cholesky, lu_solve, cholesky_solve, triangular_solve };

/// One piece of work for a rung: a is square and not empty, b not empty where the task has one.
template <class T>
struct Arguments {
  Task task = Task::lu;
  Matrix<T> a;  ///< not written by the solves
  Matrix<T> b;
  std::int32_t* pivots = nullptr;  ///< not written by the solves
  std::int32_t* status = nullptr;
  Op op = Op::none;
  Triangle triangle = Triangle::lower;
  Diagonal diagonal = Diagonal::general;
  std::string_view matmul = "auto";
  std::function<bool(std::int64_t)> go_on = {};
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the plainest to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::factorize
